import {
  type CommandOf,
  type EventDraft,
  isWorktreeUnderWay,
  type KnownRound,
  ParleyError,
  type SessionState,
} from '@parley/protocol'
import { waitsForWorktree } from './decide-worktree.ts'
import { type DecideContext, type Decision, refuseIf } from './decision.ts'
import { cancelRequests, endTurn, requestsOfTurn } from './end-turn.ts'
import { pauseQueued } from './turn-transactions.ts'

/** Decides commands on the attempts of a round, and on checks. Pure. */

type RoundCommand = CommandOf<'check.run' | 'check.stop' | 'attempt.pick' | 'attempt.pass-over'>

export function decideRound(state: SessionState, command: RoundCommand, context: DecideContext): Decision {
  switch (command.type) {
    case 'check.run':
      return runCheck(state, context.check ?? '')
    case 'check.stop':
      return stopCheck(state)
    case 'attempt.pick':
      return pick(state, context.highestPick ?? 0)
    case 'attempt.pass-over':
      return passOver(state, command, context.now)
  }
}

/** `highest` is the highest pick number in the other attempts, 0 if there is none. */
function pick(state: SessionState, highest: number): Decision {
  const round = roundOf(state)
  const { pick: known, id } = round
  const { worktree } = state
  if (known?.state === 'picked' && known.number >= highest) return { drafts: [] }
  refuseIf(
    worktree?.phase === 'failed' && !worktree.saved,
    'conflict',
    'The worktree of this attempt could not be made, so the attempt has no changes to pick. Try again to make it (worktree.retry), or pick another attempt.',
  )
  refuseIf(
    worktree?.phase === 'removing',
    'conflict',
    'The worktree of this attempt is being removed. Wait until that is done, then pick the attempt.',
  )
  const number = Math.max(highest, known?.number ?? 0) + 1
  const restores = worktree?.phase === 'removed' && worktree.of === undefined
  return {
    drafts: [
      { type: 'attempt.picked', round: id, number },
      ...(restores ? [{ type: 'worktree.requested', action: 'restore' } as const] : []),
    ],
  }
}

/** Of two picks, the one with the higher number is valid. If the numbers are equal, the higher id decides. */
export function supersedes(
  one: Pick<NonNullable<KnownRound['pick']>, 'number' | 'session'>,
  other: Pick<NonNullable<KnownRound['pick']>, 'number' | 'session'> | undefined,
): boolean {
  if (!other || one.number !== other.number) return one.number > (other?.number ?? 0)
  return one.session > other.session
}

/** Ends the work of an attempt. Its worktree is removed afterwards, unless something in it would be lost. */
function passOver(
  state: SessionState,
  { number, by }: CommandOf<'attempt.pass-over'>,
  now: number,
): Decision {
  const round = roundOf(state)
  if (!supersedes({ number, session: by }, round.pick)) return { drafts: [] }
  const { turn, worktree } = state
  const passedOver: EventDraft = { type: 'attempt.passed-over', round: round.id, number, by }
  const cancels = worktree && worktree.of === undefined && worktree.phase !== 'removing'
  const removes: EventDraft[] =
    cancels && isWorktreeUnderWay(worktree)
      ? [{ type: 'worktree.requested', action: 'remove', branch: 'keep' }]
      : []
  const paused = pauseQueued(state)
  if (!turn) return { drafts: [passedOver, ...paused, ...removes] }
  if (turn.parked) {
    const ended = endTurn(state, { outcome: 'cancelled', stopReason: 'cancelled' }, now)
    return { drafts: [passedOver, ...paused, ...ended] }
  }
  if (turn.interrupted) return { drafts: [passedOver, ...paused] }
  const interrupted: EventDraft = { type: 'turn.interrupted', turnId: turn.turnId, by: 'person' }
  return { drafts: [passedOver, interrupted, ...paused, ...cancelRequests(requestsOfTurn(state))] }
}

/** True if the attempt was passed over and its worktree is still to be removed. */
export function leavesWorktree({ round }: SessionState): boolean {
  return round?.pick?.state === 'passed-over' && round.pick.due
}

function roundOf({ round }: SessionState): KnownRound {
  if (round) return round
  throw new ParleyError('conflict', 'This session is not an attempt of a round.')
}

/** `command` is the command of the project. */
function runCheck(state: SessionState, command: string): Decision {
  refuseIf(state.checks?.running !== undefined, 'conflict', 'A check of this session runs already.')
  refuseIf(state.turn !== undefined, 'conflict', 'A turn is open. Wait until it ends, then run the check.')
  refuseIf(
    waitsForWorktree(state),
    'conflict',
    'The worktree of this session does not exist, so its work cannot be checked.',
  )
  return { drafts: [{ type: 'check.started', command }] }
}

/** Records nothing: the check is ended afterwards, and its end is recorded then. */
function stopCheck({ checks }: SessionState): Decision {
  refuseIf(checks?.running === undefined, 'conflict', 'No check runs in this session.')
  return { drafts: [] }
}
