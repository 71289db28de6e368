import type * as Api from '@opentelemetry/api'
import type { Attributes, Context, Span } from '@opentelemetry/api'
import { hostToolPrefix, type TokenUsage } from '@parley/protocol'
import { inputMessages, outputMessages, resultText, shortened } from './span-contents.ts'
import { attribute } from './span-names.ts'
import type { TurnListener, WatchedCall, WatchedRequest, WatchedTurn } from './watch-turns.ts'

export type SpanOptions = {
  /** Include prompts, answers, and the inputs and results of tools. Otherwise spans have none of them. */
  readonly content: boolean
  readonly version: () => string
  /** The display name of an agent. */
  readonly nameOf: (agent: string) => string
}

type Watched = WatchedTurn | WatchedCall | WatchedRequest

/**
 * Spans: a session, from its first turn until it leaves memory; in it its turns; in a turn its calls and its waits for
 * a person, each inside the call it belongs to. A span is reported once, when it has ended. A turn that outlives the
 * process is reported by the process that sees its end, with its true start.
 */
export function createSpans(api: typeof Api, options: SpanOptions): TurnListener {
  const { trace, ROOT_CONTEXT, SpanKind, SpanStatusCode } = api
  const { content, nameOf } = options
  const tracer = trace.getTracer('@parley/server', options.version())
  const sessions = new Map<string, Span>()
  /** Keyed by the watched object, so that dropping that object drops its span. */
  const spans = new WeakMap<Watched, Span>()
  const texts = new WeakMap<WatchedTurn, string[]>()

  const inside = (span: Span | undefined): Context =>
    span ? trace.setSpan(ROOT_CONTEXT, span) : ROOT_CONTEXT

  function start(name: string, startTime: number, attributes: Attributes, parent?: Span): Span {
    const how = { kind: SpanKind.INTERNAL, startTime, attributes }
    return tracer.startSpan(name, how, inside(parent))
  }

  function agentOf({ agent, agentVersion, sessionId, turnId }: WatchedTurn): Attributes {
    return {
      [attribute.provider]: agent,
      [attribute.agentId]: agent,
      [attribute.agentName]: nameOf(agent),
      ...(agentVersion !== undefined && { [attribute.agentVersion]: agentVersion }),
      [attribute.conversation]: sessionId,
      [attribute.turnId]: turnId,
    }
  }

  function sessionSpan(turn: WatchedTurn): Span {
    const known = sessions.get(turn.sessionId)
    if (known) return known
    const { [attribute.turnId]: _, ...attributes } = agentOf(turn)
    const span = start(`session ${nameOf(turn.agent)}`, turn.at, attributes)
    sessions.set(turn.sessionId, span)
    return span
  }

  function turnSpan(turn: WatchedTurn): Span {
    const known = spans.get(turn)
    if (known) return known
    const attributes = {
      ...agentOf(turn),
      [attribute.operation]: 'invoke_agent',
      ...(turn.model !== undefined && { [attribute.requestModel]: turn.model }),
      ...(turn.isFound && { [attribute.restarted]: true }),
      ...(content && turn.prompt.length > 0 && { [attribute.inputMessages]: inputMessages(turn.prompt) }),
    }
    const span = start(`invoke_agent ${nameOf(turn.agent)}`, turn.at, attributes, sessionSpan(turn))
    spans.set(turn, span)
    return span
  }

  function fail(span: Span, errorType: string, message: string | undefined) {
    span.setAttribute(attribute.errorType, errorType)
    span.setStatus({ code: SpanStatusCode.ERROR, ...(content && message !== undefined && { message }) })
  }

  return {
    turnStarted: (turn) => void turnSpan(turn),
    turnMarked(turn, mark) {
      const attributes: Attributes = {
        ...(mark.type === 'turn.parked' && { [attribute.parkReason]: mark.reason }),
        ...(mark.type === 'turn.interrupted' && { [attribute.interruptedBy]: mark.by }),
      }
      turnSpan(turn).addEvent(`parley.${mark.type}`, attributes, mark.at)
    },
    said(turn, { text }) {
      if (!content) return
      const said = texts.get(turn) ?? []
      if (said.length < mostTexts) said.push(shortened(text))
      texts.set(turn, said)
    },
    turnEnded(turn, end, state) {
      const span = turnSpan(turn)
      const model = state.effective.model ?? state.connection?.model
      span.setAttributes({
        [attribute.turnOutcome]: end.outcome,
        [attribute.finishReasons]: [end.stopReason],
        ...(model !== undefined && { [attribute.responseModel]: model }),
        ...usageOf(end.usage),
        ...(end.costUsd !== undefined && { [attribute.costUsd]: end.costUsd }),
      })
      const said = texts.get(turn)
      if (said) span.setAttribute(attribute.outputMessages, outputMessages(said, end.stopReason))
      const errorType = turnErrorType(end)
      if (errorType) fail(span, errorType, end.error?.message)
      span.end(end.at)
    },
    callStarted(call) {
      const { turn, name, kind, toolCallId, at, parent, input } = call
      const attributes = {
        ...agentOf(turn),
        [attribute.operation]: 'execute_tool',
        [attribute.toolName]: name,
        [attribute.toolCallId]: toolCallId,
        [attribute.toolType]: toolType(name),
        [attribute.toolKind]: kind,
        ...(content && input !== undefined && { [attribute.toolArguments]: shortened(jsonOf(input)) }),
      }
      const above = (parent && spans.get(parent)) ?? turnSpan(turn)
      spans.set(call, start(`execute_tool ${name}`, at, attributes, above))
    },
    callEnded(_agent, end, call) {
      const span = call && spans.get(call)
      if (!span) return
      span.setAttribute(attribute.toolOutcome, end.outcome)
      if (content) span.setAttribute(attribute.toolResult, resultText(end.content))
      if (end.outcome === 'failed') fail(span, toolFailed, undefined)
      span.end(end.at)
    },
    requestStarted(request) {
      const { turn, type, tool, kind, at, call } = request
      const attributes = {
        ...agentOf(turn),
        [attribute.requestType]: type,
        ...(tool !== undefined && { [attribute.toolName]: tool, [attribute.toolKind]: kind }),
      }
      const name = tool === undefined ? `wait_${type}` : `wait_${type} ${tool}`
      const above = (call && spans.get(call)) ?? turnSpan(turn)
      spans.set(request, start(name, at, attributes, above))
    },
    requestEnded(_agent, { outcome, by, at }, request) {
      const span = request && spans.get(request)
      span?.setAttributes({ [attribute.requestOutcome]: outcome, [attribute.requestBy]: by })
      span?.end(at)
    },
    sessionLeft(sessionId, at) {
      sessions.get(sessionId)?.end(at)
      sessions.delete(sessionId)
    },
  }
}

const mostTexts = 200
export const toolFailed = 'tool_failed'

/** A cancelled turn is no error. An unknown outcome is one. */
export function turnErrorType(end: {
  outcome: string
  error?: { code: string } | undefined
}): string | undefined {
  if (end.outcome === 'failed') return end.error?.code ?? '_OTHER'
  return end.outcome === 'unknown' ? 'outcome_unknown' : undefined
}

/** Host tools are run by the embedding program, the others by the agent. */
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
