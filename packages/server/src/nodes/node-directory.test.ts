import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type NodeInfo, NodeList, SessionNode } from '@parley/protocol'
import { expect, it } from 'vitest'
import { hostUnderTest } from '../core/host-under-test.ts'
import { serverUnderTest, testToken } from '../faces/http/server-under-test.ts'
import { openPostgresNode } from '../stores/postgres/index.ts'
import type { Lease } from '../stores/postgres/ownership.ts'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { eventsOf, stateOf } from '../testing/store-samples.ts'
import { createNodeDirectory } from './node-directory.ts'
import { challengeHeader, type NodeNumbers, PeerCredential, proofHeader } from './peer-credential.ts'

const postgres = await PostgresServer.forFile()
const lease: Lease = { leaseMs: 600_000, beatMs: 60_000, marginMs: 1_000 }

type ServerOptions = {
  readonly databaseUrl: string
  readonly machine: string
  readonly token?: string
  /** The registered URL, given the URL that the server listens on. */
  readonly register?: (listening: string) => string
}

/** A server on a database, with the route and the authentication of nodes. */
async function nodeUnderTest({ databaseUrl, machine, token = testToken, register }: ServerOptions) {
  const test = await hostUnderTest()
  let nodeUrl = ''
  let numbers: NodeNumbers | undefined
  const credential = new PeerCredential(token, () => nodeUrl, {
    at: (url) => numbers?.at(url) ?? 0,
    isCurrent: (number) => numbers?.isCurrent(number) === true,
  })
  let directory: ReturnType<typeof createNodeDirectory> | undefined
  const server = await serverUnderTest(test.host, {
    token,
    nodes: {
      list: async (check) => directory?.list(check) ?? { nodes: [] },
      ofSession: async (id) => directory?.ofSession(id) ?? { machine: '' },
    },
    peers: {
      accepts: (bearer) => credential.accepts(bearer),
      answerHeaders: ({ headers }: IncomingMessage) => ({
        [proofHeader]: credential.prove(String(headers[challengeHeader])),
      }),
      host: test.host,
    },
  })
  nodeUrl = register?.(server.url) ?? server.url
  const node = { url: nodeUrl, place: `machine:${machine}`, machine, version: '1.2.3', lease }
  const { store, ownership } = await openPostgresNode({ url: databaseUrl, connections: 2, node })
  numbers = ownership.numbers
  directory = createNodeDirectory({ ownership, credential, answerMs: 2_000 })
  return {
    directory,
    store,
    server,
    async [Symbol.asyncDispose]() {
      await server.close()
      await store.close()
      await test[Symbol.asyncDispose]()
    },
  }
}

const problems = (nodes: readonly NodeInfo[]) =>
  Object.fromEntries(nodes.map(({ machine, reachable, problem }) => [machine, problem ?? reachable]))

it('the route lists the nodes of a PostgreSQL database and never its address', async () => {
  const databaseUrl = await postgres.database()
  await using one = await nodeUnderTest({ databaseUrl, machine: 'one' })
  await using two = await nodeUnderTest({ databaseUrl, machine: 'two' })
  const { status, text } = await two.server.ask('/api/nodes')
  expect(status).toBe(200)
  const { nodes, database } = NodeList.parse(JSON.parse(text))
  expect(nodes).toMatchObject([
    { machine: 'one', url: one.server.url, place: 'machine:one', state: 'alive', isSelf: false, sessions: 0 },
    {
      machine: 'two',
      url: two.server.url,
      place: 'machine:two',
      state: 'alive',
      isSelf: true,
      version: '1.2.3',
    },
  ])
  expect(nodes.map(({ reachable }) => reachable)).toEqual([undefined, undefined])
  expect(database?.version).toMatch(/^\d+/)
  expect(text).not.toContain(new URL(databaseUrl).pathname.slice(1))
  expect(text).not.toContain('postgres://')
  expect((await two.server.ask('/api/nodes', { token: false })).status).toBe(401)
  expect((await two.server.ask('/api/nodes?check=some')).status).toBe(400)
})

it('in a check, a node asks every other node, and each of these asks all others', async () => {
  const databaseUrl = await postgres.database()
  await using one = await nodeUnderTest({ databaseUrl, machine: 'one' })
  await using _ = await nodeUnderTest({ databaseUrl, machine: 'two' })
  const { nodes } = await one.directory.list('all')
  expect(problems(nodes)).toEqual({ one: true, two: true })
  expect(nodes.map(({ cannotReach }) => cannotReach)).toEqual([[], []])
})

it('a check reports a node that has another token, and so does that node', async () => {
  const databaseUrl = await postgres.database()
  await using one = await nodeUnderTest({ databaseUrl, machine: 'one' })
  await using two = await nodeUnderTest({
    databaseUrl,
    machine: 'two',
    token: 'another-token-for-two-9c1d5e',
  })
  expect(problems((await one.directory.list('peers')).nodes)).toEqual({ one: true, two: 'other-token' })
  expect(problems((await two.directory.list('peers')).nodes)).toEqual({ one: 'other-token', two: true })
})

