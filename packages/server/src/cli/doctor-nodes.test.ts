import type { NodeInfo, NodeProblem } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { openPostgresStore } from '../stores/postgres/index.ts'
import type { DatabaseInspection } from '../stores/postgres/inspect.ts'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import type { Check } from './checks.ts'
import { databaseChecks, inspectionChecks, nodeChecks } from './doctor-nodes.ts'

const postgres = await PostgresServer.forFile()

const named = (checks: readonly Check[], name: string) => checks.find((check) => check.name === name)

describe('the checks of a database', () => {
  it('pass on an empty database without changing it, and on a database in use', async () => {
    const url = await postgres.database()
    const empty = await databaseChecks(url)
    expect(empty.map(({ name, result }) => [name, result])).toEqual([
      ['database', 'ok'],
      ['database latency', 'ok'],
      ['database clock', 'ok'],
    ])
    expect(empty[0]?.text).toContain('no tables yet')
    const schemas = await postgres.admin(
      (sql) => sql`SELECT 1 FROM information_schema.schemata WHERE schema_name = 'parley'`,
      url,
    )
    expect(schemas).toHaveLength(0)
    await (await openPostgresStore({ url })).close()
    expect((await databaseChecks(url))[0]).toMatchObject({
      result: 'ok',
      text: expect.stringMatching(/^PostgreSQL \d.*, schema \d+$/),
    })
  })

  it('fail if the database cannot be reached, and show neither its address nor its password', async () => {
    const checks = await databaseChecks('postgres://ada:geheim@127.0.0.1:1/somewhere')
    expect(checks).toMatchObject([
      { name: 'database', result: 'fail', text: expect.stringContaining('PARLEY_DATABASE_URL') },
    ])
    expect(checks[0]?.text).not.toMatch(/geheim|somewhere|127\.0\.0\.1/)
  })

  it('fail if the user does not exist, or may not create tables', async () => {
    const url = await postgres.database()
    const as = (user: string) => Object.assign(new URL(url), { username: user }).href
    expect(await databaseChecks(as('nobody_here'))).toMatchObject([
      { name: 'database', result: 'fail', text: expect.not.stringContaining('that PostgreSQL runs') },
    ])
    const guest = `guest_${process.pid}`
    await postgres.admin((sql) => sql.unsafe(`CREATE ROLE ${guest} LOGIN`))
    const [check] = await databaseChecks(as(guest))
    await postgres.admin((sql) => sql.unsafe(`DROP ROLE ${guest}`))
    expect(check).toMatchObject({
      result: 'fail',
      text: expect.stringContaining('GRANT CREATE'),
    })
  })

  it('fail if the schema is newer', async () => {
    const url = await postgres.database()
    await (await openPostgresStore({ url })).close()
    await postgres.admin((sql) => sql.unsafe('UPDATE parley.schema_version SET version = 999'), url)
    expect((await databaseChecks(url))[0]).toMatchObject({
      result: 'fail',
      text: expect.stringContaining('update Parley'),
    })
  })

  const good: DatabaseInspection = {
    version: '16.2',
    majorVersion: 16,
    schemaVersion: 0,
    mayCreate: true,
    latencyMs: 0.8,
    clockSkewMs: -3,
  }
  it.each<[string, Partial<DatabaseInspection>, string, Check['result'], string]>([
    ['an old version', { version: '14.9', majorVersion: 14 }, 'database', 'fail', 'PostgreSQL 15 or newer'],
    ['a far database', { latencyMs: 120 }, 'database latency', 'warn', 'nearer'],
    ['a near database', { latencyMs: 2 }, 'database latency', 'ok', '2.0 ms'],
    [
      'a slow clock',
      { clockSkewMs: 5_000 },
      'database clock',
      'warn',
      '5.0 s behind the database: synchronise',
    ],
    ['a fast clock', { clockSkewMs: -5_000 }, 'database clock', 'warn', '5.0 s ahead of the database'],
    ['a wrong clock', { clockSkewMs: 600_000 }, 'database clock', 'fail', 'NTP'],
    ['the same clock', { clockSkewMs: 20 }, 'database clock', 'ok', '20 ms'],
  ])('report %s', (_, found, name, result, text) => {
    const check = named(inspectionChecks({ ...good, ...found }), name)
    expect(check).toMatchObject({ result, text: expect.stringContaining(text) })
  })
})

