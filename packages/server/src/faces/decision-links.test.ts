import { newId, type SessionEvent } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AccessUnderTest, accessUnderTest, machineToken } from './access-under-test.ts'
import { codeOf, deviceUnderTest } from './http/device-under-test.ts'
import type { Answer } from './http/server-under-test.ts'

/** Tests decision links on a whole server: their creation, their effects and their end. */

let server: AccessUnderTest
let strict: AccessUnderTest
beforeAll(async () => {
  server = await accessUnderTest(() => ({}), { decideByLink: 'allow', limits: { maxConnections: 100 } })
  strict = await accessUnderTest(() => ({}))
}, 60_000)
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await strict[Symbol.asyncDispose]()
})

const step = { type: 'permission', name: 'Write', kind: 'edit', title: 'Write x', input: { file_path: 'x' } }

/** Creates a session with an open request. */
async function asking(at = server, steps: readonly object[] = [step]) {
  const { id } = await at.parley.host.create({
    agent: 'scripted',
    cwd: at.folder,
    prompt: JSON.stringify(steps),
  })
  const open = async () => (await at.parley.host.state(id)).requests
  await expect.poll(async () => (await open()).length).toBeGreaterThan(0)
  const [request] = await open()
  return { id, requestId: request?.requestId ?? '', inputHash: inputHashOf(request) }
}

function inputHashOf(request: object | undefined): string {
  return request && 'inputHash' in request ? String(request.inputHash) : ''
}

type Asking = Awaited<ReturnType<typeof asking>>

const create = (one: Asking, more: object = {}, { at = server, token = machineToken } = {}) =>
  at.ask(
    `/api/sessions/${one.id}/decision-links`,
    { body: { requestId: one.requestId, decisions: ['allow', 'deny'], ...more } },
    token,
  )
/** Creates a link; returns its code and its id. */
async function linkFor(one: Asking, more?: object, where?: { at?: AccessUnderTest; token?: string }) {
  const { status, body, text } = await create(one, more, where)
  if (status !== 201) throw new Error(text)
  return { code: codeOf(body.url as string), linkId: body.linkId as string }
}
const show = (code: string, at = server) => at.ask('/api/linked-requests', { body: { code } })
const decide = (code: string, { inputHash }: Asking, decision = 'deny', at = server) =>
  at.ask('/api/linked-decisions', { body: { code, decision, inputHash } })
const errorOf = ({ body }: Answer) =>
  body.error as { code: string; message: string; details?: Record<string, unknown> }
const problemOf = (answer: Answer) => [answer.status, errorOf(answer)?.code, errorOf(answer)?.details?.reason]
const over = (reason: string) => [409, 'conflict', reason]

async function resolution({ id }: Asking, at = server) {
  const { events } = await at.parley.host.read(id, { limit: 500 })
  const parsed = events.map(({ json }) => JSON.parse(json) as SessionEvent)
  return parsed.filter((event) => event.type === 'permission.resolved')
}

