import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { openSqliteStore } from '../stores/sqlite.ts'
import { createHome, type Home, type StartOptions } from './program-under-test.ts'

/** Tests the program on a PostgreSQL database. */

const postgres = await PostgresServer.forFile()

type Registered = { readonly url: string; readonly place: string; readonly isFenced: boolean }

const nodesOf = (url: string) =>
  postgres.admin(
    (sql) =>
      sql.unsafe<Registered[]>(
        'SELECT url, place, fenced_at IS NOT NULL AS "isFenced" FROM parley.nodes ORDER BY id',
      ),
    url,
  )

const onDatabase = (databaseUrl: string, more: Record<string, string> = {}): StartOptions => ({
  env: { PARLEY_DATABASE_URL: databaseUrl, ...more },
})

const ran = async (home: Home, args: string[], options?: StartOptions) => {
  const { exitCode, stdout, stderr } = await home.run(args, options)
  return { exitCode, said: `${stdout}${stderr}` }
}

it('a server with a database URL keeps its sessions there, and registers the address that it listens on', async () => {
  await using home = createHome()
  const databaseUrl = await postgres.database()
  const { running, url } = await home.serve([], onDatabase(databaseUrl, { PARLEY_PLACE: 'desk' }))
  expect(await nodesOf(databaseUrl)).toEqual([{ url, place: 'machine:desk', isFenced: false }])
  expect(await ran(home, ['run', 'demo', 'help'])).toMatchObject({ exitCode: 0 })
  running.child.kill('SIGTERM')
  expect((await running.ended).exitCode).toBe(0)
  expect(await nodesOf(databaseUrl)).toEqual([{ url, place: 'machine:desk', isFenced: true }])

  const local = openSqliteStore({ file: join(home.dataDir, 'parley.sqlite') })
  expect((await local.list({ limit: 1 })).sessions).toEqual([])
  await local.close()
  await home.serve([], onDatabase(databaseUrl, { PARLEY_PLACE: 'desk' }))
  expect((await ran(home, ['sessions'])).said).toContain('help')
})

it('the node URL and the place can be given, and the place of a machine stays the same', async () => {
  await using home = createHome()
  const databaseUrl = await postgres.database()
  const given = onDatabase(databaseUrl, { PARLEY_NODE_URL: 'http://node.example:81/' })
  for (const _ of [1, 2]) {
    const { running } = await home.serve([], given)
    running.child.kill('SIGTERM')
    await running.ended
  }
  const [first, second] = await nodesOf(databaseUrl)
  expect(first).toMatchObject({
    url: 'http://node.example:81',
    place: expect.stringMatching(/^machine:[0-9a-f]{16}$/),
  })
  expect(second?.place).toBe(first?.place)
})

it('a server on localhost registers its numeric address, because the name may lead to another program', async () => {
  await using home = createHome()
  const databaseUrl = await postgres.database()
  const { url } = await home.serve(['--host', 'localhost'], onDatabase(databaseUrl))
  expect(url).toContain('localhost')
  const [node] = await nodesOf(databaseUrl)
  expect(node?.url).toMatch(/^http:\/\/(127\.0\.0\.1|\[::1\]):\d+$/)
})

it('a server that listens on every address needs a node URL', async () => {
  await using home = createHome()
  const remote = ['--host', '0.0.0.0', '--allow-remote', '--token', 'a-token-of-the-test', '--port', '0']
  const { exitCode, stderr } = await home.start(remote, onDatabase('postgres://127.0.0.1:1/x')).ended
  expect(exitCode).toBe(2)
  expect(stderr).toContain('PARLEY_NODE_URL')
})

it('two servers on one data folder are refused, even if only one uses the database', async () => {
  await using home = createHome()
  const databaseUrl = await postgres.database()
  const { running } = await home.serve([], onDatabase(databaseUrl))
  for (const options of [onDatabase(databaseUrl), {}]) {
    const { exitCode, stderr } = await home.start(['--port', '0'], options).ended
    expect(exitCode).toBe(1)
    expect(stderr).toContain('Another Parley')
  }
  running.child.kill('SIGTERM')
  await running.ended
})

it('a command without a running server says that it needs one', async () => {
  await using home = createHome()
  const options = onDatabase('postgres://ada:geheim@127.0.0.1:1/x')
  const { exitCode, said } = await ran(home, ['run', 'demo', 'help'], options)
  expect(exitCode).toBe(1)
  expect(said).toContain('Start one:')
  expect(said).not.toContain('geheim')
})

it('a server warns of sessions in its SQLite file that are not in the database', async () => {
  await using home = createHome()
  expect(await ran(home, ['run', 'demo', 'help'])).toMatchObject({ exitCode: 0 })
  const { running } = await home.serve([], onDatabase(await postgres.database()))
  running.child.kill('SIGTERM')
  expect((await running.ended).stderr).toMatch(/are not served\. To copy them: .*migrate --to/)
})

it('a server that cannot reach its database exits with a one-line error and frees its data folder', async () => {
  await using home = createHome()
  const { exitCode, stderr } = await home.start(
    ['--port', '0'],
    onDatabase('postgres://ada:geheim@127.0.0.1:1/x'),
  ).ended
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/\nparley: PostgreSQL cannot be reached[^\n]*\n$/)
  expect(stderr).toContain('postgres://ada@127.0.0.1:1/x did not answer for 15 seconds. Check that it runs')
  expect(stderr).not.toContain('geheim')
  expect(() => readFileSync(join(home.dataDir, 'parley.sqlite.owner.json'))).toThrow('ENOENT')
})

it('the data folder of a node is not used without its database', async () => {
  await using home = createHome()
  const url = new URL(await postgres.database())
  url.password = 'geheim'
  const { running } = await home.serve([], onDatabase(url.href))
  running.child.kill('SIGTERM')
  await running.ended
  for (const args of [['sessions'], ['run', 'demo', 'help']]) {
    const { exitCode, said } = await ran(home, args)
    expect(exitCode).toBe(1)
    expect(said).toContain(`belongs to a node on postgres://parley@127.0.0.1:${postgres.port}/`)
    expect(said).not.toContain('geheim')
  }
  expect(await ran(home, ['migrate', '--from', url.href])).toMatchObject({ exitCode: 0 })
  expect(await ran(home, ['sessions'])).toMatchObject({ exitCode: 0 })
})

it('a server whose token differs from that of living nodes exits with a one-line error and is not listed', async () => {
  await using home = createHome()
  await using other = createHome()
  const databaseUrl = await postgres.database()
  const { url } = await home.serve([], onDatabase(databaseUrl))
  const { exitCode, stderr } = await other.start(['--port', '0'], onDatabase(databaseUrl)).ended
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(
    new RegExp(
      `(^|\\n)parley: The node at ${url} refuses this server: its PARLEY_TOKEN is another one[^\\n]*\\n$`,
    ),
  )
  expect(await nodesOf(databaseUrl)).toHaveLength(1)
})
