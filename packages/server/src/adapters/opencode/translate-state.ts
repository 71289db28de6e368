import { noTokens, type Translation as SharedTranslation, withCall } from '@parley/adapter-kit/translation'
import type { TokenUsage } from '@parley/protocol'
import type { NativeError } from './native.ts'

export type TranslateContext = {
  readonly root: string
  readonly cwd?: string | undefined
  readonly title?: string | undefined
  /** The context size of each model, by `provider/model`. */
  readonly windows?: Readonly<Record<string, number>>
  /** The names of the MCP servers. The name of a tool starts with the name of its server. */
  readonly servers?: readonly string[]
  readonly total?: TokenUsage
  readonly costUsd?: number
}

/** The whole state of the translator. Immutable. */
export type TranslateState = {
  readonly root: string
  readonly cwd: string | undefined
  readonly title: string | undefined
  readonly windows: Readonly<Record<string, number>>
  readonly servers: readonly string[]
  /** The tool call that last started or continued each subagent's session; the root has none. */
  readonly sessions: Readonly<Record<string, string | undefined>>
  readonly turn: Turn | undefined
  readonly interrupting: boolean
  /** The messages, blocks and calls of this turn, by the agent's ids. Cleared for each turn. */
  readonly messages: ReadonlyMap<string, Message>
  readonly blocks: ReadonlyMap<string, OpenBlock>
  readonly calls: ReadonlyMap<string, Call>
  /** Parts that were reported completely. */
  readonly done: ReadonlySet<string>
  /** Parts in `done` whose text the translator ended before OpenCode did, with the reported text. */
  readonly early: ReadonlyMap<string, string>
  readonly requests: ReadonlyMap<string, string>
  readonly plans: Readonly<Record<string, string>>
  readonly usage: UsageSoFar
  readonly compaction: Compaction | undefined
  readonly reportedModel: string | undefined
  /** The time at which the last reported retry starts. */
  readonly reportedRetry: number | undefined
  /** True if the last turn has reported its error. Later reports of the same error are repetitions. */
  readonly reportedError: boolean
}

export type Turn = {
  /** The time at which the prompt of the turn was sent, in milliseconds since 1970. */
  readonly at: number
  /** True if the agent has started the turn. Before that, an idle status belongs to other work. */
  readonly begun: boolean
  /**
   * Steered prompts that OpenCode has not reported yet (`sent`), and reported prompts that no step of the model has
   * seen yet (`unseen`).
   */
  readonly sent: readonly string[]
  readonly unseen: readonly string[]
  /** A steered prompt that arrived too late for OpenCode's turn and must be sent again. */
  readonly orphan: string | undefined
  readonly answer: Answer | undefined
  readonly error: NativeError | undefined
  readonly text: string
  readonly usage: TokenUsage
  readonly costUsd: number
}

export type Answer = {
  readonly id: string
  readonly completed: boolean
  readonly finish: string | undefined
  readonly structured: unknown
}

export type Message = {
  readonly role: 'user' | 'assistant'
  /** True if the message is the summary of a compaction. */
  readonly summary: boolean
}

export type OpenBlock = {
  readonly type: 'text' | 'thinking'
  readonly sessionID: string
  readonly messageID: string
  readonly text: string
  /** True if deltas were missed. Further deltas are then ignored until the whole text arrives. */
  readonly gapped: boolean
}

export type Call = {
  readonly key: string
  readonly tool: string
  readonly sessionID: string
  readonly messageID: string
  readonly called: boolean
  readonly denied: boolean
  readonly title: string
  /** The output as streamed so far; undefined once it can no longer be streamed. */
  readonly output: string | undefined
  /** The change that the call asked permission for. */
  readonly patch: string | undefined
}

export type UsageSoFar = {
  readonly total: TokenUsage
  readonly costUsd: number
  readonly context: number
  readonly window: number | undefined
}

export type Compaction = {
  readonly trigger: 'manual' | 'auto'
  readonly before: number
  readonly summary: string
}

export type Translation = SharedTranslation<TranslateState>

export function initialState(context: TranslateContext): TranslateState {
  const { root, cwd, title, windows = {}, servers = [], total = noTokens, costUsd = 0 } = context
  return {
    root,
    cwd,
    title,
    windows,
    servers,
    sessions: { [root]: undefined },
    turn: undefined,
    interrupting: false,
    messages: new Map(),
    blocks: new Map(),
    calls: new Map(),
    done: new Set(),
    early: new Map(),
    requests: new Map(),
    plans: {},
    usage: { total, costUsd, context: 0, window: undefined },
    compaction: undefined,
    reportedModel: undefined,
    reportedRetry: undefined,
    reportedError: false,
  }
}

/** Begins a turn of the host, whose prompt is about to be sent. */
export function withTurn(state: TranslateState, at: number): TranslateState {
  return {
    ...state,
    turn: {
      at,
      begun: false,
      sent: [],
      unseen: [],
      orphan: undefined,
      answer: undefined,
      error: undefined,
      text: '',
      usage: noTokens,
      costUsd: 0,
    },
    interrupting: false,
    messages: new Map(),
    blocks: new Map(),
    calls: new Map(),
    done: new Set(),
    early: new Map(),
    requests: new Map(),
    compaction: undefined,
    reportedError: false,
  }
}

/** Registers a prompt that is steered into the running turn under this message id. */
export function withSteering(state: TranslateState, messageId: string): TranslateState {
  return withinTurn(state, (turn) => ({ sent: [...turn.sent, messageId] }))
}

/** Removes a steered prompt that could not be sent, so that it is not awaited. */
export function withoutSteering(state: TranslateState, messageId: string): TranslateState {
  return withinTurn(state, (turn) => ({ sent: turn.sent.filter((id) => id !== messageId) }))
}

/** Removes the orphaned steered prompt, which is sent again. */
export function withoutOrphan(state: TranslateState): TranslateState {
  return withinTurn(state, () => ({ orphan: undefined }))
}

/** Marks a call that will not run: its result is a refusal, not a failure. */
export function withDenied(state: TranslateState, toolCallId: string): TranslateState {
  const call = state.calls.get(toolCallId)
  return call ? withCall(state, toolCallId, { ...call, denied: true }) : state
}

export function withinTurn(state: TranslateState, change: (turn: Turn) => Partial<Turn>): TranslateState {
  const { turn } = state
  return turn ? { ...state, turn: { ...turn, ...change(turn) } } : state
}

export function withDone(state: TranslateState, id: string): TranslateState {
  return { ...state, done: new Set(state.done).add(id) }
}

/** The agent's own key of a call: the ids of the model are unique only within a message. */
export function callKey({ messageID, callID }: { messageID: string; callID: string }): string {
  return `${messageID}/${callID}`
}

/** Our id of a call; undefined before the call is known. */
export function callIdOf(state: TranslateState, key: string): string | undefined {
  for (const [id, call] of state.calls) if (call.key === key) return id
  return undefined
}

export function parentOf(state: TranslateState, sessionID: string): { parentToolCallId?: string } {
  const parent = state.sessions[sessionID]
  return parent === undefined ? {} : { parentToolCallId: parent }
}
