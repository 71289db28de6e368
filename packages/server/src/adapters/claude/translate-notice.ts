import { noOutput, notice, working } from '@parley/adapter-kit/translation'
import type { NativeKey, NativeMessage } from './native.ts'
import { retract } from './translate-assistant.ts'
import { parentOf, type TranslateState, type Translation } from './translate-state.ts'
import { retractUnwritten, withoutStream } from './translate-stream.ts'

type Handlers = {
  readonly [Key in NativeKey]?: (state: TranslateState, message: NativeMessage<Key>) => Translation
}

/** Messages that are not part of the conversation: retries, limits, refusals, hooks, progress. */
export const notices = {
  'system/api_retry': (state, message) => {
    const { attempt, max_retries, retry_delay_ms, error_status, error } = message
    const what =
      error_status === null
        ? 'could not be reached, or the connection was interrupted'
        : `answered ${error_status} (${error})`
    const seconds = Math.ceil(retry_delay_ms / 1000)
    const code = error_status === 429 ? 'rate-limited' : 'api-retry'
    const text = `The model ${what}; trying again in ${seconds} s (${attempt} of ${max_retries}).`
    const data = { attempt, maxRetries: max_retries, delayMs: retry_delay_ms, status: error_status, error }
    const reason = 'the response was interrupted; the agent tries again'
    return {
      state: withoutStream(state, ''),
      outputs: [
        ...retractUnwritten(state, state.streams[''], reason),
        notice('warning', code, text, { data }),
      ],
    }
  },

  rate_limit_event: (state, { rate_limit_info: info }) => {
    if (info.status === 'allowed' && state.reportedRateLimit === 'allowed') return noOutput(state)
    const [level, text] = limits[info.status] ?? limits.allowed
    return {
      state: { ...state, reportedRateLimit: info.status },
      outputs: [notice(level, 'rate-limit', text, { data: info })],
    }
  },

  'system/model_refusal_fallback': (state, message) => {
    const { scope, original_model: from, fallback_model: to, api_refusal_category: category } = message
    const taken = retract(state, message.retracted_message_uuids ?? [], 'the model refused')
    const swapped = scope !== 'local' && to !== state.reportedModel
    const text = message.content || `The model ${from} refused; ${to} continues.`
    return {
      state: swapped ? { ...taken.state, reportedModel: to } : taken.state,
      outputs: [
        ...taken.outputs,
        notice('warning', 'model-fallback', text, { data: { from, to, category } }),
        ...(swapped ? [{ type: 'session.configured' as const, effective: { model: to } }] : []),
      ],
    }
  },

  'system/model_refusal_no_fallback': (state, { content, original_model, api_refusal_category }) => {
    const text = content || 'The model refused to answer. Rephrase the prompt, or choose another model.'
    const data = { model: original_model, category: api_refusal_category }
    return { state, outputs: [notice('error', 'model-refusal', text, { data })] }
  },

  'system/hook_response': (state, message) => {
    const { hook_name, hook_event, output, stderr, exit_code, outcome } = message
    const printed = (output || stderr).trim()
    if (outcome === 'success' && printed === '') return noOutput(state)
    const text = printed || `The hook ${hook_name} ended: ${outcome}.`
    const data = { hook: hook_name, event: hook_event, outcome, exitCode: exit_code }
    return { state, outputs: [notice(outcome === 'success' ? 'info' : 'warning', 'hook', text, { data })] }
  },

  'system/informational': (state, { level, content, prevent_continuation }) => {
    const more = prevent_continuation ? { data: { stops: true } } : {}
    return {
      state,
      outputs: [notice(level === 'warning' ? 'warning' : 'info', 'informational', content, more)],
    }
  },

  'system/notification': (state, { key, text, priority }) => {
    const level = priority === 'high' || priority === 'immediate' ? 'warning' : 'info'
    return { state, outputs: [notice(level, 'notification', text, { data: { key, priority } })] }
  },

  auth_status: (state, { isAuthenticating, output, error }) => {
    const text = error ?? (output.join('\n') || (isAuthenticating ? 'Signing in.' : 'Signed in.'))
    return { state, outputs: [notice(error ? 'error' : 'info', 'auth-status', text)] }
  },

  'system/local_command_output': (state, { uuid, content: text }) => ({
    state,
    outputs: text ? [{ type: 'text.written', blockId: `${uuid}:0`, text }] : [],
  }),

  'system/memory_recall': (state, { mode, memories }) => {
    const text = `Recalled from memory: ${memories.map(({ path }) => path).join(', ')}`
    return { state, outputs: [notice('info', 'memory-recall', text, { data: { mode, memories } })] }
  },

  'system/plugin_install': (state, { status, name, error }) => {
    if (status !== 'failed') return noOutput(state)
    const text = `The plugin ${name ?? ''} could not be installed: ${error ?? 'no reason given'}.`
    return { state, outputs: [notice('warning', 'plugin-failed', text)] }
  },

  'system/files_persisted': (state, { failed }) => {
    if (failed.length === 0) return noOutput(state)
    const text = `Not saved: ${failed.map(({ filename }) => filename).join(', ')}`
    return { state, outputs: [notice('warning', 'files-not-persisted', text, { data: failed })] }
  },

  'system/mirror_error': (state, { error }) => ({
    state,
    outputs: [notice('error', 'transcript-not-mirrored', error)],
  }),

  'system/session_writes_lost': (state, { error_code, lost, transcript_session_ids: sessions }) => {
    const text = `Claude Code could not save its transcript (${error_code}): a resumed conversation may be incomplete.`
    return { state, outputs: [notice('error', 'transcript-lost', text, { data: { lost, sessions } })] }
  },

  'system/worker_shutting_down': (state, { reason }) => ({
    state,
    outputs: [notice('info', 'shutting-down', `Claude Code is shutting down: ${reason}.`)],
  }),

  'system/thinking_tokens': (state, { estimated_tokens: now, estimated_tokens_delta: more }) => {
    const rounded = Math.floor(now / 100) * 100
    const isNew = rounded > now - more && rounded > 0
    return isNew ? { state, outputs: [working(`Thinking, about ${rounded} tokens`)] } : noOutput(state)
  },

  tool_progress: (state, message) => {
    const { tool_name, elapsed_time_seconds, subagent_retry: retry } = message
    if (!retry) return { state, outputs: [working(`${tool_name} for ${Math.round(elapsed_time_seconds)} s`)] }
    const seconds = Math.ceil(retry.retry_delay_ms / 1000)
    const text = `A subagent's model call failed (${retry.error_category}); trying again in ${seconds} s (${retry.attempt} of ${retry.max_retries}).`
    const parent = parentOf(state, message.tool_use_id)
    return { state, outputs: [notice('warning', 'api-retry', text, { data: retry, ...parent })] }
  },
} satisfies Handlers

const limits = {
  allowed: ['info', 'The usage limit no longer applies.'],
  allowed_warning: ['warning', 'The usage limit is near.'],
  rejected: ['error', 'The usage limit is reached.'],
} as const
