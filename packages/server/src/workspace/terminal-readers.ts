import type { TerminalServerFrame } from '@parley/protocol'

/** Someone who watches a terminal. */
export type TerminalReader = {
  show(frame: TerminalServerFrame): void
  /** Bytes that were shown and not yet read. */
  readonly waiting: number
  /** It read too slowly: nothing more is shown to it. It may watch again, and gets the screen. */
  drop(): void
}

export type ReaderLimits = {
  /** A reader with more waiting bytes is full. The program is paused while all readers are. */
  readonly fullBytes: number
  /** A full reader that others outpace is dropped beyond this many waiting bytes. */
  readonly dropBytes: number
  /** Readers that keep a program paused for this long are dropped. */
  readonly pausedMs: number
  /** The program is also paused while the screen has more than this to take in. */
  readonly screenBytes: number
}

const defaultLimits: ReaderLimits = {
  fullBytes: 1024 * 1024,
  dropBytes: 8 * 1024 * 1024,
  pausedMs: 30_000,
  screenBytes: 1024 * 1024,
}

/**
 * The readers of one terminal. Its program runs at the pace of the fastest of them: a reader that stops reading holds up
 * neither the program nor the other readers, and what is kept for it is bounded.
 */
export class TerminalReaders {
  readonly #limits: ReaderLimits
  readonly #program: { pause(): void; resume(): void }
  readonly #all = new Set<TerminalReader>()
  /** Full readers, with the bytes shown to each since it became full. */
  readonly #full = new Map<TerminalReader, number>()
  #forScreen = 0
  #paused = false
  #patience: NodeJS.Timeout | undefined

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

  /** The terminal ends: nobody watches it, and nothing waits for its screen. */
  clear(): void {
    this.#all.clear()
    this.#full.clear()
    this.#forScreen = 0
    this.#adjust()
  }

  /** The reader has read what was waiting. */
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

  /** Bytes were given to the screen. Returns what to call once it has taken them in. */
  givenToScreen(bytes: number): () => void {
    this.#forScreen += bytes
    this.#adjust()
    return () => {
      this.#forScreen -= bytes
      this.#adjust()
    }
  }

  /** Counts from when the reader became full, so that no single frame is too large for a reader that keeps up. */
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
    if (byReaders) this.#patience ??= setTimeout(() => this.#dropFull(), this.#limits.pausedMs).unref()
    else {
      clearTimeout(this.#patience)
      this.#patience = undefined
    }
  }

  #dropFull(): void {
    this.#patience = undefined
    for (const reader of this.#full.keys()) this.#drop(reader)
    this.#adjust()
  }
}
