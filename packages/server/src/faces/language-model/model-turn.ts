import type { HostToolResult } from '@parley/adapter-kit'
import {
  defined,
  type EventOf,
  type FeedValue,
  hostToolName,
  isKnown,
  ParleyError,
  reachedLimit,
  type SessionEvent,
  turnOf,
} from '@parley/protocol'

import type { Host } from '../../core/index.ts'
import type { SessionFacts } from '../../transcripts/session-facts.ts'
import { finishReasonOf, usageOf } from './finish.ts'
import { abortError } from './model-error.ts'
import { answerRequest, type RequestHandlers } from './requests.ts'
import type { Json, ProviderData, StreamPart } from './specification.ts'
import { TurnParts } from './turn-parts.ts'

export type ModelTurnOptions = {
  readonly host: Host
  readonly facts: SessionFacts
  readonly promptId: string
  /** The seq in the receipt of the prompt; the turn starts there or later. */
  readonly seq: number
  readonly tools: ReadonlySet<string>
  readonly handlers: RequestHandlers
  /** If true, the reply is the turn's structured output, as JSON. */
  readonly structured: boolean
  readonly native: boolean
  readonly about: Readonly<Record<string, Json>>
  readonly waitMs: number
  readonly gatherMs: number
  /** Called when the turn has ended, and again if its reader leaves before it has received the end. */
  readonly over: () => void
}

type CallerCall = {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly toolCallId: string | undefined
  /** The seq at the time of the call. The events up to it are sent before the call. */
  after: number
  sent: boolean
  readonly answer: (result: HostToolResult) => void
}

/**
 * One turn of an agent as one or more responses. A response ends with the turn, or when the agent calls a tool of the
 * caller. Such a call is held open, and the next response continues when the caller sends its result. If the caller
 * sends no result, the turn is cancelled. Requests are answered whether or not a response is being read.
 */
export class ModelTurn {
  readonly sessionId: string
  readonly #options: ModelTurnOptions
  readonly #translate: TurnParts
  readonly #over = new AbortController()
  readonly #calls = new Map<string, CallerCall>()
  readonly #denied: string[] = []
  /** Calls that were sent to the caller. The agent may have cancelled one of them since. */
  #sentCalls: string[] = []
  #parts: StreamPart[] = []
  #turnId: string | undefined
  #cursor = 0
  #end: EventOf<'turn.ended'> | undefined
  #failure: { readonly error: unknown } | undefined
  #changed = Promise.withResolvers<void>()
  #timer: NodeJS.Timeout | undefined
  #steps = 0
  /** True if a response is being read, or is about to be. */
  #isRead = true
  #isLeft = false

  constructor(options: ModelTurnOptions) {
    this.#options = options
    this.sessionId = options.facts.session
    const names = new Set([...options.tools].map(hostToolName))
    this.#translate = new TurnParts((name) => names.has(name), options.structured)
    void this.#read()
  }

  /** The id of the turn; undefined until it has started. */
  get turnId(): string | undefined {
    return this.#turnId
  }

  /** True if the turn completed and the caller has received its end, or will. The history can then be continued. */
  get isComplete(): boolean {
    return this.#end?.outcome === 'completed' && !this.#isLeft
  }

  /** Calls that were sent to the caller and are not answered. */
  get open(): readonly string[] {
    return this.#sentCalls
  }

  handOver(
    name: string,
    input: unknown,
    context: { signal: AbortSignal; toolCallId?: string },
  ): Promise<HostToolResult> {
    const { promise, resolve } = Promise.withResolvers<HostToolResult>()
    const id = `call_${crypto.randomUUID()}`
    const { toolCallId } = context
    const call = {
      id,
      name,
      input,
      toolCallId,
      after: Number.POSITIVE_INFINITY,
      sent: false,
      answer: resolve,
    }
    this.#calls.set(id, call)
    const drop = () => {
      this.#calls.delete(id)
      resolve(failure('Cancelled.'))
    }
    if (context.signal.aborted || this.#isOver) drop()
    else context.signal.addEventListener('abort', drop, { once: true })
    this.#options.host.state(this.sessionId).then(
      ({ seq }) => {
        call.after = seq
        this.#wake()
      },
      (error) => this.#fail(error),
    )
    return promise
  }

