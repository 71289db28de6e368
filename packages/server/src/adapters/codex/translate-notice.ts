import { noOutput, notice, working } from '@parley/adapter-kit/translation'
import type { NativeRateLimits } from './native.ts'
import { isOwnHook, type NativeHookRun } from './native-hook.ts'
import { parentOf, type TranslateState, type Translation } from './translate-state.ts'

type OfThread = { readonly threadId: string }
type Warning = { readonly message: string }
type Detailed = { readonly summary: string; readonly details: string | null }
type NoticeArguments = Parameters<typeof notice>

/** Messages that are not part of the conversation: warnings, limits, hooks, reviews. */
export const notices = {
  warning: (state: TranslateState, { message }: Warning) => once(state, 'warning', 'warning', message),
  guardianWarning: (state: TranslateState, { message }: Warning) =>
    once(state, 'warning', 'warning', message),
  configWarning: (state: TranslateState, params: Detailed) =>
    once(state, 'warning', 'config-warning', textOf(params)),
  deprecationNotice: (state: TranslateState, params: Detailed) =>
    once(state, 'info', 'deprecated', textOf(params)),
  'windows/worldWritableWarning': (state: TranslateState, params: { samplePaths: readonly string[] }) => {
    const folders = params.samplePaths.join(', ')
    const text = `Codex's sandbox does not block writes to folders that every user can write to: ${folders}. To protect them, change their permissions.`
    return once(state, 'warning', 'world-writable', text, { data: params })
  },

  'thread/archived': (state: TranslateState) =>
    notify(state, 'info', 'archived', 'Another program has archived this conversation.'),
  'thread/unarchived': (state: TranslateState) =>
    notify(state, 'info', 'unarchived', 'Another program has unarchived this conversation.'),
  'thread/deleted': (state: TranslateState) =>
    notify(state, 'error', 'deleted', 'Another program has deleted this conversation: it cannot be resumed.'),
  'thread/reverted': (state: TranslateState) =>
    notify(state, 'warning', 'reverted', 'Another program has removed a part of this conversation.'),

  'model/rerouted': (
    state: TranslateState,
    { fromModel: from, toModel: to, reason }: { fromModel: string; toModel: string; reason: string },
  ) => {
    const text = `${to} answers instead of ${from} (${reason}).`
    return notify(state, 'warning', 'model-rerouted', text, { data: { from, to, reason } })
  },
  'model/verification': (state: TranslateState, { verifications }: { verifications: unknown }) => {
    const text = 'The model service requires you to verify your identity.'
    return notify(state, 'info', 'model-verification', text, { data: verifications })
  },
  'model/safetyBuffering/updated': (
    state: TranslateState,
    params: { showBufferingUi: boolean; reasons: readonly string[] },
  ) => {
    if (!params.showBufferingUi) return noOutput(state)
    const text = `The answer is being reviewed before it is shown (${params.reasons.join(', ')}).`
    return notify(state, 'info', 'safety-buffering', text, { data: params })
  },
  'modelProvider/authRecoveryStarted': (state: TranslateState, { message }: Warning) =>
    notify(state, 'warning', 'auth-recovery', message),
  'modelProvider/authRecoveryCompleted': (state: TranslateState, { message }: Warning) =>
    notify(state, 'info', 'auth-recovery', message),
  'account/gatewayOAuth/changed': (
    state: TranslateState,
    params: { status: string; error: string | null; authUrl: string | null },
  ) => {
    const text = params.error ?? params.authUrl ?? `Sign-in at the gateway: ${params.status}`
    return notify(state, params.error ? 'error' : 'info', 'gateway-sign-in', text, { data: params })
  },
  'account/rateLimits/updated': (
    state: TranslateState,
    { rateLimits }: { rateLimits: NativeRateLimits },
  ): Translation => {
    const rateLimit = levelOf(rateLimits)
    if (rateLimit === state.reported.rateLimit) return noOutput(state)
    const [level, text] = limits[rateLimit]
    return {
      state: { ...state, reported: { ...state.reported, rateLimit } },
      outputs: [notice(level, 'rate-limit', text, { data: rateLimits })],
    }
  },

  'hook/completed': (
    state: TranslateState,
    { threadId, run }: OfThread & { run: NativeHookRun },
  ): Translation => {
    const { status, eventName: event, source } = run
    const content = run.entries.map(({ text }) => text).join('\n') || run.statusMessage
    if (isOwnHook(run) || (status === 'completed' && !content)) return noOutput(state)
    const text = content || `The hook for ${event} in ${run.sourcePath}: ${status}.`
    const more = { data: { event, source, status }, ...parentOf(state, threadId) }
    return notify(state, status === 'completed' ? 'info' : 'warning', 'hook', text, more)
  },
  'item/autoApprovalReview/completed': (
    state: TranslateState,
    params: OfThread & { review: { status: string; rationale: string | null }; action: unknown },
  ) => {
    const { threadId, review, action } = params
    const text = `Codex had another model review a call: ${review.rationale ?? review.status}`
    const more = { data: { review, action }, ...parentOf(state, threadId) }
    return notify(state, 'warning', 'auto-review', text, more)
  },
  'autoApprovalReview/strictReviewRequired': (state: TranslateState, { threadId }: OfThread) => {
    const text = 'Codex reviews every call of this turn.'
    return notify(state, 'info', 'auto-review', text, parentOf(state, threadId))
  },

  /**
   * Reports input to a running command. The settings disable such input, because Codex requests no approval for it. If
   * it happens nevertheless, the log shows it.
   */
  'item/commandExecution/terminalInteraction': (
    state: TranslateState,
    { threadId, itemId: toolCallId, stdin }: OfThread & { itemId: string; stdin: string },
  ) => {
    if (stdin === '') return noOutput(state)
    const text = `Typed into a running command: ${stdin.trimEnd()}`
    const more = { data: { toolCallId, stdin }, ...parentOf(state, threadId) }
    return notify(state, 'info', 'terminal-input', text, more)
  },
  'item/mcpToolCall/progress': (state: TranslateState, { message }: Warning): Translation => ({
    state,
    outputs: [working(message)],
  }),
  'mcpServer/oauthLogin/completed': (
    state: TranslateState,
    { name, success, error }: { name: string; success: boolean; error?: string },
  ) => {
    const failure = `Not signed in to ${name}: ${error ?? 'no reason given'}`
    const text = success ? `Signed in to ${name}.` : failure
    return notify(state, success ? 'info' : 'warning', 'mcp-sign-in', text)
  },
} as const

