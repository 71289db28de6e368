import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasCode } from '@parley/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Script } from '../../packages/server/src/adapters/scripted/script.ts'
import { sleep } from './killable-server.ts'
import { type NodeProcess, NodesFixture } from './nodes-fixture.ts'
import { Watcher, Work } from './random-work.ts'
import {
  colour,
  createSession,
  eventsOf,
  isIdle,
  logOf,
  open,
  permission,
  scripted,
  stateWhen,
} from './session-fixture.ts'

/**
 * Tests the guarantees of three nodes on one database when a part of them fails. Each failure has its own test. Node A
 * owns the sessions; B and C are the others.
 */
let nodes: NodesFixture
let a: NodeProcess
let b: NodeProcess
let c: NodeProcess
const watchers: Watcher[] = []
let folders = 0

beforeAll(async () => {
  nodes = await NodesFixture.start()
  ;[a, b, c] = nodes.nodes
})
afterAll(() => nodes?.[Symbol.asyncDispose]())
beforeEach(() => nodes.allUp())
/** Checks after each test that all readers have the same whole log, and that no term has decreased. */
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') console.log(nodes.log)
  await nodes.allUp()
  for (const watcher of watchers.splice(0)) {
    const head = (await watcher.log()).length
    await watcher.mirror.until(({ view }) => view.state.seq >= head, AbortSignal.timeout(20_000))
    await watcher.compare()
    expect(watcher.problems).toEqual([])
    watcher.close()
  }
  expect(await nodes.termProblems()).toEqual([])
})

type Session = { readonly id: string; runs(file: string): number }

/** A session that A owns, with readers at all nodes. */
async function session(): Promise<Session> {
  const cwd = nodes.newFolder(`work-${++folders}`)
  const id = await createSession(a.client, cwd)
  for (const client of nodes.clients) watchers.push(new Watcher(client, id))
  const runs = (file: string) =>
    existsSync(join(cwd, file)) ? readFileSync(join(cwd, file), 'utf8').length : 0
  return { id, runs }
}

const done = { type: 'text', text: 'Done.' } as const
const write = (path: string) =>
  ({ type: 'tool', name: 'Write', kind: 'edit', effect: { writeFile: { path, text: 'x' } } }) as const
const pause = (ms: number) => ({ type: 'pause', ms }) as const

async function submit({ client }: NodeProcess, { id }: Session, ...steps: Script): Promise<void> {
  await client.prompt(id, scripted(...steps))
}

/** The open request of a session, as soon as this node shows it. */
async function asked<Type extends 'permission' | 'question'>(
  { client }: NodeProcess,
  { id }: Session,
  type: Type,
) {
  return open(await stateWhen(client, id, ({ requests }) => requests.length > 0), type)
}

/** The outcomes of all turns when the session is idle, as this node shows them. */
async function outcomes({ client }: NodeProcess, { id }: Session, turns = 1): Promise<string[]> {
  await stateWhen(client, id, (state) => isIdle(state) && state.turns >= turns)
  return eventsOf(await logOf(client, id), 'turn.ended').map(({ outcome }) => outcome)
}

async function idOf({ inbound }: NodeProcess): Promise<number> {
  const [row] = await nodes.sql<{ id: number }>(
    'SELECT id FROM parley.nodes WHERE url = $1 AND fenced_at IS NULL',
    inbound.url,
  )
  return row?.id ?? 0
}

it('open requests can be answered at any node after the owner was killed, and a running turn is recorded as unknown', async () => {
  const [asking, questioning, working] = [await session(), await session(), await session()]
  await submit(b, asking, permission('once'), done)
  await submit(c, questioning, colour, done)
  await submit(a, working, write('begun'), pause(60_000), write('never'))
  await submit(b, working, write('queued'), done)
  const request = await asked(c, asking, 'permission')
  const question = await asked(b, questioning, 'question')
  await nodes.until(() => working.runs('begun') === 1)
  await a.end('SIGKILL')
  const [, waited] = await Promise.all([
    b.client.decide(asking.id, request.requestId, 'allow'),
    c.client.answer(questioning.id, question.requestId, { colour: 'red' }),
  ])
  expect(waited.seq).toBeGreaterThan(0)
  expect(await outcomes(c, asking)).toEqual(['completed'])
  expect(await outcomes(b, questioning)).toEqual(['completed'])
  expect(await outcomes(b, working, 2)).toEqual(['unknown', 'completed'])
  expect(asking.runs('once')).toBe(1)
  expect([working.runs('begun'), working.runs('never'), working.runs('queued')]).toEqual([1, 0, 1])
})

