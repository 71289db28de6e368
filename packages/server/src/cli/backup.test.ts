import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createClient } from '@parley/client'
import { expect, it, onTestFinished } from 'vitest'
import { migrations } from '../stores/migrations/index.ts'
import { openSqliteStore } from '../stores/sqlite.ts'
import { openSqliteDatabase, unfinishedCopy } from '../stores/sqlite-database.ts'
import { createHome, type Home } from './program-under-test.ts'

function homeForTest(): Home {
  const home = createHome()
  onTestFinished(() => home[Symbol.asyncDispose]())
  return home
}

async function stop({ running }: Awaited<ReturnType<Home['serve']>>): Promise<void> {
  running.child.kill('SIGTERM')
  await running.ended
}

/** Runs a turn on a new session and returns the id of the session. */
async function turn(home: Home, text: string): Promise<string> {
  expect((await home.run(['run', 'demo', text])).exitCode).toBe(0)
  const { stdout } = await home.run(['sessions', '--json', '--limit', '1'])
  return (JSON.parse(stdout) as { id: string }).id
}

const namesIn = (file: string) => execFileSync('tar', ['tzf', file], { encoding: 'utf8' }).trim().split('\n')

it('a backup of a running server is restored elsewhere with every session, and readers start again', async () => {
  const home = homeForTest()
  mkdirSync(home.dataDir)
  writeFileSync(join(home.dataDir, 'config.json'), '{ "logLevel": "warn" }')
  const served = await home.serve()
  const first = await turn(home, 'help')
  const file = join(home.folder, 'backup.tar.gz')
  const { exitCode, stdout } = await home.run(['backup', file, '--json'])
  expect(exitCode).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ file, bytes: statSync(file).size })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(namesIn(file)).toEqual(['manifest.json', 'parley.sqlite', 'config.json', 'token', 'seal-key.pem'])
  expect(readdirSync(home.dataDir).filter((name) => name.includes('snapshot'))).toEqual([])
  const later = await turn(home, 'help')
  using client = createClient({ url: served.url, token: served.token })
  const before = await client.call('getSession', { params: { id: first }, query: { tail: 500 } })
  await stop(served)

  const dataDir = join(home.folder, 'restored')
  const restored = await home.run(['restore', file, '--data-dir', dataDir, '--json'])
  expect(restored.exitCode).toBe(0)
  expect(JSON.parse(restored.stdout)).toMatchObject({ dataDir, sessions: 1, kept: [] })
  const again = await home.serve(['--data-dir', dataDir])
  expect(again.token).toBe(served.token)
  using other = createClient({ url: again.url, token: again.token })
  const after = await other.call('getSession', { params: { id: first }, query: { tail: 500 } })
  expect(after.blocks.slice(0, before.blocks.length)).toEqual(before.blocks)
  expect(after.epoch).not.toBe(before.epoch)
  const { sessions } = await other.call('listSessions', { query: {} })
  expect(sessions.map(({ id, epoch }) => ({ id, epoch }))).toEqual([{ id: first, epoch: after.epoch }])
  await expect(other.call('getSession', { params: { id: later }, query: {} })).rejects.toThrow(
    /No session|no session/,
  )
  // A reader whose cursor is beyond the head of the restored log gets an error and must read from the start.
  const cursor = { after: before.seq, epoch: before.epoch, limit: 10 }
  await expect(other.call('events', { params: { id: first }, query: cursor })).rejects.toMatchObject({
    code: 'conflict',
  })
})

