import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { Duplex } from 'node:stream'
import { ParleyError, webSocketProtocols } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { assertBindable } from './authentication.ts'
import { codeOf, deviceUnderTest, signedIn } from './device-under-test.ts'
import { createOneTimeCodes } from './one-time-codes.ts'
import { type ServerUnderTest, serverUnderTest, testToken } from './server-under-test.ts'

const host = await createHost({ adapters: [], store: createMemoryStore() })
let server: ServerUnderTest
const upgraded: Duplex[] = []

beforeAll(async () => {
  server = await serverUnderTest(host, {
    allowedOrigins: ['https://console.example'],
    allowedHosts: ['parley.example'],
    websocket: ({ socket }) => {
      upgraded.push(socket)
      socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    },
  })
})
afterAll(async () => {
  await server.close()
  await host.close()
})

const code = (answer: { body: Record<string, unknown> }) => (answer.body.error as { code: string }).code

describe('the token', () => {
  it('is required on every route under /api except health', async () => {
    for (const path of [
      '/api/agents',
      '/api/sessions',
      '/api/permissions',
      '/api/openapi.json',
      '/api/nothing',
      '/api',
    ]) {
      const answer = await server.ask(path, { token: false })
      expect([path, answer.status, code(answer)]).toEqual([path, 401, 'unauthorized'])
    }
    expect((await server.ask('/api/health', { token: false })).body).toEqual({
      ok: true,
      version: '0.0.0-test',
    })
    expect((await server.ask('/%61pi/sessions', { token: false })).status).toBe(401)
  })

  it('gives access to these routes, and a wrong token does not', async () => {
    expect((await server.ask('/api/agents')).status).toBe(200)
    for (const authorization of [
      `Bearer ${testToken}x`,
      `Bearer ${testToken.slice(1)}`,
      'Bearer',
      `Basic ${testToken}`,
      '',
    ]) {
      const answer = await server.ask('/api/agents', { token: false, headers: { authorization } })
      expect([authorization, answer.status]).toEqual([authorization, 401])
    }
  })

  it('is not read from the URL', async () => {
    expect((await server.ask(`/api/agents?token=${testToken}`, { token: false })).status).toBe(401)
  })
})

describe('the one-time link', () => {
  it('has its code in the fragment, and requesting the link does not use it up', async () => {
    const link = server.link()
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/open#[\w-]{43}$/)
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await server.ask('/open', { token: false, method })
      expect([status, headers['set-cookie']]).toEqual([200, undefined])
    }
    expect((await deviceUnderTest(server).register(codeOf(link))).status).toBe(201)
  })

  it('signs in only one browser', async () => {
    const linked = codeOf(server.link())
    expect((await deviceUnderTest(server).register(linked)).status).toBe(201)
    const second = await deviceUnderTest(server).register(linked)
    expect([second.status, code(second)]).toEqual([401, 'unauthorized'])
    expect(second.text).toContain('parley token --link')
    expect(second.body.error).toMatchObject({ details: { reason: 'link' } })
  })

  it('is not used up by an invalid key', async () => {
    const linked = codeOf(server.link())
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    const other = publicKey.export({ format: 'der', type: 'spki' }).toString('base64url')
    for (const key of ['AAAA', other]) {
      const refused = await server.ask('/api/devices', {
        token: false,
        body: { code: linked, publicKey: key },
      })
      expect([refused.status, code(refused)]).toEqual([400, 'validation_error'])
    }
    expect((await deviceUnderTest(server).register(linked)).status).toBe(201)
  })

  it('can be created through the API by an authorised caller', async () => {
    expect((await server.ask('/api/links', { token: false, method: 'POST' })).status).toBe(401)
    const { status, body } = await server.ask('/api/links', { method: 'POST' })
    expect(status).toBe(201)
    expect(body.expiresAt).toBeGreaterThan(Date.now())
    expect((await deviceUnderTest(server).register(codeOf(body.url as string))).status).toBe(201)
  })

  it('expires', () => {
    let now = 1000
    const codes = createOneTimeCodes<true>({ now: () => now })
    const early = codes.issue(true, 500)
    const late = codes.issue(true, 500)
    now = 1499
    expect(codes.redeem(early)).toBe(true)
    now = 1500
    expect(codes.redeem(late)).toBeUndefined()
    expect(codes.redeem('')).toBeUndefined()
  })

  it('is dropped when there are too many newer ones', () => {
    const codes = createOneTimeCodes<number>({ now: () => 0, max: 2 })
    const issued = [1, 2, 3].map((value) => codes.issue(value, 1))
    expect(issued.map((code) => codes.redeem(code))).toEqual([undefined, 2, 3])
  })
})

