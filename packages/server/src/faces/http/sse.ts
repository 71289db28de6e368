import type { ServerResponse } from 'node:http'
import { defined } from '@parley/protocol'
import type { Logger } from 'pino'
import type { FeedBatch, FeedReader, FeedStart, Host } from '../../core/index.ts'
import { destroyAfter, drained } from '../sockets.ts'

export type EventStreams = ReturnType<typeof createEventStreams>

type FollowRequest = {
  readonly sessionId: string
  readonly after?: number
  readonly epoch?: string
  readonly native?: boolean
  readonly outgoing: ServerResponse
}

export type EventStreamParts = {
  readonly host: Host
  readonly logger: Logger
  readonly heartbeatMs: number
  /** A live reader with more unsent bytes than this gets its cursor and is disconnected. */
  readonly bufferLimit: number
}

/**
 * Serves sessions as server-sent events. Manages the frames and the buffer of each reader. The events have the order of
 * the feed.
 */
export function createEventStreams(parts: EventStreamParts) {
  const { host } = parts
  const streams = new Set<EventStream>()

  return {
    get count(): number {
      return streams.size
    },
    /**
     * Writes to `outgoing` until the reader disconnects or the feed ends. Rejects before writing if the follow is
     * refused.
     */
    async follow({ sessionId, after, epoch, native = false, outgoing }: FollowRequest): Promise<void> {
      const from = defined({ after, epoch })
      if (after !== undefined || epoch !== undefined) await host.read(sessionId, { ...from, limit: 1 })
      if (outgoing.destroyed) return
      const stream = new EventStream(outgoing, { ...parts, native })
      streams.add(stream)
      outgoing.once('close', () => streams.delete(stream))
      try {
        await host.follow(sessionId, { ...from, signal: stream.signal }, stream)
      } catch (error) {
        stream.finish()
        if (!outgoing.headersSent) throw error
        parts.logger.error({ err: error, session: sessionId }, 'a stream of events was interrupted')
        outgoing.destroy()
      }
    },
    close(): void {
      for (const stream of streams) stream.ended('closed')
    },
  }
}

/** The time limit for an evicted reader to read the rest. */
const lingerMs = 10_000

class EventStream implements FeedReader {
  readonly native: boolean
  readonly #outgoing: ServerResponse
  readonly #parts: EventStreamParts
  readonly #heartbeat: NodeJS.Timeout
  #live = false
  #over = false
  #cursor = 0
  readonly #leaving = new AbortController()

  constructor(outgoing: ServerResponse, parts: EventStreamParts & { readonly native: boolean }) {
    this.native = parts.native
    this.#outgoing = outgoing
    this.#parts = parts
    this.#heartbeat = setInterval(() => {
      if (outgoing.headersSent && !outgoing.writableNeedDrain) outgoing.write(':\n\n')
    }, parts.heartbeatMs)
    this.#heartbeat.unref()
    outgoing.once('close', () => this.finish())
  }

  get signal(): AbortSignal {
    return this.#leaving.signal
  }

  finish(): void {
    this.#over = true
    clearInterval(this.#heartbeat)
    this.#leaving.abort()
  }

  following(start: FeedStart): void {
    if (this.#over) return
    // The log was replaced, so the client must begin again.
    if (this.#outgoing.headersSent) return this.ended('closed')
    this.#outgoing.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'X-Accel-Buffering': 'no',
    })
    this.#outgoing.write(frame('following', start))
  }

  deliver(batch: FeedBatch): void | Promise<void> {
    if (this.#over) return
    const { bytes, lastSeq } = framesOf(batch)
    if (bytes.length === 0) return
    const flowing = this.#outgoing.write(bytes)
    this.#cursor = lastSeq ?? this.#cursor
    if (!this.#live) return flowing ? undefined : drained(this.#outgoing)
    if (!flowing && this.#outgoing.writableLength > this.#parts.bufferLimit) this.#evict()
  }

  caughtUp(seq: number): void {
    this.#live = true
    this.#cursor = seq
    if (!this.#over) this.#outgoing.write(frame('caught-up', { seq }))
  }

  ended(reason: 'deleted' | 'closed'): void {
    if (!this.#over) this.#end(frame('ended', { reason }))
  }

  #evict(): void {
    const outgoing = this.#outgoing
    const cursor = this.#cursor
    this.#parts.logger.info({ cursor, buffered: outgoing.writableLength }, 'a reader of events was too slow')
    this.#end(frame('evicted', { cursor }))
    destroyAfter(lingerMs, outgoing)
  }

  #end(last: string): void {
    this.finish()
    this.#outgoing.end(last)
  }
}

type Frames = { readonly bytes: Buffer; readonly lastSeq: number | undefined }

/** Live readers of a session share a batch, so it is encoded once for all of them. */
const framed = new WeakMap<FeedBatch, Frames>()

function framesOf(batch: FeedBatch): Frames {
  const known = framed.get(batch)
  if (known) return known
  let text = ''
  let lastSeq: number | undefined
  for (const item of batch) {
    if (item.kind === 'event') {
      text += `id: ${item.seq}\ndata: ${item.json}\n\n`
      lastSeq = item.seq
    } else {
      text += `event: ${item.kind}\ndata: ${item.json}\n\n`
    }
  }
  const frames = { bytes: Buffer.from(text), lastSeq }
  framed.set(batch, frames)
  return frames
}

function frame(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
