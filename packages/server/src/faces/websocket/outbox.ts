import type { Duplex } from 'node:stream'
import type { ServerFrame } from '@parley/protocol'
import { drained } from '../sockets.ts'
import { encodeFrames } from './encode.ts'

export type OutboxLimits = {
  /** Above this many unsent bytes a replay pauses. */
  readonly replayBytes: number
  /** Above this many unsent bytes a live reader is warned that it lags. */
  readonly warnBytes: number
  /** Above this many unsent bytes a live reader is cut off. */
  readonly evictBytes: number
}

export const defaultOutboxLimits: OutboxLimits = {
  replayBytes: 512 * 1024,
  warnBytes: 1024 * 1024,
  evictBytes: 8 * 1024 * 1024,
}

/**
 * Writes frames to one socket. It never waits and never drops frames; it counts unsent bytes and reports when there are
 * too many.
 */
export class Outbox {
  readonly #socket: Duplex
  readonly #limits: OutboxLimits
  readonly #overflow: () => void
  /** Bytes written since the warning; undefined if no warning is in effect. */
  #sinceWarning: number | undefined
  /** Resolves when there is room again; all waiting sessions share this promise. */
  #room: Promise<void> | undefined
  #overflowed = false

  constructor(socket: Duplex, limits: OutboxLimits, overflow: () => void) {
    this.#socket = socket
    this.#limits = limits
    this.#overflow = overflow
  }

  send(frame: ServerFrame): void {
    this.write(encodeFrames([JSON.stringify(frame)]))
  }

  /**
   * Checks the bytes that were unsent before this write. Evicts only if more than `evictBytes` were also written since
   * the warning, so a warning always comes first, and no single frame is too large for a reader that keeps up.
   */
  write(frames: Buffer): void {
    if (this.#socket.destroyed || this.#socket.writableEnded) return
    const buffered = this.#socket.writableLength
    this.#socket.write(frames)
    if (buffered < this.#limits.warnBytes / 2) this.#sinceWarning = undefined
    else if (this.#sinceWarning !== undefined) this.#count(buffered, frames.length)
    else if (buffered > this.#limits.warnBytes) this.#warn(buffered)
  }

  /**
   * Undefined while there is room; otherwise a promise that resolves when the unsent bytes are sent or the socket
   * closes.
   */
  room(): Promise<void> | undefined {
    const { writableLength, writableNeedDrain, destroyed } = this.#socket
    if (writableLength <= this.#limits.replayBytes || !writableNeedDrain || destroyed) return undefined
    this.#room ??= drained(this.#socket).then(() => {
      this.#room = undefined
    })
    return this.#room
  }

  #warn(buffered: number): void {
    this.#sinceWarning = 0
    this.send({ type: 'lagging', buffered, limit: this.#limits.evictBytes })
  }

  #count(buffered: number, bytes: number): void {
    this.#sinceWarning = (this.#sinceWarning ?? 0) + bytes
    const { evictBytes } = this.#limits
    if (this.#overflowed || buffered <= evictBytes || this.#sinceWarning <= evictBytes) return
    this.#overflowed = true
    this.#overflow()
  }
}
