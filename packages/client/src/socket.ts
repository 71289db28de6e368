import {
  type ClientFrameInput,
  forbiddenOriginCode,
  type ParleyError,
  type ServerFrame,
  signedOutCode,
} from '@parley/protocol'
import { type Backoff, createBackoff } from './backoff.ts'
import { type Clock, systemClock } from './clock.ts'
import { type Credential, createCredential, type TokenSource } from './credential.ts'
import { asParleyError, forbiddenOrigin } from './http.ts'
import { createListeners } from './listeners.ts'
import { isBrowser, openWebSocket } from './open-websocket.ts'

/**
 * One WebSocket for everything live. It stays open from the first `open()` until `close()`, and stops only if the
 * server refuses access. It is independent of sessions: after every `open` status, followers send their requests again.
 */
export type Socket = {
  readonly status: SocketStatus
  /** Connects if no connection is open or pending. After `stopped` it tries again. */
  open(): void
  /** Ends the pause between two attempts. */
  retry(): void
  /** Returns false, and sends nothing, if the socket is not open. */
  send(frame: ClientFrameInput): boolean
  onFrame(listener: (frame: ServerFrame) => void): () => void
  onStatus(listener: (status: SocketStatus) => void): () => void
  close(): void
}

export type SocketStatus =
  | { readonly state: 'idle' }
  | { readonly state: 'connecting' }
  | { readonly state: 'open'; readonly version: string }
  /** Between two attempts. `error` is the reason why the last attempt failed, once the reason is known. */
  | { readonly state: 'waiting'; readonly error?: ParleyError }
  /** The server refuses access; trying again would not help. */
  | { readonly state: 'stopped'; readonly error: ParleyError }
  | { readonly state: 'closed' }

export type SocketOptions = {
  /** The server's address, as for HTTP. */
  readonly url: string
  /** The credential, requested before each attempt. A rejection has the same effect as an error of `probe`. */
  readonly token?: TokenSource | undefined
  readonly WebSocket?: typeof WebSocket
  /**
   * Called after a connection that never opened, because a browser does not report the reason. Must not reject.
   * Undefined means that the reason no longer exists, e.g. because the token has been renewed meanwhile.
   */
  readonly probe?: () => Promise<ParleyError | undefined>
  readonly clock?: Clock
  readonly backoff?: Backoff
  /** The time limit from the start of the connection to `welcome`. */
  readonly connectTimeoutMs?: number
  /**
   * If a connection was open for this long before it was lost, the delays between attempts start again from the
   * first.
   */
  readonly stableMs?: number
  readonly name?: string
}

export function createSocket(options: SocketOptions): Socket {
  return new ReconnectingSocket(options)
}

class ReconnectingSocket implements Socket {
  readonly #options: SocketOptions
  readonly #credential: Credential
  readonly #clock: Clock
  readonly #backoff: Backoff
  readonly #frames = createListeners<ServerFrame>()
  readonly #statuses = createListeners<SocketStatus>()
  readonly #forgetOnline: () => void
  #status: SocketStatus = { state: 'idle' }
  #current: WebSocket | undefined
  #openedAt = 0
  #isPeerAlive = false
  #cancelTimer = () => {}

  constructor(options: SocketOptions) {
    this.#options = options
    this.#credential = createCredential(options.token)
    this.#clock = options.clock ?? systemClock
    this.#backoff = options.backoff ?? createBackoff()
    this.#forgetOnline = onOnline(() => this.retry())
  }

  get status(): SocketStatus {
    return this.#status
  }

  open(): void {
    if (this.#status.state === 'idle' || this.#status.state === 'stopped') this.#connect()
  }

  retry(): void {
    if (this.#status.state === 'waiting') this.#connect()
  }

  send(frame: ClientFrameInput): boolean {
    if (this.#status.state !== 'open' || !this.#current) return false
    this.#current.send(JSON.stringify(frame))
    return true
  }

  onFrame(listener: (frame: ServerFrame) => void): () => void {
    return this.#frames.add(listener)
  }

  onStatus(listener: (status: SocketStatus) => void): () => void {
    return this.#statuses.add(listener)
  }

  close(): void {
    if (this.#status.state === 'closed') return
    this.#forgetOnline()
    this.#drop()
    this.#become({ state: 'closed' })
  }

  #become(next: SocketStatus): void {
    this.#status = next
    this.#statuses.notify(next)
  }

  /**
   * Sets the only timer, which is used for the welcome, the heartbeat and the next attempt. An earlier timer is
   * cancelled.
   */
  #wait(ms: number, call: () => void): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#clock.after(ms, call)
  }

  #connect(): void {
    this.#cancelTimer()
    const connecting: SocketStatus = { state: 'connecting' }
    this.#become(connecting)
    void this.#credential.token().then(
      (given) => this.#status === connecting && this.#connectWith(given),
      (thrown) => this.#status === connecting && this.#explain(asParleyError(thrown)),
    )
  }

