import type { EventDraft } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { plain, readMessage, refusalOf, sdks } from './ai-sdk-under-test.ts'
import {
  answered,
  askedIn,
  chunksOf,
  done,
  isEvent,
  itemsOf,
  messageFromLog,
  messageOf,
  type Said,
  sendsAgain,
} from './turn-under-test.ts'
import type { UiMessage } from './ui-message.ts'

type Draft<Type extends EventDraft['type']> = Extract<EventDraft, { type: Type }>

const text = (words: string, blockId = 'b1'): Said => ({ type: 'text.written', blockId, text: words })
const piece = (words: string, offset: number, blockId = 'b1'): Said => ({
  type: 'text.streamed',
  blockId,
  offset,
  text: words,
})
const called = (toolCallId: string, more: Partial<Draft<'tool-call.called'>> = {}): Said => ({
  type: 'tool-call.called',
  toolCallId,
  name: 'Bash',
  kind: 'execute',
  title: `run ${toolCallId}`,
  input: { command: toolCallId },
  ...more,
})
const ended = (toolCallId: string, more: Partial<Draft<'tool-call.ended'>> = {}): Said => ({
  type: 'tool-call.ended',
  toolCallId,
  outcome: 'completed',
  content: [{ type: 'text', text: `result of ${toolCallId}` }],
  ...more,
})
const requested = (requestId: string, more: Partial<Draft<'permission.requested'>> = {}): Said => ({
  type: 'permission.requested',
  requestId,
  tool: 'Bash',
  kind: 'execute',
  title: 'run it',
  input: { command: 'x' },
  inputHash: 'hash',
  readOnly: false,
  options: [{ decision: 'allow', scope: 'session', label: 'Allow for the session' }],
  ...more,
})
const resolved = (requestId: string, more: Partial<Draft<'permission.resolved'>> = {}): Said => ({
  type: 'permission.resolved',
  requestId,
  outcome: 'allowed',
  by: 'person',
  ...more,
})
const question = {
  id: 'colour',
  header: 'Colour',
  text: 'Which colour?',
  options: [{ label: 'red' }, { label: 'blue' }],
  multiple: false,
  freeText: false,
}
const asked = (requestId: string, toolCallId?: string): Said => ({
  type: 'question.asked',
  requestId,
  questions: [question],
  ...(toolCallId !== undefined && { toolCallId }),
})
const told = (requestId: string): Said => ({
  type: 'question.resolved',
  requestId,
  outcome: 'answered',
  answers: { colour: 'blue' },
  by: 'person',
})

const shapes = (message: UiMessage) =>
  message.parts.map(({ type, toolCallId, state }) => [type, toolCallId, state].filter(Boolean).join(' '))

describe('what an agent says', () => {
  it('grows while it is being written, and is whole once', async () => {
    const message = await messageOf(piece('one ', 0), piece('two', 4), text('one two three'), done)
    expect(message).toMatchObject({
      id: 'trn_1',
      role: 'assistant',
      parts: [{ type: 'step-start' }, { type: 'text', text: 'one two three', state: 'done' }],
    })
  })

  it('is taken up by a reader that joins in the middle', () => {
    const items = itemsOf([piece('one two', 0), piece(' three', 7), piece('two three', 4), done])
    const pieces = chunksOf(items).map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : ''))
    expect(pieces.join('')).toBe('one two three')
  })

  it('waits for the whole where a piece is missing', async () => {
    const message = await messageOf(piece('one ', 0), piece('three', 8), text('one two three'), done)
    expect(message.parts[1]).toMatchObject({ text: 'one two three' })
  })

  it('is reasoning where it thinks', async () => {
    const thinking: Said = { type: 'thinking.streamed', blockId: 'b0', offset: 0, text: 'hm' }
    const message = await messageOf(
      thinking,
      { type: 'thinking.written', blockId: 'b0', text: 'hmm' },
      text('Yes.'),
      done,
    )
    expect(message.parts.slice(1)).toMatchObject([
      { type: 'reasoning', id: 'b0', text: 'hmm', state: 'done' },
      { type: 'text', text: 'Yes.' },
    ])
  })

  it('leaves nothing behind where it says nothing', async () => {
    expect((await messageOf(piece('', 0), text(''), done)).parts).toEqual([])
  })

  it('that is taken back is marked, by the id its part carries', async () => {
    const message = await messageOf(text('Oh.'), { type: 'block.retracted', blockId: 'b1' }, done)
    expect(message.parts.slice(1)).toMatchObject([
      { type: 'text', providerMetadata: { parley: { blockId: 'b1' } } },
      { type: 'data-retraction', data: { blockId: 'b1' } },
    ])
  })
})

