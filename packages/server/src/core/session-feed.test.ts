import { ParleyError } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHandClock } from '../testing/hand-clock.ts'
import {
  createSessionFeed,
  type EncodedItem,
  type FeedBatch,
  type FeedReader,
  type FeedStart,
  type FollowFrom,
} from './session-feed.ts'
import type { StoredEvent } from './session-store.ts'

type Received = {
  starts: FeedStart[]
  batches: FeedBatch[]
  caughtUp: number[]
  ended: string[]
}

const eventAt = (seq: number): StoredEvent => ({ seq, json: `{"seq":${seq}}` })
const delta = (json: string): EncodedItem => ({ kind: 'delta', json })
const native = (json: string): EncodedItem => ({ kind: 'native', json })
const fail = (): never => {
  throw new Error('broken')
}
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A small log. More events may be stored than announced. Reading a page waits for `page`. */
function aLog(stored = 0, page: () => Promise<void> = async () => undefined) {
  const clock = createHandClock()
  const events = Array.from({ length: stored }, (_, index) => eventAt(index + 1))
  const problems: unknown[] = []
  const open: EncodedItem[] = []
  let head = stored
  let reads = 0
  const feed = createSessionFeed({
    sessionId: 'ses_1',
    epoch: 'epo_1',
    head: () => head,
    openBlocks: () => [...open],
    soon: clock.soon,
    problem: (error) => problems.push(error),
    async read(_, { after = 0, limit }) {
      reads++
      const found = events.slice(after, after + limit)
      await page()
      return found
    },
  })
  return {
    feed,
    problems,
    open,
    run: clock.runSoon,
    get reads() {
      return reads
    },
    get head() {
      return head
    },
    store: () => events.push(eventAt(events.length + 1)),
    announce() {
      const event = events[head]
      if (!event) return
      head++
      feed.publish({ kind: 'event', ...event })
    },
    record() {
      this.store()
      this.announce()
    },
  }
}

function aReader(changes: Partial<FeedReader> = {}): FeedReader & { received: Received } {
  const received: Received = { starts: [], batches: [], caughtUp: [], ended: [] }
  return {
    received,
    following: (start) => void received.starts.push(start),
    deliver: (batch) => void received.batches.push(batch),
    caughtUp: (seq) => void received.caughtUp.push(seq),
    ended: (reason) => void received.ended.push(reason),
    ...changes,
  }
}

const seqsOf = ({ received }: { received: Received }) =>
  received.batches.flat().flatMap((item) => (item.kind === 'event' ? [item.seq] : []))
const textsOf = ({ received }: { received: Received }) => received.batches.flat().map((item) => item.json)
const upTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)

