import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AccessUnderTest, accessUnderTest, machineToken } from './access-under-test.ts'
import { codeOf, deviceUnderTest } from './http/device-under-test.ts'

/**
 * Tests that the end of a caller's access closes its WebSockets, streams and terminals, and voids its download links.
 */

let server: AccessUnderTest
beforeAll(async () => {
  server = await accessUnderTest(() => ({}))
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

const ask = (path: string, body?: unknown, token = machineToken) =>
  server.ask(path, body === undefined ? {} : { body }, token)
const change = (path: string, method: string, body?: unknown) =>
  server.ask(path, { method, ...(body !== undefined && { body }) }, machineToken)

/** An administrator with a browser and a named token. */
async function administrator(name: string) {
  const { url } = (await ask('/api/invites', { role: 'admin' })).body as { url: string }
  const device = deviceUnderTest({ ask: (path, asked) => server.ask(path, asked), link: () => url })
  const { body } = await device.register(codeOf(url), { name })
  const access = await device.token()
  const scopes = ['read', 'prompt', 'decide', 'terminal', 'admin']
  const created = await ask('/api/tokens', { name: 'token', scopes }, access)
  const { token, tokenId } = created.body as { token: string; tokenId: string }
  return { personId: body.personId as string, deviceId: device.deviceId, access, token, tokenId }
}

/** Opens every kind of connection that a caller can have. */
async function openAll(token: string) {
  const session = await server.session()
  const { terminalId } = (await ask(`/api/sessions/${session}/terminals`, { cols: 80, rows: 24 }, token)).body
  const sockets = await Promise.all(
    ['/api/ws', `/api/terminals/${terminalId}`].map((path) => server.connect(token, path)),
  )
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  const stream = await fetch(`${server.parley.http.url}/api/sessions/${session}/events`, { headers })
  const cut = stream.text().then(
    () => 'ended',
    () => 'cut',
  )
  const { path } = (await ask(`/api/sessions/${session}/downloads`, { as: 'jsonl' }, token)).body
  return {
    codes: Promise.all(sockets.map(async ({ socket }) => (await once(socket, 'close'))[0] as number)),
    stream: cut,
    download: String(path),
  }
}

type Administrator = Awaited<ReturnType<typeof administrator>>

const ways: [string, (one: Administrator) => Promise<unknown>, (one: Administrator) => string][] = [
  [
    'the browser is signed out',
    ({ deviceId }) => change(`/api/devices/${deviceId}`, 'DELETE'),
    ({ access }) => access,
  ],
  ['the browser signs itself out', ({ access }) => ask('/api/sign-out', {}, access), ({ access }) => access],
  ['the token is revoked', ({ tokenId }) => change(`/api/tokens/${tokenId}`, 'DELETE'), ({ token }) => token],
  [
    'the token revokes itself',
    ({ token, tokenId }) => server.ask(`/api/tokens/${tokenId}`, { method: 'DELETE' }, token),
    ({ token }) => token,
  ],
  [
    'the person of the token is disabled',
    ({ personId }) => change(`/api/people/${personId}`, 'PATCH', { disabled: true }),
    ({ token }) => token,
  ],
  [
    'the person of the browser is disabled',
    ({ personId }) => change(`/api/people/${personId}`, 'PATCH', { disabled: true }),
    ({ access }) => access,
  ],
]

describe.each(ways)('if %s', (name, end, tokenOf) => {
  it('its connections are closed with 4401 and its requests are refused', async () => {
    const one = await administrator(name)
    const token = tokenOf(one)
    const open = await openAll(token)
    await end(one)
    expect((await ask('/api/me', undefined, token)).status).toBe(401)
    expect(await open.codes).toEqual([4401, 4401])
    expect(await open.stream).toBe('cut')
    expect((await server.ask(open.download)).status).toBe(404)
  })
})

it('if the role of a person changes, its connections are closed, and opened again with the scopes of the role', async () => {
  const one = await administrator('Demoted')
  for (const token of [one.token, one.access]) {
    await change(`/api/people/${one.personId}`, 'PATCH', { role: 'admin' })
    const open = await openAll(token)
    await change(`/api/people/${one.personId}`, 'PATCH', { role: 'viewer' })
    // The client may connect again, because it is not signed out.
    for (const code of await open.codes) expect(code).not.toBe(4401)
    expect(await open.stream).toBe('cut')
    expect((await ask('/api/me', undefined, token)).body.scopes).toEqual(['read'])
    expect((await ask('/api/sessions', { agent: 'scripted', cwd: server.folder }, token)).status).toBe(403)
  }
})

it('a person who is promoted gets the scopes of the role in every browser, but not in tokens with fewer', async () => {
  const { url } = (await ask('/api/invites', { role: 'viewer' })).body as { url: string }
  const device = deviceUnderTest({ ask: (path, asked) => server.ask(path, asked), link: () => url })
  const { body } = await device.register(codeOf(url), { name: 'Promoted' })
  const token = (await ask('/api/tokens', { name: 'reads' }, await device.token())).body.token as string
  await change(`/api/people/${body.personId}`, 'PATCH', { role: 'approver' })
  expect((await ask('/api/me', undefined, await device.token())).body.scopes).toEqual([
    'read',
    'prompt',
    'decide',
  ])
  expect((await ask('/api/me', undefined, token)).body.scopes).toEqual(['read'])
})

it('a browser whose access has expired is disconnected and refused', async () => {
  const expiresAt = Date.now() + 3_000
  const all = ['read', 'prompt', 'decide', 'terminal', 'admin'] as const
  await using short = await accessUnderTest(() => ({ short: { scopes: all, expiresAt } }))
  const { socket } = await short.connect(short.tokens.short)
  const id = await short.session()
  const headers = { authorization: `Bearer ${short.tokens.short}`, accept: 'text/event-stream' }
  const stream = await fetch(`${short.parley.http.url}/api/sessions/${id}/events`, { headers })
  const [code] = await once(socket, 'close')
  expect(code).toBe(4401)
  await expect(stream.text()).rejects.toThrow()
  expect(Date.now()).toBeGreaterThanOrEqual(expiresAt)
  expect((await short.ask('/api/me', {}, short.tokens.short)).status).toBe(401)
})
