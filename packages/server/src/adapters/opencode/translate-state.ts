import type { TokenUsage } from '@parley/protocol'
import type { AgentOutput } from '../../core/agent-adapter.ts'
import type { NativeError } from './native.ts'

export type TranslateContext = {
  /** The session of OpenCode's that this is all about. */
  readonly root: string
  readonly cwd?: string | undefined
  readonly title?: string | undefined
  /** How large the context of each model is, by `provider/model`. */
  readonly windows?: Readonly<Record<string, number>>
  /** The MCP servers: their tools begin with their names. */
  readonly servers?: readonly string[]
  /** What the conversation has used so far. */
  readonly total?: TokenUsage
  readonly costUsd?: number
}

/** Everything the translator remembers. A value: it is replaced, never changed. */
export type TranslateState = {
  readonly root: string
  readonly cwd: string | undefined
  readonly title: string | undefined
  readonly windows: Readonly<Record<string, number>>
  readonly servers: readonly string[]
  /** The tool call of each subagent's session, the latest; the root has none. */
  readonly sessions: Readonly<Record<string, string | undefined>>
  readonly turn: Turn | undefined
  readonly interrupting: boolean
  /** What this turn brought, by the agent's ids. Another turn begins without. */
  readonly messages: ReadonlyMap<string, Message>
  readonly blocks: ReadonlyMap<string, OpenBlock>
  readonly calls: ReadonlyMap<string, Call>
  /** Parts of which everything was said. */
  readonly done: ReadonlySet<string>
  /** Of those, the texts that were over for us before OpenCode said so: what was told of them. */
  readonly early: ReadonlyMap<string, string>
  /** The call that a request for permission is about. */
  readonly requests: ReadonlyMap<string, string>
  readonly plans: Readonly<Record<string, string>>
  readonly usage: UsageSoFar
  readonly compaction: Compaction | undefined
  readonly saidModel: string | undefined
  /** When the attempt that was told of last begins. */
  readonly saidRetry: number | undefined
  /** The turn that was the last has told of its error; what is said of it later is the same again. */
  readonly saidError: boolean
}

export type Turn = {
  /** When its prompt was sent, in milliseconds since 1970. */
  readonly at: number
  /** The agent works on it. Before that, an end is of something else. */
  readonly begun: boolean
  /** Steering that was sent and not seen yet; and that was seen, but that no step of the model has heard. */
  readonly sent: readonly string[]
  readonly unheard: readonly string[]
  /** Steering that came too late for the turn as OpenCode sees it: it must be given a push. */
  readonly orphan: string | undefined
  readonly answer: Answer | undefined
  readonly error: NativeError | undefined
  readonly text: string
  readonly usage: TokenUsage
  readonly costUsd: number
}

/** The latest message of the model's in the main line. */
export type Answer = {
  readonly id: string
  readonly completed: boolean
  readonly finish: string | undefined
  readonly structured: unknown
}

export type Message = {
  readonly role: 'user' | 'assistant'
  /** It says, for the model, what was before. */
  readonly summary: boolean
}

export type OpenBlock = {
  readonly type: 'text' | 'thinking'
  readonly sessionID: string
  readonly messageID: string
  readonly text: string
  /** Pieces of it were missed: no more are taken, until it comes whole. */
  readonly gapped: boolean
}

export type Call = {
  /** The agent's own name of it. */
  readonly key: string
  readonly tool: string
  readonly sessionID: string
  readonly messageID: string
  readonly called: boolean
  readonly denied: boolean
  readonly title: string
  /** What was told of its output so far; undefined once it cannot be told in pieces. */
  readonly output: string | undefined
  /** The change it asked permission for. */
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

export type Translation = { readonly state: TranslateState; readonly outputs: readonly AgentOutput[] }

const nothingUsed: TokenUsage = { input: 0, output: 0 }

export function initialState(context: TranslateContext): TranslateState {
  const { root, cwd, title, windows = {}, servers = [], total = nothingUsed, costUsd = 0 } = context
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
    saidModel: undefined,
    saidRetry: undefined,
    saidError: false,
  }
}

/** A turn of the host's begins: its prompt is about to be sent. */
export function withTurn(state: TranslateState, at: number): TranslateState {
  return {
    ...state,
    turn: {
      at,
      begun: false,
      sent: [],
      unheard: [],
      orphan: undefined,
      answer: undefined,
      error: undefined,
      text: '',
      usage: nothingUsed,
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
    saidError: false,
  }
}

/** Words into the turn that runs, under this id of a message. */
export function withSteering(state: TranslateState, messageId: string): TranslateState {
  return withinTurn(state, (turn) => ({ sent: [...turn.sent, messageId] }))
}

/** They could not be handed over: nobody need wait for them. */
export function withoutSteering(state: TranslateState, messageId: string): TranslateState {
  return withinTurn(state, (turn) => ({ sent: turn.sent.filter((id) => id !== messageId) }))
}

/** It was given its push. */
export function withoutOrphan(state: TranslateState): TranslateState {
  return withinTurn(state, () => ({ orphan: undefined }))
}

export function withoutTurn(state: TranslateState): TranslateState {
  return { ...state, turn: undefined, interrupting: false }
}

/** The host asked the agent to stop: calls that are cut off from now on were cancelled. */
export function withInterrupt(state: TranslateState): TranslateState {
  return { ...state, interrupting: true }
}

/** The call will not run: its result is a refusal, not a failure. */
export function withDenied(state: TranslateState, toolCallId: string): TranslateState {
  const call = state.calls.get(toolCallId)
  return call ? withCall(state, toolCallId, { ...call, denied: true }) : state
}

export function withinTurn(state: TranslateState, change: (turn: Turn) => Partial<Turn>): TranslateState {
  const { turn } = state
  return turn ? { ...state, turn: { ...turn, ...change(turn) } } : state
}

export function withCall(state: TranslateState, id: string, call: Call): TranslateState {
  return { ...state, calls: new Map(state.calls).set(id, call) }
}

export function withDone(state: TranslateState, id: string): TranslateState {
  return { ...state, done: new Set(state.done).add(id) }
}

/** The agent's own name of a call: the model's ids are unique only within a message. */
export function callKey({ messageID, callID }: { messageID: string; callID: string }): string {
  return `${messageID}/${callID}`
}

/** Our id of a call, once it was seen. */
export function callIdOf(state: TranslateState, key: string): string | undefined {
  for (const [id, call] of state.calls) if (call.key === key) return id
  return undefined
}

export function parentOf(state: TranslateState, sessionID: string): { parentToolCallId?: string } {
  const parent = state.sessions[sessionID]
  return parent === undefined ? {} : { parentToolCallId: parent }
}

export function nothing(state: TranslateState): Translation {
  return { state, outputs: [] }
}
