import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionView } from '@parley/protocol'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type NodeProcess, NodesFixture } from './nodes-fixture.ts'
import { exportOf, ledgerOf, verified } from './proof-fixture.ts'
import { Watcher } from './random-work.ts'
import { eventsOf, isIdle, logOf, open, permission, scripted, stateWhen } from './session-fixture.ts'

/** Tests the seals of logs, and the ledger, of three nodes on one database. Node A owns the sessions. */
let nodes: NodesFixture
let a: NodeProcess
let b: NodeProcess
let c: NodeProcess
let folders = 0

beforeAll(async () => {
  nodes = await NodesFixture.start()
  ;[a, b, c] = nodes.nodes
})
afterAll(() => nodes?.[Symbol.asyncDispose]())
beforeEach(() => nodes.allUp())

const say = (text: string) => ({ type: 'text', text }) as const
const pause = { type: 'pause', ms: 60_000 } as const

/** A session that A owns, after one turn. */
async function session(prompt = scripted(say('Done.'))): Promise<{ id: string; cwd: string }> {
  const cwd = nodes.newFolder(`proof-${++folders}`)
  const { id } = await a.client.createSession({ agent: 'scripted', cwd, prompt })
  await turnsAt(a, id, 1)
  return { id, cwd }
}

const turnsAt = ({ client }: NodeProcess, id: string, turns: number) =>
  stateWhen(client, id, (state) => isIdle(state) && state.turns >= turns)

/**
 * The number of seals of a session that wait for an entry in the ledger, and the number of entries that record a seal.
 */
async function sealsInLedger(id: string): Promise<{ queued: number; recorded: number }> {
  const [row] = await nodes.sql<{ queued: string; recorded: string }>(
    `SELECT
       (SELECT count(*) FROM parley.ledger_queue WHERE draft::json->>'subject' = $1) AS queued,
       (SELECT count(*) FROM parley.ledger WHERE kind = 'session.sealed' AND subject = $1) AS recorded`,
    id,
  )
  return { queued: Number(row?.queued), recorded: Number(row?.recorded) }
}

/** The text of a stream of events, when the server has ended it. */
async function eventStream({ server }: NodeProcess, id: string): Promise<string> {
  const headers = { authorization: `Bearer ${server.token}`, accept: 'text/event-stream' }
  return (await fetch(`${server.url}/api/sessions/${id}/events`, { headers })).text()
}

/** Keeps every node from writing the ledger until the result is called. */
async function holdLedger(): Promise<() => Promise<unknown>> {
  const hold = (until: string) =>
    nodes.sql(`UPDATE parley.ledger_lease SET holder = 'the test', until = clock_timestamp() + ${until}`)
  await hold("interval '1 hour'")
  return () => hold("interval '0'")
}

it('the seals of a log continue after its owner was killed between an event and the next seal', async () => {
  const { id, cwd } = await session()
  await b.client.prompt(
    id,
    scripted(
      say('Begins.'),
      { type: 'tool', name: 'Write', kind: 'edit', effect: { writeFile: { path: 'begun', text: 'x' } } },
      pause,
    ),
  )
  await nodes.until(() => existsSync(join(cwd, 'begun')))
  const before = await logOf(b.client, id)
  expect(before.at(-1)?.type).not.toBe('log.sealed')
  await a.end('SIGKILL')
  await turnsAt(b, id, 2)
  const log = await logOf(c.client, id)
  expect(log.slice(0, before.length)).toEqual(before)
  const seals = eventsOf(log, 'log.sealed')
  expect(seals.find(({ seq }) => seq > before.length)).toMatchObject({
    prev: seals[0]?.hash,
    from: seals[0]?.seq,
  })
  const result = await verified(c.client, id)
  expect(result).toMatchObject({ exitCode: 0, findings: [], missingInLedger: [], events: result.sealedTo })
  // Each node seals with a key of its own.
  expect(result.keyIds.length).toBeGreaterThan(1)
})

it('a survivor records a seal of a killed node that was not in the ledger yet', async () => {
  const { id } = await session()
  await nodes.until(async () => (await sealsInLedger(id)).recorded > 0)
  const release = await holdLedger()
  const before = await sealsInLedger(id)
  expect(before.queued).toBe(0)
  await b.client.prompt(id, scripted(say('Ends with a seal.')))
  await turnsAt(b, id, 2)
  await a.end('SIGKILL')
  expect(await sealsInLedger(id)).toEqual({ ...before, queued: 1 })
  await release()
  // Only the database is read, because a request for the ledger would record the seal at once.
  await nodes.until(async () => (await sealsInLedger(id)).queued === 0)
  // The new owner may have sealed the log too, when it recorded the end of the agent.
  expect((await sealsInLedger(id)).recorded).toBeGreaterThan(before.recorded)
  await b.client.prompt(id, scripted(say('Again.')))
  await turnsAt(c, id, 3)
  expect(await verified(c.client, id)).toMatchObject({ exitCode: 0, findings: [], missingInLedger: [] })
})