describe('a tool call', () => {
  const drafted: Said[] = [
    { type: 'tool-call.drafted', toolCallId: 'c1', name: 'Bash', title: 'run c1' },
    { type: 'tool-call.input-streamed', toolCallId: 'c1', offset: 0, text: '{"command"' },
    { type: 'tool-call.input-streamed', toolCallId: 'c1', offset: 10, text: ':"c1"}' },
  ]

  it('shows its input as it is written, its output as it comes, and its result', async () => {
    const output: Said = { type: 'tool-call.output-streamed', toolCallId: 'c1', offset: 0, text: 'so far' }
    const message = await messageOf(...drafted, called('c1'), output, ended('c1'), text('Done.'), done)
    expect(message.parts).toMatchObject([
      { type: 'step-start' },
      {
        type: 'dynamic-tool',
        toolName: 'Bash',
        title: 'run c1',
        providerExecuted: true,
        state: 'output-available',
        input: { command: 'c1' },
        output: 'result of c1',
      },
      { type: 'step-start' },
      { type: 'text', text: 'Done.' },
    ])
    const chunks = chunksOf(itemsOf([...drafted, called('c1'), output]))
    expect(chunks.map(({ type }) => type).slice(-5)).toEqual([
      'tool-input-start',
      'tool-input-delta',
      'tool-input-delta',
      'tool-input-available',
      'tool-output-available',
    ])
    expect(chunks.at(-1)).toMatchObject({ output: 'so far', preliminary: true })
  })

  it('sends a long output whole only now and then', () => {
    const pieces = Array.from(
      { length: 2000 },
      (_, index): Said => ({
        type: 'tool-call.output-streamed',
        toolCallId: 'c1',
        offset: index * 10,
        text: '0123456789',
      }),
    )
    const sent = JSON.stringify(chunksOf(itemsOf([called('c1'), ...pieces])))
    expect(sent.length).toBeLessThan(7 * 20_000)
  })

  it.each([
    ['failed', 'output-error', { errorText: 'no such file' }],
    ['cancelled', 'output-error', { errorText: 'no such file' }],
    ['denied', 'output-denied', {}],
  ] as const)('that %s is %s', async (outcome, state, fields) => {
    const content = [{ type: 'text' as const, text: 'no such file' }]
    const message = await messageOf(called('c1'), ended('c1', { outcome, content }), done)
    expect(message.parts[1]).toMatchObject({ state, ...fields })
  })

  it('brings images as files of the message, and the rest as it is', async () => {
    const content = [
      { type: 'text' as const, text: 'see' },
      { type: 'image' as const, mimeType: 'image/png', data: 'AAAA' },
      { type: 'diff' as const, path: 'a.txt', before: 'x', after: 'y' },
    ]
    const message = await messageOf(called('c1'), ended('c1', { content }), done)
    expect(message.parts.slice(1)).toMatchObject([
      { output: { content: [{ text: 'see' }, { type: 'image', mimeType: 'image/png' }, { path: 'a.txt' }] } },
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AAAA' },
    ])
  })

  it('is renamed while it runs', async () => {
    const update: Said = {
      type: 'tool-call.updated',
      toolCallId: 'c1',
      title: 'better',
      input: { command: 'y' },
    }
    const message = await messageOf(called('c1'), update, ended('c1'), done)
    expect(message.parts[1]).toMatchObject({ title: 'better', input: { command: 'y' } })
  })

  it('that was never made is no call that runs', () => {
    const chunks = chunksOf(itemsOf([...drafted, done]))
    expect(chunks).toContainEqual(expect.objectContaining({ type: 'tool-input-error', toolCallId: 'c1' }))
  })

  it('waits behind one that runs, and is there when it ends', async () => {
    const message = await messageOf(called('c1'), called('c2'), ended('c2'), ended('c1'), done)
    expect(shapes(message)).toEqual([
      'step-start',
      'dynamic-tool c1 output-available',
      'dynamic-tool c2 output-available',
    ])
    const open = chunksOf(itemsOf([called('c1'), called('c2')]))
    expect(open.filter(({ type }) => type === 'tool-input-available')).toHaveLength(1)
    const next = chunksOf(itemsOf([called('c1'), called('c2'), ended('c1')]))
    expect(next.at(-1)).toMatchObject({ type: 'tool-input-available', toolCallId: 'c2' })
  })
})

