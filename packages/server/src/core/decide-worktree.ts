import {
  type CommandOf,
  defined,
  isWorktreeUnderWay,
  type KnownWorktree,
  ParleyError,
  runningInBackground,
  type SessionState,
} from '@parley/protocol'
import { type Decision, refuseIf } from './decision.ts'

/** Decides commands on the worktree of a session. Pure. */

type WorktreeCommand =
  | CommandOf<'worktree.retry'>
  | CommandOf<'worktree.remove'>
  | CommandOf<'worktree.restore'>

export function decideWorktree(state: SessionState, command: WorktreeCommand): Decision {
  const worktree = ownWorktree(state)
  switch (command.type) {
    case 'worktree.retry': {
      expectPhase(worktree, 'failed', 'has not failed')
      const action = worktree.saved ? ('restore' as const) : ('make' as const)
      return { drafts: [{ type: 'worktree.requested', action, ...defined({ setup: command.setup }) }] }
    }
    case 'worktree.restore':
      expectPhase(worktree, 'removed', 'was not removed')
      return { drafts: [{ type: 'worktree.requested', action: 'restore' }] }
    case 'worktree.remove':
      refuseIf(state.turn !== undefined, 'conflict', 'A turn is open. Cancel it, then remove the worktree.')
      refuseIf(
        runningInBackground(state).length > 0,
        'conflict',
        'Background tasks run in the worktree. Stop them with task.stop, then remove it.',
      )
      // In these phases, the command cancels the running step.
      if (!['making', 'preparing', 'restoring'].includes(worktree.phase))
        expectPhase(worktree, 'ready', 'does not exist')
      return { drafts: [{ type: 'worktree.requested', action: 'remove', branch: command.branch }] }
  }
}

/** The worktree that was made for the session. Throws if there is none. */
export function ownWorktree({ worktree }: SessionState): KnownWorktree {
  if (!worktree) throw new ParleyError('conflict', 'This session has no worktree.')
  if (worktree.of === undefined) return worktree
  const message = `The worktree was made for the session ${worktree.of}. Use that session.`
  throw new ParleyError('conflict', message, { details: { session: worktree.of } })
}

function expectPhase(worktree: KnownWorktree, phase: KnownWorktree['phase'], otherwise: string): void {
  if (worktree.phase === phase) return
  const message = isWorktreeUnderWay(worktree)
    ? `The worktree is not ready (${worktree.phase}). Wait until it is.`
    : `The worktree ${otherwise}.`
  throw new ParleyError('conflict', message, { details: { phase: worktree.phase } })
}

/** Throws if the worktree was removed: a prompt could not run. */
export function expectFolder({ worktree }: SessionState): void {
  if (worktree?.phase !== 'removed' || worktree.of !== undefined) return
  const message =
    'The worktree of this session was removed. Restore it (worktree.restore), then send the prompt.'
  throw new ParleyError('conflict', message, { details: { worktree: 'removed' } })
}

/** True if prompts must wait because the worktree is not ready. */
export function waitsForWorktree({ worktree }: SessionState): boolean {
  return worktree !== undefined && worktree.phase !== 'ready'
}
