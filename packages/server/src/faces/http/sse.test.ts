import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createGates } from '../../adapters/scripted/gates.ts'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import type { Script } from '../../adapters/scripted/script.ts'
import type { FeedReader, Host } from '../../core/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { type Followed, type Frame, type ServerUnderTest, serverUnderTest } from './server-under-test.ts'

const cwd = await mkdtemp(join(tmpdir(), 'parley-sse-'))
const gates = createGates()
const real = await createHost({ adapters: [createScriptedAdapter({ gates })], store: createMemoryStore() })

/** The real host, which counts its open follows. */
let following = 0
const host: Host = {
  ...real,
  async follow(...call) {
    following++
    call[1].signal?.addEventListener('abort', () => following--)
    return real.follow(...call)
  },
}
/** The time limit for a condition, long enough for a machine under load. */
const patience = { timeout: 10_000 }
const noFollows = () => vi.waitFor(() => expect(following).toBe(0), patience)

let server: ServerUnderTest
beforeEach(async () => {
  following = 0
  server = await serverUnderTest(host, { limits: { bufferBytes: 4 * 1024 * 1024, heartbeatMs: 20 } })
})
afterEach(() => server.close())
afterAll(() => real.close())

let sent = 0
async function start(...script: Script): Promise<string> {
  const body = { agent: 'scripted', cwd, prompt: JSON.stringify(script), commandId: `make-${sent++}` }
  const answer = await server.ask('/api/sessions', { body })
  expect(answer.status).toBe(201)
  return answer.body.id as string
}
const prompt = (session: string, ...script: Script) =>
  server.ask(`/api/sessions/${session}/commands`, {
    body: { commandId: `prompt-${sent++}`, type: 'prompt.submit', text: JSON.stringify(script) },
  })

/** Resolves with the seq of the last event when the first turn has ended. */
const ended = (session: string) =>
  vi.waitFor(async () => {
    const { turns, status, seq } = await real.state(session)
    expect([turns, status]).toEqual([1, 'idle'])
    return seq
  }, patience)

const is = (type: string) => (frame: Frame) => frame.event === 'message' && frame.data.type === type
const isEvent = (name: string) => (frame: Frame) => frame.event === name
const seqs = (followed: Followed) => followed.frames.filter(isEvent('message')).map((frame) => frame.data.seq)
const counting = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