function textOf({ summary, details }: Detailed): string {
  return details ? `${summary} ${details}` : summary
}

const nearPercent = 90

function levelOf({ primary, secondary, rateLimitReachedType }: NativeRateLimits): keyof typeof limits {
  const used = Math.max(primary?.usedPercent ?? 0, secondary?.usedPercent ?? 0)
  if (rateLimitReachedType !== null || used >= 100) return 'reached'
  return used >= nearPercent ? 'near' : 'free'
}

const limits = {
  free: ['info', 'The usage limit no longer applies.'],
  near: ['warning', 'The usage limit is near.'],
  reached: ['error', 'The usage limit is reached.'],
} as const

function notify(state: TranslateState, ...parts: NoticeArguments): Translation {
  return { state, outputs: [notice(...parts)] }
}

const maxWarnings = 100

/** Returns a notice only the first time. Codex repeats its warnings with every turn and for every subagent. */
function once(state: TranslateState, ...parts: NoticeArguments): Translation {
  const { warnings } = state.reported
  const [, , text] = parts
  if (warnings.has(text)) return noOutput(state)
  const remembered = warnings.size < maxWarnings ? new Set(warnings).add(text) : new Set([text])
  return notify({ ...state, reported: { ...state.reported, warnings: remembered } }, ...parts)
}
