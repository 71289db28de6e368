import { expect, it, vi } from 'vitest'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { readPrometheus, sampleValue } from '../telemetry/prometheus-under-test.ts'
import type { Check } from './checks.ts'
import { createHome, type Served } from './program-under-test.ts'

const postgres = await PostgresServer.forFile()
const token = 'the-token-of-all-nodes-0123456789'

/** The settings of a server on this database, by the name of its machine. */
const onDatabase = (databaseUrl: string) => (name: string) => ({
  env: { PARLEY_DATABASE_URL: databaseUrl, PARLEY_TOKEN: token, PARLEY_PLACE: name },
})

async function metricsOf({ url }: Served) {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  expect(response.status).toBe(200)
  return readPrometheus(await response.text())
}

it('parley nodes lists the servers on a database, and /metrics counts them', async () => {
  await using one = createHome()
  await using two = createHome()
  const databaseUrl = await postgres.database()
  const place = onDatabase(databaseUrl)
  const first = await one.serve([], place('desk'))
  const second = await two.serve([], place('laptop'))
  await using three = createHome()
  const third = await three.serve([], place('attic'))
  third.running.child.kill('SIGTERM')
  await third.running.ended
  expect(await one.run(['run', 'demo', 'help'], place('desk'))).toMatchObject({ exitCode: 0 })

  const { exitCode, stdout, stderr } = await two.run(['nodes'], place('laptop'))
  expect(exitCode).toBe(0)
  const [head, ...rows] = stdout.trimEnd().split('\n')
  expect(head).toMatch(/^NODE +MACHINE +PLACE +STATE +SESSIONS +WORKING +LEASE +POSTGRES +VERSION$/)
  expect(rows).toHaveLength(3)
  expect(rows[0]).toMatch(
    new RegExp(`^${first.url} +desk +machine:desk +alive +1 +0 +[\\d.]+ m?s +[\\d.]+ ms +\\d`),
  )
  expect(rows[1]).toMatch(new RegExp(`^${second.url} +laptop +machine:laptop +alive \\(this one\\) +0 +0 `))
  expect(rows[2]).toMatch(new RegExp(`^${third.url} +attic +machine:attic +gone`))
  expect(stderr).toMatch(/^PostgreSQL \d[^:]*: answers in [\d.]+ ms, .* clock/)

  const json = (await two.run(['nodes', '--json'], place('laptop'))).stdout.trimEnd().split('\n')
  expect(json.map((line) => JSON.parse(line))).toMatchObject([
    { machine: 'desk' },
    { isSelf: true },
    { machine: 'attic' },
  ])
  for (const line of json) expect(JSON.parse(line).startedAt % 1).toBe(0)
  expect(stdout + json.join()).not.toContain(new URL(databaseUrl).pathname.slice(1))

  const families = await metricsOf(first)
  const value = (name: string, labels?: Record<string, string>) => sampleValue(families, name, labels)
  expect(value('parley_nodes', { state: 'alive' })).toBe(2)
  expect(value('parley_sessions_owned')).toBe(1)
  expect(value('parley_node_lease_age_seconds')).toBeLessThan(10)
  expect(value('parley_session_takeovers_total')).toBe(0)
  expect(value('parley_append_seconds_count')).toBeGreaterThan(0)
})

it('parley sessions names the machines, and marks a machine without a living node', async () => {
  await using one = createHome()
  await using two = createHome()
  const given = onDatabase(await postgres.database())
  await one.serve([], given('desk'))
  expect((await one.run(['run', 'demo', 'help'], given('desk'))).exitCode).toBe(0)
  expect((await one.run(['sessions'], given('desk'))).stdout).not.toContain('MACHINE')
  const { running } = await two.serve([], given('laptop'))
  expect((await two.run(['run', 'demo', 'help'], given('laptop'))).exitCode).toBe(0)
  const machines = async () => {
    const { stdout } = await one.run(['sessions'], given('desk'))
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/).at(-1))
  }
  expect(await machines()).toEqual(['MACHINE', 'laptop', 'desk'])
  running.child.kill('SIGTERM')
  await running.ended
  expect(await machines()).toEqual(['MACHINE', 'laptop (away)', 'desk'])
})

it('commands name the node of a session and its machine, and say that a prompt waits for the machine', async () => {
  await using one = createHome()
  await using two = createHome()
  const given = onDatabase(await postgres.database())
  await one.serve([], given('desk'))
  const { running, url } = await two.serve([], given('laptop'))
  expect((await two.run(['run', 'demo', 'help'], given('laptop'))).exitCode).toBe(0)
  const here = async (...args: string[]) => {
    const { stdout, stderr } = await one.run(args, given('desk'))
    return stdout + stderr
  }
  const { id, ...listed } = JSON.parse(await here('sessions', '--json'))
  expect(listed).toMatchObject({ machine: 'laptop', node: { url } })
  expect(await here('show', id)).toMatch(new RegExp(`Machine: laptop\nNode: ${url}\n`))
  expect(JSON.parse(await here('show', id, '--json'))).toMatchObject({ id, machine: 'laptop', node: { url } })

  running.child.kill('SIGTERM')
  await running.ended
  expect(await here('show', id)).toContain('Machine: laptop: no server runs there now')
  const refused = await here('fork', id)
  expect(refused).toContain('its folder is on laptop, where no server runs. Start a server there')
  expect(refused).not.toContain('machine:laptop')
  const waiting = one.start(['run', 'demo', 'help', '--session', id], given('desk'))
  expect(await waiting.until('waits for the machine laptop')).not.toContain('another turn')
  await two.serve([], given('laptop'))
  const { exitCode, stderr } = await waiting.ended
  expect(exitCode).toBe(0)
  expect(stderr).not.toContain('another turn')
})

