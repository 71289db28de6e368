import type { AlertStore } from '../../core/alert-store.ts'
import { claimedColumns, isFirst, type TargetRow, targetOf } from '../sqlite-alerts.ts'
import type { PostgresDatabase } from './database.ts'
import { original, safeText } from './session-columns.ts'

export function createPostgresAlerts(database: PostgresDatabase): AlertStore {
  return {
    ...targetMethods(database),
    ...searchMethods(database),
    ...deliveryMethods(database),
    ...presenceMethods(database),
    async pushKey(make) {
      await database.query(
        "INSERT INTO alert_keys (name, value) VALUES ('push', $1) ON CONFLICT (name) DO NOTHING",
        [make()],
      )
      const [row] = await database.read<{ value: string }>("SELECT value FROM alert_keys WHERE name = 'push'")
      return row?.value ?? ''
    },
  }
}

function targetMethods(
  database: PostgresDatabase,
): Pick<AlertStore, 'targets' | 'putTarget' | 'removeTarget' | 'noteTarget'> {
  return {
    async targets() {
      const rows = await database.read<TargetRow>(
        'SELECT id, data, created_at AS "createdAt", last FROM alert_targets ORDER BY number',
      )
      return rows.map((row) => targetOf({ ...row, id: original(row.id) }))
    },
    async putTarget({ id, data, createdAt, last }) {
      await database.query(
        `INSERT INTO alert_targets (id, data, created_at, last) VALUES ($1, $2, $3, $4)
         ON CONFLICT (id) DO UPDATE SET data = excluded.data`,
        [safeText(id), JSON.stringify(data), createdAt, last ? JSON.stringify(last) : null],
      )
    },
    async removeTarget(id) {
      const rows = await database.query(
        `WITH d AS (DELETE FROM alert_deliveries WHERE target = $1)
         DELETE FROM alert_targets WHERE id = $1 RETURNING 1`,
        [safeText(id)],
      )
      return rows.length > 0
    },
    async noteTarget(id, last) {
      await database.query('UPDATE alert_targets SET last = $2 WHERE id = $1', [
        safeText(id),
        JSON.stringify(last),
      ])
    },
  }
}

function searchMethods(
  database: PostgresDatabase,
): Pick<AlertStore, 'alertCursor' | 'addAlerts' | 'sessionsToSearch'> {
  return {
    async alertCursor(sessionId) {
      const [row] = await database.read<{ seq: number }>('SELECT seq FROM alert_cursors WHERE session = $1', [
        safeText(sessionId),
      ])
      return row?.seq
    },
    async addAlerts({ session, from, to, epoch, deliveries }) {
      const rows = await database.query(
        `WITH searched AS MATERIALIZED (SELECT 1 FROM sessions WHERE id = $1 AND epoch = $10 FOR SHARE),
         moved AS (
           INSERT INTO alert_cursors (session, seq)
           SELECT $1, $2::bigint WHERE $10::text IS NULL OR EXISTS (SELECT FROM searched)
           ON CONFLICT (session) DO UPDATE SET seq = excluded.seq WHERE alert_cursors.seq = $3::bigint
           RETURNING 1),
         given AS (
           SELECT * FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[])
             WITH ORDINALITY AS t (target, alert, subject, body, next_at, expires_at, place)),
         added AS (
           INSERT INTO alert_deliveries (target, alert, session, subject, body, next_at, expires_at)
           SELECT target, alert, $1, subject, body, next_at, expires_at FROM given
           WHERE EXISTS (SELECT FROM moved) AND target IN (SELECT id FROM alert_targets)
           ORDER BY place
           ON CONFLICT (target, alert) DO NOTHING)
         SELECT 1 FROM moved`,
        [
          safeText(session),
          to,
          from ?? null,
          deliveries.map(({ target }) => safeText(target)),
          deliveries.map(({ alert }) => safeText(alert)),
          deliveries.map(({ subject }) => safeText(subject)),
          deliveries.map(({ body }) => safeText(body)),
          deliveries.map(({ nextAt }) => nextAt),
          deliveries.map(({ expiresAt }) => expiresAt),
          epoch ?? null,
        ],
      )
      return rows.length > 0
    },
    async sessionsToSearch(since) {
      const rows = await database.read<{ id: string }>(
        `SELECT s.id FROM sessions s LEFT JOIN alert_cursors c ON c.session = s.id
         WHERE s.updated_at > $1 AND s.head > coalesce(c.seq, 0)
           AND NOT EXISTS (SELECT FROM nodes n WHERE n.id = s.owner AND n.fenced_at IS NULL)`,
        [since],
      )
      return rows.map(({ id }) => original(id))
    },
  }
}

