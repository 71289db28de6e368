import { expect, it, vi } from 'vitest'
import { ownershipContract } from '../../testing/ownership-contract.ts'
import { eventsOf, stateOf } from '../../testing/store-samples.ts'
import { TcpProxy } from '../../testing/tcp-proxy.ts'
import { openPostgresNode } from './index.ts'
import type { Lease } from './ownership.ts'
import { PostgresServer } from './postgres-under-test.ts'

const server = await PostgresServer.forFile()
const url = await server.database()
let schemas = 0
/** No lease expires by itself here: a test ends a lease in the database. */
const lease: Lease = { leaseMs: 600_000, beatMs: 100, marginMs: 1_000 }

ownershipContract('the PostgreSQL store', async () => {
  const schema = `nodes_${++schemas}`
  let nodes = 0
  return {
    async open({ place = 'machine:here' } = {}) {
      const proxy = await TcpProxy.open(server.port)
      const node = { url: `http://127.0.0.1:${4_700 + ++nodes}`, place, lease }
      const { store, ownership } = await openPostgresNode({
        url: through(proxy),
        schema,
        connections: 3,
        node,
      })
      let closed: Promise<void> | undefined
      return {
        store,
        ownership,
        async die() {
          const id = ownership.node ?? 0
          // From now on, the beats of the node do not reach the database, so its lease is not extended again.
          proxy.stall()
          await endLease(schema, id)
          await fenceFrom(schema, id)
          proxy.cut()
          proxy.resume()
        },
        close() {
          closed ??= store.close().then(() => proxy.close())
          return closed
        },
      }
    },
    cleanup: async () => undefined,
  }
})

function through(proxy: TcpProxy): string {
  const proxied = new URL(url)
  proxied.port = String(proxy.port)
  return proxied.href
}

function endLease(schema: string, node: number): Promise<unknown> {
  const expire = `UPDATE ${schema}.nodes SET expires_at = now() - interval '1 s' WHERE id = ${node}`
  return server.admin((sql) => sql.unsafe(expire), url)
}

/** Fences a node through another node. A beat that was already sent may extend the lease once more. */
async function fenceFrom(schema: string, node: number): Promise<void> {
  const other = await openPostgresNode({ url, schema, connections: 1, node: { url: '', place: '', lease } })
  try {
    while (!(await other.ownership.fenceExpired()).includes(node)) await endLease(schema, node)
  } finally {
    await other.store.close()
  }
}

it('a process that was paused drops the sessions that it has lost, and registers again', async () => {
  const proxy = await TcpProxy.open(server.port)
  const node = { url: '', place: 'machine:here', lease: { leaseMs: 4_000, beatMs: 500, marginMs: 1_000 } }
  const { store, ownership } = await openPostgresNode({ url: through(proxy), schema: 'paused', node })
  const first = ownership.node
  await store.create({ sessionId: 'a', epoch: 'e', state: stateOf('a'), events: eventsOf('a', 1, 1) })
  const lost = new Promise<void>((resolve) => ownership.onLost(resolve))
  proxy.stall()
  await lost
  expect(ownership.node).toBeUndefined()
  proxy.cut()
  proxy.resume()
  await vi.waitUntil(() => ownership.node !== undefined, 30_000)
  expect(ownership.node).not.toBe(first)
  await store.close()
  await proxy.close()
})

