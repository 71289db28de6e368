import {
  compactionText,
  type Delta,
  defined,
  type EventOf,
  promptText,
  type SessionEvent,
  turnOf,
} from '@parley/protocol'
import { isDecidedAutomatically } from './decided-automatically.ts'
import type { SessionFacts } from './session-facts.ts'
import { TurnCalls } from './turn-calls.ts'
import { finishOf } from './turn-finish.ts'
import { decisionData, permissionData, type TurnRequest, TurnRequests } from './turn-requests.ts'
import { TurnSteps } from './turn-steps.ts'
import { TurnSubagents } from './turn-subagents.ts'
import { TurnTexts } from './turn-texts.ts'
import type { UiChunk, UiMetadata } from './ui-chunk.ts'

export type TurnChunksOptions = {
  /** The major version of the reader; 6 unless it is known to be 7. */
  readonly sdk?: 6 | 7
  /** The data that the reader already has: the cursor and the unfinished blocks of its message. */
  readonly has?: { readonly cursor: number; readonly unfinished?: Readonly<Record<string, number>> }
}

/**
 * One turn as the chunks of one message. The events alone determine the chunks; deltas only deliver pieces of them
 * sooner. A response may therefore end between any two events and continue later, and the messages built from the log
 * equal the messages that a page has. (If two agents write at once, a page has their parts in the order of their
 * starts.)
 */
export class TurnChunks {
  readonly turnId: string
  readonly #facts: SessionFacts
  readonly #has: number
  readonly #steps: TurnSteps
  readonly #texts: TurnTexts
  readonly #calls: TurnCalls
  readonly #requests: TurnRequests
  readonly #subagents: TurnSubagents
  #out: UiChunk[] = []
  #seq = 0
  #cursor = 0
  #held: EventOf<'permission.requested'> | undefined
  #ended = false

