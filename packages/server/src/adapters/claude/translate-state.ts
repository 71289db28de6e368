import type { AgentCommand, PermissionMode, PlanEntry, Task, TokenUsage } from '@parley/protocol'
import type { AgentOutput } from '../../core/agent-adapter.ts'
import type { HostToolNames } from './host-tools.ts'
import type { NativeUsage } from './native.ts'

export type TranslateContext = {
  /** What the person asked for. Read-only is the host's own: the agent runs it in its default mode. */
  readonly requestedMode?: PermissionMode
  /** The conversation goes on: its totals are not known before the first result. */
  readonly resumed?: boolean
  readonly hostTools?: HostToolNames
  /** Uuids of the messages that the resumed conversation holds already: a program may send them once more. */
  readonly taken?: readonly string[]
}

/** Everything the translator remembers. A value: it is replaced, never changed. */
export type TranslateState = {
  readonly requestedMode: PermissionMode | undefined
  readonly cwd: string | undefined
  readonly hostTools: HostToolNames
  /** What is known of the agent's commands beyond their names. */
  readonly commands: readonly AgentCommand[]
  /** The turn of the host's that runs, and how many there were. */
  readonly turn: Turn | undefined
  readonly turns: number
  /** Steered prompts that the agent has and has not taken up: their uuids, with our ids of them. */
  readonly pending: ReadonlyMap<string, string>
  /** The background task that reported last: what the agent does next by itself is about it. */
  readonly reported: Task | undefined
  /** The answer being streamed, by the tool call of its subagent; '' for the main line. */
  readonly streams: Readonly<Record<string, Stream>>
  /** Messages taken, by uuid, with the blocks and calls they brought. In pages, the newest first; the last is forgotten. */
  readonly taken: readonly ReadonlyMap<string, readonly string[]>[]
  readonly calls: ReadonlyMap<string, Call>
  /** Our id of a call that the agent asks for again under its old one. */
  readonly aliases: ReadonlyMap<string, string>
  readonly denied: ReadonlySet<string>
  readonly interrupting: boolean
  readonly plans: Readonly<Record<string, readonly PlanEntry[]>>
  readonly tasks: Readonly<Record<string, Task>>
  readonly usage: UsageSoFar
  /** A compaction whose summary may come with the next message. */
  readonly compaction: Compaction | undefined
  readonly saidConnected: string
  /** The id of the conversation as it was last given on. */
  readonly saidSessionId: string | undefined
  readonly saidMode: string | undefined
  readonly saidModel: string | undefined
  readonly saidRateLimit: string
}

export type Turn = {
  readonly number: number
  /** The uuids of the prompts given into it. Empty: every result is its own. */
  readonly prompts: readonly string[]
  /** The agent has begun with it. Before that, a result belongs to work of the agent's own accord. */
  readonly begun: boolean
}

export type Stream = {
  readonly messageId: string
  readonly blocks: readonly StreamBlock[]
  readonly usage: NativeUsage | undefined
}
export type StreamBlock = {
  readonly index: number
  readonly type: string
  /** The id of the block, or of the call. */
  readonly id: string
  /** Something of it was given on. */
  readonly begun: boolean
  readonly written: boolean
  /** The turn it was begun in: its deltas mean nothing in another. */
  readonly turn: number | undefined
}
export type Call = {
  readonly name: string
  readonly title: string
  readonly input: unknown
  /** The turn it was recorded in; undefined: outside of any. */
  readonly turn: number | undefined
  /** The call that started the subagent whose call this is. */
  readonly parentToolCallId?: string
}
export type UsageSoFar = {
  /** Totals of the conversation; undefined when it was resumed and no result has come yet. */
  readonly total: TokenUsage | undefined
  /** What calls to the model have used since the last result, by the id of the answer. */
  readonly calls: ReadonlyMap<string, TokenUsage>
  readonly costUsd: number | undefined
  /** Time in calls to the model, as the process counts it; undefined until the first result of a resumed one. */
  readonly apiMs: number | undefined
  readonly context: number
  readonly window: number | undefined
  readonly maxOutput: number | undefined
}
export type Compaction = { trigger: 'manual' | 'auto'; before?: number; after?: number }

export type Translation = { readonly state: TranslateState; readonly outputs: readonly AgentOutput[] }

export function initialState(context: TranslateContext = {}): TranslateState {
  const state = emptyState(context)
  return (context.taken ?? []).slice(-pages * pageSize).reduce((known, uuid) => withTaken(known, uuid), state)
}

