import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { webSocketProtocols } from '@parley/protocol'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { createScriptedAdapter } from './adapters/scripted/index.ts'
import { Receiver } from './alerts/receivers-under-test.ts'
import { createEmbedded, type EmbedOptions } from './embed.ts'
import { createHost, createMemoryStore } from './index.ts'
import { folderForTest } from './testing/temporary-folder.ts'

/** Tests the features that an embedding program can add: terminals and alerts. */
const token = 'a-token-for-embedding'

async function embedded(more: (store: ReturnType<typeof createMemoryStore>) => Partial<EmbedOptions>) {
  const store = createMemoryStore()
  const host = await createHost({ adapters: [createScriptedAdapter()], store })
  let url = ''
  const parley = createEmbedded({ host, token, access: store, url: () => url, ...more(store) })
  const server = createServer((request, response) => void parley.answer(request, response))
  server.on('upgrade', (request, socket, head) => parley.upgrade(request, socket, head))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(async () => {
    await parley.close()
    server.close()
    server.closeAllConnections()
    await host.close()
    await store.close()
  })
  const ask = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = body && { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(url + path, { headers, ...sent })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  return { ask, host, parley, url }
}

it('without the options there are neither terminals nor alerts, and /api/me says so', async () => {
  const { ask, host } = await embedded(() => ({}))
  const { id } = await host.create({ agent: 'scripted', cwd: folderForTest() })
  const size = { run: 'shell', cols: 80, rows: 24 }
  for (const refused of [await ask(`/api/sessions/${id}/terminals`, size), await ask('/api/targets')])
    expect(refused.body.error).toMatchObject({ code: 'not_supported' })
  expect((await ask('/api/me')).body.features).toEqual({ terminals: false, alerts: false })
})

it('opens terminals with the given environment, and ends them when it is closed', async () => {
  const env = { PATH: process.env.PATH, SHELL: '/bin/sh', FROM_PROGRAM: 'yes', PARLEY_TOKEN: 'secret' }
  const { ask, host, parley, url } = await embedded(() => ({ terminals: { env } }))
  expect((await ask('/api/me')).body.features).toEqual({ terminals: true, alerts: false })
  const { id } = await host.create({ agent: 'scripted', cwd: folderForTest() })
  const { body } = await ask(`/api/sessions/${id}/terminals`, { run: 'shell', cols: 80, rows: 24 })
  const address = `${url.replace('http', 'ws')}/api/terminals/${body.terminalId}`
  const socket = new WebSocket(address, webSocketProtocols(token))
  let shown = ''
  const seen = Promise.withResolvers<void>()
  socket.on('message', (data) => {
    shown += data.toString()
    if (/<yes><>/.test(shown)) seen.resolve()
  })
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'input', data: 'echo "<$FROM_PROGRAM><$PARLEY_TOKEN>"\r' }))
  await seen.promise
  const closed = once(socket, 'close')
  await parley.close()
  await closed
})

it('sends alerts about a request of a session to a webhook', async () => {
  let secret = ''
  await using hook = await Receiver.webhook(() => secret)
  const { ask, host } = await embedded((store) => ({ alerts: { store, privateTargets: true, waitMs: 0 } }))
  expect((await ask('/api/me')).body.features).toEqual({ terminals: false, alerts: true })
  const added = await ask('/api/targets', { kind: 'webhook', url: `${hook.origin}/x` })
  secret = String(added.body.secret)
  const step = { type: 'permission', name: 'Write', kind: 'edit', input: { path: 'a' } }
  const { id } = await host.create({
    agent: 'scripted',
    cwd: folderForTest(),
    prompt: JSON.stringify([step]),
  })
  const [sent] = await hook.count(1)
  expect(sent?.json).toMatchObject({ type: 'request.waiting', data: { session: { id } } })
  expect(hook.problems).toEqual([])
})