it('lists the nodes with their leases and sessions', async () => {
  const open = (name: string, place: string) =>
    openPostgresNode({
      url,
      schema: 'listed',
      node: { url: `http://${name}:4700`, place, machine: name, version: '1.2.3', lease },
    })
  const first = await open('one', 'machine:1')
  const second = await open('two', 'machine:2')
  await first.store.create({ sessionId: 'a', epoch: 'e', state: stateOf('a'), events: eventsOf('a', 1, 1) })
  expect((await second.store.list({ limit: 1 })).sessions).toMatchObject([{ id: 'a', place: 'machine:1' }])
  const seen = await second.ownership.nodes()
  const [nodeId, nodeUrl] = [first.ownership.node, 'http://one:4700']
  const where = { place: 'machine:1', machine: 'one' }
  expect(await second.ownership.nodeOf('a')).toEqual({ ...where, isPresent: true, nodeId, nodeUrl })
  expect(await second.ownership.nodeOf('b')).toBeUndefined()
  expect(seen).toMatchObject([
    {
      url: 'http://one:4700',
      place: 'machine:1',
      machine: 'one',
      sessions: 1,
      isSelf: false,
      isFenced: false,
    },
    {
      url: 'http://two:4700',
      place: 'machine:2',
      machine: 'two',
      sessions: 0,
      isSelf: true,
      isFenced: false,
    },
  ])
  for (const { leaseAgeMs, leaseLeftMs, startedAt, version } of seen) {
    expect(leaseAgeMs).toBeGreaterThanOrEqual(0)
    expect(leaseAgeMs + leaseLeftMs).toBeCloseTo(lease.leaseMs, 0)
    expect(Math.abs(startedAt - performance.timeOrigin)).toBeLessThan(60_000)
    expect(version).toBe('1.2.3')
  }
  await vi.waitUntil(async () =>
    (await second.ownership.nodes()).every(({ latencyMs }) => latencyMs !== null),
  )
  await first.store.close()
  expect(await second.ownership.nodes()).toMatchObject([
    { machine: 'one', isFenced: true, sessions: 1 },
    { machine: 'two', isFenced: false },
  ])
  const gone = { isPresent: false, nodeId: null, nodeUrl: null }
  expect(await second.ownership.nodeOf('a')).toEqual({ ...where, ...gone })

  const age = "UPDATE listed.nodes SET fenced_at = now() - interval '2 h' WHERE machine = 'one'"
  await server.admin((sql) => sql.unsafe(age), url)
  // Machine one is still listed, because a session waits for it.
  expect(await second.ownership.nodes()).toMatchObject([{ machine: 'one' }, { machine: 'two' }])
  await second.store.delete('a')
  expect(await second.ownership.nodes()).toMatchObject([{ machine: 'two' }])
  await second.store.close()
})

it('measures the latency, the version and the clock of the database', async () => {
  const { store, ownership } = await openPostgresNode({
    url,
    schema: 'measured',
    node: { url: '', place: '' },
  })
  const { latencyMs, version, clockSkewMs } = await ownership.measure()
  expect(latencyMs).toBeGreaterThan(0)
  expect(version).toMatch(/^\d+/)
  expect(Math.abs(clockSkewMs)).toBeLessThan(5_000)
  await store.close()
})

it('finds a session that it still owns because its release has failed', async () => {
  const proxy = await TcpProxy.open(server.port)
  const node = { url: '', place: 'machine:here', lease }
  const { store, ownership } = await openPostgresNode({ url: through(proxy), schema: 'unreleased', node })
  await store.create({ sessionId: 'a', epoch: 'e', state: stateOf('a', { connected: true }), events: [] })
  expect(await ownership.adopt(5)).toEqual([])
  await proxy.close()
  await expect(ownership.release('a', 1)).rejects.toMatchObject({ code: 'busy' })
  await proxy.open()
  await vi.waitUntil(() => ownership.scan().then(({ hasOrphans }) => hasOrphans))
  expect(await ownership.adopt(5)).toEqual([{ sessionId: 'a', term: 1 }])
  expect(await ownership.adopt(5)).toEqual([])
  await store.close()
  await proxy.close()
})

it('takes the lock of its node again after PostgreSQL has ended its connection', async () => {
  const schema = `nodes_${++schemas}`
  const node = { url: 'http://127.0.0.1:4700', place: 'machine:here', lease }
  const { store, ownership } = await openPostgresNode({ url, schema, connections: 3, node })
  const held = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = ${ownership.node}`
  const holder = async () => {
    const rows = await server.admin((sql) => sql.unsafe<{ pid: number }[]>(held), url)
    return rows[0]?.pid
  }
  const first = await holder()
  expect(first).toBeTypeOf('number')
  await server.admin((sql) => sql`SELECT pg_terminate_backend(${first ?? 0})`, url)
  await vi.waitUntil(async () => ![undefined, first].includes(await holder()), 60_000)
  expect(ownership.node).toBeTypeOf('number')
  await store.close()
})

it('does not search for sessions of its own after a claim of an unknown session', async () => {
  const schema = `nodes_${++schemas}`
  const node = { url: 'http://127.0.0.1:4700', place: 'machine:here', lease }
  const { store, ownership } = await openPostgresNode({ url, schema, connections: 3, node })
  await expect(ownership.claim('ses_unknown')).rejects.toMatchObject({ code: 'not_found' })
  expect((await ownership.scan()).hasOrphans).toBe(false)
  await store.close()
})