it('there is one chain of seals and a whole ledger while the session moves from node to node', async () => {
  const { id } = await session()
  const watcher = new Watcher(nodes.balancer.newClient(), id)
  for (const [index, node] of [a, b, c, a].entries()) {
    const owner = nodes.nodes.find(({ name }) => name !== node.name) ?? node
    await owner.client.prompt(id, scripted(permission(`file-${index}`), say('Done.')))
    const { requestId } = open(
      await stateWhen(owner.client, id, ({ requests }) => requests.length > 0),
      'permission',
    )
    await owner.client.decide(id, requestId, 'allow')
    await turnsAt(owner, id, index + 2)
    const { name } = await nodes.owner(id)
    await nodes.nodes.find((one) => one.name === name)?.end('SIGKILL')
    await nodes.allUp()
  }
  const result = await verified(b.client, id)
  expect(result).toMatchObject({ exitCode: 0, findings: [], missingInLedger: [] })
  expect(result.calls.map(({ by }) => by)).toEqual(['person', 'person', 'person', 'person'])
  await watcher.compare()
  expect(watcher.problems).toEqual([])
  watcher.close()
})

it('a node that is not the owner can redact, and readers at all nodes read the log again in a new epoch', async () => {
  const { id } = await session(scripted(say('The password is hunter2.')))
  const mirrors = nodes.clients.map((client) => client.mirror(id, { tail: 'all' }))
  const until = (holds: (view: SessionView) => boolean) =>
    Promise.all(
      mirrors.map((mirror) =>
        mirror.until(({ status, view }) => status === 'live' && holds(view), AbortSignal.timeout(20_000)),
      ),
    )
  await until((view) => JSON.stringify(view).includes('hunter2'))
  const streams = nodes.nodes.map((node) => eventStream(node, id))
  const { epoch, seq: head } = await stateWhen(a.client, id, isIdle)
  const log = await logOf(c.client, id)
  const written = log.flatMap((event) => (JSON.stringify(event).includes('hunter2') ? [event.seq] : []))
  expect(written.length).toBeGreaterThan(1)
  for (const seq of written)
    await c.client.call('redactEvent', { params: { id, seq }, body: { reason: 'a password' } })
  const { epoch: last } = await b.client.call('getSession', { params: { id }, query: { tail: 0 } })
  expect(last).not.toBe(epoch)
  const shown = await until(({ state }) => state.epoch === last)
  expect(JSON.stringify(shown)).not.toContain('hunter2')
  for (const { client } of nodes.nodes) {
    expect(await exportOf(client, id)).not.toContain('hunter2')
    await expect(
      client.call('events', { params: { id }, query: { after: 0, epoch, limit: 1 } }),
    ).rejects.toMatchObject({ code: 'conflict' })
  }
  await b.client.prompt(id, scripted(say('After the redaction.')))
  await turnsAt(c, id, 2)
  const result = await verified(b.client, id)
  expect(result).toMatchObject({ exitCode: 0, findings: [], missingInLedger: [] })
  expect(result.redacted.map(({ seq }) => seq)).toEqual(written)
  expect(result.sealedTo).toBeGreaterThan(head)
  const recorded = (await ledgerOf(a.client, id)).filter(({ kind }) => kind === 'event.redacted')
  expect(recorded.map(({ data }) => data?.seq)).toEqual(written)
  expect(recorded[0]).toMatchObject({ actor: { token: { name: 'this machine' } } })
  for (const mirror of mirrors) mirror.close()
  for (const stream of await Promise.all(streams)) expect(stream).toContain('event: ended')
})

it('a redaction of a session whose owner was killed keeps the seals of both nodes', async () => {
  const { id } = await session(scripted(say('The password is hunter2.')))
  const log = await logOf(b.client, id)
  const written = log.find(({ type }) => type === 'text.written')?.seq ?? 0
  await a.end('SIGKILL')
  await b.client.call('redactEvent', { params: { id, seq: written }, body: { reason: 'a password' } })
  await c.client.prompt(id, scripted(say('After the redaction.')))
  await turnsAt(b, id, 2)
  await a.start()
  const result = await verified(a.client, id)
  expect(result).toMatchObject({ exitCode: 0, findings: [], missingInLedger: [] })
  expect(result.redacted).toMatchObject([{ seq: written }])
  expect(result.keyIds.length).toBeGreaterThan(1)
})

it('a deletion at a node that is not the owner ends all readers and records the last seal', async () => {
  const { id } = await session()
  const { sealed } = await stateWhen(a.client, id, isIdle)
  const mirrors = nodes.clients.map((client) => client.mirror(id))
  await Promise.all(mirrors.map((mirror) => mirror.until(({ status }) => status === 'live')))
  await b.client.call('deleteSession', { params: { id } })
  for (const { client } of nodes.nodes)
    await expect(exportOf(client, id)).rejects.toMatchObject({ code: 'not_found' })
  for (const mirror of mirrors)
    await expect(mirror.until(() => false)).rejects.toMatchObject({ code: 'not_found' })
  const deleted = (await ledgerOf(c.client, id)).filter(({ kind }) => kind === 'session.deleted')
  expect(deleted).toHaveLength(1)
  expect(deleted[0]).toMatchObject({ data: { sealed } })
  for (const mirror of mirrors) mirror.close()
})
