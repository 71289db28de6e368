import { ParleyError } from '@parley/protocol'
import { expect, test } from 'vitest'
import { startWirePeer } from '../testing/wire-peer.ts'
import { createHttp, isUnreachable } from './http.ts'

const answering = (status: number, type: string, body: string) =>
  startWirePeer({
    respond: (_, response) => response.writeHead(status, { 'content-type': type }).end(body),
  })

test('a call fills in the path and the query, and sends the token in a header, never in the URL', async () => {
  await using peer = await answering(200, 'application/json', '{"events":[],"head":0,"epoch":"e"}')
  const http = createHttp({ url: `${peer.url}/`, token: 'secret' })
  await http.call('events', { params: { id: 'a/b' }, query: { before: 7, limit: 2 } })
  await http.call('health')
  expect(peer.requests).toEqual([
    { path: '/api/sessions/a%2Fb/events?before=7&limit=2', authorization: 'Bearer secret' },
    { path: '/api/health', authorization: undefined },
  ])
})

test('a refused token is renewed once, and the call continues with the new one', async () => {
  await using peer = await startWirePeer({
    respond(request, response) {
      const isGood = request.headers.authorization === 'Bearer new'
      response.writeHead(isGood ? 200 : 401, { 'content-type': 'application/json' })
      response.end(isGood ? '{"agents":[]}' : '{"error":{"code":"unauthorized","message":"no"}}')
    },
  })
  const asked: (string | undefined)[] = []
  const sourceOf = (next: string) => async (refused?: string) => {
    asked.push(refused)
    return refused === undefined ? 'old' : next
  }
  const http = createHttp({ url: peer.url, token: sourceOf('new') })
  expect(await http.call('listAgents')).toEqual({ agents: [] })
  expect(asked).toEqual([undefined, 'old'])
  for (const next of ['old', 'other']) {
    const refused = createHttp({ url: peer.url, token: sourceOf(next) }).call('listAgents')
    await expect(refused).rejects.toMatchObject({ code: 'unauthorized' })
  }
  expect(peer.requests.map(({ authorization }) => authorization?.slice(7))).toEqual([
    'old',
    'new',
    'old',
    'old',
    'other',
  ])
})

test('the caller gets the error of the token source', async () => {
  await using peer = await startWirePeer()
  const error = new ParleyError('unauthorized', 'signed out')
  const http = createHttp({ url: peer.url, token: () => Promise.reject(error) })
  await expect(http.call('listAgents')).rejects.toBe(error)
  expect(await http.call('health')).toMatchObject({ ok: true })
  expect(peer.requests).toHaveLength(1)
})

test.each(['at first', 'after a refusal'])(
  'a call waits for its token no longer than its timeout: %s',
  async (when) => {
    await using peer = await answering(401, 'application/json', '{}')
    const never = new Promise<string>(() => {})
    const token = async (refused?: string) => (when === 'at first' || refused ? never : 'old')
    const http = createHttp({ url: peer.url, token })
    await expect(http.call('listAgents', { timeoutMs: 20 })).rejects.toSatisfy(isUnreachable)
    const controller = new AbortController()
    const given = http.call('listAgents', { signal: controller.signal })
    controller.abort()
    await expect(given).rejects.toMatchObject({ code: 'cancelled' })
  },
)

test('a refusal is a ParleyError with its code and details', async () => {
  const body = JSON.stringify({ error: { code: 'conflict', message: 'no', details: { head: 3 } } })
  await using peer = await answering(409, 'application/json', body)
  const call = createHttp({ url: peer.url }).call('listAgents')
  await expect(call).rejects.toMatchObject({ code: 'conflict', message: 'no', details: { head: 3 } })
})

test.each([
  [200, '<html>', 'internal_error'],
  [500, 'oops', 'internal_error'],
  [401, '', 'unauthorized'],
  [413, '', 'too_large'],
  [502, 'Bad Gateway', 'busy'],
])('status %i with %j is %s', async (status, body, code) => {
  await using peer = await answering(status, 'text/html', body)
  await expect(createHttp({ url: peer.url }).call('listAgents')).rejects.toMatchObject({ code })
})

test('an unreachable server is reported as busy, with its address and what to do', async () => {
  const peer = await startWirePeer()
  await peer[Symbol.asyncDispose]()
  const thrown: unknown = await createHttp({ url: peer.url })
    .call('health')
    .catch((error) => error)
  expect(isUnreachable(thrown)).toBe(true)
  expect(thrown).toMatchObject({ code: 'busy', message: expect.stringContaining(peer.url) })
  expect(thrown).toMatchObject({ message: expect.stringContaining('Start Parley') })
})

test('a server that does not answer in time is reported as unreachable, an aborted call as cancelled', async () => {
  await using peer = await startWirePeer({ respond: () => {} })
  const http = createHttp({ url: peer.url })
  const late: unknown = await http.call('health', { timeoutMs: 20 }).catch((error) => error)
  expect(isUnreachable(late)).toBe(true)
  const controller = new AbortController()
  const given = http.call('health', { signal: controller.signal })
  controller.abort()
  await expect(given).rejects.toMatchObject({ code: 'cancelled' })
})

test('an export is text, and a deletion returns null', async () => {
  await using peer = await startWirePeer({
    respond(request, response) {
      if (request.method === 'DELETE') response.writeHead(204).end()
      else response.writeHead(200, { 'content-type': 'application/jsonl' }).end('{"seq":1}\n')
    },
  })
  const http = createHttp({ url: peer.url })
  expect(await http.call('exportSession', { params: { id: 's' } })).toBe('{"seq":1}\n')
  expect(await http.call('deleteSession', { params: { id: 's' } })).toBeNull()
})

test('an invalid address is refused at once', () => {
  expect(() => createHttp({ url: 'not an address' })).toThrow('not the address of a server')
})
