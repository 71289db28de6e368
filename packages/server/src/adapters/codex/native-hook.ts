import type { NativeMessage } from './native.ts'

/** Hooks are programs that Codex runs on certain events. One of them is ours: it asks Parley about each call. */

export type NativeHook = {
  readonly key: string
  readonly source: string
  readonly eventName: string
  readonly command: string | null
  readonly enabled: boolean
  readonly currentHash: string
  readonly trustStatus: string
}
export type NativeHookRun = {
  readonly eventName: string
  readonly source: string
  readonly sourcePath: string
  readonly status: 'running' | 'completed' | 'failed' | 'blocked' | 'stopped'
  readonly statusMessage: string | null
  readonly entries: readonly { readonly kind: string; readonly text: string }[]
}

/** The input of the hook that checks every call before it runs. */
export type NativeHookCall = {
  readonly session_id: string
  readonly agent_id?: string
  readonly tool_name: string
  readonly tool_input: Readonly<Record<string, unknown>>
  readonly tool_use_id: string
  /** The file in which Codex stores the conversation. */
  readonly transcript_path?: string | null
}

/** True if this is the hook that asks Parley about each call. */
export function isOwnHook({ eventName, source }: Pick<NativeHookRun, 'eventName' | 'source'>): boolean {
  return eventName === 'preToolUse' && source === 'sessionFlags'
}

export type HookFailure = { readonly threadId: string; readonly turnId: string | null; readonly why: string }

/** The failure of our hook, after which Codex lets the call run. */
export function hookFailure({ method, params }: NativeMessage): HookFailure | undefined {
  if (method !== 'hook/completed') return undefined
  const {
    threadId = '',
    turnId = null,
    run,
  } = (params ?? {}) as Partial<HookFailure> & { run?: NativeHookRun }
  if (!run || !isOwnHook(run) || run.status === 'completed' || run.status === 'blocked') return undefined
  return { threadId, turnId, why: run.entries.map(({ text }) => text).join('\n') || run.status }
}
