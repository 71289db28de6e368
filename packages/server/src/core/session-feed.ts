import { ParleyError } from '@parley/protocol'
import type { SessionStore, StoredEvent } from './session-store.ts'
import { shownText } from './shown-secrets.ts'

/** One item for readers, already serialised: the text of an event, a delta or a native message. */
export type EncodedItem =
  | { readonly kind: 'event'; readonly seq: number; readonly json: string }
  | { readonly kind: 'delta'; readonly json: string }
  | { readonly kind: 'native'; readonly json: string }

/**
 * Items in order. All live readers of a session get the same object, so that a face can cache the data derived from
 * it.
 */
export type FeedBatch = readonly EncodedItem[]

/**
 * A reader of a session. During the replay, the next batch waits for the promise of the previous one, so that a slow
 * reader slows only itself. A live reader is not waited for and must limit its own buffer.
 */
export type FeedReader = {
  /** True if the reader gets native messages too. */
  readonly native?: boolean
  following(start: FeedStart): void
  deliver(batch: FeedBatch): void | Promise<void>
  caughtUp(seq: number): void
  /** The last call: the session was deleted, or the host closes. */
  ended(reason: 'deleted' | 'closed'): void
}

/** The position to start from. `signal` ends the reading at any time, even during the replay. */
export type FollowFrom = { readonly after?: number; readonly epoch?: string; readonly signal?: AbortSignal }

export type FeedStart = {
  readonly epoch: string
  readonly head: number
  readonly verdict: 'replay' | 'reset'
}

export type SessionFeed = {
  /**
   * Sends an item to every live reader, in order, soon after this call (`source.soon`). Recent events are kept in
   * memory, even without readers.
   */
  publish(item: EncodedItem): void
  readonly hasReaders: boolean
  /** True if a reader asked for native messages. They are serialised only then. */
  readonly hasNativeReaders: boolean
  /**
   * Reads up to the head, then joins the live readers. Resolves when the reader is live; the returned function removes
   * the reader.
   */
  follow(from: FollowFrom, reader: FeedReader): Promise<() => void>
  end(reason: 'deleted' | 'closed'): void
}

/** The part of a log that its feed reads. It contains only announced events. */
export type FeedSource = {
  readonly sessionId: string
  readonly epoch: string
  head(): number
  /** The current activity, and the streamed part of each open block as one delta at offset 0. */
  openBlocks(): EncodedItem[]
  soon(call: () => void): void
  problem(error: unknown): void
  read: SessionStore['read']
}

const pageSize = 512
const recentSize = 64

/** Joins replay and live events with no gap and no repeat. Owns the readers of one session and stores nothing. */
export function createSessionFeed(source: FeedSource): SessionFeed {
  const readers = new Set<FeedReader>()
  const joining = new Set<FeedReader>()
  const nativeReaders = new Set<FeedReader>()
  let recent: Extract<EncodedItem, { kind: 'event' }>[] = []
  let pending: EncodedItem[] = []
  let over: 'deleted' | 'closed' | undefined

  /** Sends to one reader. A reader that throws is removed; the others are not affected. */
  function notify(reader: FeedReader, send: () => void | Promise<void>) {
    const fail = (error: unknown) => {
      forget(reader)
      source.problem(error)
    }
    try {
      send()?.catch(fail)
    } catch (error) {
      fail(error)
    }
  }

  function forget(reader: FeedReader) {
    readers.delete(reader)
    joining.delete(reader)
    nativeReaders.delete(reader)
  }

  function flush() {
    if (pending.length === 0) return
    const batch: FeedBatch = pending
    pending = []
    const plain = batch.some((item) => item.kind === 'native')
      ? batch.filter((item) => item.kind !== 'native')
      : batch
    for (const reader of readers) {
      const wanted = reader.native ? batch : plain
      if (wanted.length > 0) notify(reader, () => reader.deliver(wanted))
    }
  }

  /**
   * Recorded events after the cursor. Recent events come from memory, so that a reader of a busy session can catch up.
   */
  async function eventsAfter(cursor: number): Promise<FeedBatch> {
    const first = recent[0]
    if (first && first.seq <= cursor + 1) return recent.filter((item) => item.seq > cursor)
    const page = await source.read(source.sessionId, { after: cursor, limit: pageSize })
    return page.filter((event) => event.seq <= source.head()).map(toItem)
  }

  /** Delivers the next page; returns the cursor after it. */
  async function replay(cursor: number, reader: FeedReader): Promise<number> {
    const batch = await eventsAfter(cursor)
    const last = batch.at(-1)
    if (!joining.has(reader)) return cursor
    if (last?.kind !== 'event')
      throw new ParleyError('internal_error', `The log ends after event ${cursor}, before its head.`)
    const slow = reader.deliver(batch)
    if (slow) await slow
    return last.seq
  }

  return {
    get hasReaders() {
      return readers.size + joining.size > 0
    },
    get hasNativeReaders() {
      return nativeReaders.size > 0
    },
    publish(item) {
      if (item.kind === 'event') {
        recent.push(item)
        if (recent.length > 2 * recentSize) recent = recent.slice(-recentSize)
      }
      if (readers.size === 0) return
      if (pending.length === 0) source.soon(flush)
      pending.push(item)
    },
    async follow({ after = 0, epoch, signal }, reader) {
      if (over) {
        reader.ended(over)
        return () => undefined
      }
      const reset = (epoch !== undefined && epoch !== source.epoch) || after > source.head()
      const stop = () => {
        forget(reader)
        signal?.removeEventListener('abort', stop)
      }
      if (signal?.aborted) return stop
      signal?.addEventListener('abort', stop)
      joining.add(reader)
      try {
        reader.following({ epoch: source.epoch, head: source.head(), verdict: reset ? 'reset' : 'replay' })
        let cursor = reset ? 0 : after
        while (cursor < source.head() && joining.has(reader)) cursor = await replay(cursor, reader)
        if (!joining.has(reader)) return stop
        // No `await` from here to the end: the reader gets everything up to now, then everything from now on.
        flush()
        const open = source.openBlocks()
        if (open.length > 0) notify(reader, () => reader.deliver(open))
        if (joining.has(reader)) reader.caughtUp(cursor)
        if (!joining.delete(reader)) return stop
        readers.add(reader)
        if (reader.native) nativeReaders.add(reader)
        return stop
      } catch (error) {
        stop()
        throw error
      }
    },
    end(reason) {
      over = reason
      flush()
      for (const reader of [...readers, ...joining]) notify(reader, () => reader.ended(reason))
      readers.clear()
      joining.clear()
      nativeReaders.clear()
    },
  }
}

function toItem(event: StoredEvent): EncodedItem {
  return { kind: 'event', seq: event.seq, json: shownText(event.json) }
}
