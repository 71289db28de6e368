import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { Delta, FeedValue, SessionEvent } from '@parley/protocol'
import { pino } from 'pino'
import { afterEach, expect, it, vi } from 'vitest'
import { WebSocketServer } from 'ws'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { logProblems } from '../testing/invariants.ts'
import { folderForFile } from '../testing/temporary-folder.ts'
import { nodeMetricsText } from './node-metrics.ts'
import { type NodeUnderTest, startNode } from './node-under-test.ts'

/** Tests several nodes in one process, with the scripted agent and a real PostgreSQL. */

const server = await PostgresServer.forFile()
const folder = folderForFile()
const opened: NodeUnderTest[] = []
afterEach(async () => {
  for (const node of opened.splice(0)) await node.dispose()
})

async function nodes(count: number, settings: { patienceMs?: number } = {}): Promise<NodeUnderTest[]> {
  const databaseUrl = await server.database()
  const started: NodeUnderTest[] = []
  while (started.length < count) {
    const node = await startNode({ databaseUrl, folder, ...settings })
    started.push(node)
    opened.push(node)
  }
  return started
}

const script = (...steps: object[]) => JSON.stringify(steps)
const wait = { timeout: 60_000, interval: 20 }

async function create({ host }: NodeUnderTest): Promise<string> {
  return (await host.create({ agent: 'scripted', cwd: folder })).id
}

function prompt({ host }: NodeUnderTest, id: string, commandId: string, ...steps: object[]) {
  return host.command(id, { type: 'prompt.submit', commandId, text: script(...steps) })
}

/** Reads a session at a node until `count` turns have ended. */
function read({ host }: NodeUnderTest, id: string, count: number) {
  const values: FeedValue[] = []
  const isEnd = (value: FeedValue) => value.type === 'event' && value.event.type === 'turn.ended'
  const done = (async () => {
    for await (const value of host.feed(id)) {
      values.push(value)
      if (values.filter(isEnd).length === count) return
    }
  })()
  const events = () =>
    values.flatMap((value) => (value.type === 'event' ? [value.event as SessionEvent] : []))
  const deltas = () => values.flatMap((value) => (value.type === 'delta' ? [value.delta] : []))
  return { done, events, deltas }
}

const textOf = (deltas: readonly Delta[]) =>
  deltas.map((delta) => (delta.type === 'text.streamed' ? delta.text : '')).join('')

it('a reader at another node gets the same events and deltas as one at the owner', async () => {
  const [owner, other] = (await nodes(2)) as [NodeUnderTest, NodeUnderTest]
  const id = await create(owner)
  const [here, there] = [read(owner, id, 2), read(other, id, 2)]
  await prompt(owner, id, 'c1', { type: 'text', text: 'First.' })
  await vi.waitUntil(() => there.events().some(({ type }) => type === 'turn.ended'), wait)
  await prompt(other, id, 'c2', { type: 'flood', deltas: 200, size: 20, blocks: 2 })
  await Promise.all([here.done, there.done])
  expect(there.events()).toEqual(here.events())
  expect(textOf(there.deltas()).length).toBeGreaterThanOrEqual(200 * 20)
  expect(textOf(here.deltas()).endsWith(textOf(there.deltas()).slice(-4_000))).toBe(true)
})

