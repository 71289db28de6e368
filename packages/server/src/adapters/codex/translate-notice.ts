import type { AgentOutput } from '../../core/agent-adapter.ts'
import { noOutput } from '../translation.ts'
import type { NativeRateLimits } from './native.ts'
import { isOwnHook, type NativeHookRun } from './native-hook.ts'
import { parentOf, type TranslateState, type Translation } from './translate-state.ts'

type Notice = Extract<AgentOutput, { type: 'agent.noticed' }>
type Content = Pick<Notice, 'level' | 'text' | 'data'>
type OfThread = { readonly threadId: string }

/** Messages beside the conversation: warnings, limits, hooks, reviews. */
export const notices = {
  warning: (state: TranslateState, { message }: { message: string }) =>
    once(state, 'warning', { level: 'warning', text: message }),
  guardianWarning: (state: TranslateState, { message }: { message: string }) =>
    once(state, 'warning', { level: 'warning', text: message }),
  configWarning: (state: TranslateState, { summary, details }: { summary: string; details: string | null }) =>
    once(state, 'config-warning', { level: 'warning', text: details ? `${summary} ${details}` : summary }),
  deprecationNotice: (
    state: TranslateState,
    { summary, details }: { summary: string; details: string | null },
  ) => once(state, 'deprecated', { level: 'info', text: details ? `${summary} ${details}` : summary }),
  'windows/worldWritableWarning': (state: TranslateState, params: { samplePaths: readonly string[] }) =>
    once(state, 'world-writable', {
      level: 'warning',
      text: `Anyone can write to folders that the sandbox does not cover: ${params.samplePaths.join(', ')}`,
      data: params,
    }),

  'thread/archived': (state: TranslateState) =>
    notify(state, 'archived', { level: 'info', text: 'Another program has archived this conversation.' }),
  'thread/unarchived': (state: TranslateState) =>
    notify(state, 'unarchived', {
      level: 'info',
      text: 'Another program has unarchived this conversation.',
    }),
  'thread/deleted': (state: TranslateState) =>
    notify(state, 'deleted', {
      level: 'error',
      text: 'Another program has deleted this conversation: it cannot be resumed.',
    }),
  'thread/reverted': (state: TranslateState) =>
    notify(state, 'reverted', {
      level: 'warning',
      text: 'Another program has removed a part of this conversation.',
    }),

  'model/rerouted': (
    state: TranslateState,
    { fromModel, toModel, reason }: { fromModel: string; toModel: string; reason: string },
  ) =>
    notify(state, 'model-rerouted', {
      level: 'warning',
      text: `${toModel} answers instead of ${fromModel} (${reason}).`,
      data: { from: fromModel, to: toModel, reason },
    }),
  'model/verification': (state: TranslateState, { verifications }: { verifications: unknown }) =>
    notify(state, 'model-verification', {
      level: 'info',
      text: 'The model service requires you to verify your identity.',
      data: verifications,
    }),
  'model/safetyBuffering/updated': (
    state: TranslateState,
    params: { showBufferingUi: boolean; reasons: readonly string[] },
  ) =>
    params.showBufferingUi
      ? notify(state, 'safety-buffering', {
          level: 'info',
          text: `The answer is being reviewed before it is shown (${params.reasons.join(', ')}).`,
          data: params,
        })
      : noOutput(state),
  'modelProvider/authRecoveryStarted': (state: TranslateState, { message }: { message: string }) =>
    notify(state, 'auth-recovery', { level: 'warning', text: message }),
  'modelProvider/authRecoveryCompleted': (state: TranslateState, { message }: { message: string }) =>
    notify(state, 'auth-recovery', { level: 'info', text: message }),
  'account/gatewayOAuth/changed': (
    state: TranslateState,
    params: { status: string; error: string | null; authUrl: string | null },
  ) =>
    notify(state, 'gateway-sign-in', {
      level: params.error ? 'error' : 'info',
      text: params.error ?? params.authUrl ?? `Sign-in at the gateway: ${params.status}`,
      data: params,
    }),
  'account/rateLimits/updated': (
    state: TranslateState,
    { rateLimits }: { rateLimits: NativeRateLimits },
  ): Translation => {
    const rateLimit = levelOf(rateLimits)
    if (rateLimit === state.said.rateLimit) return noOutput(state)
    return {
      state: { ...state, said: { ...state.said, rateLimit } },
      outputs: [notice('rate-limit', { ...limits[rateLimit], data: rateLimits })],
    }
  },

  'hook/completed': (
    state: TranslateState,
    { threadId, run }: OfThread & { run: NativeHookRun },
  ): Translation => {
    const content = run.entries.map(({ text }) => text).join('\n') || run.statusMessage
    if (isOwnHook(run) || (run.status === 'completed' && !content)) return noOutput(state)
    const outcome = `The hook for ${run.eventName} in ${run.sourcePath}: ${run.status}.`
    return notifyFrom(state, threadId, 'hook', {
      level: run.status === 'completed' ? 'info' : 'warning',
      text: content || outcome,
      data: { event: run.eventName, source: run.source, status: run.status },
    })
  },
  'item/autoApprovalReview/completed': (
    state: TranslateState,
    params: OfThread & { review: { status: string; rationale: string | null }; action: unknown },
  ) =>
    notifyFrom(state, params.threadId, 'auto-review', {
      level: 'warning',
      text: `Codex had another model review a call: ${params.review.rationale ?? params.review.status}`,
      data: { review: params.review, action: params.action },
    }),
  'autoApprovalReview/strictReviewRequired': (state: TranslateState, { threadId }: OfThread) =>
    notifyFrom(state, threadId, 'auto-review', {
      level: 'info',
      text: 'Codex reviews every call of this turn.',
    }),

  /**
   * Our commands have no terminal, so they take no input. If one gets input nevertheless, it was not approved: it is
   * reported.
   */
  'item/commandExecution/terminalInteraction': (
    state: TranslateState,
    { threadId, itemId, stdin }: OfThread & { itemId: string; stdin: string },
  ) =>
    stdin === ''
      ? noOutput(state)
      : notifyFrom(state, threadId, 'terminal-input', {
          level: 'info',
          text: `Typed into a running command: ${stdin.trimEnd()}`,
          data: { toolCallId: itemId, stdin },
        }),
  'item/mcpToolCall/progress': (state: TranslateState, { message }: { message: string }): Translation => ({
    state,
    outputs: [{ type: 'activity.changed', activity: 'active', detail: message }],
  }),
  'mcpServer/oauthLogin/completed': (
    state: TranslateState,
    { name, success, error }: { name: string; success: boolean; error?: string },
  ) =>
    notify(state, 'mcp-sign-in', {
      level: success ? 'info' : 'warning',
      text: success ? `Signed in to ${name}.` : `Not signed in to ${name}: ${error ?? 'no reason given'}`,
    }),
} as const