it('a backup that is made without a server includes the content of the WAL', async () => {
  const home = homeForTest()
  const served = await home.serve()
  const id = await turn(home, 'help')
  expect((await home.run(['rename', id, 'In the WAL'])).exitCode).toBe(0)
  served.running.child.kill('SIGKILL')
  await served.running.ended
  expect(statSync(join(home.dataDir, 'parley.sqlite-wal')).size).toBeGreaterThan(0)
  const file = join(home.folder, 'backup.tar.gz')
  expect(await home.run(['backup', file])).toMatchObject({
    exitCode: 0,
    stdout: '',
    stderr: expect.stringMatching(/^Wrote \S+ \(\d+ KB\): /m),
  })
  const dataDir = join(home.folder, 'restored')
  expect((await home.run(['restore', file, '--data-dir', dataDir])).exitCode).toBe(0)
  const shown = await home.run(['show', id, '--data-dir', dataDir, '--json'])
  expect(JSON.parse(shown.stdout)).toMatchObject({ id, title: 'In the WAL' })
})

it('a link that decides a request does not come back with a restored backup', async () => {
  const home = homeForTest()
  await turn(home, 'help')
  const store = openSqliteStore({ file: join(home.dataDir, 'parley.sqlite') })
  const link = {
    ...{
      id: 'l',
      hash: 'h',
      session: 's',
      request: 'r',
      inputHash: 'i',
      decisions: ['deny'] as const,
      name: 'link',
    },
    createdBy: { personId: 'per_owner', holder: { kind: 'token', id: 'tok_machine' } },
    ...{ createdAt: Date.now(), expiresAt: Date.now() + 3_600_000 },
  } as const
  await store.addDecisionLink(link, 9)
  await store.close()
  const file = join(home.folder, 'backup.tar.gz')
  expect((await home.run(['backup', file])).exitCode).toBe(0)
  const dataDir = join(home.folder, 'restored')
  expect((await home.run(['restore', file, '--data-dir', dataDir])).exitCode).toBe(0)
  const counted = [home.dataDir, dataDir].map((folder) => {
    using database = new DatabaseSync(join(folder, 'parley.sqlite'), { readOnly: true })
    return database.prepare('SELECT id FROM decide_links').all().length
  })
  expect(counted).toEqual([1, 0])
})

it('restore refuses to replace data without --yes, and while a server runs', async () => {
  const home = homeForTest()
  await turn(home, 'help')
  const file = join(home.folder, 'backup.tar.gz')
  await home.run(['backup', file])
  const refused = await home.run(['restore', file])
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--yes') })
  const served = await home.serve()
  const used = await home.run(['restore', file, '--yes'])
  expect(used).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Stop it first') })
  await stop(served)
  expect((await home.run(['restore', file, '--yes'])).exitCode).toBe(0)
})

it('backup refuses an existing file and a folder without sessions, and leaves no partial file', async () => {
  const home = homeForTest()
  mkdirSync(home.dataDir)
  writeFileSync(join(home.dataDir, 'config.json'), '{}')
  const file = join(home.folder, 'backup.tar.gz')
  expect(await home.run(['backup', file])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('nothing to back up'),
  })
  await turn(home, 'help')
  writeFileSync(file, 'mine')
  expect(await home.run(['backup', file])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('exists already'),
  })
  expect(readFileSync(file, 'utf8')).toBe('mine')
  const missing = join(home.folder, 'none', 'backup.tar.gz')
  expect(await home.run(['backup', missing])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('ENOENT'),
  })
  expect(readdirSync(home.folder).filter((name) => name.endsWith('.partial'))).toEqual([])
  expect(readdirSync(home.dataDir).filter((name) => name.includes('snapshot'))).toEqual([])
})

