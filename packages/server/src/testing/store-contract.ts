import type { SessionState } from '@parley/protocol'
import type { AppendBatch, SessionStore } from '../core/session-store.ts'
import { afterEach, beforeEach, describe, expect, fc, it } from './peers.ts'
import { checkpointCases } from './store-contract-checkpoints.ts'
import { listCases } from './store-contract-list.ts'
import { expectStoreToEqualModel, storeOperations } from './store-model.ts'
import {
  awkwardTexts,
  callBlock,
  eventsOf,
  openTurn,
  receiptOf,
  requestOf,
  ruleOf,
  stateOf,
  textBlock,
} from './store-samples.ts'

export type StoreUnderTest = {
  readonly store: SessionStore
  /** Closes the store and opens it again. A store without it gives the reason in `notDurable`. */
  readonly reopen?: () => Promise<SessionStore>
  readonly notDurable?: string
  cleanup(): Promise<void>
}

/** Tests every rule of the port `SessionStore`, for any store. */
export function storeContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name} keeps the contract of a store`, () => {
    let tested: StoreUnderTest
    let store: SessionStore
    beforeEach(async () => {
      tested = await open()
      store = tested.store
    })
    afterEach(() => tested.cleanup())

    const create = (id: string, changes: Partial<SessionState> = {}, count = 1) =>
      store.create({
        sessionId: id,
        epoch: `epoch of ${id}`,
        state: stateOf(id, changes),
        events: eventsOf(id, 1, count),
      })
    const readAll = (id: string) => store.read(id, { limit: 10_000 })

    describe('the log', () => {
      it('creates a session in one batch: epoch, state, events, receipt and rules', async () => {
        await store.create({
          sessionId: 'a',
          epoch: 'first',
          state: stateOf('a', { title: 'One', seq: 2 }),
          events: eventsOf('a', 1, 2),
          receipt: receiptOf('c1', 2),
          rules: [ruleOf('r1')],
        })
        expect(await store.load('a')).toEqual({
          head: 2,
          epoch: 'first',
          state: stateOf('a', { title: 'One', seq: 2 }),
        })
        expect(await readAll('a')).toEqual(eventsOf('a', 1, 2))
        expect(await store.receipt('a', 'c1')).toEqual(receiptOf('c1', 2))
        expect(await store.rules()).toEqual([ruleOf('r1')])
      })

      it('refuses an id that exists and does not change the first session', async () => {
        await create('a', { title: 'first' }, 3)
        await expect(create('a', { title: 'second' })).rejects.toMatchObject({ code: 'conflict' })
        expect(await store.load('a')).toMatchObject({ head: 3, state: { title: 'first' } })
      })

      it('appends and keeps the stored state when a batch has none', async () => {
        await create('a', { title: 'kept' })
        await store.append({ sessionId: 'a', events: eventsOf('a', 2, 2) })
        expect(await store.load('a')).toMatchObject({
          head: 3,
          epoch: 'epoch of a',
          state: { title: 'kept' },
        })
        await store.append({ sessionId: 'a', events: [], state: stateOf('a', { title: 'new', seq: 3 }) })
        expect(await store.load('a')).toMatchObject({ head: 3, state: { title: 'new', seq: 3 } })
      })

      it.each([
        ['a gap', [3]],
        ['a repeat', [1]],
        ['a gap inside the batch', [2, 4]],
        ['a repeat inside the batch', [2, 2]],
        ['a seq of zero', [0]],
      ])('refuses %s and writes nothing of the batch', async (_, seqs) => {
        await create('a', { turn: openTurn })
        await store.checkpoint('a', [textBlock('b', 'so far')])
        const batch: AppendBatch = {
          sessionId: 'a',
          events: seqs.map((seq) => ({ seq, json: `{"seq":${seq}}` })),
          state: stateOf('a', { title: 'must not be seen' }),
          receipt: receiptOf('c1', 2),
          rules: [ruleOf('r1')],
          closedBlocks: ['b'],
        }
        await expect(store.append(batch)).rejects.toMatchObject({ name: 'ParleyError', code: 'conflict' })
        expect(await store.load('a')).toMatchObject({ head: 1, state: { title: '' } })
        expect(await readAll('a')).toEqual(eventsOf('a', 1, 1))
        expect(await store.receipt('a', 'c1')).toBeUndefined()
        expect(await store.rules()).toEqual([])
        expect(await store.checkpoints('a')).toEqual([textBlock('b', 'so far')])
        await store.append({ sessionId: 'a', events: eventsOf('a', 2, 1) })
        expect(await readAll('a')).toEqual(eventsOf('a', 1, 2))
      })

      it('refuses a new session that does not start at 1', async () => {
        const batch = { sessionId: 'a', epoch: 'e', state: stateOf('a'), events: eventsOf('a', 2, 1) }
        await expect(store.create(batch)).rejects.toMatchObject({ code: 'conflict' })
        expect(await store.load('a')).toBeUndefined()
        await create('a')
        expect(await store.load('a')).toMatchObject({ head: 1 })
      })

      it('finds nothing of a session that was never created', async () => {
        expect(await store.load('a')).toBeUndefined()
        expect(await readAll('a')).toEqual([])
        expect(await store.receipt('a', 'c')).toBeUndefined()
        expect(await store.checkpoints('a')).toEqual([])
        const append = store.append({ sessionId: 'a', events: eventsOf('a', 1, 1) })
        await expect(append).rejects.toMatchObject({ code: 'not_found' })
        await expect(store.checkpoint('a', [textBlock('b', '')])).rejects.toMatchObject({ code: 'not_found' })
      })

      it.each([
        [{ limit: 3 }, [1, 2, 3]],
        [{ after: 0, limit: 2 }, [1, 2]],
        [{ after: 4, limit: 3 }, [5, 6, 7]],
        [{ after: 8, limit: 100 }, [9, 10]],
        [{ after: 10, limit: 5 }, []],
        [{ after: 99, limit: 5 }, []],
        [{ before: 5, limit: 2 }, [3, 4]],
        [{ before: 3, limit: 100 }, [1, 2]],
        [{ before: 1, limit: 5 }, []],
        [{ before: 11, limit: 3 }, [8, 9, 10]],
        [{ before: Number.MAX_SAFE_INTEGER, limit: 2 }, [9, 10]],
        [{ after: Number.MAX_SAFE_INTEGER, limit: 2 }, []],
        [{ after: 2, before: 6, limit: 2 }, [4, 5]],
        [{ after: 2, before: 6, limit: 100 }, [3, 4, 5]],
        [{ after: 5, before: 3, limit: 100 }, []],
      ])('reads %o ascending', async (range, seqs) => {
        await create('before it')
        await create('a', {}, 10)
        await create('after it', {}, 5)
        expect((await store.read('a', range)).map(({ seq }) => seq)).toEqual(seqs)
      })

      it('returns every text byte for byte', async () => {
        const texts = awkwardTexts('a')
        await create('a', {}, 0)
        await store.append({ sessionId: 'a', events: texts.map((json, index) => ({ seq: index + 1, json })) })
        expect((await readAll('a')).map(({ json }) => json)).toEqual(texts)
      })

      it('keeps sessions apart when their appends are interleaved', async () => {
        const ids = ['a', 'b', 'c', 'd']
        await Promise.all(ids.map((id) => create(id)))
        const rounds = Array.from({ length: 25 }, (_, index) => 2 + index * 2)
        await Promise.all(
          rounds.flatMap((seq) =>
            ids.map((id) => store.append({ sessionId: id, events: eventsOf(id, seq, 2) })),
          ),
        )
        for (const id of ids) expect(await readAll(id)).toEqual(eventsOf(id, 1, 51))
      })

      it('accepts one of two appends at the same place', async () => {
        await create('a')
        const append = () => store.append({ sessionId: 'a', events: eventsOf('a', 2, 1) })
        const results = await Promise.allSettled([append(), append()])
        expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
        expect(await store.load('a')).toMatchObject({ head: 2 })
      })
    })

    describe('receipts', () => {
      it('belong to their session', async () => {
        await create('a')
        await create('b')
        await store.append({ sessionId: 'a', events: eventsOf('a', 2, 1), receipt: receiptOf('c1', 2) })
        expect(await store.receipt('a', 'c1')).toEqual(receiptOf('c1', 2))
        expect(await store.receipt('b', 'c1')).toBeUndefined()
      })

      it('are stored once: a second one for the same command is refused with its batch', async () => {
        await create('a')
        await store.append({ sessionId: 'a', events: [], receipt: receiptOf('c1', 1) })
        const again = store.append({
          sessionId: 'a',
          events: eventsOf('a', 2, 1),
          receipt: receiptOf('c1', 2),
        })
        await expect(again).rejects.toMatchObject({ code: 'conflict' })
        expect(await store.load('a')).toMatchObject({ head: 1 })
        expect(await store.receipt('a', 'c1')).toEqual(receiptOf('c1', 1))
      })
    })

    checkpointCases(() => store)
    listCases(() => store)

    it('lists the unsettled sessions: those with an open turn, a queue or a connection', async () => {
      const prompt = openTurn.prompt
      await create('idle')
      await create('turn', { turn: openTurn })
      await create('queue', { queue: [prompt] })
      await create('connected', { connected: true })
      expect((await store.unsettled()).sort()).toEqual(['connected', 'queue', 'turn'])
      await store.append({ sessionId: 'turn', events: [], state: stateOf('turn') })
      await store.append({ sessionId: 'idle', events: [], state: stateOf('idle', { connected: true }) })
      expect((await store.unsettled()).sort()).toEqual(['connected', 'idle', 'queue'])
    })

    it('lists the states that wait for a person, the longest waiting first', async () => {
      await create('none')
      await create('second', { requests: [requestOf('q2', 20), requestOf('q9', 90)] })
      await create('first', { requests: [requestOf('q1', 10)] })
      await create('third', { requests: [requestOf('q3', 30)] })
      const waiting = await store.waiting()
      expect(waiting.map(({ id }) => id)).toEqual(['first', 'second', 'third'])
      expect(waiting[0]).toEqual(stateOf('first', { requests: [requestOf('q1', 10)] }))
      await store.append({ sessionId: 'first', events: [], state: stateOf('first') })
      expect((await store.waiting()).map(({ id }) => id)).toEqual(['second', 'third'])
    })

    it('deletes a session with all its rows, and nothing else', async () => {
      for (const id of ['a', 'b']) {
        await create(id, { turn: openTurn, requests: [requestOf('q', 1)] }, 5)
        const rules = [ruleOf(`rule of ${id}`, { scope: 'session', sessionId: id })]
        await store.append({ sessionId: id, events: [], receipt: receiptOf('c', 5), rules })
        await store.checkpoint(id, [textBlock('block', `text of ${id}`)])
      }
      await store.addRule(ruleOf('of all'))
      expect(await store.delete('a')).toBe(true)
      expect(await store.delete('a')).toBe(false)

      expect(await store.load('a')).toBeUndefined()
      expect(await readAll('a')).toEqual([])
      expect(await store.receipt('a', 'c')).toBeUndefined()
      expect(await store.checkpoints('a')).toEqual([])
      expect(await store.unsettled()).toEqual(['b'])
      expect((await store.waiting()).map(({ id }) => id)).toEqual(['b'])
      expect((await store.rules()).map(({ ruleId }) => ruleId)).toEqual(['rule of b', 'of all'])
      expect((await store.list({ limit: 9 })).sessions.map(({ id }) => id)).toEqual(['b'])
      expect(await readAll('b')).toEqual(eventsOf('b', 1, 5))
      expect(await store.checkpoints('b')).toEqual([textBlock('block', 'text of b')])
    })

    it('lets a deleted id be created again', async () => {
      await create('a', { title: 'old' }, 5)
      await store.delete('a')
      await create('a', { title: 'new' }, 2)
      expect(await store.load('a')).toMatchObject({ head: 2, state: { title: 'new' } })
      expect(await readAll('a')).toEqual(eventsOf('a', 1, 2))
      expect(await store.checkpoints('a')).toEqual([])
    })

    it('keeps rules in the order in which they were added, and removes them', async () => {
      await store.addRule(ruleOf('r2', { match: { command: 'git *' }, scope: 'project', project: '/w' }))
      await create('a')
      await store.append({ sessionId: 'a', events: [], rules: [ruleOf('r1'), ruleOf('r3')] })
      expect((await store.rules()).map(({ ruleId }) => ruleId)).toEqual(['r2', 'r1', 'r3'])
      expect((await store.rules())[0]).toMatchObject({ match: { command: 'git *' }, project: '/w' })
      await store.addRule(ruleOf('r2', { decision: 'deny' }))
      expect((await store.rules())[0]).toEqual(ruleOf('r2', { decision: 'deny' }))
      expect(await store.removeRule('r1')).toBe(true)
      expect(await store.removeRule('r1')).toBe(false)
      expect((await store.rules()).map(({ ruleId }) => ruleId)).toEqual(['r2', 'r3'])
    })

    it('keeps trusted folders in the order in which they were added, and removes them', async () => {
      const folders = async () => (await store.trustedFolders()).map(({ folder }) => folder)
      for (const folder of ['/b', '/a', '/B']) await store.trustFolder({ folder, trustedAt: 1 })
      expect(await folders()).toEqual(['/b', '/a', '/B'])
      await store.trustFolder({ folder: '/b', trustedAt: 1_700_000_000_000 })
      expect((await store.trustedFolders())[0]).toEqual({ folder: '/b', trustedAt: 1_700_000_000_000 })
      expect(await store.distrustFolder('/a/')).toBe(false)
      expect(await store.distrustFolder('/a')).toBe(true)
      expect(await store.distrustFolder('/a')).toBe(false)
      expect(await folders()).toEqual(['/b', '/B'])
      await create('a', { cwd: '/b' })
      await store.delete('a')
      expect(await folders()).toEqual(['/b', '/B'])
    })

    it('keeps the variables of a place as they were last set, and those of a session only as long as the session', async () => {
      const kept = async () => (await store.environments()).map(({ place, variables }) => [place, variables])
      await create('a')
      await store.setEnvironment({ scope: 'folder', place: 'a', variables: { A: '1' } })
      await store.setEnvironment({ scope: 'session', place: 'a', variables: { A: '2' } })
      await store.setEnvironment({ scope: 'session', place: 'b', variables: { A: '3' } })
      await store.setEnvironment({ scope: 'folder', place: 'a', variables: { B: '4\n"' } })
      expect(await kept()).toEqual([
        ['a', { B: '4\n"' }],
        ['a', { A: '2' }],
        ['b', { A: '3' }],
      ])
      await store.delete('a')
      await store.setEnvironment({ scope: 'session', place: 'b', variables: {} })
      expect(await store.environments()).toEqual([{ scope: 'folder', place: 'a', variables: { B: '4\n"' } }])
    })

    it('shares no objects with its callers: neither arguments nor results', async () => {
      const state = stateOf('a', { title: 'as given', turn: openTurn, queue: [{ ...openTurn.prompt }] })
      const rule = ruleOf('r')
      const receipt = receiptOf('c', 1)
      const block = textBlock('b', 'text')
      const trusted = { folder: '/w', trustedAt: 1 }
      await store.trustFolder(trusted)
      await store.create({
        sessionId: 'a',
        epoch: 'e',
        state,
        events: eventsOf('a', 1, 1),
        rules: [rule],
        receipt,
      })
      await store.checkpoint('a', [block])
      const given = async () => ({
        record: await store.load('a'),
        events: await readAll('a'),
        rules: await store.rules(),
        receipt: await store.receipt('a', 'c'),
        blocks: await store.checkpoints('a'),
        trusted: await store.trustedFolders(),
        page: await store.list({ limit: 1 }),
      })
      const before = await given()
      const reference = structuredClone(before)

      Object.assign(state, { title: 'changed' })
      state.queue.length = 0
      Object.assign(rule, { tool: 'changed' })
      Object.assign(receipt.receipt, { seq: 99 })
      Object.assign(block, { text: 'changed' })
      Object.assign(trusted, { folder: '/' })
      expect(await given()).toEqual(reference)

      const spoilt = await given()
      spoilt.record!.state.queue.length = 0
      spoilt.events.length = 0
      Object.assign(spoilt.rules[0]!, { tool: 'changed' })
      Object.assign(spoilt.receipt!.receipt, { seq: 99 })
      Object.assign(spoilt.blocks[0]!, { text: 'changed' })
      Object.assign(spoilt.trusted[0]!, { folder: '/' })
      Object.assign(spoilt.page.sessions[0]!, { title: 'changed' })
      expect(await given()).toEqual(reference)

      const next = stateOf('a', { title: 'later' })
      await store.append({ sessionId: 'a', events: eventsOf('a', 2, 1), state: next })
      expect(before).toEqual(reference)
    })

    it('keeps everything when it is reopened, or gives the reason why not', async () => {
      if (!tested.reopen) {
        expect(tested.notDurable, 'without reopen, notDurable must say why').toBeTruthy()
        return
      }
      await create('a', { turn: openTurn, requests: [requestOf('q', 1)], title: 'kept' }, 3)
      await store.append({
        sessionId: 'a',
        events: eventsOf('a', 4, 1),
        receipt: receiptOf('c', 4),
        rules: [ruleOf('r')],
      })
      await store.checkpoint('a', [textBlock('one', 'Hel'), callBlock('two', 'in', '')])
      await store.checkpoint('a', [textBlock('one', 'Hello')])
      await store.trustFolder({ folder: '/w', trustedAt: 1 })
      await store.setEnvironment({ scope: 'folder', place: '/w', variables: { A: '1' } })
      const before = await store.load('a')

      store = await tested.reopen()
      expect(await store.load('a')).toEqual(before)
      expect(await readAll('a')).toEqual(eventsOf('a', 1, 4))
      expect(await store.receipt('a', 'c')).toEqual(receiptOf('c', 4))
      expect(await store.rules()).toEqual([ruleOf('r')])
      expect(await store.trustedFolders()).toEqual([{ folder: '/w', trustedAt: 1 }])
      expect(await store.environments()).toEqual([{ scope: 'folder', place: '/w', variables: { A: '1' } }])
      expect(await store.unsettled()).toEqual(['a'])
      expect(await store.waiting()).toHaveLength(1)
      expect(await store.checkpoints('a')).toEqual([textBlock('one', 'Hello'), callBlock('two', 'in', '')])

      await store.checkpoint('a', [textBlock('one', 'Hello, world'), textBlock('three', 'x')])
      expect(await store.checkpoints('a')).toEqual([
        textBlock('one', 'Hello, world'),
        callBlock('two', 'in', ''),
        textBlock('three', 'x'),
      ])
      await store.append({
        sessionId: 'a',
        events: eventsOf('a', 5, 1),
        closedBlocks: ['one', 'two', 'three'],
      })
      expect(await store.checkpoints('a')).toEqual([])
      expect(await readAll('a')).toEqual(eventsOf('a', 1, 5))
    })

    it('equals a simple model after any operations', async () => {
      await fc.assert(
        fc.asyncProperty(storeOperations(), async (operations) => {
          const fresh = await open()
          try {
            await expectStoreToEqualModel(fresh, operations)
          } finally {
            await fresh.cleanup()
          }
        }),
        { numRuns: 40 },
      )
    })
  })
}
