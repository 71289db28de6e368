import { defined } from './defined.ts'
import type { EventOf } from './event.ts'
import type { KnownSnapshot, KnownSnapshots } from './snapshot.ts'

/** The number of turns whose snapshots are in the state. Snapshots of older turns are only in the log. */
const maxTurns = 4

/** Adds a snapshot to those that the state keeps. */
export function withSnapshot(
  known: KnownSnapshots | undefined,
  event: EventOf<'snapshot.taken'>,
): KnownSnapshots {
  const { seq, at, turnId, when, tree, head, late, leftOut, changed } = event
  const snapshot: KnownSnapshot = { tree, seq, at, ...defined({ head, late, leftOut }) }
  const first = known?.first ?? snapshot
  const turns = known?.turns ?? []
  if (when === 'asked' || turnId === undefined) return { ...known, first, turns }
  const before = turns.find((turn) => turn.turnId === turnId)
  const turn = { turnId, ...before, [when]: snapshot }
  const kept = before ? turns.map((one) => (one === before ? turn : one)) : [...turns, turn]
  return { first, turns: kept.slice(-maxTurns), ...defined({ changed }) }
}
