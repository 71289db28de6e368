import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { openPostgresStore } from '../stores/postgres/index.ts'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { openSqliteStore } from '../stores/sqlite.ts'
import {
  awkwardTexts,
  callBlock,
  eventsOf,
  openTurn,
  receiptOf,
  ruleOf,
  stateOf,
  textBlock,
} from '../testing/store-samples.ts'
import { createHome, type Home } from './program-under-test.ts'

/** `parley migrate` with real SQLite files and a real PostgreSQL. */

const postgres = await PostgresServer.forFile()

const fileOf = ({ dataDir }: Home) => join(dataDir, 'parley.sqlite')

function isObject(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object' && text !== 'null'
  } catch {
    return false
  }
}

/** Fills a data folder with everything that a store keeps. */
async function fill(home: Home, sessions = 20): Promise<void> {
  const store = openSqliteStore({ file: fileOf(home) })
  const awkward = 'a "\u{1f600}\ud800\0 b'
  const texts = awkwardTexts(awkward).filter(isObject)
  await store.create({
    sessionId: awkward,
    epoch: 'e',
    state: stateOf(awkward, { title: 'A\0B', agent: 'x' }),
    events: texts.map((json, index) => ({ seq: index + 1, json })),
  })
  for (let index = 0; index < sessions; index++) {
    const id = `s${index}`
    const turn = index % 3 === 0 ? { turn: openTurn } : {}
    const more = { title: `Session ${index}`, updatedAt: index, pinned: index === 7, archived: index === 8 }
    const state = stateOf(id, { ...turn, ...more })
    await store.create({ sessionId: id, epoch: `e${index}`, state, events: eventsOf(id, 1, 3) })
    await store.append({
      sessionId: id,
      events: eventsOf(id, 4, 1),
      receipt: receiptOf(`c\ud800${index}`, 4),
    })
    if (index % 3 === 0) await store.checkpoint(id, [textBlock('b', 'half'), callBlock('c', '{"a', 'out\0')])
  }
  for (let count = 1; count <= 350; count++)
    await store.append({ sessionId: 's1', events: [], receipt: receiptOf(`r${count}`, 4) })
  await store.addRule(ruleOf('r2', { project: '/code' }))
  await store.addRule(ruleOf('r1', { sessionId: 's1' }))
  await store.addRule(ruleOf('r3'))
  await store.trustFolder({ folder: '/z', trustedAt: 5 })
  await store.trustFolder({ folder: '/a\ud800', trustedAt: 6 })
  await store.setEnvironment({ scope: 'folder', place: '/z', variables: { KEY: 'geheim' } })
  await store.setEnvironment({ scope: 'session', place: 's1', variables: { B: '2', A: '1' } })
  const device = { kind: 'device', data: { name: 'Phone', publicKey: 'k' }, createdAt: 1, usedAt: 2 } as const
  await store.putAccessRecord({ ...device, id: 'd2' })
  await store.putAccessRecord({ ...device, id: 'd1', retiredAt: 3 })
  await store.putTarget({ id: 't2', data: { kind: 'push' }, createdAt: 4, last: { ok: true } })
  await store.putTarget({ id: 't1', data: { kind: 'webhook' }, createdAt: 5 })
  await store.addAlerts({ session: 's1', from: undefined, to: 4, deliveries: [] })
  await store.pushKey(() => 'a key')
  await store.addDecisionLink(openLink, 9)
  await store.close()
}

/** Decision links are not copied: each applies to one request for a few hours, and the copy has other addresses. */
const openLink = {
  ...{
    id: 'l1',
    hash: 'h1',
    session: 's1',
    request: 'r1',
    inputHash: 'i',
    decisions: ['deny'] as const,
    name: 'link',
  },
  createdBy: { personId: 'p', holder: { kind: 'device', id: 'd2' } },
  ...{ createdAt: 1, expiresAt: Number.MAX_SAFE_INTEGER },
} as const

