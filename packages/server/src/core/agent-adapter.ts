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
  RewindPreview,
  SessionOptions,
  SessionSettings,
  ToolContent,
  ToolKind,
} from '@parley/protocol'

/**
 * PORT. An adapter translates one agent's protocol; it owns no loop of ours and decides nothing. Rules:
 * - `connect` rejects only with a ParleyError, and only if the agent cannot be started; nothing is left running then.
 * - after `connect`, nothing throws for an agent's failure: every failure is an output.
 * - two connections share nothing that one could see of the other.
 * - what is not understood is given on as `agent.unrecognised`, never dropped.
 */
export type AgentAdapter = {
  readonly id: AgentId
  readonly name: string
  readonly description?: string
  readonly capabilities: Capabilities
  readonly modes: readonly PermissionMode[]
  /** The session options it honours; any other is refused by name. `tools` is the host's own. */
  readonly options?: readonly (keyof SessionOptions)[]
  /** Of those, what takes effect only when the agent is started: a change makes the host start it anew for the next turn. */
  readonly restartsFor?: readonly (keyof SessionOptions)[]
  /** Of those, what the agent takes with the first prompt of a conversation and never again. */
  readonly fixedOptions?: readonly (keyof SessionOptions)[]
  /** Changes with what the person configured of it: an agent that was started before that is started anew. */
  readonly revision?: string
  /** Variables of its environment that sign it in with a key, the usual one first. */
  readonly keys?: readonly string[]
  /** The npm package that brings the agent, at a version that is known to work. Without it, people install it themselves. */
  readonly install?: { readonly package: string; readonly version: string }
  /** It takes long to start: a new session starts it before its first prompt. */
  readonly startsAhead?: boolean
  /**
   * With the capability `environment`: variables that no session and no folder may set, since the adapter sets or reads
   * them itself. A name, or the beginning of names before a `*`; `open` are those names that may be set all the same.
   */
  readonly variables?: { readonly reserved: readonly string[]; readonly open?: readonly string[] }
  /** It says when a turn that it began by itself ends. Otherwise such a turn ends when the agent has been quiet for a while. */
  readonly endsOwnTurns?: boolean
  /** What the agent remembers by itself of conversations on this machine. */
  readonly conversations?: AgentMemory
  /** What goes on with a conversation in the agent's own program, in a terminal, in the session's folder. */
  terminalCommand?(agentSessionId: string): readonly string[]
  /**
   * Looks for the agent on this machine. Never throws; must return soon after `signal` aborts. Whatever it started for
   * that is gone when it returns.
   */
  probe(signal: AbortSignal): Promise<AgentProbe>
  /**
   * The models, for a program whose probe does not tell them. Starts it for that, in an empty folder of its own: nothing of any
   * session's folder is read or run. Rejects if they cannot be had; whatever it started is gone then as well.
   */
  models?(signal: AbortSignal): Promise<AgentModel[]>
  /**
   * Why no session of it can be begun on this machine: its program is not there. Looks at once and anew, never guesses;
   * nothing if in doubt. A program that comes later is found without a restart.
   */
  refusal?(): ParleyError | undefined
  connect(input: ConnectInput): Promise<AgentConnection>
  /**
   * Starts the program before there is a session for it, in no session's folder. Rejects if that cannot be done; nothing is
   * left running then.
   */
  prepare?(input: PrepareInput): Promise<PreparedAgent>
}

/** What a program is started with that has no session yet. It may only be given to a session that has the same. */
export type PrepareInput = Pick<ConnectInput, 'settings' | 'trusted' | 'env' | 'signal'> & {
  readonly hostTools?: Pick<HostTools, 'tools'>
}

/** A program that was started and waits for a session. */
export type PreparedAgent = {
  /** False: it is gone, or what it read when it was started has changed since. */
  readonly isUsable: boolean
  /**
   * Takes it to a folder in which a session is expected soon, to save more of the time. It then fits no other folder. Does
   * nothing where that would have an effect that only a session may have. Rejects if it cannot serve the folder.
   */
  enter(place: Pick<ConnectInput, 'cwd' | 'settings' | 'trusted'>): Promise<void>
  /** Gives it to a session, once. Rejects if it cannot serve it: the session is then started by `connect` of the adapter. */
  connect(input: ConnectInput): Promise<AgentConnection>
  /** Ends the program. Idempotent, and without effect once a session has it. */
  close(): Promise<void>
}