function emptyState(context: TranslateContext): TranslateState {
  return {
    requestedMode: context.requestedMode,
    cwd: undefined,
    hostTools: context.hostTools ?? new Map(),
    commands: [],
    turn: undefined,
    turns: 0,
    pending: new Map(),
    reported: undefined,
    streams: {},
    taken: [],
    calls: new Map(),
    aliases: new Map(),
    denied: new Set(),
    interrupting: false,
    plans: {},
    tasks: {},
    usage: {
      total: context.resumed ? undefined : { input: 0, output: 0 },
      calls: new Map(),
      costUsd: context.resumed ? undefined : 0,
      apiMs: context.resumed ? undefined : 0,
      context: 0,
      window: undefined,
      maxOutput: undefined,
    },
    compaction: undefined,
    saidConnected: '',
    saidSessionId: undefined,
    saidMode: undefined,
    saidModel: undefined,
    saidRateLimit: 'allowed',
  }
}

/**
 * A turn of the host's begins. `messageUuid` is the `uuid` of the prompt as it was given to the agent: with it the
 * turn begins when the agent takes the prompt up, and a result of other work does not end it. Without, it begins now.
 */
export function withTurn(state: TranslateState, messageUuid?: string): TranslateState {
  const number = state.turns + 1
  const turn = { number, prompts: messageUuid ? [messageUuid] : [], begun: messageUuid === undefined }
  return { ...state, turn, turns: number, interrupting: false }
}

/** Words into the turn that runs. The agent takes them up between two steps, or in a turn of their own. */
export function withSteering(state: TranslateState, messageUuid: string, promptId: string): TranslateState {
  return { ...state, pending: new Map(state.pending).set(messageUuid, promptId) }
}

/** The agent begins a turn by itself. */
export function withOwnTurn(state: TranslateState): TranslateState {
  const number = state.turns + 1
  return { ...state, turn: { number, prompts: [], begun: true }, turns: number, reported: undefined }
}

/** The host has ended the turn by itself; what still comes of it is outside of any. */
export function withoutTurn(state: TranslateState): TranslateState {
  return { ...state, turn: undefined, interrupting: false }
}

/** The host asked the agent to stop: calls that end in error from now on were cancelled. */
export function withInterrupt(state: TranslateState): TranslateState {
  return { ...state, interrupting: true }
}

/** The result of this call, an error, means that it was not allowed. By its id, ours or the agent's. */
export function withDenied(state: TranslateState, toolCallId: string): TranslateState {
  return { ...state, denied: new Set(state.denied).add(toolCallId) }
}

export function withRequestedMode(state: TranslateState, mode: PermissionMode): TranslateState {
  return { ...state, requestedMode: mode }
}

/** The commands as the agent described them; `init` knows only their names. */
export function withCommands(state: TranslateState, commands: readonly AgentCommand[]): TranslateState {
  return { ...state, commands }
}

/** Our id of a tool call. */
export function callIdOf(state: TranslateState, nativeId: string): string {
  return state.aliases.get(nativeId) ?? nativeId
}

/** The subagent that made this call, by the call that started it. */
export function parentOfCall({ calls }: TranslateState, toolCallId: string): { parentToolCallId?: string } {
  const { parentToolCallId } = calls.get(toolCallId) ?? {}
  return parentToolCallId === undefined ? {} : { parentToolCallId }
}

export function parentOf(
  state: TranslateState,
  nativeParent: string | null | undefined,
): { parentToolCallId?: string } {
  return nativeParent ? { parentToolCallId: callIdOf(state, nativeParent) } : {}
}

const pageSize = 100
const pages = 40

/** What a message brought, if it was taken. */
export function takenFrom(state: TranslateState, uuid: string): readonly string[] | undefined {
  return state.taken.find((page) => page.has(uuid))?.get(uuid)
}

/** Notes a message as taken, with what it brought. */
export function withTaken(
  state: TranslateState,
  uuid: string | undefined,
  ids: readonly string[] = [],
): TranslateState {
  if (!uuid) return state
  const entry = [...(takenFrom(state, uuid) ?? []), ...ids]
  const [newest = new Map(), ...older] = state.taken
  const taken =
    newest.size < pageSize || newest.has(uuid)
      ? [new Map(newest).set(uuid, entry), ...older]
      : [new Map([[uuid, entry]]), newest, ...older].slice(0, pages)
  return { ...state, taken }
}
