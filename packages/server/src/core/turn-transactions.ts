import type { OpenCall } from '@parley/adapter-kit'
import type {
  DraftOf,
  EventDraft,
  OpenTurn,
  ParkReason,
  Prompt,
  SessionState,
  Task,
  TurnCause,
  TurnEnd,
} from '@parley/protocol'
import type { CloseReason } from './agent-link.ts'
import { blocksOfTurn, endCalls, endTurn, requestsOfTurn, resolve, turnWaits, writeText } from './end-turn.ts'
import type { Transaction } from './session-log.ts'
import { loseTasks } from './task-transactions.ts'

/**
 * The transactions that a live session records by itself for turns. They are pure, and empty if the state has changed
 * meanwhile.
 */

const empty: Transaction = { drafts: [] }

/** The queued prompt that runs next: the first that is not paused. */
export function nextPrompt({ queue }: SessionState): Prompt | undefined {
  return queue.find(({ paused }) => !paused)
}

/**
 * Returns the draft that pauses the queue when a person ends a turn; empty if no prompt waits. The waiting prompts stay
 * paused until the queue is resumed.
 */
export function pauseQueued(state: SessionState): EventDraft[] {
  return nextPrompt(state) ? [{ type: 'queue.paused', by: 'person' }] : []
}

export function startNext(state: SessionState, turnId: string): Transaction {
  const next = nextPrompt(state)
  return state.turn || !next ? empty : { drafts: [{ type: 'turn.started', turnId, promptId: next.promptId }] }
}

export function startOwn(
  { turn }: SessionState,
  turnId: string,
  cause: TurnCause = { by: 'agent' },
): Transaction {
  return turn ? empty : { drafts: [{ type: 'turn.started', turnId, cause }] }
}

export function takeUp({ turn, queue }: SessionState, promptId: string): Transaction {
  const isKnown = [...(turn?.steers ?? []), ...queue].some((prompt) => prompt.promptId === promptId)
  return isKnown
    ? { drafts: [{ type: 'prompt.taken', promptId, ...(turn && { turnId: turn.turnId }) }] }
    : empty
}

/** `reason` is set if the host interrupts the turn because it stops. */
export function interruptByHost({ turn }: SessionState, reason?: 'server-stopped'): Transaction {
  if (!turn || turn.interrupted) return empty
  return {
    drafts: [{ type: 'turn.interrupted', turnId: turn.turnId, by: 'host', ...(reason && { reason }) }],
  }
}

export function endThisTurn(
  state: SessionState,
  turnId: string | undefined,
  end: Omit<TurnEnd, 'durationMs'>,
  now: number,
): Transaction {
  return state.turn && state.turn.turnId === turnId ? { drafts: endTurn(state, end, now) } : empty
}

/**
 * Parks the turn, if it waits for a person or has an answer that its agent has not received. The caller closes the
 * process.
 */
export function park(state: SessionState, reason: ParkReason): Transaction {
  const { turn } = state
  if (!turn || turn.parked || turn.interrupted || !turnWaits(state)) return empty
  return { drafts: [...writeText(blocksOfTurn(state)), { type: 'turn.parked', turnId: turn.turnId, reason }] }
}

/** Resumes a parked turn. Its old calls end, and the agent asks again and gets the carried answers. */
export function resume(state: SessionState, turnId: string): Transaction {
  if (state.turn?.turnId !== turnId || !state.turn.parked) return empty
  const text = 'The agent was restarted; it asks for this call again.'
  return { drafts: [...endCalls(blocksOfTurn(state), 'cancelled', text), { type: 'turn.resumed', turnId }] }
}

/** The calls of the main agent in the open turn that have no result. */
export function openCalls(state: SessionState): OpenCall[] {
  return blocksOfTurn(state).flatMap((block) =>
    block.type === 'tool-call' && block.called && block.parentToolCallId === undefined
      ? [{ toolCallId: block.id, name: block.name, title: block.title ?? '' }]
      : [],
  )
}

export function expireFirst({ requests: [first] }: SessionState): Transaction {
  return first ? { drafts: [resolve(first, { outcome: 'expired', by: 'timeout' })] } : empty
}

/**
 * Records the end of a connection. Its turn is parked if a person is asked and the agent can resume; otherwise the turn
 * ends. `closing` is the reason why the host closed the connection; `last` is the agent's own report of its end.
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
): Transaction {
  const { turn } = state
  const { closing, last, hadTurn, canResume, now } = lost
  const reason = closing ?? last?.reason ?? (turn ? 'crashed' : 'ended')
  const disconnected: EventDraft = { type: 'agent.disconnected', ...last, reason }
  const parkReason = canResume && reason !== 'closed' ? parkReasons[reason] : undefined
  const tasks = loseTasks(state, { reason: taskReasons[reason] ?? 'agent-lost', park: parkReason })
  if (!turn || turn.parked || !hadTurn) return { drafts: [disconnected, ...tasks] }
  const waits = canResume && !closing && requestsOfTurn(state).length > 0
  const parked = waits ? park(state, 'agent-lost').drafts : []
  if (parked.length > 0) return { drafts: [disconnected, ...tasks, ...parked] }
  return { drafts: [disconnected, ...tasks, ...endTurn(state, endOfLost(turn, lost), now)] }
}

const taskReasons: Readonly<Partial<Record<CloseReason, Task['reason']>>> = {
  idle: 'limit',
  parked: 'limit',
  closed: 'closed',
  restarted: 'restarted',
  'server-stopped': 'server-stopped',
  'server-killed': 'server-killed',
}

const parkReasons: Readonly<Partial<Record<CloseReason, ParkReason>>> = {
  idle: 'waited-long',
  parked: 'waited-long',
  restarted: 'agent-lost',
  crashed: 'agent-lost',
  ended: 'agent-lost',
  'server-stopped': 'server-stopped',
  'server-killed': 'server-killed',
}

/** Ends the turn and archives the session, because the agent has tools that this session must not have. */
export function endForTools(state: SessionState, tools: readonly string[], now: number): Transaction {
  const message = `The agent has tools other than the host's (${tools.join(', ')}), but this session may use only host tools. The session was archived; unarchive it once the agent has no other tools, or allow them with hostToolsOnly: false.`
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
  { last, closing }: Pick<Parameters<typeof loseAgent>[1], 'last' | 'closing'>,
): Omit<TurnEnd, 'durationMs'> {
  if (turn.interrupted) return { outcome: 'cancelled', stopReason: 'cancelled' }
  if (closing === 'idle') return atBackgroundLimit
  const error = last?.error ?? {
    code: 'agent_failed' as const,
    message: "The agent's process ended in the middle of the turn. The next prompt starts it again.",
  }
  const details = { ...error.details, ...exitDetails(last) }
  const why = Object.keys(details).length > 0 ? { ...error, details } : error
  return { outcome: 'failed', stopReason: 'agent_lost', error: why }
}

/** The end of a turn that the agent started by itself and that has reached the limit on background work. */
const atBackgroundLimit = {
  outcome: 'failed',
  stopReason: 'background_limit',
  error: {
    code: 'agent_failed',
    message:
      'The agent worked by itself for longer than the limit "backgroundTotalMs" allows. The next prompt starts it again.',
  },
} as const

/** The exit code, signal and last stderr of the process, for the reader of the failed turn. */
function exitDetails(last: Omit<DraftOf<'agent.disconnected'>, 'turnId'> | undefined) {
  const { exitCode, signal, stderrTail } = last ?? {}
  return {
    ...(typeof exitCode === 'number' && { exitCode }),
    ...(signal !== undefined && { signal }),
    ...(stderrTail && { stderrTail }),
  }
}
