import type { OpencodeClient } from '@opencode-ai/sdk/v2/client'
import type { RewindPreview } from '@parley/protocol'
import type { AgentOutput, ConnectInput } from '../../core/agent-adapter.ts'
import { type RewindKeeper, type RewindRequest, rewindTurn } from '../rewind.ts'
import { errorText, messageIdOf, thrown } from './native.ts'

const notes = ['Files that git ignores are not restored.', 'The conversation is not changed.']

export async function previewRewind(
  client: OpencodeClient,
  sessionID: string,
  promptId: string,
): Promise<RewindPreview> {
  return { files: (await changesSince(client, sessionID, promptId)).files, notes }
}

export function rewind(
  client: OpencodeClient,
  sessionID: string,
  request: RewindRequest,
  { keeper, session }: { readonly keeper: RewindKeeper; readonly session: ConnectInput },
): Promise<AgentOutput> {
  const { promptId, undo } = request
  return rewindTurn(request, async () => {
    if (undo) return keeper.undo(session.sessionId, promptId)
    const { index, files } = await changesSince(client, sessionID, promptId)
    if (files.length === 0) return files
    await keeper.rewind(session, { promptId, files }, () =>
      revert(client, sessionID, index).catch((error) => {
        throw new Error(errorText(error))
      }),
    )
    return files
  })
}

/** The position of the prompt in the conversation, and the files that changed in the steps since that prompt. */
async function changesSince(
  client: OpencodeClient,
  sessionID: string,
  promptId: string,
): Promise<{ index: number; files: string[] }> {
  const { data: messages } = await client.session.messages({ sessionID }, thrown).catch((error) => {
    throw new Error(errorText(error))
  })
  const index = messages.findIndex(({ info }) => info.id === messageIdOf(sessionID, promptId))
  if (index === -1) throw new Error('OpenCode does not know that prompt.')
  const kept = messages.some(({ parts }) => parts.some((part) => part.type === 'step-start' && part.snapshot))
  if (!kept) throw new Error('OpenCode keeps checkpoints of a folder only if it is a git repository.')
  const patches = messages.slice(index).flatMap(({ parts }) => parts.filter((part) => part.type === 'patch'))
  return { index, files: [...new Set(patches.flatMap(({ files }) => files))] }
}

/**
 * Reverts the files in a fork, which is then deleted: a revert in the conversation itself would also drop its later
 * messages.
 */
async function revert(client: OpencodeClient, sessionID: string, index: number): Promise<void> {
  const { data: copy } = await client.session.fork({ sessionID }, thrown)
  try {
    const { data: copied } = await client.session.messages({ sessionID: copy.id }, thrown)
    const messageID = copied[index]?.info.id ?? ''
    await client.session.revert({ sessionID: copy.id, messageID }, thrown)
  } finally {
    await client.session.delete({ sessionID: copy.id }).catch(() => undefined)
  }
}
