import { once } from 'node:events'
import type { SessionEvent } from '@parley/protocol'
import { afterAll, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { codeOf, deviceUnderTest } from '../faces/http/device-under-test.ts'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { folderForFile } from '../testing/temporary-folder.ts'
import { type NodeUnderTest, startNode } from './node-under-test.ts'

/** Tests principals on three nodes: checks and revocations of one node apply on all of them. */

const postgres = await PostgresServer.forFile()
const folder = folderForFile()
const databaseUrl = await postgres.database()
const machineToken = 'the-token-of-all-nodes-0123456789abcdef'
const start = () => startNode({ databaseUrl, folder })
const nodes = [await start(), await start(), await start()] as const
const [owner, beside, third] = nodes
afterAll(async () => {
  for (const node of nodes) await node.dispose()
})

type Asked = {
  readonly body?: unknown
  readonly method?: string
  readonly token?: string
  readonly accept?: string
}

async function ask({ http }: NodeUnderTest, path: string, asked: Asked = {}) {
  const { body, token = machineToken, method = body === undefined ? 'GET' : 'POST', accept } = asked
  const response = await fetch(http.url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(accept && { accept }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return response
}

async function json(node: NodeUnderTest, path: string, asked?: Asked): Promise<Record<string, unknown>> {
  return (await ask(node, path, asked)).json()
}

const newToken = async (node: NodeUnderTest, more: object = {}, token = machineToken) =>
  (await json(node, '/api/tokens', { body: { name: 'A token', ...more }, token })) as unknown as {
    token: string
    tokenId: string
  }

async function events(id: string): Promise<SessionEvent[]> {
  const { events: stored } = await owner.host.read(id, { limit: 500 })
  return stored.map(({ json: text }) => JSON.parse(text) as SessionEvent)
}

it('a command to a node that is not the owner is checked on that node, and the log names its actor', async () => {
  const { id } = await owner.host.create({ agent: 'scripted', cwd: folder })
  const { token, tokenId } = await newToken(third, { name: 'CI', scopes: ['read', 'prompt'] })
  const commands = `/api/sessions/${id}/commands`
  const prompt = { type: 'prompt.submit', commandId: 'one', text: '[]' }
  expect((await ask(beside, commands, { body: prompt, token })).status).toBe(202)
  for (const body of [
    { type: 'permission.decide', commandId: 'two', requestId: 'r', decision: 'allow' },
    { type: 'session.configure', commandId: 'three', mode: 'bypass' },
  ])
    expect((await json(beside, commands, { body, token })).error).toMatchObject({
      details: { scope: 'decide' },
    })
  const patched = await ask(beside, `/api/sessions/${id}`, { method: 'PATCH', body: { title: 'New' }, token })
  expect(patched.status).toBe(200)
  const named = (await events(id)).filter(({ actor }) => actor)
  expect(named.map(({ type }) => type)).toEqual(['prompt.submitted', 'session.renamed'])
  for (const { actor } of named)
    expect(actor).toMatchObject({ token: { id: tokenId, name: 'CI' }, via: 'http' })
})

it('a commandId of another token is a conflict, even if different nodes get the two commands', async () => {
  const { id } = await owner.host.create({ agent: 'scripted', cwd: folder })
  const scopes = ['read', 'prompt']
  const [first, second] = [await newToken(beside, { scopes }), await newToken(third, { scopes })]
  const commands = `/api/sessions/${id}/commands`
  const body = { type: 'prompt.submit', commandId: 'same', text: '[]' }
  expect((await ask(beside, commands, { body, token: first.token })).status).toBe(202)
  expect((await ask(owner, commands, { body, token: first.token })).status).toBe(202)
  const taken = await json(third, commands, { body, token: second.token })
  expect(taken.error).toMatchObject({ code: 'conflict' })
})

it('a session outside the limits of a token is not found on any node', async () => {
  const { id } = await owner.host.create({ agent: 'scripted', cwd: folder })
  const { token } = await newToken(beside, { limits: { agents: ['other'] }, scopes: ['read', 'prompt'] })
  const unknown = await json(third, '/api/sessions/ses_unknown', { token })
  for (const node of nodes) {
    for (const path of ['', '/events', '/changes', '/files', '/export'])
      expect((await ask(node, `/api/sessions/${id}${path}`, { token })).status).toBe(404)
    const { error } = await json(node, `/api/sessions/${id}`, { token })
    expect(JSON.stringify(error).replace(id, 'ses_unknown')).toBe(JSON.stringify(unknown.error))
  }
})

it('a limit to a folder applies only at the place of the folder', async () => {
  const limits = { folders: [{ folder, place: 'machine:elsewhere' }] }
  const { id } = await owner.host.create({ agent: 'scripted', cwd: folder })
  const here = await newToken(owner, { limits: { folders: [{ folder }] } })
  const there = await newToken(owner, { limits })
  expect((await ask(third, `/api/sessions/${id}`, { token: here.token })).status).toBe(200)
  expect((await ask(third, `/api/sessions/${id}`, { token: there.token })).status).toBe(404)
  for (const node of nodes) {
    const listed = async ({ token }: { token: string }) =>
      (await json(node, '/api/sessions?limit=500', { token })) as { sessions: { id: string }[] }
    expect((await listed(here)).sessions.map((one) => one.id)).toContain(id)
    expect(await listed(there)).toEqual({ sessions: [] })
  }
})

/** A person with a browser, and a token of the person. */
async function member(name: string) {
  const { url } = (await json(owner, '/api/invites', { body: { role: 'member' } })) as { url: string }
  const device = deviceUnderTest({
    ask: async (path, { body } = {}) => {
      const answer = await ask(third, path, { body: body ?? {} })
      const text = await answer.text()
      return { status: answer.status, headers: {}, text, body: JSON.parse(text) }
    },
    link: () => url,
  })
  const { body } = await device.register(codeOf(url), { name })
  const { token, tokenId } = await newToken(third, {}, await device.token())
  return {
    personId: body.personId as string,
    deviceId: device.deviceId,
    access: await device.token(),
    token,
    tokenId,
  }
}

type Member = Awaited<ReturnType<typeof member>>

it.each<[string, (one: Member) => Promise<Response>, (one: Member) => string]>([
  [
    'its person is disabled',
    ({ personId }) => ask(third, `/api/people/${personId}`, { method: 'PATCH', body: { disabled: true } }),
    ({ token }) => token,
  ],
  [
    'the browser is signed out',
    ({ deviceId }) => ask(third, `/api/devices/${deviceId}`, { method: 'DELETE' }),
    ({ access }) => access,
  ],
  [
    'the token is revoked',
    ({ tokenId }) => ask(third, `/api/tokens/${tokenId}`, { method: 'DELETE' }),
    ({ token }) => token,
  ],
])('a caller is cut off and refused on every node at once if %s', async (name, revoke, tokenOf) => {
  const { id } = await owner.host.create({ agent: 'scripted', cwd: folder })
  const one = await member(name)
  const token = tokenOf(one)
  const sockets = await Promise.all(
    nodes.map(async ({ http }) => {
      const socket = new WebSocket(`${http.url.replace('http', 'ws')}/api/ws`, [
        'parley.v1',
        `bearer.${token}`,
      ])
      await once(socket, 'open')
      return { socket, closed: once(socket, 'close') }
    }),
  )
  const streams = await Promise.all(
    nodes.map((node) => ask(node, `/api/sessions/${id}/events`, { token, accept: 'text/event-stream' })),
  )
  const ended = streams.map((stream) =>
    stream.text().then(
      () => 'ended',
      () => 'cut',
    ),
  )
  expect((await revoke(one)).status).toBeLessThan(300)
  // The request to revoke is answered only after every node has applied it.
  for (const node of nodes) expect((await ask(node, '/api/sessions', { token })).status).toBe(401)
  for (const { closed } of sockets) expect((await closed)[0]).toBe(4401)
  expect(await Promise.all(ended)).toEqual(['cut', 'cut', 'cut'])
})

it('a link that one node has created decides on another node, exactly once, and the owner records it', async () => {
  const step = {
    type: 'permission',
    name: 'Write',
    kind: 'edit',
    title: 'Write x',
    input: { file_path: 'x' },
  }
  const { id } = await owner.host.create({ agent: 'scripted', cwd: folder, prompt: JSON.stringify([step]) })
  const requests = async () => (await owner.host.state(id)).requests
  await expect.poll(async () => (await requests()).length).toBe(1)
  const [request] = await requests()
  if (request?.type !== 'permission') throw new Error('no permission')
  const { requestId, inputHash } = request
  const made = await newToken(owner, { name: 'CI', scopes: ['read', 'decide'] })
  const create = (node: NodeUnderTest, token: string) =>
    json(node, `/api/sessions/${id}/decision-links`, { body: { requestId, decisions: ['allow'] }, token })
  const [link, other] = [await create(beside, machineToken), await create(beside, made.token)]
  const code = codeOf(String(link.url))

  // The request to revoke is answered only after every node has applied the revocation.
  await ask(owner, `/api/tokens/${made.tokenId}`, { method: 'DELETE' })
  const body = { code: codeOf(String(other.url)), decision: 'allow', inputHash }
  for (const node of nodes)
    expect((await json(node, '/api/linked-decisions', { body })).error).toMatchObject({
      code: 'conflict',
      details: { reason: 'rights' },
    })

  expect(await json(third, '/api/linked-requests', { body: { code } })).toMatchObject({
    request: { requestId },
  })
  const uses = Array.from({ length: 20 }, (_, n) =>
    ask(nodes[n % 3] ?? third, '/api/linked-decisions', { body: { code, decision: 'allow', inputHash } }),
  )
  const statuses = (await Promise.all(uses)).map(({ status }) => status).sort()
  expect(statuses).toEqual([200, ...Array(19).fill(409)])
  const resolved = (await events(id)).filter(({ type }) => type === 'permission.resolved')
  expect(resolved).toMatchObject([
    { outcome: 'allowed', by: 'person', actor: { link: { id: link.linkId }, via: 'http' } },
  ])
  for (const node of nodes)
    expect((await json(node, '/api/linked-requests', { body: { code } })).error).toMatchObject({
      details: { reason: 'used' },
    })
})
