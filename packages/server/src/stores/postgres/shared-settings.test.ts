import { generateKeyPairSync, sign } from 'node:crypto'
import type { AgentAdapter } from '@parley/adapter-kit'
import { type NewRule, signedText } from '@parley/protocol'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Devices } from '../../access/devices.ts'
import { Holders } from '../../access/holders.ts'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import type { AccessStore } from '../../core/access-store.ts'
import type { Host } from '../../core/index.ts'
import { createHost } from '../../create-host.ts'
import type { OtherNodes } from '../../faces/other-nodes.ts'
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

/** The settings with which agents were started, by place. */
const started: { place: string; trusted: boolean; env: unknown }[] = []

function recordingAdapter(place: string): AgentAdapter {
  const adapter = createScriptedAdapter()
  return {
    ...adapter,
    capabilities: { ...adapter.capabilities, environment: true },
    connect(input) {
      started.push({ place, trusted: input.trusted, env: input.env })
      return adapter.connect(input)
    },
  }
}

type TestedNode = { readonly host: Host; readonly node: PostgresNode; readonly proxy: TcpProxy }

type Settings = { beatMs?: number; leaseMs?: number; place?: string }

/** Opens a node whose beats are too rare to find a change, unless `beatMs` is given. */
async function open(url: string, settings: Settings = {}): Promise<TestedNode> {
  const { beatMs = 100_000, leaseMs = 300_000, place = 'machine:here' } = settings
  const proxy = await TcpProxy.open(server.port)
  opened.push(() => proxy.close())
  const proxied = new URL(url)
  proxied.port = String(proxy.port)
  const lease = { leaseMs, beatMs, marginMs: 1_000 }
  const node = await openPostgresNode({
    url: proxied.href,
    connections: 4,
    node: { url: '', place, lease },
  })
  opened.push(() => node.store.close())
  const host = await createHost({ adapters: [recordingAdapter(place)], ...node })
  opened.push(async () => {
    proxy.resume()
    await host.close()
  })
  return { host, node, proxy }
}

const refusal: NewRule = { tool: 'Bash', decision: 'deny', scope: 'always' }

it('a change of a rule, of trust or of variables is applied on every node before the request is answered', async () => {
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
  for (const host of [other, third])
    expect(await host.environments()).toEqual([{ folder, place: 'machine:here', names: ['A'] }])
  await other.unsetEnvironment({ folder })
  for (const host of [one, third]) expect(await host.environments()).toEqual([])
})

