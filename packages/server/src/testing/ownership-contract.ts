import type { Claim, OwnedSession, SessionOwnership } from '../core/session-ownership.ts'
import type { SessionStore } from '../core/session-store.ts'
import { afterEach, beforeEach, describe, expect, it } from './peers.ts'
import { eventsOf, openTurn, stateOf, textBlock } from './store-samples.ts'

/** A process with its store and its ownership. */
export type NodeUnderTest = {
  readonly store: SessionStore
  readonly ownership: SessionOwnership
  /** Ends the process without releasing anything, as a kill does, and resolves when others may claim its sessions. */
  die(): Promise<void>
  close(): Promise<void>
}

export type OwnershipUnderTest = {
  /** Opens one more process on the same store. */
  open(settings?: { place?: string }): Promise<NodeUnderTest>
  cleanup(): Promise<void>
}

/** Tests every rule of the port `SessionOwnership`, with the store that it protects. */
export function ownershipContract(name: string, start: () => Promise<OwnershipUnderTest>): void {
  describe(`${name} satisfies the contract of an ownership`, () => {
    const tested = testedNodes(start)
    claimOwnCase(tested)
    describe('with several processes', () => {
      claimCases(tested)
      fenceCases(tested)
      adoptCases(tested)
      caretakerCases(tested)
    })
  })
}

/** Tests the rules that hold if no other process can open the store. */
export function soleOwnershipContract(name: string, open: () => Promise<Omit<NodeUnderTest, 'die'>>): void {
  describe(`${name} satisfies the contract of a sole ownership`, () => {
    const tested = { open }
    claimOwnCase(tested)

    it('owns every session, and adopts those with work left once', async () => {
      const node = await open()
      await create(node, 'idle')
      await create(node, 'busy', { turn: openTurn })
      expect(await node.ownership.claim('idle')).toEqual({ type: 'owned', sessionId: 'idle' })
      expect(await node.ownership.adopt(10)).toEqual([{ sessionId: 'busy' }])
      expect(await node.ownership.adopt(10)).toEqual([])
      await node.close()
    })
  })
}

type TestedNodes = {
  open(settings?: { place?: string }): Promise<NodeUnderTest>
  two(): Promise<[NodeUnderTest, NodeUnderTest]>
}

function testedNodes(start: () => Promise<OwnershipUnderTest>): TestedNodes {
  let tested: OwnershipUnderTest
  let opened: NodeUnderTest[]
  beforeEach(async () => {
    tested = await start()
    opened = []
  })
  afterEach(async () => {
    await Promise.all(opened.map((node) => node.close()))
    await tested.cleanup()
  })
  const open = async (settings = {}) => {
    const node = await tested.open(settings)
    opened.push(node)
    return node
  }
  return {
    open,
    two: async () => [await open(), await open()],
  }
}

async function create(
  { store }: Pick<NodeUnderTest, 'store'>,
  id: string,
  changes: Parameters<typeof stateOf>[1] = {},
) {
  const state = stateOf(id, changes)
  await store.create({ sessionId: id, epoch: 'e', state, events: eventsOf(id, 1, 1) })
}

function termOf(claim: Claim | OwnedSession | undefined): { term?: number } {
  const term = claim && 'term' in claim ? claim.term : undefined
  return term === undefined ? {} : { term }
}

function claimOwnCase(tested: { open(): Promise<Omit<NodeUnderTest, 'die'>> }): void {
  it('lets the process that has created a session claim it, and write under its term', async () => {
    const node = await tested.open()
    await create(node, 'a', { turn: openTurn })
    const claim = await node.ownership.claim('a')
    expect(claim).toMatchObject({ type: 'owned', sessionId: 'a' })
    await node.store.append({ sessionId: 'a', events: eventsOf('a', 2, 1), ...termOf(claim) })
    await node.store.checkpoint('a', [textBlock('b', 'text')], termOf(claim).term)
    expect(await node.store.load('a')).toMatchObject({ head: 2 })
    expect(await node.store.checkpoints('a')).toHaveLength(1)
    expect(await node.store.delete('a', termOf(claim).term)).toBe(true)
  })
}