describe('a permission', () => {
  const asking = [called('c1'), requested('r1', { toolCallId: 'c1', reason: 'it writes' })]

  it('is asked on the part of its call, and the response ends there', async () => {
    for (const sdk of sdks) {
      const { chunks, still } = askedIn(itemsOf(asking), { sdk })
      expect(still).toBe(true)
      for (const chunk of chunks) expect(await refusalOf(chunk, sdk)).toBeUndefined()
      expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'tool-calls' })
      const message = (await readMessage(chunks, sdk)) as UiMessage
      expect(message.parts.slice(1)).toMatchObject([
        { toolCallId: 'c1', state: 'approval-requested', approval: { id: 'r1' } },
        {
          type: 'data-permission',
          data: { reason: 'it writes', readOnly: false, options: [{ scope: 'session' }] },
        },
      ])
      expect(message).toEqual(messageFromLog(itemsOf(asking)))
      expect(sendsAgain(message)).toBe(false)
      expect(sendsAgain(answered(message, { approved: true }))).toBe(true)
    }
  })

  it.each([
    ['allowed', 'completed', 'output-available', { approved: true }],
    ['denied', 'denied', 'output-denied', { approved: false, reason: 'not now' }],
  ] as const)('that is %s goes on in the same message', async (outcome, end, state, approval) => {
    const message = outcome === 'denied' ? { message: 'not now' } : {}
    const whole = itemsOf([
      ...asking,
      resolved('r1', { outcome, ...message }),
      ended('c1', { outcome: end }),
      text('So be it.'),
      done,
    ])
    const ours = messageFromLog(whole)
    expect(ours.parts[1]).toMatchObject({ state, approval: { id: 'r1', ...approval } })
    for (const sdk of sdks) {
      const first = (await readMessage(askedIn(itemsOf(asking), { sdk }).chunks, sdk)) as UiMessage
      const cursor = (first.metadata as { cursor: number }).cursor
      const rest = chunksOf(whole, { sdk, has: { cursor } })
      const page = answered(first, { approved: approval.approved })
      const part = page.parts[1] as unknown as { approval: object }
      if (outcome === 'denied') part.approval = { ...part.approval, reason: 'not now' }
      expect(await readMessage(rest, sdk, page)).toEqual(ours)
    }
  })

  it('of several calls at once stands with the others, and nothing beside them that runs', async () => {
    const both = [
      called('c1'),
      called('c2'),
      called('c3'),
      requested('r1', { toolCallId: 'c1' }),
      requested('r2', { toolCallId: 'c2' }),
    ]
    const { chunks, still } = askedIn(itemsOf(both))
    expect(still).toBe(false)
    const message = (await readMessage(chunks, 6)) as UiMessage
    expect(shapes(message).filter((shape) => shape.startsWith('dynamic'))).toEqual([
      'dynamic-tool c1 approval-requested',
      'dynamic-tool c2 approval-requested',
    ])
    expect(sendsAgain(answered(message, { approved: true }))).toBe(true)
    await messageOf(
      ...both,
      ended('c3'),
      resolved('r2', { outcome: 'denied' }),
      ended('c2', { outcome: 'denied' }),
      resolved('r1'),
      ended('c1'),
      done,
    )
  })

  it('gets a step of its own beside a call that runs', async () => {
    const asks = [called('c1'), called('c2'), requested('r2', { toolCallId: 'c2' })]
    const message = (await readMessage(askedIn(itemsOf(asks)).chunks, 7)) as UiMessage
    expect(shapes(message)).toEqual([
      'step-start',
      'dynamic-tool c1 input-available',
      'step-start',
      'dynamic-tool c2 approval-requested',
      'data-permission',
    ])
    expect(sendsAgain(answered(message, { approved: true }))).toBe(true)
    await messageOf(...asks, ended('c1'), resolved('r2'), ended('c2'), done)
  })

  it('of a call that stands further up is asked by a stand-in', async () => {
    const asks = [
      called('c1'),
      called('c2'),
      requested('r2', { toolCallId: 'c2' }),
      requested('r1', { toolCallId: 'c1' }),
    ]
    const message = (await readMessage(askedIn(itemsOf(asks)).chunks, 6)) as UiMessage
    expect(shapes(message).filter((shape) => shape.startsWith('dynamic'))).toEqual([
      'dynamic-tool c1 input-available',
      'dynamic-tool c2 approval-requested',
      'dynamic-tool r1 approval-requested',
    ])
    expect(sendsAgain(answered(message, { approved: true }))).toBe(true)
    const whole = await messageOf(...asks, resolved('r1'), ended('c1'), resolved('r2'), ended('c2'), done)
    expect(whole.parts.find(({ toolCallId }) => toolCallId === 'r1')).toMatchObject({
      state: 'output-available',
      output: { outcome: 'allowed' },
    })
  })

  it('without a call has a part of its own', async () => {
    const message = await messageOf(requested('r1'), resolved('r1', { outcome: 'denied' }), done)
    expect(message.parts[1]).toMatchObject({ toolCallId: 'r1', toolName: 'Bash', state: 'output-denied' })
  })

  it('before its call is asked on the part that the call then has', async () => {
    const message = await messageOf(
      requested('r1', { toolCallId: 'c1' }),
      called('c1'),
      resolved('r1'),
      ended('c1'),
      done,
    )
    expect(shapes(message)).toEqual(['step-start', 'dynamic-tool c1 output-available', 'data-permission'])
  })

  it('that a rule decides is not asked; only a refusal is told', async () => {
    const allowed = [called('c1'), requested('r1', { toolCallId: 'c1' }), resolved('r1', { by: 'rule' })]
    const quiet = await messageOf(...allowed, ended('c1'), done)
    expect(shapes(quiet)).toEqual(['step-start', 'dynamic-tool c1 output-available'])
    const refused = resolved('r1', { by: 'mode', outcome: 'denied', message: 'read-only' })
    const told = await messageOf(...allowed.slice(0, 2), refused, ended('c1', { outcome: 'denied' }), done)
    expect(told.parts[2]).toMatchObject({
      type: 'data-permission',
      data: { resolution: { outcome: 'denied', by: 'mode', message: 'read-only' } },
    })
  })

  it('that a person gave before the restart is not asked again', async () => {
    const message = await messageOf(
      ...asking,
      { type: 'turn.parked', reason: 'server-stopped' },
      resolved('r1'),
      ended('c1', { outcome: 'cancelled', content: [{ type: 'text', text: 'asked again' }] }),
      { type: 'turn.resumed' },
      called('c2'),
      requested('r2', { toolCallId: 'c2' }),
      resolved('r2', { carriedFrom: 'r1' }),
      ended('c2'),
      done,
    )
    expect(shapes(message).filter((shape) => shape.startsWith('dynamic'))).toEqual([
      'dynamic-tool c1 output-error',
      'dynamic-tool c2 output-available',
    ])
  })
})

