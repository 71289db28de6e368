import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { ParleyError } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessTokenLifetimeMs, Devices, nonceLifetimeMs } from '../../access/devices.ts'
import { Holders } from '../../access/holders.ts'
import { createNonces } from '../../access/nonces.ts'
import { createRateLimit } from '../../access/rate-limit.ts'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { codeOf, deviceUnderTest, signedIn } from './device-under-test.ts'
import { type ServerUnderTest, serverUnderTest } from './server-under-test.ts'

const host = await createHost({ adapters: [createScriptedAdapter()], store: createMemoryStore() })
let server: ServerUnderTest
let session: string
beforeAll(async () => {
  server = await serverUnderTest(host)
  const made = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd: '/tmp' } })
  session = made.body.id as string
})
afterAll(async () => {
  await server.close()
  await host.close()
})

const reason = (answer: { body: Record<string, unknown> }) =>
  (answer.body.error as { details?: { reason?: string } }).details?.reason
const status = async (headers: Record<string, string>, at = server) =>
  (await at.ask('/api/agents', { token: false, headers })).status

describe('an access token', () => {
  it('is issued for a signed nonce, and authorises every route', async () => {
    const { headers } = await signedIn(server)
    expect(await status(headers)).toBe(200)
    expect((await server.ask('/metrics', { token: false, headers })).status).not.toBe(401)
  })

  it('is issued once per nonce: a replay is refused', async () => {
    const { device } = await signedIn(server)
    const signed = device.signed(await device.nonce())
    expect((await device.redeem(signed)).status).toBe(201)
    const replay = await device.redeem(signed)
    expect([replay.status, reason(replay)]).toEqual([401, 'nonce'])
  })

  it('is refused for a nonce of another server, and for a made-up one', async () => {
    const { device } = await signedIn(server)
    const other = await serverUnderTest(host)
    const foreign = (await other.ask('/api/nonces', { token: false, body: {} })).body.nonce as string
    await other.close()
    for (const nonce of [foreign, 'A'.repeat(54), 'AAAA']) {
      const answer = await device.redeem(device.signed(nonce))
      expect([answer.status, reason(answer)]).toEqual([401, 'nonce'])
    }
  })

  it('is refused without the key of that device, and for a signature made for another use', async () => {
    const { device } = await signedIn(server)
    const { device: thief } = await signedIn(server)
    const nonce = await device.nonce()
    for (const body of [
      { ...thief.signed(nonce, { deviceId: device.deviceId }), deviceId: device.deviceId },
      device.signed(nonce, { origin: 'http://127.0.0.1:1' }),
      device.signed(nonce, { deviceId: thief.deviceId }),
      { ...device.signed(nonce), deviceId: 'dev_unknown' },
      { ...device.signed(nonce), signature: 'A'.repeat(86) },
    ]) {
      const answer = await device.redeem(body)
      expect([answer.status, reason(answer)]).toEqual([401, 'unknown'])
    }
    expect((await device.redeem(device.signed(nonce))).status).toBe(201)
  })

  it('is bound to the origin of the page that asked for it', async () => {
    const origin = `http://localhost:${server.port}`
    const { device } = await signedIn(server, origin)
    const body = device.signed(await device.nonce())
    const elsewhere = { origin: `http://127.0.0.1:${server.port}` }
    const relayed = await server.ask('/api/access-tokens', { token: false, headers: elsewhere, body })
    expect([relayed.status, reason(relayed)]).toEqual([401, 'unknown'])
    expect((await device.redeem(body)).status).toBe(201)
  })

  it('expires after 15 minutes of monotonic time, regardless of the system clock', async () => {
    let now = 0
    const own = await serverUnderTest(host, { now: () => now })
    const { headers } = await signedIn(own)
    now = accessTokenLifetimeMs - 1
    expect(await status(headers, own)).toBe(200)
    now = accessTokenLifetimeMs
    expect(await status(headers, own)).toBe(401)
    const { device } = await signedIn(own)
    const signed = device.signed(await device.nonce())
    now += nonceLifetimeMs
    const late = await device.redeem(signed)
    expect([late.status, reason(late)]).toEqual([401, 'nonce'])
    await own.close()
  })

  it('does not survive a restart, but its device does', async () => {
    const access = createMemoryStore()
    const first = await serverUnderTest(host, { access })
    const { device, headers } = await signedIn(first)
    await first.close()
    const second = await serverUnderTest(host, { access, port: first.port })
    expect(await status(headers, second)).toBe(401)
    expect(await status({ authorization: `Bearer ${await device.token()}` }, second)).toBe(200)
    await second.close()
  })
})