it('a restore brings back no invitation, and no role that was withdrawn since the backup', async () => {
  const home = homeForTest()
  const served = await home.serve()
  await turn(home, 'help')
  using client = createClient({ url: served.url, token: served.token })
  const { url } = await client.call('createInvite', { body: { role: 'admin' } })
  const publicKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
  const spki = publicKey.export({ format: 'der', type: 'spki' }).toString('base64url')
  const accept = (one: typeof client, link: string) =>
    one.call('createDevice', { body: { code: new URL(link).hash.slice(1), publicKey: spki } })
  const { personId } = await accept(client, url)
  const open = await client.call('createInvite', { body: { role: 'admin' } })
  const file = join(home.folder, 'backup.tar.gz')
  expect((await home.run(['backup', file])).exitCode).toBe(0)
  await accept(client, open.url)
  await client.call('patchPerson', { params: { id: personId }, body: { role: 'viewer' } })
  await stop(served)
  expect((await home.run(['restore', file, '--yes'])).exitCode).toBe(0)
  const again = await home.serve()
  using restored = createClient({ url: again.url, token: again.token })
  await expect(accept(restored, open.url)).rejects.toMatchObject({ code: 'unauthorized' })
  const { people } = await restored.call('listPeople')
  expect(people.map(({ role }) => role)).toEqual(['admin', 'viewer'])
})

it('access that was revoked after the backup stays revoked, and the current token is kept', async () => {
  const home = homeForTest()
  const served = await home.serve()
  await turn(home, 'help')
  using client = createClient({ url: served.url, token: served.token })
  const made = await client.call('createToken', { body: { name: 'ci', scopes: ['read'] } })
  const file = join(home.folder, 'backup.tar.gz')
  expect((await home.run(['backup', file])).exitCode).toBe(0)
  await client.call('revokeToken', { params: { id: made.tokenId } })
  await stop(served)
  await home.run(['token', '--rotate'])
  const current = readFileSync(join(home.dataDir, 'token'), 'utf8')
  const { stdout } = await home.run(['restore', file, '--yes', '--json'])
  expect(JSON.parse(stdout).kept).toEqual(['token', 'seal-key.pem'])
  expect(readFileSync(join(home.dataDir, 'token'), 'utf8')).toBe(current)
  const again = await home.serve()
  using revoked = createClient({ url: again.url, token: made.token })
  await expect(revoked.call('listSessions', { query: {} })).rejects.toMatchObject({ code: 'unauthorized' })
})

it('a damaged database is replaced, and kept beside the restored one', async () => {
  const home = homeForTest()
  const id = await turn(home, 'help')
  const file = join(home.folder, 'backup.tar.gz')
  await home.run(['backup', file])
  const database = join(home.dataDir, 'parley.sqlite')
  writeFileSync(database, 'no database at all')
  writeFileSync(join(home.folder, 'cut.tar.gz'), readFileSync(file).subarray(0, 500))
  const refused = await home.run(['restore', join(home.folder, 'cut.tar.gz'), '--yes'])
  expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('Nothing was changed') })
  expect(readFileSync(database, 'utf8')).toBe('no database at all')
  const { stdout, exitCode } = await home.run(['restore', file, '--yes', '--json'])
  expect(exitCode).toBe(0)
  const { damaged } = JSON.parse(stdout) as { damaged: string }
  expect(readFileSync(damaged, 'utf8')).toBe('no database at all')
  expect(JSON.parse((await home.run(['show', id, '--json'])).stdout)).toMatchObject({ id })
})