it('commands, changes of a session and its deletion are performed by the owner, even if another node gets them', async () => {
  const all = (await nodes(3)) as [NodeUnderTest, NodeUnderTest, NodeUnderTest]
  const [owner, second, third] = all
  const id = await create(owner)
  const changes: string[] = []
  third.host.onSessionChanged(({ session, change, summary }) => {
    if (session === id) changes.push(`${change} ${summary?.title ?? ''}`.trim())
  })
  await vi.waitUntil(() => third.node.ownership.find(id).then(({ type }) => type === 'elsewhere'), wait)
  const receipt = await prompt(second, id, 'c1', { type: 'text', text: 'Hello.' })
  await vi.waitUntil(async () => (await third.host.state(id)).turns === 1, wait)
  const again = await prompt(third, id, 'c1', { type: 'text', text: 'Hello.' })
  expect(again).toEqual(receipt)
  expect(receipt).toMatchObject({ commandId: 'c1', promptId: expect.stringMatching(/^prm_/) })
  expect((await second.host.patch(id, { title: 'Renamed' })).title).toBe('Renamed')
  await vi.waitUntil(() => changes.includes('changed Renamed'), wait)
  const bad = third.host.command(id, {
    type: 'permission.decide',
    commandId: 'x',
    requestId: 'req_0',
    decision: 'allow',
  })
  await expect(bad).rejects.toMatchObject({ code: 'not_found' })
  const { events } = await third.host.read(id, { after: 0, limit: 1_000 })
  expect(logProblems(events.map(({ json }) => JSON.parse(json)))).toEqual([])
  await third.host.delete(id)
  await vi.waitUntil(() => changes.includes('deleted'), wait)
  await expect(owner.host.state(id)).rejects.toMatchObject({ code: 'not_found' })
})

it('a reader at another node ends when the session is deleted', async () => {
  const [owner, other] = (await nodes(2)) as [NodeUnderTest, NodeUnderTest]
  const id = await create(owner)
  const there = read(other, id, 3)
  await prompt(owner, id, 'c1', { type: 'text', text: 'First.' })
  await vi.waitUntil(() => there.events().some(({ type }) => type === 'turn.ended'), wait)
  // Only the owner announces deltas, so a reader that gets deltas follows the owner.
  await prompt(
    owner,
    id,
    'c2',
    { type: 'flood', deltas: 200, size: 20, blocks: 2 },
    { type: 'pause', ms: 60_000 },
  )
  await vi.waitUntil(() => there.deltas().length > 0, wait)
  await owner.host.delete(id)
  await there.done
  await expect(other.host.state(id)).rejects.toMatchObject({ code: 'not_found' })
})

it('a command that another node sends twice at the same time is performed once, and both calls get its answer', async () => {
  const [owner, other] = (await nodes(2)) as [NodeUnderTest, NodeUnderTest]
  const id = await create(owner)
  const send = () => prompt(other, id, 'c1', { type: 'text', text: 'Once.' })
  const [first, second] = await Promise.all([send(), send()])
  expect(second).toEqual(first)
  await vi.waitUntil(async () => (await owner.host.state(id)).turns === 1, wait)
})

it('changes of the session list that a node missed while its link was cut are announced later, even if there are many', async () => {
  const [owner, other] = (await nodes(2)) as [NodeUnderTest, NodeUnderTest]
  const announced = new Set<string>()
  other.host.onSessionChanged(({ session }) => announced.add(session))
  const first = await create(owner)
  await vi.waitUntil(() => announced.has(first), wait)
  await owner.inbound.close()
  const created: string[] = []
  while (created.length < 60) created.push(await create(owner))
  await owner.inbound.open()
  await vi.waitUntil(() => created.every((id) => announced.has(id)), wait)
  expect(announced.size).toBe(61)
})

it('a session with an open request is taken over when its owner is cut off, and its readers notice nothing', async () => {
  const [owner, second, third] = (await nodes(3)) as [NodeUnderTest, NodeUnderTest, NodeUnderTest]
  const id = await create(owner)
  const file = join(folder, 'taken-over')
  const effect = { writeFile: { path: file, text: 'x' } }
  await prompt(
    owner,
    id,
    'c1',
    { type: 'permission', name: 'Write', kind: 'edit', title: 'Write', effect },
    { type: 'text', text: 'Done.' },
  )
  await vi.waitUntil(async () => (await second.host.state(id)).requests.length === 1, wait)
  const [here, there] = [read(second, id, 1), read(third, id, 1)]
  owner.database.stall()
  owner.inbound.stall()
  const [request] = (await second.host.state(id)).requests
  await second.host.command(id, {
    type: 'permission.decide',
    commandId: 'd',
    requestId: request?.requestId ?? '',
    decision: 'allow',
  })
  await Promise.all([here.done, there.done])
  expect(there.events()).toEqual(here.events())
  expect(logProblems(here.events())).toEqual([])
  expect(existsSync(file)).toBe(true)
  const { events } = await third.host.read(id, { after: 0, limit: 1_000 })
  expect(here.events()).toEqual(events.slice(0, here.events().length).map(({ json }) => JSON.parse(json)))
})

