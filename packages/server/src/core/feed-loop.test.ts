import type { FeedValue, SessionEvent, UnknownEvent } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../stores/memory.ts'
import { createFeedLoops } from './feed-loop.ts'
import { type HostUnderTest, hostUnderTest } from './host-under-test.ts'
import type { SessionStore } from './session-store.ts'

const seqsOf = (events: readonly (SessionEvent | UnknownEvent)[]) => events.map(({ seq }) => seq)
const counting = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

/** Creates loops over the real host, and counts the follows: those that are open, and all so far. */
function countedLoops({ host }: HostUnderTest) {
  const count = { open: 0, made: 0 }
  const loops = createFeedLoops((sessionId, from, reader) => {
    count.open++
    count.made++
    from.signal?.addEventListener('abort', () => count.open--)
    return host.follow(sessionId, from, reader)
  })
  return { count, ...loops }
}

async function takeUntil<Value>(loop: AsyncIterable<Value>, last: (value: Value) => boolean) {
  const taken: Value[] = []
  for await (const value of loop) {
    taken.push(value)
    if (last(value)) break
  }
  return taken
}

const isEnd = (value: FeedValue) => value.type === 'event' && value.event.type === 'turn.ended'

describe('the events of a session as an async iterable', () => {
  it('are each yielded once, from the first to the live ones', async () => {
    await using world = await hostUnderTest()
    const session = await world.create()
    await session.play({ type: 'text', text: 'one' })
    await session.submit({ type: 'wait', gate: 'go' }, { type: 'text', text: 'two' })
    await world.gates.reached('go')
    let ends = 0
    const { count, events } = countedLoops(world)
    const taken = await takeUntil(events(session.id), (event) => {
      if (event.type === 'turn.started') world.gates.open('go')
      return event.type === 'turn.ended' && ++ends === 2
    })
    expect(taken).toEqual(await session.log())
    expect(count).toEqual({ open: 0, made: 1 })
  })

  it('start after the cursor', async () => {
    await using world = await hostUnderTest()
    const session = await world.create()
    const { seq } = await session.play({ type: 'text', text: 'one' })
    const taken = await takeUntil(world.host.events(session.id, { after: 3 }), (event) => event.seq === seq)
    expect(seqsOf(taken)).toEqual(counting(4, seq))
  })

  it('end with the signal, with the session and with the host', async () => {
    const world = await hostUnderTest()
    const [first, second, third] = await Promise.all([world.create(), world.create(), world.create()])
    const leaving = new AbortController()
    const all = [
      takeUntil(world.host.events(first.id, { signal: leaving.signal }), () => false),
      takeUntil(world.host.events(second.id), () => false),
      takeUntil(world.host.events(third.id), () => false),
    ]
    leaving.abort()
    await all[0]
    await world.host.delete(second.id)
    await all[1]
    await world[Symbol.asyncDispose]()
    const rest = await all[2]
    expect(rest?.map(({ type }) => type)).toEqual(['session.created'])
  })

  it('throw the error of the host, once', async () => {
    await using world = await hostUnderTest()
    const loop = world.host.events('ses_nobody')
    await expect(loop.next()).rejects.toMatchObject({ code: 'not_found' })
    expect(await loop.next()).toEqual({ done: true, value: undefined })
  })

  it('are read from the store no faster than they are taken', async () => {
    const store = createMemoryStore()
    let reads = 0
    const counted: SessionStore = {
      ...store,
      read: (...call) => {
        reads++
        return store.read(...call)
      },
    }
    await using world = await hostUnderTest({ store: counted })
    const session = await world.create()
    const notice = { type: 'notice', level: 'info', code: 'n', text: 'n' } as const
    const { seq } = await session.play(...Array.from({ length: 1_500 }, () => notice))
    reads = 0
    const loop = world.host.events(session.id)
    for (let at = 0; at < 500; at++) await loop.next()
    expect(reads).toBe(1)
    const rest = await takeUntil(loop, (event) => event.seq === seq)
    expect(seqsOf(rest)).toEqual(counting(501, seq))
    expect(reads).toBeGreaterThan(1)
  })
})

