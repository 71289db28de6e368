import { createHash } from 'node:crypto'
import type { AgentOutput, PermissionAsk } from '@parley/adapter-kit'
import { noOutput, type Translation as TranslationOf } from '@parley/adapter-kit/translation'
import type { PermissionMode, TokenUsage, ToolKind } from '@parley/protocol'
import { isRecord } from '@parley/protocol'
import type { Dialect, KnownAgent } from './agent.ts'
import type { NativeConfig, NativeId, NativeOption, NativeToolContent } from './native.ts'

export type TranslateContext = {
  readonly dialect: Dialect
  readonly modes: KnownAgent['modes']
  /** Distinguishes the ids of this connection from those of other connections of the session. */
  readonly connectionId: string
  readonly requestedMode: PermissionMode
}

/** The whole state of the translator. Immutable. */
export type TranslateState = TranslateContext & {
  /** Our requests that have no response yet. */
  readonly sent: ReadonlyMap<NativeId, Sent>
  /** The agent's permission requests that have no response yet. */
  readonly asked: ReadonlyMap<NativeId, Asked>
  readonly sessionId: string | undefined
  readonly agentVersion: string | undefined
  /** The sign-in state that the agent reports. Undefined if it reports none. */
  readonly signedIn: boolean | undefined
  /**
   * True from the load of a conversation to the next prompt. During that time, messages repeat what is already
   * recorded.
   */
  readonly replaying: boolean
  /** The last message of the person in the replay. */
  readonly lastPrompt: string
  readonly isInPrompt: boolean
  /**
   * The last call in the replay, if it has not completed. If the process was killed, the agent may replay the call as
   * refused.
   */
  readonly openCall: string | undefined
  readonly turn: Turn | undefined
  /** Unfinished texts. The key is the call that started the subagent, or '' for the main agent. */
  readonly open: Readonly<Record<string, OpenText>>
  readonly blocks: number
  readonly calls: ReadonlyMap<string, Call>
  /** The number of uses of each id of the agent: some agents restart their numbering in every turn. */
  readonly uses: ReadonlyMap<string, number>
  readonly usage: UsageSoFar
  readonly compactions: ReadonlyMap<string, { readonly summary: string; readonly reported: boolean }>
  readonly config: Config
  /** The last values of outputs that are reported only when they change. */
  readonly reported: Readonly<Record<string, string>>
}

export type Sent = { readonly method: string; readonly params: unknown }
export type Asked = { readonly callId: string; readonly options: readonly NativeOption[] }
export type Turn = {
  readonly interrupting: boolean
  /** The slash command that the turn runs, if any. */
  readonly command: string | undefined
  readonly costBefore: number | undefined
}
export type OpenText = {
  readonly type: 'text' | 'thinking'
  readonly blockId: string
  readonly messageId: string | undefined
  readonly text: string
  /** True if the text was written outside any turn. */
  readonly background: boolean
}
export type Call = {
  readonly id: string
  readonly stage: 'draft' | 'called' | 'ended'
  readonly name: string
  readonly kind: ToolKind
  readonly title: string
  readonly rawInput: unknown
  readonly input: unknown
  readonly content: readonly NativeToolContent[]
  readonly locations: readonly { readonly path: string; readonly line?: number }[]
  readonly parent: string | undefined
  readonly asked: boolean
  /** The outcome of the permission request, if the call was not allowed. */
  readonly refused: 'denied' | 'cancelled' | undefined
  /** True if the agent reported that the call runs or has run. */
  readonly started: boolean
  /** True if the call was made in a turn of the host. */
  readonly ofTurn: boolean
}
export type UsageSoFar = {
  readonly total: TokenUsage
  readonly context: number | undefined
  readonly window: number | undefined
  readonly costUsd: number | undefined
}
export type Config = {
  readonly mode: string | undefined
  /** The options for mode, model and effort, by category. */
  readonly options: readonly NativeConfig[]
  readonly hasModes: boolean
  readonly hasModels: boolean
  readonly model: string | undefined
}

export type Translation = TranslationOf<TranslateState> & {
  /** Calls that the agent started without asking. */
  readonly unasked?: readonly PermissionAsk[]
}

export function initialState(context: TranslateContext): TranslateState {
  return {
    ...context,
    sent: new Map(),
    asked: new Map(),
    sessionId: undefined,
    agentVersion: undefined,
    signedIn: undefined,
    replaying: false,
    lastPrompt: '',
    isInPrompt: false,
    openCall: undefined,
    turn: undefined,
    open: {},
    blocks: 0,
    calls: new Map(),
    uses: new Map(),
    usage: { total: { input: 0, output: 0 }, context: undefined, window: undefined, costUsd: undefined },
    compactions: new Map(),
    config: { mode: undefined, options: [], hasModes: false, hasModels: false, model: undefined },
    reported: {},
  }
}

export function withRequestedMode(state: TranslateState, requestedMode: PermissionMode): TranslateState {
  return { ...state, requestedMode }
}

export function sequence(
  state: TranslateState,
  ...steps: ((state: TranslateState) => Translation)[]
): Translation {
  let now = state
  const outputs: AgentOutput[] = []
  const unasked: PermissionAsk[] = []
  for (const step of steps) {
    const next = step(now)
    now = next.state
    outputs.push(...next.outputs)
    unasked.push(...(next.unasked ?? []))
  }
  return { state: now, outputs, ...(unasked.length > 0 && { unasked }) }
}

/** Returns the outputs only if `value` differs from the last value that was reported under this name. */
export function reportOnce(
  state: TranslateState,
  name: string,
  value: unknown,
  outputs: AgentOutput[],
): Translation {
  const json = JSON.stringify(value) ?? ''
  if (state.reported[name] === json) return noOutput(state)
  return { state: { ...state, reported: { ...state.reported, [name]: json } }, outputs }
}

/** An id that is unique across connections and short enough for the log. */
export function ourId({ connectionId }: Pick<TranslateContext, 'connectionId'>, native: string): string {
  const short = native.length > 120 ? createHash('sha256').update(native).digest('hex').slice(0, 32) : native
  return `${connectionId.slice(-40)}:${short}`
}

/**
 * True if `id` is our id for the agent's call id `native`, in any connection, even if the agent used that id several
 * times.
 */
export function isIdOf(id: string, native: string): boolean {
  const end = ourId({ connectionId: '' }, native)
  return id.endsWith(end) || id.replace(/#\d+$/, '').endsWith(end)
}

/**
 * Our mode for a mode of the agent: the requested mode if it maps to the agent's mode, otherwise the first mode that
 * does.
 */
export function ourMode(
  { modes, requestedMode }: TranslateContext,
  native: string,
): PermissionMode | undefined {
  if (modes[requestedMode] === native) return requestedMode
  return (Object.keys(modes) as PermissionMode[]).find((mode) => modes[mode] === native)
}

/** The value at a path into `_meta`. */
export function metaAt(meta: unknown, path: readonly string[] | undefined): unknown {
  let at: unknown = path && meta
  for (const step of path ?? []) at = isRecord(at) ? at[step] : undefined
  return at
}

/** The value at a path into `_meta`, if it is a string. */
export function inMeta(meta: unknown, path: readonly string[] | undefined): string | undefined {
  const at = metaAt(meta, path)
  return typeof at === 'string' ? at : undefined
}
