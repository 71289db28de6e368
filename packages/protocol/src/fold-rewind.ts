import { defined } from './defined.ts'
import type { EventOf } from './event.ts'
import type { SessionState } from './session-state.ts'

/** True for an event that a fork has copied from its original. */
export function isCopied({ forkedFrom }: SessionState, { seq }: { seq: number }): boolean {
  return seq <= (forkedFrom?.seq ?? 0)
}

/**
 * Folds a rewind. The agent must fork its conversation before it continues, unless it has received no prompt since. A
 * copied rewind cannot be undone, and `session.created` of the fork names the point from which the fork continues.
 */
export function withRewind(state: SessionState, event: EventOf<'session.rewound'>): Partial<SessionState> {
  const { seq, promptId, talk, forkPoint, files } = event
  if (isCopied(state, event)) return { restore: undefined, ...(talk && { plan: [] }) }
  const { agentSessionId } = state.connection ?? {}
  const { forkPending, forkPoint: pending } = state
  const before = { ...defined({ agentSessionId, forkPoint: pending }), forkPending, plan: state.plan }
  const rewound = { seq, promptId, ...defined({ talk, files }), before }
  if (!talk) return { rewound, restore: undefined }
  return {
    rewound,
    restore: undefined,
    plan: [],
    conversationFrom: seq,
    ...(forkPoint && { forkPending: true, forkPoint }),
  }
}

export function withoutRewind(
  { rewound, connection }: SessionState,
  event: EventOf<'session.unrewound'>,
): Partial<SessionState> {
  if (rewound?.seq !== event.rewound) return { restore: undefined }
  if (!rewound.talk) return { rewound: undefined, restore: undefined }
  const { agentSessionId, forkPending, forkPoint, plan } = rewound.before
  return {
    rewound: undefined,
    restore: undefined,
    conversationFrom: event.seq,
    forkPending,
    forkPoint,
    plan,
    ...(connection && agentSessionId !== undefined && { connection: { ...connection, agentSessionId } }),
  }
}

/**
 * Records a restoration that must be performed. A fork has copies of the restore events of its original, but restores
 * no files for them.
 */
export function withRestore(state: SessionState, event: EventOf<'restore.started'>): Partial<SessionState> {
  if (isCopied(state, event)) return {}
  const { seq, before, to, rewind, unrewind, left, actor } = event
  return { restore: { seq, before, to, ...defined({ rewind, unrewind, left, actor }) } }
}

export function withFailedRestore(
  { restore }: SessionState,
  { started, error }: EventOf<'restore.failed'>,
): Partial<SessionState> {
  return restore?.seq === started ? { restore: { ...restore, failed: error } } : {}
}
