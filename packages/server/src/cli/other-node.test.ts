import { once } from 'node:events'
import { createServer } from 'node:http'
import { createClient } from '@parley/client'
import { expect, it, vi } from 'vitest'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { createHome, type Home } from './program-under-test.ts'

/** Tests commands whose server ends while another node of the same machine runs. */

const postgres = await PostgresServer.forFile()
const token = 'the-token-of-all-nodes-0123456789'
const prompt = ['run', 'demo', 'show a permission', '--on-permission', 'ask']

async function twoNodes(one: Home, two: Home) {
  const options = {
    env: { PARLEY_DATABASE_URL: await postgres.database(), PARLEY_TOKEN: token, PARLEY_PLACE: 'desk' },
  }
  return { options, first: await one.serve([], options), second: await two.serve([], options) }
}

it.each(['SIGTERM', 'SIGKILL'] as const)(
  'run continues on another node and ends with the outcome of its turn if its server ends by %s',
  async (signal) => {
    await using one = createHome()
    await using two = createHome()
    const { options, first, second } = await twoNodes(one, two)
    const running = one.start(prompt, options)
    await running.until('waiting for an answer')
    first.running.child.kill(signal)
    await running.until(`connected again, to the node at ${second.url}`)
    using client = createClient({ url: second.url, token })
    const { requests } = await client.call('listPermissions')
    expect(requests).toHaveLength(1)
    for (const { session, request } of requests) await client.decide(session.id, request.requestId, 'allow')
    expect((await running.ended).exitCode).toBe(0)
  },
)

it('attach continues on another node', async () => {
  await using one = createHome()
  await using two = createHome()
  const { options, first, second } = await twoNodes(one, two)
  using client = createClient({ url: second.url, token })
  const { id } = await client.createSession({ agent: 'demo', cwd: one.folder })
  const attached = one.start(['attach', id], options)
  await attached.until(one.folder)
  await client.prompt(id, 'help')
  await attached.until('completed')
  first.running.child.kill('SIGTERM')
  await attached.until(`connected again, to the node at ${second.url}`)
  await client.prompt(id, 'a second prompt')
  expect(await attached.until('a second prompt')).toContain('the connection is lost')
})

it('a program at the address of another node that has ended does not get the token', async () => {
  await using one = createHome()
  await using two = createHome()
  const { options, first, second } = await twoNodes(one, two)
  const running = one.start(prompt, options)
  await running.until('waiting for an answer')
  second.running.child.kill('SIGKILL')
  await second.running.ended
  const received: string[] = []
  const impostor = createServer((request, response) => {
    received.push([request.url, ...request.rawHeaders].join('\n'))
    response.setHeader('parley-node-proof', 'A'.repeat(43))
    response.end(JSON.stringify({ nodes: [] }))
  })
  impostor.listen(Number(new URL(second.url).port), '127.0.0.1')
  await once(impostor, 'listening')
  // The first node's own requests, with which it looks for the other node, are not counted.
  first.running.child.kill('SIGKILL')
  await first.running.ended
  const before = received.length
  await vi.waitUntil(() => received.length > before + 1, 30_000)
  running.child.kill('SIGKILL')
  await running.ended
  impostor.closeAllConnections()
  impostor.close()
  expect(received.join('\n')).not.toContain(token)
})