describe('signed-in browsers', () => {
  it('are listed, the current one is marked, and no key is shown', async () => {
    const own = await serverUnderTest(host)
    const { device } = await signedIn(own)
    const { headers } = await signedIn(own)
    const { body } = await own.ask('/api/devices', { token: false, headers })
    expect(body.devices).toMatchObject([
      { deviceId: device.deviceId, name: 'Firefox on Linux' },
      { name: 'Firefox on Linux', current: true },
    ])
    expect((body.devices as object[])[0]).not.toHaveProperty('current')
    expect(JSON.stringify(body)).not.toContain(device.publicKey)
    await own.close()
  })

  it('are signed out at once: the token fails, streams end, and no new token is issued', async () => {
    const { device, token, headers } = await signedIn(server)
    const { headers: other } = await signedIn(server)
    const followed = await server.follow(session, { headers })
    await followed.until(({ event }) => event === 'caught-up')
    const path = `/api/devices/${device.deviceId}`
    expect((await server.ask(path, { method: 'DELETE', token: false, headers: other })).status).toBe(204)
    await followed.ended
    expect(await status({ authorization: `Bearer ${token}` })).toBe(401)
    const again = await device.redeem(device.signed(await device.nonce()))
    expect([again.status, reason(again)]).toEqual([401, 'revoked'])
    expect(await status(other)).toBe(200)
    const { body } = await server.ask('/api/devices')
    expect(JSON.stringify(body)).not.toContain(device.deviceId)
  })

  it('lose their links when they are signed out: a link that such a browser asked for is void', async () => {
    const { headers } = await signedIn(server)
    const ask = async () =>
      codeOf((await server.ask('/api/links', { method: 'POST', token: false, headers })).body.url as string)
    const [used, kept] = [await ask(), await ask()]
    expect((await deviceUnderTest(server).register(used)).status).toBe(201)
    await server.ask('/api/sign-out', { method: 'POST', token: false, headers })
    const answer = await deviceUnderTest(server).register(kept)
    expect([answer.status, reason(answer)]).toEqual([401, 'link'])
  })

  it('sign themselves out and get the answer', async () => {
    const { headers } = await signedIn(server)
    const left = await server.ask('/api/sign-out', { method: 'POST', token: false, headers })
    expect([left.status, left.text]).toEqual([204, ''])
    expect(await status(headers)).toBe(401)
  })

  it('can be used and signed out if the stored key of another one is damaged', async () => {
    const access = createMemoryStore()
    const damaged = { name: 'Damaged', publicKey: 'none' }
    await access.putAccessRecord({ kind: 'device', id: 'dev_1', data: damaged, createdAt: 1 })
    const own = await serverUnderTest(host, { access })
    const { device, headers } = await signedIn(own)
    expect(await status(headers, own)).toBe(200)
    const forged = { ...device.signed(await device.nonce(), { deviceId: 'dev_1' }), deviceId: 'dev_1' }
    expect((await device.redeem(forged)).status).toBe(401)
    for (const id of ['dev_1', device.deviceId])
      expect((await own.ask(`/api/devices/${id}`, { method: 'DELETE' })).status).toBe(204)
    await own.close()
  })

  it('stay signed out after a restart', async () => {
    const access = createMemoryStore()
    const first = await serverUnderTest(host, { access })
    const { device, headers } = await signedIn(first)
    await first.ask('/api/sign-out', { method: 'POST', token: false, headers })
    await first.close()
    const second = await serverUnderTest(host, { access, port: first.port })
    expect(reason(await device.redeem(device.signed(await device.nonce())))).toBe('revoked')
    await second.close()
  })

  it('cannot sign in without an access store', async () => {
    const own = await serverUnderTest(host, { access: undefined })
    expect((await own.ask('/api/links', { method: 'POST' })).status).toBe(422)
    expect((await own.ask('/api/nonces', { token: false, body: {} })).status).toBe(422)
    await own.close()
  })

  it('cannot be signed out by an unknown id', async () => {
    expect((await server.ask('/api/devices/dev_none', { method: 'DELETE' })).status).toBe(404)
  })

  it('keep working when the store fails to write their last use', async () => {
    const store = createMemoryStore()
    const full = async () => {
      throw new ParleyError('busy', 'no room')
    }
    const access = { ...store, retireAccessRecord: full, touchAccessRecord: full }
    const devices = new Devices({ holders: new Holders(access, 'owner') })
    const { publicKey } = deviceUnderTest(server)
    const grant = { personId: 'per_owner', scopes: ['read'] } as const
    const { deviceId } = await devices.register({ publicKey }, 'A browser', grant)
    await expect(devices.revoke(deviceId)).rejects.toMatchObject({ code: 'busy' })
    expect(await devices.list()).toEqual([])
  })
})