it('parley doctor checks that the nodes reach each other, and reports a node with another token', async () => {
  await using one = createHome()
  await using two = createHome()
  await using three = createHome()
  const databaseUrl = await postgres.database()
  const given = onDatabase(databaseUrl)
  await one.serve([], given('desk'))
  const second = await two.serve([], given('laptop'))
  const checks = async () => {
    const { exitCode, stdout } = await one.run(['doctor', '--json'], given('desk'))
    expect(stdout).not.toContain(new URL(databaseUrl).pathname.slice(1))
    const lines = stdout.trimEnd().split('\n')
    return { exitCode, found: lines.map((line) => JSON.parse(line) as Check) }
  }
  const well = await checks()
  const names = [
    'database',
    'database latency',
    'database clock',
    'nodes',
    'versions',
    'node URL',
    'other node',
  ]
  for (const name of names) {
    const results = well.found.filter((check) => check.name === name).map(({ result }) => result)
    expect([name, results]).toEqual([name, ['ok']])
  }
  expect(well.exitCode).toBe(0)

  // A server with another token does not join while it reaches another node, so the test inserts its row.
  const third = await three.serve([], { env: { PARLEY_TOKEN: 'another-token-0123456789' } })
  await postgres.admin(
    (sql) =>
      sql.unsafe(
        `INSERT INTO parley.nodes (url, place, machine, version, started_at, expires_at, settings_seen, mark)
         SELECT '${third.url}', 'machine:stranger', 'stranger', version, now(), now() + interval '1 hour', 1, 'x'
         FROM parley.nodes LIMIT 1`,
      ),
    databaseUrl,
  )
  const ill = await checks()
  expect(ill.exitCode).toBe(1)
  const failed = ill.found.filter(({ result }) => result === 'fail').map(({ text }) => text)
  expect(failed).toHaveLength(2)
  expect(failed[0]).toContain(`from ${second.url} (laptop), ${third.url} refuses the token`)
  expect(failed[1]).toContain(`${third.url} (stranger) refuses the token`)
})

it('/metrics counts commands that were sent to the owner, and sessions that were taken over', async () => {
  await using one = createHome()
  await using two = createHome()
  const databaseUrl = await postgres.database()
  const given = {
    env: { PARLEY_DATABASE_URL: databaseUrl, PARLEY_TOKEN: token, PARLEY_PLACE: 'desk' },
  }
  const first = await one.serve([], given)
  const second = await two.serve([], given)
  const post = async ({ url }: Served, path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(response.ok).toBe(true)
    return (await response.json()) as { id: string }
  }
  const { id } = await post(first, '/api/sessions', {
    agent: 'demo',
    cwd: one.folder,
    prompt: 'show a permission',
  })
  const prompt = { commandId: 'cmd_1', type: 'prompt.submit', parts: [{ type: 'text', text: 'help' }] }
  await post(second, `/api/sessions/${id}/commands`, prompt)
  const value = async (name: string, labels?: Record<string, string>) =>
    sampleValue(await metricsOf(second), name, labels)
  expect(await value('parley_commands_forwarded_total', { outcome: 'accepted' })).toBe(1)
  const commands = (await metricsOf(second)).get('parley_commands_total')?.samples ?? []
  expect(commands).toEqual([])
  expect(await value('parley_session_takeovers_total')).toBe(0)
  first.running.child.kill('SIGKILL')
  await vi.waitUntil(async () => (await value('parley_session_takeovers_total')) === 1, 30_000)
  expect(await value('parley_sessions_owned')).toBe(1)
})

it('parley nodes lists only the server itself if it uses SQLite, and there are no metrics of nodes', async () => {
  await using home = createHome()
  const given = { env: { PARLEY_TOKEN: token } }
  const served = await home.serve([], given)
  const { exitCode, stdout, stderr } = await home.run(['nodes'], given)
  expect(exitCode).toBe(0)
  expect(stdout.trimEnd().split('\n')[1]).toMatch(
    new RegExp(`^${served.url} +\\S+ +- +alive \\(this one\\) +- +- +- +- +\\d`),
  )
  expect(stderr).toContain('SQLite')
  const families = await metricsOf(served)
  expect(families.has('parley_sessions_live')).toBe(true)
  for (const name of ['parley_nodes', 'parley_append_seconds']) expect(families.has(name)).toBe(false)
})

it('/metrics answers while the database is unreachable', async () => {
  await using own = await PostgresServer.open()
  await using home = createHome()
  const served = await home.serve([], {
    env: { PARLEY_DATABASE_URL: await own.database(), PARLEY_TOKEN: token },
  })
  await own.stop('SIGQUIT')
  const families = await metricsOf(served)
  const samples = (name: string) => families.get(name)?.samples.length
  expect(samples('parley_nodes')).toBe(0)
  expect(samples('parley_requests_waiting')).toBe(0)
  expect(samples('parley_session_takeovers_total')).toBe(1)
  expect(samples('parley_sessions_live')).toBe(1)
})
