import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import {
  ClientFrame,
  CommandId,
  errorInfoOf,
  ParleyError,
  SessionId,
  signedOutCode,
  validationError,
} from '@parley/protocol'
import type { Logger } from 'pino'
import type { WebSocket } from 'ws'
import {
  type FeedBatch,
  type FeedReader,
  type Host,
  isTooDeep,
  maxJsonDepth,
  type SessionChange,
} from '../../core/index.ts'
import { destroyAfter } from '../sockets.ts'
import { encodeFrames } from './encode.ts'
import { Outbox, type OutboxLimits } from './outbox.ts'

export type PeerOptions = {
  /** The host for the principal of the socket. */
  readonly host: Host
  /** True if the client is another node: its frames may name an actor. */
  readonly isNode: boolean
  readonly personId: string
  /** Whether a change of the session list is sent to the client. */
  readonly sees: (change: SessionChange) => boolean
  readonly logger: Logger
  readonly version: string
  readonly heartbeatMs: number
  readonly limits: OutboxLimits
  readonly maxFrameBytes: number
  /** Frames are ignored if this returns false. */
  readonly mayAct: () => boolean
  /** Called when the page at the other end reports whether it is visible. */
  readonly present: (page: string, visible: boolean) => void
}

type Following = { cursor: number; readonly leaving: AbortController }

const maxCommandsUnderWay = 256
const evictedLingerMs = 30_000
/**
 * The minimum time between two reports of visibility, because each may be a write to the database. Reports that come
 * sooner are ignored.
 */
const presenceEveryMs = 1_000

/**
 * One client at the other end of a socket. Its frames become calls of the host; the items of the sessions that it
 * follows become frames.
 */
export class Peer {
  readonly #options: PeerOptions
  readonly #websocket: WebSocket
  readonly #socket: Duplex
  readonly #outbox: Outbox
  readonly #following = new Map<string, Following>()
  readonly #lines = new Map<string, Promise<void>>()
  #commandsUnderWay = 0
  #greeted = false
  /** The id of the page while it is visible. */
  #visiblePage: string | undefined
  #presentAt = Number.NEGATIVE_INFINITY
  #alive = true