describe('a reader that joins', () => {
  it('gets its position, the recorded events, the mark that it has caught up, then live events', async () => {
    const log = aLog(3)
    const reader = aReader()
    await log.feed.follow({}, reader)
    expect(reader.received.starts).toEqual([{ epoch: 'epo_1', head: 3, verdict: 'replay' }])
    expect(seqsOf(reader)).toEqual([1, 2, 3])
    expect(reader.received.caughtUp).toEqual([3])
    log.record()
    log.run()
    expect(seqsOf(reader)).toEqual([1, 2, 3, 4])
  })

  it('gets only the events after its cursor', async () => {
    const log = aLog(5)
    const reader = aReader()
    await log.feed.follow({ after: 3, epoch: 'epo_1' }, reader)
    expect(seqsOf(reader)).toEqual([4, 5])
    const upToDate = aReader()
    await log.feed.follow({ after: 5 }, upToDate)
    expect(upToDate.received).toMatchObject({ batches: [], caughtUp: [5], starts: [{ verdict: 'replay' }] })
  })

  it.each<[string, FollowFrom]>([
    ['of another epoch', { after: 1, epoch: 'epo_0' }],
    ['beyond the head', { after: 4, epoch: 'epo_1' }],
  ])('with a cursor %s starts from the beginning', async (_, from) => {
    const log = aLog(3)
    const reader = aReader()
    await log.feed.follow(from, reader)
    expect(reader.received.starts).toEqual([{ epoch: 'epo_1', head: 3, verdict: 'reset' }])
    expect(seqsOf(reader)).toEqual([1, 2, 3])
  })

  it('gets no event that is stored but not announced', async () => {
    const log = aLog(2)
    log.store()
    const reader = aReader()
    await log.feed.follow({}, reader)
    expect(seqsOf(reader)).toEqual([1, 2])
    log.announce()
    log.run()
    expect(seqsOf(reader)).toEqual([1, 2, 3])
  })

  it('gets a long log page by page', async () => {
    const log = aLog(1300)
    const reader = aReader()
    await log.feed.follow({}, reader)
    expect(seqsOf(reader)).toEqual(upTo(1300))
    expect(reader.received.batches.length).toBeGreaterThan(2)
  })

  it('slows only itself: the next page waits for it', async () => {
    const log = aLog(1300)
    const gate = Promise.withResolvers<void>()
    const batches: FeedBatch[] = []
    const slow = aReader({
      deliver(batch) {
        batches.push(batch)
        return gate.promise
      },
    })
    const following = log.feed.follow({}, slow)
    await settled()
    expect(batches).toHaveLength(1)
    const quick = aReader()
    await log.feed.follow({}, quick)
    expect(seqsOf(quick)).toEqual(upTo(1300))
    gate.resolve()
    await following
    expect(batches.flat()).toHaveLength(1300)
  })

  it('gets recent events from memory, without reading a page', async () => {
    const log = aLog(0)
    for (const _ of upTo(10)) log.record()
    const reader = aReader()
    await log.feed.follow({ after: 4 }, reader)
    expect(seqsOf(reader)).toEqual(upTo(10, 5))
    expect(log.reads).toBe(0)
  })

  it('gets each open block before it is live', async () => {
    const log = aLog(1)
    log.open.push(delta('so far'))
    const reader = aReader()
    await log.feed.follow({}, reader)
    expect(textsOf(reader)).toEqual(['{"seq":1}', 'so far'])
  })

  it('does not get items again that were published before it joined', async () => {
    const log = aLog(1)
    const first = aReader()
    await log.feed.follow({}, first)
    log.record()
    log.feed.publish(delta('x'))
    log.open.push(delta('x, whole'))
    const second = aReader()
    await log.feed.follow({}, second)
    log.run()
    expect(textsOf(first)).toEqual(['{"seq":1}', '{"seq":2}', 'x'])
    expect(textsOf(second)).toEqual(['{"seq":1}', '{"seq":2}', 'x, whole'])
  })

  it('is refused and removed when the log has a hole', async () => {
    const log = aLog(2)
    const reader = aReader()
    const broken = createSessionFeed({
      sessionId: 'ses_1',
      epoch: 'epo_1',
      head: () => 2,
      openBlocks: () => [],
      soon: () => undefined,
      problem: () => undefined,
      read: async () => [],
    })
    await expect(broken.follow({}, reader)).rejects.toThrow(ParleyError)
    expect(broken.hasReaders).toBe(false)
    expect(log.feed.hasReaders).toBe(false)
  })

  it('is removed when the store fails or the reader itself fails', async () => {
    const log = aLog(2, () => Promise.reject(new Error('disk')))
    await expect(log.feed.follow({}, aReader())).rejects.toThrow('disk')
    const healthy = aLog(2)
    const fails = aReader({ deliver: () => Promise.reject(new Error('socket')) })
    await expect(healthy.feed.follow({}, fails)).rejects.toThrow('socket')
    expect([log.feed.hasReaders, healthy.feed.hasReaders]).toEqual([false, false])
  })
})