describe('a session as server-sent events', () => {
  it('replays, reports its cursor, and continues live', async () => {
    const session = await start(
      { type: 'text', text: 'one' },
      { type: 'wait', gate: 'live' },
      { type: 'text', text: 'two', pieces: 2 },
    )
    await gates.reached('live')
    const followed = await server.follow(session)
    expect(followed.response.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    expect(followed.response.headers['cache-control']).toBe('no-store')
    const caughtUp = await followed.until(isEvent('caught-up'))
    gates.open('live')
    const end = await followed.until(is('turn.ended'))

    const [first] = followed.frames
    expect(first).toEqual({
      event: 'following',
      data: { epoch: expect.any(String), head: expect.any(Number), verdict: 'replay' },
    })
    expect(caughtUp.data.seq).toBe(first?.data.head)
    expect(seqs(followed)).toEqual(counting(1, end.data.seq as number))
    expect(
      followed.frames.filter(isEvent('message')).every((frame) => frame.id === String(frame.data.seq)),
    ).toBe(true)
    const deltas = followed.frames
      .filter(isEvent('delta'))
      .filter(({ data }) => data.type === 'text.streamed')
    expect(deltas.map(({ data }) => data.text).join('')).toBe('two')

    const page = await server.ask(`/api/sessions/${session}/events?limit=5000`)
    const events = followed.frames.filter(isEvent('message')).map((frame) => frame.data)
    expect(page.body).toEqual({ events, head: end.data.seq, epoch: first?.data.epoch })
    followed.leave()
    await noFollows()
  })

  it('continues after Last-Event-ID, which takes precedence over the URL', async () => {
    const session = await start({ type: 'text', text: 'one' })
    const whole = await server.follow(session)
    const end = await whole.until(is('turn.ended'))
    const head = end.data.seq as number

    const resumed = await server.follow(session, { query: '?after=1', headers: { 'last-event-id': '3' } })
    await resumed.until(is('turn.ended'))
    expect(seqs(resumed)[0]).toBe(4)
    const after = await server.follow(session, { query: '?after=2' })
    await after.until(is('turn.ended'))
    expect(seqs(after)[0]).toBe(3)
    const atHead = await server.follow(session, { headers: { 'last-event-id': String(head) } })
    await prompt(session, { type: 'text', text: 'two' })
    const next = await atHead.until(is('turn.ended'))
    expect(seqs(atHead)).toEqual(counting(head + 1, next.data.seq as number))
    for (const followed of [whole, resumed, after, atHead]) followed.leave()
    await noFollows()
  })

  it('sends heartbeats', async () => {
    const followed = await server.follow(await start({ type: 'text', text: 'one' }))
    const pieces: string[] = []
    followed.response.on('data', (piece: string) => pieces.push(piece))
    await vi.waitFor(() => expect(pieces).toContain(':\n\n'), patience)
    followed.leave()
    await noFollows()
  })

  it('ends with the session, and with the server', async () => {
    const doomed = await server.follow(await start({ type: 'text', text: 'one' }))
    const { data } = await doomed.until(is('turn.ended'))
    await server.ask(`/api/sessions/${data.sessionId}`, { method: 'DELETE' })
    expect((await doomed.until(isEvent('ended'))).data).toEqual({ reason: 'deleted' })
    await doomed.ended

    const open = await server.follow(await start({ type: 'hang' }))
    await open.until(is('turn.started'))
    const began = performance.now()
    await server.close()
    expect(performance.now() - began).toBeLessThan(900)
    await open.ended
    expect(open.frames.at(-1)).toEqual({ event: 'ended', data: { reason: 'closed' } })
    await noFollows()
  })

  it('drops a reader that disconnects, even in the middle of a replay', async () => {
    const session = await start({ type: 'flood', deltas: 3000, size: 5000, blocks: 3000 })
    await ended(session)
    const first = await server.follow(session)
    await first.until(isEvent('caught-up'))
    first.leave()
    await noFollows()

    let delivered = 0
    let settled = false
    const watched = await serverUnderTest({
      ...real,
      async follow(id, from, reader) {
        const counted: FeedReader = {
          following: (start) => reader.following(start),
          caughtUp: (seq) => reader.caughtUp(seq),
          ended: (reason) => reader.ended(reason),
          deliver(batch) {
            delivered += batch.length
            return reader.deliver(batch)
          },
        }
        return real.follow(id, from, counted).finally(() => {
          settled = true
        })
      },
    })
    const second = await watched.follow(session)
    second.response.pause()
    second.leave()
    await vi.waitFor(() => expect(settled).toBe(true), patience)
    expect(delivered).toBeGreaterThan(0)
    expect(delivered).toBeLessThan(3000)
    await watched.close()
  })

  it('sends a live reader that is too slow its cursor, disconnects it, and affects no other reader', async () => {
    const rounds = counting(1, 60)
    const floods = rounds.flatMap(
      (round): Script => [
        { type: 'wait', gate: `round ${round}` },
        { type: 'flood', deltas: 100, size: 5000 },
      ],
    )
    const session = await start(...floods)
    await gates.reached('round 1')
    const slow = await server.follow(session)
    const quick = await server.follow(session)
    await Promise.all([slow.until(isEvent('caught-up')), quick.until(isEvent('caught-up'))])
    slow.response.pause()
    const isEvicted = () => server.log.join('').includes('too slow')
    for (const round of rounds) {
      gates.open(`round ${round}`)
      await vi.waitFor(() => expect(quick.frames.filter(is('text.written')).length).toBe(round), {
        ...patience,
        interval: 1,
      })
      // An evicted reader has a few seconds to read the rest.
      if (isEvicted()) slow.response.resume()
    }
    const end = await quick.until(is('turn.ended'))
    await vi.waitFor(() => expect(isEvicted()).toBe(true), patience)
    slow.response.resume()
    const { data } = await slow.until(isEvent('evicted'))
    await slow.ended
    expect(data.cursor).toBe(seqs(slow).at(-1))
    expect(slow.frames.at(-1)?.event).toBe('evicted')
    expect(seqs(quick)).toEqual(counting(1, end.data.seq as number))

    const resumed = await server.follow(session, { headers: { 'last-event-id': String(data.cursor) } })
    await resumed.until(is('turn.ended'))
    expect([...seqs(slow), ...seqs(resumed)]).toEqual(seqs(quick))
    for (const followed of [quick, resumed]) followed.leave()
    await noFollows()
  })

  it('does not disconnect a reader that reads the replay slowly', async () => {
    const session = await start({ type: 'flood', deltas: 400, size: 50_000, blocks: 400 })
    const head = await ended(session)
    const slow = await server.follow(session)
    for (let pauses = 0; pauses < 20; pauses++) {
      slow.response.pause()
      await new Promise((resolve) => setImmediate(resolve))
      slow.response.resume()
      await new Promise((resolve) => slow.response.once('data', resolve))
    }
    await slow.until(isEvent('caught-up'))
    expect(seqs(slow)).toEqual(counting(1, head))
    slow.leave()
    await noFollows()
  })
})