/** Every row of a SQLite file, without the keys of sessions, which depend on the order of creation. */
function rowsOf(home: Home): Record<string, unknown[]> {
  using database = new DatabaseSync(fileOf(home), { readOnly: true })
  const all = (sql: string) => database.prepare(sql).all()
  const sessions = 'JOIN sessions s ON s.key ='
  return {
    sessions: all(`SELECT id, epoch, agent, status, archived, pinned, unsettled, waiting_since, updated_at,
      agent_session_id, search, state FROM sessions ORDER BY id`),
    events: all(
      `SELECT s.id AS session, e.id & 4294967295 AS seq, body FROM events e ${sessions} e.id >> 32 ORDER BY 1, 2`,
    ),
    receipts: all(
      `SELECT s.id AS session, command_id, hash, receipt FROM receipts ${sessions} session_key ORDER BY 1, 2`,
    ),
    checkpoints: all(
      `SELECT s.id AS session, block, field, body FROM checkpoints ${sessions} session_key ORDER BY 1, 2, 3`,
    ),
    rules: all('SELECT id, session_id, rule FROM rules ORDER BY number'),
    folders: all('SELECT folder, trusted_at FROM trusted_folders ORDER BY number'),
    environments: all('SELECT scope, place, variables FROM environments ORDER BY number'),
    access: all('SELECT kind, id, data, created_at, used_at, retired_at FROM access_records ORDER BY number'),
    targets: all('SELECT id, data, created_at, last FROM alert_targets ORDER BY number'),
    cursors: all('SELECT session, seq FROM alert_cursors ORDER BY session'),
    keys: all('SELECT name, value FROM alert_keys'),
    version: all('PRAGMA user_version'),
    mark: all('PRAGMA application_id'),
  }
}

const migrated = async (home: Home, ...args: string[]) => {
  const { exitCode, stdout, stderr } = await home.run(['migrate', ...args])
  return { exitCode, said: `${stdout}${stderr}` }
}
const done = { exitCode: 0 }

