import { microseconds } from '../lib/pace.ts'

export type Received = {
  /** The time from the creation of the object to the first and to the last text. */
  readonly firstMs: number
  readonly lastMs: number
  readonly length: number
  /** The age on arrival of each time in the text, in milliseconds, if the text consists of times. */
  readonly ages: readonly number[]
}

/** The number of characters of a time (`stamp`). */
export const timeLength = 16

/**
 * What a reader has heard of a turn since this object was created. A side may join or cut the pieces: a time counts as
 * heard when its last character arrives.
 */
export class Heard {
  readonly #start = performance.now()
  readonly #expected: number
  readonly #complete = Promise.withResolvers<void>()
  readonly #times: boolean
  readonly #ages: number[] = []
  #rest = ''
  #first: number | undefined
  #last = this.#start
  #length = 0

  constructor({ expected, times = false }: { expected: number; times?: boolean }) {
    this.#expected = expected
    this.#times = times
  }

  readonly hear = (text: string): void => {
    this.#last = performance.now()
    this.#first ??= this.#last
    this.#length += text.length
    if (this.#times) this.#hearTimes(text)
    if (this.#length >= this.#expected) this.#complete.resolve()
  }

  #hearTimes(text: string): void {
    const now = microseconds()
    this.#rest += text
    for (; this.#rest.length >= timeLength; this.#rest = this.#rest.slice(timeLength)) {
      this.#ages.push((now - Number(this.#rest.slice(0, timeLength))) / 1000)
    }
  }

  /** Resolves when all of the text has arrived, or after this time. */
  async complete(waitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const late = setTimeout(resolve, waitMs)
    await Promise.race([this.#complete.promise, promise])
    clearTimeout(late)
  }

  get received(): Received {
    return {
      firstMs: (this.#first ?? Number.NaN) - this.#start,
      lastMs: this.#last - this.#start,
      length: this.#length,
      ages: this.#ages,
    }
  }
}
