import type {
  AgentConversation,
  AgentId,
  AgentModel,
  AgentProbe,
  Answers,
  Capabilities,
  DeltaDraft,
  Diff,
  DraftOf,
  EnvironmentVariables,
  EventType,
  McpServers,
  ParleyError,
  PermissionMode,
  PermissionOption,
  Prompt,
  PromptPart,
  Question,
  SessionOptions,
  SessionSettings,
  ToolContent,
  ToolKind,
} from '@parley/protocol'
import type { AdapterInput } from './adapter-input.ts'
import type { AgentPackage } from './agent-package.ts'
import type { OpenCall } from './ask-again.ts'
import type { Resumption } from './resumption.ts'

export type { AdapterInput } from './adapter-input.ts'
export type { AgentPackage } from './agent-package.ts'
export { askAgain, isAskAgain, type OpenCall, openCallsNotice } from './ask-again.ts'
export type { Resumption } from './resumption.ts'

/**
 * PORT. An adapter translates one agent's protocol. It does not run the session's loop and makes no decisions. Rules:
 * - `connect` rejects only with a ParleyError, and only if the agent cannot be started; then no process is left
 *   running.
 * - after `connect`, nothing throws for an agent's failure: every failure is an output.
 * - no connection can observe the state of another connection.
 * - a message that is not understood is passed on as `agent.unrecognised`, never dropped.
 */
export type AgentAdapter = {
  readonly id: AgentId
  readonly name: string
  readonly description?: string
  readonly capabilities: Capabilities
  readonly modes: readonly PermissionMode[]
  /**
   * The session options that the agent supports. Any other option except `tools` is refused with an error that names
   * it.
   */
  readonly options?: readonly (keyof SessionOptions)[]
  /**
   * Members of `options` that take effect only when the agent starts: a change makes the host restart it before the
   * next turn.
   */
  readonly restartsFor?: readonly (keyof SessionOptions)[]
  /** Members of `options` that the agent reads only with the first prompt of a conversation. */
  readonly fixedOptions?: readonly (keyof SessionOptions)[]
  /**
   * Changes when the person changes the agent's configuration. An agent process with an older revision is restarted.
   */
  readonly revision?: string
  /** Environment variables that sign the agent in with a key, the usual one first. */
  readonly keys?: readonly string[]
  /**
   * The npm package of the agent, at a version that is known to work. Without it, people install the agent
   * themselves.
   */
  readonly install?: AgentPackage
  /** True if the agent starts slowly: the agent of a new session is then started before the first prompt. */
  readonly startsAhead?: boolean
  /**
   * With the capability `environment`: variables that no session and no folder may set, because the adapter sets or
   * reads them itself. An entry is a name, or a prefix followed by `*`; `open` lists names that may be set
   * nevertheless.
   */
  readonly variables?: { readonly reserved: readonly string[]; readonly open?: readonly string[] }
  /**
   * True if the agent reports the end of a turn that it started by itself. Otherwise such a turn ends after a
   * period of silence.
   */
  readonly endsOwnTurns?: boolean
  /** True if the agent cannot fork its conversation before a prompt that was compacted since. */
  readonly dropsCompacted?: boolean
  /** The conversations that the agent itself stores on this machine. */
  readonly conversations?: AgentMemory
  /** The command that continues a conversation in the agent's own program, in a terminal, in the session's folder. */
  terminalCommand?(agentSessionId: string): readonly string[]
  /**
   * Looks for the agent on this machine. Never throws; must return soon after `signal` aborts. Every process it
   * started has ended when it returns.
   */
  probe(signal: AbortSignal): Promise<AgentProbe>
  /**
   * The models, for an agent whose probe does not report them. Starts the program in an empty folder: nothing from
   * any session's folder is read or run. Rejects if the models cannot be read. Every process it started has ended
   * when it settles.
   */
  models?(signal: AbortSignal): Promise<AgentModel[]>
  /**
   * The reason why no session of this agent can be created on this machine, e.g. its program is missing; undefined if a
   * session can be created, or if that is uncertain. Checks on every call, without waiting, so a program that is
   * installed later is found without a restart.
   */
  refusal?(): ParleyError | undefined
  connect(input: ConnectInput): Promise<AgentConnection>
  /**
   * Starts the program before there is a session for it, outside every session's folder. Rejects if that fails; then
   * no process is left running.
   */
  prepare?(input: PrepareInput): Promise<PreparedAgent>
}

