import type { EventDraft, OpenBlock, SessionState, ToolOutcome, TurnEnd } from '@parley/protocol'

/**
 * What must be recorded before a turn may end, and the end itself. Pure. Every open block is written as far as it
 * came, every open call gets its end, every open request its resolution: nothing of a turn follows its end.
 */
export function endTurn(
  state: SessionState,
  end: Omit<TurnEnd, 'durationMs'>,
  now: number,
  held: readonly EventDraft[] = [],
): EventDraft[] {
  const { turn } = state
  if (!turn) return []
  const drafts = [
    ...writeOpenText(state),
    ...held,
    ...endOpenCalls(state, end.outcome === 'cancelled' ? 'cancelled' : 'failed', callText[end.outcome]),
    ...cancelRequests(state),
    { type: 'turn.ended' as const, ...end, durationMs: Math.max(0, now - turn.startedAt) },
  ]
  return drafts.map((draft) => ({ ...draft, turnId: turn.turnId }))
}

/** A turn whose own end could not be understood ends all the same. */
export const badEnd = {
  outcome: 'failed',
  stopReason: 'agent_failed',
  error: { code: 'agent_failed', message: 'The agent ended the turn with a result that cannot be recorded.' },
} as const

const callText: Record<TurnEnd['outcome'], string> = {
  completed: 'The turn ended without a result of this call.',
  cancelled: 'The turn was cancelled.',
  failed: 'The turn failed before this call had a result.',
  unknown: 'The connection to the agent was lost; whether this call had an effect is unknown.',
}

/** Text and thinking that were still being written, as far as they came. */
export function writeOpenText(state: SessionState): EventDraft[] {
  return state.openBlocks.flatMap((block): EventDraft[] => {
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

export function endOpenCalls(state: SessionState, outcome: ToolOutcome, text: string): EventDraft[] {
  return state.openBlocks.flatMap((block): EventDraft[] => {
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

/** The resolution of every open request, because its turn ends. */
export function cancelRequests(state: SessionState): EventDraft[] {
  return state.requests.map(({ type, requestId, turnId }) => ({
    type: type === 'permission' ? 'permission.resolved' : 'question.resolved',
    ...(turnId && { turnId }),
    requestId,
    outcome: 'cancelled',
    by: 'turn-end',
  }))
}

function parentOf(block: OpenBlock) {
  return block.parentToolCallId ? { parentToolCallId: block.parentToolCallId } : {}
}
