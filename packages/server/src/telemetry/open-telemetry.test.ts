import { SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { describe, expect, it } from 'vitest'
import { colour, hostUnderTest, permission } from '../core/host-under-test.ts'
import { createTelemetry } from '../index.ts'
import { sdkUnderTest, treeOf } from './sdk-under-test.ts'

const secret = 'a-secret-nobody-may-read'
const named = (spans: readonly ReadableSpan[], name: string) => spans.filter((span) => span.name === name)
const seconds = (span?: ReadableSpan) => (span ? span.duration[0] + span.duration[1] / 1e9 : Number.NaN)
const outcomes = ({ attributes }: ReadableSpan) => {
  const given = ['parley.turn.outcome', 'parley.tool.outcome', 'parley.request.outcome'].map(
    (key) => attributes[key],
  )
  return given
    .filter((outcome) => outcome !== undefined)
    .map((outcome) => `: ${outcome}`)
    .join('')
}

describe('spans', () => {
  it('nest: a session, its turns, their calls, and the waits inside them', async () => {
    await using sdk = sdkUnderTest()
    {
      await using test = await hostUnderTest()
      const session = await test.create()
      await session.submit(
        { type: 'tool', name: 'Read', kind: 'read' },
        permission('a'),
        {
          type: 'subagent',
          title: 'Look',
          name: 'Task',
          steps: [{ type: 'tool', name: 'Search', kind: 'search' }],
        },
        {
          type: 'end',
          usage: { input: 10, output: 5, cacheRead: 80, cacheWrite: 7, reasoning: 2 },
          costUsd: 0.25,
        },
      )
      await session.when(({ requests }) => requests.length > 0)
      test.time.advance(4_000)
      await session.decide('allow')
      await session.idle()
      await session.submit(colour)
      const { requests } = await session.when((state) => state.requests.length > 0)
      await session.command({
        type: 'question.answer',
        requestId: requests[0]!.requestId,
        answers: { colour: 'red' },
      })
      await session.idle()
    }
    const spans = await sdk.spans()
    expect(treeOf(spans, outcomes)).toEqual([
      'session Scripted',
      '  invoke_agent Scripted: completed',
      '    execute_tool Read: completed',
      '    execute_tool Write: completed',
      '      wait_permission Write: allowed',
      '    execute_tool Task: completed',
      '      execute_tool Search: completed',
      '  invoke_agent Scripted: completed',
      '    wait_question: answered',
    ])
    const [turn] = named(spans, 'invoke_agent Scripted')
    expect(turn?.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.agent.id': 'scripted',
      'gen_ai.agent.name': 'Scripted',
      'gen_ai.conversation.id': expect.stringMatching(/^ses_/),
      'gen_ai.usage.input_tokens': 97,
      'gen_ai.usage.output_tokens': 5,
      'gen_ai.usage.cache_read.input_tokens': 80,
      'gen_ai.usage.cache_creation.input_tokens': 7,
      'gen_ai.usage.reasoning.output_tokens': 2,
      'gen_ai.response.finish_reasons': ['end_turn'],
      'parley.turn.cost_usd': 0.25,
    })
    expect(turn?.status.code).toBe(SpanStatusCode.UNSET)
    const [wait] = named(spans, 'wait_permission Write')
    expect(seconds(wait)).toBeCloseTo(4)
    expect(seconds(turn)).toBeGreaterThanOrEqual(4)
    expect(wait?.attributes).toMatchObject({ 'parley.request.by': 'person', 'parley.tool.kind': 'edit' })
    const [call] = named(spans, 'execute_tool Write')
    expect(call?.attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'Write',
      'gen_ai.tool.type': 'extension',
      'gen_ai.tool.call.id': expect.any(String),
    })
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1)
  })

  it('end as their turns do: denied, cancelled, failed, crashed', async () => {
    await using sdk = sdkUnderTest()
    {
      await using test = await hostUnderTest()
      const session = await test.create()
      await session.submit(permission('a'))
      await session.decide('deny')
      await session.idle()
      await session.submit(permission('b'))
      await session.when(({ requests }) => requests.length > 0)
      await session.command({ type: 'turn.cancel' })
      await session.idle()
      const error = { code: 'rate_limited', message: secret } as const
      await session.play(
        { type: 'tool', name: 'Fetch', outcome: 'failed' },
        { type: 'end', outcome: 'failed', error },
      )
      await session.play({ type: 'tool', name: 'Read', order: 'call-only' }, { type: 'crash', exitCode: 1 })
    }
    const spans = await sdk.spans()
    const lines = treeOf(spans, (span) => `${outcomes(span)} ${span.attributes['error.type'] ?? '-'}`)
    expect(lines).toEqual([
      'session Scripted -',
      '  invoke_agent Scripted: completed -',
      '    execute_tool Write: denied -',
      '      wait_permission Write: denied -',
      '  invoke_agent Scripted: cancelled -',
      '    execute_tool Write: cancelled -',
      '      wait_permission Write: cancelled -',
      '  invoke_agent Scripted: failed rate_limited',
      '    execute_tool Fetch: failed tool_failed',
      expect.stringMatching(/^ {2}invoke_agent Scripted: (failed|unknown) \w+$/),
      '    execute_tool Read: failed tool_failed',
    ])
    const turns = named(spans, 'invoke_agent Scripted')
    expect(turns.map(({ status }) => status.code)).toEqual([
      SpanStatusCode.UNSET,
      SpanStatusCode.UNSET,
      SpanStatusCode.ERROR,
      SpanStatusCode.ERROR,
    ])
    expect(turns[1]?.events.map(({ name }) => name)).toContain('parley.turn.interrupted')
    expect(
      JSON.stringify(spans.map(({ status, attributes, events }) => [status, attributes, events])),
    ).not.toContain(secret)
  })

  it('of a turn that outlives its host are reported once, with their true start, by the host that sees the end', async () => {
    await using sdk = sdkUnderTest()
    const telemetry = createTelemetry()
    {
      await using test = await hostUnderTest({ telemetry })
      const session = await test.create()
      await session.submit(permission('a'))
      await session.when(({ requests }) => requests.length > 0)
      expect(telemetry.openTurns).toBe(1)
      const begun = (await session.state()).turn?.startedAt ?? 0
      await test.restart()
      expect(named(await sdk.spans(), 'invoke_agent Scripted')).toEqual([])
      test.time.advance(60_000)
      await session.decide('allow')
      await session.idle()
      const [turn, ...others] = named(await sdk.spans(), 'invoke_agent Scripted')
      expect(others).toEqual([])
      expect(turn?.attributes).toMatchObject({
        'parley.turn.outcome': 'completed',
        'parley.turn.restarted': true,
      })
      expect(turn?.startTime[0]).toBe(Math.floor(begun / 1000))
      expect(seconds(turn)).toBeGreaterThanOrEqual(60)
      expect(turn?.events.map(({ name }) => name)).toContain('parley.turn.resumed')
      const waits = named(await sdk.spans(), 'wait_permission Write')
      expect(Math.max(...waits.map(seconds))).toBeGreaterThanOrEqual(60)
    }
    expect(telemetry.openTurns).toBe(0)
    const spans = await sdk.spans()
    const ids = new Set(spans.map((span) => span.spanContext().spanId))
    expect(spans.filter(({ parentSpanContext: up }) => up && !ids.has(up.spanId))).toEqual([])
  })

  it('are dropped for a turn whose session is deleted', async () => {
    await using _sdk = sdkUnderTest()
    const telemetry = createTelemetry()
    await using test = await hostUnderTest({ telemetry })
    const session = await test.create()
    await session.submit({ type: 'tool', name: 'Read', order: 'call-only' }, { type: 'hang' })
    await session.when(({ openBlocks }) => openBlocks.length > 0)
    expect(telemetry.openTurns).toBe(1)
    await test.host.delete(session.id)
    expect(telemetry.openTurns).toBe(0)
  })

  it('have contents only if that is configured', async () => {
    const contentOf = async (content: boolean) => {
      await using sdk = sdkUnderTest()
      {
        await using test = await hostUnderTest({ telemetry: createTelemetry({ content }) })
        const session = await test.create({ title: secret })
        const input = { text: secret }
        await session.submit(
          { type: 'text', text: secret },
          { type: 'thinking', text: secret },
          { type: 'tool', name: 'Read', title: secret, input, output: [secret] },
          permission('a', { title: secret, input, reason: secret, reply: { denied: secret } }),
          { ...colour, questions: [{ ...colour.questions[0]!, text: secret }] },
        )
        await session.decide('deny', { message: secret })
        await session.when(({ requests }) => requests[0]?.type === 'question')
        await session.command({ type: 'turn.cancel' })
        await session.idle()
      }
      const spans = await sdk.spans()
      expect(spans.length).toBeGreaterThan(5)
      const reported = JSON.stringify(
        spans.map(({ name, attributes, events, status }) => [name, attributes, events, status]),
      )
      return { spans, reported, measured: JSON.stringify([...(await sdk.metrics()).values()]) }
    }
    const without = await contentOf(false)
    expect(without.reported).not.toContain(secret)
    expect(without.measured).not.toContain(secret)
    const { spans, measured } = await contentOf(true)
    expect(measured).not.toContain(secret)
    const [turn] = named(spans, 'invoke_agent Scripted')
    const parsed = (key: string) => JSON.parse(String(turn?.attributes[key]))
    expect(parsed('gen_ai.input.messages')).toMatchObject([
      { role: 'user', parts: [{ type: 'text', content: expect.stringContaining(secret) }] },
    ])
    expect(parsed('gen_ai.output.messages')).toMatchObject([
      { role: 'assistant', parts: expect.arrayContaining([{ type: 'text', content: secret }]) },
    ])
    const [call] = named(spans, 'execute_tool Read')
    expect(call?.attributes['gen_ai.tool.call.arguments']).toBe(JSON.stringify({ text: secret }))
    expect(call?.attributes['gen_ai.tool.call.result']).toBe(secret)
  })
})

