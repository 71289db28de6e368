import type { Query } from '@anthropic-ai/claude-agent-sdk'
import type { RewindPreview } from '@parley/protocol'
import type { AgentOutput, ConnectInput } from '../../core/agent-adapter.ts'
import { type RewindKeeper, type RewindRequest, rewindTurn } from '../rewind.ts'
import { promptUuid } from './prompt.ts'

const notes = ['Changes made by shell commands are not undone.', 'The conversation is not changed.']

/** The files that a rewind would change: those that Claude changed with its own tools, not by commands. */
export async function previewRewind(query: Query | undefined, promptId: string): Promise<RewindPreview> {
  return { files: await changedFiles(query, promptId), notes }
}

/** The files that a rewind would change. Makes a dry run, because only a dry run returns their names. */
async function changedFiles(query: Query | undefined, promptId: string): Promise<string[]> {
  if (!query) throw new Error('Claude Code is not running.')
  const { canRewind, error, filesChanged } = await query.rewindFiles(promptUuid(promptId), { dryRun: true })
  if (!canRewind) throw new Error(error ?? 'Claude Code has no checkpoint of the files.')
  return filesChanged ?? []
}

export function rewind(
  query: Query | undefined,
  request: RewindRequest,
  { keeper, session }: { readonly keeper: RewindKeeper; readonly session: ConnectInput },
): Promise<AgentOutput> {
  const { promptId, undo } = request
  return rewindTurn(request, async () => {
    if (undo) return keeper.undo(session.sessionId, promptId)
    const files = await changedFiles(query, promptId)
    if (files.length === 0) return files
    await keeper.rewind(session, { promptId, files }, async () => {
      const done = await query?.rewindFiles(promptUuid(promptId))
      if (!done?.canRewind) throw new Error(done?.error ?? 'Claude Code is not running.')
    })
    return files
  })
}