describe('a download URL', () => {
  const address = async (headers: Record<string, string>) =>
    (
      await server.ask(`/api/sessions/${session}/downloads`, {
        token: false,
        headers,
        body: { as: 'jsonl' },
      })
    ).body.path as string

  it('serves its file once, without a token; HEAD does not use it up', async () => {
    const { headers } = await signedIn(server)
    const path = await address(headers)
    expect((await server.ask(path, { token: false, method: 'HEAD' })).status).toBe(204)
    const file = await server.ask(path, { token: false })
    expect([file.status, file.headers['content-type']]).toEqual([200, 'application/jsonl; charset=UTF-8'])
    expect(file.text).toContain('"session.created"')
    expect((await server.ask(path, { token: false })).status).toBe(404)
    const page = await server.ask(path, { token: false, headers: { accept: 'text/html' } })
    expect([page.status, page.text]).toEqual([404, expect.stringContaining('Export the session again')])
  })

  it('is void once the browser that asked for it is signed out, and after a minute', async () => {
    const { headers } = await signedIn(server)
    const path = await address(headers)
    await server.ask('/api/sign-out', { method: 'POST', token: false, headers })
    expect((await server.ask(path, { token: false })).status).toBe(404)
    let now = 0
    const own = await serverUnderTest(host, { now: () => now })
    const made = await own.ask(`/api/sessions/${session}/downloads`, { body: { as: 'html' } })
    now = 60_000
    expect((await own.ask(made.body.path as string, { token: false })).status).toBe(404)
    await own.close()
  })

  it('is logged without its code', async () => {
    const { headers } = await signedIn(server)
    const path = await address(headers)
    await server.ask(path, { token: false })
    const log = server.log.join('')
    expect(log).toContain('"path":"/api/downloads/***"')
    expect(log).not.toContain(path.split('/').at(-1))
  })
})

describe('the limits', () => {
  it('block a caller that fails too often, for a limited time', () => {
    let now = 0
    const limit = createRateLimit({ max: 2, perMs: 100, now: () => now, maxKeys: 2 })
    limit.count('a')
    limit.check('a')
    limit.count('a')
    expect(() => limit.check('a')).toThrow('Too many attempts')
    limit.check('b')
    now = 100
    limit.check('a')
    for (const key of ['b', 'c', 'd']) {
      limit.count(key)
      limit.count(key)
    }
    limit.check('b')
    expect(() => limit.check('d')).toThrow('Too many attempts')
  })

  it('refuse further codes after many wrong ones', async () => {
    const own = await serverUnderTest(host)
    const device = deviceUnderTest(own)
    let last = 0
    for (let tries = 0; tries < 310 && last !== 429; tries++) last = (await device.register('guess')).status
    expect(last).toBe(429)
    await own.close()
  })

  it('accept a nonce once and only while it is valid, without storing unused ones', () => {
    let now = 0
    const nonces = createNonces({ lifetimeMs: 100, now: () => now })
    const [one, two] = [nonces.make(), nonces.make()]
    expect([nonces.isFresh(one), nonces.isFresh(two)]).toEqual([true, true])
    nonces.use(one)
    expect([nonces.isFresh(one), nonces.isFresh(two)]).toEqual([false, true])
    now = 100
    expect([nonces.isFresh(one), nonces.isFresh(two)]).toEqual([false, false])
  })

  it('keep a limited number of tokens per device', async () => {
    const { device, headers } = await signedIn(server)
    for (let count = 0; count < 63; count++) await device.token()
    expect(await status(headers)).toBe(200)
    await device.token()
    expect(await status(headers)).toBe(401)
  })
})

describe('the log', () => {
  it('contains no access token, no nonce and no code', async () => {
    const link = server.link()
    const device = deviceUnderTest(server)
    await device.register(codeOf(link))
    const nonce = await device.nonce()
    const { body } = await device.redeem(device.signed(nonce))
    const upgrade = httpRequest({
      host: '127.0.0.1',
      port: server.port,
      path: '/api/ws',
      headers: {
        connection: 'upgrade',
        upgrade: 'websocket',
        'sec-websocket-protocol': `parley.v1, bearer.${body.token}`,
        origin: 'https://evil.example',
      },
    }).end()
    await once(upgrade, 'response')
    const log = server.log.join('')
    for (const secret of [codeOf(link), nonce, body.token as string]) {
      expect(secret.length).toBeGreaterThan(20)
      expect(log.includes(secret)).toBe(false)
    }
  })
})
