import { ParleyError } from '@parley/protocol'
import { expect, test } from 'vitest'
import { startWirePeer } from '../testing/wire-peer.ts'
import { createBackoff } from './backoff.ts'
import { createSocket, type Socket, type SocketOptions, type SocketStatus } from './socket.ts'

const quick = () => createBackoff({ baseMs: 1, maxMs: 1 })

function open(options: SocketOptions): Socket & Disposable {
  const socket = createSocket({ backoff: quick(), ...options })
  socket.open()
  return Object.assign(socket, { [Symbol.dispose]: () => socket.close() })
}

function reaches(socket: Socket, state: SocketStatus['state']): Promise<SocketStatus> {
  if (socket.status.state === state) return Promise.resolve(socket.status)
  return new Promise((resolve) => {
    const forget = socket.onStatus((status) => {
      if (status.state !== state) return
      forget()
      resolve(status)
    })
  })
}

test('a socket sends hello, offers the token beside its subprotocol, and is open once it gets welcome', async () => {
  await using peer = await startWirePeer()
  using socket = open({ url: peer.url, token: 'secret', name: 'test' })
  expect(socket.send({ type: 'ping' })).toBe(false)
  const other = await peer.accept()
  expect(await other.next('hello')).toEqual({ type: 'hello', client: 'test' })
  expect(await reaches(socket, 'open')).toEqual({ state: 'open', version: 'peer' })
  expect(peer.upgrades[0]?.headers['sec-websocket-protocol']).toMatch(/^parley\.v1, ?bearer\.secret$/)
  expect(peer.upgrades[0]?.url).toBe('/api/ws')
  expect(socket.send({ type: 'unfollow', session: 's' })).toBe(true)
  expect(await other.next('unfollow')).toEqual({ type: 'unfollow', session: 's' })
})

test('a socket reconnects after its connection is cut, and after an invalid frame', async () => {
  await using peer = await startWirePeer()
  using socket = open({ url: peer.url })
  const first = await peer.accept()
  await reaches(socket, 'open')
  first.cut()
  const second = await peer.accept()
  await second.next('hello')
  second.sendText('}{')
  const third = await peer.accept()
  await third.next('hello')
  await reaches(socket, 'open')
  expect(peer.upgrades).toHaveLength(3)
})

test('a socket reconnects when its peer stops answering pings', async () => {
  await using peer = await startWirePeer({ heartbeatMs: 250 })
  using socket = open({ url: peer.url })
  const first = await peer.accept()
  await reaches(socket, 'open')
  await first.next('ping')
  first.send({ type: 'pong' })
  await first.next('ping')
  const second = await peer.accept()
  await second.next('hello')
  expect(peer.upgrades.length).toBeGreaterThanOrEqual(2)
})

test('a connection that never opens is abandoned', async () => {
  await using peer = await startWirePeer()
  using socket = open({ url: peer.url, connectTimeoutMs: 20, WebSocket: neverOpens })
  expect(await reaches(socket, 'waiting')).toEqual({ state: 'waiting' })
})

test('a socket stops if the probe says why access is refused, and tries again when it is opened again', async () => {
  await using peer = await startWirePeer({ refuseUpgrade: true })
  const error = new ParleyError('unauthorized', 'no')
  using socket = open({ url: peer.url, probe: async () => error })
  expect(await reaches(socket, 'stopped')).toEqual({ state: 'stopped', error })
  expect(peer.upgrades).toHaveLength(1)
  socket.open()
  await reaches(socket, 'stopped')
  expect(peer.upgrades).toHaveLength(2)
})

test('a socket requests the token before each attempt, and stops if there is none', async () => {
  await using peer = await startWirePeer()
  const tokens = ['first', 'second']
  const error = new ParleyError('unauthorized', 'signed out')
  const token = async () => tokens.shift() ?? Promise.reject(error)
  using socket = open({ url: peer.url, token })
  const first = await peer.accept()
  await first.next('hello')
  first.cut()
  const second = await peer.accept()
  await second.next('hello')
  const offered = peer.upgrades.map(({ headers }) => headers['sec-websocket-protocol'])
  expect(offered.map((one) => one?.split('bearer.')[1])).toEqual(['first', 'second'])
  second.cut()
  expect(await reaches(socket, 'stopped')).toEqual({ state: 'stopped', error })
})

test('a socket retries silently if the reason for a refusal no longer exists', async () => {
  await using peer = await startWirePeer({ refuseUpgrade: true })
  const { promise, resolve } = Promise.withResolvers<void>()
  let probes = 0
  using socket = open({
    url: peer.url,
    probe: async () => {
      if (++probes === 2) resolve()
      return undefined
    },
  })
  const reported: SocketStatus[] = []
  socket.onStatus((status) => reported.push(status))
  await promise
  expect(reported.some((status) => 'error' in status)).toBe(false)
})

test('a socket probes at once when the server closes it as signed out', async () => {
  await using peer = await startWirePeer()
  const error = new ParleyError('unauthorized', 'signed out')
  using socket = open({ url: peer.url, probe: async () => error })
  const other = await peer.accept()
  await reaches(socket, 'open')
  other.close(4401)
  expect(await reaches(socket, 'stopped')).toEqual({ state: 'stopped', error })
  expect(peer.upgrades).toHaveLength(1)
})

test('a socket keeps trying while the server is down', async () => {
  await using peer = await startWirePeer({ refuseUpgrade: true })
  let probes = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  using socket = open({
    url: peer.url,
    probe: async () => {
      if (++probes === 3) resolve()
      return new ParleyError('busy', 'down')
    },
  })
  await promise
  expect(socket.status.state).toBe('waiting')
})

test('delays grow with consecutive losses, and start again after a stable connection', async () => {
  await using peer = await startWirePeer()
  let now = 0
  const resets: number[] = []
  const backoff = { next: () => 0, reset: () => void resets.push(now) }
  const clock = { now: () => now, after: systemAfter }
  using socket = open({ url: peer.url, backoff, clock, stableMs: 1000 })
  const first = await peer.accept()
  await reaches(socket, 'open')
  now = 999
  first.cut()
  const second = await peer.accept()
  await second.next('hello')
  await reaches(socket, 'open')
  expect(resets).toEqual([])
  now = 5000
  second.cut()
  await peer.accept()
  expect(resets).toEqual([5000])
})

test('a closed socket stays closed', async () => {
  await using peer = await startWirePeer()
  using socket = open({ url: peer.url })
  const other = await peer.accept()
  await reaches(socket, 'open')
  socket.close()
  await other.closed
  socket.open()
  socket.retry()
  expect(socket.status).toEqual({ state: 'closed' })
  expect(peer.upgrades).toHaveLength(1)
})

const systemAfter = (ms: number, call: () => void) => {
  const timer = setTimeout(call, ms)
  return () => clearTimeout(timer)
}

const neverOpens = class {
  close() {}
} as unknown as typeof WebSocket