describe('a question', () => {
  it('is the call of the tool `question`, whose output the page gives', async () => {
    const asks = [called('c1', { name: 'AskUserQuestion', input: { native: true } }), asked('r1', 'c1')]
    for (const sdk of sdks) {
      const { chunks, still } = askedIn(itemsOf(asks), { sdk })
      expect(still).toBe(true)
      const message = (await readMessage(chunks, sdk)) as UiMessage
      expect(message.parts.slice(1)).toMatchObject([
        {
          toolCallId: 'c1',
          toolName: 'question',
          providerExecuted: false,
          state: 'input-available',
          input: { questions: [{ id: 'colour' }] },
        },
      ])
      expect(sendsAgain(answered(message, { approved: true, output: 'blue' }))).toBe(true)
    }
    const message = await messageOf(...asks, told('r1'), ended('c1'), done)
    expect(message.parts).toMatchObject([
      { type: 'step-start' },
      { state: 'output-available', output: { answers: { colour: 'blue' } } },
      { type: 'step-start' },
    ])
  })

  it('without a call has a part of its own', async () => {
    const message = await messageOf(asked('r1'), told('r1'), text('Blue it is.'), done)
    expect(message.parts[1]).toMatchObject({ toolCallId: 'r1', toolName: 'question', title: 'Colour' })
  })

  it('that is never answered is an error', async () => {
    const cancelled: Said = {
      type: 'question.resolved',
      requestId: 'r1',
      outcome: 'cancelled',
      by: 'turn-end',
    }
    const end: Said = { type: 'turn.ended', outcome: 'cancelled', stopReason: 'cancelled', durationMs: 1 }
    const message = await messageOf(asked('r1'), cancelled, end)
    expect(message.parts[1]).toMatchObject({ state: 'output-error' })
  })

  it('beside a permission: each can be answered first, and none is lost or sent for ever', async () => {
    const both = [called('c1'), called('q1'), requested('r1', { toolCallId: 'c1' }), asked('r2', 'q1')]
    const asksBoth = (await readMessage(askedIn(itemsOf(both)).chunks, 6)) as UiMessage
    expect(sendsAgain(answered(asksBoth, { approved: true, output: 'blue' }))).toBe(true)

    const answeredOne = [...both, told('r2'), ended('q1')]
    const left = (await readMessage(askedIn(itemsOf(answeredOne)).chunks, 6)) as UiMessage
    expect(sendsAgain(left)).toBe(false)
    expect(shapes(left).slice(-3)).toEqual(
      ['step-start', 'dynamic-tool r1 approval-requested', 'data-permission']
        .filter((shape) => shape !== 'data-permission')
        .concat(),
    )
    expect(sendsAgain(answered(left, { approved: true }))).toBe(true)

    const decidedOne = [...both, resolved('r1'), ended('c1')]
    const leftover = (await readMessage(askedIn(itemsOf(decidedOne)).chunks, 7)) as UiMessage
    expect(sendsAgain(leftover)).toBe(false)
    expect(sendsAgain(answered(leftover, { approved: true, output: 'blue' }))).toBe(true)
    await messageOf(...decidedOne, told('r2'), ended('q1'), done)
    await messageOf(...answeredOne, resolved('r1'), ended('c1'), done)
  })
})

