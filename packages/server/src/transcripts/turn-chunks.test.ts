import { describe, expect, it } from 'vitest'
import { plain, readMessage, sdks } from './ai-sdk-under-test.ts'
import {
  asked,
  askedIn,
  called,
  chunksOf,
  done,
  ended,
  isEvent,
  itemsOf,
  messageOf,
  piece,
  questionAnswered,
  requested,
  resolved,
  shapes,
  type TurnItem,
  text,
} from './turn-under-test.ts'
import type { UiMessage } from './ui-message.ts'

describe('the text of an agent', () => {
  it('grows while it is being written, and is complete at its end', async () => {
    const message = await messageOf(piece('one ', 0), piece('two', 4), text('one two three'), done)
    expect(message).toMatchObject({
      id: 'trn_1',
      role: 'assistant',
      parts: [{ type: 'step-start' }, { type: 'text', text: 'one two three', state: 'done' }],
    })
  })

  it('is continued for a reader that joins in the middle', () => {
    const items = itemsOf([piece('one two', 0), piece(' three', 7), piece('two three', 4), done])
    const pieces = chunksOf(items).map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : ''))
    expect(pieces.join('')).toBe('one two three')
  })

  it('waits for the whole text if a piece is missing', async () => {
    const message = await messageOf(piece('one ', 0), piece('three', 8), text('one two three'), done)
    expect(message.parts[1]).toMatchObject({ text: 'one two three' })
  })

  it('becomes a reasoning part if it is thinking', async () => {
    const thinking: TurnItem = { type: 'thinking.streamed', blockId: 'b0', offset: 0, text: 'hm' }
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

  it('leaves no part if it is empty', async () => {
    expect((await messageOf(piece('', 0), text(''), done)).parts).toEqual([])
  })

  it('that is retracted is marked, by the id in its part', async () => {
    const message = await messageOf(text('Oh.'), { type: 'block.retracted', blockId: 'b1' }, done)
    expect(message.parts.slice(1)).toMatchObject([
      { type: 'text', providerMetadata: { parley: { blockId: 'b1' } } },
      { type: 'data-retraction', data: { blockId: 'b1' } },
    ])
  })
})

describe('a tool call', () => {
  const drafted: TurnItem[] = [
    { type: 'tool-call.drafted', toolCallId: 'c1', name: 'Bash', title: 'run c1' },
    { type: 'tool-call.input-streamed', toolCallId: 'c1', offset: 0, text: '{"command"' },
    { type: 'tool-call.input-streamed', toolCallId: 'c1', offset: 10, text: ':"c1"}' },
  ]

  it('shows its input while it is written, its output as it arrives, and its result', async () => {
    const output: TurnItem = {
      type: 'tool-call.output-streamed',
      toolCallId: 'c1',
      offset: 0,
      text: 'so far',
    }
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

  it('sends a long output in full only when it has grown enough', () => {
    const pieces = Array.from(
      { length: 2000 },
      (_, index): TurnItem => ({
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
    ['denied', 'output-error', { errorText: 'no such file' }],
  ] as const)('that is %s has the state %s if no permission was asked', async (outcome, state, fields) => {
    const content = [{ type: 'text' as const, text: 'no such file' }]
    const message = await messageOf(called('c1'), ended('c1', { outcome, content }), done)
    expect(message.parts[1]).toMatchObject({ state, ...fields })
  })

  it('turns images into files of the message, and does not change other content', async () => {
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

  it('may have no input', async () => {
    expect((await messageOf(called('c1', { input: undefined }), ended('c1'), done)).parts[1]).toMatchObject({
      input: null,
    })
  })

  it('can be renamed while it runs', async () => {
    const update: TurnItem = {
      type: 'tool-call.updated',
      toolCallId: 'c1',
      title: 'better',
      input: { command: 'y' },
    }
    const message = await messageOf(called('c1'), update, ended('c1'), done)
    expect(message.parts[1]).toMatchObject({ title: 'better', input: { command: 'y' } })
  })

  it('that was drafted and never made is an error', () => {
    const chunks = chunksOf(itemsOf([...drafted, done]))
    expect(chunks).toContainEqual(expect.objectContaining({ type: 'tool-input-error', toolCallId: 'c1' }))
  })

  it('is shown after the running one, or when it ends', async () => {
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

describe('other events of a turn', () => {
  it('become data parts and metadata', async () => {
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
      {
        type: 'data-notice',
        data: { code: 'context_compacted', text: 'The conversation was compacted.\n\nIn short.' },
      },
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
  ] as const)('end with the outcome: %s', async (outcome, stopReason, last) => {
    const end: TurnItem = { type: 'turn.ended', outcome, stopReason, durationMs: 1 }
    const chunks = chunksOf(itemsOf([text('Oh.'), end]))
    expect(chunks.map(({ type }) => type).slice(-last.length)).toEqual(last)
    expect((await messageOf(text('Oh.'), end)).metadata).toMatchObject({ outcome, stopReason })
  })
})

describe('a response that is cut between any two events', () => {
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
    questionAnswered('r3'),
    text('Done.', 'b2'),
    done,
  ])

  it.each(items.filter(isEvent).map(({ seq }) => seq))(
    'continues after event %i with the missing chunks',
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

it('records how much of an open text a page had received when the response ended', async () => {
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
