import type { AgentOutput } from '../../core/agent-adapter.ts'
import type { TranslateState } from './translate-state.ts'

type CallOutput = Extract<
  AgentOutput,
  { toolCallId: string; type: `tool-call.${'called' | 'updated' | 'ended'}` }
>

/**
 * Background work goes on after its turn, and the agent may speak of it unasked. The host takes blocks and calls only
 * inside a turn, and the end of a call only in the turn of the call: what has no such place becomes a notice.
 */
export function placeInTurn(before: TranslateState, output: AgentOutput): AgentOutput[] {
  switch (output.type) {
    case 'tool-call.updated':
    case 'tool-call.ended':
      return isOfThisTurn(before, output) ? [output] : callNotice(before, output)
    case 'tool-call.called':
      return before.turn ? [output] : callNotice(before, output)
    case 'text.written':
    case 'thinking.written': {
      if (before.turn) return [output]
      const { type, blockId, text, parentToolCallId } = output
      const code = type === 'text.written' ? 'background-text' : 'background-thinking'
      return [notice(code, text, { blockId }, parentToolCallId)]
    }
    case 'turn.ended':
      return before.turn || !output.error
        ? before.turn
          ? [output]
          : []
        : [{ ...notice('background-failed', output.error.message, output.error), level: 'error' }]
    case 'block.retracted':
    case 'text.streamed':
    case 'thinking.streamed':
    case 'tool-call.drafted':
    case 'tool-call.input-streamed':
    case 'tool-call.output-streamed':
    case 'activity.changed':
      return before.turn ? [output] : []
    default:
      return [output]
  }
}

function isOfThisTurn({ turn, calls }: TranslateState, { toolCallId }: CallOutput): boolean {
  if (!turn) return false
  const call = calls.get(toolCallId)
  return call === undefined || call.turn === turn.number
}

function callNotice({ calls }: TranslateState, output: CallOutput): AgentOutput[] {
  const { toolCallId, parentToolCallId } = output
  if (output.type === 'tool-call.updated') return []
  if (output.type === 'tool-call.called') {
    const { name, kind, title, input } = output
    return [notice('background-call', title, { toolCallId, name, kind, input }, parentToolCallId)]
  }
  const { outcome, content } = output
  const title = calls.get(toolCallId)?.title ?? 'A call'
  return [
    notice('background-result', `${title}: ${outcome}`, { toolCallId, outcome, content }, parentToolCallId),
  ]
}

function notice(
  code: string,
  text: string,
  data: unknown,
  parentToolCallId?: string,
): Extract<AgentOutput, { type: 'agent.noticed' }> {
  return {
    type: 'agent.noticed',
    level: 'info',
    code,
    text,
    data,
    ...(parentToolCallId && { parentToolCallId }),
  }
}
