import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { createHome, type Served } from './program-under-test.ts'

/** Tests that the server never reveals the URL of the database with its password. */

const postgres = await PostgresServer.forFile()

async function secretUrl(): Promise<string> {
  const url = new URL(await postgres.database())
  url.password = 'geheim'
  return url.href
}

const call = async ({ url, token }: Served, path: string, body?: unknown): Promise<string> => {
  const response = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return `${response.status} ${await response.text()}`
}

it('logs, routes, exports and the database itself do not contain the password', async () => {
  await using home = createHome()
  const databaseUrl = await secretUrl()
  const env = { PARLEY_DATABASE_URL: databaseUrl, PARLEY_LOG_LEVEL: 'trace' }
  const server = await home.serve([], { env })
  const said = [(await home.run(['run', 'demo', 'help', '--verbose'], { env })).stdout]
  const doctor = await home.run(['doctor'], { env })
  said.push(doctor.stdout, doctor.stderr)
  for (const path of [
    '/metrics',
    '/api/health',
    '/api/agents',
    '/api/nodes',
    '/api/sessions',
    '/api/environment',
  ])
    said.push(await call(server, path))
  const { sessions } = JSON.parse((await call(server, '/api/sessions')).slice(4)) as {
    sessions: { id: string }[]
  }
  for (const path of ['events', 'export?format=markdown', 'export?format=html'])
    said.push(await call(server, `/api/sessions/${sessions[0]?.id}/${path}`))
  server.running.child.kill('SIGTERM')
  const { stdout, stderr } = await server.running.ended
  said.push(stdout, stderr)
  const tables = ['nodes', 'sessions', 'events', 'receipts', 'environments']
  for (const table of tables)
    said.push(
      JSON.stringify(await postgres.admin((sql) => sql.unsafe(`SELECT * FROM parley.${table}`), databaseUrl)),
    )
  expect(said.join('\n')).toContain('stopping')
  for (const text of said) expect(text).not.toContain('geheim')
})

it('a program that the server starts does not get the database URL or the token', async () => {
  await using home = createHome()
  const [shell, found] = [join(home.folder, 'shell'), join(home.folder, 'found')]
  writeFileSync(shell, `#!/bin/sh\nenv > ${found}.new\nmv ${found}.new ${found}\n`, { mode: 0o755 })
  const env = {
    PARLEY_DATABASE_URL: await secretUrl(),
    PARLEY_TOKEN: 'a-token-that-is-geheim',
    SHELL: shell,
  }
  const server = await home.serve([], { env })
  await home.run(['run', 'demo', 'help'], { env })
  const { sessions } = JSON.parse((await call(server, '/api/sessions')).slice(4)) as {
    sessions: { id: string }[]
  }
  expect(await call(server, `/api/sessions/${sessions[0]?.id}/terminals`, { cols: 80, rows: 24 })).toMatch(
    /^20/,
  )
  while (!existsSync(found)) await new Promise((resolve) => setTimeout(resolve, 20))
  const variables = readFileSync(found, 'utf8')
  expect(variables).toContain('PATH=')
  expect(variables).not.toMatch(/geheim|PARLEY_/)
})

it.runIf(process.platform === 'linux')(
  'the list of processes does not show arguments with secrets',
  async () => {
    await using home = createHome()
    const databaseUrl = await secretUrl()
    for (const args of [['--database-url', databaseUrl], [`--database-url=${databaseUrl}`]]) {
      const { running, pid } = await home.serve([...args, '--token', 'a-token-that-is-geheim'])
      const shown = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      expect(shown).toMatch(/^parley serve --port 0 .*--database-url[ =]\*\*\* --token \*\*\*/)
      expect(shown).not.toContain('geheim')
      running.child.kill('SIGTERM')
      const { stderr } = await running.ended
      expect(stderr).toContain('--database-url shows the URL')
      expect(stderr).not.toContain('geheim')
    }
  },
)

it('the server warns if other users can read the URL in config.json', async () => {
  await using home = createHome()
  const file = join(home.dataDir, 'config.json')
  mkdirSync(home.dataDir)
  // A file of another program, so that the folder is not made private.
  writeFileSync(join(home.dataDir, 'notes.txt'), '')
  writeFileSync(file, JSON.stringify({ databaseUrl: await secretUrl() }))
  chmodSync(home.dataDir, 0o755)
  for (const [mode, isWarned] of [
    [0o644, true],
    [0o600, false],
  ] as const) {
    chmodSync(file, mode)
    const { running } = await home.serve()
    running.child.kill('SIGTERM')
    const { stderr } = await running.ended
    expect(stderr.includes(`other users can read the secrets in ${file}`)).toBe(isWarned)
    const { stdout } = await home.run(['doctor', '--port', '0'])
    expect(/^warn configuration +other users can read the secrets/m.test(stdout)).toBe(isWarned)
  }
})

it.each([
  [['serve', 'postgres://ada:geheim@db/x']],
  [['--databse-url=postgres://ada:geheim@db/x']],
  [['serve', '--database-url', 'postgres://ada:geheim@db/x?geheim']],
  [['postgres://ada:geheim@db/x']],
  [['doctor', '--database-url', 'postgres:geheim']],
])('an error about %j does not repeat the URL', async (args) => {
  await using home = createHome()
  const { exitCode, stdout, stderr } = await home.start(args).ended
  expect(exitCode).not.toBe(0)
  expect(`${stdout}${stderr}`).not.toContain('geheim')
})