  constructor(websocket: WebSocket, socket: Duplex, options: PeerOptions) {
    this.#options = options
    this.#websocket = websocket
    this.#socket = socket
    this.#outbox = new Outbox(socket, options.limits, () => this.#evict())
    websocket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary))
    websocket.on('pong', () => {
      this.#alive = true
    })
    websocket.on('close', () => this.#leave())
    websocket.on('error', (error) => options.logger.debug({ err: error }, 'socket failed'))
  }

  /** Sends a ping. Terminates the socket if the previous ping was not answered. */
  beat(): void {
    if (!this.#alive) return this.#websocket.terminate()
    this.#alive = false
    this.#websocket.ping()
  }

  close(): void {
    this.#leave()
    this.#websocket.close(1001, 'Parley is stopping')
  }

  /** Ignores all further frames, even if the client does not answer the close frame. */
  signOut(): void {
    this.#websocket.removeAllListeners('message')
    this.#leave()
    this.#websocket.close(signedOutCode, 'signed out')
  }

  /**
   * Writes a change of the session list to the client, if it has sent hello and may see the session. The face encodes
   * each change once and passes the same bytes to every peer.
   */
  send(change: SessionChange, frames: Buffer): void {
    if (this.#greeted && this.#options.sees(change)) this.#outbox.write(frames)
  }

  /** Writes a notice to the client, if it has sent hello and acts for this person. */
  announce(personId: string, frames: Buffer): void {
    const { isNode, personId: own } = this.#options
    if (this.#greeted && !isNode && own === personId) this.#outbox.write(frames)
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (!this.#options.mayAct()) return
    let session: string | undefined
    try {
      if (isBinary) throw new ParleyError('validation_error', 'Frames must be JSON text, not binary.')
      if (data.length > this.#options.maxFrameBytes) {
        throw new ParleyError('too_large', `A frame can have at most ${this.#options.maxFrameBytes} bytes.`)
      }
      const value = parseJson(data)
      session = sessionOf(value)
      const frame = ClientFrame.safeParse(value)
      if (!frame.success) return this.#refuseFrame(value, session, validationError('The frame', frame.error))
      this.#handle(frame.data)
    } catch (error) {
      this.#refuse(error, session)
    }
  }

  /**
   * Answers a frame that is refused: a command with a receipt, because the client waits for one, and any
   * other frame with an error.
   */
  #refuseFrame(value: unknown, session: string | undefined, error: ParleyError): void {
    const commandId = commandIdOf(value)
    if (session === undefined || commandId === undefined) return this.#refuse(error, session)
    this.#outbox.send({ type: 'receipt', session, commandId, error: error.toInfo() })
  }

  #refuse(error: unknown, session: string | undefined): void {
    if (!(error instanceof ParleyError)) this.#options.logger.error({ err: error }, 'frame failed')
    this.#outbox.send({ type: 'error', ...(session !== undefined && { session }), error: errorInfoOf(error) })
  }

  #handle(frame: ClientFrame): void {
    switch (frame.type) {
      case 'hello':
        this.#greeted = true
        this.#outbox.send({
          type: 'welcome',
          version: this.#options.version,
          heartbeatMs: this.#options.heartbeatMs,
        })
        return
      case 'ping':
        return this.#outbox.send({ type: 'pong', ...(frame.id !== undefined && { id: frame.id }) })
      case 'presence':
        return this.#present(frame.visible)
      case 'follow':
        return this.#inLine(frame.session, () => this.#follow(frame))
      case 'unfollow':
        return this.#inLine(frame.session, async () => this.#unfollow(frame.session))
      case 'command': {
        if (this.#commandsUnderWay >= maxCommandsUnderWay) {
          const error = new ParleyError(
            'rate_limited',
            'Too many commands at once. Wait for receipts before sending more.',
          )
          return this.#refuseFrame(frame, frame.session, error)
        }
        this.#commandsUnderWay++
        return this.#inLine(frame.session, () => this.#command(frame))
      }
    }
  }

  #present(visible: boolean): void {
    const now = performance.now()
    if (visible && now - this.#presentAt < presenceEveryMs) return
    if (visible) this.#presentAt = now
    const page = this.#visiblePage ?? (visible ? randomUUID() : undefined)
    this.#visiblePage = visible ? page : undefined
    if (page !== undefined) this.#options.present(page, visible)
  }

  /** Handles the frames of one client about one session in the order they were sent. */
  #inLine(session: string, work: () => Promise<void>): void {
    const done = (this.#lines.get(session) ?? Promise.resolve())
      .then(work)
      .catch((error) => this.#refuse(error, session))
    this.#lines.set(session, done)
    void done.then(() => {
      if (this.#lines.get(session) === done) this.#lines.delete(session)
    })
  }

  async #command({ session, command, actor }: Extract<ClientFrame, { type: 'command' }>): Promise<void> {
    const { host, isNode } = this.#options
    try {
      const receipt = await host.command(session, command, isNode ? actor : undefined)
      this.#outbox.send({ type: 'receipt', session, ...receipt })
    } catch (error) {
      if (!(error instanceof ParleyError)) this.#options.logger.error({ err: error }, 'command failed')
      this.#outbox.send({ type: 'receipt', session, commandId: command.commandId, error: errorInfoOf(error) })
    } finally {
      this.#commandsUnderWay--
    }
  }

  /** Starts to follow. The replay runs in the background, so an unfollow or a command need not wait for it. */
  async #follow({ session, after, epoch, native }: Extract<ClientFrame, { type: 'follow' }>): Promise<void> {
    await this.#options.host.state(session)
    if (this.#websocket.readyState !== this.#websocket.OPEN) return
    this.#unfollow(session)
    const following: Following = { cursor: after ?? 0, leaving: new AbortController() }
    this.#following.set(session, following)
    const reader = this.#reader(session, following, native ?? false)
    const { signal } = following.leaving
    const from = { ...(after !== undefined && { after }), ...(epoch !== undefined && { epoch }), signal }
    this.#options.host.follow(session, from, reader).catch((error) => {
      this.#following.delete(session)
      this.#refuse(error, session)
    })
  }

  #reader(session: string, following: Following, native: boolean): FeedReader {
    const outbox = this.#outbox
    const current = () => this.#following.get(session) === following
    let hasStarted = false
    return {
      native,
      following: (start) => {
        if (!current()) return
        // The log was replaced. A client expects a new epoch only as the answer to a follow, so it must follow again.
        if (hasStarted) {
          this.#unfollow(session)
          return this.#refuse(noLongerOpen(), session)
        }
        hasStarted = true
        if (start.verdict === 'reset') following.cursor = 0
        outbox.send({ type: 'following', session, ...start })
      },
      deliver: (batch) => {
        if (!current()) return
        const last = lastSeq(batch)
        if (last !== undefined) following.cursor = last
        outbox.write(framesOf(session, batch))
        return outbox.room()
      },
      caughtUp: (seq) => {
        if (current()) outbox.send({ type: 'caught-up', session, seq })
      },
      ended: (reason) => {
        if (!current()) return
        this.#following.delete(session)
        // A deletion is announced to every client. Any other end is reported here, and the client follows again.
        if (reason === 'closed') this.#refuse(noLongerOpen(), session)
      },
    }
  }

  #unfollow(session: string): void {
    this.#following.get(session)?.leaving.abort()
    this.#following.delete(session)
  }

  #evict(): void {
    const cursors = Object.fromEntries([...this.#following].map(([session, { cursor }]) => [session, cursor]))
    this.#options.logger.info({ sessions: this.#following.size }, 'slow reader evicted')
    this.#outbox.send({ type: 'evicted', cursors })
    this.#leave()
    this.#websocket.close(4008, 'read too slowly')
    destroyAfter(evictedLingerMs, this.#socket)
  }

  #leave(): void {
    this.#greeted = false
    this.#present(false)
    for (const session of [...this.#following.keys()]) this.#unfollow(session)
  }
}

const made = new WeakMap<FeedBatch, Buffer>()

/** The frames of a batch. All live readers of a session get the same batch, so they share the encoded bytes too. */
function framesOf(session: string, batch: FeedBatch): Buffer {
  let frames = made.get(batch)
  if (!frames) {
    const about = `,"session":${JSON.stringify(session)},`
    frames = encodeFrames(batch.map(({ kind, json }) => `{"type":"${kind}"${about}"${kind}":${json}}`))
    made.set(batch, frames)
  }
  return frames
}

export function changeFrame(change: SessionChange): Buffer {
  return encodeFrames([JSON.stringify({ type: 'session-changed', ...change })])
}

function lastSeq(batch: FeedBatch): number | undefined {
  for (let index = batch.length - 1; index >= 0; index--) {
    const item = batch[index]!
    if (item.kind === 'event') return item.seq
  }
  return undefined
}

function noLongerOpen(): ParleyError {
  return new ParleyError('busy', 'The session is no longer open on this server. Follow it again.')
}

function parseJson(data: Buffer): unknown {
  let value: unknown
  try {
    value = JSON.parse(data.toString())
  } catch {
    throw new ParleyError('validation_error', 'The frame is not JSON.')
  }
  if (!isTooDeep(value)) return value
  throw new ParleyError('validation_error', `The frame is nested more than ${maxJsonDepth} levels deep.`)
}

function sessionOf(value: unknown): string | undefined {
  return SessionId.safeParse((value as { session?: unknown } | null)?.session).data
}

function commandIdOf(value: unknown): string | undefined {
  return CommandId.safeParse((value as { command?: { commandId?: unknown } } | null)?.command?.commandId).data
}
