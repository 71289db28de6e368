import type { IncomingMessage } from 'node:http'
import type { Duplex, Writable } from 'node:stream'
import type { Principal } from '../access/index.ts'

/** An authorised socket that asked for a WebSocket. */
export type Upgrade = {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  /** True if the caller is another node on the same database. */
  readonly isNode: boolean
  readonly principal: Principal
  /**
   * Registers a callback for when the caller's device is signed out. Later frames must be ignored; the socket is
   * destroyed a moment later.
   */
  readonly onSignedOut: (call: () => void) => void
  /**
   * Whether the caller may still use the socket. Call this before handling each frame: after a pause of this process,
   * frames can be read before the callbacks of `onSignedOut` are called.
   */
  readonly mayAct: () => boolean
}

/** Returns the additional headers of the answer to an upgrade. */
export type AnswerHeaders = (request: IncomingMessage) => Record<string, string>

type UpgradingServer = {
  on(event: 'headers', listener: (lines: string[], request: IncomingMessage) => void): unknown
}

export function addAnswerHeaders(server: UpgradingServer, answerHeaders: AnswerHeaders): void {
  server.on('headers', (lines, request) => {
    for (const [name, value] of Object.entries(answerHeaders(request))) lines.push(`${name}: ${value}`)
  })
}

/** Destroys the stream if it has not closed after `ms`. Until then, its reader can read the rest. */
export function destroyAfter(ms: number, stream: Writable): void {
  const timer = setTimeout(() => stream.destroy(), ms).unref()
  stream.once('close', () => clearTimeout(timer))
}

/** Resolves when the unsent bytes are sent, or the stream closes. */
export function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done)
      resolve()
    }
    stream.on('drain', done).on('close', done)
  })
}
