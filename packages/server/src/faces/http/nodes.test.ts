import { hostname } from 'node:os'
import { NodeList } from '@parley/protocol'
import { expect, it } from 'vitest'
import { hostUnderTest } from '../../core/host-under-test.ts'
import { serverUnderTest } from './server-under-test.ts'

it('a server without a PostgreSQL database lists itself as the only node', async () => {
  await using test = await hostUnderTest()
  const server = await serverUnderTest(test.host)
  for (const query of ['', '?check=peers', '?check=all']) {
    const { status, body } = await server.ask(`/api/nodes${query}`)
    expect(status).toBe(200)
    const { nodes, database } = NodeList.parse(body)
    expect(database).toBeUndefined()
    expect(nodes).toMatchObject([
      { url: server.url, machine: hostname(), version: '0.0.0-test', isSelf: true, state: 'alive' },
    ])
    expect(Math.abs((nodes[0]?.startedAt ?? 0) - performance.timeOrigin)).toBeLessThan(1_000)
  }
  expect((await server.ask('/api/nodes', { token: false })).status).toBe(401)
  await server.close()
})

it('a server without a PostgreSQL database says that its sessions run on its own machine', async () => {
  await using test = await hostUnderTest()
  const server = await serverUnderTest(test.host)
  const { id } = await test.create()
  const { body } = await server.ask(`/api/sessions/${id}/node`)
  expect(body).toEqual({ machine: hostname(), node: { id: 1, url: server.url } })
  expect((await server.ask('/api/sessions/unknown/node')).status).toBe(404)
  await server.close()
})