describe('the feed of a session as an async iterable', () => {
  it('has deltas, native messages on request, and reports when it has caught up', async () => {
    await using world = await hostUnderTest()
    const session = await world.create()
    const loop = world.host.feed(session.id, { native: true })
    const first = await takeSome(loop, 2)
    expect(first.map(({ type }) => type)).toEqual(['event', 'caught-up'])
    await session.submit({ type: 'text', text: 'one two', pieces: 2 })
    const rest = await takeUntil(loop, isEnd)
    expect(new Set(rest.map(({ type }) => type))).toEqual(new Set(['event', 'delta', 'native']))
  })

  it('yields every event, and every piece of a text once, to a loop that is too slow', async () => {
    await using world = await hostUnderTest()
    const session = await world.create()
    const { count, feed } = countedLoops(world)
    const loop = feed(session.id)
    await takeSome(loop, 2)
    await session.play(
      { type: 'flood', deltas: 3_000, size: 4 },
      { type: 'tool', name: 'Bash', inputPieces: 3, input: { command: 'ls' }, output: ['a', 'b'] },
      { type: 'flood', deltas: 3_000, size: 4 },
    )
    await session.submit({ type: 'wait', gate: 'more' }, { type: 'text', text: 'last' })
    await world.gates.reached('more')
    let ends = 0
    const taken = await takeUntil(loop, (value) => {
      if (isEnd(value)) world.gates.open('more')
      return isEnd(value) && ++ends === 2
    })
    const events = taken.flatMap((value) => (value.type === 'event' ? [value.event] : []))
    expect(seqsOf(events)).toEqual(counting(2, events.at(-1)?.seq ?? 0))
    expect(count.made).toBeGreaterThan(1)
    expect(repeats(taken)).toEqual([])
  })

  it('yields the open block to a loop that starts later, and continues from there', async () => {
    const [reached, joined] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let pauses = 0
    const sleep = async () => {
      if (++pauses !== 3) return
      reached.resolve()
      await joined.promise
    }
    await using world = await hostUnderTest({ agent: { pieceDelayMs: 1, sleep } })
    const session = await world.create()
    await session.submit({ type: 'text', text: 'abcdefgh', pieces: 8 })
    await reached.promise
    const taken = await takeUntil(world.host.feed(session.id), (value) => {
      if (value.type === 'caught-up') joined.resolve()
      return isEnd(value)
    })
    const pieces = taken.flatMap((value) =>
      value.type === 'delta' && value.delta.type === 'text.streamed' ? [value.delta.text] : [],
    )
    expect(pieces[0]?.length).toBeGreaterThan(1)
    expect(pieces.join('')).toBe('abcdefgh')
    expect(repeats(taken)).toEqual([])
  })

  it('starts from the beginning for a cursor of another log', async () => {
    await using world = await hostUnderTest()
    const session = await world.create()
    const [reset, created] = await takeSome(world.host.feed(session.id, { after: 1, epoch: 'epo_other' }), 2)
    expect(reset).toMatchObject({ type: 'reset' })
    expect(created).toMatchObject({ type: 'event', event: { seq: 1 } })
  })
})

async function takeSome<Value>(loop: AsyncIterator<Value>, count: number): Promise<Value[]> {
  const taken: Value[] = []
  while (taken.length < count) {
    const { done, value } = await loop.next()
    if (done) break
    taken.push(value)
  }
  return taken
}

/**
 * Returns the deltas that do not start where the previous delta of their block ended, and the blocks that are longer
 * than their written text.
 */
function repeats(values: readonly FeedValue[]): string[] {
  const texts = new Map<string, string>()
  const wrong: string[] = []
  for (const value of values) {
    if (value.type === 'delta' && value.delta.type === 'text.streamed') {
      const { blockId, offset, text } = value.delta
      const before = texts.get(blockId) ?? ''
      if (offset !== before.length) wrong.push(`${blockId}: ${offset} after ${before.length}`)
      texts.set(blockId, before + text)
    }
    if (value.type !== 'event' || value.event.type !== 'text.written') continue
    const { blockId, text } = value.event as Extract<SessionEvent, { type: 'text.written' }>
    if (!text.startsWith(texts.get(blockId) ?? '')) wrong.push(`${blockId} was written otherwise`)
  }
  return wrong
}
