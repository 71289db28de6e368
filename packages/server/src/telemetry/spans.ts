import type * as Api from '@opentelemetry/api'
import type { Attributes, Span, Tracer } from '@opentelemetry/api'
import {
  type Actor,
  type EventOf,
  hostToolPrefix,
  type SessionState,
  type TokenUsage,
} from '@parley/protocol'
import { inputMessages, outputMessages, resultText, shortened } from './span-contents.ts'
import { attribute } from './span-names.ts'
import type {
  CallEnd,
  RequestEnd,
  TurnChange,
  TurnListener,
  WatchedCall,
  WatchedRequest,
  WatchedTurn,
} from './watch-turns.ts'

export type SpanOptions = {
  /** Includes prompts, answers, and the inputs and results of tools in spans. Otherwise spans have none of them. */
  readonly content: boolean
  readonly version: () => string
  readonly nameOf: (agent: string) => string
}

type Watched = WatchedTurn | WatchedCall | WatchedRequest

/**
 * Creates the spans. A session has a span from its first turn until it leaves memory. Inside it are the spans of its
 * turns; inside a turn, those of its calls and of the waits for a person, each wait inside its call. A span is
 * reported once, when it has ended. A turn that outlives the process is reported by the process that sees its end,
 * with its true start.
 */
export class Spans implements TurnListener {
  readonly #api: typeof Api
  readonly #options: SpanOptions
  readonly #tracer: Tracer
  readonly #sessions = new Map<string, Span>()
  /** The keys are the watched objects. When a watched object is garbage-collected, its span is too. */
  readonly #spans = new WeakMap<Watched, Span>()
  readonly #texts = new WeakMap<WatchedTurn, string[]>()

  constructor(api: typeof Api, options: SpanOptions) {
    this.#api = api
    this.#options = options
    this.#tracer = api.trace.getTracer('@parley/server', options.version())
  }

  turnStarted(turn: WatchedTurn): void {
    this.#turnSpan(turn)
  }

  turnChanged(turn: WatchedTurn, change: TurnChange): void {
    const attributes: Attributes = {
      ...(change.type === 'turn.parked' && { [attribute.parkReason]: change.reason }),
      ...(change.type === 'turn.interrupted' && { [attribute.interruptedBy]: change.by }),
      ...actorAttributes(change.actor),
    }
    this.#turnSpan(turn).addEvent(`parley.${change.type}`, attributes, change.at)
  }

