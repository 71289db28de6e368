import type {
  DraftOf,
  EventDraft,
  OpenTurn,
  ParkReason,
  Prompt,
  SessionState,
  TurnEnd,
} from '@parley/protocol'
import type { CloseReason } from './agent-link.ts'
import { endOpenCalls, endTurn, writeOpenText } from './end-turn.ts'
import type { Plan } from './session-log.ts'

/** What a live session records of its own accord, as plans: pure, and empty where the state has moved on meanwhile. */

const nothing: Plan = { drafts: [] }

/** The queued prompt that runs next: the first that is not paused. */
export function nextPrompt({ queue }: SessionState): Prompt | undefined {
  return queue.find(({ paused }) => !paused)
}

/** The next queued prompt becomes a turn. */
export function startNext(state: SessionState, turnId: string): Plan {
  const next = nextPrompt(state)
  return state.turn || !next
    ? nothing
    : { drafts: [{ type: 'turn.started', turnId, promptId: next.promptId }] }
}

export function interruptByHost({ turn }: SessionState): Plan {
  return turn && !turn.interrupted
    ? { drafts: [{ type: 'turn.interrupted', turnId: turn.turnId, by: 'host' }] }
    : nothing
}

export function endThisTurn(
  state: SessionState,
  turnId: string | undefined,
  end: Omit<TurnEnd, 'durationMs'>,
  now: number,
): Plan {
  return state.turn && state.turn.turnId === turnId ? { drafts: endTurn(state, end, now) } : nothing
}

/** The turn waits for a person, or with an answer that its agent has not heard, without a process. */
export function park(state: SessionState, reason: ParkReason): Plan {
  const { turn, requests } = state
  if (!turn || turn.parked || turn.interrupted) return nothing
  if (requests.length === 0 && turn.carried.length === 0) return nothing
  return { drafts: [...writeOpenText(state), { type: 'turn.parked', turnId: turn.turnId, reason }] }
}

/** A parked turn goes on: its old calls are over, the agent will ask anew and get the carried answers. */
export function resume(state: SessionState, turnId: string): Plan {
  if (state.turn?.turnId !== turnId || !state.turn.parked) return nothing
  const text = 'The agent was restarted; it asks for this call again.'
  return { drafts: [...endOpenCalls(state, 'cancelled', text), { type: 'turn.resumed', turnId }] }
}

/** The request that has waited longest expires. */
export function expireFirst({ requests }: SessionState): Plan {
  const [first] = requests
  if (!first) return nothing
  const { type, turnId, requestId } = first
  const resolved = {
    ...(turnId && { turnId }),
    requestId,
    outcome: 'expired' as const,
    by: 'timeout' as const,
  }
  return {
    drafts: [{ type: type === 'permission' ? 'permission.resolved' : 'question.resolved', ...resolved }],
  }
}

/**
 * A connection is over. A turn of its own is parked if a person is asked and the agent can resume; else it ends.
 * `closing` is why the host closed it, `last` what the agent itself said of its end.
 */
export function loseAgent(
  state: SessionState,
  lost: {
    closing: CloseReason | undefined
    last: Omit<DraftOf<'agent.disconnected'>, 'turnId'> | undefined
    hadTurn: boolean
    canResume: boolean
    now: number
  },
): Plan {
  const { turn } = state
  const { closing, last, hadTurn, canResume, now } = lost
  const reason = closing ?? last?.reason ?? (turn ? 'crashed' : 'ended')
  const disconnected: EventDraft = { type: 'agent.disconnected', ...last, reason }
  if (!turn || turn.parked || !hadTurn) return { drafts: [disconnected] }
  const waits = canResume && !closing && state.requests.length > 0
  const parked = waits ? park(state, 'agent-lost').drafts : []
  if (parked.length > 0) return { drafts: [disconnected, ...parked] }
  return { drafts: [disconnected, ...endTurn(state, endOfLost(turn, last), now)] }
}

/** The agent has tools that this session must not have: whatever it wants to do, it ends here. */
export function endForTools(state: SessionState, tools: readonly string[], now: number): Plan {
  const message = `The agent has tools that are none of the host's (${tools.join(', ')}), and this session may use only host tools. It was ended; unarchive it once the agent has no others, or allow them with hostToolsOnly: false.`
  const error = { code: 'forbidden' as const, message, details: { tools } }
  const { turn, archived } = state
  return {
    drafts: [
      {
        type: 'agent.noticed',
        ...(turn && { turnId: turn.turnId }),
        level: 'error',
        code: 'tools_violated',
        text: message,
        data: { tools },
      },
      ...endTurn(state, { outcome: 'failed', stopReason: 'tools_violated', error }, now),
      ...(archived ? [] : [{ type: 'session.archived' as const }]),
    ],
  }
}

function endOfLost(
  turn: OpenTurn,
  last: Omit<DraftOf<'agent.disconnected'>, 'turnId'> | undefined,
): Omit<TurnEnd, 'durationMs'> {
  if (turn.interrupted) return { outcome: 'cancelled', stopReason: 'cancelled' }
  const error = last?.error ?? {
    code: 'agent_failed' as const,
    message: "The agent's process ended in the middle of the turn. The next prompt starts it again.",
  }
  const details = { ...error.details, ...lastWords(last) }
  const why = Object.keys(details).length > 0 ? { ...error, details } : error
  return { outcome: 'failed', stopReason: 'agent_lost', error: why }
}

/** How its process ended and what it said last: whoever reads of the failed turn wants to know. */
function lastWords(last: Omit<DraftOf<'agent.disconnected'>, 'turnId'> | undefined) {
  const { exitCode, signal, stderrTail } = last ?? {}
  return {
    ...(typeof exitCode === 'number' && { exitCode }),
    ...(signal !== undefined && { signal }),
    ...(stderrTail && { stderrTail }),
  }
}
