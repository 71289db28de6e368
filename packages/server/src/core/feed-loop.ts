import { type Delta, defined, type FeedValue, type SessionEvent, type UnknownEvent } from '@parley/protocol'
import type { EncodedItem, FeedBatch, FeedReader, FollowFrom } from './session-feed.ts'

export type EventsOptions = FollowFrom
export type FeedOptions = FollowFrom & { readonly native?: boolean }

type Loop<Value> = AsyncIterableIterator<Value, undefined>

/**
 * A session as an async iterable. It starts with the first `next()`, and ends with `break`, `return()`, the signal,
 * the session or the host. For a session that does not exist, it throws.
 */
export type FeedLoops = {
  /** Every event after the cursor, each once and in order, then live events. */
  events(sessionId: string, options?: EventsOptions): Loop<SessionEvent | UnknownEvent>
  /** Like `events`, with deltas and, on request, with native messages. */
  feed(sessionId: string, options?: FeedOptions): Loop<FeedValue>
}

type Follow = (sessionId: string, from: FollowFrom, reader: FeedReader) => Promise<() => void>

/**
 * If more values than this wait for a live loop, the loop stops following. When it has yielded all of them, it follows
 * again from its cursor.
 */
const maxWaiting = 1_024

export function createFeedLoops(follow: Follow): FeedLoops {
  return {
    events: (sessionId, options = {}) =>
      new FeedLoop({
        ...options,
        follow: (from, reader) => follow(sessionId, from, reader),
        wants: (item) => item.kind === 'event',
        pick: (value) => (value.type === 'event' ? value.event : undefined),
      }),
    feed: (sessionId, options = {}) =>
      new FeedLoop({
        ...options,
        follow: (from, reader) => follow(sessionId, from, reader),
        wants: () => true,
        pick: (value) => value,
      }),
  }
}

type LoopOptions<Value> = FeedOptions & {
  readonly follow: (from: FollowFrom, reader: FeedReader) => Promise<() => void>
  readonly wants: (item: EncodedItem) => boolean
  readonly pick: (value: FeedValue) => Value | undefined
}

type Waiting = EncodedItem | Extract<FeedValue, { type: 'reset' | 'caught-up' }>

class FeedLoop<Value> implements Loop<Value> {
  readonly #options: LoopOptions<Value>
  readonly #pieces = new Pieces()
  #waiting: Waiting[] = []
  #taken = 0
  #cursor: number | undefined
  #epoch: string | undefined
  #attempt: AbortController | undefined
  #over: { readonly error?: unknown } | undefined
  #arrived = Promise.withResolvers<void>()
  #emptied: PromiseWithResolvers<void> | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: LoopOptions<Value>) {
    this.#options = options
    this.#cursor = options.after
    this.#epoch = options.epoch
    if (options.signal?.aborted) this.#over = {}
    else options.signal?.addEventListener('abort', this.#abort, { once: true })
  }

  /** Returns the next value. Overlapping calls are answered one after another. */
  next(): Promise<IteratorResult<Value, undefined>> {
    const result = this.#last.then(() => this.#next())
    this.#last = result.catch(() => undefined)
    return result
  }

  async return(): Promise<IteratorResult<Value, undefined>> {
    this.#abort()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async #next(): Promise<IteratorResult<Value, undefined>> {
    for (;;) {
      const item = this.#waiting[this.#taken]
      if (item) {
        this.#taken++
        const value = this.#valueOf(item)
        if (value !== undefined) return { done: false, value }
        continue
      }
      this.#waiting = []
      this.#taken = 0
      this.#emptied?.resolve()
      this.#emptied = undefined
      if (this.#over) return this.#finish()
      this.#attempt ??= this.#start()
      await this.#arrived.promise
    }
  }

  #finish(): IteratorResult<Value, undefined> {
    const error = this.#over?.error
    this.#over = {}
    if (error !== undefined) throw error
    return { done: true, value: undefined }
  }

  #start(): AbortController {
    const attempt = new AbortController()
    const from = defined({ after: this.#cursor, epoch: this.#epoch, signal: attempt.signal })
    this.#options.follow(from, this.#reader(attempt)).catch((error) => {
      if (this.#attempt === attempt) this.#end({ error })
    })
    return attempt
  }

