import { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { testToken, type WebSocketUnderTest, websocketUnderTest } from './websocket-under-test.ts'

/** Measures the cost of a delta without a clock: counts frames per reader, serialisations, and copies of its bytes. */

const flood = { type: 'flood' as const, deltas: 600, size: 40, blocks: 6 }
const readers = 5

let server: WebSocketUnderTest
beforeAll(async () => {
  server = await websocketUnderTest()
})
afterAll(() => server[Symbol.asyncDispose]())

/** Returns a function that returns the number of serialised deltas since this call. */
function deltasSerialised(): () => number {
  const stringify = vi.spyOn(JSON, 'stringify')
  onTestFinished(() => stringify.mockRestore())
  const isDelta = (value: unknown) => (value as { type?: string } | null)?.type === 'text.streamed'
  return () => stringify.mock.calls.filter(([value]) => isDelta(value)).length
}

/** All buffers with a delta that are written from now on, one entry per write. */
function deltasWritten(to: Socket | ServerResponse): () => Buffer[] {
  const write = vi.spyOn(to as Socket, 'write')
  onTestFinished(() => write.mockRestore())
  return () =>
    write.mock.calls
      .map(([chunk]) => chunk as unknown)
      .filter((chunk): chunk is Buffer => Buffer.isBuffer(chunk) && chunk.includes('"text.streamed"'))
}

/** Expects that the same buffers were written to every reader, batch by batch. */
function expectShared(written: readonly Buffer[]): void {
  const times = new Map<Buffer, number>()
  for (const bytes of written) times.set(bytes, (times.get(bytes) ?? 0) + 1)
  expect(new Set(times.values())).toEqual(new Set([readers]))
}

describe(`${flood.deltas} deltas for ${readers} readers`, () => {
  it('need at most one WebSocket frame each per reader, serialised once for all readers', async () => {
    const session = await server.create()
    const clients = await Promise.all(Array.from({ length: readers }, () => server.connect({ check: false })))
    for (const client of clients) await client.follow(session)
    const serialised = deltasSerialised()
    const written = deltasWritten(Socket.prototype)
    await server.submit(session, flood)
    for (const client of clients) {
      await client.event('turn.ended')
      const texts = client
        .of('delta')
        .flatMap(({ delta }) => (delta.type === 'text.streamed' ? [delta.text] : []))
      expect(texts.join('')).toHaveLength(flood.deltas * flood.size)
      expect(texts.length).toBeLessThanOrEqual(flood.deltas)
    }
    expect(serialised()).toBeLessThanOrEqual(flood.deltas)
    expectShared(written())
  })

  it('need over server-sent events at most one message each per reader, serialised once for all readers', async () => {
    const session = await server.create()
    const stop = new AbortController()
    const url = `http://127.0.0.1:${server.port}/api/sessions/${session}/events`
    const headers = { authorization: `Bearer ${testToken}`, accept: 'text/event-stream' }
    const replies = await Promise.all(
      Array.from({ length: readers }, () => fetch(url, { headers, signal: stop.signal })),
    )
    const received = replies.map((reply) => readUntil(reply, '"turn.ended"'))
    await Promise.all(received.map(({ begun }) => begun))
    const serialised = deltasSerialised()
    const written = deltasWritten(ServerResponse.prototype)
    await server.submit(session, flood)
    for (const { text } of received) {
      const messages = (await text).split('"type":"text.streamed"').length - 1
      expect(messages).toBeGreaterThan(0)
      expect(messages).toBeLessThanOrEqual(flood.deltas)
    }
    stop.abort()
    expect(serialised()).toBeLessThanOrEqual(flood.deltas)
    expectShared(written())
  })
})

/** `begun` resolves when the reader has caught up. `text` resolves with all text up to the first `words`. */
function readUntil({ body }: Response, words: string): { begun: Promise<void>; text: Promise<string> } {
  const begun = Promise.withResolvers<void>()
  const read = async () => {
    const decoder = new TextDecoder()
    let text = ''
    for await (const bytes of body ?? []) {
      text += decoder.decode(bytes, { stream: true })
      if (text.includes('caught-up')) begun.resolve()
      if (text.includes(words)) break
    }
    return text
  }
  return { begun: begun.promise, text: read() }
}
