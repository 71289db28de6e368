import { createHash } from 'node:crypto'
import type { PermissionMode, TokenUsage, ToolKind } from '@parley/protocol'
import type { AgentOutput, PermissionAsk } from '../../core/agent-adapter.ts'
import type { Dialect, KnownAgent } from './agent.ts'
import type { NativeConfig, NativeId, NativeOption, NativeToolContent } from './native.ts'

export type TranslateContext = {
  readonly dialect: Dialect
  readonly modes: KnownAgent['modes']
  /** Makes the ids of this connection differ from those of any other of the session. */
  readonly connectionId: string
  /** What the person asked for. */
  readonly requestedMode: PermissionMode
}

/** Everything the translator remembers. A value: it is replaced, never changed. */
export type TranslateState = TranslateContext & {
  /** What we asked the agent and has no answer yet. */
  readonly sent: ReadonlyMap<NativeId, Sent>
  /** Permissions that the agent asked for and has no answer to yet. */
  readonly asked: ReadonlyMap<NativeId, Asked>
  readonly sessionId: string | undefined
  readonly agentVersion: string | undefined
  /** As the agent says; undefined: it does not say. */
  readonly signedIn: boolean | undefined
  /** What is told of the conversation was told before: it is loaded, and no prompt was given since. */
  readonly replaying: boolean
  /** The last thing that the person said in the replay. */
  readonly lastHeard: string
  readonly hearing: boolean
  /** The last call in the replay, unless it was done: a process that is killed may have taken it for refused. */
  readonly openCall: string | undefined
  /** The turn of the host's that runs, and how many there were. */
  readonly turn: Turn | undefined
  readonly turns: number
  /** Texts that are being written, by the call of their subagent; '' for the main line. */
  readonly open: Readonly<Record<string, OpenText>>
  readonly blocks: number
  /** By the agent's own id. */
  readonly calls: ReadonlyMap<string, Call>
  /** How often an id of the agent's was used: some begin anew with every turn. */
  readonly uses: ReadonlyMap<string, number>
  readonly usage: UsageSoFar
  readonly compactions: ReadonlyMap<string, { readonly summary: string; readonly said: boolean }>
  readonly config: Config
  /** What was said last of things that are only said when they change. */
  readonly said: Readonly<Record<string, string>>
}

export type Sent = { readonly method: string; readonly params: unknown }
export type Asked = { readonly callId: string; readonly options: readonly NativeOption[] }
export type Turn = {
  readonly number: number
  readonly interrupting: boolean
  /** The command of the agent's that it runs, if it is one. */
  readonly command: string | undefined
  readonly costBefore: number | undefined
}
export type OpenText = {
  readonly type: 'text' | 'thinking'
  readonly blockId: string
  readonly messageId: string | undefined
  readonly text: string
  /** Said outside of any turn. */
  readonly background: boolean
}
export type Call = {
  /** Our id. */
  readonly id: string
  readonly stage: 'draft' | 'called' | 'ended'
  readonly name: string
  readonly kind: ToolKind
  readonly title: string
  readonly rawInput: unknown
  /** As it was recorded. */
  readonly input: unknown
  readonly content: readonly NativeToolContent[]
  readonly locations: readonly { readonly path: string; readonly line?: number }[]
  readonly parent: string | undefined
  readonly asked: boolean
  /** What became of the question, if it was not allowed. */
  readonly refused: 'denied' | 'cancelled' | undefined
  /** It was said to run, or to have run. */
  readonly started: boolean
  /** The turn it was called in; undefined: outside of any. */
  readonly turn: number | undefined
}
export type UsageSoFar = {
  readonly total: TokenUsage
  readonly context: number | undefined
  readonly window: number | undefined
  readonly costUsd: number | undefined
}
export type Config = {
  readonly mode: string | undefined
  /** The options that stand for mode, model and effort, by category. */
  readonly options: readonly NativeConfig[]
  readonly hasModes: boolean
  readonly hasModels: boolean
  readonly model: string | undefined
}

export type Translation = {
  readonly state: TranslateState
  readonly outputs: readonly AgentOutput[]
  /** Calls that the agent began without having asked. */
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
    lastHeard: '',
    hearing: false,
    openCall: undefined,
    turn: undefined,
    turns: 0,
    open: {},
    blocks: 0,
    calls: new Map(),
    uses: new Map(),
    usage: { total: { input: 0, output: 0 }, context: undefined, window: undefined, costUsd: undefined },
    compactions: new Map(),
    config: { mode: undefined, options: [], hasModes: false, hasModels: false, model: undefined },
    said: {},
  }
}

export function withRequestedMode(state: TranslateState, requestedMode: PermissionMode): TranslateState {
  return { ...state, requestedMode }
}

export function nothing(state: TranslateState): Translation {
  return { state, outputs: [] }
}

/** One after the other. */
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

/** Given only when it differs from what was given under this name before. */
export function sayOnce(
  state: TranslateState,
  name: string,
  value: unknown,
  outputs: AgentOutput[],
): Translation {
  const json = JSON.stringify(value) ?? ''
  if (state.said[name] === json) return nothing(state)
  return { state: { ...state, said: { ...state.said, [name]: json } }, outputs }
}

/** An id that no other connection gives, and not too long for the log. */
export function ourId({ connectionId }: TranslateContext, native: string): string {
  const short = native.length > 120 ? createHash('sha256').update(native).digest('hex').slice(0, 32) : native
  return `${connectionId.slice(-40)}:${short}`
}

export function withCall(state: TranslateState, nativeId: string, call: Call): TranslateState {
  return { ...state, calls: new Map(state.calls).set(nativeId, call) }
}

/** Our name of a mode of the agent's: the one that was asked for, if it stands for it. */
export function ourMode(
  { modes, requestedMode }: TranslateContext,
  native: string,
): PermissionMode | undefined {
  if (modes[requestedMode] === native) return requestedMode
  return (Object.keys(modes) as PermissionMode[]).find((mode) => modes[mode] === native)
}

/** What lies at the end of a path into `_meta`, if it is words. */
export function inMeta(meta: unknown, path: readonly string[] | undefined): string | undefined {
  let at: unknown = path && meta
  for (const step of path ?? []) at = isRecord(at) ? at[step] : undefined
  return typeof at === 'string' ? at : undefined
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
