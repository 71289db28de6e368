import type { FeedValue, FollowStatus, ParleyError } from '@parley/protocol'
import type { Follow } from './follow.ts'
import type { FollowListener, FollowOptions } from './reader.ts'

/** The values that a follower receives: those of the session, and the state of the connection. */
export type FeedItem = FeedValue | { readonly type: 'status'; readonly status: FollowStatus }

/**
 * The maximum number of items that wait for a slow loop. Beyond this number, the iterator stops following;
 * when the loop has taken all items, the iterator follows again from its cursor.
 */
const maxWaiting = 10_000

export type FeedIteratorOptions<Picked> = FollowOptions & {
  readonly pick: (item: FeedItem) => Picked | undefined
}

/**
 * A session as an async iterable of the values that `pick` returns for its items. It starts to follow at the first
 * `next()`; `break`, `return()` and the signal end it and unfollow. If the follow fails, the iterable yields all
 * earlier items and then throws the ParleyError of the follow.
 */
export function createFeedIterator<Picked>(
  follow: Follow,
  sessionId: string,
  options: FeedIteratorOptions<Picked>,
): AsyncIterableIterator<Picked, undefined> {
  return new FeedIterator(follow, sessionId, options)
}

type Taker<Picked> = {
  resolve(result: IteratorResult<Picked, undefined>): void
  reject(error: ParleyError): void
}

class FeedIterator<Picked> implements AsyncIterableIterator<Picked, undefined> {
  readonly #start: () => () => void
  readonly #options: FeedIteratorOptions<Picked>
  readonly #takers: Taker<Picked>[] = []
  #waiting: Picked[] = []
  #taken = 0
  #cursor: number | undefined
  #epoch: string | undefined
  #unfollow: (() => void) | undefined
  #end: { readonly error?: ParleyError } | undefined

  constructor(follow: Follow, sessionId: string, options: FeedIteratorOptions<Picked>) {
    const { signal, native } = options
    this.#options = options
    this.#cursor = options.after
    this.#epoch = options.epoch
    this.#start = () =>
      follow(sessionId, this.#listener(), { after: this.#cursor, epoch: this.#epoch, native })
    if (signal?.aborted) this.#end = {}
    else signal?.addEventListener('abort', this.#abort, { once: true })
  }

  next(): Promise<IteratorResult<Picked, undefined>> {
    const value = this.#take()
    if (value !== undefined) return Promise.resolve({ done: false, value })
    if (!this.#end) this.#unfollow ??= this.#start()
    return new Promise((resolve, reject) => {
      if (this.#end) this.#settle({ resolve, reject })
      else this.#takers.push({ resolve, reject })
    })
  }

  return(): Promise<IteratorResult<Picked, undefined>> {
    this.#abort()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #listener(): FollowListener {
    return {
      onFollowing: ({ epoch }) => {
        this.#epoch = epoch
      },
      onEvent: (event) => {
        this.#cursor = event.seq
        this.#give({ type: 'event', event })
      },
      onDelta: (delta) => this.#give({ type: 'delta', delta }),
      onNative: (native) => this.#give({ type: 'native', native }),
      onReset: (epoch) => {
        this.#cursor = 0
        this.#epoch = epoch
        this.#give({ type: 'reset', epoch })
      },
      onCaughtUp: (seq) => this.#give({ type: 'caught-up', seq }),
      onStatus: (status) => this.#give({ type: 'status', status }),
      onError: (error) => this.#finish(error.code === 'cancelled' ? {} : { error }),
    }
  }

  #give(item: FeedItem): void {
    const value = this.#options.pick(item)
    if (value === undefined) return
    const taker = this.#takers.shift()
    if (taker) return taker.resolve({ done: false, value })
    this.#waiting.push(value)
    if (this.#waiting.length - this.#taken >= maxWaiting) this.#pause()
  }

  #take(): Picked | undefined {
    const value = this.#waiting[this.#taken++]
    if (this.#taken >= this.#waiting.length) {
      this.#waiting = []
      this.#taken = 0
    }
    return value
  }

  #pause(): void {
    this.#unfollow?.()
    this.#unfollow = undefined
  }

  readonly #abort = (): void => {
    this.#waiting = []
    this.#taken = 0
    this.#finish({})
  }

  #finish(how: { readonly error?: ParleyError }): void {
    if (this.#end) return
    this.#end = how
    this.#pause()
    this.#options.signal?.removeEventListener('abort', this.#abort)
    for (const taker of this.#takers.splice(0)) this.#settle(taker)
  }

  /** Settles a pending `next()` after the end. An error is thrown once; then the iterable is done. */
  #settle(taker: Taker<Picked>): void {
    const error = this.#end?.error
    this.#end = {}
    if (error) taker.reject(error)
    else taker.resolve({ done: true, value: undefined })
  }
}
