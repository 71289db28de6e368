import {
  type Compared,
  defined,
  type EventOf,
  type KnownSnapshot,
  ParleyError,
  type SessionState,
  type SessionSummary,
  type TurnSnapshots,
} from '@parley/protocol'
import type { Clock } from './clock.ts'
import { isWithin } from './folder-trust.ts'
import { readEvents } from './read-events.ts'
import type { SessionStore } from './session-store.ts'

/** The two states of the folder that a scope of changes compares. */
export type ScopedMoments = Pick<Compared, 'marked' | 'shared' | 'turnId'> & {
  /** For the scope `base`: the base branch in the settings of the project. Undefined: the one that the repository names. */
  readonly base?: string
  /** For the scope `base`: the branch from which the worktree was made. Used if the repository names no base branch. */
  readonly madeFrom?: string
  /** Undefined if there is no snapshot to compare with. */
  readonly from?: KnownSnapshot
  /** Undefined for the present state of the folder. */
  readonly to?: KnownSnapshot
}

export type ScopeQuery = {
  readonly scope: 'turn' | 'session' | 'base'
  /** The id of the turn, for the scope `turn`. The default is the last turn. */
  readonly turn?: string | undefined
}

type Parts = {
  readonly store: Pick<SessionStore, 'list' | 'load' | 'read'>
  readonly clock: Pick<Clock, 'now'>
}

export async function momentsOf(
  parts: Parts,
  state: SessionState,
  { scope, turn }: ScopeQuery & { readonly scope: 'turn' | 'session' },
): Promise<ScopedMoments> {
  const moments =
    scope === 'session' ? ofSession(state) : await ofTurn(parts, state, turn ?? lastTurnOf(state))
  if (!moments.from) return { ...moments, marked: 'missing' }
  const { from, to } = moments
  const during = { from: from.at, to: to?.at ?? Number.POSITIVE_INFINITY }
  const isShared = await othersWorked(parts.store, state, during)
  const isLate = from.late ?? to?.late
  return {
    ...moments,
    ...(isLate && !moments.marked && { marked: 'late' }),
    ...(isShared && { shared: true }),
  }
}

const lastTurnOf = ({ turn, lastTurn }: SessionState) => turn?.turnId ?? lastTurn?.turnId

function ofSession({ snapshots }: SessionState): ScopedMoments {
  return defined({ from: snapshots?.first })
}

/** The time after the end of a turn within which its snapshot may still be recorded. */
const soonMs = 10_000

async function ofTurn(
  { store, clock }: Parts,
  state: SessionState,
  turnId: string | undefined,
): Promise<ScopedMoments> {
  if (turnId === undefined) return {}
  const { turn, lastTurn, snapshots } = state
  const kept = snapshots?.turns ?? []
  const index = kept.findIndex((one) => one.turnId === turnId)
  const isLast = turn ? turn.turnId === turnId : lastTurn?.turnId === turnId
  const { before, after } = kept[index] ?? (isLast ? { turnId } : await searchTurn(store, state, turnId))
  if (turn?.turnId === turnId) return defined({ turnId, from: before })
  const next = index < 0 ? undefined : kept[index + 1]?.before
  if (after) return defined({ turnId, from: before, to: after })
  if (isLast && lastTurn && clock.now() - lastTurn.endedAt < soonMs) return defined({ turnId, from: before })
  // Without a snapshot after the turn, the comparison ends at the snapshot before the next turn, or at the present.
  return isLast || next ? defined({ turnId, from: before, to: next, marked: 'missing' as const }) : { turnId }
}

const pageSize = 1000
/** The maximum number of events that are searched for an older turn. */
const maxSearched = 100_000

