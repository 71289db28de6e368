import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { allScopes, ParleyError, type Scope } from '@parley/protocol'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { hostUnderTest } from './core/host-under-test.ts'
import { createEmbedded } from './embed.ts'
import type { Principal } from './index.ts'

/** A server that embeds Parley and authenticates its own users, by the header x-user. */

type User = { readonly scopes: readonly Scope[] } & Pick<Principal, 'limits' | 'signal' | 'expiresAt'>

async function embedded(users: Readonly<Record<string, User>>) {
  const world = await hostUnderTest()
  let url = ''
  const parley = createEmbedded({
    host: world.host,
    token: 'a-token-for-embedding',
    url: () => url,
    async authenticate({ headers }) {
      const name = new URL(headers['x-user']?.toString() ?? 'user:', 'user:').pathname
      if (name === 'broken') throw new ParleyError('unauthorized', 'The session of the user has ended.')
      const user = users[name]
      if (!user) return undefined
      const { scopes, ...rest } = user
      return {
        person: { id: name, name },
        kind: 'embedded',
        id: name,
        name,
        scopes: new Set(scopes),
        ...rest,
      }
    },
  })
  const server = createServer((request, response) => void parley.answer(request, response)).listen(
    0,
    '127.0.0.1',
  )
  server.on('upgrade', (request, socket, head) => parley.upgrade(request, socket, head))
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(async () => {
    parley.close()
    server.close()
    server.closeAllConnections()
    await world[Symbol.asyncDispose]()
  })
  const ask = async (user: string, path: string, body?: unknown) => {
    const headers = { 'x-user': `user:${user}`, 'content-type': 'application/json' }
    const more = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(url + path, { headers, ...more })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const connect = async (user: string) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/api/ws`, {
      headers: { 'x-user': `user:${user}` },
    })
    await once(socket, 'open')
    return socket
  }
  const session = (await world.host.create({ agent: 'scripted', cwd: '/tmp' })).id
  return { ask, connect, session, url, world }
}

it('a user has the scopes that the embedding server gives, and is named in the log', async () => {
  const { ask, session, world } = await embedded({ ada: { scopes: ['read', 'prompt'] } })
  const path = `/api/sessions/${session}/commands`
  expect((await ask('ada', path, { type: 'prompt.submit', commandId: '1', text: '[]' })).status).toBe(202)
  const refused = await ask('ada', path, { type: 'session.configure', commandId: '2', mode: 'bypass' })
  expect(refused.body.error).toMatchObject({ code: 'forbidden', details: { scope: 'decide' } })
  const { events } = await world.host.read(session, { limit: 100 })
  const prompt = events.map(({ json }) => JSON.parse(json)).find(({ type }) => type === 'prompt.submitted')
  expect(prompt.actor).toEqual({ person: { id: 'ada', name: 'ada' }, via: 'http' })
})

it('a user has the limits that the embedding server gives, which exclude terminal and admin', async () => {
  const limits = { agents: ['another'] }
  const { ask, session } = await embedded({ ada: { scopes: allScopes, limits } })
  expect((await ask('ada', `/api/sessions/${session}`)).status).toBe(404)
  expect((await ask('ada', '/api/sessions')).body.sessions).toEqual([])
  const rule = await ask('ada', '/api/rules', { tool: 'x', decision: 'allow', scope: 'always' })
  expect(rule.body.error).toMatchObject({ details: { scope: 'admin' } })
  const terminals = await ask('ada', `/api/sessions/${session}/terminals`)
  expect(terminals.body.error).toMatchObject({ details: { scope: 'terminal' } })
})

it('a request without a user needs the token, and an error of authenticate refuses the request', async () => {
  const { ask, url } = await embedded({})
  expect((await ask('nobody', '/api/sessions')).status).toBe(401)
  expect((await ask('broken', '/api/sessions')).status).toBe(401)
  const headers = { authorization: 'Bearer a-token-for-embedding' }
  expect((await fetch(`${url}/api/sessions`, { headers })).status).toBe(200)
})

it('/api/me describes a user whom Parley does not store, who can create neither tokens nor links', async () => {
  const { ask } = await embedded({ ada: { scopes: allScopes } })
  expect((await ask('ada', '/api/me')).body).toMatchObject({
    kind: 'embedded',
    person: { personId: 'ada', name: 'ada', current: true },
    scopes: allScopes,
  })
  for (const path of ['/api/tokens', '/api/links'])
    expect((await ask('ada', path, { name: 'x' })).body.error).toMatchObject({ code: 'not_supported' })
})

it('when the signal of a user aborts, or the access expires, connections are closed and requests are refused', async () => {
  const leaving = new AbortController()
  const expiresAt = Date.now() + 2_000
  const { ask, connect } = await embedded({
    ada: { scopes: ['read'], signal: leaving.signal },
    ben: { scopes: ['read'], expiresAt },
  })
  const [ada, ben] = [await connect('ada'), await connect('ben')]
  leaving.abort()
  expect((await once(ada, 'close'))[0]).toBe(4401)
  expect((await ask('ada', '/api/sessions')).status).toBe(401)
  expect((await once(ben, 'close'))[0]).toBe(4401)
  expect((await ask('ben', '/api/sessions')).status).toBe(401)
})

it('a page of another origin cannot use the cookies with which the server recognises its users', async () => {
  const { url } = await embedded({ ada: { scopes: ['read'] } })
  const headers = { 'x-user': 'user:ada', origin: 'https://evil.example' }
  expect((await fetch(`${url}/api/sessions`, { headers })).status).toBe(403)
})
