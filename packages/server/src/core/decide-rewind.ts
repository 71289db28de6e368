import {
  type CommandOf,
  defined,
  dueRestore,
  ParleyError,
  runningInBackground,
  type SessionState,
} from '@parley/protocol'
import { type DecideContext, type Decision, need, refuseIf } from './decision.ts'
import { pauseQueued } from './turn-transactions.ts'

/**
 * Rewinds to the state before the turn of a prompt. If `files` are restored, the rewind is recorded when the
 * restoration is complete. With `talk`, the agent continues with a copy of its conversation that ends before the
 * prompt. Without `point`, only checks whether the command can be accepted.
 */
export function rewind(
  state: SessionState,
  { promptId, files = true, talk = false, paths, seen }: CommandOf<'session.rewind'>,
  context: DecideContext,
): Decision {
  const hasFileFields = paths !== undefined || seen !== undefined
  refuseIf(!files && !talk, 'validation_error', 'Choose what to rewind: files, talk or both.')
  refuseIf(!files && hasFileFields, 'validation_error', 'paths and seen cannot be used with files: false.')
  if (talk) need(context, 'forkBefore')
  refuseIf(
    runningInBackground(state).length > 0,
    'conflict',
    'Background tasks are running. Stop them (task.stop), then rewind.',
  )
  expectNoRestore(state)
  const { point, planned } = context
  if (!point) return { drafts: [] }
  refuseIf(
    talk && point.isTakenBack,
    'conflict',
    'That prompt was already taken back. Fork the session before that prompt to continue from there.',
  )
  const { forkPoint } = point
  const goesBack = {
    ...{ promptId, from: point.seq + 1 },
    ...(talk && { talk: true as const, ...defined({ forkPoint }) }),
  }
  const paused = pauseQueued(state)
  if (!files) return { drafts: [...paused, { type: 'session.rewound', ...goesBack }] }
  if (!planned) throw new ParleyError('internal_error', 'The restoration of files was not planned.')
  return { drafts: [...paused, { type: 'restore.started', rewind: goesBack, ...planned }] }
}

export function unrewind(state: SessionState): Decision {
  expectNoRestore(state)
  const { rewound } = state
  if (!rewound) {
    const message = 'There is no rewind to undo: none was made, or a turn has started since.'
    throw new ParleyError('conflict', message)
  }
  const { seq, files } = rewound
  if (!files || files.count === 0) return { drafts: [{ type: 'session.unrewound', rewound: seq }] }
  const { before: to, after: before } = files
  return { drafts: [{ type: 'restore.started', unrewind: seq, before, to }] }
}

export function expectNoRestore(state: SessionState): void {
  refuseIf(
    dueRestore(state) !== undefined,
    'conflict',
    'Files are being restored. Try again when that is done.',
  )
}
