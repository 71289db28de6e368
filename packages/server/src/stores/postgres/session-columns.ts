import type { SessionState } from '@parley/protocol'
import { conversationOf, isUnsettled, searchText, withProject } from '../session-listing.ts'

/** The columns of a session's row that are made from its state, with their types. */
const columns = {
  agent: 'text',
  status: 'text',
  archived: 'boolean',
  pinned: 'boolean',
  unsettled: 'boolean',
  waiting_since: 'bigint',
  updated_at: 'bigint',
  agent_session_id: 'text',
  search: 'text',
  state: 'text',
} as const

export const stateColumns = Object.keys(columns).join(', ')
export const stateColumnCount = Object.keys(columns).length

/** The values of `stateColumns`, as parameters from number `first` on. */
export function stateParameters(first: number): string {
  return Object.values(columns)
    .map((type, index) => `$${first + index}::${type}`)
    .join(', ')
}

export function stateValues(state: SessionState) {
  return [
    safeText(state.agent),
    state.status,
    state.archived,
    state.pinned,
    isUnsettled(state),
    state.requests[0]?.at ?? null,
    state.updatedAt,
    safeOrNull(conversationOf(state)),
    searchable(searchText(state)),
    JSON.stringify(state),
  ] as const
}

/**
 * Encodes a text so that PostgreSQL can store it: lone surrogates and zero characters are escaped. Different texts have
 * different encodings. Ids can come from an agent, so they can contain anything.
 */
export function safeText(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

export function safeOrNull(text: string | undefined): string | null {
  return text === undefined ? null : safeText(text)
}

/** Reverses `safeText`: returns the original text. */
export function original(safe: string): string {
  return JSON.parse(`"${safe}"`) as string
}

/** The state in a row, with the project in the row. */
export function parseState({ state, project }: { state: string; project: string | null }): SessionState {
  return withProject(JSON.parse(state) as SessionState, project === null ? null : original(project))
}

/** Text for searching. Characters that PostgreSQL cannot store are replaced. */
export function searchable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** True if the place of a session has no node that is alive. */
export const isAwaited = `(place IS NOT NULL AND place NOT IN
  (SELECT n.place FROM nodes n WHERE n.fenced_at IS NULL)) AS "isAwaited"`