describe('metrics of OpenTelemetry', () => {
  it('have the names, units and values of the conventions, and no session ids', async () => {
    await using sdk = sdkUnderTest()
    await using test = await hostUnderTest()
    const session = await test.create({ model: 'scripted-large' })
    await session.submit(permission('a'), {
      type: 'end',
      usage: { input: 10, output: 5, cacheRead: 80 },
      costUsd: 0.25,
    })
    await session.when(({ requests }) => requests.length > 0)
    test.time.advance(4_000)
    await session.decide('allow')
    await session.idle()
    const measured = await sdk.metrics()
    const points = (name: string) => measured.get(name)?.dataPoints
    expect(measured.get('gen_ai.invoke_agent.duration')?.descriptor.unit).toBe('s')
    expect(points('gen_ai.invoke_agent.duration')).toMatchObject([
      {
        attributes: { 'gen_ai.agent.name': 'Scripted', 'parley.turn.outcome': 'completed' },
        value: { count: 1 },
      },
    ])
    expect(points('gen_ai.execute_tool.duration')).toMatchObject([
      {
        attributes: { 'gen_ai.tool.name': 'Write', 'parley.tool.outcome': 'completed' },
        value: { count: 1 },
      },
    ])
    const tokens = points('gen_ai.client.token.usage') ?? []
    expect(tokens.map(({ attributes }) => attributes['gen_ai.token.type'])).toEqual(['input', 'output'])
    expect(tokens).toMatchObject([{ value: { sum: 90 } }, { value: { sum: 5 } }])
    expect(tokens[0]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'scripted-large',
    })
    expect(points('parley.request.wait.duration')).toMatchObject([
      {
        attributes: { 'parley.request.by': 'person', 'parley.request.outcome': 'allowed' },
        value: { sum: 4 },
      },
    ])
    expect(points('parley.turn.cost')).toMatchObject([{ value: 0.25 }])
    expect(JSON.stringify([...measured.values()])).not.toContain(session.id)
  })
})

describe('without an SDK, or with OpenTelemetry off', () => {
  it('loads nothing and creates no span; an SDK that is registered later is found', async () => {
    await using test = await hostUnderTest()
    await (await test.create()).play({ type: 'text', text: 'Hello.' })
    await using sdk = sdkUnderTest()
    await test.create()
    const spans = async () => named(await sdk.spans(), 'invoke_agent Scripted')
    for (let turns = 0; (await spans()).length === 0; turns++) {
      expect(turns).toBeLessThan(50)
      await (await test.create()).play({ type: 'text', text: 'Hello.' })
    }
    expect((await spans()).length).toBeGreaterThan(0)
  })

  it('reports nothing when OpenTelemetry is off', async () => {
    await using sdk = sdkUnderTest()
    await using test = await hostUnderTest({ telemetry: createTelemetry({ openTelemetry: false }) })
    await (await test.create()).play({ type: 'text', text: 'Hello.' })
    expect(await sdk.spans()).toEqual([])
    expect((await sdk.metrics()).size).toBe(0)
  })
})