describe('a link', () => {
  it('shows the whole request without a token, and is not used up by that', async () => {
    const one = await asking()
    const { code } = await linkFor(one, { name: 'for Ana' })
    for (let times = 0; times < 3; times++) {
      const { status, body } = await show(code)
      expect(status).toBe(200)
      expect(body).toMatchObject({
        name: 'link for Ana',
        decisions: ['allow', 'deny'],
        createdBy: server.parley.http.authentication.machine().principal.person.name,
        session: { cwd: server.folder, agent: 'scripted' },
        request: { tool: 'Write', title: 'Write x', input: { file_path: 'x' }, inputHash: one.inputHash },
      })
      const { options } = body.request as { options: { scope: string }[] }
      expect(options.map(({ scope }) => scope)).toEqual(['once', 'once'])
    }
    expect(await resolution(one)).toEqual([])
  })

  it.each([
    ['allow', 'allowed'],
    ['deny', 'denied'],
  ])('decides once with %s, and the log names the link and its person', async (decision, outcome) => {
    const one = await asking()
    const { code, linkId } = await linkFor(one, { name: 'for Ana' })
    expect((await decide(code, one, decision)).body).toEqual({ decision })
    const [resolved, ...more] = await resolution(one)
    expect(more).toEqual([])
    expect(resolved).toMatchObject({ outcome, scope: 'once', by: 'person' })
    const { person } = server.parley.http.authentication.machine().principal
    expect(resolved?.actor).toEqual({ person, link: { id: linkId, name: 'link for Ana' }, via: 'http' })
    expect(problemOf(await decide(code, one, decision))).toEqual(over('used'))
    expect(problemOf(await show(code))).toEqual(over('used'))
  })

  it('decides exactly once if it is used twenty times at once', async () => {
    const one = await asking()
    const { code } = await linkFor(one)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => decide(code, one, n % 2 === 0 ? 'allow' : 'deny')),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 409)])
    const decided = answers.find(({ status }) => status === 200)?.body.decision
    const outcome = decided === 'allow' ? 'allowed' : 'denied'
    expect(await resolution(one)).toMatchObject([{ outcome }])
  })

  it('is the only one of several links for a request that decides it', async () => {
    const one = await asking()
    const links = [await linkFor(one), await linkFor(one), await linkFor(one)]
    const answers = await Promise.all(links.map(({ code }) => decide(code, one)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    for (const { code } of links) expect((await show(code)).status).toBe(409)
  })

  it('decides a plan', async () => {
    const plan = { ...step, name: 'ExitPlanMode', kind: 'plan', title: 'Plan', input: { plan: '1. Test' } }
    const one = await asking(server, [plan])
    const { code } = await linkFor(one)
    expect((await show(code)).body.request).toMatchObject({ kind: 'plan', input: { plan: '1. Test' } })
    expect((await decide(code, one, 'allow')).status).toBe(200)
    expect(await resolution(one)).toMatchObject([{ outcome: 'allowed', scope: 'once' }])
  })

  it('cannot be created for a question', async () => {
    const question = {
      id: 'q',
      header: 'Q',
      text: 'Q?',
      options: [{ label: 'A' }],
      multiple: false,
      freeText: false,
    }
    const one = await asking(server, [{ type: 'question', questions: [question] }])
    expect(problemOf(await create(one)).slice(1)).toEqual(['not_supported', undefined])
  })

  it('cannot decide more than once for this call: its bodies have no scope, input or message', async () => {
    const one = await asking()
    const { code } = await linkFor(one)
    for (const extra of [{ scope: 'always' }, { input: {} }, { message: 'x' }, { endTurn: true }]) {
      const body = { code, decision: 'deny', inputHash: one.inputHash, ...extra }
      expect(errorOf(await server.ask('/api/linked-decisions', { body })).code).toBe('validation_error')
    }
    expect(errorOf(await create(one, { scope: 'always' })).code).toBe('validation_error')
    expect((await show(code)).status).toBe(200)
  })

  it('is refused for another input than the one that was shown, and remains usable', async () => {
    const one = await asking()
    expect(errorOf(await create(one, { inputHash: 'x' })).code).toBe('conflict')
    const { code } = await linkFor(one, { inputHash: one.inputHash })
    const answer = await decide(code, { ...one, inputHash: 'x' })
    expect(problemOf(answer)).toEqual([409, 'conflict', undefined])
    expect(errorOf(answer).details).toEqual({ requestId: one.requestId, inputHash: one.inputHash })
    expect((await decide(code, one)).status).toBe(200)
  })

  it('is void when the request is answered elsewhere, when it is cancelled and when its session is deleted', async () => {
    const [answered, cancelled, deleted] = [await asking(), await asking(), await asking()]
    const codes = await Promise.all([answered, cancelled, deleted].map((one) => linkFor(one)))
    const { host } = server.parley
    const { requestId } = answered
    const decision = { type: 'permission.decide', requestId, decision: 'deny', scope: 'once' } as const
    await host.command(answered.id, { ...decision, commandId: newId('cmd') })
    await host.command(cancelled.id, { type: 'turn.cancel', commandId: newId('cmd') })
    await host.delete(deleted.id)
    for (const [index, one] of [answered, cancelled].entries()) {
      expect(problemOf(await show(codes[index]?.code ?? ''))).toEqual(over('resolved'))
      expect(problemOf(await decide(codes[index]?.code ?? '', one))).toEqual(over('resolved'))
    }
    // The links of a session are deleted with it.
    expect((await show(codes[2]?.code ?? '')).status).toBe(401)
    expect(errorOf(await create(answered)).code).toBe('conflict')
  })

  it('is void for a request that the agent asks again, even with the same input', async () => {
    const one = await asking(server, [step, step])
    const { code } = await linkFor(one)
    const { code: other } = await linkFor(one)
    await decide(code, one, 'allow')
    const again = async () => (await server.parley.host.state(one.id)).requests
    await expect.poll(async () => (await again()).length).toBe(1)
    expect(inputHashOf((await again())[0])).toBe(one.inputHash)
    expect(problemOf(await decide(other, one))).toEqual(over('resolved'))
  })

  it('that a rule refuses now can still deny', async () => {
    const one = await asking()
    const { code } = await linkFor(one)
    const body = { tool: 'Write', decision: 'deny', scope: 'always' }
    const rule = await server.ask('/api/rules', { body }, machineToken)
    expect(errorOf(await decide(code, one, 'allow')).code).toBe('forbidden')
    expect((await decide(code, one, 'deny')).status).toBe(200)
    await server.ask(`/api/rules/${rule.body.ruleId}`, { method: 'DELETE' }, machineToken)
  })

  it('is no credential: its code opens no other route', async () => {
    const one = await asking()
    const { code } = await linkFor(one)
    for (const path of ['/api/sessions', `/api/sessions/${one.id}`, '/api/me', '/api/decision-links'])
      expect((await server.ask(path, {}, code)).status).toBe(401)
    const device = deviceUnderTest({ ask: (path, asked) => server.ask(path, asked), link: () => '' })
    expect((await device.register(code)).status).toBe(401)
  })
})