  /** Passes the caller's results to the calls that were sent to it. */
  answer(results: ReadonlyMap<string, HostToolResult>): void {
    this.#isRead = true
    for (const id of this.#sentCalls.splice(0)) {
      const call = this.#calls.get(id)
      this.#calls.delete(id)
      call?.answer(results.get(id) ?? failure('The program returned no result for this call.'))
    }
  }

  /** Starts the next response. A reader that leaves it before its end, or never reads it, cancels the turn. */
  step(signal: AbortSignal): AsyncGenerator<StreamPart> {
    clearTimeout(this.#timer)
    this.#isRead = true
    const step = ++this.#steps
    const leave = () => {
      if (step === this.#steps) this.#leave()
    }
    // This is not done in the generator: after an abort nobody reads the generator, so its code would not
    // run.
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    return this.#response(signal, leave)
  }

  async *#response(signal: AbortSignal, leave: () => void): AsyncGenerator<StreamPart> {
    try {
      for (;;) {
        if (signal.aborted) throw abortError(signal)
        yield* this.#taken()
        if (this.#parts.length > 0) continue
        if (this.#failure) throw this.#failure.error
        if (this.#end) return yield* this.#ending(this.#end)
        if (this.#due().length > 0) {
          await this.#gathered()
          yield* this.#taken()
          if (this.#due().length === 0) continue
          return yield* this.#handing()
        }
        await this.#until(signal)
      }
    } finally {
      signal.removeEventListener('abort', leave)
      leave()
    }
  }

  /** Called if a reader leaves before the end: cancels the turn or, if it has ended, calls `over` again. */
  #leave(): void {
    if (!this.#isRead) return
    this.#isRead = false
    this.#isLeft = true
    if (this.#over.signal.aborted) this.#options.over()
    else this.cancel()
  }

  /** Cancels the turn or withdraws its prompt. Does nothing if it has ended. */
  cancel(): void {
    if (this.#isOver) return
    const { host, promptId } = this.#options
    const commandId = crypto.randomUUID()
    const cancelled = host.state(this.sessionId).then(({ turn, queue }) => {
      if (turn?.prompt?.promptId === promptId) {
        return host.command(this.sessionId, {
          type: 'turn.cancel',
          commandId,
          turnId: turn.turnId,
          pauseQueue: false,
        })
      }
      const waits = queue.some((prompt) => prompt.promptId === promptId)
      return waits
        ? host.command(this.sessionId, { type: 'prompt.withdraw', commandId, promptId })
        : undefined
    })
    cancelled.catch((error) => this.#fail(error))
  }

  get #isOver(): boolean {
    return this.#end !== undefined || this.#failure !== undefined
  }

  async #read(): Promise<void> {
    const { host, seq, native } = this.#options
    try {
      for await (const item of host.feed(this.sessionId, { after: seq - 1, native })) {
        this.#take(item)
        if (this.#isOver) break
        this.#wake()
      }
      if (!this.#isOver) this.#fail(endedDuringTurn())
    } catch (error) {
      this.#fail(error)
    }
    this.#settle()
  }

  /** Calls `over` before a reader gets the end, because a reader that has the end may use the session again at once. */
  #settle(): void {
    if (this.#over.signal.aborted) return
    clearTimeout(this.#timer)
    if (!this.#isRead) this.#isLeft = true
    this.#over.abort()
    this.#options.over()
    this.#wake()
  }

  #take(item: FeedValue): void {
    if (item.type === 'native') this.#parts.push({ type: 'raw', rawValue: item.native })
    if (item.type === 'delta' && this.#turnId !== undefined && turnOf(item.delta) === this.#turnId) {
      this.#parts.push(...this.#translate.stream(item.delta))
    }
    if (item.type !== 'event') return
    if (isKnown(item.event)) this.#takeEvent(item.event)
    this.#cursor = item.event.seq
  }

  #takeEvent(event: SessionEvent): void {
    const { facts, promptId } = this.#options
    if (event.type === 'prompt.withdrawn' && event.promptId === promptId) {
      this.#fail(new ParleyError('cancelled', 'The prompt was withdrawn before its turn began.'))
    }
    if (event.type === 'turn.started' && event.promptId === promptId) this.#turnId = event.turnId
    if (facts.take(event) && this.#turnId !== undefined) this.#parts.push(this.#metadata(event.at))
    if (event.turnId === undefined || event.turnId !== this.#turnId) return
    if (event.type === 'turn.started') this.#parts.push(this.#metadata(event.at))
    this.#parts.push(...this.#translate.take(event))
    if (event.type === 'permission.requested' || event.type === 'question.asked') void this.#answer(event)
    if (event.type !== 'turn.ended') return
    this.#end = event
    this.#settle()
  }

  async #answer(event: EventOf<'permission.requested'> | EventOf<'question.asked'>): Promise<void> {
    const { host, handlers } = this.#options
    const context = { sessionId: this.sessionId, signal: this.#over.signal }
    try {
      const { denied } = await answerRequest(host, handlers, event, context)
      if (denied !== undefined) this.#denied.push(denied)
    } catch (error) {
      this.cancel()
      this.#fail(error)
    }
  }

  #metadata(at: number): StreamPart {
    const { agent, model = agent } = this.#options.facts
    return {
      type: 'response-metadata',
      id: `${this.#turnId}.${this.#steps}`,
      timestamp: new Date(at),
      modelId: model,
    }
  }

  // The following generators end a response: at the end of the turn, or at calls of the caller's tools.

  *#handing(): Generator<StreamPart> {
    yield* this.#translate.close()
    for (const call of this.#due()) {
      const { id, name: toolName, toolCallId } = call
      call.sent = true
      this.#sentCalls.push(id)
      const input = JSON.stringify(call.input ?? {})
      yield { type: 'tool-input-start', id, toolName }
      yield { type: 'tool-input-delta', id, delta: input }
      yield { type: 'tool-input-end', id }
      const known = toolCallId !== undefined && { providerMetadata: { parley: { toolCallId } } }
      yield { type: 'tool-call', toolCallId: id, toolName, input, ...known }
    }
    this.#timer = setTimeout(() => this.cancel(), this.#options.waitMs)
    this.#timer.unref()
    this.#isRead = false
    const finishReason = { unified: 'tool-calls', raw: 'tool_use' } as const
    yield { type: 'finish', finishReason, usage: usageOf(), providerMetadata: this.#about({}) }
  }

  *#ending(end: EventOf<'turn.ended'>): Generator<StreamPart> {
    const { outcome, stopReason, usage, costUsd, durationMs, structuredOutput, error } = end
    if (this.#options.structured && structuredOutput !== undefined) {
      const id = `${this.#turnId}.output`
      yield { type: 'text-start', id }
      yield { type: 'text-delta', id, delta: JSON.stringify(structuredOutput) }
      yield { type: 'text-end', id }
    }
    if ((outcome === 'failed' || outcome === 'unknown') && !reachedLimit(end)) {
      yield { type: 'error', error: error ? ParleyError.from(error) : unexplained(outcome) }
    }
    const about = { outcome, stopReason, durationMs, ...(costUsd !== undefined && { costUsd }) }
    this.#isRead = false
    yield {
      type: 'finish',
      finishReason: finishReasonOf(end),
      usage: usageOf(usage),
      providerMetadata: this.#about(about),
    }
  }

  #about(more: Record<string, Json>): ProviderData {
    const { facts, about } = this.#options
    const denied = this.#denied.splice(0)
    return {
      parley: {
        session: this.sessionId,
        agent: facts.agent,
        ...defined({ turn: this.#turnId, model: facts.model }),
        ...(denied.length > 0 && { denied }),
        ...about,
        ...more,
      },
    }
  }

  /** Unsent calls whose preceding events were all read. */
  #due(): CallerCall[] {
    return [...this.#calls.values()].filter(({ sent, after }) => !sent && after <= this.#cursor)
  }

  /** Waits for parallel calls, which agents make almost at the same time. A later call is sent in the next response. */
  #gathered(): Promise<void> {
    return new Promise((resolve) => void setTimeout(resolve, this.#options.gatherMs))
  }

  #taken(): StreamPart[] {
    return this.#parts.splice(0)
  }

  async #until(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const wake = () => this.#wake()
    signal.addEventListener('abort', wake, { once: true })
    await this.#changed.promise
    signal.removeEventListener('abort', wake)
  }

  #wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#wake()
  }
}

function failure(text: string): HostToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

function endedDuringTurn(): ParleyError {
  return new ParleyError(
    'cancelled',
    'The session ended in the middle of the turn: it was deleted, or its host closed.',
  )
}

function unexplained(outcome: 'failed' | 'unknown'): ParleyError {
  const words =
    outcome === 'failed'
      ? 'The turn failed.'
      : 'The agent was lost during the turn; which actions it completed is unknown.'
  return new ParleyError('agent_failed', words)
}
