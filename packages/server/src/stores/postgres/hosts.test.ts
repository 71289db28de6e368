import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionEvent } from '@parley/protocol'
import { expect, it, vi } from 'vitest'
import { logProblems } from '../../testing/invariants.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { lose, nodeHosts, script } from './hosts-under-test.ts'
import { PostgresServer } from './postgres-under-test.ts'

/** Tests two hosts in one process, each a node on the same database, with the scripted agent. */

const server = await PostgresServer.forFile()
const folder = folderForFile()
const open = nodeHosts(server, folder)
let files = 0

it('a session is written by its owner, and other nodes refuse writes with the address of the owner', async () => {
  const url = await server.database()
  const [one, other] = [await open(url), await open(url)]
  const { id } = await one.host.create({
    agent: 'scripted',
    cwd: folder,
    prompt: script({ type: 'text', text: 'Hello.' }),
  })
  await vi.waitUntil(async () => (await one.host.state(id)).turns === 1, 30_000)
  const refused = other.host.command(id, { type: 'prompt.submit', commandId: 'c', text: 'x' })
  await expect(refused).rejects.toMatchObject({
    code: 'conflict',
    details: { owner: { url: expect.stringContaining('http://127.0.0.1') } },
  })
  expect((await other.host.list({ limit: 10 })).sessions.map((session) => session.id)).toEqual([id])
})

it('after its owner is cut off, another node recovers a session with an open request, and the effect runs once', async () => {
  const url = await server.database()
  const [one, other] = [await open(url), await open(url)]
  const file = `effect-${++files}`
  const effect = { writeFile: { path: join(folder, file), text: 'x' } }
  const ask = { type: 'permission', name: 'Write', kind: 'edit', title: 'Write', effect }
  const { id } = await one.host.create({
    agent: 'scripted',
    cwd: folder,
    prompt: script(ask, { type: 'text', text: 'Done.' }),
  })
  await vi.waitUntil(async () => (await one.host.state(id)).requests.length === 1, 30_000)
  await lose(one, other)
  const [request] = (await other.host.state(id)).requests
  await other.host.command(id, {
    type: 'permission.decide',
    commandId: 'd',
    requestId: request?.requestId ?? '',
    decision: 'allow',
  })
  await vi.waitUntil(async () => !(await other.host.state(id)).turn, 30_000)
  one.proxy.cut()
  one.proxy.resume()
  const { events } = await other.host.read(id, { after: 0, limit: 1_000 })
  expect(logProblems(events.map(({ json }) => JSON.parse(json)))).toEqual([])
  expect(readFileSync(join(folder, file), 'utf8')).toBe('x')
})

it('a session can be read and followed on a node that does not own it', async () => {
  const url = await server.database()
  const [one, other] = [await open(url), await open(url)]
  const { id } = await one.host.create({ agent: 'scripted', cwd: folder })
  const seen: SessionEvent[] = []
  const reading = (async () => {
    for await (const event of other.host.events(id)) {
      seen.push(event as SessionEvent)
      if (seen.filter(({ type }) => type === 'turn.ended').length === 3) return
    }
  })()
  for (let turn = 1; turn <= 3; turn++) {
    const text = script({ type: 'text', text: `Turn ${turn}.` })
    await one.host.command(id, { type: 'prompt.submit', commandId: `c${turn}`, text })
    await vi.waitUntil(async () => (await one.host.state(id)).turns === turn, 30_000)
  }
  await reading
  const { events } = await one.host.read(id, { after: 0, limit: 1_000 })
  expect(seen).toEqual(events.slice(0, seen.length).map(({ json }) => JSON.parse(json)))
  expect(await other.host.read(id, { after: 0, limit: 1_000 })).toMatchObject({ head: events.length })
  expect((await other.host.detail(id, 10)).turns).toBe(3)
  expect(other.node.ownership.node).not.toBe(one.node.ownership.node)
  await expect(other.host.command(id, { type: 'session.close', commandId: 'c' })).rejects.toMatchObject({
    code: 'conflict',
  })
})

it('a session that another node owned before can be forked, and an interrupted fork is finished by another node', async () => {
  const url = await server.database()
  const [one, other] = [await open(url), await open(url)]
  const { id } = await one.host.create({
    agent: 'scripted',
    cwd: folder,
    prompt: script({ type: 'text', text: 'Hello.' }),
  })
  await vi.waitUntil(async () => (await one.host.state(id)).turns === 1, 30_000)
  await one.host.close()
  const fork = { type: 'session.fork', commandId: 'f' } as const
  await vi.waitUntil(() => other.host.command(id, fork).then(Boolean, () => false), 30_000)
  const { sessions } = await other.host.list({ limit: 10 })
  const child = sessions.find((session) => session.id !== id)?.id ?? ''
  const before = await other.host.read(child, { after: 0, limit: 1_000 })
  expect(logProblems(before.events.map(({ json }) => JSON.parse(json)))).toEqual([])

  // Simulates that the first node died in the middle of the copy.
  await server.admin(async (sql) => {
    await sql`UPDATE parley.sessions SET head = 1, owner = NULL,
      state = jsonb_set(state::jsonb, '{seq}', '1')::text WHERE id = ${child}`
    await sql`DELETE FROM parley.events WHERE seq > 1
      AND session_key = (SELECT key FROM parley.sessions WHERE id = ${child})`
    await sql`DELETE FROM parley.receipts WHERE command_id = 'f'`
  }, url)
  const again = await open(url)
  await other.host.close()
  await vi.waitUntil(() => again.host.command(id, fork).then(Boolean, () => false), 30_000)
  const after = await again.host.read(child, { after: 0, limit: 1_000 })
  expect(after.events.slice(0, -1)).toEqual(before.events.slice(0, -1))
})
