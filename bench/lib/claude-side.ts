import { microseconds } from './pace.ts'

/** The input of one side of a comparison: the real Claude Code through Parley, or through its SDK alone. */
export type ClaudeSide = {
  readonly env: Record<string, string>
  readonly folder: string
  /** Number of spares; 0 unless given. */
  readonly maxSpares?: number
}

export type Received = {
  /** The time from the prompt to the first text, and to the end of the turn. */
  readonly firstMs: number
  readonly endMs: number
  readonly streamMs: number
  readonly deltas: number
  readonly length: number
  /**
   * The age of each delta on arrival, in microseconds, for deltas that contain only the time they were sent.
   */
  readonly ages: readonly number[]
}

const timeLength = 16

/** Measures one turn, from the creation of this object on, in the same way on both sides. */
export class Listening {
  readonly #start = performance.now()
  readonly #received = Promise.withResolvers<Received>()
  readonly #ages: number[] = []
  #first = 0
  #last = 0
  #deltas = 0
  #length = 0

  get received(): Promise<Received> {
    return this.#received.promise
  }

  hear(text: string): void {
    this.#last = performance.now()
    if (this.#deltas++ === 0) this.#first = this.#last
    this.#length += text.length
    if (text.length === timeLength && text[0] === '0') this.#ages.push(microseconds() - Number(text))
  }

  end(failure?: string): void {
    if (failure !== undefined) return this.#received.reject(new Error(failure))
    this.#received.resolve({
      firstMs: this.#first - this.#start,
      endMs: performance.now() - this.#start,
      streamMs: this.#last - this.#first,
      deltas: this.#deltas,
      length: this.#length,
      ages: this.#ages,
    })
  }
}

/** Calls by which a process of the bench reports its own processor time and memory. */
export const ownCost = {
  processorMicroseconds(): number {
    const { user, system } = process.cpuUsage()
    return user + system
  },
  /** The memory after a garbage collection, so that only retained memory counts. */
  async memory() {
    for (let round = 0; round < 3; round++) {
      globalThis.gc?.()
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const { rss, heapUsed, external } = process.memoryUsage()
    return { rss, heap: heapUsed + external }
  },
}
