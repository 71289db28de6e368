import type { AgentOutput } from '../../core/agent-adapter.ts'
import { noOutput } from '../translation.ts'
import type {
  NativeApiRetry,
  NativeAuthStatus,
  NativeFilesPersisted,
  NativeHookResponse,
  NativeInformational,
  NativeLocalCommandOutput,
  NativeMemoryRecall,
  NativeMirrorError,
  NativeNotification,
  NativePluginInstall,
  NativeRateLimit,
  NativeRefusal,
  NativeRefusalFallback,
  NativeShuttingDown,
  NativeThinkingTokens,
  NativeToolProgress,
  NativeWritesLost,
} from './native.ts'
import { retract } from './translate-assistant.ts'
import { parentOf, type TranslateState, type Translation } from './translate-state.ts'
import { retractUnwritten, withoutStream } from './translate-stream.ts'

/** Messages beside the conversation: retries, limits, refusals, hooks, progress. */
export const notices = {
  'system/api_retry': (state: TranslateState, message: NativeApiRetry): Translation => {
    const { attempt, max_retries, retry_delay_ms, error_status, error } = message
    const what =
      error_status === null
        ? 'could not be reached, or the connection was interrupted'
        : `answered ${error_status} (${error})`
    const seconds = Math.ceil(retry_delay_ms / 1000)
    return {
      state: withoutStream(state, ''),
      outputs: [
        ...retractUnwritten(state, state.streams[''], 'the response was interrupted; the agent tries again'),
        notice(error_status === 429 ? 'rate-limited' : 'api-retry', {
          level: 'warning',
          text: `The model ${what}; trying again in ${seconds} s (${attempt} of ${max_retries}).`,
          data: { attempt, maxRetries: max_retries, delayMs: retry_delay_ms, status: error_status, error },
        }),
      ],
    }
  },

  rate_limit_event: (state: TranslateState, { rate_limit_info: info }: NativeRateLimit): Translation => {
    if (info.status === 'allowed' && state.saidRateLimit === 'allowed') return noOutput(state)
    const { level, text } = limits[info.status] ?? limits.allowed
    return {
      state: { ...state, saidRateLimit: info.status },
      outputs: [notice('rate-limit', { level, text, data: info })],
    }
  },

  'system/model_refusal_fallback': (state: TranslateState, message: NativeRefusalFallback): Translation => {
    const { scope, original_model, fallback_model, api_refusal_category, content } = message
    const taken = retract(state, message.retracted_message_uuids ?? [], 'the model refused')
    const swapped = scope !== 'local' && fallback_model !== state.saidModel
    return {
      state: swapped ? { ...taken.state, saidModel: fallback_model } : taken.state,
      outputs: [
        ...taken.outputs,
        notice('model-fallback', {
          level: 'warning',
          text: content || `The model ${original_model} refused; ${fallback_model} continues.`,
          data: { from: original_model, to: fallback_model, category: api_refusal_category },
        }),
        ...(swapped ? [{ type: 'session.configured' as const, effective: { model: fallback_model } }] : []),
      ],
    }
  },

  'system/model_refusal_no_fallback': (state: TranslateState, message: NativeRefusal): Translation =>
    say(state, 'model-refusal', {
      level: 'error',
      text: message.content || 'The model refused to answer. Rephrase the prompt, or choose another model.',
      data: { model: message.original_model, category: message.api_refusal_category },
    }),

  'system/hook_response': (state: TranslateState, message: NativeHookResponse): Translation => {
    const { hook_name, hook_event, output, stderr, exit_code, outcome } = message
    const words = (output || stderr).trim()
    if (outcome === 'success' && words === '') return noOutput(state)
    return say(state, 'hook', {
      level: outcome === 'success' ? 'info' : 'warning',
      text: words || `The hook ${hook_name} ended: ${outcome}.`,
      data: { hook: hook_name, event: hook_event, outcome, exitCode: exit_code },
    })
  },

  'system/informational': (state: TranslateState, message: NativeInformational): Translation =>
    say(state, 'informational', {
      level: message.level === 'warning' ? 'warning' : 'info',
      text: message.content,
      ...(message.prevent_continuation && { data: { stops: true } }),
    }),

  'system/notification': (state: TranslateState, { key, text, priority }: NativeNotification): Translation =>
    say(state, 'notification', {
      level: priority === 'high' || priority === 'immediate' ? 'warning' : 'info',
      text,
      data: { key, priority },
    }),

  auth_status: (state: TranslateState, { isAuthenticating, output, error }: NativeAuthStatus): Translation =>
    say(state, 'auth-status', {
      level: error ? 'error' : 'info',
      text: error ?? (output.join('\n') || (isAuthenticating ? 'Signing in.' : 'Signed in.')),
    }),

  'system/local_command_output': (state: TranslateState, message: NativeLocalCommandOutput): Translation => ({
    state,
    outputs: message.content
      ? [{ type: 'text.written', blockId: `${message.uuid}:0`, text: message.content }]
      : [],
  }),

  'system/memory_recall': (state: TranslateState, { mode, memories }: NativeMemoryRecall): Translation =>
    say(state, 'memory-recall', {
      level: 'info',
      text: `Recalled from memory: ${memories.map(({ path }) => path).join(', ')}`,
      data: { mode, memories },
    }),

  'system/plugin_install': (
    state: TranslateState,
    { status, name, error }: NativePluginInstall,
  ): Translation =>
    status === 'failed'
      ? say(state, 'plugin-failed', {
          level: 'warning',
          text: `The plugin ${name ?? ''} could not be installed: ${error ?? 'no reason given'}.`,
        })
      : noOutput(state),

  'system/files_persisted': (state: TranslateState, { failed }: NativeFilesPersisted): Translation =>
    failed.length > 0
      ? say(state, 'files-not-persisted', {
          level: 'warning',
          text: `Not saved: ${failed.map(({ filename }) => filename).join(', ')}`,
          data: failed,
        })
      : noOutput(state),

  'system/mirror_error': (state: TranslateState, { error }: NativeMirrorError): Translation =>
    say(state, 'transcript-not-mirrored', { level: 'error', text: error }),

  'system/session_writes_lost': (state: TranslateState, message: NativeWritesLost): Translation =>
    say(state, 'transcript-lost', {
      level: 'error',
      text: `Claude Code could not save its transcript (${message.error_code}): a resumed conversation may be incomplete.`,
      data: { lost: message.lost, sessions: message.transcript_session_ids },
    }),

  'system/worker_shutting_down': (state: TranslateState, { reason }: NativeShuttingDown): Translation =>
    say(state, 'shutting-down', { level: 'info', text: `Claude Code is shutting down: ${reason}.` }),

  'system/thinking_tokens': (state: TranslateState, message: NativeThinkingTokens): Translation => {
    const { estimated_tokens: now, estimated_tokens_delta: more } = message
    const said = Math.floor(now / 100) * 100
    return said > now - more && said > 0
      ? { state, outputs: [working(`Thinking, about ${said} tokens`)] }
      : noOutput(state)
  },

  tool_progress: (state: TranslateState, message: NativeToolProgress): Translation => {
    const { tool_name, elapsed_time_seconds, subagent_retry: retry } = message
    if (!retry) return { state, outputs: [working(`${tool_name} for ${Math.round(elapsed_time_seconds)} s`)] }
    const seconds = Math.ceil(retry.retry_delay_ms / 1000)
    const parent = parentOf(state, message.tool_use_id)
    return {
      state,
      outputs: [
        {
          ...notice('api-retry', {
            level: 'warning',
            text: `A subagent's model call failed (${retry.error_category}); trying again in ${seconds} s (${retry.attempt} of ${retry.max_retries}).`,
            data: retry,
          }),
          ...parent,
        },
      ],
    }
  },
} as const

type Notice = Extract<AgentOutput, { type: 'agent.noticed' }>
type Words = Pick<Notice, 'level' | 'text' | 'data'>

const limits = {
  allowed: { level: 'info', text: 'The usage limit no longer applies.' },
  allowed_warning: { level: 'warning', text: 'The usage limit is near.' },
  rejected: { level: 'error', text: 'The usage limit is reached.' },
} as const

function notice(code: string, words: Words): Notice {
  return { type: 'agent.noticed', code, ...words }
}

function say(state: TranslateState, code: string, words: Words): Translation {
  return { state, outputs: [notice(code, words)] }
}

function working(detail: string): AgentOutput {
  return { type: 'activity.changed', activity: 'active', detail }
}
