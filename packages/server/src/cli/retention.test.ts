import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { hostUnderTest } from '../core/host-under-test.ts'
import { createHome } from './program-under-test.ts'
import { Retention, type RetentionOptions } from './retention.ts'

const [hour, day] = [3_600_000, 86_400_000]
const times = { archiveAfter: 30 * day, deleteAfter: 180 * day }

async function hostWithRetention(more: Partial<RetentionOptions> = {}) {
  const test = await hostUnderTest()
  const lines: string[] = []
  const write = (fields: object, text?: string) => {
    const { sessionId, err } = fields as { sessionId?: string; err?: Error }
    lines.push(`${text} ${err?.message ?? sessionId}`)
  }
  const logger = { info: write, warn: write } as unknown as RetentionOptions['logger']
  const clock = { now: test.time.now, after: test.time.after }
  const retention = new Retention({ host: test.host, times, isUsed: () => false, logger, clock, ...more })
  onTestFinished(async () => {
    await retention.stop()
    await test[Symbol.asyncDispose]()
  })
  const all = async () => (await test.host.list({ limit: 500 })).sessions
  return { ...test, time: test.time, retention, lines, all }
}

it('an unused session is archived and later deleted, each with a log line', async () => {
  const { create, time, retention, lines, all } = await hostWithRetention()
  const old = await create()
  await old.play({ type: 'text', text: 'Hello.' })
  time.advance(29 * day)
  await retention.sweep()
  expect(await all()).toMatchObject([{ id: old.id, archived: false }])
  time.advance(day)
  const fresh = await create()
  await retention.sweep()
  expect(await all()).toMatchObject([
    { id: fresh.id, archived: false },
    { id: old.id, archived: true },
  ])
  // Archiving does not count as use, so the session is deleted 180 days after its turn.
  time.advance(150 * day)
  await fresh.play({ type: 'text', text: 'Used.' })
  await retention.sweep()
  expect(await all()).toMatchObject([{ id: fresh.id, archived: false }])
  expect(lines).toEqual([`retention: archived ${old.id}`, `retention: deleted ${old.id}`])
})

it('pinned sessions and those with requests, queued prompts, running turns or shells are kept, however old', async () => {
  const inUse = new Set<string>()
  const { host, create, time, retention, all } = await hostWithRetention({ isUsed: (id) => inUse.has(id) })
  const [pinned, asking, queued, working, shell, idle] = [
    ...[await create(), await create(), await create()],
    ...[await create(), await create(), await create()],
  ] as const
  await host.patch(pinned.id, { pinned: true })
  await asking.submit({ type: 'permission', name: 'Write', kind: 'edit', title: 'Write' })
  await asking.when(({ requests }) => requests.length === 1)
  await queued.submit({ type: 'wait', gate: 'queued' })
  await queued.submit({ type: 'text', text: 'Later.' })
  await queued.when(({ queue }) => queue.length === 1)
  await queued.command({ type: 'turn.cancel', pauseQueue: true })
  await queued.when(({ turn }) => !turn)
  await working.submit({ type: 'wait', gate: 'working' })
  await working.when(({ turn }) => turn?.delivered === true)
  inUse.add(shell.id)
  time.advance(1_000 * day)
  await retention.sweep()
  const left = (await all()).map(({ id }) => id)
  expect(left.sort()).toEqual([pinned, asking, queued, working, shell].map(({ id }) => id).sort())
  expect(left).not.toContain(idle.id)
})

it('a session that is used between the list and its deletion is kept', async () => {
  const { host, create, time, all } = await hostWithRetention()
  const session = await create()
  time.advance(1_000 * day)
  const late: RetentionOptions['host'] = {
    ...host,
    async deleteIf(id, isDue) {
      await session.play({ type: 'text', text: 'Used again.' })
      return host.deleteIf(id, isDue)
    },
  }
  const { retention, lines } = await hostWithRetention({
    host: late,
    clock: { now: time.now, after: () => () => undefined },
  })
  await retention.sweep()
  expect(await all()).toMatchObject([{ id: session.id, status: 'idle' }])
  await session.play({ type: 'text', text: 'And again.' })
  expect(lines).toEqual([])
})

it('sessions are checked a minute after the start and then every hour, page by page', async () => {
  const { create, time, all } = await hostWithRetention()
  for (let count = 0; count < 120; count++) await create()
  const anHourLater = () => {
    time.advance(hour)
    return all()
  }
  time.advance(181 * day)
  await expect.poll(anHourLater).toEqual([])
  const later = await create()
  time.advance(31 * day)
  await expect.poll(anHourLater).toMatchObject([{ id: later.id, archived: true }])
})

it('parley retention lists due sessions without changing them, and a server with retention archives and deletes them', async () => {
  const home = createHome()
  onTestFinished(() => home[Symbol.asyncDispose]())
  expect((await home.run(['run', 'demo', 'help'])).exitCode).toBe(0)
  expect(await home.run(['retention'])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('Retention is off'),
  })
  using db = new DatabaseSync(join(home.dataDir, 'parley.sqlite'))
  const at = Date.now() - 40 * day
  db.exec(`UPDATE sessions SET updated_at = ${at}, state = json_set(state, '$.updatedAt', ${at})`)
  db.close()
  const tried = await home.run(['retention', '--delete-after', '30d', '--json'])
  expect(JSON.parse(tried.stdout)).toMatchObject({ due: 'delete', agent: 'demo' })
  mkdirSync(home.dataDir, { recursive: true })
  writeFileSync(
    join(home.dataDir, 'config.json'),
    '{ "retention": { "archiveAfter": "30d", "deleteAfter": "1y" } }',
  )
  expect(await home.run(['retention'])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('12h or 30d'),
  })
  writeFileSync(join(home.dataDir, 'config.json'), '{ "retention": { "archiveAfter": "30d" } }')
  const shown = await home.run(['retention'])
  expect(shown.stdout).toMatch(/^ID +DUE +UNUSED +AGENT +TITLE\nses_\w+ +archive +40d +demo +/)
  expect(shown.stderr).toContain('Nothing was changed')
  expect((await home.run(['sessions'])).stdout).not.toContain('archived')
})
