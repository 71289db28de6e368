import { type SessionSummary, summarise } from '@parley/protocol'
import type { SessionQuery, SessionStore } from '../../core/session-store.ts'
import { readCursor, searchWords, writeCursor } from '../session-listing.ts'
import type { PostgresDatabase } from './database.ts'
import { limitConditions } from './limits.ts'
import { isAwaited, parseState, safeText, searchable } from './session-columns.ts'

type ListMethods = Pick<SessionStore, 'list' | 'sessionsOf' | 'unsettled' | 'waiting'>

/** Lists the sessions from the columns of their rows. */
export function createPostgresSessions(database: PostgresDatabase): ListMethods {
  return {
    async list(query) {
      const { where, values } = conditions(query)
      const rows = await database.read<ListedRow>(
        `SELECT state, project, place, ${isAwaited} FROM sessions ${where} ORDER BY pinned DESC, updated_at DESC, id LIMIT $1`,
        [query.limit + 1, ...values],
      )
      const sessions = rows.slice(0, query.limit).map(summaryOf)
      const last = sessions.at(-1)
      return {
        sessions,
        ...(last && rows.length > query.limit && { cursor: writeCursor(last) }),
      }
    },
    async sessionsOf(agent, agentSessionIds) {
      const names = new Map(agentSessionIds.map((id) => [safeText(id), id]))
      const rows = await database.read<StoredRow & { conversation: string }>(
        `SELECT DISTINCT ON (agent_session_id) agent_session_id AS conversation, state, project FROM sessions
         WHERE agent_session_id = ANY ($1::text[]) AND agent = $2
         ORDER BY agent_session_id, updated_at DESC, id`,
        [[...names.keys()], safeText(agent)],
      )
      return new Map(rows.map((row) => [names.get(row.conversation) ?? '', parseState(row).id]))
    },
    async unsettled() {
      const rows = await database.read<StoredRow>(
        'SELECT state, project FROM sessions WHERE unsettled ORDER BY id',
      )
      return rows.map((row) => parseState(row).id)
    },
    async waiting() {
      const rows = await database.read<StoredRow>(
        'SELECT state, project FROM sessions WHERE waiting_since IS NOT NULL ORDER BY waiting_since, id',
      )
      return rows.map(parseState)
    },
  }
}

type StoredRow = { readonly state: string; readonly project: string | null }
type ListedRow = StoredRow & { readonly place: string | null; readonly isAwaited: boolean }

function summaryOf({ place, isAwaited, ...row }: ListedRow): SessionSummary {
  const where = place === null ? {} : { place, ...(isAwaited && { awaits: place }) }
  return { ...summarise(parseState(row)), ...where }
}

const columns = { id: 'id', agent: 'agent', folder: 'folder', place: 'place' }

/** The SQL condition of a list query. Its parameters begin with number 2. */
function conditions({ q, agent, status, archived, project, inRound, within, cursor }: SessionQuery) {
  const terms: string[] = []
  const values: (string | number | boolean)[] = []
  const add = (value: string | number | boolean) => `$${values.push(value) + 1}`
  if (cursor !== undefined) {
    const { pinned, updatedAt, id } = readCursor(cursor)
    const [p, u, i] = [`${add(pinned)}::boolean`, `${add(updatedAt)}::bigint`, add(safeText(id))]
    terms.push(`pinned <= ${p} AND (pinned < ${p} OR updated_at < ${u} OR (updated_at = ${u} AND id > ${i}))`)
  }
  if (agent !== undefined) terms.push(`agent = ${add(safeText(agent))}`)
  if (status !== undefined) terms.push(`status = ${add(status)}`)
  if (archived !== undefined) terms.push(`archived = ${add(archived)}::boolean`)
  if (project !== undefined) {
    terms.push(`project = ${add(safeText(project.project))}`)
    terms.push(project.place === undefined ? 'place IS NULL' : `place = ${add(project.place)}`)
  }
  if (inRound) terms.push('round IS NOT NULL')
  if (within) terms.push(...limitConditions(within, columns, add))
  for (const word of searchWords(q)) terms.push(`strpos(search, ${add(searchable(word))}) > 0`)
  return { where: terms.length > 0 ? `WHERE ${terms.join(' AND ')}` : '', values }
}
