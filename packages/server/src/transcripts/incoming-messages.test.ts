import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hostUnderTest, permission } from '../core/host-under-test.ts'
import { randomScript } from '../testing/random-script.ts'
import { type IncomingMessage, IncomingMessages, incomingMessagesOf } from './incoming-messages.ts'
import { done, isEvent, itemsOf, type TurnItem } from './turn-under-test.ts'

const messagesOf = (...said: TurnItem[]) => incomingMessagesOf(itemsOf(said).filter(isEvent))

it('converts the output of an agent into messages whose format is the same for all agents', () => {
  const messages = messagesOf(
    { type: 'agent.connected', connectionId: 'con_1', model: 'small', cwd: '/somewhere' },
    { type: 'thinking.written', blockId: 'b0', text: 'hm' },
    { type: 'text.written', blockId: 'b1', text: 'I look.' },
    {
      type: 'tool-call.called',
      toolCallId: 'c1',
      name: 'Read',
      kind: 'read',
      title: 'a.txt',
      input: { path: 'a.txt' },
    },
    {
      type: 'tool-call.ended',
      toolCallId: 'c1',
      outcome: 'completed',
      content: [{ type: 'text', text: 'x' }],
    },
    { type: 'plan.updated', entries: [{ text: 'first', status: 'pending' }] },
    { type: 'context.compacted', trigger: 'auto' },
    { type: 'usage.measured', context: { used: 5 }, total: { input: 4, output: 1 } },
    {
      type: 'turn.ended',
      outcome: 'completed',
      stopReason: 'end_turn',
      durationMs: 3,
      usage: { input: 4, output: 1 },
    },
  )
  expect(messages).toMatchObject([
    { type: 'system', text: 'Session initialised, model small, in /somewhere' },
    { type: 'agent_thought', msg_id: 'b0', text: 'hm' },
    { type: 'agent_text', msg_id: 'b1', text: 'I look.' },
    { type: 'tool_call', toolCallId: 'c1', name: 'Read', status: 'in_progress', rawInput: { path: 'a.txt' } },
    { type: 'tool_call_update', toolCallId: 'c1', status: 'completed', content: [{ text: 'x' }] },
    { type: 'agent_info', plan: [{ text: 'first' }] },
    { type: 'system', text: 'The conversation was compacted.' },
    { type: 'agent_info', tokenUsage: { input: 4, output: 1 }, context: { used: 5 } },
    { type: 'agent_info', tokenUsage: { input: 4, output: 1 } },
  ])
})

const requested: TurnItem = {
  type: 'permission.requested',
  requestId: 'r1',
  tool: 'Bash',
  kind: 'execute',
  title: 'rm a.txt',
  input: { command: 'rm a.txt' },
  inputHash: 'hash',
  readOnly: false,
  reason: 'it deletes',
  options: [{ decision: 'allow', scope: 'once', label: 'Allow once' }],
}

it('contains the requests that a person must answer, and none that a rule decides', () => {
  const request = {
    type: 'permission_request',
    id: 'r1',
    tool: 'Bash',
    content: 'rm a.txt\nit deletes',
    options: [{ label: 'Allow once' }],
    readOnly: false,
  }
  expect(messagesOf(requested)).toMatchObject([request])
  const diffs = [{ path: 'a.txt', before: null, after: 'a' }]
  expect(messagesOf({ ...requested, readOnly: true, diffs })).toMatchObject([{ readOnly: true, diffs }])
  const allowed = { type: 'permission.resolved', requestId: 'r1', outcome: 'allowed' } as const
  expect(messagesOf(requested, { ...allowed, by: 'person' })).toMatchObject([request])
  expect(messagesOf(requested, { ...allowed, by: 'rule' })).toEqual([])
  const questions = [
    { id: 'q', header: 'Q', text: 'Which?', options: [{ label: 'red' }], multiple: false, freeText: false },
  ]
  expect(messagesOf({ type: 'question.asked', requestId: 'r2', questions })).toMatchObject([
    {
      type: 'permission_request',
      id: 'r2',
      tool: 'question',
      content: 'Which?',
      options: [{ label: 'red' }],
    },
  ])
})

it('reports how a turn failed', () => {
  const error = { code: 'agent_failed' as const, message: 'The model is overloaded.' }
  const end = { type: 'turn.ended', stopReason: 'error', durationMs: 1 } as const
  expect(messagesOf({ ...end, outcome: 'failed', error })).toMatchObject([
    { type: 'system', level: 'error', text: 'The model is overloaded.', error },
  ])
  expect(messagesOf({ ...end, outcome: 'cancelled' })).toMatchObject([{ type: 'system', level: 'info' }])
  expect(messagesOf({ ...end, outcome: 'unknown' })).toMatchObject([{ type: 'system', level: 'error' }])
  expect(messagesOf(done)).toEqual([])
})

it('shows the input of a call while it is written', () => {
  const messages = new IncomingMessages()
  const drafted = messages.stream({ type: 'tool-call.drafted', toolCallId: 'c1', name: 'Bash' })
  expect(drafted).toMatchObject([{ type: 'tool_call', status: 'in_progress', rawInput: {} }])
  const piece = { type: 'tool-call.input-streamed', toolCallId: 'c1' } as const
  messages.stream({ ...piece, offset: 0, text: '{"a"' })
  expect(messages.stream({ ...piece, offset: 4, text: ':1}' })).toMatchObject([
    { type: 'tool_call_update', rawInput: '{"a":1}' },
  ])
  const [called] = itemsOf([
    {
      type: 'tool-call.called',
      toolCallId: 'c1',
      name: 'Bash',
      kind: 'execute',
      title: 't',
      input: { a: 1 },
    },
  ]).slice(3)
  expect(messages.take(called as never)).toMatchObject([{ type: 'tool_call_update', rawInput: { a: 1 } }])
})