export type AgentMemory = {
  /** All that can be gone on with, or those of one folder. */
  list(query: { readonly cwd?: string }, signal: AbortSignal): Promise<AgentConversation[]>
  /** One, from its beginning. What it holds of no turn may be left out. */
  read(agentSessionId: string, signal: AbortSignal): AsyncIterable<Remembered>
  /** Under which id the agent keeps a prompt that the host gave it. The host's own id unless it says so. */
  idOf?(agentSessionId: string, promptId: string): string
}

/** A prompt begins a turn; outputs are of the turn before them. */
export type Remembered =
  | {
      readonly type: 'prompt'
      readonly at: number
      readonly parts: readonly PromptPart[]
      /** The agent's id of it: the same whenever it is read. */
      readonly id?: string
      /** No person said this: the adapter made the agent go on with a turn of the host's. */
      readonly own?: true
    }
  | { readonly type: 'output'; readonly at: number; readonly output: AgentOutput }

export type ConnectInput = {
  readonly sessionId: string
  readonly connectionId: string
  readonly cwd: string
  readonly settings: SessionSettings
  readonly mcpServers?: McpServers
  /** For agents with the capability `hostTools`. Absent: the host has none for this session. */
  readonly hostTools?: HostTools
  /** The person trusts the folder: settings, hooks and servers that lie in it may load. Else only the person's own do. */
  readonly trusted: boolean
  /** Variables for the agent's process, beside what the adapter gives it. For agents with the capability `environment`. */
  readonly env?: EnvironmentVariables
  /**
   * Go on with this conversation of the agent's, or with a copy of it. `turns` of it were completed: with none, an
   * agent that kept nothing has lost nothing.
   */
  readonly resume?: { readonly agentSessionId: string; readonly fork?: boolean; readonly turns: number }
  /** How the agent's questions reach a rule or a person. */
  readonly person: Person
  /** Gives up connecting. Means nothing once `connect` has resolved. */
  readonly signal: AbortSignal
}

/**
 * One live attachment to an agent, for one session.
 * - `events` ends when the agent is gone, for whatever reason; an `agent.disconnected` before that says why.
 * - it is read by one reader, which may pause: an adapter must then stop reading its agent, not buffer without end.
 * - a turn ends with one `turn.ended` output, or with the end of `events`.
 * - what the main line says outside a turn begins a turn of the agent's own (`turn.started`). What a background task
 *   says belongs to no turn: its `parentToolCallId` names the call that started the task.
 */
export type AgentConnection = {
  readonly events: AsyncIterable<AgentOutput>
  /**
   * Hands a message over; resolves when the agent has it. Never two turns at once. Does nothing once it has ended.
   * A steered prompt that the agent has not taken up yet resolves with `pending`: a `prompt.taken` output says when it
   * does. If the turn ends before that, the host sends it again as a prompt of its own, once: an agent that still has
   * it must not get it twice.
   */
  send(message: AgentMessage): Promise<unknown>
  /** Takes back a steered prompt that is pending. False: the agent has taken it up, or cannot give it back. */
  takeBack?(promptId: string): Promise<boolean>
  /** Asks the agent to stop its turn and stay. The turn's end comes as an output; the host forces it if it does not. */
  interrupt(): Promise<void>
  /** Stops a task that runs in the background. Its end comes as a `task.updated` output. */
  stopTask?(taskId: string): Promise<void>
  /** Applies settings; what is in force comes as a `session.configured` output with `effective`. */
  configure(settings: SessionSettings): Promise<void>
  /**
   * With the capability `rewind`: what a rewind to this prompt would change. Changes nothing. Rejects, with the reason, if
   * it cannot be done. No turn is open.
   */
  previewRewind?(promptId: string): Promise<RewindPreview>
  /** Ends the agent's process. Idempotent; `events` ends. */
  close(): Promise<void>
  /**
   * Between turns: whether anybody spoke in the conversation by another way since this was last asked. `known`: the agent's
   * process knows it all the same; `unknown`: it does not, and must be started anew.
   */
  saidElsewhere?(): Promise<'nothing' | 'known' | 'unknown'>
  /**
   * As `close`, while a person is asked: an agent that can keep the open call in its own memory does so. The answer comes
   * with `continue` on another connection, to which the agent puts the same call again.
   */
  park?(): Promise<void>
}