it('many changes at once on several nodes are all applied on every node', async () => {
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
  const other = await open(url, { beatMs: 500, leaseMs: 3_000 })
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

it('a node that extends its lease without applying a change is fenced, and the change is then confirmed', async () => {
  const url = await server.database()
  const one = await open(url, { beatMs: 500, leaseMs: 3_000 })
  const other = await open(url, { beatMs: 500, leaseMs: 3_000 })
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
  const one = await open(url, { beatMs: 100 })
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

const grant = { personId: 'per_owner', scopes: ['read'] } as const

function devicesOn(store: AccessStore, others?: OtherNodes): Devices {
  return new Devices({ holders: new Holders(store, 'owner'), others })
}

it('a browser that signs in on one node is accepted on the others, and after a sign-out its connections are closed there', async () => {
  const url = await server.database()
  const [one, other] = [await open(url), await open(url)]
  const [here, there] = [devicesOn(one.node.store), devicesOn(other.node.store)]
  expect(await there.list()).toEqual([])
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64url')
  const device = await here.register({ publicKey: key }, 'Firefox', grant)
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
  await one.node.store.touchAccessRecord('device', device.deviceId, 7)
  const stored = (await one.node.store.accessRecords()).find(({ kind }) => kind === 'device')
  expect(stored).toMatchObject({ usedAt: 7, retiredAt: expect.any(Number) })
})

it('a node that is cut off from the database closes the connections of browsers, and accepts none before it is connected again', async () => {
  const url = await server.database()
  const lease = { leaseMs: 6_000, beatMs: 300 }
  const [one, other] = [await open(url, lease), await open(url, lease)]
  const tokens = { issue: () => '', deviceOf: (token: string) => token }
  const there = devicesOn(other.node.store, { tokens } as unknown as OtherNodes)
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64url')
  const here = devicesOn(one.node.store)
  const { deviceId } = await here.register({ publicKey: key }, 'Firefox', grant)
  await there.learn(deviceId)
  expect(there.learn(deviceId)).toBeUndefined()
  let isCut = false
  there.callerOf(deviceId)?.onRevoked(() => {
    isCut = true
  })
  other.proxy.stall()
  await here.revoke(deviceId)
  expect(isCut).toBe(true)
  const learning = there.learn(deviceId)
  expect(learning).toBeInstanceOf(Promise)
  await expect(learning).rejects.toMatchObject({ code: 'busy' })
  other.proxy.resume()
  await vi.waitUntil(() => other.node.ownership.node !== undefined, 30_000)
  expect(there.callerOf(deviceId)).toBeUndefined()
})

it('a node that resumes after its lease has expired uses no cached device, even before its timers run', async () => {
  const url = await server.database()
  const lease = { leaseMs: 6_000, beatMs: 100_000 }
  const [one, other] = [await open(url), await open(url, lease)]
  const here = devicesOn(one.node.store)
  const tokens = { issue: () => '', deviceOf: (token: string) => token }
  const there = devicesOn(other.node.store, { tokens } as unknown as OtherNodes)
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64url')
  const device = await here.register({ publicKey: key }, 'Firefox', grant)
  const { deviceId } = device
  await there.learn(deviceId)
  const caller = there.callerOf(deviceId)
  let isCut = false
  caller?.onRevoked(() => {
    isCut = true
  })
  caller?.notice()
  expect(isCut).toBe(false)
  // Pauses this process.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lease.leaseMs)
  caller?.notice()
  expect(isCut).toBe(true)
  expect(there.learn(deviceId)).toBeInstanceOf(Promise)
  // Another node could have revoked the browser meanwhile.
  await one.node.store.retireAccessRecord('device', device.deviceId, 1)
  expect(await caller?.isSignedOut()).toBe(true)
})

describe('the same path on two machines', () => {
  const places = ['machine:a', 'machine:b'] as const
  const twoMachines = async (): Promise<[Host, Host]> => {
    const url = await server.database()
    const [a, b] = [await open(url, { place: places[0] }), await open(url, { place: places[1] })]
    return [a.host, b.host]
  }
  const script = (...steps: object[]) => JSON.stringify(steps)

  it('a folder that is trusted on one is not trusted on the other, and every node reports that', async () => {
    const [a, b] = await twoMachines()
    expect(await a.trust(folder)).toMatchObject({ folder, place: places[0] })
    const sessions = [
      await a.create({ agent: 'scripted', cwd: folder }),
      await b.create({ agent: 'scripted', cwd: folder }),
    ]
    for (const host of [a, b]) {
      const details = await Promise.all(sessions.map(({ id }) => host.detail(id, 1)))
      expect(details.map(({ place, trusted }) => [place, trusted])).toEqual([
        [places[0], true],
        [places[1], false],
      ])
    }
    await b.distrust(folder)
    for (const host of [a, b]) expect(await host.trusted()).toEqual([])
  })

  it('a folder on the other can be trusted by its absolute path, and each trust is revoked separately', async () => {
    const [a, b] = await twoMachines()
    await a.trust(folder)
    await a.trust(folder, places[1])
    await expect(a.trust('relative', places[1])).rejects.toMatchObject({ code: 'validation_error' })
    expect((await b.trusted()).map(({ place }) => place)).toEqual(places)
    await a.distrust(folder, places[1])
    await expect(a.distrust(folder, places[1])).rejects.toMatchObject({ code: 'not_found' })
    expect(await b.trusted()).toMatchObject([{ folder, place: places[0] }])
  })

  it('a rule for the folder on one allows nothing on the other, even if an answer granted it', async () => {
    const [a, b] = await twoMachines()
    await a.addRule({ tool: 'Read', decision: 'allow', scope: 'project', project: folder })
    const ask = { type: 'permission', name: 'Bash', kind: 'execute', title: 'Run', input: { command: 'ls' } }
    const prompt = script({ ...ask, name: 'Read' }, ask)
    const [first, second] = [
      await a.create({ agent: 'scripted', cwd: folder, prompt }),
      await b.create({ agent: 'scripted', cwd: folder, prompt }),
    ]
    const asked = async (host: Host, id: string) => {
      await vi.waitUntil(async () => (await host.state(id)).requests.length === 1, 30_000)
      return (await host.state(id)).requests[0]
    }
    const onA = await asked(a, first.id)
    expect(onA).toMatchObject({ tool: 'Bash' })
    await a.command(first.id, {
      type: 'permission.decide',
      commandId: 'd',
      requestId: onA?.requestId ?? '',
      decision: 'allow',
      scope: 'project',
    })
    expect(await asked(b, second.id)).toMatchObject({ tool: 'Read' })
    const rules = await b.rules().then(async (known) => known.filter(({ scope }) => scope === 'project'))
    expect(rules.every(({ place }) => place === places[0])).toBe(true)
    const later = await b.create({ agent: 'scripted', cwd: folder, prompt: script(ask) })
    expect(await asked(b, later.id)).toMatchObject({ tool: 'Bash' })
  })

  it('trust and variables of the folder on one do not apply to agents on the other', async () => {
    const [a, b] = await twoMachines()
    await a.setEnvironment({ folder, variables: { A: 'a' } })
    await b.setEnvironment({ folder, variables: { B: 'b' } })
    expect(await a.environments()).toEqual([
      { folder, place: places[0], names: ['A'] },
      { folder, place: places[1], names: ['B'] },
    ])
    await a.trust(folder)
    started.length = 0
    for (const host of [a, b]) {
      const { id } = await host.create({ agent: 'scripted', cwd: folder, prompt: script() })
      await vi.waitUntil(async () => (await host.state(id)).turns === 1, 30_000)
    }
    expect(started).toEqual([
      { place: places[0], trusted: true, env: { A: 'a' } },
      { place: places[1], trusted: false, env: { B: 'b' } },
    ])
    await a.unsetEnvironment({ folder, place: places[1] })
    expect(await b.environments()).toEqual([{ folder, place: places[0], names: ['A'] }])
  })
})

const insertRule = `INSERT INTO parley.rules (id, rule) VALUES ('r', '${JSON.stringify(ruleOf('r'))}')`
