import type { AgentOutput } from '../../core/agent-adapter.ts'
import type { TranslateState } from './translate-state.ts'

/**
 * OpenCode may work on without a turn of ours: a subagent in the background, or a person who types into the same
 * conversation elsewhere. The host takes blocks and calls only inside a turn, so what is whole becomes a notice.
 */
export function placeInTurn({ turn }: TranslateState, output: AgentOutput): AgentOutput[] {
  if (turn) return [output]
  switch (output.type) {
    case 'text.written': {
      const { blockId, text, parentToolCallId } = output
      return [notice('background-text', text, { blockId }, parentToolCallId)]
    }
    case 'tool-call.called': {
      const { toolCallId, name, kind, title, input, parentToolCallId } = output
      return [notice('background-call', title, { toolCallId, name, kind, input }, parentToolCallId)]
    }
    case 'thinking.written':
    case 'block.retracted':
    case 'tool-call.updated':
    case 'tool-call.ended':
    case 'text.streamed':
    case 'thinking.streamed':
    case 'tool-call.drafted':
    case 'tool-call.input-streamed':
    case 'tool-call.output-streamed':
    case 'activity.changed':
      return []
    default:
      return [output]
  }
}

function notice(code: string, text: string, data: unknown, parent: string | undefined): AgentOutput {
  const of = parent === undefined ? {} : { parentToolCallId: parent }
  return { type: 'agent.noticed', level: 'info', code, text, data, ...of }
}