it('an administrator can make a server copy its database, but gets no content and cannot choose the path', async () => {
  const home = homeForTest()
  const { url, token } = await home.serve()
  await turn(home, 'help')
  const ask = (body: unknown, bearer = token) =>
    fetch(`${url}/api/snapshots`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  for (const name of ['../../../../x', 'a/../../b0000000', 'short', '', 'A123456789012345'])
    expect((await ask({ name })).status).toBe(400)
  const name = '0123456789abcdef'
  const answer = await ask({ name })
  expect(answer.status).toBe(201)
  const { file, bytes } = (await answer.json()) as { file: string; bytes: number }
  expect(file).toBe(`parley.sqlite.snapshot-${name}`)
  expect(statSync(join(home.dataDir, file))).toMatchObject({ size: bytes })
  expect(statSync(join(home.dataDir, file)).mode & 0o777).toBe(0o600)
  expect((await ask({ name })).ok).toBe(false)
  using client = createClient({ url, token })
  const weaker = await client.call('createToken', {
    body: { name: 'weak', scopes: ['read', 'prompt', 'decide', 'terminal'] },
  })
  expect((await ask({ name: 'fedcba9876543210' }, weaker.token)).status).toBe(403)
  expect(existsSync(join(home.dataDir, 'parley.sqlite.snapshot-fedcba9876543210'))).toBe(false)
})

it('a copy that is made while the server records events is complete and undamaged', async () => {
  const home = homeForTest()
  const { url, token } = await home.serve()
  using client = createClient({ url, token })
  const { id } = await client.createSession({ agent: 'demo', cwd: home.folder })
  let isDone = false
  const writing = (async () => {
    for (let n = 0; !isDone; n++)
      await client.call('patchSession', { params: { id }, body: { title: `${n}` } })
    return true
  })()
  const title = 'x'.repeat(200)
  for (let n = 0; n < 40; n++) await client.createSession({ agent: 'demo', cwd: home.folder, title })
  const file = join(home.folder, 'backup.tar.gz')
  expect((await home.run(['backup', file])).exitCode).toBe(0)
  isDone = true
  await writing
  execFileSync('tar', ['xzf', file, '-C', home.folder])
  using db = new DatabaseSync(join(home.folder, 'parley.sqlite'))
  expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  expect(db.prepare('SELECT count(*) AS n FROM sessions').get()).toEqual({ n: 41 })
})

it('a backup of an earlier version is not migrated until it is restored, and its browsers remain signed in', async () => {
  const home = homeForTest()
  const source = join(home.dataDir, 'parley.sqlite')
  const old = openSqliteDatabase({ file: source, migrations: migrations.slice(0, 6) })
  old.exec("INSERT INTO devices VALUES (1, 'dev_01', 'Phone', 'the key', 1, 2, NULL)")
  old.close()
  const file = join(home.folder, 'backup.tar.gz')
  expect((await home.run(['backup', file])).exitCode).toBe(0)
  const schemaOf = (path: string) => {
    using db = new DatabaseSync(path, { readOnly: true })
    return db.prepare('PRAGMA user_version').get()?.user_version
  }
  expect(schemaOf(source)).toBe(6)
  const dataDir = join(home.folder, 'restored')
  expect((await home.run(['restore', file, '--data-dir', dataDir])).exitCode).toBe(0)
  expect(schemaOf(join(dataDir, 'parley.sqlite'))).toBe(migrations.at(-1)?.version)
  const { stdout } = await home.run(['devices', '--json', '--data-dir', dataDir])
  expect(JSON.parse(stdout)).toMatchObject({ deviceId: 'dev_01', name: 'Phone' })
})

it.each([
  ['of a later version', 'PRAGMA user_version = 999', /update Parley/],
  [
    'with a trigger',
    'CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM rules; END',
    /not made by Parley/,
  ],
  ['with a view', 'CREATE VIEW v AS SELECT 1', /not made by Parley/],
  ['of an unfinished copy', `PRAGMA application_id = ${unfinishedCopy}`, /unfinished copy/],
])('a backup with a database %s is refused, and nothing is changed', async (_, sql, message) => {
  const home = homeForTest()
  await turn(home, 'help')
  const before = join(home.folder, 'before')
  cpSync(home.dataDir, before, { recursive: true })
  using db = new DatabaseSync(join(home.dataDir, 'parley.sqlite'))
  db.exec(sql)
  db.close()
  const file = join(home.folder, 'backup.tar.gz')
  const made = await home.run(['backup', file])
  const restored =
    made.exitCode === 0 ? await home.run(['restore', file, '--yes', '--data-dir', before]) : made
  expect(restored).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(message) })
  expect(readdirSync(before).filter((name) => name.startsWith('restore.'))).toEqual([])
  const left = await home.run(['sessions', '--json', '--data-dir', before])
  expect(JSON.parse(left.stdout)).toMatchObject({ status: 'idle' })
})