it('events reach a reader at another node while the nodes cannot reach each other, and nothing is taken over', async () => {
  const [owner, other] = (await nodes(2, { patienceMs: 500 })) as [NodeUnderTest, NodeUnderTest]
  const id = await create(owner)
  const there = read(other, id, 2)
  await prompt(owner, id, 'c1', { type: 'text', text: 'First.' })
  await vi.waitUntil(() => there.events().some(({ type }) => type === 'turn.ended'), wait)
  await owner.inbound.close()
  await prompt(owner, id, 'c2', { type: 'text', text: 'Second.' })
  await there.done
  expect(await other.node.ownership.find(id)).toMatchObject({ type: 'elsewhere', url: owner.url })
  const refused = other.host.command(id, { type: 'session.close', commandId: 'c3' })
  await expect(refused).rejects.toMatchObject({ code: 'busy', details: { node: owner.url } })
  await owner.inbound.open()
  const third = read(other, id, 3)
  await vi.waitUntil(
    () =>
      prompt(other, id, 'c4', { type: 'text', text: 'Third.' }).then(
        () => true,
        () => false,
      ),
    wait,
  )
  await third.done
})

it('a program that listens at the address of a node gets no token, and its answers are not used', async () => {
  const [owner, other] = (await nodes(2, { patienceMs: 500 })) as [NodeUnderTest, NodeUnderTest]
  const id = await create(owner)
  const seen: string[] = []
  const sockets = new WebSocketServer({ noServer: true })
  const rogue = createServer((request, response) => {
    seen.push(JSON.stringify(request.headers))
    response.end('{"commandId":"c","seq":1}')
  })
  rogue.on('upgrade', (request, socket, head) => {
    seen.push(JSON.stringify(request.headers))
    sockets.handleUpgrade(request, socket, head, (websocket) => {
      websocket.on('message', (data) => seen.push(String(data)))
      websocket.send('{"type":"welcome"}')
    })
  })
  rogue.listen(0, '127.0.0.1')
  await once(rogue, 'listening')
  owner.inbound.target = (rogue.address() as { port: number }).port
  owner.inbound.cut()
  await vi.waitUntil(() => seen.length > 1, wait)
  await expect(other.host.command(id, { type: 'session.close', commandId: 'c' })).rejects.toMatchObject({
    code: 'busy',
  })
  await expect(other.host.patch(id, { title: 'x' })).rejects.toMatchObject({ code: 'busy' })
  expect(seen.join('\n')).not.toMatch(/the-token-of-all-nodes|session\.close|hello/)
  owner.inbound.target = owner.http.port
  rogue.close()
  rogue.closeAllConnections()
})

it('a credential that a program received at the address of a node is refused by the next node there', async () => {
  const databaseUrl = await server.database()
  const first = await startNode({ databaseUrl, folder })
  opened.push(await startNode({ databaseUrl, folder }))
  const caught: string[] = []
  const rogue = createServer().on('upgrade', ({ headers }, socket) => {
    caught.push(headers.authorization ?? '')
    socket.destroy()
  })
  rogue.listen(0, '127.0.0.1')
  await once(rogue, 'listening')
  first.inbound.target = (rogue.address() as { port: number }).port
  first.inbound.cut()
  await vi.waitUntil(() => caught.length > 1, wait)
  const list = async (authorization = '') =>
    (await fetch(`${first.url}/api/sessions`, { headers: { authorization } })).status
  first.inbound.target = first.http.port
  expect(await list(caught[0])).toBe(200)
  await first.dispose()
  rogue.close()
  await first.inbound.open()
  const next = await startNode({ databaseUrl, folder, inbound: first.inbound })
  opened.push(next)
  expect(next.url).toBe(first.url)
  expect(await list(caught.at(-1))).toBe(401)
})

