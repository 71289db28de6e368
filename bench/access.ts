import { hash as digest } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { expectScopes, permitsSession } from '../packages/server/src/access/index.ts'
import { createAuthentication } from '../packages/server/src/faces/http/authentication.ts'
import { createMemoryStore } from '../packages/server/src/index.ts'
import { type Figure, milliseconds, type Row } from './lib/figure.ts'
import { source, startProgram } from './lib/program.ts'
import { compare, inTurns } from './lib/stats.ts'

const sockets = 200
const maxCheckUs = 10
const maxClosedMs = 100

/**
 * The time to check a request against its principal, compared with hashing and looking up its token alone; and the time
 * from the revocation of a token until its sockets are closed, compared with a bare `ws` server that closes as many
 * sockets.
 */
export const access: Figure = {
  name: 'access',
  async measure({ quick, folder }) {
    return [await measureCheck(quick), await measureRevocation(quick, folder)]
  },
}

async function measureCheck(quick: boolean): Promise<Row> {
  const authentication = createAuthentication({
    token: 'the-token-of-the-machine',
    access: createMemoryStore(),
    bound: () => ({ hostname: '127.0.0.1', port: 1 }),
  })
  const limits = { folders: [{ folder: '/projects' }], agents: ['demo'] }
  const scopes = ['read', 'prompt', 'decide'] as const
  const rights = { personId: 'per_owner', scopes, limits }
  const { token } = await authentication.tokens().create('bench', rights)
  const request = { headers: { authorization: `Bearer ${token}` } } as IncomingMessage
  await authentication.learn(request)
  const session = { id: 'ses_1', cwd: '/projects/one', agent: 'demo' }
  const count = quick ? 20_000 : 200_000
  const check = () => {
    const { principal } = authentication.checkCaller(request)
    expectScopes(principal, ['decide'])
    if (!permitsSession(principal.limits, session)) throw new Error('The session is within the limits.')
  }
  const known = new Map([[hashOf(token), token]])
  const hash = () => {
    if (!known.has(hashOf(token))) throw new Error('The token is known.')
  }
  const each = async (work: () => void) => {
    const start = performance.now()
    for (let call = 0; call < count; call++) work()
    return ((performance.now() - start) / count) * 1000
  }
  await each(check)
  await each(hash)
  const result = compare(
    await inTurns(
      quick ? 3 : 9,
      () => each(check),
      () => each(hash),
    ),
  )
  return {
    figure: 'check of a request against its principal',
    value: microseconds(result.ours),
    baseline: `${microseconds(result.bare)} (hash and lookup of the token)`,
    ratio: result.ratio,
    aim: `under ${maxCheckUs} us`,
    met: result.ours < maxCheckUs,
    data: result,
  }
}

async function measureRevocation(quick: boolean, folder: string): Promise<Row> {
  const program = await startProgram(source, folder)
  const bare = new WebSocketServer({
    server: createServer().listen(0, '127.0.0.1'),
    perMessageDeflate: false,
  })
  const server = bare.options.server ?? createServer()
  try {
    if (!server.listening) await once(server, 'listening')
    const bareUrl = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
    const closeBare = async () => {
      const closed = await openAll(bareUrl)
      const start = performance.now()
      for (const client of bare.clients) client.close(4401)
      await closed()
      return performance.now() - start
    }
    const result = compare(await inTurns(quick ? 3 : 15, () => revoked(program), closeBare))
    return {
      figure: `from a revocation until ${sockets} sockets are closed`,
      value: milliseconds(result.ours),
      baseline: `${milliseconds(result.bare)} (bare ws)`,
      ratio: result.ratio,
      aim: `under ${maxClosedMs} ms`,
      met: result.ours < maxClosedMs,
      data: result,
    }
  } finally {
    bare.close()
    server.close()
    await program.stop()
  }
}

/**
 * The time from the request that revokes a token until its last socket is closed, with the close code of a revocation.
 */
async function revoked({ url, token }: { readonly url: string; readonly token: string }): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'bench', scopes: ['read'] })
  const created = await fetch(`${url}/api/tokens`, { method: 'POST', headers, body })
  const named = (await created.json()) as { token: string; tokenId: string }
  const closed = await openAll(`${url.replace('http', 'ws')}/api/ws`, named.token)
  const start = performance.now()
  const answer = fetch(`${url}/api/tokens/${named.tokenId}`, { method: 'DELETE', headers })
  const codes = await closed()
  const ms = performance.now() - start
  if (!(await answer).ok || codes.some((code) => code !== 4401)) throw new Error('A socket was not closed.')
  return ms
}

/** Opens the sockets. Returns a function that resolves with their close codes. */
async function openAll(url: string, token?: string): Promise<() => Promise<number[]>> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const clients = Array.from(
    { length: sockets },
    () => new WebSocket(url, { headers, perMessageDeflate: false }),
  )
  const closed = clients.map(async (client) => (await once(client, 'close'))[0] as number)
  await Promise.all(clients.map((client) => once(client, 'open')))
  return () => Promise.all(closed)
}

function hashOf(token: string): string {
  return digest('sha256', token, 'base64')
}

function microseconds(value: number): string {
  return `${value.toFixed(2)} us`
}
