import { Duplex } from 'node:stream'
import { applyDelta, applyEvents, emptyView, type ServerFrame, type SessionView } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultOutboxLimits, Outbox, type OutboxLimits } from './outbox.ts'
import {
  type FrameOf,
  type RawClient,
  type WebSocketUnderTest,
  websocketUnderTest,
} from './websocket-under-test.ts'

const kib = 1024
/** Lower than the default limits, so that a smaller flood exceeds them. */
const limits = { replayBytes: 128 * kib, warnBytes: 256 * kib, evictBytes: 1024 * kib }
/**
 * A flood of more bytes than the kernel buffers of two sockets and `evictBytes` can hold, split into deltas that do not
 * all fit into one batch.
 */
const flood = { type: 'flood' as const, deltas: 24_000, size: 1000, blocks: 2_400 }

let server: WebSocketUnderTest
beforeAll(async () => {
  server = await websocketUnderTest({ limits })
})
afterAll(() => server[Symbol.asyncDispose]())

describe('a reader that stops reading', () => {
  it('is warned, then evicted with its cursors; the other reader gets everything', async () => {
    const session = await server.create()
    const other = await server.create()
    const slow = await server.connect({ check: false })
    const fast = await server.connect({ check: false })
    await slow.follow(session)
    await slow.follow(other)
    await fast.follow(session)
    await server.play(other, { type: 'text', text: 'Something to have read.' })
    await slow.event('turn.ended')
    const otherHead = (await server.host.state(other)).seq
    slow.pause()
    const received = slow.frames.length
    await server.submit(session, flood)

    await fast.event('turn.ended')
    expect(slow.frames.length).toBe(received)
    expect(fast.events()).toEqual(await server.log(session))
    expect(fast.of('lagging')).toEqual([])
    expect(fast.of('evicted')).toEqual([])
    expectInOrder(fast, session)

    slow.resume()
    expect((await slow.closed).code).toBe(4008)
    const warned = slow.frames.findIndex(({ type }) => type === 'lagging')
    const evicted = slow.frames.findIndex(({ type }) => type === 'evicted')
    expect(warned).toBeGreaterThan(-1)
    expect(evicted).toBe(slow.frames.length - 1)
    expect(warned).toBeLessThan(evicted)
    expect(slow.of('lagging')[0]?.buffered).toBeGreaterThan(limits.warnBytes)
    expect(slow.of('lagging')[0]?.limit).toBe(limits.evictBytes)
    const { cursors } = slow.of('evicted')[0]!
    expect(cursors).toEqual({ [session]: lastSeq(slow, session), [other]: otherHead })
    expectInOrder(slow, session)

    const back = await server.connect({ check: false })
    const { epoch, verdict } = await back.follow(session, { after: cursors[session]! })
    expect(verdict).toBe('replay')
    expect(epoch).toBe(slow.of('following')[0]?.epoch)
    const whole = await server.log(session)
    expect([...slow.events(session), ...back.events(session)]).toEqual(whole)
    const folded = applyEvents(emptyView(session, epoch), whole)
    expect(fold(session, epoch, [...slow.frames, ...back.frames])).toEqual(folded)
    expect(fold(session, epoch, fast.frames)).toEqual(folded)
  })

  it('during a replay slows only itself, and later gets the whole replay', async () => {
    const session = await server.create()
    await server.play(session, flood)
    const head = (await server.host.state(session)).seq
    const slow = await server.connect({ check: false })
    slow.pause()
    slow.send({ type: 'follow', session })
    const fast = await server.connect({ check: false })
    await fast.follow(session)
    await server.play(session, { type: 'text', text: 'while it stands still' })
    await fast.event(
      'text.written',
      fast.frames.findIndex(({ type }) => type === 'caught-up'),
    )
    expect(slow.frames).toEqual([])
    slow.resume()
    await slow.next('caught-up')
    expect(slow.of('lagging')).toEqual([])
    expect(slow.of('evicted')).toEqual([])
    expect(slow.events()).toEqual(await server.log(session))
    expect(slow.of('following')[0]?.head).toBeGreaterThanOrEqual(head)
  })

  it('and disconnects in the middle of a replay leaves nothing behind', async () => {
    const session = await server.create()
    await server.play(session, flood)
    const peers = server.peers
    const slow = await server.connect({ check: false })
    slow.pause()
    slow.send({ type: 'follow', session })
    slow.cut()
    await expect.poll(() => server.peers).toBe(peers)
    const next = await server.connect({ check: false })
    await next.follow(session)
    expect(next.events()).toEqual(await server.log(session))
  })
})

describe('a reader that keeps up is not evicted', () => {
  let usual: WebSocketUnderTest
  beforeAll(async () => {
    usual = await websocketUnderTest()
  })
  afterAll(() => usual[Symbol.asyncDispose]())

  it('because of one event that is larger than the limit', async () => {
    const session = await usual.create()
    const client = await usual.connect({ check: false })
    await client.follow(session)
    const text = 'x'.repeat(defaultOutboxLimits.evictBytes + kib)
    const command = { type: 'prompt.submit' as const, commandId: 'large', text }
    expect((await client.command(session, command)).error).toBeUndefined()
    await client.event('turn.ended')
    expect(client.of('evicted')).toEqual([])
    expect(client.events()).toEqual(await usual.log(session))
  })

  it('because of a replay of many large events', async () => {
    const session = await usual.create()
    await usual.play(session, { type: 'flood', deltas: 48, size: 512 * kib, blocks: 48 })
    const client = await usual.connect({ check: false })
    await client.follow(session)
    expect(client.of('evicted')).toEqual([])
    expect(client.events()).toEqual(await usual.log(session))
  })

  it('because it joins a session whose open block is larger than the limit', async () => {
    const session = await usual.create()
    await usual.submit(session, {
      type: 'parallel',
      calls: [
        {
          type: 'permission',
          name: 'Write',
          kind: 'edit',
          input: { path: 'x', text: 'y'.repeat(9 * kib * kib) },
        },
      ],
    })
    const client = await usual.connect({ check: false })
    await client.follow(session)
    const { requestId } = await client.event('permission.requested')
    expect(client.of('evicted')).toEqual([])
    await client.command(session, { type: 'permission.decide', commandId: 'no', requestId, decision: 'deny' })
    await client.event('turn.ended')
    expect(client.events()).toEqual(await usual.log(session))
  })
})

