import type { AgentOutput } from '../../core/agent-adapter.ts'
import type { TranslateState } from './translate-state.ts'

type CallEnd = Extract<AgentOutput, { type: 'tool-call.ended' | 'tool-call.updated' }>

/**
 * The host places outputs outside a turn: those of a subagent belong to its task, those of the main agent to an own
 * turn. Only the late end of a call of the main agent has no place, since the host has ended the call with its turn:
 * it becomes a notice.
 */
export function placeInTurn(before: TranslateState, output: AgentOutput): AgentOutput[] {
  switch (output.type) {
    case 'tool-call.updated':
    case 'tool-call.ended':
      return isLate(before, output) ? endNotice(before, output) : [output]
    case 'turn.ended':
    case 'activity.changed':
      return before.turn ? [output] : []
    default:
      return [output]
  }
}

function isLate({ turn, calls }: TranslateState, { toolCallId, parentToolCallId }: CallEnd): boolean {
  const call = calls.get(toolCallId)
  return call !== undefined && parentToolCallId === undefined && call.turn !== turn?.number
}

function endNotice({ calls }: TranslateState, output: CallEnd): AgentOutput[] {
  if (output.type === 'tool-call.updated') return []
  const { toolCallId, outcome, content } = output
  const title = calls.get(toolCallId)?.title ?? 'A call'
  const data = { toolCallId, outcome, content }
  return [{ type: 'agent.noticed', level: 'info', code: 'late-result', text: `${title}: ${outcome}`, data }]
}
