import type {
  Activity,
  AgentCommand,
  AgentModel,
  Capabilities,
  ErrorCode,
  PermissionMode,
} from '@parley/protocol'
import type { AgentConfig, ConnectOptions, PageImage, PermissionResponse } from './check-call.ts'
import type { PageMessage } from './page-messages.ts'

/**
 * The calls between a page and the desktop program, by channel. The page loads this file too, so it contains only types
 * and names. A call does not reject when Parley refuses it: it returns `success: false` with a message that says what
 * to do.
 */
export type AgentCalls = {
  /** Connects the task to an agent and creates a session, unless `createSession` is false. */
  'agent:connect'(taskId: string, config: AgentConfig, options?: ConnectOptions): InSession<string | null>
  'agent:send'(taskId: string, text: string, images?: PageImage[]): Outcome<{ promptId: string }>
  /** Cancels the running turn and pauses the queue. Succeeds if no turn runs. */
  'agent:stop'(taskId: string): Outcome
  /** Runs the prompts that a stop has paused. */
  'agent:resume-queue'(taskId: string): Outcome
  'agent:permission-response'(taskId: string, id: string, response: PermissionResponse): Outcome
  'agent:get-capabilities'(taskId: string): Outcome<AgentAbilities>
  'agent:set-model'(taskId: string, model: string): Outcome
  /** Creates another session with the same agent and folder, and makes it active. */
  'agent:new-session'(taskId: string): InSession
  /** Makes a session active and sends its messages from the beginning. */
  'agent:load-session'(taskId: string, sessionId: string): InSession
  /** Makes a session active and sends only new messages and open requests. */
  'agent:resume-session'(taskId: string, sessionId: string): InSession
  /** Makes an earlier session of the task active again, and sends the messages that were recorded meanwhile. */
  'agent:set-active-session'(taskId: string, sessionId: string): InSession
  'agent:get-status'(taskId: string): Outcome<{ status: TaskStatus }>
  /** Removes the task. Its sessions are kept; an idle agent is shut down. */
  'agent:disconnect'(taskId: string): Outcome
}

export type AgentChannel = keyof AgentCalls

/** The functions of a page's bridge, with the channel of each. */
export const bridgeChannels = {
  connect: 'agent:connect',
  send: 'agent:send',
  stop: 'agent:stop',
  resumeQueue: 'agent:resume-queue',
  respondToPermission: 'agent:permission-response',
  getCapabilities: 'agent:get-capabilities',
  setModel: 'agent:set-model',
  newSession: 'agent:new-session',
  loadSession: 'agent:load-session',
  resumeSession: 'agent:resume-session',
  setActiveSession: 'agent:set-active-session',
  getStatus: 'agent:get-status',
  disconnect: 'agent:disconnect',
} as const satisfies Record<string, AgentChannel>

export const agentChannels: readonly AgentChannel[] = Object.values(bridgeChannels)

/** The only channel for messages to the page. */
export const messageChannel = 'agent:message'

/** A message to the page about a task. Only messages of the task's active session are sent. */
export type TaskMessage = {
  readonly taskId: string
  readonly sessionId: string
  readonly message: PageMessage
}

export type Outcome<Value = unknown> = ({ success: true } & Value) | Refusal
export type InSession<Id = string> = Outcome<{ sessionId: Id }>
export type Refusal = { success: false; error: string; code: ErrorCode }

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
  /** All sessions of the task, in the order in which they were opened. */
  sessions: string[]
  activity: Activity
  paused: number
  /** The last error since the task was connected. */
  lastError: string | null
}
