import {
  type CommandOf,
  defined,
  ParleyError,
  runningInBackground,
  type SessionState,
} from '@parley/protocol'
import { type DecideContext, type Decision, need, refuseIf } from './decision.ts'
import { pauseQueued } from './turn-transactions.ts'

/**
 * Takes the turns since a prompt back: the agent goes on with a copy of its conversation that ends before the prompt.
 * Without `point`, only checks whether the command can be accepted.
 */
export function rewindTalk(
  state: SessionState,
  { promptId, files, undo }: CommandOf<'session.rewind'>,
  context: DecideContext,
): Decision {
  need(context, 'forkBefore')
  refuseIf(undo === true, 'validation_error', 'Undo a rewind of the conversation with session.unrewind.')
  if (files !== false) throw notTogether()
  refuseIf(
    runningInBackground(state).length > 0,
    'conflict',
    'Background tasks are running. Stop them (task.stop), then rewind.',
  )
  const { point } = context
  if (!point) return { drafts: [] }
  refuseIf(
    point.isTakenBack,
    'conflict',
    'That prompt was already taken back. Fork the session before it to go on from there.',
  )
  const { forkPoint, seq } = point
  const rewound = { type: 'session.rewound' as const, promptId, from: seq + 1, talk: true as const }
  return { drafts: [...pauseQueued(state), { ...rewound, ...defined({ forkPoint }) }] }
}

export function unrewind({ rewound }: SessionState): Decision {
  if (rewound) return { drafts: [{ type: 'session.unrewound', rewound: rewound.seq }] }
  const message = 'There is no rewind to undo: none was made, or a turn has started since.'
  throw new ParleyError('conflict', message)
}

function notTogether(): ParleyError {
  const message =
    'Files and the conversation cannot be rewound with one command. Rewind the files first, then the conversation (talk: true, files: false).'
  return new ParleyError('not_supported', message)
}
