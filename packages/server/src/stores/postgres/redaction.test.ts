import { emptyState, newId } from '@parley/protocol'
import { expect, it } from 'vitest'
import { PostgresDatabase } from './database.ts'
import { openPostgresStore } from './index.ts'
import { PostgresServer } from './postgres-under-test.ts'
import { createPostgresSearch } from './search.ts'

const server = await PostgresServer.forFile()

it('a redaction removes the alerts that another process was storing when it began', async () => {
  const url = await server.database()
  const store = await openPostgresStore({ url, connections: 2 })
  const sessionId = newId('ses')
  const event = { seq: 1, json: JSON.stringify({ seq: 1, at: 1, sessionId, type: 'queue.resumed' }) }
  const state = { ...emptyState(sessionId, 'epo_1'), seq: 1, agent: 'demo', cwd: '/tmp' }
  await store.create({ sessionId, epoch: 'epo_1', events: [event], state })
  await store.putTarget({ id: 'tgt_a', data: {}, createdAt: 1 })
  let redacting: Promise<void> | undefined
  await server.admin(
    (sql) =>
      sql.begin(async (storing) => {
        await storing.unsafe('SELECT 1 FROM parley.sessions WHERE id = $1 FOR SHARE', [sessionId])
        await storing.unsafe(
          `INSERT INTO parley.alert_deliveries (target, alert, session, subject, body, next_at, expires_at)
           VALUES ('tgt_a', 'old', $1, 'subject', 'hunter2', 1, 9)`,
          [sessionId],
        )
        redacting = store.redact({ sessionId, events: [event], epoch: 'epo_2', state })
        const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while ((await server.admin((other) => other.unsafe(waits), url)).length === 0);
      }),
    url,
  )
  await redacting
  expect(await store.claimDeliveries({ now: 2, until: 3, limit: 9 })).toEqual([])
  await store.close()
})

it('words that were read before a redaction are not indexed, even if they are added while the redaction is stored', async () => {
  const url = await server.database()
  const store = await openPostgresStore({ url, connections: 2 })
  const database = await PostgresDatabase.unchanged({ url, connections: 1 })
  const index = createPostgresSearch(database)
  const session = newId('ses')
  const event = { seq: 1, json: JSON.stringify({ seq: 1, at: 1, sessionId: session, type: 'queue.resumed' }) }
  const state = { ...emptyState(session, 'epo_1'), seq: 1, agent: 'demo', cwd: '/tmp' }
  await store.create({ sessionId: session, epoch: 'epo_1', events: [event], state })
  const step = { session, agent: 'demo', folder: '/tmp', from: undefined, to: { epoch: 'epo_1', seq: 1 } }
  let isAdded: Promise<boolean> | undefined
  await server.admin(
    (sql) =>
      sql.begin(async (redacting) => {
        await redacting.unsafe("UPDATE parley.sessions SET epoch = 'epo_2' WHERE id = $1", [session])
        let isSettled = false
        isAdded = index.add({ ...step, entries: [] }).finally(() => {
          isSettled = true
        })
        const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while (!isSettled && (await server.admin((other) => other.unsafe(waits), url)).length === 0);
      }),
    url,
  )
  expect(await isAdded).toBe(false)
  await index.close()
  await database.close()
  await store.close()
})
