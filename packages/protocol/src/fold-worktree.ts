import { defined } from './defined.ts'
import type { EventOf, EventType } from './event.ts'
import { isCopied } from './fold-rewind.ts'
import { withoutRemoval } from './fold-round.ts'
import type { SessionState } from './session-state.ts'
import type { KnownWorktree, PlannedWorktree, WorktreePhase } from './worktree.ts'

export function plannedWorktree(planned: PlannedWorktree, at: number): KnownWorktree {
  return { ...planned, phase: planned.of === undefined ? 'making' : 'ready', since: at }
}

type WorktreeEvent = Extract<EventType, `worktree.${string}`>
type Folds = {
  readonly [Type in WorktreeEvent]: (state: SessionState, event: EventOf<Type>) => Partial<SessionState>
}

const phases: Readonly<Record<string, WorktreePhase>> = {
  make: 'making',
  remove: 'removing',
  restore: 'restoring',
}

/** The phase after a failed action. If a removal fails, the folder still exists. */
const afterFailure: Readonly<Record<string, WorktreePhase>> = {
  make: 'failed',
  remove: 'ready',
  restore: 'removed',
}

export const worktreeFolds: Folds = {
  'worktree.requested': (state, { action, branch, setup, ...event }) =>
    changed(state, event, {
      phase: phases[action] ?? 'making',
      request: { action, ...defined({ branch, setup }) },
      failure: undefined,
      kept: undefined,
      // Drops an earlier snapshot, because the removal of a complete folder takes a new one.
      ...(action === 'remove' && isComplete(state) && { saved: undefined }),
    }),
  'worktree.made': (state, { copied, leftOut, restored, ...event }) =>
    changed(state, event, { phase: 'preparing', made: defined({ copied, leftOut, restored }) }),
  'worktree.prepared': (state, { setup, submodules, ...event }) =>
    changed(state, event, { phase: 'ready', setup, submodules, saved: undefined, removed: undefined }),
  // Filling a worktree does not count as using it, so the worktree of an attempt that was passed over is still removed.
  'worktree.filled': (state, event) => ({
    ...changed(state, { ...event, at: state.worktree?.since ?? event.at }, { submodules: undefined }),
    ...defined({ round: state.round }),
  }),
  'worktree.failed': (state, { action, error, setup, ...event }) =>
    changed(state, event, {
      phase: afterFailure[action] ?? 'failed',
      failure: { action, error, ...defined({ setup }) },
    }),
  'worktree.kept': (state, { ignoredFiles, loose, leftOut, sessions, error, ...event }) =>
    changed(state, event, {
      ...defined({ since: state.worktree?.since }),
      kept: defined({ ignoredFiles, loose, leftOut, sessions, error }),
    }),
  'worktree.removed': (state, { branch, head, tree, missing, ...event }) =>
    changed(state, event, {
      phase: 'removed',
      made: undefined,
      setup: undefined,
      removed: { branch, ...defined({ head, tree, missing }) },
      saved: defined({ head, tree }),
    }),
}

const isComplete = ({ worktree }: SessionState) =>
  worktree?.phase === 'ready' || (worktree?.phase === 'preparing' && worktree.saved === undefined)

/**
 * Keeps the snapshot that a removal takes before it deletes anything. A repeated removal must not take another
 * snapshot, because the folder may be half deleted.
 */
export function withSaved(
  { worktree }: SessionState,
  { when, tree, head }: EventOf<'snapshot.taken'>,
): Partial<SessionState> {
  if (worktree?.phase !== 'removing' || when !== 'asked') return {}
  return { worktree: { ...worktree, saved: { tree, ...defined({ head }) } } }
}

/** Returns no change for a copied event, and for a session that works in the worktree of another session. */
function changed(
  state: SessionState,
  event: { seq: number; at: number },
  change: Partial<KnownWorktree>,
): Partial<SessionState> {
  const { worktree } = state
  if (!worktree || worktree.of !== undefined || isCopied(state, event)) return {}
  return { worktree: { ...worktree, since: event.at, ...change }, ...withoutRemoval(state) }
}