const nearPercent = 90

function levelOf({ primary, secondary, rateLimitReachedType }: NativeRateLimits): keyof typeof limits {
  const used = Math.max(primary?.usedPercent ?? 0, secondary?.usedPercent ?? 0)
  if (rateLimitReachedType !== null || used >= 100) return 'reached'
  return used >= nearPercent ? 'near' : 'free'
}

const limits = {
  free: { level: 'info', text: 'The usage limit no longer applies.' },
  near: { level: 'warning', text: 'The usage limit is near.' },
  reached: { level: 'error', text: 'The usage limit is reached.' },
} as const

function notice(code: string, content: Content): Notice {
  return { type: 'agent.noticed', code, ...content }
}

function notify(state: TranslateState, code: string, content: Content): Translation {
  return { state, outputs: [notice(code, content)] }
}

function notifyFrom(state: TranslateState, threadId: string, code: string, content: Content): Translation {
  return { state, outputs: [{ ...notice(code, content), ...parentOf(state, threadId) }] }
}

const maxWarnings = 100

/** Codex repeats its warnings with every turn and for every subagent. */
function once(state: TranslateState, code: string, content: Content): Translation {
  const { warnings } = state.said
  if (warnings.has(content.text)) return noOutput(state)
  const remembered =
    warnings.size < maxWarnings ? new Set(warnings).add(content.text) : new Set([content.text])
  return {
    state: { ...state, said: { ...state.said, warnings: remembered } },
    outputs: [notice(code, content)],
  }
}
