import {
  type EventDraft,
  heirOfAnswers,
  isBesideTurns,
  type OpenBlock,
  type OpenRequest,
  type OpenTurn,
  type SessionState,
  type ToolOutcome,
  type TurnEnd,
} from '@parley/protocol'
import { unusedAnswers } from './carried-answers.ts'

/**
 * The events that must be recorded before a turn may end, and the end itself. Pure. The streamed part of every open
 * block is written, every open call gets an end, and every open request gets a resolution, because no event of a turn
 * may follow its end. Blocks, calls and requests of a background task remain open.
 */
export function endTurn(
  state: SessionState,
  end: Omit<TurnEnd, 'durationMs'>,
  now: number,
  held: readonly EventDraft[] = [],
): EventDraft[] {
  const { turn } = state
  if (!turn) return []
  const blocks = blocksOfTurn(state)
  const drafts: EventDraft[] = [
    ...writeText(blocks),
    ...held,
    ...endCalls(blocks, end.outcome === 'cancelled' ? 'cancelled' : 'failed', callText[end.outcome]),
    ...cancelRequests(requestsOfTurn(state)),
    ...(heirOfAnswers(state) ? [] : unusedAnswers(turn.carried)),
    ...stopForeground(state),
    ...leaveSteers(turn, end),
    { type: 'turn.ended', ...end, durationMs: Math.max(0, now - turn.startedAt) },
  ]
  return drafts.map((draft) => (draft.type === 'prompt.queued' ? draft : { ...draft, turnId: turn.turnId }))
}

/** The end that is recorded for a turn if the end that the agent reported is not valid. */
export const invalidEnd = {
  outcome: 'failed',
  stopReason: 'agent_failed',
  error: { code: 'agent_failed', message: 'The agent ended the turn with a result that cannot be recorded.' },
} as const

const callText: Record<TurnEnd['outcome'], string> = {
  completed: 'The turn ended before this call had a result.',
  cancelled: 'The turn was cancelled.',
  failed: 'The turn failed before this call had a result.',
  unknown: 'The connection to the agent was lost; whether this call had an effect is unknown.',
}

export function blocksOfTurn(state: SessionState): OpenBlock[] {
  return state.openBlocks.filter((block) => !isBesideTurns(state, block))
}

export function requestsOfTurn(state: SessionState): OpenRequest[] {
  return state.requests.filter((request) => !isBesideTurns(state, request))
}

/** True if a person is asked in the turn, or has given an answer that the agent has not received. */
export function turnWaits(state: SessionState): boolean {
  return requestsOfTurn(state).length > 0 || (state.turn?.carried ?? []).length > 0
}

/** The drafts that write the streamed part of open text and thinking blocks. */
export function writeText(blocks: readonly OpenBlock[]): EventDraft[] {
  return blocks.flatMap((block): EventDraft[] => {
    if (block.type === 'tool-call' || block.text === '') return []
    return [
      {
        type: `${block.type}.written`,
        ...(block.turnId && { turnId: block.turnId }),
        blockId: block.id,
        text: block.text,
        interrupted: true,
        ...parentOf(block),
      },
    ]
  })
}

export function endCalls(blocks: readonly OpenBlock[], outcome: ToolOutcome, text: string): EventDraft[] {
  return blocks.flatMap((block): EventDraft[] => {
    if (block.type !== 'tool-call' || !block.called) return []
    const output = block.output === '' ? [] : [{ type: 'text' as const, text: block.output }]
    return [
      {
        type: 'tool-call.ended',
        ...(block.turnId && { turnId: block.turnId }),
        toolCallId: block.id,
        outcome,
        content: [...output, { type: 'text', text }],
        ...parentOf(block),
      },
    ]
  })
}

export function cancelRequests(
  requests: readonly OpenRequest[],
  by: 'turn-end' | 'task-end' = 'turn-end',
): EventDraft[] {
  return requests.map((request) => resolve(request, { outcome: 'cancelled', by }))
}

export function resolve(
  { type, requestId, turnId }: OpenRequest,
  how: { outcome: 'cancelled' | 'expired'; by: 'turn-end' | 'task-end' | 'timeout' },
): EventDraft {
  const resolved = type === 'permission' ? 'permission.resolved' : 'question.resolved'
  return { type: resolved, ...(turnId && { turnId }), requestId, ...how }
}

/** Stops the running foreground tasks. They end with their turn, even if the agent does not report it. */
function stopForeground({ tasks }: SessionState): EventDraft[] {
  return tasks
    .filter(({ status, background }) => status === 'running' && background !== true)
    .map(({ carried, ...task }) => ({ type: 'task.updated', ...task, status: 'stopped', reason: 'turn-end' }))
}

/**
 * Moves the steered prompts that the agent has not taken up into the queue. If the turn ended by itself, they start
 * the next turns. If the turn was cancelled, the fold pauses them. If the agent was lost, they are paused too,
 * because the agent may have taken them up.
 */
function leaveSteers(
  { steers = [] }: OpenTurn,
  { outcome, stopReason }: Pick<TurnEnd, 'outcome' | 'stopReason'>,
): EventDraft[] {
  const isLost = outcome === 'unknown' || stopReason === 'agent_lost' || stopReason === 'background_limit'
  return steers.map(({ promptId }) => ({ type: 'prompt.queued', promptId, ...(isLost && { paused: true }) }))
}

function parentOf(block: OpenBlock) {
  return block.parentToolCallId ? { parentToolCallId: block.parentToolCallId } : {}
}
