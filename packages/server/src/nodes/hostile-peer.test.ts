import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterEach, expect, it, vi } from 'vitest'
import { createHost } from '../create-host.ts'
import { type ServerUnderTest, serverUnderTest, testToken } from '../faces/http/server-under-test.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { PassOn } from './pass-on.ts'
import { challengeHeader, PeerCredential, proofHeader } from './peer-credential.ts'
import { TerminalClient } from './serving-node-under-test.ts'

/** Tests nodes whose answers are invalid, late or missing. */

const numbers = { at: () => 1, isCurrent: () => true }

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

type Handler = (request: IncomingMessage, response: ServerResponse, proof: Record<string, string>) => void

/** A program at an address from the database. It counts as a node if its handler sends the headers `proof`. */
async function peer(handle: Handler, upgrade?: (socket: Duplex, proof: Record<string, string>) => void) {
  let url = ''
  const credential = new PeerCredential(testToken, () => url, numbers)
  const proofOf = ({ headers }: IncomingMessage) => ({
    [proofHeader]: credential.prove(String(headers[challengeHeader])),
  })
  const server: Server = createServer((request, response) => handle(request, response, proofOf(request)))
  if (upgrade) server.on('upgrade', (request, socket) => upgrade(socket, proofOf(request)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  closing.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  return url
}

/** A node that passes everything about sessions on to these addresses. */
async function serve(
  nodes: string[],
  limits = {},
): Promise<ServerUnderTest & { suffixOf(url: string): string }> {
  const host = await createHost({ adapters: [], store: createMemoryStore() })
  const directory = {
    living: async () => nodes,
    whereabouts: async () => ({ place: 'machine:there', machine: 'there', isHere: false, nodes }),
  }
  const options = { directory, token: testToken, limits }
  const create = (url: string) =>
    new PassOn({ ...options, url: () => url, credential: new PeerCredential(testToken, () => url, numbers) })
  const server = await serverUnderTest(host, {
    otherNodes: create('http://127.0.0.1:1'),
    terminal: (_, { socket }) => void socket.destroy(),
  })
  closing.push(async () => {
    await server.close()
    await host.close()
  })
  return { ...server, suffixOf: (url) => create(url).suffix() }
}

const path = '/api/sessions/ses_1/files'

it('an answer without the proof of a node is not passed on', async () => {
  const url = await peer((_, response) => response.end('{"files":["secret"]}'))
  const { status, text } = await (await serve([url])).ask(path)
  expect(status).toBe(503)
  expect(text).toContain(url)
  expect(text).not.toContain('secret')
})

it('a redirect is not followed, and its address is not passed on', async () => {
  const visited = vi.fn()
  const elsewhere = await peer((_, response) => {
    visited()
    response.end()
  })
  const url = await peer((_, response, proof) => {
    response.writeHead(302, { ...proof, location: elsewhere }).end()
  })
  const { status, headers } = await (await serve([url])).ask(path)
  expect(status).toBe(302)
  expect(headers.location).toBeUndefined()
  expect(visited).not.toHaveBeenCalled()
})

it('a node passes on neither the credentials and cookies of the caller nor headers about the connection', async () => {
  let got: IncomingMessage['headers'] = {}
  const url = await peer(({ headers }, response, proof) => {
    got = headers
    const bad = { 'set-cookie': 'a=b', 'access-control-allow-origin': '*', 'x-frame-options': 'ALLOW' }
    response.writeHead(200, { ...proof, ...bad, 'content-type': 'application/json' }).end('{"files":[]}')
  })
  const sent = {
    cookie: 'a=b',
    te: 'trailers',
    'x-secret': '1',
    'parley-client-address': '10.0.0.1',
    'parley-actor': 'e30',
  }
  const { headers, text } = await (await serve([url])).ask(path, { headers: sent })
  expect(text).toBe('{"files":[]}')
  expect(headers['set-cookie']).toBeUndefined()
  expect(headers['access-control-allow-origin']).toBeUndefined()
  expect(headers['x-frame-options']).toBe('DENY')
  expect(headers[proofHeader]).toBeUndefined()
  expect(Object.keys(got).sort()).toEqual([
    'authorization',
    'connection',
    'host',
    'parley-actor',
    'parley-client-address',
    challengeHeader,
  ])
  expect(got.host).toBe(new URL(url).host)
  expect(got.authorization).toMatch(/^Bearer node\./)
  expect(got['parley-client-address']).toBe('127.0.0.1')
  const actor = JSON.parse(Buffer.from(String(got['parley-actor']), 'base64url').toString())
  expect(actor).toMatchObject({ token: { name: 'this machine' }, via: 'http' })
})

it.each<[string, Handler]>([
  ['never answers', () => undefined],
  ['closes the connection', (request) => request.socket.destroy()],
  ['breaks the protocol', (request) => request.socket.end('HTTP/1.1 200 OK\r\nbad header\r\n\r\n')],
  [
    'switches protocols',
    ({ socket }) => socket.write('HTTP/1.1 101 x\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  ],
])('the caller gets an error that names the node: the node %s', async (_, handle) => {
  const url = await peer(handle)
  const { status, body } = await (await serve([url], { answerMs: 500 })).ask(path)
  expect(status).toBe(503)
  expect(body.error).toMatchObject({ code: 'busy', details: { node: url } })
})

it('an answer that stops in the middle is cut off', async () => {
  const url = await peer((_, response, proof) => {
    response.writeHead(200, proof).write('{"files":[')
  })
  await expect((await serve([url], { idleMs: 200 })).ask(path)).rejects.toThrow()
})

it('a large answer is not buffered: it is read only as fast as the caller reads it', async () => {
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  const total = 64
  let written = 0
  const url = await peer(async (_, response, proof) => {
    response.writeHead(200, { ...proof, 'content-type': 'text/plain' })
    for (; written < total && !response.destroyed; written++)
      if (!response.write(chunk)) await new Promise((resolve) => response.once('drain', resolve))
    response.end()
  })
  const server = await serve([url])
  const headers = { authorization: `Bearer ${testToken}` }
  const response = await fetch(`${server.url}${path}`, { headers })
  const reader = response.body?.getReader()
  await reader?.read()
  // The client does not read, so the node stops writing once the buffers of the sockets are full.
  for (let before = -1; written !== before; ) {
    before = written
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  expect(written).toBeLessThan(total / 2)
  let size = 0
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
    size += part.value.length
  expect(written).toBe(total)
  expect(size).toBeGreaterThan((total - 2) * chunk.length)
})

it('a node that refuses connections is skipped, but a node that may have received the request is not', async () => {
  const gone = await peer(() => undefined)
  await closing.pop()?.()
  const asked = vi.fn()
  const good = await peer((_, response, proof) => {
    asked()
    response.writeHead(200, proof).end('{"files":["good"]}')
  })
  expect((await (await serve([gone, good])).ask(path)).text).toBe('{"files":["good"]}')
  expect(asked).toHaveBeenCalledOnce()
  const silent = await peer(() => undefined)
  expect((await (await serve([silent, good], { answerMs: 500 })).ask(path)).status).toBe(503)
  expect(asked).toHaveBeenCalledOnce()
})

it('without a node at the place of the session, the caller learns which machine is awaited', async () => {
  const { status, body } = await (await serve([])).ask(path)
  expect(status).toBe(503)
  expect(body.error).toMatchObject({ code: 'busy', details: { awaited: 'machine:there' } })
})

it.each<[string, (socket: Duplex, proof: Record<string, string>) => void]>([
  ['refuses it', (socket) => void socket.end('HTTP/1.1 401 x\r\ncontent-length: 0\r\n\r\n')],
  ['does not answer', () => undefined],
  ['does not prove that it is a node', (socket) => void socket.write(switching({}))],
])('a terminal is refused if its node %s', async (_, upgrade) => {
  const url = await peer(() => undefined, upgrade)
  const server = await serve([url], { answerMs: 500 })
  const client = new TerminalClient(server.port, `trm_1${server.suffixOf(url)}`)
  expect(await client.ended).toBe(503)
})

function switching(headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n${lines.join('')}\r\n`
}

it('a caller without a credential does not learn the address of a node that does not answer', async () => {
  const url = await peer((request) => request.socket.destroy())
  const server = await serve([url])
  const body = { code: `code${server.suffixOf(url)}`, publicKey: 'key' }
  const { status, text } = await server.ask('/api/devices', { token: false, body })
  expect(status).toBe(503)
  expect(text).not.toContain(new URL(url).host)
})
