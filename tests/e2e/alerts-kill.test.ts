import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, createClient } from '@parley/client'
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { Receiver } from '../../packages/server/src/alerts/receivers-under-test.ts'
import { KillableServer, randomFrom, sleep } from './killable-server.ts'
import { NodesFixture } from './nodes-fixture.ts'
import { eventsOf, logOf, permission, scripted } from './session-fixture.ts'

/** Tests that no alert is lost if a server is killed between the moment when an event is stored and the delivery. */

const kills = Number(process.env.PARLEY_ALERT_KILLS ?? 6)
const seed = Number(process.env.PARLEY_KILL_SEED ?? Date.now() % 1_000_000)
let hook: Receiver

beforeEach(() => vi.stubEnv('PARLEY_TEST_ALERTS', JSON.stringify({ privateTargets: true })))
beforeAll(async () => {
  hook = await Receiver.open()
})
afterAll(() => hook[Symbol.asyncDispose]())

function connect({ url, token }: KillableServer): Client {
  return createClient({ url, token, backoff: { baseMs: 5, maxMs: 60 } })
}

const stateOf = (client: Client, id: string) =>
  client.call('getSession', { params: { id }, query: { tail: 0 } })

/** Sends a prompt. Returns when its request or the end of its turn is announced, usually before the alert is sent. */
async function untilAnnounced(client: Client, session: string, asks: boolean): Promise<void> {
  const { seq } = await stateOf(client, session)
  const script = asks ? scripted(permission('a')) : scripted({ type: 'text', text: 'Done.' })
  await client.prompt(session, script)
  for await (const { type } of client.events(session, { after: seq }))
    if (type === (asks ? 'permission.requested' : 'turn.ended')) return
}

const idsReceived = () => hook.received.map(({ json }) => (json.data as { id: string }).id)

/**
 * The ids of the alerts that the log of a session causes. A request that a carried answer resolves causes none.
 */
async function idsExpected(client: Client, session: string): Promise<string[]> {
  const log = await logOf(client, session)
  const resolved = eventsOf(log, 'permission.resolved')
  const carried = resolved.filter(({ carriedFrom }) => carriedFrom).map(({ requestId }) => requestId)
  const requests = [...eventsOf(log, 'permission.requested'), ...resolved]
  return [...eventsOf(log, 'turn.ended'), ...requests.filter(({ requestId }) => !carried.includes(requestId))]
    .map(({ seq }) => `${session}:${seq}`)
    .sort()
}

async function expectAll(client: Client, session: string): Promise<{ sent: number; repeated: number }> {
  const expected = await idsExpected(client, session)
  const own = () => idsReceived().filter((id) => id.startsWith(`${session}:`))
  await vi.waitUntil(() => expected.every((id) => own().includes(id)), 60_000)
  expect([...new Set(own())].sort()).toEqual(expected)
  return { sent: expected.length, repeated: own().length - expected.length }
}

it(`every alert is sent although the server is killed ${kills} times (seed ${seed})`, async () => {
  const server = new KillableServer()
  const random = randomFrom(seed)
  try {
    await server.start()
    let client = connect(server)
    await client.call('createTarget', { body: { kind: 'webhook', url: `${hook.origin}/alone` } })
    const cwd = join(server.folder, 'work')
    mkdirSync(cwd)
    const create = async () => (await client.createSession({ agent: 'scripted', cwd })).id
    const sessions: string[] = []
    for (let killed = 0; killed < kills; killed++) {
      // A request stays open after the kill, so a session with a request is used only once.
      const asks = killed % 3 === 2
      if (killed % 3 !== 1) sessions.push(await create())
      if (random() < 0.2) hook.replies = [{ status: 500 }]
      await untilAnnounced(client, sessions.at(-1) ?? '', asks)
      await sleep(random() * 6)
      await server.end('SIGKILL')
      client.close()
      await server.start()
      client = connect(server)
    }
    const results: { sent: number; repeated: number }[] = []
    for (const session of sessions) results.push(await expectAll(client, session))
    const sum = (name: 'sent' | 'repeated') => results.reduce((total, one) => total + one[name], 0)
    console.log(JSON.stringify({ kills, alerts: sum('sent'), repeated: sum('repeated') }))
    client.close()
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}\n${server.log.slice(-2000)}`, { cause: error })
  } finally {
    await server.dispose()
  }
}, 900_000)

it('three nodes send each alert once, and the survivors send those of a node that was killed', async () => {
  await using nodes = await NodesFixture.start()
  const [a, b] = nodes.nodes
  await b.client.call('createTarget', { body: { kind: 'webhook', url: `${hook.origin}/nodes` } })
  const cwd = nodes.newFolder('work')
  const sessions = await Promise.all(
    nodes.clients.map(async (client) => (await client.createSession({ agent: 'scripted', cwd })).id),
  )
  for (const [index, session] of sessions.entries())
    for (let turn = 0; turn < 3; turn++) await untilAnnounced(nodes.clients[index] as Client, session, false)
  for (const session of sessions) expect(await expectAll(b.client, session)).toEqual({ sent: 3, repeated: 0 })

  const [ofA = ''] = sessions
  await untilAnnounced(a.client, ofA, true)
  await a.end('SIGKILL')
  await expectAll(b.client, ofA)
  const { requests } = await b.client.call('listPermissions')
  await b.client.decide(ofA, requests[0]?.request.requestId ?? '', 'deny')
  await vi.waitUntil(async () => !(await stateOf(b.client, ofA)).turn, 60_000)
  await expectAll(b.client, ofA)
}, 300_000)
