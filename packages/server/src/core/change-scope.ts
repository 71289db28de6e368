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

/** What a scope of changes compares. */
export type ScopedMoments = Pick<Compared, 'marked' | 'shared' | 'turnId'> & {
  /** For the scope `base`: the branch that a person has set for the project. Absent: the one that the repository names. */
  readonly base?: string
  /** Absent: there is no snapshot to compare with. */
  readonly from?: KnownSnapshot
  /** Absent: the folder as it is now. */
  readonly to?: KnownSnapshot
}

export type ScopeQuery = {
  readonly scope: 'turn' | 'session' | 'base'
  /** For the scope `turn`; by default the last turn. */
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

/** How long after a turn its snapshot may still be taken. */
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
  // The next best moment, if there is one.
  return isLast || next ? defined({ turnId, from: before, to: next, marked: 'missing' as const }) : { turnId }
}

const pageSize = 1000
/** The maximum number of events that are searched for an older turn. */
const maxSearched = 100_000

/** Searches the log for the snapshots of a turn that the state does not keep. */
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

/** Whether another session in the same folder, or in one above or below it, had a turn in that time. */
async function othersWorked(store: Parts['store'], state: SessionState, during: Period): Promise<boolean> {
  return (await periodsOfOthers(store, state, during)).length > 0
}

/** When other sessions in the same folder, or in one above or below it, may have had turns in that time. */
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
    // Pinned sessions come first, whenever they were changed.
    if (!last || (!last.pinned && last.updatedAt < during.from) || found.cursor === undefined) break
    cursor = found.cursor
  }
  return periods
}

export type Period = { readonly from: number; readonly to: number }

type WorkPeriod = Period & { readonly turnId?: string }

/**
 * When the other session had turns of its own. For turns that its state does not keep, it may have had one at any time.
 * Turns that one of the sessions has copied from the other are not counted.
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
