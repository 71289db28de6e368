import { applyEvents, emptyView, ParleyError } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../stores/memory.ts'
import { logProblems } from '../testing/invariants.ts'
import { TestReader } from '../testing/reader.ts'
import { connectedAs, faultyAgent, loopTurns, until } from './faulty-agent-under-test.ts'
import { hostUnderTest, permission, type SessionUnderTest } from './host-under-test.ts'
import type { SessionStore } from './session-store.ts'

const hello = { type: 'text' as const, text: 'Hello.' }
const hang = { type: 'hang' as const }
const waitAt = (gate: string) => ({ type: 'wait' as const, gate })
const refusal = (code: string) => expect.objectContaining({ code })
const working = (session: SessionUnderTest) => session.when(({ turn, connected }) => !!turn && connected)

/** A memory store that can be full, and whose deletions and creations can be delayed. */
function faultyStore() {
  const disk = createMemoryStore()
  const odd = {
    disk,
    full: false,
    /** Called before each append. Returns true to refuse the append. */
    refuses: (): boolean => odd.full,
    refused: 0,
    loads: 0,
    failDelete: false,
    creating: Promise.resolve(),
    deleting: Promise.resolve(),
    store: {
      ...disk,
      async create(batch) {
        await odd.creating
        return disk.create(batch)
      },
      async append(batch) {
        if (!odd.refuses()) return disk.append(batch)
        odd.refused++
        throw new ParleyError('busy', 'No space left; free some and try again.')
      },
      async load(sessionId) {
        odd.loads++
        return disk.load(sessionId)
      },
      async delete(sessionId) {
        if (odd.failDelete) throw new ParleyError('busy', 'No space left; free some and try again.')
        await odd.deleting
        return disk.delete(sessionId)
      },
    } satisfies SessionStore,
  }
  return odd
}

describe('a full store', () => {
  it('does not prevent the host from closing, and the session is recovered when the store works again', async () => {
    const odd = faultyStore()
    await using world = await hostUnderTest({ store: odd.store })
    const session = await world.create()
    await session.submit(hang)
    await working(session)
    odd.full = true
    await world.restart()
    expect((await odd.disk.load(session.id))?.state).toMatchObject({
      connected: true,
      turn: { delivered: true },
    })

    await expect(session.submit(hello)).rejects.toEqual(refusal('busy'))
    await expect(session.command({ type: 'turn.cancel' })).rejects.toEqual(refusal('busy'))
    expect((await session.state()).turn).toBeDefined()
    expect((await world.host.list({ limit: 9 })).sessions).toHaveLength(1)

    odd.full = false
    await session.submit(hello)
    const { lastTurn } = await session.when(({ turns, turn }) => turns === 2 && !turn)
    expect(lastTurn?.outcome).toBe('completed')
    expect((await session.events('turn.ended')).map(({ outcome }) => outcome)).toEqual([
      'unknown',
      'completed',
    ])
    expect(logProblems(await session.log())).toEqual([])
  })

  it('refuses the answer to a request of a session that must be recovered, until the store works again', async () => {
    const odd = faultyStore()
    await using world = await hostUnderTest({ store: odd.store })
    const session = await world.create()
    await session.submit(permission('effect'), hello)
    await session.when(({ requests }) => requests.length > 0)
    odd.full = true
    await world.restart()
    await expect(session.decide('allow')).rejects.toEqual(refusal('busy'))
    expect(world.runs('effect')).toBe(0)
    odd.full = false
    await session.decide('allow')
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    expect(world.runs('effect')).toBe(1)
    expect(logProblems(await session.log())).toEqual([])
  })

  it('delays no other session at the start of a host', async () => {
    const odd = faultyStore()
    await using world = await hostUnderTest({ store: odd.store })
    const [stuck, free] = [await world.create(), await world.create()]
    await stuck.submit(hang)
    await working(stuck)
    odd.full = true
    await world.restart()
    const before = odd.refused
    await expect(stuck.submit(hello)).rejects.toEqual(refusal('busy'))
    expect(odd.refused).toBeGreaterThan(before)
    odd.full = false
    expect((await free.play(hello)).lastTurn?.outcome).toBe('completed')
    await stuck.submit(hello)
    await stuck.idle()
  })

  it.each([2, 3, 5])(
    'that refuses one write in %i while the agent works loses no event, and keeps their order',
    async (each) => {
      const odd = faultyStore()
      await using world = await hostUnderTest({ store: odd.store })
      const session = await world.create()
      const reader = new TestReader(session.id)
      await reader.follow(world.host)
      const texts = Array.from({ length: 20 }, (_, index) => `Text ${index}.`)
      await session.submit(
        waitAt('here'),
        ...texts.map((text) => ({ type: 'text' as const, text, pieces: 3 })),
        { type: 'tool', name: 'Read', kind: 'read', input: { path: 'a' }, output: ['one', 'two'] },
        permission('effect'),
      )
      await world.gates.reached('here')
      let count = 0
      odd.refuses = () => ++count % each !== 0
      world.gates.open('here')
      await session.when(({ requests }) => {
        world.time.advance(5_000)
        return requests.length > 0
      })
      odd.refuses = () => false
      await session.decide('allow')
      const state = await session.idle()
      expect(odd.refused).toBeGreaterThan(20)
      expect(await session.texts()).toEqual(texts)
      expect(world.runs('effect')).toBe(1)
      const log = await session.log()
      expect(logProblems(log)).toEqual([])
      await reader.until(({ state: { seq } }) => seq === state.seq)
      expect(reader.problems).toEqual([])
      expect(reader.view.timeline).toEqual(applyEvents(emptyView(session.id, state.epoch), log).timeline)
    },
  )

  it('delays the start of a turn, which starts once when the store works again', async () => {
    const odd = faultyStore()
    await using world = await hostUnderTest({ store: odd.store })
    const session = await world.create()
    await session.submit(waitAt('here'))
    await session.submit(hello)
    await world.gates.reached('here')
    odd.full = true
    world.gates.open('here')
    await session.when(() => {
      world.time.advance(1_000)
      return odd.refused > 3
    })
    odd.full = false
    await session.when(({ turns, turn }) => {
      world.time.advance(1_000)
      return turns === 2 && !turn
    })
    expect(await session.texts()).toEqual(['Hello.'])
    expect(await session.events('turn.started')).toHaveLength(2)
  })
})

