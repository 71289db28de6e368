import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createScriptedAdapter } from '../../../adapters/scripted/index.ts'
import { createHost } from '../../../index.ts'
import { createMemoryStore } from '../../../stores/memory.ts'
import { folderForFile } from '../../../testing/temporary-folder.ts'
import { codeOf, deviceUnderTest, signedIn } from '../device-under-test.ts'
import { type Answer, type ServerUnderTest, serverUnderTest } from '../server-under-test.ts'
import { type Fault, ProviderUnderTest } from './provider-under-test.ts'

const folder = folderForFile()
const host = await createHost({ adapters: [createScriptedAdapter()], store: createMemoryStore() })
let provider: ProviderUnderTest
let server: ServerUnderTest

const clientSecretFile = join(folder, 'secret')
beforeAll(async () => {
  provider = await ProviderUnderTest.start()
  writeFileSync(clientSecretFile, `${provider.clientSecret}\n`)
})
afterAll(async () => {
  await host.close()
  await provider[Symbol.asyncDispose]()
})
let accounts = 0
beforeEach(async () => {
  const { issuer, clientId } = provider
  server = await serverUnderTest(host, { oidc: { issuer, clientId, clientSecretFile, name: 'Example' } })
  provider.fault = {}
  provider.account = { sub: `subject-${++accounts}`, name: `Ada ${accounts}`, email: 'ada@example.org' }
})
afterEach(() => server.close())

const open = (path: string, body: unknown) => server.ask(path, { token: false, body })
const errorOf = ({ body }: Answer) =>
  body.error as { code?: string; details?: { reason?: string } } | undefined

type Started = { readonly url: string; readonly state: string; readonly secret: string }
const start = async (code?: string) =>
  (await open('/api/oidc/requests', code === undefined ? {} : { code })).body as unknown as Started

const publicKey = () => deviceUnderTest(server).publicKey
const finish = ({ state, secret }: Started, answer: string, more: object = {}) =>
  open('/api/oidc/sign-ins', { state, secret, answer, publicKey: publicKey(), ...more })

/** All steps of a browser: it starts the sign-in, signs in at the provider, and finishes. */
async function signIn(code?: string, more?: object): Promise<Answer> {
  const started = await start(code)
  return finish(started, await provider.signIn(started.url), more)
}

async function invitation(role = 'member'): Promise<string> {
  const { body } = await server.ask('/api/invites', { body: { role } })
  return codeOf(body.url as string)
}

const people = async () => (await server.ask('/api/people')).body.people as Record<string, unknown>[]

describe('an account of the provider', () => {
  it('creates a person with an invitation, once, and later signs in without one', async () => {
    const code = await invitation()
    const first = await signIn(code)
    expect([first.status, first.body.scopes]).toEqual([201, ['read', 'prompt']])
    const again = await signIn()
    expect([again.status, again.body.personId]).toEqual([201, first.body.personId])
    provider.account = { ...provider.account, sub: 'somebody-else' }
    expect(errorOf(await signIn(code))?.details?.reason).toBe('not-invited')
    const { name } = (await people()).find(({ personId }) => personId === first.body.personId) ?? {}
    expect(name).toBe(provider.account.name)
  })

  it('is refused without an invitation, even if it has the e-mail address of a person with another account', async () => {
    await signIn(await invitation('admin'))
    const before = (await people()).length
    provider.account = { ...provider.account, sub: 'thief' }
    expect(errorOf(await signIn())).toMatchObject({ code: 'forbidden', details: { reason: 'not-invited' } })
    expect((await people()).length).toBe(before)
  })

  it('is connected with the person of a one-time link', async () => {
    const { headers } = await signedIn(server)
    const { body } = await server.ask('/api/links', { method: 'POST', token: false, headers })
    expect((await signIn(codeOf(body.url as string))).status).toBe(201)
    expect((await signIn()).body.personId).toBe('per_owner')
  })

  it.each<[string, object]>([
    ['fewer scopes', { scopes: ['read'] }],
    ['limits', { scopes: ['read', 'prompt'], limits: { agents: ['scripted'] } }],
    ['a lifetime', { lifetimeMs: 60_000 }],
  ])('is not connected by a one-time link that a browser with %s created', async (_, rights) => {
    const owner = await signedIn(server)
    const pairing = await server.ask('/api/pairings', { token: false, headers: owner.headers, body: rights })
    const device = deviceUnderTest(server)
    expect((await device.register(pairing.body.code as string)).status).toBe(201)
    const headers = { authorization: `Bearer ${await device.token()}` }
    const { body } = await server.ask('/api/links', { method: 'POST', token: false, headers })
    const answer = await signIn(codeOf(body.url as string))
    expect(errorOf(answer)).toMatchObject({ code: 'forbidden', details: { reason: 'limited-link' } })
    expect(errorOf(await signIn())?.details?.reason).toBe('not-invited')
  })

  it('cannot sign in while its person is disabled', async () => {
    const { body } = await signIn(await invitation())
    const path = `/api/people/${body.personId}`
    await server.ask(path, { method: 'PATCH', body: { disabled: true } })
    expect(errorOf(await signIn())?.code).toBe('forbidden')
    expect(errorOf(await signIn(await invitation()))?.code).toBe('conflict')
    await server.ask(path, { method: 'PATCH', body: { disabled: false } })
    expect((await signIn()).status).toBe(201)
  })
})