  constructor(turnId: string, facts: SessionFacts, { sdk = 6, has }: TurnChunksOptions = {}) {
    this.turnId = turnId
    this.#facts = facts
    this.#has = has?.cursor ?? 0
    const emit = (chunk: UiChunk) => {
      if (this.#seq > this.#has) this.#out.push(chunk)
    }
    const steps = new TurnSteps(emit)
    const waiting = () => this.#requests.waiting
    const writing = () => this.#texts.writing
    this.#steps = steps
    this.#texts = new TurnTexts(emit, () => steps.begin(waiting() || writing()), has?.unfinished)
    this.#calls = new TurnCalls({
      emit,
      steps,
      waiting,
      writing,
      lapse: (call) => this.#requests.lapse(call),
    })
    this.#requests = new TurnRequests({
      emit,
      steps,
      calls: () => this.#calls,
      closeTexts: () => this.#texts.close(),
      knowsResponses: sdk === 7,
    })
    this.#subagents = new TurnSubagents(emit)
  }

  get ended(): boolean {
    return this.#ended
  }

  /** True if a request is open. The response must then end, or a page cannot answer. */
  get asking(): boolean {
    return !this.#ended && this.#requests.waiting
  }

  /** True if nothing else is running that could still ask or produce output. */
  get still(): boolean {
    return this.#calls.onlyAsks && !this.#calls.drafting && !this.#texts.writing
  }

  get requests(): ReadonlyMap<string, TurnRequest> {
    return this.#requests.all
  }

  take(event: SessionEvent): UiChunk[] {
    const held = this.#held
    if (held) {
      this.#held = undefined
      if (isDecidedAutomatically(held, event)) {
        this.#seq = event.seq
        this.#cursor = event.seq
        if (event.outcome !== 'allowed') this.#refused(held, event)
        return this.#given()
      }
      this.#ask(held)
    }
    this.#seq = event.seq
    if (this.#facts.take(event)) this.#sayModel()
    if (event.turnId === this.turnId && !this.#ended) {
      this.#cursor = event.seq
      this.#apply(event)
    }
    return this.#given()
  }

  stream(delta: Delta): UiChunk[] {
    if (this.#ended || turnOf(delta) !== this.turnId) return []
    this.#seq = Number.POSITIVE_INFINITY
    switch (delta.type) {
      case 'text.streamed':
      case 'thinking.streamed':
        if (!delta.parentToolCallId) this.#texts.streamed(delta)
        break
      case 'tool-call.drafted':
        this.#calls.drafted(delta)
        break
      case 'tool-call.input-streamed':
        this.#calls.inputStreamed(delta)
        break
      case 'tool-call.output-streamed':
        this.#calls.outputStreamed(delta)
        break
    }
    return this.#given()
  }

  /** Called when no event follows directly. A held request that is still undecided is then sent to the person. */
  settle(): UiChunk[] {
    const held = this.#held
    this.#held = undefined
    if (held) this.#ask(held)
    return this.#given()
  }

  /** The last chunks of a response that continues after the person's answer. */
  pause(): UiChunk[] {
    this.#seq = Number.POSITIVE_INFINITY
    this.#texts.close()
    this.#emit({ type: 'finish', finishReason: 'tool-calls', messageMetadata: this.place() })
    return this.#given()
  }

  /** The first chunk of a continued response. */
  again(): UiChunk {
    return { type: 'start', messageId: this.turnId, messageMetadata: { cursor: null } }
  }

  /** The position in the log up to which the message contains the events. */
  place(): UiMetadata {
    const unfinished = this.#texts.unfinished()
    return { cursor: this.#cursor, ...(unfinished && { unfinished }) }
  }

  #apply(event: SessionEvent): void {
    switch (event.type) {
      case 'turn.started':
        return this.#start(event)
      case 'turn.ended':
        return this.#end(event)
      case 'turn.parked':
        this.#texts.close()
        return this.#calls.dropDrafts()
      case 'text.written':
      case 'thinking.written':
        return this.#nested(event) ? undefined : this.#texts.written(event)
      case 'block.retracted': {
        const { blockId, reason } = event
        this.#texts.retracted(blockId)
        this.#calls.dropped(blockId)
        return this.#data('retraction', blockId, { blockId, ...(reason !== undefined && { reason }) })
      }
      case 'tool-call.called':
        this.#nested(event)
        return this.#calls.called(event)
      case 'tool-call.updated':
        this.#nested(event)
        return this.#calls.updated(event)
      case 'tool-call.ended':
        this.#nested(event)
        return this.#calls.ended(event)
      case 'permission.requested':
        this.#held = event
        return
      case 'question.asked':
        this.#texts.close()
        return this.#requests.ask(event)
      case 'permission.resolved':
      case 'question.resolved':
        return this.#requests.resolve(event)
      default:
        return this.#applyData(event)
    }
  }

  #applyData(event: SessionEvent): void {
    switch (event.type) {
      case 'prompt.submitted': {
        const { promptId, parts } = event
        return this.#data('steer', promptId, { promptId, text: promptText(parts) })
      }
      case 'plan.updated': {
        const { entries, parentToolCallId } = event
        const of = parentToolCallId && { toolCallId: parentToolCallId }
        return this.#data('plan', parentToolCallId ?? 'plan', { ...of, entries })
      }
      case 'task.updated': {
        const { taskId, toolCallId, parentToolCallId, title, status, background, summary } = event
        const task = { taskId, toolCallId, parentToolCallId, title, status, background, summary }
        return this.#data('task', taskId, task)
      }
      case 'agent.noticed': {
        const { level, code, text, parentToolCallId } = event
        const of = parentToolCallId && { toolCallId: parentToolCallId }
        return this.#data('notice', `notice-${event.seq}`, { ...of, level, code, text })
      }
      case 'context.compacted': {
        const text = compactionText(event)
        return this.#data('notice', `notice-${event.seq}`, { level: 'info', code: 'context_compacted', text })
      }
      case 'usage.measured':
        return this.#metadata({ context: event.context })
    }
  }

  #start({ at }: EventOf<'turn.started'>): void {
    const { session, agent, model } = this.#facts
    const messageMetadata = defined({ session, agent, model, startedAt: at, cursor: null })
    this.#emit({ type: 'start', messageId: this.turnId, messageMetadata })
  }

  #end(event: EventOf<'turn.ended'>): void {
    this.#calls.end()
    this.#texts.close()
    this.#steps.end()
    this.#ended = true
    const { model } = this.#facts
    for (const chunk of finishOf(event, { cursor: this.#cursor, ...(model !== undefined && { model }) })) {
      this.#emit(chunk)
    }
  }

  /** Sends a permission that was refused without asking a person, so that the page can show the refusal. */
  #refused(request: EventOf<'permission.requested'>, resolved: EventOf<'permission.resolved'>): void {
    this.#emit(permissionData(request))
    this.#emit(decisionData(resolved))
  }

  /**
   * Shows a held request. Its chunks are attributed to the seq of the request itself, even if a later
   * event triggers them.
   */
  #ask(held: EventOf<'permission.requested'>): void {
    this.#seq = held.seq
    this.#texts.close()
    this.#requests.ask(held)
  }

  #nested(event: Parameters<TurnSubagents['take']>[0]): boolean {
    const callId = 'toolCallId' in event ? event.toolCallId : undefined
    const parent = event.parentToolCallId ?? (callId && this.#subagents.parentOf(callId))
    if (parent === undefined) return false
    this.#calls.reveal(parent)
    this.#subagents.take(event, parent)
    return true
  }

  #sayModel(): void {
    const { model } = this.#facts
    if (this.#cursor > 0 && !this.#ended && model !== undefined) this.#metadata({ model })
  }

  #data(name: string, id: string, data: unknown): void {
    this.#emit({ type: `data-${name}`, id, data })
  }

  #metadata(messageMetadata: UiMetadata): void {
    this.#emit({ type: 'message-metadata', messageMetadata })
  }

  #emit(chunk: UiChunk): void {
    if (this.#seq > this.#has) this.#out.push(chunk)
  }

  #given(): UiChunk[] {
    const given = this.#out
    this.#out = []
    return given
  }
}