/** `createAdapter` of a module that config.json names. It must not wait for the agent, and can be called again. */
export type CreateAdapter = (input: AdapterInput) => AgentAdapter | Promise<AgentAdapter>

/**
 * The input for starting a program before there is a session for it. Only a session with the same start conditions
 * (`startConditions`) may use the program.
 */
export type PrepareInput = Pick<ConnectInput, 'settings' | 'trusted' | 'env' | 'signal'> & {
  readonly hostTools?: Pick<HostTools, 'tools'>
}

export type PreparedAgent = {
  /** False if the program has ended, or if files that it read at its start have changed since. */
  readonly isUsable: boolean
  /**
   * Moves the program to a folder in which a session is expected soon, to save more of the start time. From then on
   * it serves no other folder. Does nothing if entering the folder would have an effect that only a session may have.
   * Rejects if the program cannot serve the folder.
   */
  enter(place: Pick<ConnectInput, 'cwd' | 'settings' | 'trusted'>): Promise<void>
  /**
   * Gives the program to a session, once. Rejects if it cannot serve the session: the session then uses `connect` of
   * the adapter.
   */
  connect(input: ConnectInput): Promise<AgentConnection>
  /** Ends the program. Idempotent, and without effect once a session uses it. */
  close(): Promise<void>
}

export type AgentMemory = {
  /** All conversations that can be continued, or those of one folder. */
  list(query: { readonly cwd?: string }, signal: AbortSignal): Promise<AgentConversation[]>
  /** One conversation, from its start. Parts that belong to no turn may be left out. */
  read(agentSessionId: string, signal: AbortSignal): AsyncIterable<Remembered>
  /** The id under which the agent stores a prompt of the host. Without this function, the agent uses the host's id. */
  idOf?(agentSessionId: string, promptId: string): string
}

/**
 * One entry of a conversation that an agent stores. A prompt starts a turn; outputs belong to the turn of the last
 * prompt.
 */
export type Remembered =
  | {
      readonly type: 'prompt'
      readonly at: number
      readonly parts: readonly PromptPart[]
      /** The agent's id of the prompt: the same on every read. */
      readonly id?: string
      /** True if the adapter itself sent the prompt, to make the agent continue a turn of the host. */
      readonly own?: true
    }
  | { readonly type: 'output'; readonly at: number; readonly output: AgentOutput }

export type ConnectInput = {
  readonly sessionId: string
  readonly connectionId: string
  readonly cwd: string
  readonly settings: SessionSettings
  readonly mcpServers?: McpServers
  /** For agents with the capability `hostTools`. Undefined if the host has no tools for this session. */
  readonly hostTools?: HostTools
  /**
   * True if the person trusts the folder: its settings, hooks and servers may load. Otherwise only the person's own
   * settings load.
   */
  readonly trusted: boolean
  /**
   * Variables for the agent's process, in addition to those of the adapter. Variables that people set are passed only
   * to agents with the capability `environment`.
   */
  readonly env?: EnvironmentVariables
  /** The agent's conversation to continue. */
  readonly resume?: Resumption
  /** Passes the agent's requests to a rule or a person. */
  readonly person: Person
  /** Cancels `connect`. Has no effect once `connect` has resolved. */
  readonly signal: AbortSignal
}

/**
 * One live attachment to an agent, for one session.
 * - `events` ends when the agent has ended, for whatever reason; an `agent.disconnected` before that gives the
 *   reason.
 * - `events` has one reader, which may pause: an adapter must then stop reading from its agent instead of buffering
 *   without limit.
 * - a turn ends with one `turn.ended` output, or with the end of `events`.
 * - output of the main agent outside a turn starts a turn of the agent's own (`turn.started`). Output of a background
 *   task belongs to no turn: its `parentToolCallId` names the call that started the task.
 */
