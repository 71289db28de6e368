import { applyEvents, emptyView, ParleyError, type SessionEvent } from '@parley/protocol'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { websocketUnderTest } from '../faces/websocket/websocket-under-test.ts'
import { logProblems } from '../testing/invariants.ts'
import { TestReader } from '../testing/reader.ts'
import {
  colour,
  type HostUnderTest,
  hostUnderTest,
  permission,
  type SessionUnderTest,
} from './host-under-test.ts'

describe('two clients', async () => {
  const server = await websocketUnderTest()
  afterAll(() => server[Symbol.asyncDispose]())
  const bothOn = async (session: string) => {
    const clients = [await server.connect(), await server.connect()] as const
    for (const client of clients) await client.follow(session)
    return clients
  }

  it('see the same events, deltas included', async () => {
    const session = await server.create()
    const [one, other] = await bothOn(session)
    await server.play(
      session,
      { type: 'text', text: 'One for all.', pieces: 6 },
      { type: 'flood', deltas: 500, size: 7 },
    )
    for (const client of [one, other]) await client.event('turn.ended')
    expect(one.events()).toEqual(await server.log(session))
    expect(other.frames).toEqual(one.frames)
    expect(one.of('delta').length).toBeGreaterThan(500)
  })

  it('both see the actions of one of them', async () => {
    const session = await server.create()
    const [one, other] = await bothOn(session)
    const { promptId } = await one.command(session, {
      type: 'prompt.submit',
      commandId: 'p',
      text: 'from one',
    })
    expect((await other.event('prompt.submitted')).promptId).toBe(promptId)
    await other.event('turn.ended')
  })

  it.each([
    ['allow', 'deny', 'allowed'],
    ['deny', 'allow', 'denied'],
  ] as const)(
    'answer a permission: %s comes first and wins, %s gets a conflict that says so',
    async (first, second, outcome) => {
      const session = await server.create()
      const [one, other] = await bothOn(session)
      await server.submit(session, {
        type: 'permission',
        name: 'Write',
        kind: 'edit',
        input: { path: first },
      })
      const { requestId } = await one.event('permission.requested')
      expect((await other.event('permission.requested')).requestId).toBe(requestId)
      const decide = (decision: string, commandId: string) => ({
        type: 'permission.decide',
        commandId,
        requestId,
        decision,
      })
      const won = await one.command(session, decide(first, 'a'))
      const lost = await other.command(session, decide(second, 'b'))
      expect(won.error).toBeUndefined()
      expect(lost).toMatchObject({ error: { code: 'conflict', details: { requestId, outcome } } })
      expect(lost.seq).toBeUndefined()
      expect(await other.event('permission.resolved')).toMatchObject({ requestId, outcome, by: 'person' })
      await Promise.all([one.event('turn.ended'), other.event('turn.ended')])
      expect(other.events()).toEqual(one.events())
    },
  )

  it('answer at the same time: one wins, and the log has one answer', async () => {
    const session = await server.create()
    const [one, other] = await bothOn(session)
    await server.submit(session, { type: 'permission', name: 'Write', kind: 'edit', input: { path: 'x' } })
    const { requestId } = await one.event('permission.requested')
    const answers = await Promise.all(
      [one, other, one, other, one, other].map((client, index) =>
        client.command(session, {
          type: 'permission.decide',
          commandId: `answer-${index}`,
          requestId,
          decision: index % 2 ? 'deny' : 'allow',
        }),
      ),
    )
    expect(answers.filter(({ error }) => !error)).toHaveLength(1)
    const log = await server.log(session)
    const resolved = log.filter((event) => event.type === 'permission.resolved')
    expect(resolved).toHaveLength(1)
    for (const { error } of answers) {
      if (error) expect(error).toMatchObject({ code: 'conflict', details: { outcome: resolved[0]!.outcome } })
    }
  })

  it('answer a question: the first answer counts', async () => {
    const session = await server.create()
    const [one, other] = await bothOn(session)
    await server.submit(session, colour)
    const { requestId } = await other.event('question.asked')
    const answer = (text: string) => ({
      type: 'question.answer',
      commandId: text,
      requestId,
      answers: { colour: text },
    })
    expect((await other.command(session, answer('blue'))).error).toBeUndefined()
    const lost = await one.command(session, answer('red'))
    expect(lost.error).toMatchObject({ code: 'conflict', details: { requestId, outcome: 'answered' } })
    expect(await one.event('question.resolved')).toMatchObject({ answers: { colour: 'blue' } })
    await one.event('turn.ended')
  })

  it('get a conflict with the outcome cancelled for an answer to a request that the other has cancelled', async () => {
    const session = await server.create()
    const [one, other] = await bothOn(session)
    await server.submit(session, colour)
    const { requestId } = await one.event('question.asked')
    await one.command(session, { type: 'turn.cancel', commandId: 'stop' })
    const lost = await other.command(session, {
      type: 'question.answer',
      commandId: 'late',
      requestId,
      answers: { colour: 'red' },
    })
    expect(lost.error).toMatchObject({ code: 'conflict', details: { outcome: 'cancelled' } })
    expect((await other.event('turn.ended')).outcome).toBe('cancelled')
  })

  it('can still answer a question after an invalid answer from the other client', async () => {
    const session = await server.create()
    const [one, other] = await bothOn(session)
    await server.submit(session, colour)
    const { requestId } = await one.event('question.asked')
    const bad = { type: 'question.answer', commandId: 'bad', requestId, answers: { colour: 'green' } }
    expect((await one.command(session, bad)).error?.code).toBe('validation_error')
    const wrong = { type: 'permission.decide', commandId: 'wrong', requestId, decision: 'allow' }
    expect((await one.command(session, wrong)).error?.code).toBe('validation_error')
    const good = { type: 'question.answer', commandId: 'good', requestId, answers: { colour: 'red' } }
    expect((await other.command(session, good)).error).toBeUndefined()
    await one.event('turn.ended')
  })
})

