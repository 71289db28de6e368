import { generateKeyPairSync, sign } from 'node:crypto'
import { type NewRule, signedText } from '@parley/protocol'
import { afterEach, expect, it, vi } from 'vitest'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import type { Host } from '../../core/index.ts'
import { createHost } from '../../create-host.ts'
import { Devices } from '../../faces/http/devices.ts'
import { eventsOf, ruleOf, stateOf } from '../../testing/store-samples.ts'
import { TcpProxy } from '../../testing/tcp-proxy.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { openPostgresNode, type PostgresNode } from './index.ts'
import { PostgresServer } from './postgres-under-test.ts'

/** Tests the settings of several nodes in one process. */

const server = await PostgresServer.forFile()
const folder = folderForFile()
const opened: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

type TestedNode = { readonly host: Host; readonly node: PostgresNode; readonly proxy: TcpProxy }

/** Opens a node whose beats are too rare to find a change, unless `beatMs` is given. */
async function open(url: string, beatMs = 100_000, leaseMs = 300_000): Promise<TestedNode> {
  const proxy = await TcpProxy.open(server.port)
  opened.push(() => proxy.close())
  const proxied = new URL(url)
  proxied.port = String(proxy.port)
  const lease = { leaseMs, beatMs, marginMs: 1_000 }
  const node = await openPostgresNode({
    url: proxied.href,
    connections: 4,
    node: { url: '', place: 'machine:here', lease },
  })
  opened.push(() => node.store.close())
  const host = await createHost({ adapters: [createScriptedAdapter()], ...node })
  opened.push(async () => {
    proxy.resume()
    await host.close()
  })
  return { host, node, proxy }
}

const refusal: NewRule = { tool: 'Bash', decision: 'deny', scope: 'always' }

it('a change of a rule, of trust or of variables is known on every node when it is answered', async () => {
  const url = await server.database()
  const nodes = [await open(url), await open(url), await open(url)]
  const [one, other, third] = nodes.map(({ host }) => host) as [Host, Host, Host]
  const rule = await one.addRule(refusal)
  for (const host of [other, third]) expect(await host.rules()).toEqual([rule])
  await third.removeRule(rule.ruleId)
  for (const host of [one, other]) expect(await host.rules()).toEqual([])
  const trusted = await other.trust(folder)
  for (const host of [one, third]) expect(await host.trusted()).toEqual([trusted])
  await one.distrust(folder)
  for (const host of [other, third]) expect(await host.trusted()).toEqual([])
  await one.setEnvironment({ folder, variables: { A: '1' } })
  for (const host of [other, third]) expect(await host.environments()).toEqual([{ folder, names: ['A'] }])
  await other.unsetEnvironment({ folder })
  for (const host of [one, third]) expect(await host.environments()).toEqual([])
})

it('many changes at once on several nodes are all known everywhere', async () => {
  const url = await server.database()
  const hosts = [(await open(url)).host, (await open(url)).host]
  const tools = Array.from({ length: 10 }, (_, index) => `tool-${index}`)
  await Promise.all(tools.map((tool, index) => hosts[index % 2]?.addRule({ ...refusal, tool })))
  for (const host of hosts)
    expect((await host.rules()).map(({ tool }) => tool).toSorted()).toEqual(tools.toSorted())
})

it('a change waits for a node that is cut off until its lease has ended', async () => {
  const url = await server.database()
  const one = await open(url)
  const other = await open(url, 500, 3_000)
  let isAnswered = false
  const lost = new Promise<boolean>((resolve) => other.node.ownership.onLost(() => resolve(isAnswered)))
  other.proxy.stall()
  const added = one.host.addRule(refusal).then(() => {
    isAnswered = true
  })
  expect(await lost).toBe(false)
  await added
  other.proxy.cut()
  other.proxy.resume()
  await vi.waitUntil(async () => (await other.host.rules()).length === 1, 30_000)
})

it('a node that beats without applying a change is fenced, and the change is answered', async () => {
  const url = await server.database()
  const one = await open(url, 500, 3_000)
  const other = await open(url, 500, 3_000)
  const stuck = Promise.withResolvers<void>()
  other.node.shared.onChanged(() => stuck.promise)
  const lost = new Promise<void>((resolve) => other.node.ownership.onLost(resolve))
  await one.host.addRule(refusal)
  await lost
  expect(other.node.ownership.node).toBeUndefined()
  stuck.resolve()
  await vi.waitUntil(() => other.node.ownership.node !== undefined, 30_000)
  expect(await other.host.rules()).toHaveLength(1)
})

it('a node that has missed a ring finds the change with its next beat', async () => {
  const url = await server.database()
  const one = await open(url, 100)
  await server.admin((sql) => sql.unsafe(insertRule), url)
  await vi.waitUntil(async () => (await one.host.rules()).length > 0, 30_000)
  expect(await one.host.rules()).toEqual([ruleOf('r')])
})

it('a node applies all settings before it owns a session', async () => {
  const url = await server.database()
  const one = await open(url)
  await one.node.store.create({
    sessionId: 's',
    epoch: 'e',
    state: stateOf('s'),
    events: eventsOf('s', 1, 1),
  })
  await one.node.ownership.release('s', 1)
  await server.admin((sql) => sql.unsafe(insertRule), url)
  expect(await one.host.rules()).toEqual([])
  await one.node.ownership.claim('s')
  expect(await one.host.rules()).toHaveLength(1)
})

it('an append with a rule sends no notification, since notifications make transactions wait for each other', async () => {
  const url = await server.database()
  const { node } = await open(url)
  const heard: string[] = []
  await server.admin(async (sql) => {
    await sql.listen('parley parley', () => heard.push('ring'))
    await sql.listen('probe', () => heard.push('probe'))
    await node.store.create({ sessionId: 's', epoch: 'e', state: stateOf('s'), events: eventsOf('s', 1, 1) })
    await node.store.append({ sessionId: 's', events: eventsOf('s', 2, 1), rules: [ruleOf('r')], term: 1 })
    await sql.notify('probe', '')
    await vi.waitUntil(() => heard.length > 0, 30_000)
    await node.shared.changed()
    await vi.waitUntil(() => heard.length > 1, 30_000)
  }, url)
  expect(heard).toEqual(['probe', 'ring'])
})

it('a browser that is signed in or out on one node is known on the others, and its connections are closed there', async () => {
  const url = await server.database()
  const [one, other] = [await open(url), await open(url)]
  const [here, there] = [new Devices({ store: one.node.store }), new Devices({ store: other.node.store })]
  expect(await there.list()).toEqual([])
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64url')
  const device = await here.register(key, 'Firefox')
  expect(await there.list()).toEqual([device])
  const { deviceId } = device
  const signed = { origin: 'http://here', deviceId, nonce: here.nonce().nonce }
  const signature = sign('sha256', Buffer.from(signedText(signed)), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  })
  const { token } = await here.accessToken({ ...signed, signature: signature.toString('base64url') })
  let isCut = false
  here.callerOf(token)?.onRevoked(() => {
    isCut = true
  })
  await there.revoke(device.deviceId)
  expect(isCut).toBe(true)
  expect(here.callerOf(token)).toBeUndefined()
  expect(await here.list()).toEqual([])
  // A late write of the time of last use must not remove the revocation.
  await one.node.store.putDevice({ ...device, publicKey: key })
  expect((await one.node.store.devices())[0]).toMatchObject({ revokedAt: expect.any(Number) })
})

const insertRule = `INSERT INTO parley.rules (id, rule) VALUES ('r', '${JSON.stringify(ruleOf('r'))}')`
