import { expect, it } from 'vitest'
import {
  ignored,
  ignoredFrames,
  ignoredStreamEvents,
  type NativeKey,
  type NativeStreamEventType,
} from './native.ts'
import { handlers, initialState, translate, withTurn } from './translate.ts'

/**
 * Every member of the SDK's union. An extra or a missing key does not compile. The union has two members for user
 * messages.
 */
const every: Record<NativeKey, true> = {
  assistant: true,
  user: true,
  result: true,
  stream_event: true,
  tool_progress: true,
  auth_status: true,
  tool_use_summary: true,
  rate_limit_event: true,
  prompt_suggestion: true,
  conversation_reset: true,
  'system/init': true,
  'system/compact_boundary': true,
  'system/status': true,
  'system/api_retry': true,
  'system/control_request_progress': true,
  'system/model_refusal_fallback': true,
  'system/model_refusal_no_fallback': true,
  'system/local_command_output': true,
  'system/hook_started': true,
  'system/hook_progress': true,
  'system/hook_response': true,
  'system/plugin_install': true,
  'system/task_notification': true,
  'system/task_started': true,
  'system/task_updated': true,
  'system/task_progress': true,
  'system/background_tasks_changed': true,
  'system/thinking_tokens': true,
  'system/session_state_changed': true,
  'system/worker_shutting_down': true,
  'system/commands_changed': true,
  'system/notification': true,
  'system/files_persisted': true,
  'system/memory_recall': true,
  'system/elicitation_complete': true,
  'system/permission_denied': true,
  'system/mirror_error': true,
  'system/informational': true,
  'system/session_writes_lost': true,
}

const everyStreamEvent: Record<NativeStreamEventType, object> = {
  message_start: { message: { id: 'msg' } },
  content_block_start: { index: 0, content_block: { type: 'text', text: '' } },
  content_block_delta: { index: 0, delta: { type: 'text_delta', text: 'a' } },
  content_block_stop: { index: 0 },
  message_delta: { usage: { output_tokens: 1 } },
  message_stop: {},
}

it('has 39 names for the 40 members of the union', () => {
  expect(Object.keys(every)).toHaveLength(39)
})

it.each(Object.keys(every))('handles %s, or ignores it with a reason', (key) => {
  const reason = (ignored as Record<string, string>)[key]
  expect(key in handlers).toBe(reason === undefined)
  if (reason === undefined) return
  expect(reason).toMatch(/\w+ \w+/)
  const [type, subtype] = key.split('/')
  expect(translate(initialState(), { type, subtype, uuid: 'u' }).outputs).toEqual([])
})

it.each(Object.keys(ignoredFrames))('ignores the frame %s', (key) => {
  const [type, subtype] = key.split('/')
  expect(translate(initialState(), { type, ...(subtype && { subtype }) }).outputs).toEqual([])
})

it.each(Object.entries(everyStreamEvent))('handles or ignores the stream event %s', (type, fields) => {
  let state = withTurn(initialState())
  const streamEvent = (event: object) => ({ type: 'stream_event', event, parent_tool_use_id: null })
  for (const before of ['message_start', 'content_block_start'] as const) {
    state = translate(state, streamEvent({ type: before, ...everyStreamEvent[before] })).state
  }
  const { outputs } = translate(state, streamEvent({ type, ...fields }))
  expect(outputs.filter((output) => output.type === 'agent.unrecognised')).toEqual([])
  if (type in ignoredStreamEvents) expect(outputs).toEqual([])
})
