import { type Actor, defined, type SessionEvent, type SessionState } from '@parley/protocol'
import type { Logger } from 'pino'
import type { HostObserver } from '../core/index.ts'

/**
 * Logs the work of agents: at `debug` each step, with names and sizes; at `info` a turn that failed; at `warn` an agent
 * that was lost. Content of people or agents is never logged; error messages are logged only at `debug`.
 */
export function logSteps(logger: Logger): HostObserver {
  return {
    opened: ({ id: sessionId, agent }) => logger.debug({ sessionId, agent }, 'session opened'),
    recorded(events, state) {
      for (const event of events) logEvent(event, state, logger)
    },
    left: (sessionId) => logger.debug({ sessionId }, 'session unloaded'),
  }
}

function logEvent(event: SessionEvent, { id: sessionId, agent }: SessionState, logger: Logger): void {
  const { turnId } = event
  const where = { sessionId, agent, ...(turnId !== undefined && { turnId }), ...actorDetails(event.actor) }
  if (event.type === 'turn.ended' && (event.outcome === 'failed' || event.outcome === 'unknown')) {
    const { outcome, stopReason, error, durationMs } = event
    logger.info(
      { ...where, outcome, reason: named(stopReason), code: error?.code, durationMs },
      'turn failed',
    )
  }
  if (event.type === 'agent.disconnected' && isLoss(event.reason)) {
    const { reason, error, exitCode, signal } = event
    logger.warn({ ...where, reason, code: error?.code, exitCode, signal }, 'agent lost')
  }
  if (!logger.isLevelEnabled('debug')) return
  logger.debug({ ...where, seq: event.seq, ...detailsOf(event) }, event.type)
}

/** Only ids, because the name of a person counts as content. */
function actorDetails(actor: Actor | undefined): Record<string, unknown> {
  if (!actor) return {}
  const { person, device, token, link, via } = actor
  return { person: person.id, ...defined({ device: device?.id, token: token?.id, link: link?.id }), via }
}

function isLoss(reason: string): boolean {
  return reason === 'crashed' || reason === 'failed-to-start'
}

/** The reason comes from the agent, so anything longer than a name could contain content. */
function named(reason: string): string {
  return /^[\w.-]{1,60}$/.test(reason) ? reason : 'other'
}

function detailsOf(event: SessionEvent): Record<string, unknown> {
  switch (event.type) {
    case 'agent.connected':
      return { version: event.agentVersion, model: event.model, tools: event.tools?.length }
    case 'agent.disconnected':
      return { reason: event.reason, message: event.error?.message }
    case 'agent.noticed':
      return { level: event.level, code: event.code }
    case 'agent.unrecognised':
      return { reason: event.reason }
    case 'text.written':
    case 'thinking.written':
      return { block: event.blockId, length: event.text.length }
    case 'tool-call.called':
      return { call: event.toolCallId, tool: event.name, kind: event.kind, parent: event.parentToolCallId }
    case 'tool-call.ended':
      return { call: event.toolCallId, outcome: event.outcome }
    case 'permission.requested':
      return { request: event.requestId, tool: event.tool, kind: event.kind }
    case 'permission.resolved':
    case 'question.resolved':
      return { request: event.requestId, outcome: event.outcome, by: event.by }
    case 'question.asked':
      return { request: event.requestId, questions: event.questions.length }
    case 'usage.measured':
      return { ...event.total, context: event.context.used }
    case 'turn.ended':
      return { outcome: event.outcome, durationMs: event.durationMs, message: event.error?.message }
    default:
      return {}
  }
}
