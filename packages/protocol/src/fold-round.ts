import { defined } from './defined.ts'
import type { EventOf, EventType } from './event.ts'
import { isCopied } from './fold-rewind.ts'
import type { KnownRound, RoundPart } from './round-part.ts'
import type { SessionState } from './session-state.ts'
import type { WorktreePhase } from './worktree.ts'

export function newRound(part: RoundPart): KnownRound {
  return { ...part, workedMs: 0 }
}

/** Adds the time of a turn that has ended. */
export function withTurnTime(
  { round }: SessionState,
  { durationMs }: EventOf<'turn.ended'>,
): Partial<SessionState> {
  return round ? { round: { ...round, workedMs: round.workedMs + durationMs } } : {}
}

type RoundEvent = Extract<EventType, `attempt.${string}` | `check.${string}`>
type Folds = {
  readonly [Type in RoundEvent]: (state: SessionState, event: EventOf<Type>) => Partial<SessionState>
}

/** In these phases an attempt that is passed over has a worktree to remove. */
const removable: ReadonlySet<WorktreePhase> = new Set(['making', 'preparing', 'restoring', 'ready'])

/** A fork has copies of these events, but is no attempt, and no check runs in it. */
export const roundFolds: Folds = {
  'attempt.picked': (state, { number, at, actor }) =>
    withPick(state, { state: 'picked', number, session: state.id, at, due: true, ...defined({ actor }) }),
  'attempt.settled': ({ round }, { number }) =>
    round?.pick?.number === number ? { round: { ...round, pick: { ...round.pick, due: false } } } : {},
  'attempt.passed-over': (state, { number, by, at, actor }) => {
    const { worktree } = state
    const due = worktree !== undefined && worktree.of === undefined && removable.has(worktree.phase)
    const pick = { state: 'passed-over' as const, number, session: by, at, due }
    return withPick(state, { ...pick, ...defined({ actor }) })
  },
  'check.started': (state, event) =>
    isCopied(state, event)
      ? {}
      : {
          checks: {
            ...state.checks,
            running: { command: event.command, since: event.at, turns: state.turns },
          },
        },
  'check.ran': (state, event) => {
    if (isCopied(state, event)) return {}
    const { command, exitCode, durationMs, tail, error, at } = event
    const { turns = state.turns, changed } = state.checks?.running ?? {}
    return {
      checks: { last: { command, durationMs, tail, at, turns, ...defined({ exitCode, error, changed }) } },
    }
  },
}

/** Called for events that change files in the folder: the checked files may have changed. */
export function withOtherFiles({ checks }: SessionState): Partial<SessionState> {
  if (!checks) return {}
  const { running, last } = checks
  const changed = true as const
  return {
    checks: {
      ...(running && { running: { ...running, changed } }),
      ...(last && { last: { ...last, changed } }),
    },
  }
}

function withPick({ round }: SessionState, pick: NonNullable<KnownRound['pick']>): Partial<SessionState> {
  return round ? { round: { ...round, pick } } : {}
}

/**
 * Cancels the removal of the worktree of an attempt that was passed over: a person uses the worktree again, or it was
 * kept.
 */
export function withoutRemoval({ round }: SessionState): Partial<SessionState> {
  if (round?.pick?.state !== 'passed-over' || !round.pick.due) return {}
  return { round: { ...round, pick: { ...round.pick, due: false } } }
}