it('another token is reported only if no node with the same token answers', async () => {
  const databaseUrl = await postgres.database()
  const token = 'another-token-for-two-9c1d5e'
  await using one = await nodeUnderTest({ databaseUrl, machine: 'one' })
  expect(await one.directory.otherToken(one.server.url)).toBeUndefined()
  await using two = await nodeUnderTest({ databaseUrl, machine: 'two', token })
  expect(await two.directory.otherToken(two.server.url)).toBe(one.server.url)
  await using three = await nodeUnderTest({ databaseUrl, machine: 'three' })
  expect(await three.directory.otherToken(three.server.url)).toBeUndefined()
})

it('a check reports a node that is not listening, for every node that cannot reach it', async () => {
  const databaseUrl = await postgres.database()
  await using one = await nodeUnderTest({ databaseUrl, machine: 'one' })
  await using _ = await nodeUnderTest({ databaseUrl, machine: 'two' })
  await using three = await nodeUnderTest({ databaseUrl, machine: 'three' })
  await three.server.close()
  const { nodes } = await one.directory.list('all')
  expect(problems(nodes)).toEqual({ one: true, two: true, three: 'unreachable' })
  const id = nodes[2]?.id
  expect(nodes[1]?.cannotReach).toEqual([{ id, problem: 'unreachable' }])
})

it('a check reports a URL that leads to another node', async () => {
  const databaseUrl = await postgres.database()
  await using one = await nodeUnderTest({ databaseUrl, machine: 'one' })
  const register = () => one.server.url
  await using two = await nodeUnderTest({ databaseUrl, machine: 'two', register })
  expect(problems((await two.directory.list('peers')).nodes)).toEqual({ one: true, two: 'other-node' })
})

it('a check reports a URL of another program, and one that does not answer', async () => {
  const databaseUrl = await postgres.database()
  const other = createServer((request, response) => {
    if (request.headers.host?.startsWith('localhost')) return
    response.end('{"nodes":[]}')
  })
  other.listen(0)
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  await using one = await nodeUnderTest({
    databaseUrl,
    machine: 'one',
    register: () => `http://127.0.0.1:${port}`,
  })
  await using _ = await nodeUnderTest({
    databaseUrl,
    machine: 'two',
    register: () => `http://localhost:${port}`,
  })
  expect(problems((await one.directory.list('peers')).nodes)).toEqual({ one: 'not-a-node', two: 'no-answer' })
  other.closeAllConnections()
  other.close()
})

it('the answer of another program is not read, because it may be endless', async () => {
  let written = 0
  const other = createServer(async (_, response) => {
    for (; !response.destroyed; written++)
      if (!response.write(Buffer.alloc(1024 * 1024))) await once(response, 'drain').catch(() => undefined)
  })
  other.listen(0)
  await once(other, 'listening')
  const register = () => `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  await using one = await nodeUnderTest({ databaseUrl: await postgres.database(), machine: 'one', register })
  expect(problems((await one.directory.list('peers')).nodes)).toEqual({ one: 'not-a-node' })
  expect(written).toBeLessThan(32)
  other.closeAllConnections()
  other.close()
})

it('a node that was replaced at its URL is not listed, but a node that is gone is listed', async () => {
  const databaseUrl = await postgres.database()
  await using one = await nodeUnderTest({ databaseUrl, machine: 'one' })
  const register = () => 'http://127.0.0.1:1'
  for (const machine of ['first', 'second'])
    await (await nodeUnderTest({ databaseUrl, machine, register }))[Symbol.asyncDispose]()
  const { nodes } = await one.directory.list('peers')
  expect(nodes.map(({ machine, state }) => [machine, state])).toEqual([
    ['one', 'alive'],
    ['second', 'gone'],
  ])
  expect(nodes[1]).not.toHaveProperty('reachable')
})

it('the route reports where a session runs, from any node, and which machine is awaited', async () => {
  const databaseUrl = await postgres.database()
  await using one = await nodeUnderTest({ databaseUrl, machine: 'one' })
  const two = await nodeUnderTest({ databaseUrl, machine: 'two' })
  const batch = { sessionId: 'a', epoch: 'e', state: stateOf('a'), events: eventsOf('a', 1, 1) }
  await two.store.create(batch)
  const where = async () => (await one.server.ask('/api/sessions/a/node')).body
  expect(SessionNode.parse(await where())).toEqual({
    place: 'machine:two',
    machine: 'two',
    node: { id: expect.any(Number), url: two.server.url },
  })
  expect((await one.server.ask('/api/sessions/b/node')).status).toBe(404)
  await two[Symbol.asyncDispose]()
  expect(await where()).toEqual({ place: 'machine:two', machine: 'two', awaited: true })
})
