import type { AlertStore, ClaimedDelivery, TargetRecord } from '../core/alert-store.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { parseRow } from './sqlite-failure.ts'

/** Alerts in a SQLite file. Pages connect only to this process, so the presence of people is kept in memory. */
export function createSqliteAlerts(database: SqliteDatabase): AlertStore {
  return {
    ...targetMethods(database),
    ...searchMethods(database),
    ...deliveryMethods(database),
    ...createPresence(),
    ...keyMethods(database),
  }
}

export type TargetRow = { id: string; data: string; createdAt: number; last: string | null }

function targetMethods(
  database: SqliteDatabase,
): Pick<AlertStore, 'targets' | 'putTarget' | 'removeTarget' | 'noteTarget'> {
  const select = database.prepare(
    'SELECT id, data, created_at AS createdAt, last FROM alert_targets ORDER BY number',
  )
  const upsert = database.prepare(
    `INSERT INTO alert_targets (id, data, created_at, last) VALUES (?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET data = excluded.data`,
  )
  const remove = database.prepare('DELETE FROM alert_targets WHERE id = ?')
  const removeDeliveries = database.prepare('DELETE FROM alert_deliveries WHERE target = ?')
  const note = database.prepare('UPDATE alert_targets SET last = ? WHERE id = ?')
  return {
    targets: async () => database.read(() => (select.all() as TargetRow[]).map(targetOf)),
    async putTarget({ id, data, createdAt, last }) {
      const row = [id, JSON.stringify(data), createdAt, last ? JSON.stringify(last) : null]
      database.write(() => upsert.run(...row))
    },
    removeTarget: async (id) =>
      database.write(() => {
        removeDeliveries.run(id)
        return Number(remove.run(id).changes) > 0
      }),
    noteTarget: async (id, last) => {
      database.write(() => note.run(JSON.stringify(last), id))
    },
  }
}

export function targetOf({ id, data, createdAt, last }: TargetRow): TargetRecord {
  const what = `the target ${id}`
  return {
    id,
    data: parseRow<TargetRecord['data']>(data, what),
    createdAt,
    ...(last !== null && { last: parseRow<TargetRecord['data']>(last, what) }),
  }
}

function searchMethods(
  database: SqliteDatabase,
): Pick<AlertStore, 'alertCursor' | 'addAlerts' | 'sessionsToSearch'> {
  const select = database.prepare('SELECT seq FROM alert_cursors WHERE session = ?')
  const move = database.prepare(
    'INSERT INTO alert_cursors VALUES (?, ?) ON CONFLICT (session) DO UPDATE SET seq = excluded.seq',
  )
  const insert = database.prepare(
    `INSERT INTO alert_deliveries (target, alert, session, subject, body, next_at, expires_at)
     SELECT ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM alert_targets WHERE id = ?)
     ON CONFLICT (target, alert) DO NOTHING`,
  )
  const behind = database.prepare(
    `SELECT s.id FROM sessions s LEFT JOIN alert_cursors c ON c.session = s.id
     WHERE s.updated_at > ? AND coalesce(c.seq, 0) < (
       SELECT max(id) - (s.key << 32) FROM events WHERE id > (s.key << 32) AND id < ((s.key + 1) << 32))`,
  )
  const epochs = database.prepare('SELECT 1 FROM sessions WHERE id = ? AND epoch = ?')
  const cursor = (sessionId: string) => (select.get(sessionId) as { seq: number } | undefined)?.seq
  return {
    alertCursor: async (sessionId) => database.read(() => cursor(sessionId)),
    addAlerts: async ({ session, from, to, epoch, deliveries }) =>
      database.write(() => {
        if (cursor(session) !== from) return false
        if (epoch !== undefined && !epochs.get(session, epoch)) return false
        move.run(session, to)
        for (const { target, alert, subject, body, nextAt, expiresAt } of deliveries)
          insert.run(target, alert, session, subject, body, nextAt, expiresAt, target)
        return true
      }),
    sessionsToSearch: async (since) =>
      database.read(() => (behind.all(since) as { id: string }[]).map(({ id }) => id)),
  }
}

export type DeliveryRow = Omit<ClaimedDelivery, 'isSuperseded' | 'followsSent'> & {
  isSuperseded: number
  followsSent: number
}

/** The columns of a claimed delivery. `d` is its row. */
export const claimedColumns = `d.target, d.alert, d.subject, d.body, d.attempts, d.expires_at AS "expiresAt",
  EXISTS (SELECT 1 FROM alert_deliveries o WHERE o.subject = d.subject AND o.target = d.target
    AND o.number > d.number) AS "isSuperseded",
  EXISTS (SELECT 1 FROM alert_deliveries o WHERE o.subject = d.subject AND o.target = d.target
    AND o.number < d.number AND o.sent = 1) AS "followsSent"`

