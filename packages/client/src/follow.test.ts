import type { ParleyError, ServerFrame } from '@parley/protocol'
import { expect, test } from 'vitest'
import { type PeerSocket, startWirePeer, type WirePeer } from '../testing/wire-peer.ts'
import { type Client, createClient } from './client.ts'
import type { FollowListener, FollowOptions } from './reader.ts'

const session = 's'
const connect = (peer: WirePeer) => createClient({ url: peer.url, backoff: { baseMs: 1, maxMs: 1 } })

const following = (head: number, verdict: 'replay' | 'reset' = 'replay', epoch = 'e'): ServerFrame => ({
  type: 'following',
  session,
  epoch,
  head,
  verdict,
})
const event = (seq: number): ServerFrame => ({
  type: 'event',
  session,
  event: { seq, at: 0, sessionId: session, type: 'session.archived' },
})
const events = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => event(from + index))
const caughtUp = (seq: number): ServerFrame => ({ type: 'caught-up', session, seq })
const delta = (text: string): ServerFrame => ({
  type: 'delta',
  session,
  delta: { type: 'text.streamed', blockId: 'b', offset: 0, text },
})

/** Everything a listener receives, in order, and a way to wait for it. */
function record(client: Client, options?: FollowOptions) {
  const received: unknown[] = []
  const waits: { wanted: unknown; resolve(): void }[] = []
  const hear = (item: unknown) => {
    received.push(item)
    for (const wait of waits) if (JSON.stringify(wait.wanted) === JSON.stringify(item)) wait.resolve()
  }
  const listener: FollowListener = {
    onEvent: (one) => hear(one.seq),
    onDelta: (one) => hear('text' in one ? one.text : one.type),
    onReset: (epoch) => hear(`reset ${epoch}`),
    onCaughtUp: (seq) => hear(`caught up ${seq}`),
    onStatus: (status) => hear(status),
    onNative: (native) => hear({ native }),
    onError: (error: ParleyError) => hear(`error ${error.code}`),
  }
  const stop = client.follow(session, listener, options)
  const until = (wanted: unknown) =>
    received.includes(wanted)
      ? Promise.resolve()
      : new Promise<void>((resolve) => waits.push({ wanted, resolve }))
  return { received, stop, until }
}

async function accepted(peer: WirePeer): Promise<PeerSocket> {
  const other = await peer.accept()
  await other.next('hello')
  return other
}

test('a follow replays, then continues live, and drops repeats', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const { received, until } = record(client, { after: 2, epoch: 'e' })
  const other = await accepted(peer)
  expect(await other.next('follow')).toMatchObject({ session, after: 2, epoch: 'e' })
  other.send(following(4), ...events(1, 4), caughtUp(4), delta('x'), event(4), event(5))
  await until(5)
  expect(received).toEqual(['replaying', 3, 4, 'live', 'caught up 4', 'x', 5])
})

test('a follow resumes from its cursor after the connection is cut', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const { received, until } = record(client)
  const first = await accepted(peer)
  await first.next('follow')
  first.send(following(2), ...events(1, 2), caughtUp(2))
  await until('caught up 2')
  first.cut()
  const second = await accepted(peer)
  expect(await second.next('follow')).toMatchObject({ after: 2, epoch: 'e' })
  second.send(following(3), event(3), caughtUp(3))
  await until('caught up 3')
  expect(received.filter((item) => typeof item === 'number')).toEqual([1, 2, 3])
  expect(received).toContain('reconnecting')
})

test('events after a gap are never delivered: the follow requests the missing ones again', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const { received, until } = record(client)
  const other = await accepted(peer)
  await other.next('follow')
  other.send(following(5), ...events(1, 2), event(4), delta('lost'), event(5), caughtUp(5))
  expect(await other.next('follow')).toMatchObject({ after: 2, epoch: 'e' })
  other.send(following(5), ...events(3, 5), caughtUp(5))
  await until('caught up 5')
  expect(received.filter((item) => typeof item === 'number')).toEqual([1, 2, 3, 4, 5])
  expect(received).not.toContain('lost')
})

test('a replay that ends too early is a gap; a gap that remains is an error', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const { received, until } = record(client)
  const other = await accepted(peer)
  for (let tries = 0; tries < 3; tries++) {
    await other.next('follow')
    other.send(following(3), event(1), caughtUp(3))
  }
  await until('error internal_error')
  expect(received.filter((item) => typeof item === 'number')).toEqual([1])
  expect(await other.next('unfollow')).toEqual({ type: 'unfollow', session })
})

test('an evicted follower resumes from its own cursor', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const { until } = record(client)
  const other = await accepted(peer)
  await other.next('follow')
  other.send(following(2), ...events(1, 2), { type: 'evicted', cursors: { [session]: 2 } })
  expect(await other.next('follow')).toMatchObject({ after: 2 })
  other.send(following(3), event(3), caughtUp(3))
  await expect(until('caught up 3')).resolves.toBeUndefined()
})

