import type { AgentOutput } from '../../core/agent-adapter.ts'
import type { NativeBlock, NativeUser } from './native.ts'
import { compact } from './translate-session.ts'
import { parentOf, type TranslateState, type Translation } from './translate-state.ts'
import { endCall } from './translate-tool-result.ts'

/**
 * A user message from the agent is never a person's. It holds tool results, the summary of a compaction, or the output
 * of a command of the agent. Prompts (replayed, synthetic, of a subagent) are known already and give no output.
 */
export function translateUser(before: TranslateState, message: NativeUser): Translation {
  const blocks = blocksOf(message)
  const summary = message.isSynthetic ? wordsOf(blocks) : undefined
  let { state, outputs } = compact.flush(before, summary) as { state: TranslateState; outputs: AgentOutput[] }
  if (message.isReplay) return { state, outputs: [...outputs, ...commandOutput(message, blocks)] }
  const results = blocks.filter(({ type, tool_use_id }) => type === 'tool_result' && tool_use_id)
  const structured = results.length === 1 ? message.tool_use_result : undefined
  const parent = parentOf(state, message.parent_tool_use_id)
  for (const block of results) {
    const meta = message.tool_result_meta?.find(({ id }) => id === block.tool_use_id)
    const step = endCall(state, block, { structured, parent, meta })
    state = step.state
    outputs = [...outputs, ...step.outputs]
  }
  return { state, outputs: [...outputs, ...commandOutput(message, blocks)] }
}

function blocksOf({ message }: NativeUser): readonly NativeBlock[] {
  const { content } = message
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function wordsOf(blocks: readonly NativeBlock[]): string {
  return blocks.map(({ text }) => text ?? '').join('')
}

const commandPattern = /^<local-command-(stdout|stderr)>([\s\S]*)<\/local-command-\1>$/

/** The output of a slash command is wrapped in a tag of its own. */
function commandOutput(message: NativeUser, blocks: readonly NativeBlock[]): AgentOutput[] {
  if (message.parent_tool_use_id) return []
  return blocks.flatMap(({ text }): AgentOutput[] => {
    const [, channel, words] = commandPattern.exec(text?.trim() ?? '') ?? []
    if (!words?.trim()) return []
    return [
      {
        type: 'agent.noticed',
        level: channel === 'stderr' ? 'warning' : 'info',
        code: 'command-output',
        text: words.trim(),
      },
    ]
  })
}