describe('a reader that leaves', () => {
  it('gets nothing more', async () => {
    const log = aLog(1)
    const reader = aReader()
    const stop = await log.feed.follow({}, reader)
    log.record()
    stop()
    log.run()
    log.record()
    log.run()
    expect(seqsOf(reader)).toEqual([1])
    expect(log.feed.hasReaders).toBe(false)
  })

  it('before it joined gets nothing at all', async () => {
    const log = aLog(1)
    const reader = aReader()
    await log.feed.follow({ signal: AbortSignal.abort() }, reader)
    expect(reader.received).toMatchObject({ starts: [], batches: [], caughtUp: [] })
    expect(log.feed.hasReaders).toBe(false)
  })

  it('during the replay gets nothing more, and the replay stops', async () => {
    const gate = Promise.withResolvers<void>()
    const log = aLog(2000, () => gate.promise)
    const leaving = new AbortController()
    const reader = aReader()
    const following = log.feed.follow({ signal: leaving.signal }, reader)
    await settled()
    leaving.abort()
    gate.resolve()
    await following
    expect(reader.received).toMatchObject({ batches: [], caughtUp: [] })
    expect(log.reads).toBe(1)
    expect(log.feed.hasReaders).toBe(false)
  })

  it.each(['following', 'deliver', 'caughtUp'] as const)('from within %s is removed', async (moment) => {
    const log = aLog(2)
    log.open.push(delta('so far'))
    const leaving = new AbortController()
    const received: string[] = []
    const note = (what: string) => () => {
      received.push(what)
      if (what === moment) leaving.abort()
    }
    const reader = aReader({
      following: note('following'),
      deliver: note('deliver'),
      caughtUp: note('caughtUp'),
    })
    await log.feed.follow({ signal: leaving.signal }, reader)
    const before = [...received]
    log.record()
    log.run()
    expect(received).toEqual(before)
    expect(log.feed.hasReaders).toBe(false)
  })

  it('while it gets its open blocks is removed', async () => {
    const log = aLog(0)
    log.open.push(delta('so far'))
    const leaving = new AbortController()
    const reader = aReader({ deliver: () => leaving.abort() })
    await log.feed.follow({ signal: leaving.signal }, reader)
    expect(reader.received.caughtUp).toEqual([])
    expect(log.feed.hasReaders).toBe(false)
  })
})

describe('live readers', () => {
  it('get the same batch object, with everything that was published in one step', async () => {
    const log = aLog(0)
    const [one, two] = [aReader(), aReader()]
    await log.feed.follow({}, one)
    await log.feed.follow({}, two)
    log.record()
    log.feed.publish(delta('x'))
    log.run()
    expect(one.received.batches).toHaveLength(1)
    expect(textsOf(one)).toEqual(['{"seq":1}', 'x'])
    expect(two.received.batches[0]).toBe(one.received.batches[0])
  })

  it('get native messages only on request, and still share their batches', async () => {
    const log = aLog(0)
    const plain = [aReader(), aReader()]
    const curious = [aReader({ native: true }), aReader({ native: true })]
    for (const reader of [...plain, ...curious]) await log.feed.follow({}, reader)
    log.record()
    log.feed.publish(native('raw'))
    log.run()
    log.feed.publish(native('more'))
    log.run()
    expect(plain.map(textsOf)).toEqual([['{"seq":1}'], ['{"seq":1}']])
    expect(curious.map(textsOf)).toEqual([
      ['{"seq":1}', 'raw', 'more'],
      ['{"seq":1}', 'raw', 'more'],
    ])
    expect(plain[1]!.received.batches[0]).toBe(plain[0]!.received.batches[0])
    expect(curious[1]!.received.batches[0]).toBe(curious[0]!.received.batches[0])
  })

  it('count as readers of native messages for as long as they follow', async () => {
    const log = aLog(0)
    await log.feed.follow({}, aReader())
    expect(log.feed.hasNativeReaders).toBe(false)
    const [leaving, broken] = [aReader({ native: true }), aReader({ native: true, deliver: () => fail() })]
    const leave = await log.feed.follow({}, leaving)
    expect(log.feed.hasNativeReaders).toBe(true)
    leave()
    expect(log.feed.hasNativeReaders).toBe(false)
    await log.feed.follow({}, broken)
    expect(log.feed.hasNativeReaders).toBe(true)
    log.record()
    log.run()
    expect([log.feed.hasNativeReaders, log.feed.hasReaders]).toEqual([false, true])
  })

  it('are not affected by one that throws; that one is removed', async () => {
    const log = aLog(0)
    const broken = aReader({
      deliver() {
        throw new Error('broken')
      },
    })
    const healthy = aReader()
    await log.feed.follow({}, broken)
    await log.feed.follow({}, healthy)
    for (const _ of upTo(3)) {
      log.record()
      log.run()
    }
    expect(seqsOf(healthy)).toEqual([1, 2, 3])
    expect(log.problems).toEqual([new Error('broken')])
  })

  it('are not affected by one whose promise rejects; that one is removed', async () => {
    const log = aLog(0)
    let calls = 0
    const broken = aReader({
      async deliver() {
        calls++
        throw new Error('broken')
      },
    })
    await log.feed.follow({}, broken)
    for (const _ of upTo(3)) {
      log.record()
      log.run()
      await settled()
    }
    expect(calls).toBe(1)
    expect(log.problems).toEqual([new Error('broken')])
  })

  it('are not affected by one whose promise rejects while it gets the open blocks', async () => {
    const log = aLog(0)
    log.open.push(delta('so far'))
    const broken = aReader({ deliver: () => Promise.reject(new Error('broken')) })
    await log.feed.follow({}, broken)
    await settled()
    expect(log.problems).toEqual([new Error('broken')])
    expect(log.feed.hasReaders).toBe(false)
  })

  it('are not waited for', async () => {
    const log = aLog(0)
    const batches: FeedBatch[] = []
    const slow = aReader({
      deliver(batch) {
        batches.push(batch)
        return new Promise(() => undefined)
      },
    })
    await log.feed.follow({}, slow)
    log.record()
    log.run()
    log.record()
    log.run()
    expect(batches).toHaveLength(2)
  })

  it('cost nothing if there are none', () => {
    const log = aLog(0)
    log.record()
    log.feed.publish(delta('x'))
    expect(log.feed.hasReaders).toBe(false)
  })
})