it('sends a long input again only when it has grown by a share of its length, so that the total stays small', () => {
  const messages = new IncomingMessages()
  messages.stream({ type: 'tool-call.drafted', toolCallId: 'c1', name: 'Write' })
  const text = '0123456789'
  const reported = Array.from({ length: 10_000 }, (_, index) =>
    messages.stream({
      type: 'tool-call.input-streamed',
      toolCallId: 'c1',
      offset: index * text.length,
      text,
    }),
  ).flat()
  const lengths = reported.map((one) => ('rawInput' in one ? String(one.rawInput).length : 0))
  expect(lengths.at(-1)).toBeGreaterThan(75_000)
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThan(600_000)
})

it('retracts a text, if it was sent', () => {
  const retracted = { type: 'block.retracted', blockId: 'b1', reason: 'wrong' } as const
  expect(messagesOf({ type: 'text.written', blockId: 'b1', text: '41' }, retracted)).toMatchObject([
    { type: 'agent_text', msg_id: 'b1' },
    { type: 'retraction', msg_id: 'b1', reason: 'wrong' },
  ])
  expect(messagesOf(retracted)).toEqual([])

  const live = new IncomingMessages()
  live.stream({ type: 'thinking.streamed', blockId: 'b1', offset: 0, text: 'hm' })
  const [event] = itemsOf([retracted]).slice(3)
  expect(live.take(event as never)).toMatchObject([{ type: 'retraction', msg_id: 'b1' }])
})

it.each([{ type: 'block.retracted', blockId: 'c1' } as const, done, { type: 'turn.parked' } as const])(
  'ends a call that was drafted and never made: $type',
  (said) => {
    const live = new IncomingMessages()
    live.stream({ type: 'tool-call.drafted', toolCallId: 'c1', name: 'Bash' })
    const [event] = itemsOf([said as TurnItem]).slice(3)
    expect(live.take(event as never)).toMatchObject([
      { type: 'tool_call_update', toolCallId: 'c1', status: 'cancelled' },
    ])
  },
)

it('reports the connection of an agent once, until its details change', () => {
  const connected = (connectionId: string, model: string): TurnItem => ({
    type: 'agent.connected',
    connectionId,
    model,
  })
  const said = messagesOf(
    connected('con_1', 'small'),
    connected('con_1', 'small'),
    connected('con_2', 'small'),
    connected('con_3', 'large'),
  )
  expect(said).toMatchObject([
    { text: 'Session initialised, model small' },
    { text: 'Session initialised, model large' },
  ])
})

/**
 * Joins the pieces with one `msg_id` into one text, and drops retracted texts and the updates before the end of a
 * call.
 */
function merged(messages: readonly IncomingMessage[]): object[] {
  const texts = new Map<string, { text: string }>()
  const gone = new Set(messages.flatMap((one) => (one.type === 'retraction' ? one.msg_id : [])))
  return messages.flatMap((message): object[] => {
    const { at, ...said } = message
    if ('msg_id' in said && gone.has(said.msg_id)) return []
    if (said.type === 'agent_text' || said.type === 'agent_thought') {
      const known = texts.get(said.msg_id)
      if (known) known.text += said.text
      else texts.set(said.msg_id, { ...said })
      return known ? [] : [texts.get(said.msg_id) as object]
    }
    const isPassing = said.type === 'tool_call_update' && !('status' in said && said.status !== 'in_progress')
    if (isPassing) return []
    return said.type === 'tool_call' ? [{ type: said.type, toolCallId: said.toolCallId }] : [said]
  })
}

it('gives the same result live and from the log, for random output of an agent', async () => {
  await using under = await hostUnderTest()
  await fc.assert(
    fc.asyncProperty(randomScript, async (steps) => {
      const session = await under.create({ mode: 'bypass' })
      const live = new IncomingMessages()
      const received: IncomingMessage[] = []
      const over = Promise.withResolvers<void>()
      const stop = await under.host.follow(
        session.id,
        {},
        {
          following: () => undefined,
          deliver(batch) {
            for (const { kind, json } of batch) {
              if (kind === 'event') received.push(...live.take(JSON.parse(json)))
              if (kind === 'delta') received.push(...live.stream(JSON.parse(json)))
              if (json.includes('"type":"turn.ended"')) over.resolve()
            }
          },
          caughtUp: () => undefined,
          ended: () => undefined,
        },
      )
      const asks = new Set(['hang', 'question'])
      await session.play(...steps.filter(({ type }) => !asks.has(type)), permission('x'))
      await over.promise
      stop()
      const log = await session.log()
      const turn = log.slice(0, log.findIndex(({ type }) => type === 'turn.ended') + 1)
      const expected = merged(incomingMessagesOf(turn))
      expect(merged(received).slice(0, expected.length)).toEqual(expected)
    }),
    { numRuns: 40 },
  )
})