type ClaimedRow = {
  target: string
  alert: string
  subject: string
  body: string
  attempts: number
  expiresAt: number
  isSuperseded: boolean
  followsSent: boolean
}

type DeliveryMethods = Pick<
  AlertStore,
  'claimDeliveries' | 'releaseDeliveries' | 'settleDelivery' | 'nextDelivery' | 'pruneDeliveries'
>

function deliveryMethods(database: PostgresDatabase): DeliveryMethods {
  return {
    async claimDeliveries({ now, until, limit }) {
      const rows = await database.query<ClaimedRow>(
        `WITH due AS MATERIALIZED (
           SELECT d.number FROM alert_deliveries d WHERE d.done_at IS NULL AND d.next_at <= $1
             AND coalesce(d.claimed_until, 0) <= $1 AND ${isFirst}
           ORDER BY d.next_at, d.number LIMIT $3 FOR UPDATE SKIP LOCKED),
         claimed AS (
           UPDATE alert_deliveries d SET claimed_until = $2, attempts = d.attempts + 1
           FROM due WHERE d.number = due.number RETURNING d.*)
         SELECT ${claimedColumns} FROM claimed d ORDER BY d.next_at, d.number`,
        [now, until, limit],
      )
      return rows.map(({ target, alert, subject, body, ...rest }) => ({
        target: original(target),
        alert: original(alert),
        subject: original(subject),
        body: original(body),
        ...rest,
      }))
    },
    async releaseDeliveries() {
      await database.query('UPDATE alert_deliveries SET claimed_until = NULL WHERE claimed_until IS NOT NULL')
    },
    async settleDelivery(target, alert, outcome) {
      const key = [safeText(target), safeText(alert)]
      if (outcome.done)
        await database.query(
          `UPDATE alert_deliveries SET done_at = $3, sent = $4, body = '', claimed_until = NULL
           WHERE target = $1 AND alert = $2`,
          [...key, outcome.at, outcome.sent ? 1 : 0],
        )
      else
        await database.query(
          `UPDATE alert_deliveries SET next_at = $3, attempts = $4, claimed_until = NULL
           WHERE target = $1 AND alert = $2 AND done_at IS NULL`,
          [...key, outcome.nextAt, outcome.attempts],
        )
    },
    async nextDelivery() {
      const [row] = await database.read<{ at: number | null }>(
        `SELECT min(greatest(d.next_at, coalesce(d.claimed_until, 0))) AS at FROM alert_deliveries d
         WHERE d.done_at IS NULL AND ${isFirst}`,
      )
      return row?.at ?? undefined
    },
    async pruneDeliveries(before) {
      await database.query(
        `WITH p AS (DELETE FROM alert_presences WHERE until < $1)
         DELETE FROM alert_deliveries WHERE done_at < $1 OR expires_at < $1`,
        [before],
      )
    },
  }
}

function presenceMethods(database: PostgresDatabase): Pick<AlertStore, 'setPresence' | 'visiblePages'> {
  return {
    async setPresence(page, personId, until) {
      if (until === undefined)
        await database.query('DELETE FROM alert_presences WHERE page = $1', [safeText(page)])
      else
        await database.query(
          `INSERT INTO alert_presences (page, person, until) VALUES ($1, $2, $3)
           ON CONFLICT (page) DO UPDATE SET person = excluded.person, until = excluded.until`,
          [safeText(page), safeText(personId), until],
        )
    },
    async visiblePages(personId, now) {
      const rows = await database.read<{ page: string }>(
        'SELECT page FROM alert_presences WHERE person = $1 AND until > $2',
        [safeText(personId), now],
      )
      return rows.map(({ page }) => original(page))
    },
  }
}
