import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Terminal } from '@parley/protocol'
import { afterAll, beforeEach, expect, it, vi } from 'vitest'
import { codeOf, deviceUnderTest } from '../faces/http/device-under-test.ts'
import { type Answer, type Asked, testToken } from '../faces/http/server-under-test.ts'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { folderForFile } from '../testing/temporary-folder.ts'
import { type ServingNode, servingNode } from './serving-node-under-test.ts'

/** Tests three nodes in one process, registered for two machines. Clients send requests to them in turn. */

const postgres = await PostgresServer.forFile()
const folder = folderForFile()
beforeEach(() => void vi.stubEnv('HOME', folder))
const databaseUrl = await postgres.database()
const start = (place: string) => servingNode({ databaseUrl, place, folder })
const [owner, beside, far] = [await start('machine:a'), await start('machine:a'), await start('machine:b')]
const nodes = [owner, beside, far]
afterAll(async () => {
  for (const node of nodes) await node.dispose()
})

const cwd = repository()
const { id } = await owner.host.create({ agent: 'scripted', cwd })

function repository(): string {
  const path = mkdtempSync(join(folder, 'repository-'))
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], { cwd: path })
  git('init', '-q')
  writeFileSync(join(path, 'one.txt'), 'one\n')
  git('add', '.')
  git('commit', '-qm', 'first')
  writeFileSync(join(path, 'one.txt'), 'two\n')
  return path
}

