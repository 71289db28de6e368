import { expect, it } from 'vitest'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { createHome, type Home, type Served } from './program-under-test.ts'

/** Tests the lines that a node logs about itself, the other nodes and PostgreSQL. */

const token = 'the-token-of-all-nodes-0123456789'

/** The number of a node changes if the node lost its lease on a busy machine and joined again. */
const node = 'node \\d+'

const call = (url: string, path: string, body?: unknown) =>
  fetch(url + path, {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })

/** Starts a session that waits for an answer. */
async function start({ url }: Served, { folder }: Home): Promise<void> {
  const prompt = 'show a permission'
  const { ok } = await call(url, '/api/sessions', { agent: 'demo', cwd: folder, prompt })
  expect(ok).toBe(true)
}

const linesIn = (stderr: string, start: string) =>
  stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { msg: string; level: number })
    .filter(({ msg }) => msg.startsWith(start))

it('a node logs when it joins, when another node is gone, and when it takes over or releases sessions', async () => {
  await using postgres = await PostgresServer.open()
  await using one = createHome()
  await using two = createHome()
  const databaseUrl = await postgres.database()
  const given = { env: { PARLEY_DATABASE_URL: databaseUrl, PARLEY_TOKEN: token, PARLEY_PLACE: 'desk' } }
  const first = await one.serve([], given)
  await first.running.until(RegExp(`joined as ${node} at ${first.url} \\(machine:desk\\)`))
  const second = await two.serve([], given)
  await first.running.until(RegExp(`${node} at ${second.url} has joined`))
  await start(first, one)
  first.running.child.kill('SIGKILL')
  await second.running.until(RegExp(`${node} at ${first.url} is gone`))
  await second.running.until(RegExp(`took over 1 session of ${node} at ${first.url}`))
  second.running.child.kill('SIGTERM')
  const { stderr } = await second.running.ended
  const stops = linesIn(stderr, 'stopped as node').map(({ msg }) => msg)
  expect(stops).toEqual([expect.stringMatching(RegExp(`^stopped as ${node} and released 1 session`))])
  expect(stderr).not.toContain(token)
  expect(stderr).not.toContain(new URL(databaseUrl).pathname.slice(1))
})

it('an outage of PostgreSQL is logged in one line at its start and one at its end, without stack traces', async () => {
  await using postgres = await PostgresServer.open()
  await using home = createHome()
  const env = { PARLEY_DATABASE_URL: await postgres.database(), PARLEY_TOKEN: token }
  const served = await home.serve([], { env })
  await start(served, home)
  await postgres.stop('SIGQUIT')
  await served.running.until(RegExp(`lost the lease of ${node} and gave up 1 session`))
  await served.running.until('PostgreSQL cannot be reached;')
  for (const path of ['/api/sessions', '/api/nodes', '/api/sessions'])
    expect((await call(served.url, path)).status).toBe(503)
  await postgres.start()
  await served.running.until(/registered again, as node \d/)
  await served.running.until('took over 1 session')
  served.running.child.kill('SIGTERM')
  const { stderr } = await served.running.ended
  const counts = ['PostgreSQL cannot be reached', 'PostgreSQL can be reached again'].map(
    (text) => linesIn(stderr, text).length,
  )
  expect(counts).toEqual([1, 1])
  const losses = linesIn(stderr, 'lost the lease').map(({ msg }) => msg)
  expect(losses).toEqual([...new Set(losses)])
  expect(stderr).not.toContain('"stack"')
})