describe('allowing by link', () => {
  it('is off by default, while denying is not', async () => {
    const one = await asking(strict)
    const refused = await create(one, {}, { at: strict })
    expect(errorOf(refused)).toMatchObject({ code: 'not_supported' })
    expect(errorOf(refused).message).toContain('decideByLink')
    const { code } = await linkFor(one, { decisions: undefined }, { at: strict })
    expect((await show(code, strict)).body.decisions).toEqual(['deny'])
    const allowed = await decide(code, one, 'allow', strict)
    expect(errorOf(allowed)).toMatchObject({ code: 'forbidden', details: { decisions: ['deny'] } })
    expect((await decide(code, one, 'deny', strict)).status).toBe(200)
  })
})

/** Creates a person with a browser, and returns a function that sends requests as this browser. */
async function person(name: string, role: string) {
  const { url, inviteId } = (await server.ask('/api/invites', { body: { role } }, machineToken)).body
  expect(inviteId).toBeDefined()
  const device = deviceUnderTest({ ask: (path, asked) => server.ask(path, asked), link: () => String(url) })
  const { body } = await device.register(codeOf(String(url)), { name })
  return { personId: String(body.personId), deviceId: device.deviceId, token: await device.token() }
}

const createToken = async (body: object, token = machineToken) =>
  (await server.ask('/api/tokens', { body: { name: 'CI', ...body } }, token)).body as {
    token: string
    tokenId: string
  }

describe('whoever creates a link', () => {
  it('needs the scopes read and decide, and a session within the limits', async () => {
    const one = await asking()
    const blind = await createToken({ scopes: ['decide'] })
    expect(errorOf(await create(one, {}, blind)).details).toMatchObject({ scope: 'read' })
    const reader = await createToken({ scopes: ['read', 'prompt'] })
    expect(errorOf(await create(one, {}, reader)).details).toMatchObject({ scope: 'decide' })
    const elsewhere = await createToken({ scopes: ['read', 'decide'], limits: { sessions: ['ses_other'] } })
    expect(errorOf(await create(one, {}, elsewhere)).code).toBe('not_found')
    const here = await createToken({ scopes: ['read', 'decide'], limits: { sessions: [one.id] } })
    expect((await create(one, {}, here)).status).toBe(201)
  })

  it('cannot give a longer lifetime than its own, nor more than a day', async () => {
    const one = await asking()
    const short = await createToken({ scopes: ['read', 'decide'], lifetimeMs: 600_000 })
    const longer = await create(one, { lifetimeMs: 1_200_000 }, short)
    expect(errorOf(longer)).toMatchObject({ code: 'forbidden', details: { given: 'time' } })
    const { body } = await create(one, {}, short)
    expect(Number(body.expiresAt) - Number(body.createdAt)).toBeLessThanOrEqual(600_000)
    expect(errorOf(await create(one, { lifetimeMs: 86_400_001 })).code).toBe('validation_error')
  })

  it.each<[string, (who: Awaited<ReturnType<typeof person>>) => Promise<Answer>]>([
    [
      'the browser is signed out',
      ({ deviceId }) => server.ask(`/api/devices/${deviceId}`, { method: 'DELETE' }, machineToken),
    ],
    [
      'the person is disabled',
      ({ personId }) =>
        server.ask(`/api/people/${personId}`, { method: 'PATCH', body: { disabled: true } }, machineToken),
    ],
    [
      'the person gets a role without decide',
      ({ personId }) =>
        server.ask(`/api/people/${personId}`, { method: 'PATCH', body: { role: 'member' } }, machineToken),
    ],
  ])('takes the link along when %s', async (what, revoke) => {
    const one = await asking()
    const who = await person(`Somebody, until ${what}`, 'approver')
    const { code } = await linkFor(one, {}, who)
    expect((await show(code)).body.createdBy).toBe(`Somebody, until ${what}`)
    expect((await revoke(who)).status).toBeLessThan(300)
    expect(problemOf(await show(code))).toEqual(over('rights'))
    expect(problemOf(await decide(code, one))).toEqual(over('rights'))
    expect(await resolution(one)).toEqual([])
  })

  it('loses the link when the token is revoked', async () => {
    const one = await asking()
    const made = await createToken({ scopes: ['read', 'decide'] })
    const { code } = await linkFor(one, {}, made)
    await server.ask(`/api/tokens/${made.tokenId}`, { method: 'DELETE' }, machineToken)
    expect(problemOf(await decide(code, one))).toEqual(over('rights'))
  })

  it('creates at most ten links of a request, and sixty a minute', async () => {
    const { token } = await person('Eager', 'approver')
    const statuses: number[] = []
    for (let requests = 0; requests < 6; requests++) {
      const one = await asking()
      for (let times = 0; times < 11; times++) statuses.push((await create(one, {}, { token })).status)
    }
    // The eleventh link of a request exceeds the limit for one request. Refused attempts also count towards
    // the rate limit.
    const ofRequest = [...Array(10).fill(201), 409]
    expect(statuses.slice(0, 60)).toEqual(Array(6).fill(ofRequest).flat().slice(0, 60))
    expect(new Set(statuses.slice(60))).toEqual(new Set([429]))
  })
})

