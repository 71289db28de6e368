import { pairingCodeOf } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { codeOf, deviceUnderTest, signedIn } from './device-under-test.ts'
import { type ServerUnderTest, serverUnderTest } from './server-under-test.ts'

const host = await createHost({ adapters: [createScriptedAdapter()], store: createMemoryStore() })
let server: ServerUnderTest
let time = 0
beforeAll(async () => {
  server = await serverUnderTest(host, { now: () => time })
})
afterAll(async () => {
  await server.close()
  await host.close()
})

type Headers = Record<string, string>
const pairing = (body: object = {}, headers?: Headers) =>
  server.ask('/api/pairings', { body, ...(headers && { headers, token: false }) })
const codeFrom = async (body: object = {}, headers?: Headers) =>
  String((await pairing(body, headers)).body.code)
const scopesOf = async (headers: Headers) =>
  (await server.ask('/api/me', { headers, token: false })).body.scopes as string[]

async function paired(code: string) {
  const device = deviceUnderTest(server)
  const { status, body } = await device.register(code)
  expect(status).toBe(201)
  return { device, body, headers: { authorization: `Bearer ${await device.token()}` } }
}

describe('a pairing code', () => {
  it('has twelve letters in groups, and a link that contains it in the fragment', async () => {
    const { status, body } = await pairing()
    expect(status).toBe(201)
    expect(body.code).toMatch(/^([2-9A-HJ-NP-Z]{4}-){2}[2-9A-HJ-NP-Z]{4}$/)
    expect(body.url).toBe(`${server.url}/pair#${String(body.code).replaceAll('-', '')}`)
  })

  it('signs in one device, in upper or lower case and with or without dashes', async () => {
    const code = await codeFrom()
    expect(pairingCodeOf(` ${code.toLowerCase().replaceAll('-', ' ')}`)).toBe(code.replaceAll('-', ''))
    const { headers } = await paired(code.toLowerCase())
    expect(await scopesOf(headers)).toEqual(['read', 'prompt', 'decide', 'terminal', 'admin'])
    const again = await deviceUnderTest(server).register(code)
    expect(again.status).toBe(401)
    expect(again.text).toContain('parley pair')
  })

  it('is valid for ten minutes', async () => {
    const [early, late] = [await codeFrom(), await codeFrom()]
    time += 10 * 60_000 - 1
    await paired(early)
    time += 1
    expect((await deviceUnderTest(server).register(late)).status).toBe(401)
  })

  it('is not used up by an invalid key', async () => {
    const code = await codeFrom()
    const body = { code, publicKey: 'AAAA' }
    expect((await server.ask('/api/devices', { token: false, body })).status).toBe(400)
    await paired(code)
  })

  it('becomes invalid when the browser that asked for it is signed out', async () => {
    const { device, headers } = await signedIn(server)
    const code = await codeFrom({}, headers)
    await server.ask(`/api/devices/${device.deviceId}`, { method: 'DELETE' })
    expect((await deviceUnderTest(server).register(code)).status).toBe(401)
  })

  it('sets the name of the device, unless the device sends a name', async () => {
    expect((await paired(await codeFrom({ name: 'Tablet' }))).body.name).toBe('Tablet')
    expect((await paired(await codeFrom())).body.name).toBe('Firefox on Linux')
    const { publicKey } = deviceUnderTest(server)
    const body = { code: await codeFrom({ name: 'Tablet' }), publicKey, name: ' My phone ' }
    expect((await server.ask('/api/devices', { token: false, body })).body.name).toBe('My phone')
  })

  it('has a link to the address of the page that asked for it, because browsers can reach that address', async () => {
    const host = `localhost:${server.port}`
    const { body } = await server.ask('/api/pairings', {
      body: {},
      headers: { host, origin: `http://${host}` },
    })
    expect(body.url).toMatch(new RegExp(`^http://${host}/pair#`))
  })
})