export type AgentConnection = {
  readonly events: AsyncIterable<AgentOutput>
  /**
   * Sends a message; resolves when the agent has it. There are never two turns at once. Does nothing once the
   * connection has ended. A steered prompt that the agent has not taken up yet resolves with `pending`: a
   * `prompt.taken` output reports when it is taken up. If the turn ends before that, the host sends the prompt again,
   * once, to start a turn; the adapter must not pass it on if the agent still has it. A steered prompt that arrives
   * when the agent's turn is already over is not run, and resolves with `pending` too.
   */
  send(message: AgentMessage): Promise<unknown>
  /**
   * Takes back a pending steered prompt. Resolves with false if the agent has taken it up or cannot give it
   * back.
   */
  takeBack?(promptId: string): Promise<boolean>
  /**
   * Asks the agent to stop its turn without ending the process. The agent reports the end of the turn as an
   * output; if it does not, the host forces the end.
   */
  interrupt(): Promise<void>
  /** Stops a background task. Its end is reported as a `task.updated` output. */
  stopTask?(taskId: string): Promise<void>
  /** Applies settings. The effective settings are reported as a `session.configured` output with `effective`. */
  configure(settings: SessionSettings): Promise<void>
  /** Ends the agent's process. Idempotent; `events` ends. */
  close(): Promise<void>
  /**
   * Kills the agent's process and all its descendants at once, even while `close` runs, because another host may
   * continue the session. A process that several sessions share is killed for all of them. `events` ends. Without this
   * function, `close` is called.
   */
  kill?(): void
  /**
   * Called between turns. Returns whether somebody continued the conversation in another program since the last call.
   * `known`: the agent's process has the new messages; `unknown`: it lacks them, and must be restarted.
   */
  outsideMessages?(): Promise<'nothing' | 'known' | 'unknown'>
  /**
   * Like `close`, but called while a request is open. If the agent can, it stores the open call in its own record.
   * The answer is sent with `continue` on another connection, on which the agent asks for the same call again.
   */
  park?(): Promise<void>
}

export type AgentMessage =
  /** A new turn, or with delivery `steer`, a prompt for the running turn. */
  | { readonly type: 'prompt'; readonly prompt: Prompt }
  /**
   * The turn was parked and its requests are answered. The adapter makes the agent continue the turn: the agent makes
   * its open requests again, under new ids. The host answers a request for the same tool and input, or the same
   * questions, with the stored answer. `openCalls` are the calls of the main agent that have no result. All other
   * calls of the turn have ended, even if the agent's conversation lacks their results.
   */
  | { readonly type: 'continue'; readonly prompt: Prompt; readonly openCalls: readonly OpenCall[] }

type Said<Type extends EventType> = Omit<DraftOf<Type>, 'turnId'>

/** The outputs of an adapter: drafts without a turn, deltas without an offset, and native messages for diagnosis. */
export type AgentOutput =
  | Omit<Said<'agent.connected'>, 'connectionId'>
  | Said<'agent.disconnected'>
  | Said<'agent.noticed'>
  | Said<'agent.unrecognised'>
  | Said<'session.configured'>
  | Said<'session.renamed'>
  /** The agent starts a turn by itself. Only `by: 'agent'` is valid; ignored while another turn is open. */
  | Omit<Said<'turn.started'>, 'promptId'>
  | Said<'prompt.taken'>
  | Omit<Said<'turn.ended'>, 'durationMs'>
  | Said<'text.written'>
  | Said<'thinking.written'>
  | Said<'block.retracted'>
  | Said<'tool-call.called'>
  | Said<'tool-call.updated'>
  | Said<'tool-call.ended'>
  | Said<'plan.updated'>
  | Said<'task.updated'>
  | Said<'usage.measured'>
  | Said<'context.compacted'>
  | DeltaDraft
  | { readonly type: 'native'; readonly message: unknown }