function claimCases(tested: TestedNodes): void {
  it('gives a session to one of them, and returns the address of that process to the other', async () => {
    const [one, other] = await tested.two()
    await create(one, 'a')
    const claim = await one.ownership.claim('a')
    expect(claim).toMatchObject({ type: 'owned' })
    expect(await other.ownership.claim('a')).toEqual({
      type: 'elsewhere',
      url: expect.stringMatching(/^http/),
      ...termOf(claim),
    })
  })

  it('gives a session to exactly one of many that claim it at once', async () => {
    const [one, other] = await tested.two()
    await create(one, 'a')
    await one.ownership.release('a', termOf(await one.ownership.claim('a')).term ?? 0)
    const claims = await Promise.all(
      [one, other, await tested.open()].map((node) => node.ownership.claim('a')),
    )
    expect(claims.filter(({ type }) => type === 'owned')).toHaveLength(1)
  })

  it('lets another claim a released session at once, under a higher term', async () => {
    const [one, other] = await tested.two()
    await create(one, 'a')
    const first = await one.ownership.claim('a')
    await one.ownership.release('a', termOf(first).term ?? 0)
    const second = await other.ownership.claim('a')
    expect(second.type).toBe('owned')
    expect(termOf(second).term).toBeGreaterThan(termOf(first).term ?? 0)
    await one.ownership.release('a', termOf(first).term ?? 0)
    expect(await one.ownership.claim('a')).toMatchObject({ type: 'elsewhere' })
  })

  it('lets others claim the sessions of a process that was shut down gracefully', async () => {
    const [one, other] = await tested.two()
    await create(one, 'a')
    await one.ownership.claim('a')
    await one.close()
    expect(await other.ownership.claim('a')).toMatchObject({ type: 'owned' })
  })

  it('names the former owner in a claim only if that owner is gone, and again in a second claim', async () => {
    const [one, other] = await tested.two()
    await create(one, 'a')
    const { mark: former } = one.ownership
    await one.ownership.release('a', termOf(await one.ownership.claim('a')).term ?? 0)
    const claim = await other.ownership.claim('a')
    expect(claim).not.toHaveProperty('former')
    await other.ownership.release('a', termOf(claim).term ?? 0)
    await one.ownership.claim('a')
    await one.die()
    for (let round = 0; round < 2; round++)
      expect(await other.ownership.claim('a')).toMatchObject({ type: 'owned', former })
  })

  it('gives no session to a process at another place, and returns the awaited place', async () => {
    const one = await tested.open()
    const away = await tested.open({ place: 'machine:away' })
    await create(one, 'a', { turn: openTurn })
    await one.ownership.claim('a')
    expect(await away.ownership.claim('a')).toMatchObject({ type: 'elsewhere' })
    await one.close()
    expect(await away.ownership.claim('a')).toEqual({ type: 'awaited', place: expect.any(String) })
    expect(await away.ownership.adopt(10)).toEqual([])
  })
}

function fenceCases(tested: TestedNodes): void {
  it('refuses every write under an older term, and writes nothing', async () => {
    const [one, other] = await tested.two()
    await create(one, 'a', { turn: openTurn })
    const old = termOf(await one.ownership.claim('a'))
    await one.store.checkpoint('a', [textBlock('b', 'one')], old.term)
    await one.ownership.release('a', old.term ?? 0)
    const current = termOf(await other.ownership.claim('a'))
    const refused = { code: 'conflict', details: { staleTerm: old.term } }
    const late = { sessionId: 'a', events: eventsOf('a', 2, 1), state: stateOf('a'), ...old }
    await expect(one.store.append(late)).rejects.toMatchObject(refused)
    await expect(one.store.append({ ...late, events: [] })).rejects.toMatchObject(refused)
    await expect(one.store.checkpoint('a', [textBlock('b', 'two')], old.term)).rejects.toMatchObject(refused)
    await one.store.delete('a', old.term).catch(() => undefined)
    expect(await other.store.load('a')).toMatchObject({ head: 1, state: { turn: openTurn } })
    expect(await other.store.checkpoints('a')).toEqual([textBlock('b', 'one')])
    await other.store.append({ sessionId: 'a', events: eventsOf('a', 2, 1), ...current })
  })

  it('sees what the previous owner has written, even if it owned the session before', async () => {
    const [one, other] = await tested.two()
    await create(one, 'a', { turn: openTurn })
    let seq = 2
    for (const node of [one, other, one, other]) {
      const { term } = termOf(await node.ownership.claim('a'))
      const grown = 'x'.repeat(seq)
      await node.store.checkpoint('a', [textBlock('b', grown)], term)
      await node.store.append({
        sessionId: 'a',
        events: eventsOf('a', seq++, 1),
        ...(term !== undefined && { term }),
      })
      expect(await node.store.checkpoints('a')).toEqual([textBlock('b', grown)])
      await node.ownership.release('a', term ?? 0)
    }
    expect(await one.store.read('a', { limit: 10 })).toEqual(eventsOf('a', 1, 5))
  })

  it('takes all sessions from a process that has died, whose late writes are refused', async () => {
    const [one, other] = await tested.two()
    await create(one, 'a')
    const { term } = termOf(await one.ownership.claim('a'))
    await one.die()
    expect(await other.ownership.claim('a')).toMatchObject({ type: 'owned' })
    const late = one.store.append({
      sessionId: 'a',
      events: eventsOf('a', 2, 1),
      ...(term !== undefined && { term }),
    })
    await expect(late).rejects.toMatchObject({ code: 'conflict' })
  })
}