describe('parley migrate', () => {
  it('copies everything into PostgreSQL and back, and leaves the source unchanged', async () => {
    await using home = createHome()
    await using copy = createHome()
    await fill(home, 250)
    const before = rowsOf(home)
    const url = await postgres.database()
    const { exitCode, said } = await migrated(home, '--to', url, '--place', 'desk')
    expect(said).toContain('Copied and verified: 251 sessions')
    expect(said).toMatch(/^Copying: 251 of 251 sessions, \d+ events$/m)
    expect(said).toMatch(/^Verifying: 251 of 251 sessions, \d+ events$/m)
    expect(said).not.toContain('geheim')
    expect(exitCode).toBe(0)
    expect(rowsOf(home)).toEqual(before)
    const places = await postgres.admin((sql) => sql`SELECT DISTINCT place, owner FROM parley.sessions`, url)
    expect([...places]).toEqual([{ place: 'machine:desk', owner: null }])
    expect(await migrated(home, '--to', url, '--place', 'desk', '--check')).toMatchObject(done)
    expect(await migrated(copy, '--from', url, '--place', 'desk')).toMatchObject(done)
    expect(rowsOf(copy)).toEqual(before)
    for (const [from, count] of [
      [home, 1],
      [copy, 0],
    ] as const) {
      using database = new DatabaseSync(fileOf(from), { readOnly: true })
      expect(database.prepare('SELECT id FROM decide_links').all()).toHaveLength(count)
    }
  })

  it('omits settings of other machines when it copies into a data folder', async () => {
    await using home = createHome()
    await using copy = createHome()
    await fill(home)
    const url = await postgres.database()
    expect(await migrated(home, '--to', url, '--place', 'desk')).toMatchObject(done)
    const { exitCode, said } = await migrated(copy, '--from', url, '--place', 'laptop')
    expect(exitCode).toBe(0)
    expect(said).toContain('4 settings of folders on other machines were left out')
    const { sessions, folders, rules, environments } = rowsOf(copy)
    expect(sessions).toHaveLength(21)
    expect(folders).toEqual([])
    expect(rules).toHaveLength(2)
    expect(environments).toHaveLength(1)
  })

  it('replaces an unreadable event with the notice that readers get', async () => {
    await using home = createHome()
    await fill(home)
    {
      using database = new DatabaseSync(fileOf(home))
      database.exec(
        `UPDATE events SET body = '12,"type":' WHERE id = (SELECT key << 32 | 2 FROM sessions WHERE id = 's9')`,
      )
    }
    const url = await postgres.database()
    expect(await migrated(home, '--to', url)).toMatchObject(done)
    const store = await openPostgresStore({ url })
    const [event] = await store.read('s9', { after: 1, limit: 1 })
    await store.close()
    expect(JSON.parse(event?.json ?? '')).toMatchObject({ code: 'event-unreadable', seq: 2 })
  })

  it('finds every kind of difference', async () => {
    await using home = createHome()
    await fill(home)
    const url = await postgres.database()
    expect(await migrated(home, '--to', url)).toMatchObject(done)
    const changes = [
      [
        `UPDATE parley.events SET body = replace(body, 'n 2', 'n 3') WHERE seq = 2 AND session_key = 9`,
        'event 2',
      ],
      [`DELETE FROM parley.receipts WHERE command_id = 'r17'`, 'receipts'],
      [`UPDATE parley.receipts SET hash = 'x' WHERE command_id = 'r18'`, 'receipts'],
      [`UPDATE parley.checkpoints SET body = '"full"' WHERE body = '"half"'`, 'checkpoints'],
      [`UPDATE parley.sessions SET state = replace(state, 'Session 5', 'Session 6')`, 'the state of session'],
      [`DELETE FROM parley.sessions WHERE id = 's11'`, 's11'],
      [`UPDATE parley.sessions SET head = 3 WHERE id = 's12'`, 'the state of session s12'],
      [
        `UPDATE parley.environments SET variables = replace(variables, 'geheim', 'x')`,
        'environment variables',
      ],
      [`DELETE FROM parley.trusted_folders WHERE folder = '/z'`, 'trusted folders'],
      [`UPDATE parley.rules SET rule = replace(rule, 'allow', 'deny') WHERE id = 'r2'`, 'rules'],
      [
        `UPDATE parley.access_records SET data = replace(data, 'Phone', 'Tablet')`,
        'people, devices and tokens',
      ],
    ] as const
    for (const [index, [change, named]] of changes.entries()) {
      const fresh = `${url}_${index}`
      const [template, name] = [url, fresh].map((one) => new URL(one).pathname.slice(1))
      await postgres.admin((sql) => sql.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template}`))
      await postgres.admin((sql) => sql.unsafe(change), fresh)
      const { exitCode, said } = await migrated(home, '--to', fresh, '--check')
      expect({ exitCode, said }).toEqual({ exitCode: 1, said: expect.stringContaining(named) })
      expect(said).not.toContain('geheim')
    }
  })

  it('refuses a target that is not empty, and changes nothing in it', async () => {
    await using home = createHome()
    await fill(home)
    const url = await postgres.database()
    const store = await openPostgresStore({ url })
    await store.trustFolder({ folder: '/x', trustedAt: 1 })
    await store.close()
    const { exitCode, said } = await migrated(home, '--to', url)
    expect(exitCode).toBe(1)
    expect(said).toContain('is not empty')
    await using other = createHome()
    await fill(other)
    const before = rowsOf(other)
    expect(await migrated(other, '--from', url)).toMatchObject({ exitCode: 1 })
    expect(rowsOf(other)).toEqual(before)
  })

  it('refuses while a server uses the source or the target', async () => {
    await using home = createHome()
    await fill(home)
    const url = await postgres.database()
    const server = await home.serve()
    expect((await migrated(home, '--to', url)).said).toContain('Another Parley')
    server.running.child.kill('SIGTERM')
    await server.running.ended
    await using node = createHome()
    const running = await node.serve([], { env: { PARLEY_DATABASE_URL: url } })
    for (const [where, flag] of [
      [home, '--to'],
      [createHome(), '--from'],
    ] as const) {
      const { exitCode, said } = await migrated(where, flag, url)
      expect(exitCode).toBe(1)
      expect(said).toContain(`A node uses this database (${running.url})`)
    }
  })

  it.each([
    [[], 'Give either --to or --from'],
    [['--to', 'postgres://a/b', '--from', 'postgres://a/b'], 'Give either --to or --from'],
    [['--to'], 'PARLEY_DATABASE_URL'],
    [['--to', 'mysql://a/b'], 'URL of a PostgreSQL database'],
    [['--to', 'postgres://a/b'], 'nothing to copy'],
  ])('answers %j with exit code 2', async (args, words) => {
    await using home = createHome()
    const { exitCode, said } = await migrated(home, ...args)
    expect({ exitCode, said }).toEqual({ exitCode: 2, said: expect.stringContaining(words) })
  })

  it('takes the URL from the configuration, and reports as JSON', async () => {
    await using home = createHome()
    await fill(home)
    const databaseUrl = await postgres.database()
    writeFileSync(join(home.dataDir, 'config.json'), JSON.stringify({ databaseUrl }))
    const { exitCode, stdout } = await home.run(['migrate', '--to', '--json'])
    expect(exitCode).toBe(0)
    const result = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as unknown
    expect(result).toMatchObject({
      type: 'result',
      sessions: 21,
      receipts: 370,
      settings: 11,
      skippedSettings: 0,
    })
  })
})

it('a server continues the sessions of a copied data folder', async () => {
  await using home = createHome()
  expect((await home.run(['run', 'demo', 'help'])).exitCode).toBe(0)
  const env = { PARLEY_DATABASE_URL: await postgres.database() }
  const to = await home.run(['migrate', '--to'], { env })
  expect(to.exitCode, to.stderr).toBe(0)
  const server = await home.serve([], { env })
  expect((await home.run(['sessions'])).stdout).toContain('help')
  expect((await home.run(['run', 'demo', 'help', '--session', 'last'])).exitCode).toBe(0)
  server.running.child.kill('SIGTERM')
  expect((await server.running.ended).stderr).not.toContain('are not served')
  await using back = createHome()
  expect((await back.run(['migrate', '--from'], { env })).exitCode).toBe(0)
  expect((await back.run(['sessions'])).stdout).toContain('help')
})

const longText = 'x'.repeat(6_000)
const eventCount = 10_000
/** A heap that is too small for the log of `fillLong`. */
const littleMemory = { env: { NODE_OPTIONS: '--max-old-space-size=56' } }
const slowMs = 600_000

async function fillLong(home: Home): Promise<void> {
  const store = openSqliteStore({ file: fileOf(home) })
  await store.create({ sessionId: 'long', epoch: 'e', state: stateOf('long'), events: [] })
  for (let first = 1; first <= eventCount; first += 1_000) {
    const events = eventsOf('long', first, 1_000).map(({ seq, json }) => ({
      seq,
      json: json.replace('"text":"', `"text":"${longText}`),
    }))
    await store.append({ sessionId: 'long', events })
  }
  await store.close()
}

