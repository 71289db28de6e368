import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type {
  ModelCall,
  ModelServer,
  ModelStep,
  WireEvent,
} from '../../packages/server/src/testing/model-server.ts'
import { ClaudeFixture, type Log, type SessionFixture } from './claude-fixture.ts'

/**
 * Tests a failing model under the real Claude Code behind the real server. Every fault is reported when it
 * happens, ends the turn with the right outcome, and leaves a usable session. A prompt names its fault: "Now
 * <fault>."
 */
let claude: ClaudeFixture
beforeAll(async () => {
  claude = await ClaudeFixture.start({ script: misbehave })
})
afterAll(() => claude?.[Symbol.asyncDispose]())

const words = 'One, two, three, four, five, six, seven, eight, nine, ten.'

const refusal = (status: number, type: string, retryAfter?: number): ModelStep => ({
  response: {
    error: { message: `It is ${status}.`, type },
    status,
    ...(retryAfter !== undefined && { retryAfter }),
  },
})
const limited = refusal(429, 'rate_limit_error', 1)
const forEver = (step: ModelStep) => Array.from({ length: 20 }, () => step)
const empty: ModelStep = { response: { content: '' } }

/** The faulty answers of the model for each fault. Afterwards, the model answers normally. */
const answers: Record<string, ModelStep[]> = {
  'limited-once': [limited],
  'limited-for-ever': forEver(limited),
  'broken-once': [refusal(500, 'api_error')],
  'broken-for-ever': forEver(refusal(500, 'api_error')),
  'overloaded-for-ever': forEver(refusal(529, 'overloaded_error')),
  'wrong-key': forEver(refusal(401, 'authentication_error')),
  forbidden: forEver(refusal(403, 'permission_error')),
  'no-such-model': forEver(refusal(404, 'not_found_error')),
  'bad-request': forEver(refusal(400, 'invalid_request_error')),
  'too-large': forEver(refusal(413, 'request_too_large')),
  'empty-once': [empty],
  'empty-for-ever': forEver(empty),
  'no-events-at-all': forEver({ response: { content: words }, chaos: { malformedRate: 1 } }),
}

const isDelta = ({ type }: WireEvent) => type === 'content_block_delta'
const isStop = ({ type }: WireEvent) => type === 'content_block_stop'
const framed = (event: WireEvent) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

/** For each fault in transit, the function that changes every event of an answer. */
const wires: Record<string, (event: WireEvent) => WireEvent | string> = {
  'garbage-between': (event) => (isDelta(event) ? `data: {not json\n\n${framed(event)}` : event),
  'unknown-between': (event) =>
    isDelta(event) ? `event: strange\ndata: {"type":"strange"}\n\n${framed(event)}` : event,
  'half-an-event': (event) => (isStop(event) ? framed(event).slice(0, -10) : isEnd(event) ? '' : event),
  'error-event': (event) =>
    isStop(event)
      ? framed({ type: 'error', error: { type: 'overloaded_error', message: 'Too many.' } })
      : event,
  'unknown-block': (event) =>
    event.type === 'content_block_start' ? { ...event, content_block: { type: 'odd' } } : event,
}
const isEnd = ({ type }: WireEvent) => type === 'message_delta' || type === 'message_stop'

function misbehave(model: ModelServer): void {
  const fault = (messages: unknown) => /.*Now ([a-z-]+)\./s.exec(JSON.stringify(messages))?.[1]
  for (const [name, steps] of Object.entries(answers)) {
    model.script(({ messages }) => fault(messages) === name, steps)
  }
  model.script(
    () => true,
    forEver({ response: { content: words } }).concat(forEver({ response: { content: words } })),
  )
  model.wire((event, { body }: ModelCall) => (wires[fault(body?.messages) ?? ''] ?? ((same) => same))(event))
}

async function suffer(fault: string): Promise<Log> {
  const session = await claude.sharedSession()
  await session.prompt(`Now ${fault}.`)
  const log = await session.ended()
  await answersAgain(session, log)
  return log
}

/** Checks that the agent's process still runs and answers the next prompt. */
async function answersAgain(session: SessionFixture, before: Log): Promise<void> {
  const after = await session.completes('Now hello.')
  expect(after.said).toBe(words)
  expect(after.connections).toEqual(before.connections)
}