const readers = 20
const move = fc.record({ reader: fc.nat(readers - 1), loopTurns: fc.nat(3) })

describe('twenty readers that connect and disconnect under load', () => {
  it('never see the end of a turn before its last delta, and all end with the same view', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 20, maxLength: 120 }), async (moves) => {
        await using world = await hostUnderTest()
        const session = await world.create()
        const crowd = Array.from({ length: readers }, () => new TestReader(session.id))
        const flood = { type: 'flood' as const, deltas: 1_500, size: 5, blocks: 6 }
        const tools = { ...flood, deltas: 300, of: 'tool-output' as const }
        for (let turn = 0; turn < 3; turn++) await session.submit(flood, permissionless(turn), tools)
        for (const { reader, loopTurns } of moves) {
          connectOrDisconnect(crowd[reader]!, world)
          for (let turn = 0; turn < loopTurns; turn++) await new Promise((resolve) => setImmediate(resolve))
        }
        await session.when((state) => state.turns === 3)
        await everyoneBack(crowd, world)
        await expectSame(crowd, session)
      }),
      { numRuns: 25 },
    )
  }, 120_000)
})

function permissionless(turn: number) {
  return { type: 'text' as const, text: `turn ${turn}`, pieces: 3 }
}

function connectOrDisconnect(reader: TestReader, world: HostUnderTest): void {
  if (!reader.connected) return void reader.follow(world.host)
  for (const { id } of reader.view.state.openBlocks) reader.killed.add(id)
  reader.leave()
}

/**
 * Reconnects the readers and waits until each has seen the last turn. The part of an open block that a
 * disconnected reader missed arrives with the event that closes the block.
 */
async function everyoneBack(crowd: readonly TestReader[], world: HostUnderTest): Promise<void> {
  for (const reader of crowd) {
    if (!reader.connected) await reader.follow(world.host)
    await reader.until(({ state }) => state.turns === 3)
  }
}

async function expectSame(crowd: readonly TestReader[], session: SessionUnderTest): Promise<void> {
  const log: SessionEvent[] = await session.log()
  expect(logProblems(log)).toEqual([])
  const { epoch } = await session.state()
  const folded = applyEvents(emptyView(session.id, epoch), log)
  for (const reader of crowd) {
    expect(reader.problems).toEqual([])
    expect(reader.view).toEqual(folded)
  }
}

it('many answers at once through the library: one wins, and the others get a conflict that contains the winning answer', async () => {
  await using world = await hostUnderTest()
  const session = await world.create()
  await session.submit(permission('effect'))
  const { requests } = await session.when((state) => state.requests.length > 0)
  const { requestId } = requests[0]!
  const answers = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) =>
      session.command({ type: 'permission.decide', requestId, decision: index % 2 ? 'deny' : 'allow' }),
    ),
  )
  const { lastTurn } = await session.idle()
  expect(lastTurn?.outcome).toBe('completed')
  const [resolved, ...more] = await session.events('permission.resolved')
  expect(more).toEqual([])
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const answer of answers) {
    if (answer.status === 'fulfilled') continue
    expect(answer.reason).toBeInstanceOf(ParleyError)
    expect(answer.reason).toMatchObject({
      code: 'conflict',
      details: { requestId, outcome: resolved!.outcome },
    })
  }
  expect(world.runs('effect')).toBe(resolved!.outcome === 'allowed' ? 1 : 0)
})