it('another node takes over from an owner that was paused, which abandons its agents when it continues', async () => {
  const [asking, working] = [await session(), await session()]
  const before = await idOf(a)
  await submit(b, asking, permission('once'), done)
  const request = await asked(b, asking, 'permission')
  const due = performance.now() + 9_000
  await submit(a, working, write('begun'), pause(9_000), write('late'), done)
  await nodes.until(() => working.runs('begun') === 1)
  a.server.signal('SIGSTOP')
  await b.client.decide(asking.id, request.requestId, 'allow')
  expect(await outcomes(c, asking)).toEqual(['completed'])
  expect(await outcomes(c, working)).toEqual(['unknown'])
  a.server.signal('SIGCONT')
  await nodes.until(async () => (await idOf(a)) > before)
  // The agent of the new owner got the answer, so the agent of the former owner must not run the call.
  expect(asking.runs('once')).toBe(1)
  await submit(a, working, write('next'), done)
  expect(await outcomes(a, working, 2)).toEqual(['unknown', 'completed'])
  await sleep(due - performance.now() + 500)
  expect([working.runs('begun'), working.runs('late'), working.runs('next')]).toEqual([1, 0, 1])
})

it('another node takes over from an owner that is cut off from PostgreSQL, which comes back under another id', async () => {
  const asking = await session()
  const before = await idOf(a)
  await submit(a, asking, permission('once'), done)
  const request = await asked(b, asking, 'permission')
  a.database.stall()
  await b.client.decide(asking.id, request.requestId, 'allow')
  expect(await outcomes(c, asking)).toEqual(['completed'])
  expect(asking.runs('once')).toBe(1)
  a.database.resume()
  await nodes.until(async () => (await idOf(a)) > before)
  await submit(a, asking, write('next'), done)
  expect(await outcomes(a, asking, 2)).toEqual(['completed', 'completed'])
  expect(asking.runs('next')).toBe(1)
})

it('no node takes over while the nodes reach only PostgreSQL, not each other: events are read from it, and commands are refused as busy', async () => {
  const working = await session()
  await submit(b, working, done)
  expect(await outcomes(c, working)).toEqual(['completed'])
  const owner = await nodes.owner(working.id)
  for (const { inbound } of nodes.nodes) inbound.stall()
  const commandId = 'cmd_while_links_are_stalled'
  const again = () => b.client.prompt(working.id, scripted(write('repeated'), done), { commandId })
  const refused = again().catch((error) => error)
  await submit(a, working, write('here'), permission('once'), done)
  const request = await asked(b, working, 'permission')
  expect(hasCode(await refused, 'busy')).toBe(true)
  await a.client.decide(working.id, request.requestId, 'allow')
  expect(await outcomes(c, working, 2)).toEqual(['completed', 'completed'])
  expect(await nodes.owner(working.id)).toEqual(owner)
  for (const { inbound } of nodes.nodes) inbound.resume()
  // The former owner may get the first request late, so the request is repeated with the same id.
  await again()
  expect(await outcomes(b, working, 3)).toEqual(['completed', 'completed', 'completed'])
  expect([working.runs('here'), working.runs('once'), working.runs('repeated')]).toEqual([1, 1, 1])
  expect(await nodes.owner(working.id)).toEqual(owner)
})

it('nodes wait while PostgreSQL is down, announce nothing that is not stored, and continue by themselves', async () => {
  const [asking, working] = [await session(), await session()]
  await submit(b, asking, permission('once'), done)
  const request = await asked(c, asking, 'permission')
  await submit(a, working, write('begun'), pause(200), write('later'), done)
  await nodes.until(() => working.runs('begun') === 1)
  await nodes.postgres.stop('SIGQUIT')
  const seen = watchers.map(({ mirror }) => mirror.getSnapshot().view.state.seq)
  const commandId = 'cmd_while_postgres_is_away'
  const prompted = nodes.until(() =>
    c.client.prompt(asking.id, scripted(write('next'), done), { commandId }).then(
      () => true,
      (error) => !hasCode(error, 'busy'),
    ),
  )
  // The pause is longer than a lease: every node gives its sessions up.
  await sleep(4_000)
  const after = watchers.map(({ mirror }) => mirror.getSnapshot().view.state.seq)
  await nodes.postgres.start()
  await prompted
  const stored = await Promise.all(watchers.map(async (watcher) => (await watcher.log()).length))
  expect(after.every((seq, index) => seq >= seen[index]! && seq <= stored[index]!)).toBe(true)
  await nodes.until(async () => (await nodes.living()).length === 3)
  await b.client.decide(asking.id, request.requestId, 'allow')
  expect(await outcomes(b, asking, 2)).toEqual(['completed', 'completed'])
  expect([asking.runs('once'), asking.runs('next')]).toEqual([1, 1])
  expect(['completed', 'unknown']).toContain((await outcomes(c, working))[0])
  expect(working.runs('later')).toBeLessThanOrEqual(1)
})