describe('the list of links', () => {
  it('shows a browser those of its person, a token its own, and an administrator all', async () => {
    const one = await asking()
    const [ana, ben] = [await person('Ana', 'approver'), await person('Ben', 'approver')]
    const ci = await createToken({ scopes: ['read', 'decide'] }, ana.token)
    const mine = await linkFor(one, {}, ana)
    const byToken = await linkFor(one, {}, ci)
    const listed = async (token: string) => {
      const { links } = (await server.ask('/api/decision-links', {}, token)).body as {
        links: { linkId: string; sessionId: string }[]
      }
      return links.filter(({ sessionId }) => sessionId === one.id).map(({ linkId }) => linkId)
    }
    expect(await listed(ana.token)).toEqual([mine.linkId, byToken.linkId])
    expect(await listed(ci.token)).toEqual([byToken.linkId])
    expect(await listed(ben.token)).toEqual([])
    expect(await listed(machineToken)).toEqual([mine.linkId, byToken.linkId])
    const text = (await server.ask('/api/decision-links', {}, machineToken)).text
    expect(text).not.toContain(mine.code)

    const remove = (id: string, token: string) =>
      server.ask(`/api/decision-links/${id}`, { method: 'DELETE' }, token)
    expect((await remove(mine.linkId, ben.token)).status).toBe(404)
    expect((await remove(mine.linkId, ci.token)).status).toBe(404)
    expect((await remove(mine.linkId, ana.token)).status).toBe(204)
    expect((await remove(mine.linkId, ana.token)).status).toBe(404)
    expect(problemOf(await decide(mine.code, one))).toEqual(over('revoked'))
    expect((await decide(byToken.code, one)).status).toBe(200)
    expect(await listed(ana.token)).toEqual([])
  })
})

it('the ledger records the creation, the use and the revocation of links, without their codes', async () => {
  const one = await asking()
  const [used, revoked] = [await linkFor(one), await linkFor(one)]
  await server.ask(`/api/decision-links/${revoked.linkId}`, { method: 'DELETE' }, machineToken)
  await decide(used.code, one)
  const { text } = await server.ask('/api/audit?limit=1000', {}, machineToken)
  const { entries } = JSON.parse(text) as { entries: { kind: string; subject: string }[] }
  const about = (id: string) => entries.filter(({ subject }) => subject === id)
  expect(about(used.linkId)).toMatchObject([
    { kind: 'decision-link.created', data: { requestId: one.requestId, decisions: ['allow', 'deny'] } },
    {
      kind: 'decision-link.used',
      actor: { link: { id: used.linkId } },
      data: { decision: 'deny', session: one.id },
    },
  ])
  expect(about(revoked.linkId).map(({ kind }) => kind)).toEqual([
    'decision-link.created',
    'decision-link.revoked',
  ])
  for (const { code } of [used, revoked]) expect(text).not.toContain(code)
  expect(text).not.toContain(one.inputHash)
})

it('tokens create no links if only browsers decide', async () => {
  await using browsersOnly = await accessUnderTest(() => ({}), {
    decideFrom: 'devices',
    decideByLink: 'allow',
  })
  const one = await asking(browsersOnly)
  expect(errorOf(await create(one, {}, { at: browsersOnly })).details).toMatchObject({ scope: 'decide' })
})

it('wrong codes are limited to twenty a minute from one address, where known codes still work', async () => {
  await using fresh = await accessUnderTest(() => ({}))
  const statuses: number[] = []
  for (let times = 0; times < 22; times++) statuses.push((await show('A'.repeat(43), fresh)).status)
  expect(statuses).toEqual([...Array(20).fill(401), 429, 429])
  const body = { code: 'A'.repeat(43), decision: 'deny', inputHash: 'x' }
  expect((await fresh.ask('/api/linked-decisions', { body })).status).toBe(429)
  const one = await asking(fresh)
  const { code } = await linkFor(one, { decisions: ['deny'] }, { at: fresh })
  expect((await show(code, fresh)).status).toBe(200)
})
