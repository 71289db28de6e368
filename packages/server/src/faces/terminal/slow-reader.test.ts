import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { type TerminalServerFrame, terminalClosed } from '@parley/protocol'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { machinePrincipal, ownerId } from '../../access/index.ts'
import type { ReaderLimits } from '../../workspace/terminal-readers.ts'
import { createTerminals } from '../../workspace/terminals.ts'
import { createTerminalFace } from './index.ts'

const kib = 1024

/** A program behind real sockets. It starts to write when it reads a line. */
async function open(script: string, limits: Partial<ReaderLimits>) {
  const terminals = createTerminals({ env: process.env, newId: () => 'trm_1', limits })
  const face = createTerminalFace({ terminals, logger: pino({ level: 'silent' }) })
  const server = createServer().on('upgrade', (request, socket, head) =>
    face.accept('trm_1', {
      ...{ request, socket, head },
      isNode: false,
      principal: machinePrincipal({ id: ownerId, name: 'owner' }, 'anywhere'),
      onSignedOut: () => {},
      mayAct: () => true,
    }),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    terminals.closeAll()
    server.close()
    server.closeAllConnections()
  })
  const command = ['sh', '-c', `stty -echo; read line; ${script}`]
  await terminals.open({ sessionId: 'ses_1', folder: tmpdir(), cols: 80, rows: 24, command })
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { terminals, connect: () => connect(url) }
}

async function connect(url: string) {
  const socket = new WebSocket(url)
  onTestFinished(() => socket.terminate())
  const frames: TerminalServerFrame[] = []
  const closed = Promise.withResolvers<{ code: number; reason: string }>()
  const exited = Promise.withResolvers<number>()
  socket.on('close', (code, reason) => closed.resolve({ code, reason: String(reason) }))
  await new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data)) as TerminalServerFrame
      frames.push(frame)
      resolve()
      if (frame.type === 'exited') exited.resolve(frame.exitCode)
    })
  })
  return {
    socket,
    frames,
    closed: closed.promise,
    exited: exited.promise,
    text: () => frames.map((frame) => ('data' in frame ? frame.data : '')).join(''),
    begin: () => socket.send(JSON.stringify({ type: 'input', data: '\r' })),
  }
}

/**
 * 7 MB of frames. That is more than a send buffer (at most 4 MB), the receive buffer of a paused socket and the
 * limits below can hold.
 */
const lines = 500_000
const flood = `seq -f line%.0f 1 ${lines}; echo the "end"`

it('the terminal drops a reader that stops reading, while another one reads everything the program writes', async () => {
  const { connect } = await open(flood, { fullBytes: 128 * kib, dropBytes: 512 * kib })
  const [slow, fast] = [await connect(), await connect()]
  slow.socket.pause()
  const received = slow.frames.length
  fast.begin()
  expect(await fast.exited).toBe(0)
  expect(fast.text().match(/line\d+\r\n/g)).toHaveLength(lines)
  expect(slow.frames).toHaveLength(received)

  slow.socket.resume()
  const { code, reason } = await slow.closed
  expect(code).toBe(terminalClosed.tooSlow)
  expect(reason).toMatch(/connect again/)
  expect(slow.text()).not.toContain('the end')
  const back = await connect()
  expect(back.frames[0]).toMatchObject({
    type: 'screen',
    data: expect.stringMatching(/line500000\r\nthe end/),
  })
})

it('the terminal drops its only reader if that reader would keep the program paused for ever', async () => {
  const { terminals, connect } = await open(flood, { fullBytes: 128 * kib, pausedMs: 200 })
  const slow = await connect()
  slow.begin()
  slow.socket.pause()
  await expect.poll(() => terminals.list('ses_1')[0]?.exitCode, { timeout: 100_000 }).toBe(0)
  slow.socket.resume()
  expect((await slow.closed).code).toBe(terminalClosed.tooSlow)
})

it('the terminal pauses a program for its only reader, however slow, and loses nothing', async () => {
  const { connect } = await open(flood, { fullBytes: 128 * kib, dropBytes: 256 * kib })
  const reader = await connect()
  reader.socket.on('message', () => {
    reader.socket.pause()
    setImmediate(() => reader.socket.resume())
  })
  reader.begin()
  expect(await reader.exited).toBe(0)
  expect(reader.text().match(/line\d+\r\n/g)).toHaveLength(lines)
})
