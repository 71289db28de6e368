import type {
  Activity,
  AgentCommand,
  AgentModel,
  Answers,
  Capabilities,
  ErrorCode,
  McpServers,
  PermissionMode,
  PermissionScope,
  SessionOptions,
} from '@parley/protocol'
import type { PageMessage } from './page-messages.ts'

/**
 * What a page and the program around it say to each other, by channel. This file has no code but the names: the page's side
 * loads it too. A call never rejects for what Parley refuses: it answers `success: false`, with what to do about it.
 */
export type AgentCalls = {
  /** Gives the task an agent, and with it a session unless `createSession` is false. */
  'agent:connect'(taskId: string, config: AgentConfig, options?: ConnectOptions): InSession<string | null>
  'agent:send'(taskId: string, text: string, images?: PageImage[]): Outcome<{ promptId: string }>
  /** Stops the turn that runs and pauses what is queued; if none runs, all is as wished. */
  'agent:stop'(taskId: string): Outcome
  /** Runs the prompts that a stop has paused. */
  'agent:resume-queue'(taskId: string): Outcome
  'agent:permission-response'(taskId: string, id: string, response: PermissionResponse): Outcome
  'agent:get-capabilities'(taskId: string): Outcome<AgentAbilities>
  'agent:set-model'(taskId: string, model: string): Outcome
  /** Another session with the same agent and folder; it is the active one from then on. */
  'agent:new-session'(taskId: string): InSession
  /** Goes on with a session, all of it told from its beginning. */
  'agent:load-session'(taskId: string, sessionId: string): InSession
  /** Goes on with a session, told only what comes and what waits for an answer. */
  'agent:resume-session'(taskId: string, sessionId: string): InSession
  /** Back to a session that the task has had; what was said there meanwhile is told. */
  'agent:set-active-session'(taskId: string, sessionId: string): InSession
  'agent:get-status'(taskId: string): Outcome<{ status: TaskStatus }>
  /** The task is forgotten. Its sessions stay, and an agent that idles is let go. */
  'agent:disconnect'(taskId: string): Outcome
}

export type AgentChannel = keyof AgentCalls

export const agentChannels = [
  'agent:connect',
  'agent:send',
  'agent:stop',
  'agent:resume-queue',
  'agent:permission-response',
  'agent:get-capabilities',
  'agent:set-model',
  'agent:new-session',
  'agent:load-session',
  'agent:resume-session',
  'agent:set-active-session',
  'agent:get-status',
  'agent:disconnect',
] as const satisfies readonly AgentChannel[]

/** The one channel on which the page is told things. */
export const messageChannel = 'agent:message'

/** Only the task's active session is heard. */
export type TaskMessage = {
  readonly taskId: string
  readonly sessionId: string
  readonly message: PageMessage
}

export type Outcome<Value = unknown> = ({ success: true } & Value) | Refusal
export type InSession<Id = string> = Outcome<{ sessionId: Id }>
export type Refusal = { success: false; error: string; code: ErrorCode }

export type AgentConfig = {
  /** The agent: one of the host's, or another name for it that the face was given. */
  type: string
  payload: {
    cwd: string
    model?: string
    mode?: PermissionMode
    options?: SessionOptions
    mcpServers?: McpServers
    title?: string
  }
}

export type ConnectOptions = {
  /** A task that is connected with the very same config stays as it is. */
  reuseIfSame?: boolean
  /** False: wait for new-session, load-session or resume-session. */
  createSession?: boolean
}

/** An image as a data URL, or its base64 and what it is. */
export type PageImage = string | { data: string; mimeType: string; name?: string }

/** An option of the request, or `allow` or `deny`; for a question the label of the answer, or all answers by question. */
export type PermissionResponse =
  | string
  | {
      decision: 'allow' | 'deny'
      scope?: PermissionScope
      message?: string
      input?: unknown
      endTurn?: boolean
    }
  | { label: string }
  | { answers: Answers }

export type AgentAbilities = {
  agent: string
  name: string
  capabilities: Capabilities
  modes: PermissionMode[]
  models: AgentModel[]
  commands: AgentCommand[]
}

export type TaskStatus = {
  connected: boolean
  agent: string | null
  sessionId: string | null
  /** Those the task has had, the first one first. */
  sessions: string[]
  activity: Activity
  /** How many prompts are paused. */
  paused: number
  /** What went wrong last, since the task was connected. */
  lastError: string | null
}