describe('a sign-in', () => {
  it('uses PKCE, a state and a nonce, and asks for no e-mail address', async () => {
    await start()
    await provider.signIn((await start()).url)
    const asked = Object.fromEntries(provider.requests.at(-1) ?? [])
    expect(asked).toMatchObject({
      response_type: 'code',
      scope: 'openid profile',
      code_challenge_method: 'S256',
    })
    expect(asked.redirect_uri).toBe(`${server.url}/open`)
    expect([asked.state?.length, asked.nonce?.length, asked.code_challenge?.length]).toEqual([43, 43, 43])
  })

  it('is finished once: a replayed state is refused', async () => {
    const started = await start(await invitation())
    const answer = await provider.signIn(started.url)
    expect((await finish(started, answer)).status).toBe(201)
    expect(errorOf(await finish(started, answer))?.code).toBe('unauthorized')
  })

  it('is finished only by the browser that started it', async () => {
    const [attacker, victim] = [await start(await invitation()), await start()]
    const answer = await provider.signIn(attacker.url)
    expect(errorOf(await finish({ ...attacker, secret: victim.secret }, answer))?.code).toBe('unauthorized')
    const other = await provider.signIn((await start()).url)
    expect(errorOf(await finish(victim, other))?.code).toBe('unauthorized')
  })

  it('cannot redirect to another address', async () => {
    for (const field of ['redirect', 'redirectUri', 'returnTo', 'url'])
      expect((await open('/api/oidc/requests', { [field]: 'https://evil.example' })).status).toBe(400)
    const answer = await server.ask('/open?returnTo=https://evil.example', { token: false })
    expect([answer.status, answer.headers.location]).toEqual([200, undefined])
  })

  const other = 'https://other.example'
  it.each<[string, Fault]>([
    ['the issuer of the redirect is another one', { redirect: { iss: other } }],
    ['the redirect has another state', { redirect: { state: 'other' } }],
    ['the redirect has an error', { redirect: { error: 'access_denied' } }],
    ['the code is unknown', { redirect: { code: 'made-up' } }],
    ['the ID token is of another issuer', { claims: { iss: other } }],
    ['the ID token is for another client', { claims: { aud: 'another-client' } }],
    ['the ID token is for several clients and names another', { claims: { aud: ['parley', 'x'], azp: 'x' } }],
    ['the ID token has another nonce', { claims: { nonce: 'another' } }],
    ['the ID token has no nonce', { claims: { nonce: undefined } }],
    ['the ID token has no subject', { claims: { sub: undefined } }],
    ['the ID token has expired', { claims: { exp: 1 } }],
    ['the ID token is not signed (alg none)', { signature: 'none' }],
    ['the ID token is signed with an unknown key', { signature: 'other-key' }],
  ])('is refused if %s', async (_, fault) => {
    const code = await invitation()
    const before = (await people()).length
    provider.fault = fault
    const answer = await signIn(code)
    expect([answer.status, errorOf(answer)?.details?.reason]).toEqual([401, 'oidc'])
    expect((await people()).length).toBe(before)
    // The invitation was not used up.
    provider.fault = {}
    expect((await signIn(code)).status).toBe(201)
  })

  it('is listed in the public description of the sign-in methods', async () => {
    const { body } = await server.ask('/api/sign-in', { token: false })
    expect(body).toEqual({ oidc: { name: 'Example' } })
  })

  it('can be started 60 times a minute from one address', async () => {
    for (let attempt = 0; attempt < 60; attempt++) await start()
    expect(errorOf(await open('/api/oidc/requests', {}))?.code).toBe('rate_limited')
  })

  it('leaves no code, state or secret in the log', async () => {
    const started = await start(await invitation())
    const answer = await provider.signIn(started.url)
    await finish(started, answer)
    await server.ask(`/open?${answer}`, { token: false })
    const secrets = [started.secret, started.state, new URLSearchParams(answer).get('code') ?? 'none']
    for (const secret of secrets) expect(server.log.join('')).not.toContain(secret)
  })
})

it('a server without a provider refuses the routes of OpenID', async () => {
  const plain = await serverUnderTest(host)
  try {
    expect((await plain.ask('/api/sign-in', { token: false })).body).toEqual({})
    const answer = await plain.ask('/api/oidc/requests', { token: false, body: {} })
    expect(errorOf(answer)?.code).toBe('not_supported')
  } finally {
    await plain.close()
  }
})

it('a provider that does not answer is reported, and the next attempt asks it again', async () => {
  const gone = await ProviderUnderTest.start()
  const { issuer, clientId } = gone
  await gone[Symbol.asyncDispose]()
  const lost = await serverUnderTest(host, { oidc: { issuer, clientId } })
  try {
    for (let attempt = 0; attempt < 2; attempt++) {
      const answer = await lost.ask('/api/oidc/requests', { token: false, body: {} })
      expect(errorOf(answer)?.code).toBe('busy')
    }
  } finally {
    await lost.close()
  }
})
