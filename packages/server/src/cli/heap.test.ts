import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createHome, type Home, type Running } from './program-under-test.ts'

/**
 * Limits on the heap of an idle server and of each session, in bytes. The heap is measured after a garbage
 * collection, so the figure does not depend on the time of the last one. Measured: 27.1 million.
 */
const limit = { idle: 27_500_000, session: 70_000 }
/**
 * The number of sessions that are opened before the counted ones: the first sessions also load code that all sessions
 * share.
 */
const shared = 10
const counted = 40

it('the heap of an idle server, and of each live session, stays below its limit', async () => {
  await using home = createHome()
  mkdirSync(home.dataDir, { recursive: true })
  writeFileSync(
    join(home.dataDir, 'config.json'),
    JSON.stringify({ limits: { maxConnections: shared + counted } }),
  )
  const reporter = new URL('./heap-under-test.ts', import.meta.url)
  const env = { NODE_OPTIONS: `--expose-gc --import=${reporter}` }
  const { running: server, ...access } = await home.serve([], { env })
  const request = requests(access)
  const idle = await heapOf(server)
  expect(idle, 'an idle server').toBeLessThanOrEqual(limit.idle)

  await openSessions(shared, request, home)
  const before = await heapOf(server)
  await openSessions(counted, request, home)
  const each = ((await heapOf(server)) - before) / counted
  expect(each, 'a live idle session').toBeLessThanOrEqual(limit.session)
})

type Request = <Answer>(method: string, path: string, body?: unknown) => Promise<Answer>

function requests({ url, token }: { url: string; token: string }): Request {
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const reply = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    expect(reply.ok, `${method} ${path}`).toBe(true)
    return (await reply.json()) as never
  }
}

let reports = 0
async function heapOf(server: Running): Promise<number> {
  reports++
  server.child.kill('SIGUSR2')
  const said = await server.until(new RegExp(`(heap after a collection: \\d+\\n[^]*){${reports}}`))
  return Number(
    said
      .match(/heap after a collection: (\d+)/g)
      ?.at(-1)
      ?.split(': ')[1],
  )
}

/** Opens sessions, each with one turn and a connected agent. */
async function openSessions(count: number, request: Request, { folder }: Home): Promise<void> {
  const open = async () => {
    const { id } = await request<{ id: string }>('POST', '/api/sessions', { agent: 'demo', cwd: folder })
    const command = { commandId: `heap-${id}`, type: 'prompt.submit', text: 'Hello.' }
    await request('POST', `/api/sessions/${id}/commands`, command)
    let state = { turns: 0, connected: false }
    while (state.turns === 0) state = await request('GET', `/api/sessions/${id}?tail=0`)
    expect(state.connected).toBe(true)
  }
  await Promise.all(Array.from({ length: count }, open))
}