/** Searches the log for the snapshots of a turn, for a turn whose snapshots are not in the state. */
async function searchTurn(
  store: Parts['store'],
  { id, seq }: SessionState,
  turnId: string,
): Promise<TurnSnapshots> {
  const found: { -readonly [Key in keyof TurnSnapshots]: TurnSnapshots[Key] } = { turnId }
  const mark = JSON.stringify(turnId)
  for (let before = seq + 1; before > Math.max(1, seq - maxSearched); ) {
    const page = await readEvents(store, id, { before, limit: pageSize })
    if (page.length === 0) break
    for (const { json } of page.toReversed()) {
      if (!json.includes(mark)) continue
      const event = JSON.parse(json) as EventOf<'snapshot.taken'> | EventOf<'turn.started'>
      if (event.turnId !== turnId) continue
      if (event.type === 'snapshot.taken' && event.when !== 'asked') found[event.when] = event
      if (event.type === 'turn.started') return found
    }
    before = page[0]?.seq ?? 1
  }
  throw new ParleyError('not_found', `The session has no turn ${turnId}.`)
}

const listed = { limit: 100, pages: 5 }

/**
 * True if another session in the same folder, in a parent or in a subfolder of it, may have had a turn in that
 * period.
 */
async function othersWorked(store: Parts['store'], state: SessionState, during: Period): Promise<boolean> {
  return (await periodsOfOthers(store, state, during)).length > 0
}

/**
 * Returns the periods within `during` in which other sessions in the same folder, in its parents or in its subfolders
 * may have had turns.
 */
export async function periodsOfOthers(
  store: Pick<SessionStore, 'list' | 'load'>,
  state: SessionState,
  during: Period,
): Promise<WorkPeriod[]> {
  const { id, cwd } = state
  const mayHave = (one: SessionSummary) =>
    one.id !== id &&
    (isWithin(one.cwd, cwd) || isWithin(cwd, one.cwd)) &&
    one.createdAt <= during.to &&
    one.updatedAt >= during.from
  const periods: WorkPeriod[] = []
  let cursor: string | undefined
  for (let page = 0; page < listed.pages; page++) {
    const found = await store.list({ limit: listed.limit, ...defined({ cursor }) })
    for (const other of found.sessions.filter(mayHave)) {
      const loaded = (await store.load(other.id))?.state
      const found = loaded ? periodsOf(loaded, state) : []
      periods.push(...found.filter((one) => one.from <= during.to && one.to >= during.from))
    }
    const last = found.sessions.at(-1)
    // Pinned sessions come first in the list, whatever their time of change.
    if (!last || (!last.pinned && last.updatedAt < during.from) || found.cursor === undefined) break
    cursor = found.cursor
  }
  return periods
}

export type Period = { readonly from: number; readonly to: number }

type WorkPeriod = Period & { readonly turnId?: string }

/**
 * Returns the periods in which another session had turns of its own. If its state does not have the snapshots of all
 * turns, the times of the others are unknown, and one period covers them. Turns that one of the sessions copied from
 * the other are left out.
 */
function periodsOf(other: SessionState, { forkedFrom }: SessionState): WorkPeriod[] {
  const { createdAt, turns, turn, lastTurn, snapshots } = other
  const copiedTo = forkedFrom?.sessionId === other.id ? forkedFrom.seq : 0
  const copied = Math.max(other.forkedFrom?.seq ?? 0, copiedTo)
  const kept = (snapshots?.turns ?? []).map(({ turnId, before, after }) => ({
    turnId,
    seq: before?.seq ?? after?.seq ?? 0,
    from: before?.at ?? after?.at ?? 0,
    to: after?.at ?? before?.at ?? 0,
  }))
  const [own, copies] = [kept.filter(({ seq }) => seq > copied), kept.filter(({ seq }) => seq <= copied)]
  const isCopied = copies.some(({ turnId }) => turnId === lastTurn?.turnId)
  const known = [
    ...own,
    ...(turn ? [{ from: turn.startedAt, to: Number.POSITIVE_INFINITY }] : []),
    ...(lastTurn && !isCopied
      ? [{ turnId: lastTurn.turnId, from: lastTurn.endedAt - lastTurn.durationMs, to: lastTurn.endedAt }]
      : []),
  ]
  const oldest = Math.min(...known.map((one) => one.from))
  const hasOlder = copies.length === 0 && turns > Math.max(kept.length, lastTurn ? 1 : 0)
  return hasOlder ? [...known, { from: createdAt, to: oldest }] : known
}
