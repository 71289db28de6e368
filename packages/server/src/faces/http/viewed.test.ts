import { afterAll, beforeAll, expect, it } from 'vitest'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { TemporaryFolder } from '../../testing/temporary-folder.ts'
import { codeOf, deviceUnderTest, signedIn } from './device-under-test.ts'
import { type ServerUnderTest, serverUnderTest } from './server-under-test.ts'

const store = createMemoryStore()
const folder = new TemporaryFolder()
const host = await createHost({ adapters: [createScriptedAdapter()], store })
let server: ServerUnderTest
beforeAll(async () => {
  server = await serverUnderTest(host, { access: store, viewed: store })
})
afterAll(async () => {
  await server.close()
  await host.close()
  folder[Symbol.dispose]()
})

const blob = (digit: string) => digit.repeat(40)
const newSession = async () => (await host.create({ agent: 'scripted', cwd: folder.path })).id
const pathOf = (id: string) => `/api/sessions/${id}/viewed`
const mark = (id: string, files: unknown, headers?: Record<string, string>) =>
  server.ask(pathOf(id), {
    method: 'PATCH',
    body: { files },
    ...(headers && { headers, token: false as const }),
  })
const marksOf = async (id: string, headers?: Record<string, string>) =>
  (await server.ask(pathOf(id), headers && { headers, token: false })).body.files

/** A person who may only read, signed in with an invitation. */
async function viewer() {
  const invite = await server.ask('/api/invites', { body: { role: 'viewer', name: 'Vera' } })
  const device = deviceUnderTest(server)
  const { status, text } = await device.register(codeOf(String(invite.body.url)), { name: 'Vera' })
  if (status !== 201) throw new Error(text)
  return { authorization: `Bearer ${await device.token()}` }
}

it('a person has the same marks in every browser, and no other person has them', async () => {
  const id = await newSession()
  const { headers } = await signedIn(server)
  const vera = await viewer()
  expect((await mark(id, [{ path: 'a', blob: blob('1') }], headers)).status).toBe(204)
  expect((await mark(id, [{ path: 'a', blob: blob('2') }], vera)).status).toBe(204)
  const { headers: other } = await signedIn(server)
  expect(await marksOf(id, other)).toEqual([{ path: 'a', blob: blob('1') }])
  expect(await marksOf(id, vera)).toEqual([{ path: 'a', blob: blob('2') }])
  await mark(id, [{ path: 'a', blob: null }], other)
  expect(await marksOf(id, headers)).toEqual([])
  expect(await marksOf(id, vera)).toHaveLength(1)
})

it('marks are not in the log', async () => {
  const id = await newSession()
  const { seq } = await host.state(id)
  await mark(id, [{ path: 'a', blob: blob('1') }])
  expect((await host.state(id)).seq).toBe(seq)
})

it('the oldest marks are dropped if there are too many', async () => {
  const id = await newSession()
  const long = (n: number) => `${n}`.padStart(4, '0') + 'x'.repeat(4092)
  for (const start of [0, 100])
    await mark(
      id,
      Array.from({ length: 100 }, (_, n) => ({ path: long(start + n), blob: blob('1') })),
    )
  const kept = (await marksOf(id)) as { path: string }[]
  expect(kept.length).toBeLessThan(100)
  expect(kept.at(-1)?.path).toBe(long(199))
})

it('a session outside the limits of a token, an unknown session and malformed marks are refused', async () => {
  const [id, other] = [await newSession(), await newSession()]
  const made = await server.ask('/api/tokens', {
    body: { name: 'limited', scopes: ['read'], limits: { sessions: [other] } },
  })
  const headers = { authorization: `Bearer ${made.body.token}` }
  expect((await mark(id, [{ path: 'a', blob: blob('1') }], headers)).status).toBe(404)
  expect((await server.ask(pathOf(id), { headers, token: false })).status).toBe(404)
  expect((await mark(other, [{ path: 'a', blob: blob('1') }], headers)).status).toBe(204)
  expect((await mark('ses_missing', [{ path: 'a', blob: blob('1') }])).status).toBe(404)
  const tooMany = Array.from({ length: 501 }, (_, n) => ({ path: `${n}`, blob: blob('1') }))
  for (const files of [
    [],
    [{ path: '', blob: blob('1') }],
    [{ path: 'a\0b', blob: blob('1') }],
    [{ path: 'a', blob: 'HEAD' }],
    [{ path: 'x'.repeat(4097), blob: blob('1') }],
    tooMany,
  ])
    expect((await mark(id, files)).status).toBe(400)
})

it('a server without a store for marks says so', async () => {
  const without = await serverUnderTest(host)
  const id = await newSession()
  const answer = await without.ask(pathOf(id))
  expect((answer.body.error as { code: string }).code).toBe('not_supported')
  await without.close()
})
