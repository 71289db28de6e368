import {
  defined,
  type EventOf,
  isKnown,
  type SessionEvent,
  type TokenUsage,
  type UnknownEvent,
} from '@parley/protocol'
import { SessionFacts } from './session-facts.ts'
import { textOf } from './tool-output.ts'

export type RunEventType =
  | 'run_started'
  | 'message_streamed'
  | 'tool_call_started'
  | 'tool_call_completed'
  | 'token_usage_updated'
  | 'error_occurred'
  | 'run_completed'
  | 'run_failed'
  | 'run_cancelled'

/** An event of a run, in terms that are the same for every provider. A run is a turn, and a provider is an agent. */
export type RunEvent = {
  readonly type: RunEventType
  readonly timestamp: string
  readonly session_id: string
  readonly run_id: string
  readonly provider: string
  readonly data: Record<string, unknown>
}

/** Collects the run events of a session. Events that belong to no turn are left out. */
export class RunEvents {
  readonly all: RunEvent[] = []
  readonly #facts: SessionFacts
  readonly #calls = new Map<string, { name: string; data: Record<string, unknown> }>()
  #tools: readonly string[] | undefined
  #providerSession: string | undefined
  /** The data of the latest `run_started` while no other event of its run follows it. */
  #starting: Record<string, unknown> | undefined

  constructor(sessionId: string) {
    this.#facts = new SessionFacts(sessionId)
  }

  take(event: SessionEvent | UnknownEvent): void {
    if (!isKnown(event)) return
    this.#facts.take(event)
    if (event.type === 'agent.connected') {
      this.#tools = event.tools ?? this.#tools
      this.#providerSession = event.agentSessionId ?? this.#providerSession
    }
    if (event.turnId !== undefined) this.#take(event)
  }

  #take(event: SessionEvent): void {
    switch (event.type) {
      case 'turn.started': {
        const data = this.#introduction()
        this.#add(event, 'run_started', data)
        this.#starting = data
        return
      }
      case 'agent.connected':
      case 'session.configured':
        // The agent is started for its turn, so it reports its details after the turn has started.
        if (this.#starting) Object.assign(this.#starting, this.#introduction())
        return
      case 'text.written':
      case 'thinking.written': {
        const kind = event.type === 'text.written' ? 'text' : 'thinking'
        return this.#add(event, 'message_streamed', { message_id: event.blockId, kind, content: event.text })
      }
      case 'block.retracted':
        return this.#retracted(event)
      case 'tool-call.called':
        return this.#called(event)
      case 'permission.requested': {
        const call = event.toolCallId === undefined ? undefined : this.#calls.get(event.toolCallId)
        if (call) call.data.requires_approval = true
        return
      }
      case 'tool-call.ended': {
        const { toolCallId, outcome, content } = event
        const tool_name = this.#calls.get(toolCallId)?.name
        this.#calls.delete(toolCallId)
        const data = { tool_call_id: toolCallId, tool_name, status: outcome, output: textOf(content) }
        return this.#add(event, 'tool_call_completed', data)
      }
      case 'usage.measured':
        return this.#add(event, 'token_usage_updated', { ...tokens(event.total), ...cost(event) })
      case 'agent.noticed':
        if (event.level !== 'error') return
        return this.#add(event, 'error_occurred', { error: { code: event.code, message: event.text } })
      case 'turn.ended':
        return this.#ended(event)
    }
  }

  /** A retracted text is removed, because the list of run events has no event for a retraction. */
  #retracted({ blockId }: EventOf<'block.retracted'>): void {
    const index = this.all.findLastIndex(({ data }) => data.message_id === blockId)
    if (index >= 0) this.all.splice(index, 1)
  }

  #called(event: EventOf<'tool-call.called'>): void {
    const { toolCallId, name, input } = event
    const data = { tool_call_id: toolCallId, tool_name: name, arguments: input, requires_approval: false }
    this.#calls.set(toolCallId, { name, data })
    this.#add(event, 'tool_call_started', data)
  }

  #ended(event: EventOf<'turn.ended'>): void {
    const { outcome, stopReason, durationMs, usage, error, result, structuredOutput } = event
    if (usage) this.#add(event, 'token_usage_updated', { ...tokens(usage), ...cost(event) })
    const data = {
      ...this.#provider(),
      stop_reason: stopReason,
      duration_ms: durationMs,
      ...cost(event),
      ...defined({ result, structured_output: structuredOutput }),
    }
    if (outcome === 'completed') return this.#add(event, 'run_completed', data)
    if (outcome === 'cancelled') return this.#add(event, 'run_cancelled', data)
    const message = error?.message ?? 'How the run ended is unknown.'
    const failure = {
      code: 'provider_error',
      message,
      ...(error && { provider_error: { original_error: error } }),
    }
    this.#add(event, 'error_occurred', { error: failure })
    this.#add(event, 'run_failed', { ...data, error: failure })
  }

  #introduction() {
    return { ...this.#provider(), ...(this.#tools && { tools: this.#tools }) }
  }

  #provider() {
    const { model } = this.#facts
    return defined({ provider_session_id: this.#providerSession, model })
  }

  #add(event: SessionEvent, type: RunEventType, data: Record<string, unknown>): void {
    const parent = 'parentToolCallId' in event && event.parentToolCallId
    this.#starting = undefined
    this.all.push({
      type,
      timestamp: new Date(event.at).toISOString(),
      session_id: event.sessionId,
      run_id: event.turnId ?? '',
      provider: this.#facts.agent,
      data: parent ? Object.assign(data, { parent_tool_call_id: parent }) : data,
    })
  }
}

/** Converts the events of one session, starting with its first, to run events. */
export function runEventsOf(events: Iterable<SessionEvent | UnknownEvent>): RunEvent[] {
  let runs: RunEvents | undefined
  for (const event of events) {
    runs ??= new RunEvents(event.sessionId)
    runs.take(event)
  }
  return runs?.all ?? []
}

function tokens({ input, output, cacheRead, cacheWrite, reasoning }: TokenUsage) {
  return {
    input_tokens: input,
    output_tokens: output,
    ...defined({ cache_read_tokens: cacheRead, cache_write_tokens: cacheWrite, reasoning_tokens: reasoning }),
  }
}

function cost({ costUsd, notionalCost }: { costUsd?: number | undefined; notionalCost?: true | undefined }) {
  if (costUsd === undefined) return {}
  return { total_cost_usd: costUsd, ...(notionalCost && { cost_is_notional: true }) }
}
