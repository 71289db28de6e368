import {
  type EventOf,
  isKnown,
  type LeftOut,
  ParleyError,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import { type Period, periodsOfOthers } from './change-scope.ts'
import { readEvents } from './read-events.ts'
import type { SessionStore } from './session-store.ts'

/**
 * The origin of the changes between two trees: the session (a turn or a rewind), or others. `unclear`: the origin is
 * unknown.
 */
export type StepBy = 'session' | 'others' | 'unclear'

/** The stored trees of the session's folder since a point of its log. */
export type FolderMoments = {
  /** The trees in order, starting with the snapshot before the first turn. */
  readonly trees: readonly string[]
  /**
   * One entry for each step from a tree to the next one, and a last entry for the step from the last tree to the
   * present.
   */
  readonly steps: readonly StepBy[]
  /** The commit that was checked out at the first snapshot. */
  readonly head?: string | undefined
  /** True if the first snapshot may contain changes of its turn. */
  readonly isLate: boolean
  readonly leftOut: readonly LeftOut[]
}

type Taken = EventOf<'snapshot.taken'>
/** A turn or a rewind, with the trees before and after it. */
type Work = {
  readonly turnId?: string
  before?: { readonly tree: string; readonly at: number }
  after?: { readonly tree: string; readonly at: number }
  isUnclear: boolean
}

const pageSize = 1000

/**
 * Reads the trees of the folder since the event `after` from the log. Rejects with `conflict` if the first snapshot
 * is missing.
 */
export async function momentsSince(
  store: Pick<SessionStore, 'list' | 'load' | 'read'>,
  state: SessionState,
  after: number,
): Promise<FolderMoments> {
  const works = new Works()
  for (let seq = after; seq < state.seq; ) {
    const page = await readEvents(store, state.id, { after: seq, limit: Math.min(pageSize, state.seq - seq) })
    if (page.length === 0) break
    for (const { json } of page) works.note(JSON.parse(json) as SessionEvent | UnknownEvent)
    seq = page.at(-1)?.seq ?? state.seq
  }
  const [first] = works.list
  const taken = works.first
  if (!first?.before || !taken) throw noSnapshot()
  const others = await periodsOfOthers(store, state, { from: first.before.at, to: Number.POSITIVE_INFINITY })
  const own = new Set(works.list.map(({ turnId }) => turnId))
  const strange = others.filter(({ turnId }) => turnId === undefined || !own.has(turnId))
  for (const work of works.list) work.isUnclear ||= strange.some((other) => overlaps(work, other))
  const { head, late = false } = taken
  return { ...inOrder(works.list), head, isLate: late, leftOut: works.leftOut }
}

class Works {
  readonly list: Work[] = []
  readonly leftOut: LeftOut[] = []
  first: Taken | undefined

  note(event: SessionEvent | UnknownEvent): void {
    if (!isKnown(event)) return
    const { at, turnId } = event
    const turn = turnId === undefined ? undefined : this.list.find((work) => work.turnId === turnId)
    if (event.type === 'turn.started' && turnId !== undefined) this.list.push({ turnId, isUnclear: false })
    // After a kill of the server, a person may have changed the folder before the snapshot was taken.
    if (event.type === 'turn.ended' && turn && event.outcome === 'unknown') turn.isUnclear = true
    if (event.type === 'snapshot.taken' && turn && event.when !== 'asked') {
      turn[event.when] = event
      if (turn === this.list[0] && event.when === 'before') this.first = event
      this.leftOut.push(...(event.leftOut ?? []))
    }
    if ((event.type === 'session.rewound' || event.type === 'session.unrewound') && event.files) {
      const { before, after } = event.files
      this.list.push({ before: { tree: before, at }, after: { tree: after, at }, isUnclear: false })
    }
  }
}

function overlaps({ turnId, before, after }: Work, other: Period): boolean {
  const to = after?.at ?? Number.POSITIVE_INFINITY
  return turnId !== undefined && other.from <= to && other.to >= (before?.at ?? to)
}

/** The trees in order. A step over a missing tree is unclear. */
function inOrder([first, ...works]: readonly Work[]): Pick<FolderMoments, 'trees' | 'steps'> {
  const trees: string[] = []
  const steps: StepBy[] = []
  let missing = false
  const add = (tree: string | undefined, by: StepBy) => {
    if (tree === undefined) missing = true
    else {
      if (trees.length > 0) steps.push(missing ? 'unclear' : by)
      trees.push(tree)
      missing = false
    }
  }
  for (const { before, after, isUnclear } of first ? [first, ...works] : []) {
    add(before?.tree, 'others')
    add(after?.tree, isUnclear ? 'unclear' : 'session')
  }
  return { trees, steps: [...steps, missing ? 'unclear' : 'others'] }
}

function noSnapshot(): ParleyError {
  const message =
    'There is no snapshot of the folder from before that prompt, so its files cannot be restored. The conversation can be rewound (files: false, talk: true).'
  return new ParleyError('conflict', message, { details: { missing: 'snapshot' } })
}
