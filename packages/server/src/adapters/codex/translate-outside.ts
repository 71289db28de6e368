import type { AgentOutput } from '../../core/agent-adapter.ts'
import type { TranslateState } from './translate-state.ts'

type CallEnd = Extract<AgentOutput, { type: 'tool-call.ended' | 'tool-call.updated' }>

/**
 * Subagents and commands go on after their turn. The host takes blocks and calls only inside a turn, and the end of a
 * call only in the turn of the call: what has no such place becomes a notice.
 */
export function placeInTurn(before: TranslateState, output: AgentOutput): AgentOutput[] {
  switch (output.type) {
    case 'tool-call.updated':
    case 'tool-call.ended':
      return isOfThisTurn(before, output) ? [output] : endNotice(before, output)
    case 'tool-call.called': {
      if (before.turn) return [output]
      const { toolCallId, name, kind, title, input } = output
      return [notice('background-call', title, { toolCallId, name, kind, input }, output)]
    }
    case 'text.written':
    case 'thinking.written': {
      if (before.turn) return [output]
      const { type, blockId, text } = output
      return [
        notice(
          type === 'text.written' ? 'background-text' : 'background-thinking',
          text,
          { blockId },
          output,
        ),
      ]
    }
    case 'turn.ended':
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

function isOfThisTurn({ turn, calls }: TranslateState, { toolCallId }: CallEnd): boolean {
  if (!turn) return false
  const call = calls.get(toolCallId)
  return call === undefined || call.turn === turn.number
}

function endNotice({ calls }: TranslateState, output: CallEnd): AgentOutput[] {
  if (output.type === 'tool-call.updated') return []
  const { toolCallId, outcome, content } = output
  const title = calls.get(toolCallId)?.title ?? 'A call'
  return [notice('background-result', `${title}: ${outcome}`, { toolCallId, outcome, content }, output)]
}

function notice(
  code: string,
  text: string,
  data: unknown,
  { parentToolCallId }: { parentToolCallId?: string | undefined },
): AgentOutput {
  const parent = parentToolCallId === undefined ? {} : { parentToolCallId }
  return { type: 'agent.noticed', level: 'info', code, text, data, ...parent }
}
