import { ParleyError } from '@parley/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import type { Host } from '../../core/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createHandClock } from '../../testing/hand-clock.ts'
import { TemporaryFolder } from '../../testing/temporary-folder.ts'
import { codeOf } from './device-under-test.ts'
import type { ServeSettings } from './serve.ts'
import { type ServerUnderTest, serverUnderTest } from './server-under-test.ts'

/** Tests decision links on servers with other settings on the same store and host. */

const store = createMemoryStore()
const clock = createHandClock(Date.now())
const folder = new TemporaryFolder()
const host = await createHost({ adapters: [createScriptedAdapter()], store })
const start = (settings: Partial<ServeSettings> = {}, served: Host = host) =>
  serverUnderTest(served, { access: store, decisionLinks: store, clock: clock.now, ...settings })
let server: ServerUnderTest
beforeAll(async () => {
  server = await start({ decideByLink: 'allow' })
})
afterAll(async () => {
  await server.close()
  await host.close()
  folder[Symbol.dispose]()
})

async function asking() {
  const step = {
    type: 'permission',
    name: 'Write',
    kind: 'edit',
    title: 'Write x',
    input: { file_path: 'x' },
  }
  const { id } = await host.create({ agent: 'scripted', cwd: folder.path, prompt: JSON.stringify([step]) })
  const open = async () => (await host.state(id)).requests
  await expect.poll(async () => (await open()).length).toBe(1)
  const [request] = await open()
  if (request?.type !== 'permission') throw new Error('no permission')
  return { id, requestId: request.requestId, inputHash: request.inputHash }
}

async function linkFor(one: { id: string; requestId: string }, more: object = {}, at = server) {
  const body = { requestId: one.requestId, decisions: ['allow', 'deny'], ...more }
  const made = await at.ask(`/api/sessions/${one.id}/decision-links`, { body })
  expect(made.status).toBe(201)
  return { url: String(made.body.url), code: codeOf(String(made.body.url)) }
}

const show = (code: string, at = server) => at.ask('/api/linked-requests', { token: false, body: { code } })
const reasonOf = ({ body }: { body: Record<string, unknown> }) =>
  (body.error as { code: string; details?: { reason?: string } } | undefined)?.details?.reason

it('a link expires at its time, even on a server that was started later', async () => {
  const one = await asking()
  const [hour, minute, day] = [
    await linkFor(one),
    await linkFor(one, { lifetimeMs: 60_000 }),
    await linkFor(one, { lifetimeMs: 86_400_000 }),
  ]
  const later = await start({ decideByLink: 'allow' })
  const statuses = async () =>
    Promise.all([minute, hour, day].map(async ({ code }) => (await show(code, later)).status))
  clock.advance(59_999)
  expect(await statuses()).toEqual([200, 200, 200])
  clock.advance(1)
  expect(await statuses()).toEqual([409, 200, 200])
  clock.advance(3_540_000)
  expect(await statuses()).toEqual([409, 409, 200])
  const body = { code: hour.code, decision: 'deny', inputHash: one.inputHash }
  expect(reasonOf(await later.ask('/api/linked-decisions', { token: false, body }))).toBe('expired')
  clock.advance(82_800_000)
  expect(reasonOf(await show(day.code, later))).toBe('expired')
  expect((await later.ask('/api/decision-links')).body.links).toEqual([])
  // A day later, the creation of the next link removes the expired links.
  clock.advance(86_400_001)
  await linkFor(await asking())
  expect((await show(day.code, later)).status).toBe(401)
  await later.close()
})