describe('a session that could not be recovered yet', () => {
  it('does not run its prompts after a rename: no prompt reaches an agent twice', async () => {
    const odd = faultyStore()
    const agent = faultyAgent((connection) => {
      connection.say(connectedAs('native'))
      return {
        async send() {
          connection.say({ type: 'text.written', blockId: 'b', text: 'Hello.' })
        },
      }
    })
    await using world = await hostUnderTest({ store: odd.store, adapter: agent.adapter })
    const session = await world.create()
    await session.submit(hello)
    await until(() => agent.texts.length === 1)
    await session.when(({ turn }) => turn?.delivered === true)
    odd.full = true
    await world.restart({ adapter: agent.adapter })
    odd.full = false
    await world.host.patch(session.id, { title: 'renamed' })
    await loopTurns(20)
    expect(agent.texts).toHaveLength(1)
    expect((await session.state()).turn).toBeUndefined()
    expect(await session.events('turn.ended')).toMatchObject([{ outcome: 'unknown' }])
  })
})

describe('a session with pending writes', () => {
  const limits = { unloadMs: 1_000, idleCloseMs: 2_000 }

  it('stays in memory until they are written, and is removed then', async () => {
    const odd = faultyStore()
    await using world = await hostUnderTest({ store: odd.store, limits })
    const session = await world.create()
    await session.play(hello)
    await session.when(({ connected }) => connected)
    odd.full = true
    world.time.advance(2_000)
    await until(() => odd.refused > 0)
    const { loads } = odd
    for (let sweep = 0; sweep < 10; sweep++) {
      world.time.advance(1_000)
      await loopTurns(3)
    }
    expect((await session.state()).connected).toBe(true)
    expect(odd.loads).toBe(loads)
    odd.full = false
    await session.when(({ connected }) => {
      world.time.advance(1_000)
      return !connected
    })
    expect(await session.events('agent.disconnected')).toMatchObject([{ reason: 'idle' }])
    for (let sweep = 0; sweep < 3; sweep++) {
      world.time.advance(1_000)
      await loopTurns(3)
    }
    expect((await session.play(hello)).lastTurn?.outcome).toBe('completed')
    expect(odd.loads).toBe(loads + 1)
    expect(logProblems(await session.log())).toEqual([])
  })
})