  #reader(attempt: AbortController): FeedReader {
    let live = false
    return {
      native: this.#options.native === true,
      following: ({ epoch, verdict }) => {
        this.#epoch = epoch
        if (verdict === 'replay') return
        this.#cursor = 0
        this.#put([{ type: 'reset', epoch }])
      },
      deliver: (batch) => {
        if (attempt.signal.aborted) return
        this.#take(batch)
        if (!live) return this.#untilEmpty()
        if (this.#waiting.length - this.#taken > maxWaiting) this.#stopFollowing()
      },
      caughtUp: (seq) => {
        live = true
        this.#put([{ type: 'caught-up', seq }])
      },
      ended: () => this.#end({}),
    }
  }

  #take(batch: FeedBatch): void {
    const last = batch.findLast((item) => item.kind === 'event')
    if (last) this.#cursor = last.seq
    this.#put(batch.filter(this.#options.wants))
  }

  #put(items: readonly Waiting[]): void {
    if (items.length === 0 || this.#over) return
    this.#waiting.push(...items)
    this.#wake()
  }

  #wake(): void {
    this.#arrived.resolve()
    this.#arrived = Promise.withResolvers()
  }

  /**
   * Resolves when the loop has taken all waiting values; undefined if none wait. The replay waits for it, so
   * that the store is read no faster than the loop takes values.
   */
  #untilEmpty(): Promise<void> | undefined {
    if (this.#taken >= this.#waiting.length) return undefined
    this.#emptied ??= Promise.withResolvers()
    return this.#emptied.promise
  }

  #stopFollowing(): void {
    this.#attempt?.abort()
    this.#attempt = undefined
    this.#emptied?.resolve()
    this.#emptied = undefined
  }

  readonly #abort = (): void => {
    this.#waiting = []
    this.#taken = 0
    this.#end({})
  }

  #end(how: { readonly error?: unknown }): void {
    if (this.#over) return
    this.#over = how
    this.#stopFollowing()
    this.#options.signal?.removeEventListener('abort', this.#abort)
    this.#wake()
  }

  #valueOf(item: Waiting): Value | undefined {
    if ('type' in item) return this.#options.pick(item)
    if (item.kind === 'native') return this.#options.pick({ type: 'native', native: JSON.parse(item.json) })
    if (item.kind === 'event') {
      const event = JSON.parse(item.json) as SessionEvent | UnknownEvent
      this.#pieces.forget(event)
      return this.#options.pick({ type: 'event', event })
    }
    const delta = this.#pieces.fresh(JSON.parse(item.json) as Delta)
    return delta && this.#options.pick({ type: 'delta', delta })
  }
}

/**
 * Records the length of the yielded part of each open block, so that text which is sent again after a pause is not
 * yielded again.
 */
class Pieces {
  readonly #given = new Map<string, number>()

  fresh(delta: Delta): Delta | undefined {
    if (delta.type === 'activity.changed' || delta.type === 'command.progressed') return delta
    const key = keyOf(delta.type, 'blockId' in delta ? delta.blockId : delta.toolCallId)
    const given = this.#given.get(key) ?? 0
    const offset = 'offset' in delta ? delta.offset : 0
    const end = offset + ('text' in delta ? delta.text.length : 1)
    if (end <= given || offset > given) return undefined
    this.#given.set(key, end)
    return offset === given || !('text' in delta)
      ? delta
      : { ...delta, offset: given, text: delta.text.slice(given - offset) }
  }

  forget(event: SessionEvent | UnknownEvent): void {
    if (event.type === 'turn.ended') this.#given.clear()
    const { blockId, toolCallId } = event as UnknownEvent
    for (const type of streamedBy[event.type] ?? []) {
      this.#given.delete(keyOf(type, String(blockId ?? toolCallId)))
    }
  }
}

const keyOf = (type: string, id: string) => `${type} ${id}`

/** For each event type that closes a block: the types of the deltas of such a block. */
const streamedBy: Readonly<Record<string, readonly string[]>> = {
  'text.written': ['text.streamed'],
  'thinking.written': ['thinking.streamed'],
  'block.retracted': ['text.streamed', 'thinking.streamed'],
  'tool-call.ended': ['tool-call.drafted', 'tool-call.input-streamed', 'tool-call.output-streamed'],
}