/**
 * `permit` and `answer` resolve when there is an answer, and never reject. `cancelled` is not an answer: it means that
 * the turn ends, that `signal` has aborted, or that the connection is being closed. If the request is about a tool
 * call, ask only after the `tool-call.called` of that call was recorded. Aborting `signal` withdraws the request: do so
 * when the agent withdraws its request, never because the agent died.
 */
export type Person = {
  /**
   * True if a rule or the mode refuses this call, or if, while the agent had no process, a person refused the call or
   * changed its input. The adapter of an agent that approves some calls by itself must check this before each call.
   * If it is true, the adapter calls `permit`, which records the refusal or returns the changed input.
   */
  forbids(ask: PermissionAsk): boolean
  permit(ask: PermissionAsk, signal?: AbortSignal): Promise<PermissionAnswer>
  answer(ask: QuestionAsk, signal?: AbortSignal): Promise<QuestionAnswer>
}

export type PermissionAsk = {
  readonly toolCallId?: string
  readonly parentToolCallId?: string
  readonly tool: string
  readonly kind: ToolKind
  readonly title: string
  readonly input: unknown
  readonly reason?: string
  readonly readOnly?: boolean
  /**
   * True if the call names a file outside the session's folders. Of the modes, only bypass allows it; a grant allows
   * it only with `outside`.
   */
  readonly outside?: boolean
  /**
   * True if the call changes a protected file (protected-paths.ts). Of the modes, only bypass allows it; a
   * grant allows it only with `protected`.
   */
  readonly protected?: boolean
  /** True if the agent asks although its own mode accepts edits. Of the modes, only bypass allows the call. */
  readonly insisted?: boolean
  readonly diffs?: readonly Diff[]
  /** The lasting answers that the agent itself suggests. */
  readonly suggestions?: readonly PermissionOption[]
}

export type PermissionAnswer =
  | { readonly outcome: 'allowed'; readonly requestId: string; readonly input?: unknown }
  | {
      readonly outcome: 'denied'
      readonly requestId: string
      readonly message?: string
      readonly endTurn?: boolean
    }
  | { readonly outcome: 'cancelled'; readonly requestId: string }

export type QuestionAsk = {
  readonly toolCallId?: string
  readonly parentToolCallId?: string
  readonly questions: readonly Question[]
}

export type QuestionAnswer =
  | { readonly outcome: 'answered'; readonly requestId: string; readonly answers: Answers }
  | { readonly outcome: 'cancelled'; readonly requestId: string }

/**
 * The name of the MCP server through which agents call host tools. No other server of a session may have this name.
 */
export const hostToolServer = 'parley'

/** A host tool as an agent sees it. In outputs and requests its name is `hostToolName(name)`. */
export type HostToolInfo = {
  readonly name: string
  readonly description: string
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly annotations: HostToolAnnotations
}

export type HostToolAnnotations = {
  /** The title that a person sees when the tool is called. */
  readonly title: string
  readonly kind: ToolKind
  /** True if the tool changes nothing: it may run in a read-only session. */
  readonly readOnly: boolean
  /** True if the tool runs without asking, in every mode. A list of tools and a refusing rule still apply. */
  readonly safe: boolean
}

export type HostToolContent = Extract<ToolContent, { type: 'text' | 'image' | 'resource' }>
export type HostToolResult = { readonly content: readonly HostToolContent[]; readonly isError?: boolean }

/**
 * The host tools that this session's agent may call. `call` never rejects: it checks the input, gets the permission,
 * and runs the tool. A permission that was given for the same tool and input (`person.permit`) is used once. Without
 * such a permission, `call` asks for one, so that agents that do not ask need no special case.
 */
export type HostTools = {
  readonly tools: readonly HostToolInfo[]
  /**
   * Runs a tool; `name` is its name without the prefix. If `toolCallId` is known, pass it, and call this only after
   * the host has recorded that call.
   */
  call(
    name: string,
    input: unknown,
    context: {
      readonly toolCallId?: string
      readonly parentToolCallId?: string
      readonly signal: AbortSignal
    },
  ): Promise<HostToolAnswer>
}
/** `denied`: the tool did not run, because a rule or a person refused. */
export type HostToolAnswer = HostToolResult & { readonly denied?: true }