describe('the cookie of an earlier version', () => {
  it('does not authorise, and is cleared', async () => {
    const cookie = `other=1; parley-${server.port}=abc`
    for (const path of ['/api/agents', '/']) {
      const { status, headers } = await server.ask(path, { token: false, headers: { cookie } })
      expect([path, status]).toEqual([path, path === '/' ? 200 : 401])
      expect(headers['set-cookie']?.[0]).toMatch(/^parley-\d+=;.*Max-Age=0/)
    }
    const without = await server.ask('/', { token: false, headers: { cookie: 'other=1' } })
    expect(without.headers['set-cookie']).toBeUndefined()
  })
})

describe('Host and Origin', () => {
  it('refuse a foreign Host, even with the token', async () => {
    for (const name of [
      'evil.example',
      `evil.example:${server.port}`,
      '127.0.0.1:1',
      'localhost',
      `127.0.0.1.evil.example:${server.port}`,
    ]) {
      const answer = await server.ask('/api/agents', { headers: { host: name } })
      expect([name, answer.status, code(answer)]).toEqual([name, 403, 'forbidden'])
    }
    expect((await server.ask('/', { token: false, headers: { host: 'evil.example' } })).status).toBe(403)
    expect(
      (await server.ask('/api/health', { token: false, headers: { host: 'evil.example' } })).status,
    ).toBe(403)
    const unreadable = await server.ask('/api/health', { headers: { host: 'a b' } })
    expect([unreadable.status, code(unreadable)]).toEqual([400, 'validation_error'])
  })

  it("accept the server's own names and the configured ones", async () => {
    for (const name of [
      `localhost:${server.port}`,
      `LOCALHOST:${server.port}`,
      `[::1]:${server.port}`,
      'parley.example',
      'parley.example:8443',
    ]) {
      expect([name, (await server.ask('/api/agents', { headers: { host: name } })).status]).toEqual([
        name,
        200,
      ])
    }
  })

  it('refuse a foreign Origin, even with an access token', async () => {
    const { headers: signed } = await signedIn(server)
    for (const origin of [
      'https://evil.example',
      'null',
      `http://localhost:${server.port + 1}`,
      `https://localhost:${server.port}`,
      '',
    ]) {
      for (const path of ['/api/links', '/api/nonces', '/api/devices', '/api/access-tokens']) {
        const headers = { ...signed, origin }
        const answer = await server.ask(path, { method: 'POST', token: false, headers, body: {} })
        expect([origin, path, answer.status, code(answer)]).toEqual([origin, path, 403, 'forbidden'])
        expect(answer.headers['access-control-allow-origin']).toBeUndefined()
      }
    }
    const ours = { ...signed, origin: `http://127.0.0.1:${server.port}` }
    expect((await server.ask('/api/links', { method: 'POST', token: false, headers: ours })).status).toBe(201)
  })

  it('let only pages of configured origins read answers', async () => {
    const headers = { origin: 'https://console.example' }
    const answer = await server.ask('/api/agents', { headers })
    expect(answer.headers['access-control-allow-origin']).toBe('https://console.example')
    const preflight = await server.ask('/api/sessions', { method: 'OPTIONS', token: false, headers })
    expect([preflight.status, preflight.headers['access-control-allow-headers']]).toEqual([
      204,
      'Authorization, Content-Type, Last-Event-ID',
    ])
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
    const own = await server.ask('/api/agents', { headers: { origin: `http://127.0.0.1:${server.port}` } })
    expect([own.status, own.headers['access-control-allow-origin']]).toEqual([200, undefined])
  })
})