describe('a deletion', () => {
  it('that fails leaves the session usable', async () => {
    const odd = faultyStore()
    await using world = await hostUnderTest({ store: odd.store })
    const session = await world.create()
    await session.play(hello)
    odd.failDelete = true
    await expect(world.host.delete(session.id)).rejects.toEqual(refusal('busy'))
    expect((await world.host.list({ limit: 9 })).sessions.map(({ id }) => id)).toEqual([session.id])
    expect(await world.host.patch(session.id, { title: 'Still here' })).toMatchObject({ title: 'Still here' })
    expect((await session.play(hello)).lastTurn?.outcome).toBe('completed')
    expect(logProblems(await session.log())).toEqual([])
    odd.failDelete = false
    await world.host.delete(session.id)
    expect((await world.host.list({ limit: 9 })).sessions).toEqual([])
    expect(world.problems).toEqual([])
  })

  it('that fails during a turn ends that turn', async () => {
    const odd = faultyStore()
    await using world = await hostUnderTest({ store: odd.store })
    const session = await world.create()
    await session.submit(hang)
    await working(session)
    odd.failDelete = true
    await expect(world.host.delete(session.id)).rejects.toEqual(refusal('busy'))
    await session.submit(hello)
    await session.when(({ turns, turn }) => turns === 2 && !turn)
    expect((await session.events('turn.ended')).map(({ outcome }) => outcome)).toEqual([
      'unknown',
      'completed',
    ])
  })

  it('that takes long refuses a prompt in between, and leaves no agent', async () => {
    const odd = faultyStore()
    const agent = faultyAgent(() => ({}))
    await using world = await hostUnderTest({ store: odd.store, adapter: agent.adapter })
    const session = await world.create()
    const deleting = Promise.withResolvers<void>()
    odd.deleting = deleting.promise
    const deleted = world.host.delete(session.id)
    await loopTurns(3)
    const prompt = session.submit(hello).catch((error: ParleyError) => error.code)
    await loopTurns(10)
    deleting.resolve()
    await deleted
    expect(await prompt).toBe('not_found')
    await loopTurns(10)
    expect(agent.open).toBe(0)
    await expect(session.state()).rejects.toEqual(refusal('not_found'))
    expect(world.problems).toEqual([])
  })
})

describe('a session created with a commandId', () => {
  it('is created once, even if the command is repeated at once, later or after a restart', async () => {
    await using world = await hostUnderTest()
    const given = { commandId: 'make', title: 'One', prompt: JSON.stringify([hello]) }
    const [one, two] = await Promise.all([world.create(given), world.create(given)])
    const three = await world.create(given)
    await one.idle()
    await world.restart()
    const four = await world.create(given)
    expect(new Set([one.id, two.id, three.id, four.id]).size).toBe(1)
    expect((await world.host.list({ limit: 9 })).sessions).toHaveLength(1)
    await four.idle()
    expect(await four.events('prompt.submitted')).toHaveLength(1)
    expect(await four.texts()).toEqual(['Hello.'])
  })

  it.each([
    ['another title', { title: 'Two' }],
    ['another folder', { cwd: '/' }],
    ['a prompt', { prompt: 'hello' }],
    ['another mode', { mode: 'plan' as const }],
  ])('with %s is a conflict, and changes nothing', async (_, other) => {
    await using world = await hostUnderTest()
    const session = await world.create({ commandId: 'make', title: 'One' })
    const before = await session.state()
    await expect(world.create({ commandId: 'make', title: 'One', ...other })).rejects.toEqual(
      refusal('conflict'),
    )
    await world.restart()
    await expect(world.create({ commandId: 'make', title: 'One', ...other })).rejects.toEqual(
      refusal('conflict'),
    )
    expect(await session.state()).toEqual(before)
    expect((await world.host.list({ limit: 9 })).sessions).toHaveLength(1)
  })

  it('can be created again after it was deleted', async () => {
    await using world = await hostUnderTest()
    const one = await world.create({ commandId: 'make', title: 'One' })
    await world.host.delete(one.id)
    const two = await world.create({ commandId: 'make', title: 'Two' })
    expect((await two.state()).title).toBe('Two')
  })
})

describe('a session that is created while the host closes', () => {
  it('is stored, starts no agent, and is run by the next host', async () => {
    const odd = faultyStore()
    const agent = faultyAgent((connection) => ({
      async send() {
        connection.endTurn()
      },
    }))
    await using world = await hostUnderTest({ store: odd.store, adapter: agent.adapter })
    const creating = Promise.withResolvers<void>()
    odd.creating = creating.promise
    const created = world.create({ prompt: 'hello' })
    await loopTurns(3)
    const restarted = world.restart({ adapter: agent.adapter })
    await restarted
    expect(agent.connections).toEqual([])
    creating.resolve()
    const session = await created
    await loopTurns(5)
    expect(agent.connections).toEqual([])
    await world.restart({ adapter: agent.adapter })
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    expect(world.problems).toEqual([])
  })

  it('is refused once the host has closed', async () => {
    const world = await hostUnderTest()
    const { host, cwd } = world
    await world[Symbol.asyncDispose]()
    await expect(host.create({ agent: 'scripted', cwd })).rejects.toEqual(refusal('busy'))
  })
})