test('a follower of a rewritten log drops all data and receives the whole new log', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const { received, until } = record(client, { after: 9, epoch: 'old' })
  const other = await accepted(peer)
  await other.next('follow')
  other.send(following(2, 'reset'), ...events(1, 2), caughtUp(2))
  await until('caught up 2')
  expect(received).toEqual(['reset e', 'replaying', 1, 2, 'live', 'caught up 2'])
})

test('readers of one session share a follow; one that joins with a lower cursor does not affect the other', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const one = record(client, { after: 2, epoch: 'e' })
  const other = await accepted(peer)
  await other.next('follow')
  other.send(following(3), event(3), caughtUp(3))
  await one.until('caught up 3')
  const two = record(client, { native: true })
  expect(await other.next('follow')).toMatchObject({ after: 0, native: true })
  other.send(event(4), following(4), ...events(1, 4), caughtUp(4))
  other.send({ type: 'native', session, native: 'n' }, event(5))
  await two.until(5)
  expect(one.received.filter((item) => typeof item === 'number')).toEqual([3, 4, 5])
  expect(two.received.filter((item) => typeof item === 'number')).toEqual([1, 2, 3, 4, 5])
  expect([one.received, two.received].map((list) => list.some((item) => typeof item === 'object'))).toEqual([
    false,
    true,
  ])
  one.stop()
  two.stop()
  expect(await other.next('unfollow')).toEqual({ type: 'unfollow', session })
})

test('the answer to the follow of a reader that left is not used for the next reader', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const one = record(client, { after: 5, epoch: 'e' })
  const other = await accepted(peer)
  await other.next('follow')
  one.stop()
  const two = record(client)
  other.send(following(6), event(6), caughtUp(6))
  expect(await other.next()).toMatchObject({ type: 'follow', after: 0 })
  other.send(following(6), ...events(1, 6), caughtUp(6))
  await two.until('caught up 6')
  expect(two.received).toEqual(['replaying', 1, 2, 3, 4, 5, 6, 'live', 'caught up 6'])
})

test('a follow of an unknown session fails once and is not retried', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const { received, until } = record(client)
  const other = await accepted(peer)
  await other.next('follow')
  other.send({ type: 'error', session, error: { code: 'not_found', message: 'no such session' } })
  await until('error not_found')
  other.cut()
  const again = await accepted(peer)
  const { promise, resolve } = Promise.withResolvers<void>()
  client.socket.onStatus((status) => status.state === 'open' && resolve())
  await promise
  client.socket.send({ type: 'ping', id: 'after all follows' })
  expect(await again.next()).toMatchObject({ type: 'ping' })
  expect(received).toEqual(['error not_found'])
})

test('a deleted session ends the follow', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const { until } = record(client)
  const other = await accepted(peer)
  await other.next('follow')
  other.send(following(0), { type: 'session-changed', session, change: 'deleted' })
  await expect(until('error not_found')).resolves.toBeUndefined()
})

test('an abort signal ends its follow; closing the client ends all of them', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const controller = new AbortController()
  const one = record(client, { signal: controller.signal })
  const other = await accepted(peer)
  await other.next('follow')
  other.send(following(0), caughtUp(0))
  await one.until('caught up 0')
  controller.abort()
  expect(await other.next('unfollow')).toEqual({ type: 'unfollow', session })
  const two = record(client)
  client.close()
  await two.until('error cancelled')
  expect(one.received).not.toContain('error cancelled')
})

test('a loop yields the events, and leaving the loop unfollows the session', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const serve = accepted(peer).then(async (other) => {
    await other.next('follow')
    other.send(following(3), ...events(1, 3), caughtUp(3))
    return other
  })
  const seqs: number[] = []
  for await (const one of client.events(session)) {
    seqs.push(one.seq)
    if (one.seq === 3) break
  }
  expect(seqs).toEqual([1, 2, 3])
  expect(await (await serve).next('unfollow')).toEqual({ type: 'unfollow', session })
})

test('a waiting loop is ended by return and by the signal, and throws the error that ended the follow', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const returned = client.feed(session)
  const pending = returned.next()
  await returned.return?.()
  expect(await pending).toEqual({ done: true, value: undefined })

  const controller = new AbortController()
  const aborted = client.feed(session, { signal: controller.signal }).next()
  controller.abort()
  expect(await aborted).toEqual({ done: true, value: undefined })

  const failed = client.events(session).next()
  const other = await accepted(peer)
  other.send({ type: 'error', session, error: { code: 'not_found', message: 'no' } })
  await expect(failed).rejects.toMatchObject({ code: 'not_found' })
})

test('a loop that falls far behind stops following, and continues without a gap', async () => {
  await using peer = await startWirePeer()
  using client = connect(peer)
  const loop = client.events(session)
  const first = loop.next()
  const other = await accepted(peer)
  await other.next('follow')
  other.send(following(10_001), ...events(1, 10_001))
  await first
  await other.next('unfollow')
  for (let seq = 2; seq <= 10_001; seq++) {
    const { value } = await loop.next()
    if (value?.seq !== seq) throw new Error(`expected ${seq}`)
  }
  const last = loop.next()
  expect(await other.next('follow')).toMatchObject({ after: 10_001, epoch: 'e' })
  other.send(following(10_002), event(10_002))
  expect((await last).value?.seq).toBe(10_002)
})
