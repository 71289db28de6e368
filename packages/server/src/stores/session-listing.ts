import { dueRestore, isWorktreeUnderWay, type Limits, ParleyError, type SessionState } from '@parley/protocol'
import type { StoredProjectSetting } from '../core/session-store.ts'

/** The rules by which sessions are searched, ordered and paged. Every store uses these functions. */

/**
 * A position in the list: pinned sessions first, then the others; in both groups the most recently changed first, then
 * by id.
 */
export type ListPlace = { readonly pinned: boolean; readonly updatedAt: number; readonly id: string }

export function comparePlaces(a: ListPlace, b: ListPlace): number {
  if (a.pinned !== b.pinned) return a.pinned ? -1 : 1
  return compareAges(a, b)
}

/** Sorts the most recently changed first, then by id. */
export function compareAges(a: Omit<ListPlace, 'pinned'>, b: Omit<ListPlace, 'pinned'>): number {
  if (a.updatedAt !== b.updatedAt) return b.updatedAt - a.updatedAt
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}

export function writeCursor({ pinned, updatedAt, id }: ListPlace): string {
  return Buffer.from(JSON.stringify([pinned ? 1 : 0, updatedAt, id])).toString('base64url')
}

export function readCursor(cursor: string): ListPlace {
  const place = parsePlace(Buffer.from(cursor, 'base64url').toString())
  if (!place)
    throw new ParleyError(
      'validation_error',
      'The cursor is invalid. Use one that a list of sessions returned.',
    )
  return place
}

function parsePlace(text: string): ListPlace | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!Array.isArray(value) || value.length !== 3) return undefined
    const [pinned, updatedAt, id]: unknown[] = value
    if ((pinned !== 0 && pinned !== 1) || typeof updatedAt !== 'number' || typeof id !== 'string')
      return undefined
    return { pinned: pinned === 1, updatedAt, id }
  } catch {
    return undefined
  }
}

/** The text that `q` is searched in. A search word has no white space, so it cannot match across two fields. */
export function searchText(state: SessionState): string {
  return `${state.title}\n${state.cwd}\n${state.agent}`.toLowerCase()
}

/**
 * True if the limits permit a session of a store that records no places. A limit to a folder at a place permits no
 * session of such a store.
 */
export function isWithinLimits(
  { sessions, agents, folders }: Limits,
  { id, agent, cwd }: Pick<SessionState, 'id' | 'agent' | 'cwd'>,
): boolean {
  const contains = (folder: string) =>
    cwd === folder || cwd.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
  return (
    sessions?.includes(id) !== false &&
    agents?.includes(agent) !== false &&
    folders?.some(({ folder, place }) => place === undefined && contains(folder)) !== false
  )
}

export function searchWords(q: string | undefined): string[] {
  return (q ?? '').toLowerCase().split(/\s+/).filter(Boolean)
}

/** The agent's own id of the conversation that a session continues. */
export function conversationOf({ connection, forkPending }: SessionState): string | undefined {
  return forkPending ? undefined : connection?.agentSessionId
}

export function isUnsettled(state: SessionState): boolean {
  const { turn, queue, connected, tasks, worktree, round, checks } = state
  const waits = queue.some(({ paused }) => !paused) || tasks.some(({ parked }) => parked)
  const isWorking = isWorktreeUnderWay(worktree) || dueRestore(state) !== undefined
  const hasSteps = round?.pick?.due === true || checks?.running !== undefined
  return turn !== undefined || connected || waits || isWorking || hasSteps
}

/** The state with the project that the store has added; the state of an older session does not contain it. */
export function withProject(state: SessionState, project: string | null | undefined): SessionState {
  return state.project !== undefined || typeof project !== 'string' ? state : { ...state, project }
}

/** Sorts the settings of projects into the order that every store returns. */
export function inSettingOrder(settings: readonly StoredProjectSetting[]): StoredProjectSetting[] {
  const key = ({ project, place = '', field }: StoredProjectSetting) =>
    JSON.stringify([project, place, field])
  return settings.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}
