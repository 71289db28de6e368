import { type EventDraft, type EventOf, ParleyError } from '@parley/protocol'
import type { FolderChanges, FolderCommand } from './folder-changes.ts'
import { isWithin } from './folder-trust.ts'
import { readEvents } from './read-events.ts'
import { isTrusted, type SessionContext } from './session-services.ts'

/** Does the work of a command in the folder of the session, and returns what it records. */
export async function workInFolder(context: SessionContext, command: FolderCommand): Promise<EventDraft[]> {
  const { services, log, stopping: signal } = context
  const changes = services.folderChanges
  if (!changes)
    throw new ParleyError('not_supported', 'This server does not write in the folders of sessions.')
  const { id: sessionId, cwd, worktree } = log.state
  const trusts = (folder: string) => {
    const its = worktree && isWithin(folder, worktree.path) ? worktree : undefined
    return isTrusted(services, { cwd: folder, worktree: its }, services.place)
  }
  return draftsOf(context, { changes, cwd, sessionId, trusts, signal }, command)
}

type Work = {
  readonly changes: FolderChanges
  readonly cwd: string
  readonly sessionId: string
  readonly trusts: (folder: string) => boolean
  readonly signal: AbortSignal
}

async function draftsOf(
  context: SessionContext,
  { changes, cwd, ...work }: Work,
  command: FolderCommand,
): Promise<EventDraft[]> {
  switch (command.type) {
    case 'changes.discard':
      return [{ type: 'changes.discarded', ...(await changes.discard(cwd, { ...work, command })) }]
    case 'changes.restore': {
      const { discarded } = command
      await changes.restore(cwd, { ...work, discarded: await discardedAt(context, discarded) })
      return [{ type: 'changes.restored', discarded }]
    }
    case 'changes.stage':
      await changes.stage(cwd, { ...work, command })
      return []
    case 'changes.unstage':
      await changes.stage(cwd, { ...work, command })
      return []
    case 'changes.commit':
      expectNoTurn(context)
      return [{ type: 'changes.committed', ...(await changes.commit(cwd, { ...work, command })) }]
    case 'branch.push':
      return [{ type: 'branch.pushed', ...(await changes.push(cwd, { ...work, command })) }]
    case 'pull-request.open':
      return [{ type: 'pull-request.opened', ...(await changes.openPullRequest(cwd, { ...work, command })) }]
  }
}

function expectNoTurn({ log }: SessionContext): void {
  if (log.state.turn)
    throw new ParleyError('conflict', 'A turn is open. Wait until it ends, or cancel it, then commit.')
}

/** The event of a discard that a command undoes. */
async function discardedAt(
  { services, log }: SessionContext,
  seq: number,
): Promise<EventOf<'changes.discarded'>> {
  const [stored] = await readEvents(services.store, log.sessionId, { after: seq - 1, limit: 1 })
  const event = stored && (JSON.parse(stored.json) as EventOf<'changes.discarded'>)
  if (event?.seq === seq && event.type === 'changes.discarded') return event
  throw new ParleyError('not_found', `The event ${seq} of this session is not a discard.`)
}
