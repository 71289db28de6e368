import type { HostToolNames } from '@parley/adapter-kit/host-tool-server'
import type { Translation as SharedTranslation } from '@parley/adapter-kit/translation'
import type { SessionOptions, Task, TokenUsage, ToolKind } from '@parley/protocol'
import type { NativeFileChange } from './native.ts'
import type { SandboxPermissions } from './sandbox-permissions.ts'

export type TranslateContext = {
  readonly threadId: string
  readonly cwd?: string
  readonly options?: SessionOptions
  readonly hostTools?: HostToolNames
}

/** The whole state of the translator. Immutable. */
export type TranslateState = {
  /** The thread of the conversation itself. All other threads belong to subagents. */
  readonly threadId: string
  readonly cwd: string | undefined
  readonly hostTools: HostToolNames
  /** The requested options of the session; `optionsInForce` returns the effective ones. */
  readonly options: SessionOptions
  /** The running turn of the host, and the number of turns so far. */
  readonly turn: Turn | undefined
  readonly turns: number
  readonly subagents: ReadonlyMap<string, Subagent>
  /** Texts and thinking that are being streamed, by our id. */
  readonly blocks: ReadonlyMap<string, Block>
  readonly calls: ReadonlyMap<string, Call>
  /** Commands that outlived their turn, by the id of their call. */
  readonly background: ReadonlyMap<string, Task>
  readonly denied: ReadonlySet<string>
  /** The sandbox permissions that open commands request, by the id of their call. */
  readonly sandboxes: ReadonlyMap<string, SandboxPermissions>
  readonly interrupting: boolean
  readonly usage: UsageSoFar
  readonly mcpServers: Readonly<Record<string, string>>
  readonly reported: Reported
}

export type Turn = {
  readonly number: number
  /** Codex's own id of the turn, once known. */
  readonly nativeId: string | undefined
  /** True if the person requested a compaction; otherwise Codex compacts by itself. */
  readonly compacting: boolean
  readonly usage: TokenUsage | undefined
  readonly answer: string | undefined
}

export type Subagent = {
  readonly toolCallId: string
  readonly title: string
  /** The current turn of the subagent. It is interrupted together with the host's turn. */
  readonly nativeTurn: string | undefined
  readonly answer: string | undefined
}

export type Block = {
  readonly threadId: string
  readonly type: 'text' | 'thinking'
  readonly text: string
  /** The turn in which the block started. Deltas that arrive in another turn are dropped. */
  readonly turn: number | undefined
  /** Set if the block was interrupted and its streamed part was written. */
  readonly closed?: true
}

export type Call = {
  readonly threadId: string
  readonly name: string
  readonly kind: ToolKind
  readonly title: string
  readonly input: unknown
  readonly turn: number | undefined
  readonly output: string
  readonly isCommand: boolean
  /** The MCP server of the tool. Absent for other tools. */
  readonly server?: string
  /** Set for a patch. */
  readonly changes?: readonly NativeFileChange[]
}

export type UsageSoFar = {
  readonly total: TokenUsage | undefined
  readonly context: number
  readonly window: number | undefined
}

/** The values that were reported already and are not repeated. */
export type Reported = {
  readonly model: string | undefined
  readonly effort: string | undefined
  readonly rateLimit: 'free' | 'near' | 'reached'
  readonly warnings: ReadonlySet<string>
}

export type Translation = SharedTranslation<TranslateState>

export function initialState(context: TranslateContext): TranslateState {
  return {
    threadId: context.threadId,
    cwd: context.cwd,
    hostTools: context.hostTools ?? new Map(),
    options: context.options ?? {},
    turn: undefined,
    turns: 0,
    subagents: new Map(),
    blocks: new Map(),
    calls: new Map(),
    background: new Map(),
    denied: new Set(),
    sandboxes: new Map(),
    interrupting: false,
    usage: { total: undefined, context: 0, window: undefined },
    mcpServers: {},
    reported: { model: undefined, effort: undefined, rateLimit: 'free', warnings: new Set() },
  }
}

/** Begins a turn of the host: Codex's next messages belong to it. */
export function withTurn(state: TranslateState, { compacting = false } = {}): TranslateState {
  const number = state.turns + 1
  const turn: Turn = { number, nativeId: undefined, compacting, usage: undefined, answer: undefined }
  return { ...state, turn, turns: number, interrupting: false }
}

export function withNativeTurn(state: TranslateState, nativeId: string): TranslateState {
  return state.turn && state.turn.nativeId === undefined
    ? { ...state, turn: { ...state.turn, nativeId } }
    : state
}

/**
 * Records the sandbox permissions that a command requests. The hook runs before the approval request, so the
 * permissions are known when the request arrives.
 */
export function withSandbox(
  state: TranslateState,
  toolCallId: string,
  permissions: SandboxPermissions,
): TranslateState {
  return { ...state, sandboxes: new Map(state.sandboxes).set(toolCallId, permissions) }
}

/** Stores the requested settings and those that Codex reports as effective. Later, only changes are reported. */
export function withSettings(
  state: TranslateState,
  { options, model, effort }: { options: SessionOptions; model: string; effort: string | undefined },
): TranslateState {
  return { ...state, options, reported: { ...state.reported, model, effort } }
}

/** The effective options: the requested ones, with the effort that Codex reports. */
export function optionsInForce({ options, reported }: TranslateState): { options?: SessionOptions } {
  const inForce = { ...options, ...(reported.effort !== undefined && { effort: reported.effort }) }
  return Object.keys(inForce).length > 0 ? { options: inForce } : {}
}

/** The call that started the subagent, as the parent of all its outputs. */
export function parentOf(state: TranslateState, threadId: string): { parentToolCallId?: string } {
  const subagent = state.subagents.get(threadId)
  return subagent ? { parentToolCallId: subagent.toolCallId } : {}
}