export type AgentMessage =
  /** A new turn, or with delivery steer, words into the turn that runs. */
  | { readonly type: 'prompt'; readonly prompt: Prompt }
  /**
   * The turn was parked, its requests are answered. Make the agent go on with it: ask again for what it waited for,
   * under new ids.
   * The host answers a request for the same tool and input, or the same questions, with the stored answer.
   */
  | { readonly type: 'continue'; readonly prompt: Prompt }

type Said<Type extends EventType> = Omit<DraftOf<Type>, 'turnId'>

/** What an adapter gives: drafts without their turn, deltas without their offset, native messages for the curious. */
export type AgentOutput =
  | Omit<Said<'agent.connected'>, 'connectionId'>
  | Said<'agent.disconnected'>
  | Said<'agent.noticed'>
  | Said<'agent.unrecognised'>
  | Said<'session.configured'>
  | Said<'session.renamed'>
  /** The agent begins a turn by itself. Only `by: 'agent'`; ignored while another turn is open. */
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
 * Both calls resolve when there is an answer. `cancelled` is not one: the turn ends, `signal` aborted, or the
 * connection is being let go. They never reject. Call them after the `tool-call.called` they are about was taken.
 * Aborting `signal` withdraws the request: do so when the agent takes its question back, never because it died.
 */
export type Person = {
  /**
   * Whether a rule or the mode refuses this outright, or a person has refused it, or changed its input, while nobody could
   * hear it. For agents that approve some calls by themselves: look before each, and `permit` what is forbidden, so that the
   * refusal is recorded and the changed input is heard of.
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
  /** It reaches beyond the session's folders: no mode but bypass answers for it, and no grant that does not say so. */
  readonly outside?: boolean
  /** It changes a protected file (adapters/protected-paths.ts). The same holds. */
  readonly protected?: boolean
  /** The agent asks although it runs in a mode of its own that accepts edits: no mode but bypass answers. */
  readonly insisted?: boolean
  /** What it would change, file by file. */
  readonly diffs?: readonly Diff[]
  /** The agent's own idea of what a lasting answer would cover. */
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

/** Said to an agent that remembers the call it waited for, when it is started again with the answer. */
export const askAgain =
  'Parley was restarted while you waited for an answer. Go on where you were: call the same tool again with the same input.'

/** The MCP server under which agents know host tools. No other server of a session may have the name. */
export const hostToolServer = 'parley'

/** A tool of the host's, as an agent is told of it. In outputs and requests its name is `hostToolName(name)`. */
export type HostToolInfo = {
  readonly name: string
  readonly description: string
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly annotations: HostToolAnnotations
}

export type HostToolAnnotations = {
  /** What a person is shown when it is called. */
  readonly title: string
  readonly kind: ToolKind
  /** It changes nothing: it may run in a read-only session. */
  readonly readOnly: boolean
  /** It runs without asking, in every mode. A list of tools and a refusing rule still hold. */
  readonly safe: boolean
}

export type HostToolContent = Extract<ToolContent, { type: 'text' | 'image' | 'resource' }>
export type HostToolResult = { readonly content: readonly HostToolContent[]; readonly isError?: boolean }

/**
 * The tools of the host that this session's agent may call. `call` never rejects: it checks the input, sees to the
 * permission, and runs the tool. A permission that was got for the same tool and input (`person.permit`) counts, once;
 * without one it is asked for here, so that an agent that does not ask needs no care.
 */
export type HostTools = {
  readonly tools: readonly HostToolInfo[]
  /** `name` without its prefix. Give `toolCallId` where it is known, once the call was taken. */
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
/** `denied`: it did not run, because a rule or a person refused. */
export type HostToolAnswer = HostToolResult & { readonly denied?: true }
