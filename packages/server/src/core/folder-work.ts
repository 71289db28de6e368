import {
  type BranchInfo,
  type EventDraft,
  type EventOf,
  type MergePreview,
  ParleyError,
  type PullRequestInfo,
  type SessionState,
} from '@parley/protocol'
import { createProgress } from './command-progress.ts'
import { ownWorktree, waitsForWorktree } from './decide-worktree.ts'
import type { CheckLogs, FolderChanges, FolderCommand, Looked } from './folder-changes.ts'
import { isWithin } from './folder-trust.ts'
import { readEvents } from './read-events.ts'
import { isTrusted, type SessionContext, type SessionServices } from './session-services.ts'
import { branchMadeFrom, settingsFor } from './session-worktrees.ts'

/** Performs the operation of a command in the folder of the session, and returns the drafts that record it. */
export async function workInFolder(
  context: SessionContext,
  command: FolderCommand,
  cancel: AbortSignal,
): Promise<EventDraft[]> {
  const { services, log, stopping } = context
  const signal = AbortSignal.any([stopping, cancel])
  const changes = expectChanges(services)
  const { id: sessionId, cwd } = log.state
  if (waitsForWorktree(log.state))
    throw new ParleyError('conflict', 'The worktree of this session does not exist, so nothing was changed.')
  const progress = createProgress(context, command.commandId)
  const work = {
    ...{ changes, cwd, sessionId, signal, progress: progress.tell },
    ...(await seenFrom(services, log.state)),
  }
  return draftsOf(context, work, command).finally(progress.stop)
}

/** The base branch of the project, and the trust of folders, as people have set them. */
async function seenFrom(services: SessionServices, { project, worktree }: SessionState): Promise<Looked> {
  const { place } = services
  return {
    base: (await settingsFor(services, project)).base,
    madeFrom: branchMadeFrom(worktree),
    trusts(folder) {
      const its = worktree && isWithin(folder, worktree.path) ? worktree : undefined
      return isTrusted(services, { cwd: folder, worktree: its }, place)
    },
  }
}

export async function branchIn(services: SessionServices, state: SessionState): Promise<BranchInfo> {
  return expectChanges(services).branch(state.cwd, await seenFrom(services, state))
}

export async function pullRequestIn(
  services: SessionServices,
  state: SessionState,
): Promise<PullRequestInfo> {
  return expectChanges(services).pullRequest(state.cwd, await seenFrom(services, state))
}

/** The logs of the failed checks of the pull request. */
export async function checkLogsIn(services: SessionServices, state: SessionState): Promise<CheckLogs> {
  return expectChanges(services).checkLogs(state.cwd, await seenFrom(services, state))
}

export async function mergePreviewIn(services: SessionServices, state: SessionState): Promise<MergePreview> {
  return expectChanges(services).previewMerge(state.cwd, await seenFrom(services, state))
}

function expectChanges({ folderChanges }: SessionServices): FolderChanges {
  if (folderChanges) return folderChanges
  throw new ParleyError('not_supported', 'This server does not change the folders of sessions.')
}

type Work = Looked & {
  readonly progress: (text: string) => void
  readonly changes: FolderChanges
  readonly cwd: string
  readonly sessionId: string
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
    case 'branch.merge':
      return [{ type: 'branch.merged', ...(await changes.merge(cwd, { ...work, command })) }]
    case 'worktree.fill':
      ownWorktree(context.log.state)
      return [{ type: 'worktree.filled', ...(await changes.fillSubmodules(cwd, { ...work, command })) }]
    case 'pull-request.open':
      return [{ type: 'pull-request.opened', ...(await changes.openPullRequest(cwd, { ...work, command })) }]
  }
}

function expectNoTurn({ log }: SessionContext): void {
  if (log.state.turn)
    throw new ParleyError('conflict', 'A turn is open. Wait until it ends, or cancel it, then commit.')
}

/** Reads the event of the discard that a command undoes. */
async function discardedAt(
  { services, log }: SessionContext,
  seq: number,
): Promise<EventOf<'changes.discarded'>> {
  const [stored] = await readEvents(services.store, log.sessionId, { after: seq - 1, limit: 1 })
  const event = stored && (JSON.parse(stored.json) as EventOf<'changes.discarded'>)
  if (event?.seq === seq && event.type === 'changes.discarded') return event
  throw new ParleyError('not_found', `The event ${seq} of this session is not a discard.`)
}