describe('the end of a feed', () => {
  it('reaches every reader, even one that replays, after everything that was published', async () => {
    const gate = Promise.withResolvers<void>()
    const log = aLog(1, () => gate.promise)
    const live = aReader()
    const joining = aReader()
    await log.feed.follow({ after: 1 }, live)
    const following = log.feed.follow({}, joining)
    log.record()
    log.feed.end('deleted')
    gate.resolve()
    await following
    expect(seqsOf(live)).toEqual([2])
    expect(live.received.ended).toEqual(['deleted'])
    expect(joining.received).toMatchObject({ batches: [], caughtUp: [], ended: ['deleted'] })
    expect(log.feed.hasReaders).toBe(false)
  })

  it('reaches the other readers although one throws', async () => {
    const log = aLog(0)
    const broken = aReader({
      ended() {
        throw new Error('broken')
      },
    })
    const healthy = aReader()
    await log.feed.follow({}, broken)
    await log.feed.follow({}, healthy)
    log.feed.end('closed')
    expect(healthy.received.ended).toEqual(['closed'])
  })
})

describe('any order of recording, flushing and joining', () => {
  it('gives each reader every event once, in order, and reports correctly when it has caught up', async () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('record', 'store', 'announce', 'flush') },
      { weight: 2, arbitrary: fc.constantFrom('join', 'delta', 'tick') },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.nat(600),
        fc.array(step, { maxLength: 120, size: 'max' }),
        fc.infiniteStream(fc.nat(4)),
        async (stored, steps, delays) => {
          const log = aLog(stored, async () => {
            for (let left = delays.next().value ?? 0; left > 0; left--) await settled()
          })
          const readers: { reader: ReturnType<typeof aReader>; after: number; joined: Promise<unknown> }[] =
            []
          const join = () => {
            const after = Math.floor(log.head / (readers.length + 1))
            const reader = aReader({
              caughtUp: (seq) => expect([seq, seqsOf(reader).at(-1) ?? after]).toEqual([log.head, log.head]),
            })
            readers.push({ reader, after, joined: log.feed.follow({ after }, reader) })
          }
          for (const what of steps) {
            if (what === 'record') log.record()
            if (what === 'store') log.store()
            if (what === 'announce') log.announce()
            if (what === 'flush') log.run()
            if (what === 'delta') log.feed.publish(delta('d'))
            if (what === 'tick') await settled()
            if (what === 'join') join()
          }
          await Promise.all(readers.map(({ joined }) => joined))
          log.record()
          log.run()
          for (const { reader, after } of readers) expect(seqsOf(reader)).toEqual(upTo(log.head, after + 1))
        },
      ),
      { numRuns: 60 },
    )
  })
})
