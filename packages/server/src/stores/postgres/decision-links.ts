import type { DecisionLinkStore } from '../../core/decision-link-store.ts'
import { type LinkRow, linkColumns, linkOf, linkValues } from '../sqlite-decision-links.ts'
import type { PostgresDatabase } from './database.ts'
import { original, safeText } from './session-columns.ts'

export function createPostgresDecisionLinks(database: PostgresDatabase): DecisionLinkStore {
  const hasChanged = async (statement: string, values: readonly (string | number)[]) =>
    (await database.query(`${statement} RETURNING 1`, [...values])).length > 0
  const stored = (row: LinkRow) =>
    linkOf({
      ...row,
      id: original(row.id),
      hash: original(row.hash),
      session: original(row.session),
      request: original(row.request),
      inputHash: original(row.inputHash),
    })
  return {
    async addDecisionLink(link, most) {
      const values = linkValues(link)
      const safe = values.map((value, index) => (index < 5 ? safeText(String(value)) : value))
      // Another process may take the same slot at the same time, so a failed insert is repeated. At most `most` slots
      // can be taken.
      for (let attempt = 0; attempt <= most; attempt++) {
        if (await hasChanged(insert, [...safe, most] as (string | number)[])) return true
        const [row] = await database.query<{ slot: number }>(
          'SELECT coalesce(max(slot), 0) AS slot FROM decide_links WHERE session = $1 AND request = $2',
          [safeText(link.session), safeText(link.request)],
        )
        if ((row?.slot ?? 0) >= most) return false
      }
      return false
    },
    async decisionLink(hash) {
      const rows = await database.query<LinkRow>(`SELECT ${linkColumns} FROM decide_links WHERE hash = $1`, [
        safeText(hash),
      ])
      return rows.map(stored)[0]
    },
    async unrevokedDecisionLinks(now) {
      const rows = await database.query<LinkRow>(
        `SELECT ${linkColumns} FROM decide_links
         WHERE revoked_at IS NULL AND expires_at > $1 ORDER BY number`,
        [now],
      )
      return rows.map(stored)
    },
    useDecisionLink: (hash, at) =>
      hasChanged(
        `UPDATE decide_links SET used_at = $1
         WHERE hash = $2 AND used_at IS NULL AND revoked_at IS NULL AND expires_at > $1`,
        [at, safeText(hash)],
      ),
    async releaseDecisionLink(hash) {
      await database.query('UPDATE decide_links SET used_at = NULL WHERE hash = $1', [safeText(hash)])
    },
    revokeDecisionLink: (id, at) =>
      hasChanged('UPDATE decide_links SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL', [
        at,
        safeText(id),
      ]),
    async pruneDecisionLinks(before) {
      await database.query('DELETE FROM decide_links WHERE expires_at < $1', [before])
    },
  }
}

const insert = `
  INSERT INTO decide_links (id, hash, session, request, slot, input_hash, decisions, name, created_by, created_at,
    expires_at, used_at, revoked_at)
  SELECT $1, $2, $3, $4, coalesce(max(slot), 0) + 1, $5, $6, $7, $8, $9::bigint, $10::bigint, $11::bigint, $12::bigint
  FROM decide_links WHERE session = $3 AND request = $4 HAVING coalesce(max(slot), 0) < $13
  ON CONFLICT (session, request, slot) DO NOTHING`
