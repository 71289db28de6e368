import type { AppendBatch } from '../../core/session-store.ts'
import { describe, expect, it } from '../peers.ts'
import { awkwardTexts, eventsOf, openTurn, receiptOf, ruleOf, stateOf, textBlock } from '../store-samples.ts'
import type { TestedStore } from './tested-store.ts'

/** The part of the store contract about the events of a session and the receipts of its commands. */
export function logCases(tested: TestedStore): void {
  describe('the log', () => {
    createCases(tested)
    appendCases(tested)
    readCases(tested)
  })
  describe('receipts', () => receiptCases(tested))
}

function createCases(tested: TestedStore): void {
  const { create, readAll } = tested

  it('creates a session in one batch: epoch, state, events, receipt and rules', async () => {
    await tested.store.create({
      sessionId: 'a',
      epoch: 'first',
      state: stateOf('a', { title: 'One', seq: 2 }),
      events: eventsOf('a', 1, 2),
      receipt: receiptOf('c1', 2),
      rules: [ruleOf('r1')],
    })
    expect(await tested.store.load('a')).toEqual({
      head: 2,
      epoch: 'first',
      state: stateOf('a', { title: 'One', seq: 2 }),
    })
    expect(await readAll('a')).toEqual(eventsOf('a', 1, 2))
    expect(await tested.store.receipt('a', 'c1')).toEqual(receiptOf('c1', 2))
    expect(await tested.store.rules()).toEqual([ruleOf('r1')])
  })

  it('refuses an id that exists and does not change the first session', async () => {
    await create('a', { title: 'first' }, 3)
    await expect(create('a', { title: 'second' })).rejects.toMatchObject({ code: 'conflict' })
    expect(await tested.store.load('a')).toMatchObject({ head: 3, state: { title: 'first' } })
  })

  it('refuses a new session that does not start at 1', async () => {
    const batch = { sessionId: 'a', epoch: 'e', state: stateOf('a'), events: eventsOf('a', 2, 1) }
    await expect(tested.store.create(batch)).rejects.toMatchObject({ code: 'conflict' })
    expect(await tested.store.load('a')).toBeUndefined()
    await create('a')
    expect(await tested.store.load('a')).toMatchObject({ head: 1 })
  })

  it('finds no data of a session that was never created', async () => {
    expect(await tested.store.load('a')).toBeUndefined()
    expect(await readAll('a')).toEqual([])
    expect(await tested.store.receipt('a', 'c')).toBeUndefined()
    expect(await tested.store.checkpoints('a')).toEqual([])
    const append = tested.store.append({ sessionId: 'a', events: eventsOf('a', 1, 1) })
    await expect(append).rejects.toMatchObject({ code: 'not_found' })
    await expect(tested.store.checkpoint('a', [textBlock('b', '')])).rejects.toMatchObject({
      code: 'not_found',
    })
  })
}

function appendCases(tested: TestedStore): void {
  const { create, readAll } = tested

  it('appends and keeps the stored state when a batch has none', async () => {
    await create('a', { title: 'kept' })
    await tested.store.append({ sessionId: 'a', events: eventsOf('a', 2, 2) })
    expect(await tested.store.load('a')).toMatchObject({
      head: 3,
      epoch: 'epoch of a',
      state: { title: 'kept' },
    })
    await tested.store.append({ sessionId: 'a', events: [], state: stateOf('a', { title: 'new', seq: 3 }) })
    expect(await tested.store.load('a')).toMatchObject({ head: 3, state: { title: 'new', seq: 3 } })
  })

  it.each([
    ['a gap', [3]],
    ['a repeat', [1]],
    ['a gap inside the batch', [2, 4]],
    ['a repeat inside the batch', [2, 2]],
    ['a seq of zero', [0]],
  ])('refuses %s and writes none of the batch', async (_, seqs) => {
    await create('a', { turn: openTurn })
    await tested.store.checkpoint('a', [textBlock('b', 'so far')])
    const batch: AppendBatch = {
      sessionId: 'a',
      events: seqs.map((seq) => ({ seq, json: `{"seq":${seq}}` })),
      state: stateOf('a', { title: 'must not be seen' }),
      receipt: receiptOf('c1', 2),
      rules: [ruleOf('r1')],
      closedBlocks: ['b'],
    }
    await expect(tested.store.append(batch)).rejects.toMatchObject({ name: 'ParleyError', code: 'conflict' })
    expect(await tested.store.load('a')).toMatchObject({ head: 1, state: { title: '' } })
    expect(await readAll('a')).toEqual(eventsOf('a', 1, 1))
    expect(await tested.store.receipt('a', 'c1')).toBeUndefined()
    expect(await tested.store.rules()).toEqual([])
    expect(await tested.store.checkpoints('a')).toEqual([textBlock('b', 'so far')])
    await tested.store.append({ sessionId: 'a', events: eventsOf('a', 2, 1) })
    expect(await readAll('a')).toEqual(eventsOf('a', 1, 2))
  })

  it('keeps sessions apart when their appends are interleaved', async () => {
    const ids = ['a', 'b', 'c', 'd']
    await Promise.all(ids.map((id) => create(id)))
    const rounds = Array.from({ length: 25 }, (_, index) => 2 + index * 2)
    await Promise.all(
      rounds.flatMap((seq) =>
        ids.map((id) => tested.store.append({ sessionId: id, events: eventsOf(id, seq, 2) })),
      ),
    )
    for (const id of ids) expect(await readAll(id)).toEqual(eventsOf(id, 1, 51))
  })

  it('accepts one of two appends at the same place', async () => {
    await create('a')
    const append = () => tested.store.append({ sessionId: 'a', events: eventsOf('a', 2, 1) })
    const results = await Promise.allSettled([append(), append()])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await tested.store.load('a')).toMatchObject({ head: 2 })
  })
}

function readCases(tested: TestedStore): void {
  const { create, readAll } = tested

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
    expect((await tested.store.read('a', range)).map(({ seq }) => seq)).toEqual(seqs)
  })

  it('returns every text byte for byte', async () => {
    const texts = awkwardTexts('a')
    await create('a', {}, 0)
    await tested.store.append({
      sessionId: 'a',
      events: texts.map((json, index) => ({ seq: index + 1, json })),
    })
    expect((await readAll('a')).map(({ json }) => json)).toEqual(texts)
  })
}

function receiptCases(tested: TestedStore): void {
  const { create } = tested

  it('belong to their session', async () => {
    await create('a')
    await create('b')
    await tested.store.append({ sessionId: 'a', events: eventsOf('a', 2, 1), receipt: receiptOf('c1', 2) })
    expect(await tested.store.receipt('a', 'c1')).toEqual(receiptOf('c1', 2))
    expect(await tested.store.receipt('b', 'c1')).toBeUndefined()
  })

  it('are stored once: a second one for the same command is refused with its batch', async () => {
    await create('a')
    await tested.store.append({ sessionId: 'a', events: [], receipt: receiptOf('c1', 1) })
    const again = tested.store.append({
      sessionId: 'a',
      events: eventsOf('a', 2, 1),
      receipt: receiptOf('c1', 2),
    })
    await expect(again).rejects.toMatchObject({ code: 'conflict' })
    expect(await tested.store.load('a')).toMatchObject({ head: 1 })
    expect(await tested.store.receipt('a', 'c1')).toEqual(receiptOf('c1', 1))
  })
}
