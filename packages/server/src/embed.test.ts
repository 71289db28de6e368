import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { type HostUnderTest, hostUnderTest } from './core/host-under-test.ts'
import { createEmbedded, type Embedded, type EmbedOptions } from './embed.ts'
import { createMemoryStore } from './stores/memory.ts'

const token = 'a-token-for-embedding'

type World = { world: HostUnderTest; parley: Embedded; port: number }

/** A server that embeds Parley. `before` handles each request first. */
async function embedded(
  options: Partial<EmbedOptions> = {},
  before: (request: IncomingMessage) => Promise<void> = async () => {},
): Promise<World> {
  const world = await hostUnderTest()
  let port = 0
  const parley = createEmbedded({
    host: world.host,
    token,
    url: () => `http://127.0.0.1:${port}`,
    base: '/parley',
    ...options,
  })
  const answer: RequestListener = async (request, response) => {
    await before(request)
    if (!parley.answer(request, response)) response.end('not Parley')
  }
  const server = createServer(answer).listen(0, '127.0.0.1')
  server.on('upgrade', (request, socket, head) => {
    if (!parley.upgrade(request, socket, head)) socket.end('HTTP/1.1 418 Not Parley\r\n\r\n')
  })
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
  onTestFinished(async () => {
    parley.close()
    server.close()
    server.closeAllConnections()
    await world[Symbol.asyncDispose]()
  })
  return { world, parley, port }
}

type Asked = { method?: string; headers?: Record<string, string>; body?: object }

async function open(port: number, path: string, { method = 'GET', headers = {}, body }: Asked = {}) {
  const request = httpRequest({ host: '127.0.0.1', port, path, method, agent: false })
  const json = body && { 'content-type': 'application/json' }
  const all = { authorization: `Bearer ${token}`, ...json, ...headers }
  for (const [name, value] of Object.entries(all)) request.setHeader(name, value)
  request.end(body && JSON.stringify(body))
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

async function ask(port: number, path: string, asked?: Asked) {
  const response = await open(port, path, asked)
  return { status: response.statusCode, text: await text(response) }
}

it('embedded Parley answers paths under its base, and no others', async () => {
  const { port } = await embedded()
  expect((await ask(port, '/parley/api/health')).text).toContain('"ok":true')
  for (const path of ['/parley', '/parley?from=here', '/parley/']) {
    expect((await ask(port, path)).text).toContain('<title>Parley</title>')
  }
  for (const path of ['/', '/parleyx', '/api/health', '/other/parley/']) {
    expect((await ask(port, path)).text).toBe('not Parley')
  }
})

it('embedded Parley answers every path if it has no base', async () => {
  const { port } = await embedded({ base: '' })
  expect((await ask(port, '/api/health')).text).toContain('"ok":true')
  expect((await ask(port, '/nowhere')).status).toBe(404)
})

it('embedded Parley requires the token', async () => {
  const { port } = await embedded()
  expect((await ask(port, '/parley/api/sessions', { headers: { authorization: 'Bearer no' } })).status).toBe(
    401,
  )
  expect((await ask(port, '/parley/api/sessions')).status).toBe(200)
})

it('embedded Parley accepts the host name and the origin of its public URL, and no others', async () => {
  const { port } = await embedded({ url: 'https://example.org' })
  const from = (host: string, origin: string) =>
    ask(port, '/parley/api/sessions', { headers: { host, origin } })
  expect((await from('example.org', 'https://example.org')).status).toBe(200)
  expect((await from('example.org', 'https://elsewhere.org')).status).toBe(403)
  expect((await from('elsewhere.org', 'https://example.org')).status).toBe(403)
})

it('embedded Parley uses a body that the server has already parsed, and refuses a request whose body is lost', async () => {
  const read = async (request: IncomingMessage) => {
    const body = await text(request)
    if (!request.headers['x-lost']) Object.assign(request, { body: body && JSON.parse(body) })
  }
  const { port, world } = await embedded({}, read)
  const asked = { method: 'POST', body: { agent: 'scripted', cwd: world.cwd } }
  expect((await ask(port, '/parley/api/sessions', asked)).status).toBe(201)
  const lost = await ask(port, '/parley/api/sessions', { ...asked, headers: { 'x-lost': 'yes' } })
  expect(lost.status).toBe(400)
  expect(lost.text).toContain('before Parley')
})

it('embedded Parley accepts its own WebSockets and leaves others to the server', async () => {
  const { port } = await embedded()
  const headers = { authorization: `Bearer ${token}` }
  const socket = new WebSocket(`ws://127.0.0.1:${port}/parley/api/ws`, { headers })
  await once(socket, 'open')
  socket.send('{"type":"hello"}')
  expect(String((await once(socket, 'message'))[0])).toContain('"welcome"')
  const closed = once(socket, 'close')
  const other = new WebSocket(`ws://127.0.0.1:${port}/elsewhere`, { headers })
  const [, response] = await once(other, 'unexpected-response')
  expect(response.statusCode).toBe(418)
  socket.close()
  await closed
})

it('embedded Parley ends its streams when it is closed, and the host continues', async () => {
  const { port, parley, world } = await embedded()
  const session = await world.create()
  const headers = { accept: 'text/event-stream' }
  const stream = await open(port, `/parley/api/sessions/${session.id}/events`, { headers })
  parley.close()
  expect(await text(stream)).toContain('event: ended')
  expect(await session.play({ type: 'text', text: 'still here' })).toMatchObject({ turns: 1 })
})

it('refuses a console without a place for its browsers, and a link without a console', async () => {
  const { world, parley } = await embedded()
  const console = { host: world.host, token, url: 'https://example.org', base: '/parley', console: true }
  expect(() => createEmbedded(console)).toThrow('The console needs the option access')
  expect(() => parley.link()).toThrow('This server was embedded without the console.')
  const access = createMemoryStore()
  expect(createEmbedded({ ...console, access }).link()).toMatch(/^https:\/\/example\.org\/parley\/open#/)
  expect(() => createEmbedded({ ...console, access, base: '/api' })).toThrow('cannot start with /api')
})