it('a link can make only the decisions that the server permits now', async () => {
  const one = await asking()
  const { code } = await linkFor(one)
  const decide = (decision: string, at: ServerUnderTest) =>
    at.ask('/api/linked-decisions', { token: false, body: { code, decision, inputHash: one.inputHash } })
  const denying = await start({ decideByLink: 'deny' })
  expect((await show(code, denying)).body.decisions).toEqual(['deny'])
  expect((await decide('allow', denying)).status).toBe(403)
  const off = await start({ decideByLink: 'off' })
  expect(reasonOf(await show(code, off))).toBe('off')
  expect(reasonOf(await decide('deny', off))).toBe('off')
  const refused = await off.ask(`/api/sessions/${one.id}/decision-links`, {
    body: { requestId: one.requestId },
  })
  expect(refused.body.error).toMatchObject({ code: 'not_supported' })
  expect((await decide('deny', denying)).status).toBe(200)
  await denying.close()
  await off.close()
})

it('a link has the public URL with its prefix, and its code is in the fragment and in no log line', async () => {
  const proxied = await start({ publicUrl: 'https://parley.example.org/agents', decideByLink: 'allow' })
  const one = await asking()
  const { url, code } = await linkFor(one, {}, proxied)
  expect(url).toBe(`https://parley.example.org/agents/decide#${code}`)
  expect(code).toMatch(/^[\w-]{43}$/)
  for (const path of ['/agents/decide', `/agents/decide/${code}`, `/decide/${code}`])
    await proxied.ask(path, { token: false, headers: { accept: 'text/html' } })
  await show(code, proxied)
  const body = { code, decision: 'deny', inputHash: one.inputHash }
  expect((await proxied.ask('/agents/api/linked-decisions', { token: false, body })).status).toBe(200)
  expect(proxied.log.join('')).toContain('/decide/***')
  expect(proxied.log.join('')).not.toContain(code)
  await proxied.close()
})

it('a page of another origin gets no answer to a code', async () => {
  const { code } = await linkFor(await asking())
  const headers = { origin: 'https://evil.example.org' }
  const answer = await server.ask('/api/linked-requests', { token: false, headers, body: { code } })
  expect(answer.status).toBe(403)
})

it('a server without a store for links says so', async () => {
  const plain = await serverUnderTest(host)
  const answer = await plain.ask('/api/linked-requests', { token: false, body: { code: 'A'.repeat(43) } })
  expect(answer.body.error).toMatchObject({ code: 'not_supported' })
  await plain.close()
})

/** A server whose host loses the answer of each decision: the decision is recorded only by `deliver`. */
async function losing(error: ParleyError) {
  let deliver = async () => {}
  const wrapped: Host = {
    ...host,
    async command(...sent) {
      deliver = async () => void (await host.command(...sent))
      throw error
    },
  }
  return { other: await start({ decideByLink: 'allow' }, wrapped), deliver: () => deliver() }
}

it('a link whose decision has an unknown outcome stays used, and can be revoked while the request is open', async () => {
  const { other, deliver } = await losing(new ParleyError('busy', 'The node does not answer.'))
  const one = await asking()
  const { code } = await linkFor(one)
  const body = { code, decision: 'allow', inputHash: one.inputHash }
  const decide = () => other.ask('/api/linked-decisions', { token: false, body })
  expect((await decide()).status).toBe(503)
  expect(reasonOf(await decide())).toBe('used')
  const links = await store.unrevokedDecisionLinks(clock.now())
  const link = links.find(({ request }) => request === one.requestId)
  const revoke = () => server.ask(`/api/decision-links/${link?.id}`, { method: 'DELETE' })
  expect((await revoke()).status).toBe(204)
  await deliver()
  expect((await host.state(one.id)).requests).toEqual([])
  expect((await revoke()).status).toBe(404)
  await other.close()
})

it('a link whose decision is refused can be used again, unless it was revoked meanwhile', async () => {
  const { other } = await losing(new ParleyError('conflict', 'A rule refuses this.'))
  const one = await asking()
  const { code } = await linkFor(one)
  const body = { code, decision: 'allow', inputHash: one.inputHash }
  for (const _ of ['first', 'second'])
    expect((await other.ask('/api/linked-decisions', { token: false, body })).status).toBe(409)
  expect((await server.ask('/api/linked-decisions', { token: false, body })).status).toBe(200)
  await other.close()
})