describe('a model that fails is called again and then answers', () => {
  it('when it asks to wait, which is reported during the wait', async () => {
    const session = await claude.sharedSession()
    const before = claude.model.calls.length
    await session.prompt('Now limited-once.')
    const waiting = await session.notice('rate-limited')
    expect(waiting.view.state.turn).toBeDefined()
    expect(claude.model.calls.length).toBe(before + 1)
    const log = await session.ended()
    expect(log.end.outcome).toBe('completed')
    expect(log.said).toContain(words)
    expect(log.ofTurn('agent.noticed')).toMatchObject([
      {
        level: 'warning',
        text: 'The model answered 429 (rate_limit); trying again in 1 s (1 of 1).',
        data: { status: 429, attempt: 1, maxRetries: 1, delayMs: 1000 },
      },
    ])
    await answersAgain(session, log)
  })

  it('when it fails once', async () => {
    const log = await suffer('broken-once')
    expect(log.outcomes).toEqual(['completed'])
    expect(log.notices).toEqual(['warning api-retry'])
  })

  it('when the connection is cut in mid-answer, and the text so far is retracted', async () => {
    const session = await claude.sharedSession()
    const hold = claude.model.hold(6)
    await session.prompt('Now hang-up.')
    await hold.reached
    const { openBlocks } = await session.when((state) =>
      state.openBlocks.some((block) => 'text' in block && block.text !== ''),
    )
    claude.proxy.cut()
    const log = await session.ended()
    hold.release()
    expect(log.end.outcome).toBe('completed')
    expect(log.said).toContain(words)
    expect(log.said).toBe(words)
    expect(log.notices).toEqual(['warning api-retry'])
    expect(log.ofTurn('block.retracted')).toMatchObject([{ blockId: openBlocks[0]!.id }])
    await answersAgain(session, log)
  })

  it('when its answer is empty', async () => {
    const log = await suffer('empty-once')
    expect(log.end.outcome).toBe('completed')
    expect(log.said).toContain(words)
    expect(log.ofTurn('block.retracted')).toEqual([])
  })

  it.each(['garbage-between', 'unknown-between'])('when it sends unknown events: %s', async (fault) => {
    const log = await suffer(fault)
    expect(log.end.outcome).toBe('completed')
    expect(log.said).toContain(words)
    expect(log.said).toBe(words)
  })
})

describe('a failing model fails the turn, with a notice at once and an error at the end, and the session continues', () => {
  it.each([
    ['limited-for-ever', 'rate_limited', /429.*again later/, ['warning rate-limited', 'error rate_limit']],
    ['broken-for-ever', 'agent_failed', /500.*try again/, ['warning api-retry', 'error server_error']],
    ['overloaded-for-ever', 'busy', /529.*try again/, ['warning api-retry', 'error server_error']],
    [
      'wrong-key',
      'agent_not_signed_in',
      /401.*ANTHROPIC_API_KEY.*claude auth login/,
      ['warning api-retry', 'error authentication_failed'],
    ],
    ['forbidden', 'agent_not_signed_in', /403.*ANTHROPIC_API_KEY/, ['error authentication_failed']],
    ['no-such-model', 'agent_failed', /model.*Choose another/, ['error model_not_found']],
    ['bad-request', 'agent_failed', /It is 400/, ['error unknown']],
    ['too-large', 'too_large', /too large/, ['error invalid_request']],
    ['no-events-at-all', 'agent_failed', /without receiving any events.*again/, ['error unknown']],
    ['unknown-block', 'agent_failed', /unreadable.*again/, ['error unknown']],
  ] as const)('%s: %s', async (fault, code, message, notices) => {
    const log = await suffer(fault)
    expect(log.end).toMatchObject({ outcome: 'failed', error: { code } })
    expect(log.end.error?.message).toMatch(message)
    expect(log.notices).toEqual(notices)
  })

  it.each([
    ['half-an-event', 'agent_failed', /lost.*again/],
    ['error-event', 'busy', /Too many/],
  ] as const)('%s: %s, with the text so far', async (fault, code, message) => {
    const log = await suffer(fault)
    expect(log.end).toMatchObject({ outcome: 'failed', error: { code } })
    expect(log.end.error?.message).toMatch(message)
    expect(log.ofTurn('text.written')).toMatchObject([{ text: words, interrupted: true }])
    expect(log.notices.at(-1)).toMatch(/^error /)
  })

  it('when it cannot be reached', async () => {
    const session = await claude.session()
    await claude.proxy.close()
    await session.prompt('Now nobody.')
    const log = await session.ended()
    await claude.proxy.open()
    expect(log.end).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
    expect(log.end.error?.message).toMatch(/refused.*again/)
    expect(log.notices).toEqual(['warning api-retry', 'error server_error'])
    await answersAgain(session, log)
  })
})

it('a turn in which the model says nothing completes with a warning', async () => {
  const log = await suffer('empty-for-ever')
  expect(log.end.outcome).toBe('completed')
  expect(log.notices).toEqual(['warning empty-answer'])
})

it('a turn can be cancelled while it waits for the model', async () => {
  const session = await claude.sharedSession()
  await session.prompt('Now limited-for-ever.')
  await session.notice('rate-limited')
  await claude.client.cancel(session.id)
  const log = await session.ended()
  expect(log.end).toMatchObject({ outcome: 'cancelled' })
  await answersAgain(session, log)
})