function adoptCases(tested: TestedNodes): void {
  it('shares the unsettled sessions of a dead process among the others, each once', async () => {
    const [one, other] = await tested.two()
    const third = await tested.open()
    for (let index = 0; index < 30; index++) await create(one, `busy${index}`, { turn: openTurn })
    await create(one, 'settled')
    expect(await other.ownership.adopt(100)).toEqual([])
    const { mark: former } = one.ownership
    expect(former).toMatch(/\w/)
    await one.die()
    const rounds = await Promise.all([other, third, other, third].map((node) => node.ownership.adopt(8)))
    const last = await other.ownership.adopt(100)
    const ids = [...rounds.flat(), ...last].map(({ sessionId }) => sessionId)
    for (const owned of rounds.flat()) expect(owned).toMatchObject({ former })
    expect(ids.toSorted()).toEqual(Array.from({ length: 30 }, (_, index) => `busy${index}`).toSorted())
    expect(await third.ownership.claim('settled')).toMatchObject({ type: 'owned', former })
  })
}

function caretakerCases(tested: TestedNodes): void {
  const away = { place: 'machine:away' }
  const takeCare = ({ ownership }: NodeUnderTest, id: string) =>
    ownership.takeCare?.(id) ?? Promise.reject(new Error('there is no caretaker'))

  it('lets a process take care of a session of another place only if no process is alive there', async () => {
    const [home, beside] = await tested.two()
    const other = await tested.open(away)
    await create(home, 'a')
    const claim = await home.ownership.claim('a')
    expect(await takeCare(other, 'a')).toMatchObject({ type: 'elsewhere' })
    await home.ownership.release('a', termOf(claim).term ?? 0)
    expect(await takeCare(other, 'a')).toMatchObject({ type: 'awaited' })
    await home.close()
    expect(await takeCare(other, 'a')).toMatchObject({ type: 'awaited' })
    await beside.close()
    const care = await takeCare(other, 'a')
    expect(care).toMatchObject({ type: 'owned', awaits: 'machine:here' })
    expect(termOf(care).term).toBeGreaterThan(termOf(claim).term ?? 0)
    await other.store.append({ sessionId: 'a', events: eventsOf('a', 2, 1), ...termOf(care) })
  })

  it('lets one of several take care of a session at a time', async () => {
    const home = await tested.open()
    await create(home, 'a')
    await home.close()
    const others = [
      await tested.open(away),
      await tested.open(away),
      await tested.open({ place: 'machine:third' }),
    ]
    const claims = await Promise.all(others.map((node) => takeCare(node, 'a')))
    expect(claims.map(({ type }) => type).toSorted()).toEqual(['elsewhere', 'elsewhere', 'owned'])
    expect(await others[0]?.ownership.adopt(10)).toEqual([])
  })

  it('gives a session back to its place at once, by claim and by adoption, and refuses late writes of the caretaker', async () => {
    const home = await tested.open()
    const { mark: former } = home.ownership
    for (const id of ['a', 'b']) await create(home, id, { turn: openTurn })
    for (const id of ['a', 'b']) await home.ownership.claim(id)
    await home.close()
    const other = await tested.open(away)
    const cares = [await takeCare(other, 'a'), await takeCare(other, 'b')]
    const back = await tested.open()
    expect(await back.ownership.claim('a')).toMatchObject({ type: 'owned', former })
    expect(await back.ownership.adopt(10)).toMatchObject([{ sessionId: 'b', former }])
    for (const [index, sessionId] of ['a', 'b'].entries()) {
      const late = { sessionId, events: eventsOf(sessionId, 2, 1), ...termOf(cares[index]) }
      await expect(other.store.append(late)).rejects.toMatchObject({ code: 'conflict' })
      await other.ownership.release(sessionId, termOf(cares[index]).term ?? 0)
      expect(await takeCare(other, sessionId)).toMatchObject({ type: 'elsewhere' })
    }
    expect(await other.ownership.claim('a')).toMatchObject({ type: 'elsewhere' })
  })
}
