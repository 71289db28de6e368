import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterAll, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { encodeFrames } from './encode.ts'

/** Accepts real `ws` clients, so that a test can write bytes to their sockets. */
const upgrades = new WebSocketServer({ noServer: true, perMessageDeflate: false })
const http = createServer()
http.listen(0, '127.0.0.1')
await once(http, 'listening')
afterAll(() => {
  http.close()
  http.closeAllConnections()
})

async function connect(): Promise<{ client: WebSocket; socket: Duplex }> {
  const raw = Promise.withResolvers<Duplex>()
  http.once('upgrade', (request, socket, head) => {
    upgrades.handleUpgrade(request, socket, head, () => raw.resolve(socket))
  })
  const client = new WebSocket(`ws://127.0.0.1:${(http.address() as AddressInfo).port}`)
  await once(client, 'open')
  return { client, socket: await raw.promise }
}

/** The messages that a real client decodes from the bytes. */
async function decoded(texts: readonly string[], chunk = Number.POSITIVE_INFINITY): Promise<string[]> {
  const { client, socket } = await connect()
  const received: string[] = []
  const all = new Promise<void>((resolve, reject) => {
    client.on('error', reject)
    client.on('message', (data, isBinary) => {
      if (isBinary) reject(new Error('a binary frame'))
      received.push(data.toString())
      if (received.length === texts.length) resolve()
    })
  })
  const bytes = encodeFrames(texts)
  for (let at = 0; at < bytes.length; at += chunk) socket.write(bytes.subarray(at, at + chunk))
  await all
  client.terminate()
  return received
}

describe('an encoded frame', () => {
  it.each([0, 1, 125, 126, 127, 65_535, 65_536, 65_537, 1_000_000])(
    'of %i bytes is decoded by a real client',
    async (length) => {
      const text = 'a'.repeat(length)
      expect(await decoded([text])).toEqual([text])
    },
  )

  it.each([
    ['two bytes', 'é', 2],
    ['three bytes', '語', 3],
    ['four bytes', '🜁', 4],
  ])(
    'with characters of %s is decoded around every change of the length field',
    async (_, character, bytes) => {
      const texts = [125, 126, 65_535, 65_536].flatMap((length) => {
        const whole = character.repeat(Math.floor(length / bytes))
        return [whole, whole + 'x'.repeat(length % bytes), `${whole}${character}`]
      })
      expect(await decoded(texts)).toEqual(texts)
    },
  )

  it('has the shortest possible length field and no mask', () => {
    const header = (length: number) => [...encodeFrames(['a'.repeat(length)]).subarray(0, 10)]
    expect(header(0)).toEqual([0x81, 0])
    expect(header(125).slice(0, 2)).toEqual([0x81, 125])
    expect(header(126).slice(0, 4)).toEqual([0x81, 126, 0, 126])
    expect(header(65_535).slice(0, 4)).toEqual([0x81, 126, 0xff, 0xff])
    expect(header(65_536)).toEqual([0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0])
  })

  it('has the replacement character for a lone surrogate', async () => {
    expect(await decoded([`a${'🜁'.charAt(0)}b`])).toEqual(['a\ufffdb'])
  })
})

describe('many frames in one buffer', () => {
  it('are decoded one by one, in order', async () => {
    const texts = ['', 'one', 'é'.repeat(63), '語'.repeat(30_000), '', 'x'.repeat(70_000), 'last']
    expect(await decoded(texts)).toEqual(texts)
  })

  it('are decoded even if the network splits them anywhere', async () => {
    const texts = ['first', '🜁'.repeat(40), 'x'.repeat(300), 'last']
    expect(await decoded(texts, 7)).toEqual(texts)
  })

  it('are an empty buffer if there are none', () => {
    expect(encodeFrames([]).length).toBe(0)
  })
})
