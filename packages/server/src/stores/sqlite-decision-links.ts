import type { DecisionLinkRecord, DecisionLinkStore } from '../core/decision-link-store.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { parseRow } from './sqlite-failure.ts'

export function createSqliteDecisionLinks(database: SqliteDatabase): DecisionLinkStore {
  const insert = database.prepare(
    `INSERT INTO decide_links (id, hash, session, request, slot, input_hash, decisions, name, created_by, created_at,
       expires_at, used_at, revoked_at)
     SELECT ?1, ?2, ?3, ?4, coalesce(max(slot), 0) + 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
     FROM decide_links WHERE session = ?3 AND request = ?4 HAVING coalesce(max(slot), 0) < ?13`,
  )
  const selectOne = database.prepare(`SELECT ${linkColumns} FROM decide_links WHERE hash = ?`)
  const selectUnrevoked = database.prepare(
    `SELECT ${linkColumns} FROM decide_links
     WHERE revoked_at IS NULL AND expires_at > ? ORDER BY number`,
  )
  const use = database.prepare(
    `UPDATE decide_links SET used_at = ?1
     WHERE hash = ?2 AND used_at IS NULL AND revoked_at IS NULL AND expires_at > ?1`,
  )
  const release = database.prepare('UPDATE decide_links SET used_at = NULL WHERE hash = ?')
  const revoke = database.prepare(
    'UPDATE decide_links SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL',
  )
  const prune = database.prepare('DELETE FROM decide_links WHERE expires_at < ?')
  const hasChanged = (change: () => { changes: number | bigint }) =>
    database.write(() => Number(change().changes) > 0)
  return {
    addDecisionLink: async (link, most) => hasChanged(() => insert.run(...linkValues(link), most)),
    async decisionLink(hash) {
      const row = database.read(() => selectOne.get(hash)) as LinkRow | undefined
      return row && linkOf(row)
    },
    unrevokedDecisionLinks: async (now) =>
      database.read(() => (selectUnrevoked.all(now) as LinkRow[]).map((row) => linkOf(row))),
    useDecisionLink: async (hash, at) => hasChanged(() => use.run(at, hash)),
    releaseDecisionLink: async (hash) => {
      database.write(() => release.run(hash))
    },
    revokeDecisionLink: async (id, at) => hasChanged(() => revoke.run(at, id)),
    pruneDecisionLinks: async (before) => {
      database.write(() => prune.run(before))
    },
  }
}

export const linkColumns = `id, hash, session, request, input_hash AS "inputHash", decisions, name,
  created_by AS "createdBy", created_at AS "createdAt", expires_at AS "expiresAt", used_at AS "usedAt",
  revoked_at AS "revokedAt"`

/** A row of the table `decide_links`. */
export type LinkRow = Omit<DecisionLinkRecord, 'decisions' | 'createdBy' | 'usedAt' | 'revokedAt'> & {
  readonly decisions: string
  readonly createdBy: string
  readonly usedAt: number | null
  readonly revokedAt: number | null
}

/** The values of a row, in the order of the parameters of the statement that adds it. */
export function linkValues(link: DecisionLinkRecord): (string | number | null)[] {
  const { id, hash, session, request, inputHash, decisions, name, createdBy } = link
  const { createdAt, expiresAt, usedAt = null, revokedAt = null } = link
  const texts = [id, hash, session, request, inputHash]
  return [
    ...[...texts, JSON.stringify(decisions), JSON.stringify(name), JSON.stringify(createdBy)],
    ...[createdAt, expiresAt, usedAt, revokedAt],
  ]
}

export function linkOf(row: LinkRow): DecisionLinkRecord {
  const { decisions, name, createdBy, usedAt, revokedAt, ...rest } = row
  const what = `the link ${row.id}`
  return {
    ...rest,
    decisions: parseRow<DecisionLinkRecord['decisions']>(decisions, what),
    name: parseRow<string>(name, what),
    createdBy: parseRow<DecisionLinkRecord['createdBy']>(createdBy, what),
    ...(usedAt !== null && { usedAt }),
    ...(revokedAt !== null && { revokedAt }),
  }
}

/** Deletes the links of a session, in the transaction that deletes the session or redacts an event. */
export function createLinkRemoval(database: SqliteDatabase): (sessionId: string) => void {
  const remove = database.prepare('DELETE FROM decide_links WHERE session = ?')
  return (sessionId) => void remove.run(sessionId)
}