  textWritten(turn: WatchedTurn, { text }: EventOf<'text.written'>): void {
    if (!this.#options.content) return
    const texts = this.#texts.get(turn) ?? []
    if (texts.length < maxTexts) texts.push(shortened(text))
    this.#texts.set(turn, texts)
  }

  turnEnded(turn: WatchedTurn, end: EventOf<'turn.ended'>, state: SessionState): void {
    const span = this.#turnSpan(turn)
    const model = state.effective.model ?? state.connection?.model
    span.setAttributes({
      [attribute.turnOutcome]: end.outcome,
      [attribute.finishReasons]: [end.stopReason],
      ...(model !== undefined && { [attribute.responseModel]: model }),
      ...usageOf(end.usage),
      ...(end.costUsd !== undefined && { [attribute.costUsd]: end.costUsd }),
    })
    const texts = this.#texts.get(turn)
    if (texts) span.setAttribute(attribute.outputMessages, outputMessages(texts, end.stopReason))
    const errorType = turnErrorType(end)
    if (errorType) this.#fail(span, errorType, end.error?.message)
    span.end(end.at)
  }

  callStarted(call: WatchedCall): void {
    const { turn, name, kind, toolCallId, at, parent, input } = call
    const isShown = this.#options.content && input !== undefined
    const attributes = {
      ...this.#agentAttributes(turn),
      [attribute.operation]: 'execute_tool',
      [attribute.toolName]: name,
      [attribute.toolCallId]: toolCallId,
      [attribute.toolType]: toolType(name),
      [attribute.toolKind]: kind,
      ...(isShown && { [attribute.toolArguments]: shortened(jsonOf(input)) }),
    }
    const above = (parent && this.#spans.get(parent)) ?? this.#turnSpan(turn)
    this.#spans.set(call, this.#start(`execute_tool ${name}`, at, attributes, above))
  }

  callEnded(_agent: string, end: CallEnd, call: WatchedCall | undefined): void {
    const span = call && this.#spans.get(call)
    if (!span) return
    span.setAttribute(attribute.toolOutcome, end.outcome)
    if (this.#options.content) span.setAttribute(attribute.toolResult, resultText(end.content))
    if (end.outcome === 'failed') this.#fail(span, toolFailed, undefined)
    span.end(end.at)
  }

  requestStarted(request: WatchedRequest): void {
    const { turn, type, tool, kind, at, call } = request
    const attributes = {
      ...this.#agentAttributes(turn),
      [attribute.requestType]: type,
      ...(tool !== undefined && { [attribute.toolName]: tool, [attribute.toolKind]: kind }),
    }
    const name = tool === undefined ? `wait_${type}` : `wait_${type} ${tool}`
    const above = (call && this.#spans.get(call)) ?? this.#turnSpan(turn)
    this.#spans.set(request, this.#start(name, at, attributes, above))
  }

  requestEnded(_agent: string, end: RequestEnd, request: WatchedRequest | undefined): void {
    const { outcome, by, at, actor } = end
    const span = request && this.#spans.get(request)
    span?.setAttributes({
      [attribute.requestOutcome]: outcome,
      [attribute.requestBy]: by,
      ...actorAttributes(actor),
    })
    span?.end(at)
  }

  sessionLeft(sessionId: string, at: number): void {
    this.#sessions.get(sessionId)?.end(at)
    this.#sessions.delete(sessionId)
  }

  #turnSpan(turn: WatchedTurn): Span {
    const known = this.#spans.get(turn)
    if (known) return known
    const isShown = this.#options.content && turn.prompt.length > 0
    const attributes = {
      ...this.#agentAttributes(turn),
      [attribute.operation]: 'invoke_agent',
      ...(turn.model !== undefined && { [attribute.requestModel]: turn.model }),
      ...(turn.isFound && { [attribute.restarted]: true }),
      ...actorAttributes(turn.actor),
      ...(isShown && { [attribute.inputMessages]: inputMessages(turn.prompt) }),
    }
    const name = `invoke_agent ${this.#options.nameOf(turn.agent)}`
    const span = this.#start(name, turn.at, attributes, this.#sessionSpan(turn))
    this.#spans.set(turn, span)
    return span
  }

  #sessionSpan(turn: WatchedTurn): Span {
    const known = this.#sessions.get(turn.sessionId)
    if (known) return known
    const { [attribute.turnId]: _, ...attributes } = this.#agentAttributes(turn)
    const span = this.#start(`session ${this.#options.nameOf(turn.agent)}`, turn.at, attributes)
    this.#sessions.set(turn.sessionId, span)
    return span
  }

  #agentAttributes({ agent, agentVersion, sessionId, turnId }: WatchedTurn): Attributes {
    return {
      [attribute.provider]: agent,
      [attribute.agentId]: agent,
      [attribute.agentName]: this.#options.nameOf(agent),
      ...(agentVersion !== undefined && { [attribute.agentVersion]: agentVersion }),
      [attribute.conversation]: sessionId,
      [attribute.turnId]: turnId,
    }
  }

  #start(name: string, startTime: number, attributes: Attributes, parent?: Span): Span {
    const { trace, ROOT_CONTEXT, SpanKind } = this.#api
    const context = parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT
    return this.#tracer.startSpan(name, { kind: SpanKind.INTERNAL, startTime, attributes }, context)
  }

  #fail(span: Span, errorType: string, message: string | undefined): void {
    const isShown = this.#options.content && message !== undefined
    span.setAttribute(attribute.errorType, errorType)
    span.setStatus({ code: this.#api.SpanStatusCode.ERROR, ...(isShown && { message }) })
  }
}

const maxTexts = 200
export const toolFailed = 'tool_failed'

/**
 * The error type of an ended turn; undefined if the end is not an error. A cancelled turn is not an error, but a turn
 * with an unknown outcome is.
 */
export function turnErrorType(end: {
  outcome: string
  error?: { code: string } | undefined
}): string | undefined {
  if (end.outcome === 'failed') return end.error?.code ?? '_OTHER'
  return end.outcome === 'unknown' ? 'outcome_unknown' : undefined
}

/**
 * The tool type in OpenTelemetry's terms: `function` for host tools, which the embedding program runs, and
 * `extension` for the others, which the agent runs.
 */
export function toolType(name: string): string {
  return name.startsWith(hostToolPrefix) ? 'function' : 'extension'
}

export function allInput({ input, cacheRead = 0, cacheWrite = 0 }: TokenUsage): number {
  return input + cacheRead + cacheWrite
}

function usageOf(usage: TokenUsage | undefined): Attributes {
  if (!usage) return {}
  const { output, cacheRead, cacheWrite, reasoning } = usage
  return {
    [attribute.inputTokens]: allInput(usage),
    [attribute.outputTokens]: output,
    ...(cacheRead !== undefined && { [attribute.cacheReadTokens]: cacheRead }),
    ...(cacheWrite !== undefined && { [attribute.cacheWriteTokens]: cacheWrite }),
    ...(reasoning !== undefined && { [attribute.reasoningTokens]: reasoning }),
  }
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch {
    return 'null'
  }
}

/** The attributes contain only ids, because the name of a person counts as content. */
function actorAttributes(actor: Actor | undefined): Attributes {
  if (!actor) return {}
  const means = actor.device ?? actor.token ?? actor.link
  return {
    [attribute.actorPerson]: actor.person.id,
    [attribute.actorVia]: actor.via,
    ...(means && { [attribute.actorMeans]: means.id }),
  }
}
