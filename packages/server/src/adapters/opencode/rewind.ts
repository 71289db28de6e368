import type { OpencodeClient } from '@opencode-ai/sdk/v2/client'
import type { AgentOutput } from '../../core/agent-adapter.ts'
import { messageIdOf } from './prompt.ts'
import { wordsOf } from './words-of.ts'

/**
 * Puts the files of the folder back to what they were before a prompt. OpenCode would also forget what was said since: so it
 * is done in a copy of the conversation, which is then thrown away.
 */
export async function rewind(
  client: OpencodeClient,
  sessionID: string,
  promptId: string,
): Promise<AgentOutput> {
  try {
    const files = await filesPutBack(client, sessionID, messageIdOf(sessionID, promptId))
    const result =
      files.length === 0
        ? 'No file had changed since that prompt.'
        : `As they were before that prompt: ${files.join(', ')}`
    return { type: 'turn.ended', outcome: 'completed', stopReason: 'rewound', result }
  } catch (error) {
    const message = `The files cannot be put back to that prompt: ${wordsOf(error)}`
    return {
      type: 'turn.ended',
      outcome: 'failed',
      stopReason: 'not_rewound',
      error: { code: 'conflict', message },
    }
  }
}

async function filesPutBack(client: OpencodeClient, sessionID: string, messageId: string): Promise<string[]> {
  const thrown = { throwOnError: true } as const
  const { data: messages } = await client.session.messages({ sessionID }, thrown)
  const index = messages.findIndex(({ info }) => info.id === messageId)
  if (index === -1) throw new Error('OpenCode does not know that prompt.')
  const changed = messages.slice(index).some(({ parts }) => parts.some(({ type }) => type === 'patch'))
  const kept = messages.some(({ parts }) => parts.some((part) => part.type === 'step-start' && part.snapshot))
  if (!kept) throw new Error('OpenCode keeps states of a folder only if it is a git repository.')
  if (!changed) return []
  const { data: copy } = await client.session.fork({ sessionID }, thrown)
  try {
    const { data: copied } = await client.session.messages({ sessionID: copy.id }, thrown)
    const messageID = copied[index]?.info.id ?? ''
    const { data } = await client.session.revert({ sessionID: copy.id, messageID }, thrown)
    return filesIn(data.revert?.diff ?? '')
  } finally {
    await client.session.delete({ sessionID: copy.id }).catch(() => undefined)
  }
}

function filesIn(diff: string): string[] {
  return [...diff.matchAll(/^diff --git a\/(.+) b\/.+$/gm)].map((match) => match[1] ?? '')
}