it('sessions are taken over although the database contains nodes with unusable addresses', async () => {
  const databaseUrl = await server.database()
  const lease = { leaseMs: 2_000, beatMs: 200, marginMs: 500 }
  const owner = await startNode({ databaseUrl, folder, lease })
  const other = await startNode({ databaseUrl, folder, lease })
  opened.push(owner, other)
  for (const address of ['nonsense', '', 'ftp://127.0.0.1', 'http://a:b@127.0.0.1:1', 'http://127.0.0.1:1/x'])
    await server.admin(
      (
        sql,
      ) => sql`INSERT INTO parley.nodes (url, place, machine, version, mark, settings_seen, started_at, expires_at)
        VALUES (${address}, 'machine:there', '', '', '', 1000, now(), now() + interval '1 hour')`,
      databaseUrl,
    )
  const id = await create(owner)
  await prompt(owner, id, 'c', { type: 'permission', name: 'Bash' })
  await vi.waitUntil(async () => (await other.host.state(id)).requests.length === 1, wait)
  owner.database.stall()
  owner.inbound.stall()
  const ownerNow = async () => (await other.node.ownership.nodeOf(id))?.nodeUrl
  await vi.waitFor(async () => expect(await ownerNow()).toBe(other.url), wait)
})

it('a change of a session does not wait for an owner that is paused: the next owner performs it', async () => {
  const databaseUrl = await server.database()
  const lease = { leaseMs: 2_000, beatMs: 200, marginMs: 500 }
  const owner = await startNode({ databaseUrl, folder, lease })
  const other = await startNode({ databaseUrl, folder, lease })
  opened.push(owner, other)
  const id = await create(owner)
  await prompt(other, id, 'c', { type: 'text', text: 'First.' })
  owner.inbound.stall()
  const sentAt = performance.now()
  const patched = other.host.patch(id, { title: 'After' })
  owner.database.stall()
  expect(await patched).toMatchObject({ title: 'After' })
  // A request to the paused owner would wait up to 30 seconds.
  expect(performance.now() - sentAt).toBeLessThan(20_000)
})

it('a node with another token is reported, and commands to its sessions fail at once with that reason', async () => {
  const databaseUrl = await server.database()
  const owner = await startNode({ databaseUrl, folder, token: 'another-token-0123456789abcdef' })
  opened.push(owner)
  const lines: string[] = []
  const logger = pino({}, { write: (line: string) => lines.push((JSON.parse(line) as { msg: string }).msg) })
  const other = await startNode({ databaseUrl, folder, logger })
  opened.push(other)
  const id = await create(owner)
  const reports = () => lines.filter((line) => line.startsWith(`the node at ${owner.url} refuses this one`))
  await vi.waitUntil(() => reports().length > 0, wait)
  const error = { code: 'busy', details: { node: owner.url, problem: 'other-token' } }
  await expect(other.host.command(id, { type: 'session.close', commandId: 'c' })).rejects.toMatchObject(error)
  await expect(other.host.patch(id, { title: 'x' })).rejects.toMatchObject(error)
  const refusals = () => lines.filter((line) => line.startsWith('refused another node'))
  await vi.waitUntil(() => refusals().length > 0, wait)
  expect([reports().length, refusals().length]).toEqual([1, 1])
  expect(lines).not.toContain('refused a WebSocket')
})

it('a command that the owner never gets counts once in the metrics, and its refusal names the owner', async () => {
  const [owner, other] = (await nodes(2, { patienceMs: 1_000 })) as [NodeUnderTest, NodeUnderTest]
  const id = await create(owner)
  await owner.inbound.close()
  const refusal = await prompt(other, id, 'c1').catch((error: Error) => error)
  expect(refusal).toMatchObject({ code: 'busy', message: expect.stringContaining(owner.url) })
  expect(refusal).toMatchObject({ message: expect.not.stringContaining('commandId') })
  const text = await nodeMetricsText(other.metrics, other.node.ownership)
  expect(text).toContain('parley_commands_forwarded_total{outcome="busy"} 1\n')
})