/** The number of connections of other nodes to this node. */
function connectionsOf({ server }: ServingNode): Promise<number> {
  return new Promise((resolve, reject) =>
    server.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
}

/** Sends each request to the next node. */
function roundRobin() {
  let turn = 0
  const next = () => nodes[turn++ % nodes.length] as ServingNode
  return {
    next,
    ask: (path: string, asked?: Asked): Promise<Answer> => next().server.ask(path, asked),
    link: () => next().server.link(),
  }
}

it.each([
  ['files', `/api/sessions/${id}/files?q=one&limit=5`],
  ['changes', `/api/sessions/${id}/changes`],
  ['a patch', `/api/sessions/${id}/changes/patch?path=one.txt`],
  ['a refusal', `/api/sessions/${id}/changes/patch?path=%2e%2e%2fsecret`],
  ['events', `/api/sessions/${id}/events`],
  ['the state', `/api/sessions/${id}`],
  ['an export', `/api/sessions/${id}/export?as=html`],
  ['sessions', '/api/sessions'],
  ['an unknown session', '/api/sessions/ses_unknown/files'],
])('every node gives the same answer: %s', async (_, path) => {
  const own = await owner.server.ask(path)
  for (const node of [beside, far]) {
    const { status, text, headers } = await node.server.ask(path)
    expect({ status, text }).toEqual({ status: own.status, text: own.text })
    const compared = ['content-type', 'content-security-policy', 'content-disposition', 'x-frame-options']
    for (const name of [...compared, 'cache-control', 'x-content-type-options', 'referrer-policy'])
      expect(headers[name], name).toEqual(own.headers[name])
    expect(headers['parley-node-proof']).toBeUndefined()
  }
})

it('a node at the place of the session reads the folder itself; another one passes the request on', async () => {
  const path = `/api/sessions/${id}/files`
  const before = owner.server.log.length
  expect((await beside.server.ask(`${path}?q=beside`)).status).toBe(200)
  expect(owner.server.log.slice(before).join('')).not.toContain(path)
  expect((await far.server.ask(`${path}?q=far`)).status).toBe(200)
  expect(owner.server.log.slice(before).join('')).toContain(path)
})

it('the owner of the session answers a request about snapshots, and another node at its place only if the owner cannot be reached', async () => {
  const path = `/api/sessions/${id}/changes`
  const answeredBy = async (node: ServingNode, query: string) => {
    const before = nodes.map(({ server }) => server.log.length)
    const { status } = await node.server.ask(`${path}${query}`)
    const answered = nodes.filter(({ server }, index) =>
      server.log.slice(before[index]).join('').includes(path),
    )
    return [status, answered.includes(owner) ? 'the owner' : 'itself']
  }
  for (const query of ['?scope=turn', '?scope=session', '/patch?scope=turn&path=one.txt'])
    expect(await answeredBy(beside, query)).toEqual([200, 'the owner'])
  expect(await answeredBy(beside, '?scope=commit')).toEqual([200, 'itself'])
  expect(await answeredBy(far, '?scope=turn')).toEqual([200, 'the owner'])
  await owner.inbound.close()
  expect(await answeredBy(beside, '?scope=turn')).toEqual([200, 'itself'])
  await owner.inbound.open()
  expect(await answeredBy(beside, '?scope=turn')).toEqual([200, 'the owner'])
})

it('a HEAD request is passed on as a HEAD request', async () => {
  for (const node of nodes) {
    const { status, text, headers } = await node.server.ask(`/api/sessions/${id}/files`, { method: 'HEAD' })
    expect({ status, text }).toEqual({ status: 200, text: '' })
    expect(headers['content-type']).toContain('application/json')
  }
})

it('the stream of changes is passed on, and ends when its reader leaves', async () => {
  const headers = { authorization: `Bearer ${testToken}`, accept: 'text/event-stream' }
  const leaving = new AbortController()
  const url = `${far.server.url}/api/sessions/${id}/changes`
  const response = await fetch(url, { headers, signal: leaving.signal })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let seen = ''
  while (!seen.includes('event: watching')) seen += (await reader?.read())?.value ?? ''
  writeFileSync(join(cwd, 'two.txt'), 'new\n')
  while (!seen.includes('event: changed')) seen += (await reader?.read())?.value ?? ''
  leaving.abort()
  await vi.waitUntil(async () => (await connectionsOf(owner)) === 0, 30_000)
})

it('a terminal is listed, used and removed through every node, and belongs to the node that opened it', async () => {
  const path = `/api/sessions/${id}/terminals`
  const open = async (node: ServingNode) => {
    const { status, body } = await node.server.ask(path, { body: { cols: 80, rows: 24 } })
    expect(status).toBe(201)
    return (body as unknown as Terminal).terminalId
  }
  const terminals = [await open(owner), await open(beside), await open(far)]
  expect(terminals.map((terminal) => terminal.slice(-9))).toEqual([owner, beside, owner].map((n) => n.suffix))
  for (const node of nodes) {
    const listed = (await node.server.ask(path)).body.terminals as Terminal[]
    expect(listed.map(({ terminalId }) => terminalId)).toEqual(terminals)
  }
  for (const [index, node] of [far, far, beside].entries()) {
    const client = node.terminal(terminals[index] ?? '')
    expect(await client.opened).toBe(true)
    client.type(`echo $((40 + 2))-${index}\n`)
    await vi.waitUntil(() => client.text.includes(`42-${index}`), 30_000)
    client.socket.close()
    await client.ended
  }
  for (const [index, node] of [beside, far, far].entries()) {
    const client = node.terminal(terminals[index] ?? '')
    await client.opened
    expect((await node.server.ask(`/api/terminals/${terminals[index]}`, { method: 'DELETE' })).status).toBe(
      204,
    )
    client.socket.close()
    await client.ended
  }
  for (const node of nodes) expect((await node.server.ask(path)).body.terminals).toEqual([])
})

it('an unknown terminal is refused with the same error as on a single node, even if its id names another node', async () => {
  for (const { suffix } of nodes) {
    const unknown = `trm_unknown${suffix}`
    expect(await far.terminal(unknown).ended).toBe(4004)
    expect((await far.server.ask(`/api/terminals/${unknown}`, { method: 'DELETE' })).status).toBe(404)
  }
  expect(await far.terminal('trm_unknown-00000000').ended).toBe(4004)
})

it('a browser signs in and stays signed in while each of its requests reaches another node', async () => {
  const balanced = roundRobin()
  for (let round = 0; round < 3; round++) {
    const device = deviceUnderTest(balanced, '')
    const { body } = await balanced.ask('/api/links', { method: 'POST' })
    balanced.next()
    expect((await device.register(codeOf(String(body.url)))).status).toBe(201)
    balanced.next()
    const headers = { authorization: `Bearer ${await device.token()}` }
    for (let request = 0; request < 6; request++)
      expect((await balanced.ask('/api/sessions', { headers })).status).toBe(200)
    for (const node of nodes) {
      const listed = (await node.server.ask('/api/devices', { headers })).body.devices as { current?: true }[]
      expect(listed.filter(({ current }) => current)).toHaveLength(1)
    }
  }
})

it('a pairing code works once, on any node, and all nodes accept the device', async () => {
  for (const [maker, user] of [
    [owner, far],
    [far, beside],
    [beside, beside],
  ] as const) {
    const { body } = await maker.server.ask('/api/pairings', { body: {} })
    const code = String(body.code)
    expect(code).toMatch(/^([2-9A-HJ-NP-Z]{4}-){3}[2-9A-HJ-NP-Z]{4}$/)
    const device = deviceUnderTest(user.server)
    expect((await device.register(code.toLowerCase())).status).toBe(201)
    const headers = { authorization: `Bearer ${await device.token()}` }
    for (const node of nodes) expect((await node.server.ask('/api/me', { headers })).status).toBe(200)
    for (const node of nodes) expect((await deviceUnderTest(node.server).register(code)).status).toBe(401)
  }
})

it('wrong pairing codes are limited by the address of the client, even on the node that created the code', async () => {
  const { body } = await owner.server.ask('/api/pairings', { body: {} })
  const letters = String(body.code).replaceAll('-', '')
  const wrong = `ABCDEFGHJKMN${letters.slice(12)}`
  const outcomes: number[] = []
  for (let count = 0; count < 21; count++)
    outcomes.push((await deviceUnderTest(far.server).register(wrong)).status)
  expect(outcomes.at(-1)).toBe(429)
  expect((await deviceUnderTest(far.server).register(letters)).status).toBe(429)
})

it('a download link works once, on any node', async () => {
  for (const [maker, user] of [
    [owner, far],
    [far, beside],
    [beside, beside],
  ] as const) {
    const { body } = await maker.server.ask(`/api/sessions/${id}/downloads`, { body: { as: 'html' } })
    const path = String(body.path)
    const head = { method: 'HEAD', token: false } as const
    expect((await user.server.ask(path, head)).status).toBe(204)
    const page = await user.server.ask(path, { token: false })
    expect(page.status).toBe(200)
    expect(page.headers['content-security-policy']).toContain('sandbox')
    expect((await maker.server.ask(path, { token: false })).status).toBe(404)
    expect((await user.server.ask(path, { token: false })).status).toBe(404)
  }
})

it('a nonce can be used only once, even on different nodes', async () => {
  const device = deviceUnderTest(roundRobin(), '')
  await device.register()
  const at = (node: ServingNode, body: unknown) =>
    node.server.ask('/api/access-tokens', { token: false, body })
  const signed = device.signed(await device.nonce())
  const answers = await Promise.all([...nodes, ...nodes].map((node) => at(node, signed)))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  const refused = answers.filter(({ status }) => status !== 201)
  for (const { status, body } of refused) {
    expect(status).toBe(401)
    expect(body.error).toMatchObject({ details: { reason: 'nonce' } })
  }
})

it('a revoked device loses its streams and terminals, even passed-on ones, and every node refuses it', async () => {
  const device = deviceUnderTest(far.server, '')
  await device.register()
  const token = await device.token()
  const headers = { authorization: `Bearer ${token}` }
  const path = `/api/sessions/${id}/terminals`
  const { body } = await far.server.ask(path, { headers, body: { cols: 80, rows: 24 } })
  const { terminalId } = body as unknown as Terminal
  const client = far.terminal(terminalId, token)
  expect(await client.opened).toBe(true)
  const accept = { ...headers, accept: 'text/event-stream' }
  const stream = await fetch(`${far.server.url}/api/sessions/${id}/changes`, { headers: accept })
  const download = await far.server.ask(`/api/sessions/${id}/downloads`, { headers, body: { as: 'jsonl' } })
  expect((await owner.server.ask('/api/sessions', { headers })).status).toBe(200)

  const revoked = await beside.server.ask(`/api/devices/${device.deviceId}`, { method: 'DELETE' })
  expect(revoked.status).toBe(204)
  for (const node of nodes) expect((await node.server.ask('/api/sessions', { headers })).status).toBe(401)
  for (const node of nodes) expect(await node.terminal(terminalId, token).ended).toBe(401)
  const void_ = await owner.server.ask(String(download.body.path), { token: false })
  expect(void_.status).toBe(404)
  await client.ended
  await expect(stream.text()).rejects.toThrow()
  await owner.server.ask(`/api/terminals/${terminalId}`, { method: 'DELETE' })
})

it('a request that was passed on is never passed on again', async () => {
  const path = `/api/sessions/${id}/files`
  const before = owner.server.log.length
  const headers = beside.credential.headersFor(far.inbound.url)
  const { status, body } = await far.server.ask(path, { headers })
  expect({ status, body }).toMatchObject({ status: 409, body: { error: { details: { moved: true } } } })
  const terminal = await far.server.ask(`/api/terminals/trm_1${owner.suffix}`, { headers, method: 'DELETE' })
  expect(terminal.body).toMatchObject({ error: { details: { moved: true } } })
  expect(owner.server.log.slice(before).join('')).not.toContain('/api/')
})

it.each([
  ['a bearer of a node without a signature', () => 'node.1.x'],
  [
    'a bearer for another node',
    () => far.credential.headersFor(owner.inbound.url).authorization.replace('Bearer ', ''),
  ],
  ['an access token with another device', () => `device.YQ.9999999999999.aaaaaaaaaaaaaaaa.${'a'.repeat(43)}`],
])('a caller is refused: %s', async (_, bearer) => {
  const headers = { authorization: `Bearer ${bearer()}`, 'parley-client-address': '10.0.0.1' }
  for (const path of [`/api/sessions/${id}/files`, '/api/sessions'])
    expect((await far.server.ask(path, { headers })).status).toBe(401)
  expect(await far.terminal('trm_1', bearer()).ended).toBe(401)
})

it('headers of the caller change neither the target nor the origin check', async () => {
  const path = `/api/sessions/${id}/files`
  const before = owner.server.log.length
  const forwarded = { 'x-forwarded-host': 'example.org', forwarded: 'host=example.org', cookie: 'a=b' }
  expect((await far.server.ask(path, { headers: forwarded })).status).toBe(200)
  expect((await far.server.ask(path, { headers: { origin: 'http://example.org' } })).status).toBe(403)
  expect((await far.server.ask(path, { headers: { host: 'example.org' } })).status).toBe(403)
  const passed = owner.server.log.slice(before).filter((line) => line.includes(path))
  expect(passed).toHaveLength(1)
})

it.each(['..', '%2e%2e', '..%2f..%2fapi%2fdevices', 'http:%2f%2f127.0.0.1:1', '%00', 'a%0d%0ab'])(
  'a session id that is an address or a path is an unknown session: %s',
  async (sessionId) => {
    const before = owner.server.log.length
    const { status } = await far.server.ask(`/api/sessions/${sessionId}/files`)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(owner.server.log.slice(before).join('')).not.toContain('/api/')
  },
)

it('when a node ends, its terminals close for their readers on other nodes, and are no longer listed', async () => {
  const third = await start('machine:a')
  const path = `/api/sessions/${id}/terminals`
  const { body } = await third.server.ask(path, { body: { cols: 80, rows: 24 } })
  const { terminalId } = body as unknown as Terminal
  const client = far.terminal(terminalId)
  expect(await client.opened).toBe(true)
  await third.inbound.close()
  await client.ended
  // The node is still registered, but refuses connections. The last connection that it accepted may be reset.
  await expect.poll(async () => (await far.server.ask(path)).body).toEqual({ terminals: [] })
  expect(await far.terminal(terminalId).ended).toBe(503)
  await third.dispose()
  expect(await far.terminal(terminalId).ended).toBe(4004)
})
