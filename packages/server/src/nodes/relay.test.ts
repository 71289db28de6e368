import { Duplex, PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Upgrade } from '../faces/sockets.ts'
import type { PeerUpgrade } from './peer-request.ts'
import { connectSockets, PeerConnections } from './relay.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const [here, there] = ['http://127.0.0.1:4001', 'http://127.0.0.1:4002']

it('connections to a node end when the node is no longer alive', async () => {
  let living = [here, there]
  const connections = new PeerConnections(async () => living)
  const [one, other] = [new PassThrough(), new PassThrough()]
  connections.add(here, one)
  connections.add(there, other)
  await vi.advanceTimersByTimeAsync(10_000)
  expect([one.destroyed, other.destroyed]).toEqual([false, false])
  living = [there]
  await vi.advanceTimersByTimeAsync(2_000)
  expect([one.destroyed, other.destroyed]).toEqual([true, false])
  other.destroy()
  await vi.advanceTimersByTimeAsync(2_000)
  expect([connections.size, vi.getTimerCount()]).toEqual([0, 0])
})

it('connections stay open while the database is unreachable', async () => {
  const connections = new PeerConnections(() => Promise.reject(new Error('away')))
  const socket = new PassThrough()
  connections.add(here, socket)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(socket.destroyed).toBe(false)
})

it('input of a browser whose access has ended is not passed on to the terminal of another node', () => {
  const stream = () => new Duplex({ read: () => undefined, write: (_, __, done) => done() })
  const [socket, peer] = [stream(), stream()]
  let mayAct = true
  const head = Buffer.alloc(0)
  const upgrade = { socket, head, onSignedOut: () => undefined, mayAct: () => mayAct }
  const response = { headers: {} }
  const written = vi.spyOn(peer, 'write')
  connectSockets(upgrade as unknown as Upgrade, { response, socket: peer, head } as unknown as PeerUpgrade)
  socket.emit('data', Buffer.from('one'))
  mayAct = false
  socket.emit('data', Buffer.from('two'))
  expect(written.mock.calls.map(([chunk]) => String(chunk))).toEqual(['', 'one'])
})
