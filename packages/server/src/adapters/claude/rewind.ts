import type { Query } from '@anthropic-ai/claude-agent-sdk'
import type { PromptPart } from '@parley/protocol'
import { messageOf } from '@parley/protocol'
import type { AgentOutput } from '../../core/agent-adapter.ts'
import { promptUuid } from './transcript.ts'

/** The prompt whose files are wanted back, if that is what the parts ask for. */
export function rewoundPrompt([part, ...others]: readonly PromptPart[]): string | undefined {
  if (part?.type !== 'command' || part.name !== 'rewind' || others.length > 0) return undefined
  return part.arguments ?? ''
}

/** Puts files back to what they were before a prompt: those that Claude changed with its own tools, not by commands. */
export async function rewind(query: Query | undefined, promptId: string): Promise<AgentOutput> {
  const failed = (error: unknown) => ({ canRewind: false, error: messageOf(error), filesChanged: [] })
  const asked = query?.rewindFiles(promptUuid(promptId)).catch(failed)
  const { canRewind, error, filesChanged = [] } = (await asked) ?? failed('Claude Code does not run.')
  if (canRewind) {
    return { type: 'turn.ended', outcome: 'completed', stopReason: 'rewound', result: told(filesChanged) }
  }
  const message = `The files cannot be put back to that prompt: ${error}`
  return {
    type: 'turn.ended',
    outcome: 'failed',
    stopReason: 'not_rewound',
    error: { code: 'conflict', message },
  }
}

function told(files: readonly string[]): string {
  if (files.length === 0) return 'No file had changed since that prompt.'
  return `As they were before that prompt: ${files.join(', ')}`
}