describe('the rights of a paired device', () => {
  it('are at most those of the device that paired it', async () => {
    const viewer = await paired(await codeFrom({ scopes: ['read'] }))
    expect(await scopesOf(viewer.headers)).toEqual(['read'])
    expect((await pairing({ scopes: ['read', 'prompt'] }, viewer.headers)).status).toBe(403)
    const second = await paired(await codeFrom({}, viewer.headers))
    expect(await scopesOf(second.headers)).toEqual(['read'])
  })

  it('include the limits of the device that paired it, and expire no later than its rights', async () => {
    const limited = { scopes: ['read'], limits: { agents: ['scripted'] }, lifetimeMs: 3_600_000 }
    const first = await paired(await codeFrom(limited))
    expect(first.body.limits).toEqual({ agents: ['scripted'] })
    expect((await pairing({ limits: { agents: ['other'] } }, first.headers)).status).toBe(403)
    expect((await pairing({ lifetimeMs: 7_200_000 }, first.headers)).status).toBe(403)
    const second = await paired(await codeFrom({}, first.headers))
    expect(second.body).toMatchObject({ limits: { agents: ['scripted'] }, expiresAt: first.body.expiresAt })
  })

  it('cannot be given by a named token without the scope admin', async () => {
    const body = { name: 'ci', scopes: ['read', 'prompt', 'decide'] }
    const token = (await server.ask('/api/tokens', { body })).body.token
    expect((await pairing({}, { authorization: `Bearer ${token}` })).status).toBe(403)
  })

  it('belong to the person who paired it', async () => {
    const invite = await server.ask('/api/invites', { body: { role: 'member', name: 'Ana' } })
    const ana = await paired(codeOf(String(invite.body.url)))
    const phone = await paired(await codeFrom({}, ana.headers))
    expect(phone.body.personId).toBe(ana.body.personId)
    expect(await scopesOf(phone.headers)).toEqual(['read', 'prompt'])
  })
})

it('wrong codes are limited for each address, and a right code is then refused too', async () => {
  const strict = await serverUnderTest(host, { trustedProxies: ['127.0.0.1'] })
  try {
    const code = String((await strict.ask('/api/pairings', { body: {} })).body.code)
    const { publicKey } = deviceUnderTest(strict)
    const attempt = async (given: string, address: string) =>
      (
        await strict.ask('/api/devices', {
          token: false,
          body: { code: given, publicKey },
          headers: { 'x-forwarded-for': address },
        })
      ).status
    const outcomes: number[] = []
    for (let count = 0; count < 25; count++) outcomes.push(await attempt('ABCD-EFGH-JKMN', '1.2.3.4'))
    expect(outcomes.filter((status) => status === 401)).toHaveLength(20)
    expect(outcomes.slice(20)).toEqual([429, 429, 429, 429, 429])
    expect(await attempt(code, '1.2.3.4')).toBe(429)
    expect(await attempt(code, '1.2.3.5')).toBe(201)
    expect(strict.log.join('')).not.toContain(code.replaceAll('-', ''))
  } finally {
    await strict.close()
  }
})

describe('a browser without a key', () => {
  const secret = 's'.repeat(43)
  const register = (at: ServerUnderTest, code: string) =>
    at.ask('/api/devices', { token: false, body: { code, secret } })
  const token = (at: ServerUnderTest, deviceId: unknown, given: string) =>
    at.ask('/api/access-tokens', { token: false, body: { deviceId, secret: given } })

  it('is refused unless the server allows it, and its code remains valid', async () => {
    const code = await codeFrom()
    const refusal = await register(server, code)
    expect([refusal.status, refusal.text]).toEqual([403, expect.stringContaining('--allow-insecure')])
    await paired(code)
  })

  it('signs in with a random secret where it is allowed, and is marked as weak', async () => {
    const access = createMemoryStore()
    const weak = await serverUnderTest(host, { allowInsecure: true, access })
    const code = String((await weak.ask('/api/pairings', { body: { name: 'Tablet' } })).body.code)
    const device = await register(weak, code)
    expect(device.body).toMatchObject({ name: 'Tablet (weak)', weak: true })
    expect(JSON.stringify(await access.accessRecords())).not.toContain(secret)
    const { body, status } = await token(weak, device.body.deviceId, secret)
    expect(status).toBe(201)
    const headers = { authorization: `Bearer ${body.token}` }
    expect((await weak.ask('/api/agents', { headers, token: false })).status).toBe(200)
    expect((await token(weak, device.body.deviceId, 't'.repeat(43))).status).toBe(401)

    // A device with a key has no secret, and a weak device has no key.
    const strong = deviceUnderTest(weak)
    await strong.register()
    expect((await token(weak, strong.deviceId, secret)).status).toBe(401)
    const signed = strong.signed(await strong.nonce(), { deviceId: String(device.body.deviceId) })
    expect((await strong.redeem({ ...signed, deviceId: device.body.deviceId })).status).toBe(401)
    await weak.close()

    const strict = await serverUnderTest(host, { access })
    expect((await token(strict, device.body.deviceId, secret)).status).toBe(403)
    await strict.close()
  })
})