/** Starts a copy, and kills it when something was copied. */
async function killed(home: Home, args: string[], isBegun: () => Promise<boolean>): Promise<void> {
  const first = home.start(['migrate', ...args], littleMemory)
  while (!(await isBegun())) await new Promise((resolve) => setTimeout(resolve, 10))
  first.child.kill('SIGKILL')
  expect((await first.ended).exitCode).toBeNull()
}

const copiedEvents = async (url: string) => {
  const rows = await postgres.admin(
    (sql) => sql.unsafe<{ count: number }[]>('SELECT count(*)::int AS count FROM parley.events'),
    url,
  )
  return rows[0]?.count ?? 0
}

it(
  'a killed copy into PostgreSQL is refused by servers, and continued by the next run, in little memory',
  async () => {
    await using home = createHome()
    await fillLong(home)
    const url = await postgres.database()
    await killed(home, ['--to', url], async () => (await copiedEvents(url).catch(() => 0)) > 0)
    expect(await copiedEvents(url)).toBeLessThan(eventCount)

    await using node = createHome()
    const refused = await node.start(['--port', '0'], { env: { PARLEY_DATABASE_URL: url } }).ended
    expect(refused.exitCode).toBe(1)
    expect(refused.stderr).toContain('unfinished copy')
    await using stranger = createHome()
    await fill(stranger)
    expect((await migrated(stranger, '--to', url)).said).toContain('of another source')

    const second = await home.start(['migrate', '--to', url], littleMemory).ended
    expect(second).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`${eventCount} events`) })
    expect(await copiedEvents(url)).toBe(eventCount)
  },
  slowMs,
)

it(
  'a killed copy into a data folder is refused by commands, and continued by the next run',
  async () => {
    await using home = createHome()
    await fillLong(home)
    const url = await postgres.database()
    expect(await migrated(home, '--to', url)).toMatchObject(done)
    await using back = createHome()
    await killed(back, ['--from', url], async () => isLarge(fileOf(back)))
    expect((await back.run(['sessions'])).stderr).toContain('unfinished copy')
    expect(await back.start(['migrate', '--from', url], littleMemory).ended).toMatchObject({ exitCode: 0 })
    expect(rowsOf(back)).toEqual(rowsOf(home))
  },
  slowMs,
)

function isLarge(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 2_000_000
}