/** True if no earlier delivery to the same target with the same subject is pending. `d` is the row of the delivery. */
export const isFirst = `NOT EXISTS (SELECT 1 FROM alert_deliveries o WHERE o.subject = d.subject
  AND o.target = d.target AND o.number < d.number AND o.done_at IS NULL)`

type DeliveryMethods = Pick<
  AlertStore,
  'claimDeliveries' | 'releaseDeliveries' | 'settleDelivery' | 'nextDelivery' | 'pruneDeliveries'
>

function deliveryMethods(database: SqliteDatabase): DeliveryMethods {
  const due = database.prepare(
    `SELECT d.number FROM alert_deliveries d WHERE d.done_at IS NULL AND d.next_at <= ?
       AND coalesce(d.claimed_until, 0) <= ? AND ${isFirst} ORDER BY d.next_at, d.number LIMIT ?`,
  )
  const claim = database.prepare(
    'UPDATE alert_deliveries SET claimed_until = ?, attempts = attempts + 1 WHERE number = ?',
  )
  const select = database.prepare(`SELECT ${claimedColumns} FROM alert_deliveries d WHERE d.number = ?`)
  const release = database.prepare(
    'UPDATE alert_deliveries SET claimed_until = NULL WHERE claimed_until IS NOT NULL',
  )
  const finish = database.prepare(
    `UPDATE alert_deliveries SET done_at = ?, sent = ?, body = '', claimed_until = NULL
     WHERE target = ? AND alert = ?`,
  )
  const retry = database.prepare(
    `UPDATE alert_deliveries SET next_at = ?, attempts = ?, claimed_until = NULL
     WHERE target = ? AND alert = ? AND done_at IS NULL`,
  )
  const next = database.prepare(
    `SELECT min(max(d.next_at, coalesce(d.claimed_until, 0))) AS at FROM alert_deliveries d
     WHERE d.done_at IS NULL AND ${isFirst}`,
  )
  const prune = database.prepare('DELETE FROM alert_deliveries WHERE done_at < ? OR expires_at < ?')
  return {
    claimDeliveries: async ({ now, until, limit }) =>
      database.write(() =>
        (due.all(now, now, limit) as { number: number }[]).map(({ number }) => {
          claim.run(until, number)
          const row = select.get(number) as DeliveryRow
          return { ...row, isSuperseded: row.isSuperseded === 1, followsSent: row.followsSent === 1 }
        }),
      ),
    releaseDeliveries: async () => {
      database.write(() => release.run())
    },
    settleDelivery: async (target, alert, outcome) => {
      database.write(() =>
        outcome.done
          ? finish.run(outcome.at, outcome.sent ? 1 : 0, target, alert)
          : retry.run(outcome.nextAt, outcome.attempts, target, alert),
      )
    },
    nextDelivery: async () =>
      database.read(() => (next.get() as { at: number | null } | undefined)?.at ?? undefined),
    pruneDeliveries: async (before) => {
      database.write(() => prune.run(before, before))
    },
  }
}

/** The visible pages, for a store that only one process uses. */
export function createPresence(): Pick<AlertStore, 'setPresence' | 'visiblePages'> {
  const pages = new Map<string, { readonly personId: string; readonly until: number }>()
  return {
    async setPresence(page, personId, until) {
      if (until === undefined) pages.delete(page)
      else pages.set(page, { personId, until })
    },
    visiblePages: async (personId, now) =>
      [...pages].flatMap(([page, one]) => (one.personId === personId && one.until > now ? [page] : [])),
  }
}

function keyMethods(database: SqliteDatabase): Pick<AlertStore, 'pushKey'> {
  const select = database.prepare("SELECT value FROM alert_keys WHERE name = 'push'")
  const insert = database.prepare("INSERT INTO alert_keys VALUES ('push', ?)")
  return {
    pushKey: async (make) =>
      database.write(() => {
        const known = select.get() as { value: string } | undefined
        if (known) return known.value
        const value = make()
        insert.run(value)
        return value
      }),
  }
}

/** Deletes the alerts of a session that are not sent yet: they can contain a text that is being redacted. */
export function createUnsentRemoval(database: SqliteDatabase): (sessionId: string) => void {
  const remove = database.prepare('DELETE FROM alert_deliveries WHERE session = ? AND done_at IS NULL')
  return (sessionId) => void remove.run(sessionId)
}

/** Deletes the cursor and the deliveries of a session, in the transaction that deletes the session. */
export function createAlertRemoval(database: SqliteDatabase): (sessionId: string) => void {
  const statements = ['alert_cursors', 'alert_deliveries'].map((table) =>
    database.prepare(`DELETE FROM ${table} WHERE session = ?`),
  )
  return (sessionId) => {
    for (const statement of statements) statement.run(sessionId)
  }
}