it('nothing is lost and no owner changes when PostgreSQL ends all connections', async () => {
  const working = await session()
  const owner = await nodes.owner(working.id)
  for (let turn = 1; turn <= 6; turn++) {
    const prompted = submit(nodes.nodes[turn % 3]!, working, pause(20), write(`turn-${turn}`), done)
    await nodes.endConnections()
    await prompted
  }
  expect(await outcomes(b, working, 6)).toEqual(Array(6).fill('completed'))
  for (let turn = 1; turn <= 6; turn++) expect(working.runs(`turn-${turn}`)).toBe(1)
  expect(await nodes.owner(working.id)).toEqual(owner)
})

it('a node that is stopped hands its sessions over', async () => {
  const [asking, working] = [await session(), await session()]
  await submit(b, asking, permission('once'), done)
  await submit(a, working, pause(60_000), write('never'))
  await submit(b, working, write('queued'), done)
  const request = await asked(b, asking, 'permission')
  await a.end('SIGTERM')
  await b.client.decide(asking.id, request.requestId, 'allow')
  expect(await outcomes(c, asking)).toEqual(['completed'])
  expect(await outcomes(c, working, 2)).toEqual(['cancelled', 'completed'])
  expect([asking.runs('once'), working.runs('never'), working.runs('queued')]).toEqual([1, 0, 1])
})

/**
 * The clock of PostgreSQL cannot be changed in a test. Changing the end of a lease has the same effect, because this
 * clock is used only to compare leases with it.
 */
it('two nodes never write at the same time when the clock of PostgreSQL jumps and a living owner is replaced early', async () => {
  const asking = await session()
  const before = await idOf(a)
  await submit(b, asking, permission('once'), done)
  const request = await asked(c, asking, 'permission')
  const { term } = await nodes.owner(asking.id)
  await nodes.sql(
    "UPDATE parley.nodes SET expires_at = expires_at - interval '1 hour' WHERE id = $1 AND fenced_at IS NULL",
    before,
  )
  await nodes.until(async () => (await idOf(a)) > before)
  await a.client.decide(asking.id, request.requestId, 'allow')
  expect(await outcomes(b, asking)).toEqual(['completed'])
  expect(asking.runs('once')).toBe(1)
  expect((await nodes.owner(asking.id)).term).toBeGreaterThan(term)
})

it('a rolling upgrade under load loses nothing and does nothing twice', async () => {
  const { balancer } = nodes
  const cwd = nodes.newFolder('upgrade')
  const clients = [balancer.newClient(), balancer.newClient(), balancer.newClient()]
  const created = clients.map((client) => client.createSession({ agent: 'scripted', cwd }))
  const sessions = (await Promise.all(created)).map(({ id }) => id)
  const readers = clients.flatMap((client) => sessions.map((id) => new Watcher(client, id)))
  const work = new Work({ clients, sessions, random: Math.random })
  const submitting = work.submitOnAndOn(150)
  const answering = Promise.all(readers.slice(0, 3).map((reader) => work.answerOnAndOn(reader)))
  for (const node of nodes.nodes) {
    await node.end('SIGTERM')
    await sleep(200)
    await nodes.allUp()
  }
  work.stopSubmitting()
  await submitting
  await Promise.all(readers.map((reader) => reader.untilIdle(work.heads)))
  work.stopAnswering()
  await answering
  await Promise.all(readers.map((reader) => reader.compare()))
  for (const reader of readers) expect(reader.problems).toEqual([])
  const { prompts, completed = 0 } = await work.check(readers.slice(0, 3), cwd)
  expect(completed).toBeGreaterThan(0)
  expect(prompts).toBeGreaterThan(3)
  for (const client of clients) client.close()
})