describe('an upgrade', () => {
  const upgrade = async (path: string, headers: Record<string, string>) => {
    const request = httpRequest({
      host: '127.0.0.1',
      port: server.port,
      path,
      headers: { connection: 'Upgrade', upgrade: 'websocket', ...headers },
      agent: false,
    })
    request.end()
    const outcome = await Promise.race([
      once(request, 'upgrade').then(() => ({ status: 101, text: '' })),
      once(request, 'response').then(async ([response]) => {
        let text = ''
        for await (const piece of response) text += piece
        return { status: response.statusCode as number, text }
      }),
    ])
    request.destroy()
    return outcome
  }
  const authorization = `Bearer ${testToken}`

  it('passes the same checks as a request, and gets an HTTP answer when it is refused', async () => {
    const refused = async (path: string, headers: Record<string, string>) => {
      const { status, text } = await upgrade(path, headers)
      return [status, JSON.parse(text).error.code]
    }
    expect(await refused('/api/ws', {})).toEqual([401, 'unauthorized'])
    expect(await refused('/api/ws', { authorization: 'Bearer wrong' })).toEqual([401, 'unauthorized'])
    expect(await refused('/api/ws', { authorization, host: 'evil.example' })).toEqual([403, 'forbidden'])
    expect(await refused('/api/ws', { authorization, origin: 'https://evil.example' })).toEqual([
      403,
      'forbidden',
    ])
    expect(await refused('/api/other', { authorization })).toEqual([404, 'not_found'])
    expect(upgraded).toEqual([])
  })

  it('is accepted with the token or an access token, in a header or beside the subprotocol', async () => {
    const { token } = await signedIn(server)
    const protocol = (given: string) => ({
      'sec-websocket-protocol': webSocketProtocols(given).join(', '),
      origin: `http://localhost:${server.port}`,
    })
    expect((await upgrade('/api/ws?x=1', { authorization })).status).toBe(101)
    expect((await upgrade('/api/ws', { authorization: `Bearer ${token}` })).status).toBe(101)
    expect((await upgrade('/api/ws', protocol(token))).status).toBe(101)
    expect((await upgrade('/api/ws', protocol(testToken))).status).toBe(101)
    expect(upgraded.length).toBe(4)
    expect((await upgrade('/api/ws', protocol(`${token}x`))).status).toBe(401)
    expect((await upgrade('/api/ws', { cookie: `parley-${server.port}=${token}` })).status).toBe(401)
    expect(upgraded.length).toBe(4)
  })

  it('is required by the WebSocket route: a plain request gets an error that says so', async () => {
    const answer = await server.ask('/api/ws')
    expect([answer.status, code(answer)]).toEqual([400, 'validation_error'])
    expect((await upgrade('/api/health', { upgrade: 'h2c' })).status).toBe(200)
  })

  it('is refused if there is no WebSocket face', async () => {
    const bare = await serverUnderTest(host)
    const request = httpRequest({
      host: '127.0.0.1',
      port: bare.port,
      path: '/api/ws',
      headers: { connection: 'Upgrade', upgrade: 'websocket', authorization },
      agent: false,
    }).end()
    const [response] = await once(request, 'response')
    expect(response.statusCode).toBe(422)
    await bare.close()
  })
})

describe('binding', () => {
  const refusal = (hostname: string, tokenExplicit: boolean, allowRemote: boolean) => {
    try {
      assertBindable({ hostname, tokenExplicit, allowRemote })
      return undefined
    } catch (error) {
      return error as ParleyError
    }
  }

  it('needs nothing on loopback', () => {
    const names = ['127.0.0.1', '127.9.9.9', '::1', 'localhost', 'LOCALHOST', '0:0:0:0:0:0:0:1']
    expect(names.map((name) => refusal(name, false, false))).toEqual(names.map(() => undefined))
  })

  it('needs a token and a flag on any other address, and its error names the missing ones', () => {
    for (const name of ['0.0.0.0', '::', '192.168.1.4', 'example.org', '', '::ffff:8.8.8.8']) {
      expect(refusal(name, true, true)).toBeUndefined()
      const both = refusal(name, false, false)
      expect(both).toBeInstanceOf(ParleyError)
      expect(both?.code).toBe('validation_error')
      expect(both?.message).toMatch(/--allow-remote and PARLEY_TOKEN \(or --token-file <file>\)/)
      expect(refusal(name, true, false)?.message).toMatch(/Add --allow-remote if/)
      expect(refusal(name, false, true)?.message).toMatch(/Add PARLEY_TOKEN \(or --token-file <file>\) if/)
    }
  })
})
