import { describe, expect, it } from 'vitest'
import { readMessage, refusalOf, sdks } from './ai-sdk-under-test.ts'
import {
  answered,
  asked,
  askedIn,
  called,
  chunksOf,
  done,
  ended,
  itemsOf,
  messageFromLog,
  messageOf,
  questionAnswered,
  requested,
  resolved,
  sendsAgain,
  shapes,
  type TurnItem,
  text,
} from './turn-under-test.ts'
import type { UiMessage } from './ui-message.ts'

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
  ] as const)('that is %s continues in the same message', async (outcome, end, state, approval) => {
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

  it.each([
    ['at the end of its call', []],
    ['when it is cancelled', [resolved('r1', { outcome: 'cancelled', by: 'turn-end' })]],
    ['in time', [resolved('r1', { outcome: 'expired', by: 'timeout' })]],
  ])('that is not answered %s is denied', async (_, before) => {
    const end = ended('c1', { outcome: 'cancelled', content: [] })
    const after = before.length > 0 ? [] : [resolved('r1', { outcome: 'cancelled', by: 'turn-end' })]
    const message = await messageOf(...asking, ...before, end, ...after, done)
    expect(message.parts[1]).toMatchObject({
      state: 'output-denied',
      approval: { id: 'r1', approved: false, reason: 'Nobody answered.' },
    })
  })

  it('of several parallel calls is in one step with the others, without running calls', async () => {
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

  it('gets its own step beside a running call', async () => {
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

  it('of a call in an earlier step is asked by a placeholder', async () => {
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

  it('without a call has its own part', async () => {
    const message = await messageOf(requested('r1'), resolved('r1', { outcome: 'denied' }), done)
    expect(message.parts[1]).toMatchObject({ toolCallId: 'r1', toolName: 'Bash', state: 'output-denied' })
  })

  it('before its call is asked on the part that the call gets later', async () => {
    const message = await messageOf(
      requested('r1', { toolCallId: 'c1' }),
      called('c1'),
      resolved('r1'),
      ended('c1'),
      done,
    )
    expect(shapes(message)).toEqual([
      'step-start',
      'dynamic-tool c1 output-available',
      'data-permission',
      'data-decision',
    ])
  })

  it.each([
    ['allowed', 'output-error'],
    ['denied', 'output-denied'],
  ] as const)(
    'that is %s for a call that is never made is settled at the end of the turn',
    async (outcome, state) => {
      const message = await messageOf(
        requested('r1', { toolCallId: 'c1' }),
        resolved('r1', { outcome }),
        done,
      )
      expect(message.parts[1]).toMatchObject({ toolCallId: 'c1', state })
    },
  )

  it('that a rule decides is not asked; only a denial is reported', async () => {
    const allowed = [called('c1'), requested('r1', { toolCallId: 'c1' }), resolved('r1', { by: 'rule' })]
    const quiet = await messageOf(...allowed, ended('c1'), done)
    expect(shapes(quiet)).toEqual(['step-start', 'dynamic-tool c1 output-available'])
    const refused = resolved('r1', { by: 'mode', outcome: 'denied', message: 'read-only' })
    const reported = await messageOf(
      ...allowed.slice(0, 2),
      refused,
      ended('c1', { outcome: 'denied' }),
      done,
    )
    expect(reported.parts.slice(2)).toMatchObject([
      { type: 'data-permission', data: { tool: 'Bash' } },
      { type: 'data-decision', data: { outcome: 'denied', by: 'mode', message: 'read-only' } },
    ])
  })

  it('that was answered before a restart is not asked again', async () => {
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
  it('is a call of the tool `question`, whose output the page provides', async () => {
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
    const message = await messageOf(...asks, questionAnswered('r1'), ended('c1'), done)
    expect(message.parts).toMatchObject([
      { type: 'step-start' },
      { state: 'output-available', output: { answers: { colour: 'blue' } } },
      { type: 'step-start' },
    ])
  })

  it('without a call has its own part', async () => {
    const message = await messageOf(asked('r1'), questionAnswered('r1'), text('Blue it is.'), done)
    expect(message.parts[1]).toMatchObject({ toolCallId: 'r1', toolName: 'question', title: 'Colour' })
  })

  it('that is never answered is an error', async () => {
    const cancelled: TurnItem = {
      type: 'question.resolved',
      requestId: 'r1',
      outcome: 'cancelled',
      by: 'turn-end',
    }
    const end: TurnItem = { type: 'turn.ended', outcome: 'cancelled', stopReason: 'cancelled', durationMs: 1 }
    const message = await messageOf(asked('r1'), cancelled, end)
    expect(message.parts[1]).toMatchObject({ state: 'output-error' })
  })

  it('beside a permission can be answered first or last, and no answer is lost or sent again and again', async () => {
    const both = [called('c1'), called('q1'), requested('r1', { toolCallId: 'c1' }), asked('r2', 'q1')]
    const asksBoth = (await readMessage(askedIn(itemsOf(both)).chunks, 6)) as UiMessage
    expect(sendsAgain(answered(asksBoth, { approved: true, output: 'blue' }))).toBe(true)

    const answeredOne = [...both, questionAnswered('r2'), ended('q1')]
    const left = (await readMessage(askedIn(itemsOf(answeredOne)).chunks, 6)) as UiMessage
    expect(sendsAgain(left)).toBe(false)
    expect(shapes(left).slice(-2)).toEqual(['step-start', 'dynamic-tool r1 approval-requested'])
    expect(sendsAgain(answered(left, { approved: true }))).toBe(true)

    const decidedOne = [...both, resolved('r1'), ended('c1')]
    const leftover = (await readMessage(askedIn(itemsOf(decidedOne)).chunks, 7)) as UiMessage
    expect(sendsAgain(leftover)).toBe(false)
    expect(sendsAgain(answered(leftover, { approved: true, output: 'blue' }))).toBe(true)
    await messageOf(...decidedOne, questionAnswered('r2'), ended('q1'), done)

    const twoQuestions = [
      called('q1'),
      called('q2'),
      asked('r1', 'q1'),
      asked('r2', 'q2'),
      questionAnswered('r1'),
    ]
    const second = (await readMessage(askedIn(itemsOf(twoQuestions)).chunks, 6)) as UiMessage
    expect(shapes(second)).toEqual([
      'step-start',
      'dynamic-tool q1 output-available',
      'dynamic-tool q2 output-error',
      'step-start',
      'dynamic-tool r2 input-available',
    ])
    expect(sendsAgain(answered(second, { approved: true, output: 'blue' }))).toBe(true)
    await messageOf(...twoQuestions, ended('q1'), questionAnswered('r2'), ended('q2'), done)
    await messageOf(...answeredOne, resolved('r1'), ended('c1'), done)
  })
})

describe('a subagent', () => {
  const task = called('t1', { name: 'Task', kind: 'subagent' })
  const inside = { parentToolCallId: 't1' }

  it('becomes data parts under the call that started it', async () => {
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

  it('that asks is answered in its own step', async () => {
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

  it('shows its call as soon as it has output, even if other calls run', async () => {
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
