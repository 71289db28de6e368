import type { Clock } from './clock.ts'
import type { Follow } from './follow.ts'
import type { Http } from './http.ts'
import type { Socket } from './socket.ts'

/** The parts of the client that mirrors and lists use. */
export type ClientParts = {
  readonly http: Http
  readonly socket: Socket
  readonly follow: Follow
  readonly clock: Clock
  /** Fires when the client is closed. */
  readonly closing: AbortSignal
}
