import { createClient } from '@parley/client'
import { expect, it } from 'vitest'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { createHome } from './program-under-test.ts'

const postgres = await PostgresServer.forFile()
const token = 'the-token-of-all-nodes-0123456789'

it('with PostgreSQL, backup names pg_dump, and a restored database gets new epochs while no node runs', async () => {
  await using home = createHome()
  const databaseUrl = await postgres.database()
  const options = { env: { PARLEY_DATABASE_URL: databaseUrl, PARLEY_TOKEN: token, PARLEY_PLACE: 'desk' } }
  const served = await home.serve([], options)
  using client = createClient({ url: served.url, token })
  const { id, epoch } = await client.createSession({ agent: 'demo', cwd: home.folder })

  const prompted = await client.createSession({
    agent: 'demo',
    cwd: home.folder,
    prompt: 'show a permission',
  })
  const open = async () =>
    (await client.call('getSession', { params: { id: prompted.id }, query: {} })).requests
  await expect.poll(async () => (await open()).length).toBe(1)
  const body = { requestId: (await open())[0]?.requestId ?? '' }
  const { url } = await client.call('createDecisionLink', { params: { id: prompted.id }, body })

  const refused = await home.run(['backup'], options)
  expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('pg_dump --format=custom') })
  expect(refused.stderr).not.toContain(new URL(databaseUrl).password || 'no password')
  await expect(client.call('createSnapshot', { body: { name: '0123456789abcdef' } })).rejects.toMatchObject({
    code: 'not_supported',
  })
  const prepare = () => home.run(['restore', '--after-pg-restore', '--json'], options)
  expect(await prepare()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Stop every node') })
  served.running.child.kill('SIGTERM')
  await served.running.ended
  expect(JSON.parse((await prepare()).stdout)).toEqual({ sessions: 2 })

  const again = await home.serve([], options)
  using other = createClient({ url: again.url, token })
  const after = await other.call('getSession', { params: { id }, query: {} })
  expect(after.epoch).not.toBe(epoch)
  // The restore has removed the decision link.
  const code = new URL(url).hash.slice(1)
  await expect(other.call('showLinkedRequest', { body: { code } })).rejects.toMatchObject({
    details: { reason: 'link' },
  })
  const cursor = { after: 0, epoch, limit: 10 }
  await expect(other.call('events', { params: { id }, query: cursor })).rejects.toMatchObject({
    code: 'conflict',
  })
  expect(await home.run(['restore', 'backup.tar.gz'], options)).toMatchObject({ exitCode: 2 })
})
