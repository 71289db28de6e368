import {
  type Actor,
  type CommandInput,
  type ErrorInfo,
  ParleyError,
  type Receipt,
  webSocketProtocol,
} from '@parley/protocol'
import { WebSocket } from 'ws'
import type { EncodedItem, OwnerCursor, OwnerReader, SessionChange } from '../core/index.ts'
import { challengeHeader, type PeerCredential, proofHeader } from './peer-credential.ts'

const pingMs = 1_000
const silenceMs = 3_000
const connectMs = 3_000
const retryMs = 200
/** The longest pause between two attempts while the peer refuses the credential of this node. */
const longestRetryMs = 5_000
/** A peer that was started again refuses every credential until it has registered: a short refusal is not reported. */
const toleratedMs = 3_000
const maxFrameBytes = 64 * 1024 * 1024

export type PeerLinkOptions = {
  readonly url: string
  readonly credential: PeerCredential
  /** Called with each change of the session list that the peer announces. */
  readonly changed: (change: SessionChange) => void
  /** Called when the link is open, with `missedSince`. */
  readonly opened: (since: number) => void
  /** Called once when the peer has refused the credential of this node for a while. */
  readonly otherToken: () => void
}

/** The link was lost before the answer came: the request may or may not have been performed. */
export class LinkLost extends Error {}

type Pending = { readonly resolve: (receipt: Receipt) => void; readonly reject: (error: Error) => void }

/** One WebSocket to another node, for all sessions that it owns. It connects again by itself until it is closed. */
export class PeerLink {
  readonly #options: PeerLinkOptions
  readonly #readers = new Map<string, OwnerReader>()
  /** The commands without an answer. Two callers may send the same command at the same time. */
  readonly #pending = new Map<string, Pending[]>()
  #socket: WebSocket | undefined
  #isOpen = false
  #whileOpen = AbortSignal.abort(new LinkLost())
  #endRequests = () => {}
  #lostAt = Date.now()
  #isRefused = false
  /** The time since which the peer has refused the credential of this node. */
  #unauthorizedSince: number | undefined
  #hasOtherToken = false
  #retryMs = retryMs
  #heardAt = 0
  #heart: NodeJS.Timeout | undefined
  #retry: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: PeerLinkOptions) {
    this.#options = options
    this.#connect()
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** The time since which changes of the session list may have been missed. */
  get missedSince(): number {
    return this.#isOpen ? Date.now() - silenceMs : this.#lostAt
  }

  /** Aborted when the link is lost, and while it is not open. */
  get whileOpen(): AbortSignal {
    return this.#whileOpen
  }

  /** True if nothing listened at the address of the peer at the last attempt to connect. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /** True if the peer has refused the credential of this node for a while: its token or its clock differs. */
  get hasOtherToken(): boolean {
    return this.#hasOtherToken
  }

  follow(sessionId: string, from: OwnerCursor, reader: OwnerReader): () => void {
    if (!this.#isOpen) {
      reader.lost()
      return () => undefined
    }
    this.#readers.set(sessionId, reader)
    const { after, epoch, native } = from
    this.#send({ type: 'follow', session: sessionId, after, epoch, ...(native && { native }) })
    return () => {
      if (this.#readers.get(sessionId) !== reader) return
      this.#readers.delete(sessionId)
      this.#send({ type: 'unfollow', session: sessionId })
    }
  }

  /** Sends a command to the peer. Rejects with LinkLost if the link is not open, or is lost before the answer. */
  command(sessionId: string, command: CommandInput, actor?: Actor): Promise<Receipt> {
    return new Promise((resolve, reject) => {
      if (!this.#isOpen) return reject(new LinkLost())
      const key = pendingKey(sessionId, command.commandId)
      this.#pending.set(key, [...(this.#pending.get(key) ?? []), { resolve, reject }])
      this.#send({ type: 'command', session: sessionId, command, ...(actor && { actor }) })
    })
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.#lose(this.#socket)
  }

  #send(frame: object): void {
    this.#socket?.send(JSON.stringify(frame), () => undefined)
  }

  #connect(): void {
    const { url, credential } = this.#options
    const headers = credential.headersFor(url)
    const address = new URL('/api/ws', url)
    address.protocol = address.protocol.replace('http', 'ws')
    const socket = new WebSocket(address, webSocketProtocol, {
      headers,
      perMessageDeflate: false,
      handshakeTimeout: connectMs,
      followRedirects: false,
      maxPayload: maxFrameBytes,
    })
    this.#socket = socket
    let isProved = false
    socket.on('upgrade', ({ headers: answer }) => {
      const proof = answer[proofHeader]
      isProved = credential.isProof(String(proof), url, headers[challengeHeader])
      if (!isProved) this.#lose(socket)
    })
    socket.on('open', () => isProved && this.#greet(socket))
    socket.on('message', (data) => isProved && this.#receive(socket, String(data)))
    socket.on('pong', () => this.#heard())
    socket.on('unexpected-response', (_, { statusCode }) => {
      this.#isRefused = false
      if (statusCode === 401) this.#unauthorized()
      this.#lose(socket)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (socket !== this.#socket) return
      this.#isRefused = error.code === 'ECONNREFUSED'
      // Another program, possibly a node with the same token, may listen at this address next, so an earlier refusal
      // of the credential no longer counts.
      if (this.#isRefused) this.#authorized()
      this.#lose(socket)
    })
    socket.on('close', () => this.#lose(socket))
  }

  #unauthorized(): void {
    const now = performance.now()
    this.#unauthorizedSince ??= now
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs)
    if (this.#hasOtherToken || now - this.#unauthorizedSince < toleratedMs) return
    this.#hasOtherToken = true
    this.#options.otherToken()
  }

  #authorized(): void {
    this.#unauthorizedSince = undefined
    this.#hasOtherToken = false
    this.#retryMs = retryMs
  }

  #heard(): void {
    this.#heardAt = performance.now()
  }

  #greet(socket: WebSocket): void {
    this.#send({ type: 'hello', client: 'node' })
    this.#heard()
    this.#heart = setInterval(() => {
      if (performance.now() - this.#heardAt > silenceMs) this.#lose(socket)
      else socket.ping()
    }, pingMs).unref()
  }

