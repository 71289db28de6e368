import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { capabilities } from '@parley/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createScriptedAdapter, scriptedCapabilities } from '../../adapters/scripted/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { type ServerUnderTest, serverUnderTest } from './server-under-test.ts'

const can = capabilities(...scriptedCapabilities, 'environment')
const adapters = [createScriptedAdapter({ capabilities: can })]
const host = await createHost({ adapters, store: createMemoryStore() })
const cwd = await mkdtemp(join(tmpdir(), 'parley-http-'))
const secret = 'sk-parsley-0123456789'
let server: ServerUnderTest
beforeAll(async () => {
  server = await serverUnderTest(host)
})
afterAll(async () => {
  await server.close()
  await host.close()
})

it('the API takes variables and returns their names; no reply and no export has their values', async () => {
  const body = { agent: 'scripted', cwd, env: { API_KEY: secret }, prompt: 'hello' }
  const made = await server.ask('/api/sessions', { body })
  expect(made.status).toBe(201)
  const id = made.body.id as string
  const set = await server.ask('/api/environment', { body: { folder: cwd, variables: { TOKEN: secret } } })
  expect([set.status, set.body]).toEqual([201, { folder: cwd, names: ['TOKEN'] }])
  const listed = await server.ask('/api/environment')
  expect(listed.body.environments).toEqual([
    { sessionId: id, names: ['API_KEY'] },
    { folder: cwd, names: ['TOKEN'] },
  ])
  const paths = ['', '/events', ...['jsonl', 'html', 'run-events'].map((as) => `/export?as=${as}`)]
  const replies = await Promise.all(paths.map((path) => server.ask(`/api/sessions/${id}${path}`)))
  expect(replies.map(({ status }) => status)).toEqual(paths.map(() => 200))
  for (const { text } of [made, set, listed, ...replies]) expect(text).not.toContain(secret)

  const gone = await server.ask(`/api/environment?folder=${encodeURIComponent(cwd)}&name=TOKEN`, {
    method: 'DELETE',
  })
  expect(gone.status).toBe(204)
  expect((await server.ask('/api/environment')).body.environments).toHaveLength(1)
})

it.each([
  [{ folder: cwd, sessionId: 'ses_1', variables: {} }, 400],
  [{ variables: { A: 'b' } }, 400],
  [{ folder: cwd, variables: { 'A B': secret } }, 400],
  [{ folder: cwd, variables: { NODE_OPTIONS: secret } }, 400],
  [{ folder: join(cwd, 'nowhere'), variables: { A: secret } }, 400],
  [{ sessionId: 'ses_unknown', variables: { A: secret } }, 404],
])('refuses %j', async (body, status) => {
  const answer = await server.ask('/api/environment', { body })
  expect(answer.status).toBe(status)
  expect(answer.text).not.toContain(secret)
})