describe('a subagent', () => {
  const task = called('t1', { name: 'Task', kind: 'subagent' })
  const inside = { parentToolCallId: 't1' }

  it('is data under the call that started it', async () => {
    const message = await messageOf(
      task,
      { type: 'text.written', blockId: 'b9', text: 'I look.', ...inside },
      called('n1', inside),
      ended('n1', inside),
      ended('t1'),
      text('It looked.'),
      done,
    )
    expect(message.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'dynamic-tool', toolCallId: 't1', state: 'output-available' },
      { type: 'data-subagent', id: 'b9', data: { toolCallId: 't1', type: 'text', text: 'I look.' } },
      {
        type: 'data-subagent',
        id: 'n1',
        data: { toolCallId: 't1', type: 'tool-call', status: 'completed', output: 'result of n1' },
      },
      { type: 'step-start' },
      { type: 'text', text: 'It looked.' },
    ])
  })

  it('that asks is answered in a step of its own', async () => {
    const asks = [task, called('n1', inside), requested('r1', { toolCallId: 'n1', ...inside })]
    const { chunks, still } = askedIn(itemsOf(asks))
    expect(still).toBe(true)
    const message = (await readMessage(chunks, 6)) as UiMessage
    expect(shapes(message)).toEqual([
      'step-start',
      'dynamic-tool t1 input-available',
      'data-subagent',
      'step-start',
      'dynamic-tool n1 approval-requested',
      'data-permission',
    ])
    expect(sendsAgain(answered(message, { approved: true }))).toBe(true)
    await messageOf(...asks, resolved('r1'), ended('n1', inside), ended('t1'), done)
  })

  it('shows its call as soon as it says something, whatever else runs', async () => {
    const message = await messageOf(
      called('c1'),
      task,
      { type: 'text.written', blockId: 'b9', text: 'I look.', ...inside },
      ended('t1'),
      ended('c1'),
      done,
    )
    expect(shapes(message)).toEqual([
      'step-start',
      'dynamic-tool c1 output-available',
      'dynamic-tool t1 output-available',
      'data-subagent',
    ])
  })
})

