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
const lease: Lease = { leaseMs: 600, beatMs: 100, marginMs: 100 }

ownershipContract('the PostgreSQL store', async () => {
  const schema = `nodes_${++schemas}`
  let nodes = 0
  return {
    async open({ place = 'machine:here' } = {}) {
      // A process behind a proxy that stalls cannot prove that it is alive.
      const proxy = await TcpProxy.open(server.port)
      const proxied = new URL(url)
      proxied.port = String(proxy.port)
      const node = { url: `http://127.0.0.1:${4_700 + ++nodes}`, place, lease }
      const { store, ownership } = await openPostgresNode({
        ...{ url: proxied.href, schema, connections: 3, deadlineMs: 500, node },
      })
      const others = await openPostgresNode({ url, schema, connections: 1, node: { ...node, lease } })
      let closed: Promise<void> | undefined
      return {
        store,
        ownership,
        async die() {
          const id = ownership.node
          proxy.stall()
          await vi.waitUntil(async () => (await others.ownership.fenceExpired()).includes(id ?? 0), 10_000)
          proxy.cut()
          proxy.resume()
        },
        close() {
          closed ??= (async () => {
            await store.close()
            await others.store.close()
            await proxy.close()
          })()
          return closed
        },
      }
    },
    cleanup: async () => undefined,
  }
})

it('tells a paused process that it has lost its sessions, and registers it again', async () => {
  const proxy = await TcpProxy.open(server.port)
  const proxied = new URL(url)
  proxied.port = String(proxy.port)
  const node = { url: 'http://127.0.0.1:1', place: 'machine:here', lease }
  const { store, ownership } = await openPostgresNode({
    url: proxied.href,
    schema: 'paused',
    deadlineMs: 500,
    node,
  })
  const first = ownership.node
  await store.create({ sessionId: 'a', epoch: 'e', state: stateOf('a'), events: eventsOf('a', 1, 1) })
  const lost = new Promise<void>((resolve) => ownership.onLost(resolve))
  proxy.stall()
  await lost
  expect(ownership.node).toBeUndefined()
  proxy.cut()
  proxy.resume()
  await vi.waitUntil(() => ownership.node !== undefined, 10_000)
  expect(ownership.node).not.toBe(first)
  await store.close()
  await proxy.close()
})
