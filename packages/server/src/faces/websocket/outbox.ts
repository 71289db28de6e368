import type { Duplex } from 'node:stream'
import type { ServerFrame } from '@parley/protocol'
import { encodeFrames } from './encode.ts'

export type OutboxLimits = {
  /** Beyond this many waiting bytes a replay pauses. */
  readonly replayBytes: number
  /** Beyond this a live reader is told that it lags. */
  readonly warnBytes: number
  /** Beyond this it is cut off. */
  readonly evictBytes: number
}

export const defaultOutboxLimits: OutboxLimits = {
  replayBytes: 512 * 1024,
  warnBytes: 1024 * 1024,
  evictBytes: 8 * 1024 * 1024,
}

/** What leaves through one socket. Never waits, never drops: it counts what waits and says when that is too much. */
export class Outbox {
  readonly #socket: Duplex
  readonly #limits: OutboxLimits
  readonly #overflow: () => void
  /** Bytes written since the warning, while there is one in force. */
  #sinceWarning: number | undefined
  /** One for all sessions that wait for it. */
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
   * Judges by what was waiting before, and evicts only if as much again was written since the warning: a warning
   * always comes first, and no frame is too large for a reader that keeps up.
   */
  write(frames: Buffer): void {
    if (this.#socket.destroyed || this.#socket.writableEnded) return
    const buffered = this.#socket.writableLength
    this.#socket.write(frames)
    if (buffered < this.#limits.warnBytes / 2) this.#sinceWarning = undefined
    else if (this.#sinceWarning !== undefined) this.#count(buffered, frames.length)
    else if (buffered > this.#limits.warnBytes) this.#warn(buffered)
  }

  /** Nothing while there is room; else a promise for when what waits has gone out, or the socket has. */
  room(): Promise<void> | undefined {
    const { writableLength, writableNeedDrain, destroyed } = this.#socket
    if (writableLength <= this.#limits.replayBytes || !writableNeedDrain || destroyed) return undefined
    this.#room ??= new Promise((resolve) => {
      const done = () => {
        this.#socket.off('drain', done).off('close', done)
        this.#room = undefined
        resolve()
      }
      this.#socket.on('drain', done).on('close', done)
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
