import { ParleyError } from '@parley/protocol'
import { type Clock, systemClock } from './clock.ts'
import { callSafely } from './listeners.ts'
import { createReader, type FollowListener, type FollowOptions } from './reader.ts'
import { SessionChannel } from './session-channel.ts'
import type { Socket } from './socket.ts'

/**
 * Follows a session until the returned function is called, the signal fires, or the follow fails, which calls
 * `onError`.
 */
export type Follow = (sessionId: string, listener: FollowListener, options?: FollowOptions) => () => void

/**
 * Follows many sessions over one socket. A frame is passed to the channel of its session; a change of the connection
 * is passed to every channel.
 */
export function createFollow({ socket, clock = systemClock }: { socket: Socket; clock?: Clock }): Follow {
  const channels = new Map<string, SessionChannel>()

  function channelOf(sessionId: string): SessionChannel {
    const known = channels.get(sessionId)
    if (known) return known
    const gone = () => void (channels.get(sessionId) === made && channels.delete(sessionId))
    const made = new SessionChannel(sessionId, { socket, clock, gone })
    channels.set(sessionId, made)
    return made
  }

  socket.onFrame((frame) => {
    if (frame.type === 'evicted') for (const channel of [...channels.values()]) channel.evicted()
    else if ('session' in frame && frame.session) channels.get(frame.session)?.receive(frame)
  })

  socket.onStatus((status) => {
    for (const channel of [...channels.values()]) {
      channel.disconnected()
      if (status.state === 'open') channel.ask()
      if (status.state === 'stopped') channel.failAll(status.error)
      if (status.state === 'closed') channel.failAll(clientClosed())
    }
  })

  return (sessionId, listener, options = {}) => {
    const { signal } = options
    if (signal?.aborted) return () => {}
    if (socket.status.state === 'closed') {
      queueMicrotask(() => callSafely(listener.onError?.bind(listener), clientClosed()))
      return () => {}
    }
    const channel = channelOf(sessionId)
    const reader = createReader(listener, options)
    const stop = () => channel.leave(reader)
    signal?.addEventListener('abort', stop, { once: true })
    reader.forgetSignal = () => signal?.removeEventListener('abort', stop)
    channel.join(reader)
    socket.open()
    return stop
  }
}

function clientClosed(): ParleyError {
  return new ParleyError('cancelled', 'The client was closed.')
}
