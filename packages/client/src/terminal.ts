import {
  forbiddenOriginCode,
  type ParleyError,
  signedOutCode,
  type TerminalClientFrame,
  type TerminalServerFrame,
  terminalClosed,
} from '@parley/protocol'
import type { Backoff } from './backoff.ts'
import type { Clock } from './clock.ts'
import { createCredential, type TokenSource } from './credential.ts'
import { asParleyError, forbiddenOrigin } from './http.ts'
import { callSafely } from './listeners.ts'
import { openWebSocket, type WebSocketTarget } from './open-websocket.ts'

/** A terminal of the server, watched over its own WebSocket until `close()`. */
export type TerminalWatch = {
  /** Returns false, and sends nothing, if there is no connection to the server. */
  send(frame: TerminalClientFrame): boolean
  /** Stops watching. The terminal keeps running. */
  close(): void
}

export type TerminalListener = {
  /**
   * Called with every frame. After each connect, the first frame is the current screen, so a client need not
   * store anything.
   */
  onFrame(frame: TerminalServerFrame): void
  /**
   * lost: the client reconnects, even if the server disconnected it as too slow. gone: the terminal no longer exists.
   * refused: the server refuses access, for the given reason. No call follows `gone` or `refused`.
   */
  onState?(state: 'open' | 'lost' | 'gone' | 'refused', error?: ParleyError): void
}

export type TerminalTarget = Omit<WebSocketTarget, 'path' | 'token'> & {
  readonly token?: TokenSource | undefined
  readonly clock: Clock
  readonly backoff: Backoff
  readonly closing: AbortSignal
  /**
   * Returns the reason why the WebSocket could not be opened, as an error. The socket of the feed uses the same
   * function.
   */
  readonly probe: () => Promise<ParleyError | undefined>
}

export function watchTerminal(
  target: TerminalTarget,
  terminalId: string,
  listener: TerminalListener,
): TerminalWatch {
  const { clock, backoff, closing, probe, token, ...server } = target
  const credential = createCredential(token)
  const path = `/api/terminals/${encodeURIComponent(terminalId)}`
  const setState = (state: 'open' | 'lost' | 'gone' | 'refused', error?: ParleyError) =>
    callSafely(() => listener.onState?.(state, error), undefined)
  let socket: WebSocket | undefined
  let over = false
  let cancelRetry = () => {}

  async function connect(): Promise<void> {
    try {
      const given = await credential.token()
      if (!over) listen(openWebSocket({ ...server, path, token: given }))
    } catch (thrown) {
      lost(asParleyError(thrown))
    }
  }

  function listen(opened: WebSocket): void {
    let wasOpen = false
    socket = opened
    opened.onopen = () => {
      wasOpen = true
      backoff.reset()
      setState('open')
    }
    opened.onmessage = ({ data }) => {
      const frame = JSON.parse(String(data)) as TerminalServerFrame
      callSafely(listener.onFrame.bind(listener), frame)
    }
    opened.onerror = () => {}
    opened.onclose = ({ code }) => {
      if (code === terminalClosed.notFound) {
        close()
        setState('gone')
      } else if (code === forbiddenOriginCode) lost(forbiddenOrigin())
      else if (wasOpen && code !== signedOutCode) lost()
      else void probe().then(lost)
    }
  }

  /** Reconnects, unless the server refuses access. */
  function lost(error?: ParleyError): void {
    if (over) return
    if (error?.code === 'unauthorized' || error?.code === 'forbidden') {
      close()
      return setState('refused', error)
    }
    cancelRetry = clock.after(backoff.next(), () => void connect())
    setState('lost')
  }

  function close(): void {
    over = true
    cancelRetry()
    closing.removeEventListener('abort', close)
    if (!socket) return
    socket.onopen = socket.onmessage = socket.onclose = null
    socket.close()
  }

  closing.addEventListener('abort', close, { once: true })
  if (!closing.aborted) void connect()
  return {
    send(frame) {
      if (socket?.readyState !== 1) return false
      socket.send(JSON.stringify(frame))
      return true
    },
    close,
  }
}
