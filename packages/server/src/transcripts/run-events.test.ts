import { expect, it } from 'vitest'
import { runEventsOf } from './run-events.ts'
import { isEvent, itemsOf, type TurnItem } from './turn-under-test.ts'

const eventsOf = (...said: TurnItem[]) => runEventsOf(itemsOf(said).filter(isEvent))
const called: TurnItem = {
  type: 'tool-call.called',
  toolCallId: 'c1',
  name: 'Bash',
  kind: 'execute',
  title: 'ls',
  input: { command: 'ls' },
}
const requested: TurnItem = {
  type: 'permission.requested',
  requestId: 'r1',
  toolCallId: 'c1',
  tool: 'Bash',
  kind: 'execute',
  title: 'ls',
  input: { command: 'ls' },
  inputHash: 'hash',
  readOnly: false,
  options: [],
}
const ended: TurnItem = {
  type: 'tool-call.ended',
  toolCallId: 'c1',
  outcome: 'completed',
  content: [{ type: 'text', text: 'a.txt' }],
}

it('has a run from its start to its end, with the ids of session, run and provider on every event', () => {
  const events = eventsOf(
    { type: 'agent.connected', connectionId: 'con_1', agentSessionId: 'native-1', tools: ['Bash'] },
    { type: 'text.written', blockId: 'b1', text: 'I look.' },
    called,
    requested,
    ended,
    { type: 'usage.measured', context: { used: 5 }, total: { input: 4, output: 1, cacheRead: 2 } },
    {
      type: 'turn.ended',
      outcome: 'completed',
      stopReason: 'end_turn',
      durationMs: 7,
      usage: { input: 4, output: 1 },
      costUsd: 0.5,
      result: 'Done.',
    },
  )
  expect(events).toMatchObject([
    { type: 'run_started', data: { model: 'large' } },
    { type: 'message_streamed', data: { message_id: 'b1', kind: 'text', content: 'I look.' } },
    {
      type: 'tool_call_started',
      data: { tool_call_id: 'c1', tool_name: 'Bash', arguments: { command: 'ls' }, requires_approval: true },
    },
    {
      type: 'tool_call_completed',
      data: { tool_call_id: 'c1', tool_name: 'Bash', status: 'completed', output: 'a.txt' },
    },
    { type: 'token_usage_updated', data: { input_tokens: 4, output_tokens: 1, cache_read_tokens: 2 } },
    { type: 'token_usage_updated', data: { input_tokens: 4, output_tokens: 1, total_cost_usd: 0.5 } },
    {
      type: 'run_completed',
      data: { provider_session_id: 'native-1', stop_reason: 'end_turn', duration_ms: 7, result: 'Done.' },
    },
  ])
  for (const event of events) {
    expect(event).toMatchObject({ session_id: 'ses_1', run_id: 'trn_1', provider: 'demo' })
    expect(new Date(event.timestamp).getTime()).toBeGreaterThan(1000)
  }
})

it('starts a run with the model, tools and session that the agent reports after the turn started', () => {
  const hello: TurnItem = { type: 'agent.connected', connectionId: 'con_1', cwd: '/somewhere' }
  const introduction: TurnItem = {
    type: 'agent.connected',
    connectionId: 'con_1',
    agentSessionId: 'native-1',
    model: 'large-5',
    tools: ['Bash'],
  }
  const text: TurnItem = { type: 'text.written', blockId: 'b1', text: 'I look.' }
  const later: TurnItem = { ...introduction, model: 'small-1', tools: ['Read'] }
  const [started] = eventsOf(hello, introduction, text, later)
  expect(started).toMatchObject({ type: 'run_started' })
  expect(started?.data).toEqual({ provider_session_id: 'native-1', model: 'large-5', tools: ['Bash'] })
})

it.each([
  ['failed', ['error_occurred', 'run_failed']],
  ['unknown', ['error_occurred', 'run_failed']],
  ['cancelled', ['run_cancelled']],
] as const)('reports how a run ended: %s', (outcome, types) => {
  const error = { code: 'agent_failed' as const, message: 'It broke.' }
  const end: TurnItem = { type: 'turn.ended', outcome, stopReason: 'x', durationMs: 1, error }
  const events = eventsOf(end)
  expect(events.slice(1).map(({ type }) => type)).toEqual(types)
  if (outcome !== 'cancelled') {
    expect(events.at(-1)?.data).toMatchObject({
      error: { code: 'provider_error', message: 'It broke.', provider_error: { original_error: error } },
    })
  }
})

it('marks the events of subagents, and calls that needed no approval', () => {
  const [, started] = eventsOf({ ...called, parentToolCallId: 't1' } as TurnItem, ended)
  expect(started?.data).toMatchObject({ requires_approval: false, parent_tool_call_id: 't1' })
})

it('leaves out retracted texts', () => {
  const wrong: TurnItem = { type: 'text.written', blockId: 'b1', text: '41' }
  const right: TurnItem = { type: 'text.written', blockId: 'b2', text: '42' }
  const events = eventsOf(wrong, { type: 'block.retracted', blockId: 'b1' }, right)
  expect(events.slice(1)).toMatchObject([{ type: 'message_streamed', data: { content: '42' } }])
})
