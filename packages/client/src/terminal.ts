import type { TerminalClientFrame, TerminalServerFrame } from '@parley/protocol'
import type { Backoff } from './backoff.ts'
import type { Clock } from './clock.ts'
import { callSafely } from './listeners.ts'
import { openWebSocket, type WebSocketTarget } from './open-websocket.ts'

/** A terminal of the server, watched over a WebSocket of its own until `close()`. */
export type TerminalWatch = {
  /** False if the server cannot be heard: nothing was sent. */
  send(frame: TerminalClientFrame): boolean
  /** Stops watching. The terminal goes on. */
  close(): void
}

export type TerminalListener = {
  /** Whenever it opens, the first frame is the screen as it stands: nothing has to be remembered. */
  onFrame(frame: TerminalServerFrame): void
  /** lost: it is tried again. gone: there is no such terminal any more, and nothing more comes. */
  onState?(state: 'open' | 'lost' | 'gone'): void
}

const noSuchTerminal = 4004

export function watchTerminal(
  target: Omit<WebSocketTarget, 'path'> & {
    readonly clock: Clock
    readonly backoff: Backoff
    readonly closing: AbortSignal
  },
  terminalId: string,
  listener: TerminalListener,
): TerminalWatch {
  const { clock, backoff, closing, ...server } = target
  const path = `/api/terminals/${encodeURIComponent(terminalId)}`
  let socket: WebSocket | undefined
  let cancelRetry = () => {}

  function connect(): void {
    const opened = openWebSocket({ ...server, path })
    socket = opened
    opened.onopen = () => {
      backoff.reset()
      callSafely(listener.onState?.bind(listener), 'open')
    }
    opened.onmessage = ({ data }) => {
      const frame = JSON.parse(String(data)) as TerminalServerFrame
      callSafely(listener.onFrame.bind(listener), frame)
    }
    opened.onerror = () => {}
    opened.onclose = ({ code }) => {
      const gone = code === noSuchTerminal
      if (gone) close()
      else cancelRetry = clock.after(backoff.next(), connect)
      callSafely(listener.onState?.bind(listener), gone ? 'gone' : 'lost')
    }
  }

  function close(): void {
    cancelRetry()
    closing.removeEventListener('abort', close)
    if (!socket) return
    socket.onopen = socket.onmessage = socket.onclose = null
    socket.close()
  }

  closing.addEventListener('abort', close, { once: true })
  if (!closing.aborted) connect()
  return {
    send(frame) {
      if (socket?.readyState !== 1) return false
      socket.send(JSON.stringify(frame))
      return true
    },
    close,
  }
}
