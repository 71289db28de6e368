import type { TerminalServerFrame } from '@parley/protocol'

export type TerminalReader = {
  show(frame: TerminalServerFrame): void
  /** Bytes that were sent to the reader and not yet read. */
  readonly waiting: number
  /** Called when the reader is too slow. It gets no more output, but may watch again from the current screen. */
  drop(): void
}

export type ReaderLimits = {
  /** A reader with more unread bytes is full. The program is paused while all readers are full. */
  readonly fullBytes: number
  /** A full reader is dropped beyond this many unread bytes if other readers are faster. */
  readonly dropBytes: number
  /** Readers that keep a program paused for this long are dropped. */
  readonly pausedMs: number
  /** The program is also paused while the screen has more unprocessed bytes than this. */
  readonly screenBytes: number
}

const defaultLimits: ReaderLimits = {
  fullBytes: 1024 * 1024,
  dropBytes: 8 * 1024 * 1024,
  pausedMs: 30_000,
  screenBytes: 1024 * 1024,
}

/**
 * The readers of one terminal. Its program runs at the speed of the fastest reader. A reader that stops reading
 * blocks neither the program nor the other readers, and its buffer is bounded.
 */
export class TerminalReaders {
  readonly #limits: ReaderLimits
  readonly #program: { pause(): void; resume(): void }
  readonly #all = new Set<TerminalReader>()
  /** Full readers, with the bytes sent to each since it became full. */
  readonly #full = new Map<TerminalReader, number>()
  #forScreen = 0
  #paused = false
  #dropTimer: NodeJS.Timeout | undefined

  constructor(program: { pause(): void; resume(): void }, limits: Partial<ReaderLimits> = {}) {
    this.#program = program
    this.#limits = { ...defaultLimits, ...limits }
  }

  add(reader: TerminalReader): void {
    this.#all.add(reader)
    this.#adjust()
  }

  remove(reader: TerminalReader): void {
    this.#all.delete(reader)
    this.#full.delete(reader)
    this.#adjust()
  }

  /** Removes all readers and the backlog of the screen when the terminal ends. */
  clear(): void {
    this.#all.clear()
    this.#full.clear()
    this.#forScreen = 0
    this.#adjust()
  }

  /** Called when the reader has read all its unread bytes. */
  drained(reader: TerminalReader): void {
    if (this.#full.delete(reader)) this.#adjust()
  }

  show(frame: TerminalServerFrame): void {
    for (const reader of this.#all) this.#show(reader, frame)
    this.#adjust()
  }

  showOnly(reader: TerminalReader, frame: TerminalServerFrame): void {
    if (!this.#all.has(reader)) return
    this.#show(reader, frame)
    this.#adjust()
  }

  /** Counts bytes given to the screen. Returns a function to call when the screen has processed them. */
  givenToScreen(bytes: number): () => void {
    this.#forScreen += bytes
    this.#adjust()
    return () => {
      this.#forScreen -= bytes
      this.#adjust()
    }
  }

  /**
   * Shows a frame to a reader, or drops the reader if it is too slow. Bytes count from the moment the reader
   * became full, so that no single frame is too large for a reader that keeps up.
   */
  #show(reader: TerminalReader, frame: TerminalServerFrame): void {
    const { fullBytes, dropBytes } = this.#limits
    const shownSince = this.#full.get(reader)
    if (shownSince !== undefined && shownSince > dropBytes && reader.waiting > dropBytes) {
      return this.#drop(reader)
    }
    reader.show(frame)
    if (shownSince !== undefined)
      this.#full.set(reader, shownSince + ('data' in frame ? frame.data.length : 0))
    else if (reader.waiting > fullBytes) this.#full.set(reader, 0)
  }

  #drop(reader: TerminalReader): void {
    this.#all.delete(reader)
    this.#full.delete(reader)
    reader.drop()
  }

  #adjust(): void {
    const byReaders = this.#all.size > 0 && this.#full.size === this.#all.size
    const pause = byReaders || this.#forScreen > this.#limits.screenBytes
    if (pause !== this.#paused) {
      this.#paused = pause
      if (pause) this.#program.pause()
      else this.#program.resume()
    }
    if (byReaders) this.#dropTimer ??= setTimeout(() => this.#dropFull(), this.#limits.pausedMs).unref()
    else {
      clearTimeout(this.#dropTimer)
      this.#dropTimer = undefined
    }
  }

  #dropFull(): void {
    this.#dropTimer = undefined
    for (const reader of this.#full.keys()) this.#drop(reader)
    this.#adjust()
  }
}
