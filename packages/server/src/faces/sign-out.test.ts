import { once } from 'node:events'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { startParley } from '../cli/start.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import { deviceUnderTest } from './http/device-under-test.ts'
import type { Answer, Asked } from './http/server-under-test.ts'

const token = 'a-token-for-signing-out'

/** The whole server with real shells, and a browser that has signed in. */
async function start() {
  const folder = folderForTest()
  const logger = pino({ level: 'silent' })
  const parley = await startParley({
    dataDir: join(folder, 'data'),
    hostname: '127.0.0.1',
    port: 0,
    token,
    logger,
  })
  onTestFinished(() => parley.close())
  const { url } = parley.http
  const ask = async (path: string, asked: Asked = {}): Promise<Answer> => {
    const response = await fetch(url + path, {
      method: asked.method ?? (asked.body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(asked.token !== false && { authorization: `Bearer ${token}` }),
        'content-type': 'application/json',
        ...asked.headers,
      },
      ...(asked.body !== undefined && { body: JSON.stringify(asked.body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: {}, text, body: text === '' ? {} : JSON.parse(text) }
  }
  const device = deviceUnderTest({ ask, link: parley.http.link })
  await device.register()
  const { id } = await parley.host.create({ agent: 'demo', cwd: folder })
  const access = await device.token()
  const connect = async (path: string, given = access) => {
    const socket = new WebSocket(url.replace('http', 'ws') + path, ['parley.v1', `bearer.${given}`])
    onTestFinished(() => socket.terminate())
    await once(socket, 'open')
    return socket
  }
  const revoke = () => ask(`/api/devices/${device.deviceId}`, { method: 'DELETE' })
  return { parley, ask, id, connect, revoke }
}

it('a WebSocket of a browser that is signed out is closed, and its further commands are ignored', async () => {
  const { parley, id, connect, revoke } = await start()
  const socket = await connect('/api/ws')
  expect(socket.protocol).toBe('parley.v1')
  const received: string[] = []
  socket.on('message', (data) => received.push(String(data)))
  // A client that does not read cannot answer the close frame, but can still send.
  socket.pause()
  expect((await revoke()).status).toBe(204)
  const command = { commandId: 'late', type: 'prompt.submit', text: 'help' }
  socket.send(JSON.stringify({ type: 'command', session: id, command }))
  socket.resume()
  const [code] = await once(socket, 'close')
  expect(code).toBe(4401)
  expect(received.filter((frame) => frame.includes('receipt'))).toEqual([])
  expect(await parley.host.detail(id, 10)).toMatchObject({ blocks: [] })
})

it('a terminal connection of a browser that is signed out is closed, and its further input is ignored', async () => {
  const { ask, id, connect, revoke } = await start()
  const { body } = await ask(`/api/sessions/${id}/terminals`, { body: { cols: 80, rows: 24 } })
  const path = `/api/terminals/${body.terminalId}`
  const socket = await connect(path)
  socket.pause()
  expect((await revoke()).status).toBe(204)
  socket.send(JSON.stringify({ type: 'input', data: 'exit 7\r' }))
  socket.resume()
  const [code] = await once(socket, 'close')
  expect(code).toBe(4401)
  const other = await connect(path, token)
  let received = ''
  other.on('message', (data) => {
    received += String(data)
  })
  other.send(JSON.stringify({ type: 'input', data: 'echo still-$((40+2))\r' }))
  await expect.poll(() => received).toMatch(/still-42|exited/)
  expect(received).toContain('still-42')
})
