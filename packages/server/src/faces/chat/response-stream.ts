import type { ServerResponse } from 'node:http'
import { type Delta, isKnown, type SessionEvent, type UnknownEvent } from '@parley/protocol'
import type { Logger } from 'pino'
import type { FeedBatch, FeedReader } from '../../core/index.ts'
import type { SessionFacts } from '../../transcripts/session-facts.ts'
import { TurnChunks, type TurnChunksOptions } from '../../transcripts/turn-chunks.ts'
import type { UiChunk } from '../../transcripts/ui-chunk.ts'
import { drained } from '../sockets.ts'

export type StreamLimits = {
  readonly heartbeatMs: number
  /** A live reader with more unsent bytes than this is cut off; it can resume. */
  readonly bufferBytes: number
  /** The time that a response with an open request waits for further requests before it ends. */
  readonly lingerMs: number
}

/**
 * The response to a prompt, whose turn may start later, or the response of a turn. It starts after the event with the
 * seq `after`.
 */
export type ChatResponse = {
  readonly sessionId: string
  readonly after: number
  readonly facts: SessionFacts
  readonly target: { readonly promptId: string } | { readonly turnId: string }
  readonly has?: TurnChunksOptions['has']
}

export type StreamParts = {
  readonly outgoing: ServerResponse
  readonly logger: Logger
  readonly limits: StreamLimits
  readonly sdk: 6 | 7
  readonly response: ChatResponse
}

/**
 * One response, streamed to a page. It ends with its turn, or when the turn waits for an answer: a stock page sends no
 * answer before the response has ended. A page that disconnects does not stop the turn.
 */
export class ResponseStream implements FeedReader {
  readonly #parts: StreamParts
  readonly #heartbeat: NodeJS.Timeout
  readonly #leaving = new AbortController()
  /** Open requests of the turn that runs before the prompt's own turn. */
  readonly #asked = new Set<string>()
  /** True if the prompt is queued and does not run until the queue is resumed. */
  #paused = false
  #turn: TurnChunks | undefined
  #text = ''
  #live = false
  #over = false
  #linger: NodeJS.Timeout | undefined

  constructor(parts: StreamParts) {
    this.#parts = parts
    const { outgoing, limits, response } = parts
    if ('turnId' in response.target) this.#turn = this.#newTurn(response.target.turnId)
    this.#heartbeat = setInterval(() => {
      if (outgoing.headersSent && !outgoing.writableNeedDrain) outgoing.write(': keep-alive\n\n')
    }, limits.heartbeatMs)
    this.#heartbeat.unref()
    outgoing.once('close', () => this.finish())
  }

  /** Aborts when the page is gone or the response has ended. */
  get signal(): AbortSignal {
    return this.#leaving.signal
  }

  finish(): void {
    this.#over = true
    clearInterval(this.#heartbeat)
    clearTimeout(this.#linger)
    this.#leaving.abort()
  }

  following(): void {
    if (this.#over) return
    // The log was replaced, so this response may belong to a different turn.
    if (this.#parts.outgoing.headersSent) return this.break()
    this.#parts.outgoing.writeHead(200, streamHeaders)
    this.#parts.outgoing.flushHeaders()
    if (this.#parts.response.has && this.#turn) this.#say([this.#turn.again()])
  }

  deliver(batch: FeedBatch): void | Promise<void> {
    for (const item of batch) {
      if (this.#over) return
      if (item.kind === 'event') this.#take(JSON.parse(item.json))
      else if (item.kind === 'delta') this.#say(this.#turn?.stream(JSON.parse(item.json) as Delta))
    }
    if (this.#live) this.#rest()
    return this.#write()
  }

  caughtUp(): void {
    this.#live = true
    this.#rest()
    void this.#write()
  }

  ended(reason: 'deleted' | 'closed'): void {
    if (reason === 'deleted') this.#fail('This session was deleted.')
    else this.break()
  }

  /** Destroys the response without an end marker, so that the page does not treat it as complete. */
  break(): void {
    if (this.#over) return
    this.finish()
    this.#parts.outgoing.destroy()
  }

  #take(event: SessionEvent | UnknownEvent): void {
    if (!isKnown(event)) return
    this.#turn ??= this.#begun(event)
    if (!this.#turn) return
    this.#say(this.#turn.take(event))
    if (this.#turn.ended) this.#end()
  }

  /** Starts the response with the prompt's turn. Until then, tracks the turn before it. */
  #begun(event: SessionEvent): TurnChunks | undefined {
    const { target, facts } = this.#parts.response
    if (!('promptId' in target)) return undefined
    if (event.type === 'turn.started' && event.promptId === target.promptId) {
      return this.#newTurn(event.turnId ?? '')
    }
    facts.take(event)
    if (event.type === 'queue.paused') this.#paused = true
    if (event.type === 'queue.resumed') this.#paused = false
    if (event.type === 'prompt.withdrawn' && event.promptId === target.promptId) {
      this.#fail('The message was withdrawn before its turn started.')
    }
    if (event.type === 'permission.requested' || event.type === 'question.asked') {
      this.#asked.add(event.requestId)
    }
    if (event.type === 'permission.resolved' || event.type === 'question.resolved') {
      this.#asked.delete(event.requestId)
    }
    return undefined
  }

  #newTurn(turnId: string): TurnChunks {
    const { sdk, response } = this.#parts
    return new TurnChunks(turnId, response.facts, { sdk, ...(response.has && { has: response.has }) })
  }

  /** Called between batches. Ends the response if the turn only waits for answers or cannot start. */
  #rest(): void {
    if (this.#over) return
    if (!this.#turn) {
      if (this.#paused) this.#fail(paused)
      else if (this.#asked.size > 0) this.#fail(blocked)
      return
    }
    this.#say(this.#turn.settle())
    if (!this.#turn.asking) {
      clearTimeout(this.#linger)
      this.#linger = undefined
    } else if (this.#turn.still) this.#pause()
    else this.#linger ??= setTimeout(() => this.#pause(), this.#parts.limits.lingerMs)
  }

  #pause(): void {
    if (this.#over) return
    this.#say(this.#turn?.pause())
    this.#end()
  }

  #fail(errorText: string): void {
    if (this.#over) return
    this.#say([{ type: 'error', errorText }])
    this.#end()
  }

  #end(): void {
    this.#text += 'data: [DONE]\n\n'
    this.finish()
    this.#parts.outgoing.end(this.#text)
    this.#text = ''
  }

  #say(chunks: readonly UiChunk[] = []): void {
    for (const chunk of chunks) this.#text += `data: ${JSON.stringify(chunk)}\n\n`
  }

  #write(): void | Promise<void> {
    if (this.#over || this.#text === '') return
    const { outgoing, limits, logger } = this.#parts
    const flowing = outgoing.write(this.#text)
    this.#text = ''
    if (flowing) return
    if (!this.#live) return drained(outgoing)
    if (outgoing.writableLength <= limits.bufferBytes) return
    logger.info({ buffered: outgoing.writableLength }, 'a client read its response too slowly')
    this.break()
  }
}

const streamHeaders = {
  'Content-Type': 'text/event-stream',
  'X-Vercel-AI-UI-Message-Stream': 'v1',
  'X-Accel-Buffering': 'no',
}

const blocked =
  'Your message is queued, but the turn before it waits for an answer. Reload the chat to see the request and answer it, or stop that turn.'

const paused =
  'Your message is paused, because the turn before it was stopped. It runs when the queue is resumed in another client.'