  #opened(): void {
    this.#isOpen = true
    const lost = new AbortController()
    this.#whileOpen = lost.signal
    this.#endRequests = () => lost.abort(new LinkLost())
    this.#isRefused = false
    this.#authorized()
    this.#options.opened(this.#lostAt)
  }

  #lose(socket: WebSocket | undefined): void {
    if (socket !== this.#socket) return
    this.#socket = undefined
    const wasOpen = this.#isOpen
    this.#lostAt = this.missedSince
    this.#isOpen = false
    this.#endRequests()
    clearInterval(this.#heart)
    socket?.terminate()
    const readers = [...this.#readers.values()]
    const pending = [...this.#pending.values()].flat()
    this.#readers.clear()
    this.#pending.clear()
    for (const reader of readers) reader.lost()
    for (const { reject } of pending) reject(new LinkLost())
    // After a loss, the first attempt follows at once: it shows whether the peer still listens.
    if (this.#isClosed) return
    this.#retry = setTimeout(() => this.#connect(), wasOpen ? 0 : this.#retryMs).unref()
  }

  #receive(socket: WebSocket, text: string): void {
    if (socket !== this.#socket) return
    this.#heard()
    const item = itemOf(text)
    if (item) return this.#readers.get(item.session)?.deliver(item)
    const frame = JSON.parse(text) as PeerFrame
    switch (frame.type) {
      case 'welcome':
        return this.#opened()
      case 'following':
        if (frame.verdict === 'reset') this.#drop(frame.session)
        return
      case 'caught-up':
        return this.#readers.get(frame.session)?.live()
      case 'receipt':
        return this.#answer(frame)
      case 'session-changed': {
        const { type, ...change } = frame
        // A follower gets no other message about the end of a deleted session.
        if (change.change === 'deleted') this.#drop(change.session)
        return this.#options.changed(change)
      }
      case 'error':
        if (frame.session !== undefined) this.#drop(frame.session)
        return
      // The peer disconnects: the link connects again, and readers follow again after their last event.
      case 'evicted':
        return this.#lose(socket)
    }
  }

  #drop(sessionId: string): void {
    const reader = this.#readers.get(sessionId)
    this.#readers.delete(sessionId)
    reader?.lost()
  }

  #answer({ type, session, error, ...receipt }: Extract<PeerFrame, { type: 'receipt' }>): void {
    const key = pendingKey(session, receipt.commandId)
    const [pending, ...others] = this.#pending.get(key) ?? []
    if (others.length > 0) this.#pending.set(key, others)
    else this.#pending.delete(key)
    if (error) pending?.reject(errorOf(error))
    else pending?.resolve(receipt as Receipt)
  }
}

type PeerFrame =
  | { readonly type: 'welcome' }
  | { readonly type: 'following'; readonly session: string; readonly verdict: 'replay' | 'reset' }
  | { readonly type: 'caught-up'; readonly session: string }
  /** A frame without `error` also has the other fields of a receipt. */
  | {
      readonly type: 'receipt'
      readonly session: string
      readonly commandId: string
      readonly error?: ErrorInfo
    }
  | ({ readonly type: 'session-changed' } & SessionChange)
  | { readonly type: 'error'; readonly session?: string }
  | { readonly type: 'evicted' }

const pendingKey = (sessionId: string, commandId: string | undefined) => `${sessionId} ${commandId}`

/**
 * The item in a frame of a followed session. Its text is cut out of the frame instead of being serialised again, so
 * that readers get the same bytes.
 */
function itemOf(text: string): (EncodedItem & { readonly session: string }) | undefined {
  const head = /^\{"type":"(event|delta|native)","session":"([\w-]+)","\1":/.exec(text)
  if (!head) return undefined
  const [prefix, kind, session = ''] = head
  const json = text.slice(prefix.length, -1)
  if (kind !== 'event') return { kind: kind as 'delta' | 'native', session, json }
  const seq = Number(/^\{"seq":(\d+),/.exec(json)?.[1] ?? (JSON.parse(json) as { seq: number }).seq)
  return { kind, session, seq, json }
}

function errorOf({ code, message, details }: ErrorInfo): ParleyError {
  return new ParleyError(code, message, details && { details })
}
