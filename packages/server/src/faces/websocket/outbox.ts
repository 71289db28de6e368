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
  #warned = false
  #overflowed = false

  constructor(socket: Duplex, limits: OutboxLimits, overflow: () => void) {
    this.#socket = socket
    this.#limits = limits
    this.#overflow = overflow
  }

  send(frame: ServerFrame): void {
    this.write(encodeFrames([JSON.stringify(frame)]))
  }

  /** Judges by what was waiting before, so that no frame is too large for a reader that keeps up. */
  write(frames: Buffer): void {
    if (this.#socket.destroyed || this.#socket.writableEnded) return
    const buffered = this.#socket.writableLength
    this.#socket.write(frames)
    if (buffered < this.#limits.warnBytes / 2) this.#warned = false
    else if (buffered > this.#limits.evictBytes) this.#overflowOnce()
    else if (buffered > this.#limits.warnBytes && !this.#warned) this.#warn(buffered)
  }

  /** Nothing while there is room; else a promise for when what waits has gone out, or the socket has. */
  room(): Promise<void> | undefined {
    if (this.#socket.writableLength <= this.#limits.replayBytes || this.#socket.destroyed) return undefined
    return new Promise((resolve) => {
      const done = () => {
        this.#socket.off('drain', done).off('close', done)
        resolve()
      }
      this.#socket.on('drain', done).on('close', done)
    })
  }

  #warn(buffered: number): void {
    this.#warned = true
    this.send({ type: 'lagging', buffered, limit: this.#limits.evictBytes })
  }

  #overflowOnce(): void {
    if (this.#overflowed) return
    this.#overflowed = true
    this.#overflow()
  }
}
