import { webSocketProtocols } from '@parley/protocol'
import { pino } from 'pino'
import { afterEach, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import type { AccessStore } from '../../core/access-store.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import type { Terminals } from '../../workspace/terminals.ts'
import { createTerminalFace } from '../terminal/index.ts'
import { createWebSocketFace } from '../websocket/index.ts'
import { codeOf, deviceUnderTest, signedIn } from './device-under-test.ts'
import { serverUnderTest } from './server-under-test.ts'

/**
 * Tests a process that was paused while another process signed out a browser. The paused process reads frames before
 * its timers run.
 */

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/**
 * A store that simulates several processes. After `pause`, the other processes no longer wait for this
 * process.
 */
function sharedDevices() {
  const store = createMemoryStore()
  const listeners: (() => void)[] = []
  let isPaused = false
  const shared: NonNullable<AccessStore['shared']> = {
    changed: async () => undefined,
    onChanged: () => undefined,
    onLost: (listener) => void listeners.push(listener),
    get isWaitedFor() {
      if (isPaused) for (const listener of listeners) listener()
      return !isPaused
    },
  }
  return {
    access: { ...store, shared },
    async pause() {
      isPaused = true
      for (const { kind, id } of await store.accessRecords())
        if (kind === 'device') await store.retireAccessRecord(kind, id, 1)
    },
  }
}

async function start() {
  const { access, pause } = sharedDevices()
  const host = await createHost({ adapters: [createScriptedAdapter()], store: createMemoryStore() })
  const logger = pino({ level: 'silent' })
  const sockets = createWebSocketFace({ host, logger, version: '0' })
  const input = vi.fn()
  const view = { input, resize: input, leave: () => undefined, drained: () => undefined }
  const terminals = { watch: () => view } as unknown as Terminals
  const { accept: terminal } = createTerminalFace({ terminals, logger })
  const server = await serverUnderTest(host, { access, websocket: sockets.accept, terminal })
  closing.push(async () => {
    sockets.close()
    await server.close()
    await host.close()
  })
  return { host, server, pause, input }
}

async function open(port: number, path: string, token: string): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, webSocketProtocols(token))
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('open', resolve))
  return socket
}

const closed = (socket: WebSocket) => new Promise((resolve) => socket.once('close', resolve))

it('a command of a browser that was signed out meanwhile is not performed', async () => {
  const { host, server, pause } = await start()
  const { token } = await signedIn(server)
  const { id: session } = await host.create({ agent: 'scripted', cwd: '/tmp' })
  const socket = await open(server.port, '/api/ws', token)
  await pause()
  const command = { type: 'prompt.submit', commandId: 'c', text: '[]' }
  socket.send(JSON.stringify({ type: 'command', session, command }))
  await closed(socket)
  expect((await host.state(session)).seq).toBe(1)
})

it('input of a browser that was signed out meanwhile does not reach a terminal', async () => {
  const { server, pause, input } = await start()
  const { token } = await signedIn(server)
  const socket = await open(server.port, '/api/terminals/trm_1', token)
  const type = () => socket.send(JSON.stringify({ type: 'input', data: 'x' }))
  type()
  await vi.waitUntil(() => input.mock.calls.length === 1, 30_000)
  await pause()
  type()
  await closed(socket)
  expect(input).toHaveBeenCalledOnce()
})

it('a link of a browser that was signed out meanwhile signs nobody in', async () => {
  const { server, pause } = await start()
  const { headers } = await signedIn(server)
  const { body } = await server.ask('/api/links', { token: false, headers, body: {} })
  await pause()
  expect((await deviceUnderTest(server).register(codeOf(String(body.url)))).status).toBe(401)
})