  #connectWith(token: string | undefined): void {
    const { connectTimeoutMs = 10_000, name = '@parley/client', url, WebSocket } = this.#options
    const socket = openWebSocket({ url, path: '/api/ws', token, WebSocket })
    this.#current = socket
    this.#wait(connectTimeoutMs, () => this.#lose(socket))
    socket.onopen = () => socket.send(JSON.stringify({ type: 'hello', client: name }))
    socket.onmessage = (message) => this.#receive(socket, message.data)
    socket.onclose = ({ code }) => this.#lose(socket, code)
    socket.onerror = () => {}
  }

  #receive(socket: WebSocket, data: unknown): void {
    if (socket !== this.#current) return
    const frame = parseFrame(data)
    if (!frame) return this.#lose(socket)
    this.#isPeerAlive = true
    if (frame.type === 'welcome') {
      this.#openedAt = this.#clock.now()
      this.#beat(socket, frame.heartbeatMs)
      this.#become({ state: 'open', version: frame.version })
    }
    this.#frames.notify(frame)
  }

  /**
   * Sends a ping at intervals, and drops the connection if no frame arrives after a ping. Any frame counts, because a
   * long replay may delay the pong.
   */
  #beat(socket: WebSocket, everyMs: number): void {
    if (!(everyMs > 0)) return this.#cancelTimer()
    this.#wait(everyMs, () => {
      this.#isPeerAlive = false
      socket.send(JSON.stringify({ type: 'ping' }))
      this.#wait(everyMs, () => (this.#isPeerAlive ? this.#beat(socket, everyMs) : this.#lose(socket)))
    })
  }

  #lose(socket: WebSocket, code?: number): void {
    if (socket !== this.#current) return
    const { stableMs = 5_000, probe } = this.#options
    const wasOpen = this.#status.state === 'open'
    this.#drop()
    if (wasOpen && this.#clock.now() - this.#openedAt >= stableMs) this.#backoff.reset()
    const waiting: SocketStatus = { state: 'waiting' }
    this.#become(waiting)
    if (code === forbiddenOriginCode) return this.#explain(forbiddenOrigin())
    if (!probe || (wasOpen && code !== signedOutCode)) return this.#pause(waiting)
    void probe().then((error) => {
      if (this.#status !== waiting) return
      if (error) this.#explain(error)
      else this.#pause(waiting)
    })
  }

  #explain(error: ParleyError): void {
    const shutOut = error.code === 'unauthorized' || error.code === 'forbidden'
    const known: SocketStatus = { state: shutOut ? 'stopped' : 'waiting', error }
    this.#become(known)
    if (!shutOut) this.#pause(known)
  }

  /** Waits before the next attempt, unless a listener has closed or retried the socket meanwhile. */
  #pause(waiting: SocketStatus): void {
    if (this.#status === waiting) this.#wait(this.#backoff.next(), () => this.#connect())
  }

  /**
   * Closes the current WebSocket without waiting for the closing handshake, which a dead peer would never
   * finish.
   */
  #drop(): void {
    this.#cancelTimer()
    const socket = this.#current
    this.#current = undefined
    if (!socket) return
    socket.onopen = socket.onmessage = socket.onclose = null
    socket.close()
  }
}

function parseFrame(data: unknown): ServerFrame | undefined {
  if (typeof data !== 'string') return undefined
  try {
    const frame: unknown = JSON.parse(data)
    const named = typeof frame === 'object' && frame !== null && 'type' in frame
    return named && typeof frame.type === 'string' ? (frame as ServerFrame) : undefined
  } catch {
    return undefined
  }
}

function onOnline(call: () => void): () => void {
  if (!isBrowser() || typeof globalThis.addEventListener !== 'function') return () => {}
  globalThis.addEventListener('online', call)
  return () => globalThis.removeEventListener('online', call)
}