describe('the outbox', () => {
  const limits = { replayBytes: 100, warnBytes: 200, evictBytes: 1000 }
  const frame = (bytes: number) => Buffer.alloc(bytes, 'x')

  it('warns once while too many bytes are unsent, and once more if that recurs after all were sent', () => {
    const { outbox, sent, network } = onNetwork(limits)
    for (let written = 0; written < 6; written++) outbox.write(frame(60))
    expect(sent().filter(isLagging)).toHaveLength(1)
    network.deliver()
    outbox.write(frame(10))
    for (let written = 0; written < 6; written++) outbox.write(frame(60))
    expect(sent().filter(isLagging)).toHaveLength(2)
  })

  it('evicts once, when unsent bytes keep growing after the warning', () => {
    const { outbox, sent, evictions } = onNetwork(limits)
    for (let written = 0; written < 50; written++) outbox.write(frame(60))
    expect(sent().filter(isLagging)).toHaveLength(1)
    expect(evictions()).toBe(1)
  })

  it('never evicts without a warning, however fast unsent bytes grow', () => {
    const { outbox, sent, evictions } = onNetwork(limits)
    outbox.write(frame(150))
    for (let written = 0; written < 3 && evictions() === 0; written++) outbox.write(frame(5000))
    expect(sent().findIndex(isLagging)).toBeGreaterThan(-1)
  })

  it('does not evict because of one large frame, even if small frames follow it', () => {
    const { outbox, evictions, network } = onNetwork(limits)
    outbox.write(frame(5000))
    for (let written = 0; written < 5; written++) outbox.write(frame(60))
    network.deliver()
    outbox.write(frame(60))
    expect(evictions()).toBe(0)
  })

  it('has room again once all unsent bytes are sent, however few those are', async () => {
    const { outbox, network } = onNetwork(limits)
    outbox.write(frame(limits.replayBytes + 1))
    const room = outbox.room()
    network.deliver()
    await room
    expect(outbox.room()).toBeUndefined()
  })

  it('waits for room while too many bytes are unsent, and stops waiting when the socket closes', async () => {
    const { outbox, network } = onNetwork(limits)
    outbox.write(frame(200_000))
    const room = outbox.room()
    expect(room).toBeInstanceOf(Promise)
    network.cut()
    await room
  })
})

/** An outbox on a network that accepts bytes and delivers them on demand. */
function onNetwork(limits: OutboxLimits) {
  const sent: string[] = []
  const waiting: (() => void)[] = []
  let delivering = false
  const socket = new Duplex({
    read: () => undefined,
    write(_chunk, _encoding, done) {
      if (delivering) done()
      else waiting.push(done)
    },
  })
  const write = socket.write.bind(socket)
  socket.write = ((chunk: Buffer) => {
    sent.push(chunk.toString())
    return write(chunk)
  }) as typeof socket.write
  let evictions = 0
  const outbox = new Outbox(socket, limits, () => {
    evictions++
  })
  return {
    outbox,
    sent: () => sent,
    evictions: () => evictions,
    network: {
      deliver() {
        delivering = true
        for (const done of waiting.splice(0)) done()
        delivering = false
      },
      cut: () => void socket.destroy(),
    },
  }
}

function isLagging(text: string): boolean {
  return text.includes('"type":"lagging"')
}

function lastSeq(client: RawClient, session: string): number {
  return client.events(session).at(-1)?.seq ?? 0
}

/** Expects events without gaps or repeats, and all deltas of each block before the end of its turn. */
function expectInOrder(client: RawClient, session: string): void {
  const frames = client.frames.filter((frame) => 'session' in frame && frame.session === session)
  const seqs = frames.flatMap((frame) => (frame.type === 'event' ? [frame.event.seq] : []))
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  const lengths = new Map<string, number>()
  const problems: string[] = []
  let ended = false
  for (const frame of frames) {
    if (frame.type === 'event' && frame.event.type === 'turn.ended') ended = true
    if (!isPiece(frame)) continue
    const { blockId, offset, text } = frame.delta
    if (ended) problems.push(`a piece of ${blockId} after the end`)
    if (offset !== (lengths.get(blockId) ?? 0)) problems.push(`${blockId} goes on at ${offset}`)
    lengths.set(blockId, offset + text.length)
  }
  expect(problems).toEqual([])
}

type Piece = FrameOf<'delta'> & {
  delta: { type: 'text.streamed'; blockId: string; offset: number; text: string }
}

function isPiece(frame: ServerFrame): frame is Piece {
  return frame.type === 'delta' && frame.delta.type === 'text.streamed'
}

function fold(session: string, epoch: string, frames: readonly ServerFrame[]): SessionView {
  let view = emptyView(session, epoch)
  for (const frame of frames) {
    if (!('session' in frame) || frame.session !== session) continue
    if (frame.type === 'event') view = applyEvents(view, [frame.event])
    if (frame.type === 'delta') view = applyDelta(view, frame.delta)
  }
  return view
}