describe('what else a turn tells', () => {
  it('is data of its own, and metadata', async () => {
    const message = await messageOf(
      { type: 'agent.connected', connectionId: 'con_1', model: 'small' },
      { type: 'plan.updated', entries: [{ text: 'first', status: 'pending' }] },
      { type: 'plan.updated', entries: [{ text: 'first', status: 'completed' }] },
      { type: 'agent.noticed', level: 'warning', code: 'slow', text: 'It takes long.' },
      { type: 'task.updated', taskId: 'k1', title: 'watch', status: 'running', background: true },
      { type: 'context.compacted', trigger: 'auto', summary: 'In short.' },
      {
        type: 'prompt.submitted',
        promptId: 'p2',
        parts: [{ type: 'text', text: 'Left!' }],
        delivery: 'steer',
      },
      { type: 'usage.measured', context: { used: 10, window: 100 }, total: { input: 9, output: 1 } },
      {
        type: 'turn.ended',
        outcome: 'completed',
        stopReason: 'max_tokens',
        durationMs: 7,
        usage: { input: 9, output: 1 },
        costUsd: 0.5,
        structuredOutput: { count: 2 },
      },
    )
    expect(message.parts).toMatchObject([
      { type: 'data-plan', data: { entries: [{ status: 'completed' }] } },
      { type: 'data-notice', data: { level: 'warning', code: 'slow' } },
      { type: 'data-task', data: { taskId: 'k1', background: true } },
      { type: 'data-notice', data: { code: 'context_compacted', text: 'In short.' } },
      { type: 'data-steer', data: { text: 'Left!' } },
    ])
    expect(message.metadata).toEqual({
      session: 'ses_1',
      agent: 'demo',
      model: 'small',
      startedAt: 1003,
      cursor: 12,
      context: { used: 10, window: 100 },
      outcome: 'completed',
      stopReason: 'max_tokens',
      durationMs: 7,
      usage: { input: 9, output: 1 },
      costUsd: 0.5,
      structuredOutput: { count: 2 },
    })
  })

  it.each([
    ['completed', 'end_turn', ['finish']],
    ['cancelled', 'cancelled', ['abort', 'finish']],
    ['failed', 'error', ['message-metadata', 'error']],
    ['unknown', 'unknown', ['message-metadata', 'error']],
  ] as const)('is how it ended: %s', async (outcome, stopReason, last) => {
    const end: Said = { type: 'turn.ended', outcome, stopReason, durationMs: 1 }
    const chunks = chunksOf(itemsOf([text('Oh.'), end]))
    expect(chunks.map(({ type }) => type).slice(-last.length)).toEqual(last)
    expect((await messageOf(text('Oh.'), end)).metadata).toMatchObject({ outcome, stopReason })
  })
})

describe('a response that is cut anywhere between events', () => {
  const items = itemsOf([
    text('I write.'),
    called('c1'),
    called('c2'),
    requested('r1', { toolCallId: 'c1' }),
    requested('r2', { toolCallId: 'c2' }),
    resolved('r1'),
    ended('c1'),
    resolved('r2', { outcome: 'denied' }),
    ended('c2', { outcome: 'denied' }),
    asked('r3'),
    told('r3'),
    text('Done.', 'b2'),
    done,
  ])

  it.each(items.filter(isEvent).map(({ seq }) => seq))(
    'goes on after %i with what is missing',
    async (cursor) => {
      for (const sdk of sdks) {
        const whole = chunksOf(items, { sdk })
        const rest = chunksOf(items, { sdk, has: { cursor } })
        expect(whole.slice(whole.length - rest.length)).toEqual(rest)
        const had = whole.slice(0, whole.length - rest.length)
        const before = await readMessage(had, sdk)
        const after = before ? await readMessage(rest, sdk, before) : await readMessage(whole, sdk)
        expect(after).toEqual(await readMessage(whole, sdk))
      }
    },
  )
})

it('knows how much a page has of a text that was open when the response ended', async () => {
  const first = itemsOf([
    called('c1'),
    piece('one ', 0),
    requested('r1', { toolCallId: 'c1' }),
    piece('two', 4),
  ])
  const page = plain((await readMessage(askedIn(first).chunks, 6)) as UiMessage)
  const has = page.metadata as { cursor: number; unfinished: Record<string, number> }
  expect(has.unfinished).toEqual({ b1: 7 })
  const rest = chunksOf([...first.filter(isEvent), ...itemsOf([piece('one two three', 0)]).slice(3)], { has })
  expect(rest).toContainEqual({ type: 'text-delta', id: 'b1', delta: ' three' })
})
