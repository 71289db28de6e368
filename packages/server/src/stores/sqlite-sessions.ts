import { type SessionState, summarise } from '@parley/protocol'
import type { CreateBatch, SessionPage, SessionQuery } from '../core/session-store.ts'
import {
  conversationOf,
  isUnsettled,
  readCursor,
  searchText,
  searchWords,
  withProject,
  writeCursor,
} from './session-listing.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { limitConditions } from './sqlite-limits.ts'

/** The key of a new session. It is larger than the keys of sessions whose events are still being deleted. */
const nextKey = `1 + max(
  coalesce((SELECT max(key) FROM sessions), 0), coalesce((SELECT max(session_key) FROM deletions), 0))`

type StateRow = SessionRow & { state: string; project: string | null }

export type SessionRow = { readonly key: number; readonly id: string; readonly epoch: string }

/** The rows of `sessions`: the stored state, and the columns that list queries use. */
export function createSqliteSessions(
  database: SqliteDatabase,
  /** Rebuilds the state of a session whose stored state cannot be read. */
  rebuilt: (row: SessionRow) => SessionState,
) {
  const parsed = ({ state, ...row }: StateRow): SessionState => {
    try {
      return JSON.parse(state) as SessionState
    } catch {
      return rebuilt(row)
    }
  }
  const parseState = (row: StateRow) => withProject(parsed(row), row.project)

  const insert = database.prepare(
    `INSERT INTO sessions (agent, status, archived, pinned, unsettled, waiting_since, updated_at, search, state,
     agent_session_id, id, epoch, project, folder, round, key)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${nextKey})`,
  )
  const update = database.prepare(
    `UPDATE sessions SET agent = ?, status = ?, archived = ?, pinned = ?, unsettled = ?, waiting_since = ?,
     updated_at = ?, search = ?, state = ?, agent_session_id = ? WHERE key = ?`,
  )
  const selectKey = database.prepare('SELECT key FROM sessions WHERE id = ?')
  const select = database.prepare('SELECT key, id, epoch, project, state FROM sessions WHERE key = ?')
  const selectUnsettled = database.prepare('SELECT id FROM sessions WHERE unsettled = 1 ORDER BY id')
  const selectWaiting = database.prepare(
    'SELECT key, id, epoch, project, state FROM sessions WHERE waiting_since IS NOT NULL ORDER BY waiting_since, id',
  )
  const selectConversation = database.prepare(
    `SELECT id FROM sessions WHERE agent_session_id = ? AND agent = ? ORDER BY updated_at DESC, id LIMIT 1`,
  )
  const updateEpoch = database.prepare('UPDATE sessions SET epoch = ? WHERE key = ?')
  const remove = database.prepare('DELETE FROM sessions WHERE key = ?')

  return {
    insert({ sessionId, epoch, state }: CreateBatch): number {
      const { project = null, cwd, round } = state
      const of = [project, cwd, round?.id ?? null]
      return Number(insert.run(...columns(state), sessionId, epoch, ...of).lastInsertRowid)
    },
    update(key: number, state: SessionState): void {
      update.run(...columns(state), key)
    },
    beginEpoch(key: number, epoch: string): void {
      updateEpoch.run(epoch, key)
    },
    key(sessionId: string): number | undefined {
      return (selectKey.get(sessionId) as { key: number } | undefined)?.key
    },
    load(key: number): { epoch: string; state: SessionState } {
      const row = select.get(key) as StateRow
      return { epoch: row.epoch, state: parseState(row) }
    },
    list(query: SessionQuery): SessionPage {
      const { where, values } = conditions(query)
      const statement = database.prepare(
        `SELECT key, id, epoch, project, state FROM sessions ${where} ORDER BY pinned DESC, updated_at DESC, id LIMIT ?`,
      )
      const found = (statement.all(...values, query.limit + 1) as StateRow[]).map(parseState)
      const page = found.slice(0, query.limit)
      const last = page.at(-1)
      return {
        sessions: page.map(summarise),
        ...(last && found.length > query.limit && { cursor: writeCursor(last) }),
      }
    },
    ofConversations(agent: string, agentSessionIds: readonly string[]): Map<string, string> {
      const found = new Map<string, string>()
      for (const agentSessionId of agentSessionIds) {
        const row = selectConversation.get(agentSessionId, agent) as { id: string } | undefined
        if (row) found.set(agentSessionId, row.id)
      }
      return found
    },
    unsettled(): string[] {
      return (selectUnsettled.all() as { id: string }[]).map(({ id }) => id)
    },
    waiting(): SessionState[] {
      return (selectWaiting.all() as StateRow[]).map(parseState)
    },
    remove(key: number): void {
      remove.run(key)
    },
  }
}

/** The values of a session's columns, in the order in which `insert` and `update` name the columns. */
function columns(state: SessionState) {
  return [
    state.agent,
    state.status,
    Number(state.archived),
    Number(state.pinned),
    Number(isUnsettled(state)),
    state.requests[0]?.at ?? null,
    state.updatedAt,
    searchText(state),
    JSON.stringify(state),
    conversationOf(state) ?? null,
  ] as const
}

function conditions({ q, agent, status, archived, project, inRound, within, cursor }: SessionQuery) {
  const terms: string[] = []
  const values: (string | number)[] = []
  const add = (term: string, ...given: (string | number)[]) => {
    terms.push(term)
    values.push(...given)
  }
  if (cursor !== undefined) {
    const { pinned, updatedAt, id } = readCursor(cursor)
    const flag = Number(pinned)
    add(
      'pinned <= ? AND (pinned < ? OR updated_at < ? OR (updated_at = ? AND id > ?))',
      flag,
      flag,
      updatedAt,
      updatedAt,
      id,
    )
  }
  if (agent !== undefined) add('agent = ?', agent)
  if (status !== undefined) add('status = ?', status)
  if (archived !== undefined) add('archived = ?', Number(archived))
  if (project !== undefined) add('project = ?', project.project)
  if (inRound) add('round IS NOT NULL')
  for (const condition of within ? limitConditions(within) : []) add(...condition)
  for (const word of searchWords(q)) add('instr(search, ?) > 0', word)
  return { where: terms.length > 0 ? `WHERE ${terms.join(' AND ')}` : '', values }
}
