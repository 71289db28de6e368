import type { HostToolNames } from '@parley/adapter-kit/host-tool-server'
import type { Translation as TranslationOf } from '@parley/adapter-kit/translation'
import type { AgentCommand, PermissionMode, PlanEntry, Task, TokenUsage } from '@parley/protocol'
import type { NativeUsage } from './native.ts'

export type TranslateContext = {
  /** The mode that the person requested. Read-only is enforced by the host: the agent runs in its default mode. */
  readonly requestedMode?: PermissionMode
  /** True for a resumed conversation: its totals are unknown before the first result. */
  readonly resumed?: boolean
  readonly hostTools?: HostToolNames
  /** Uuids of the messages that the resumed conversation already contains. A program may send them again. */
  readonly taken?: readonly string[]
}

/** The whole state of the translator. Immutable. */
export type TranslateState = {
  readonly requestedMode: PermissionMode | undefined
  readonly cwd: string | undefined
  readonly hostTools: HostToolNames
  readonly commands: readonly AgentCommand[]
  /** The running turn of the host, and the number of turns so far. */
  readonly turn: Turn | undefined
  readonly turns: number
  /** Steered prompts that the agent has received but not started. Maps their uuids to our ids. */
  readonly pending: ReadonlyMap<string, string>
  /** The background task that reported last. The agent's next own turn reacts to that report. */
  readonly reported: Task | undefined
  /**
   * The answers that are being streamed. The key is the tool call that started the subagent, or '' for the main agent.
   */
  readonly streams: Readonly<Record<string, Stream>>
  /**
   * Translated messages by uuid, with the ids of their blocks and calls. They are stored in pages, the newest first;
   * the oldest page is dropped.
   */
  readonly taken: readonly ReadonlyMap<string, readonly string[]>[]
  readonly calls: ReadonlyMap<string, Call>
  /** For calls that were announced again: maps the agent's id of a call to our new id. */
  readonly aliases: ReadonlyMap<string, string>
  readonly denied: ReadonlySet<string>
  readonly interrupting: boolean
  readonly plans: Readonly<Record<string, readonly PlanEntry[]>>
  readonly tasks: Readonly<Record<string, Task>>
  readonly usage: UsageSoFar
  /** A compaction whose summary may come with the next message. */
  readonly compaction: Compaction | undefined
  readonly reportedConnection: string
  /** The id of the conversation as last reported. */
  readonly reportedSessionId: string | undefined
  readonly reportedMode: string | undefined
  readonly reportedModel: string | undefined
  readonly reportedRateLimit: string
}

export type Turn = {
  readonly number: number
  /** The uuids of the prompts in this turn. If empty, every result belongs to the turn. */
  readonly prompts: readonly string[]
  /** True if the agent has started the turn. Before that, a result belongs to the agent's own work. */
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
  readonly id: string
  /** True if a part of the block has been output. */
  readonly begun: boolean
  /** True if the complete block has arrived. */
  readonly written: boolean
  /** The turn in which the block started. Deltas that arrive in another turn are dropped. */
  readonly turn: number | undefined
}
export type Call = {
  readonly name: string
  readonly title: string
  readonly input: unknown
  /** The call that started the subagent which made this call. */
  readonly parentToolCallId?: string
}
export type UsageSoFar = {
  /** Totals of the conversation; undefined after a resume until the first result. */
  readonly total: TokenUsage | undefined
  /** The usage of calls to the model since the last result, by the id of the answer. */
  readonly calls: ReadonlyMap<string, TokenUsage>
  readonly costUsd: number | undefined
  /** Time in calls to the model, as the process counts it; undefined after a resume until the first result. */
  readonly apiMs: number | undefined
  readonly context: number
  readonly window: number | undefined
  readonly maxOutput: number | undefined
}
export type Compaction = { trigger: 'manual' | 'auto'; before?: number; after?: number }

export type Translation = TranslationOf<TranslateState>

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
    reportedConnection: '',
    reportedSessionId: undefined,
    reportedMode: undefined,
    reportedModel: undefined,
    reportedRateLimit: 'allowed',
  }
}

/**
 * Begins a turn of the host. If `messageUuid` is given, the turn starts when the agent starts the prompt that was sent
 * with this `uuid`, and a result of other work does not end the turn. Otherwise the turn starts now.
 */
export function withTurn(state: TranslateState, messageUuid?: string): TranslateState {
  const number = state.turns + 1
  const turn = { number, prompts: messageUuid ? [messageUuid] : [], begun: messageUuid === undefined }
  return { ...state, turn, turns: number, interrupting: false }
}

/**
 * Registers a prompt that was steered into the running turn. The agent reads the prompt between two steps, or starts
 * the next turn with it.
 */
export function withSteering(state: TranslateState, messageUuid: string, promptId: string): TranslateState {
  return { ...state, pending: new Map(state.pending).set(messageUuid, promptId) }
}

export function withOwnTurn(state: TranslateState): TranslateState {
  const number = state.turns + 1
  return { ...state, turn: { number, prompts: [], begun: true }, turns: number, reported: undefined }
}

export function withRequestedMode(state: TranslateState, mode: PermissionMode): TranslateState {
  return { ...state, requestedMode: mode }
}

/** Stores the commands as the agent described them; `init` has only their names. */
export function withCommands(state: TranslateState, commands: readonly AgentCommand[]): TranslateState {
  return { ...state, commands }
}

export function callIdOf(state: TranslateState, nativeId: string): string {
  return state.aliases.get(nativeId) ?? nativeId
}

/** The call that started the subagent which made this call. */
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

/** The ids of the blocks and calls of a message, if it was translated. */
export function takenFrom(state: TranslateState, uuid: string): readonly string[] | undefined {
  return state.taken.find((page) => page.has(uuid))?.get(uuid)
}

/** Records that a message was translated, with the ids of its blocks and calls. */
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