describe('the checks of nodes', () => {
  const node = (id: number, more: Partial<NodeInfo> = {}): NodeInfo => ({
    id,
    url: `http://10.0.0.${id}:4747`,
    machine: `machine-${id}`,
    place: 'machine:all',
    version: '1.0.0',
    startedAt: 0,
    isSelf: id === 1,
    state: 'alive',
    reachable: true,
    cannotReach: [],
    ...more,
  })
  const problems: NodeProblem[] = ['unreachable', 'no-answer', 'other-token', 'other-node', 'not-a-node']

  it('pass if every node reaches every other one', () => {
    const checks = nodeChecks({ nodes: [node(1), node(2), node(3, { state: 'gone' })] })
    expect(checks.map(({ name, result }) => [name, result])).toEqual([
      ['nodes', 'ok'],
      ['versions', 'ok'],
      ['node URL', 'ok'],
      ['other node', 'ok'],
    ])
  })

  it('warn of different versions, and of a lease that has ended', () => {
    const nodes = [node(1), node(2, { version: '1.1.0' }), node(3, { state: 'expired' })]
    const checks = nodeChecks({ nodes })
    expect(named(checks, 'versions')).toMatchObject({
      result: 'warn',
      text: expect.stringContaining('1.1.0 on http://10.0.0.2:4747'),
    })
    expect(named(checks, 'nodes')).toMatchObject({
      result: 'warn',
      text: expect.stringContaining('2 alive; the lease of http://10.0.0.3:4747 has ended'),
    })
  })

  it('name the machines on which no node runs', () => {
    const nodes = [
      node(1, { place: 'a' }),
      node(2, { place: 'a', state: 'gone' }),
      node(3, { place: 'b', state: 'gone' }),
    ]
    expect(named(nodeChecks({ nodes }), 'nodes')).toMatchObject({
      result: 'ok',
      text: '1 alive; none on machine-3',
    })
  })

  it('fail if the running server has no lease', () => {
    expect(nodeChecks({ nodes: [node(2)] })).toMatchObject([{ name: 'nodes', result: 'fail' }])
  })

  it.each(problems)('fail with advice if the URL of this node is %s', (problem) => {
    const checks = nodeChecks({ nodes: [node(1, { reachable: false, problem })] })
    expect(named(checks, 'node URL')).toMatchObject({ result: 'fail', text: expect.stringMatching(/: .+/) })
  })

  it.each(problems)('fail with advice if another node is %s', (problem) => {
    const checks = nodeChecks({ nodes: [node(1), node(2, { reachable: false, problem })] })
    expect(named(checks, 'other node')).toMatchObject({
      result: 'fail',
      text: expect.stringMatching(/^http:\/\/10\.0\.0\.2:4747 \(machine-2\) .*: .+/),
    })
  })

  it('report that the token differs', () => {
    const checks = nodeChecks({ nodes: [node(1), node(2, { reachable: false, problem: 'other-token' })] })
    expect(named(checks, 'other node')?.text).toContain('the same PARLEY_TOKEN')
  })

  it('fail if another node does not reach this one, or does not reach a third node', () => {
    const cannot = (id: number) => ({ cannotReach: [{ id, problem: 'unreachable' as const }] })
    expect(nodeChecks({ nodes: [node(1), node(2, cannot(1))] }).at(-1)).toMatchObject({
      result: 'fail',
      text: expect.stringContaining('from http://10.0.0.2:4747 (machine-2), http://10.0.0.1:4747 cannot'),
    })
    expect(nodeChecks({ nodes: [node(1), node(2, cannot(3)), node(3)] })[3]).toMatchObject({
      result: 'fail',
      text: expect.stringContaining('from http://10.0.0.2:4747 (machine-2), http://10.0.0.3:4747 cannot'),
    })
  })
})
