import type { DeviceStore } from '../../core/device-store.ts'
import type { SessionStore } from '../../core/session-store.ts'
import { PostgresDatabase, type PostgresOptions } from './database.ts'
import { PostgresLogs } from './logs.ts'
import { createPostgresSessions } from './sessions.ts'
import { createPostgresSettings } from './settings.ts'

export type PostgresStore = SessionStore & DeviceStore

/** Keeps sessions in a PostgreSQL database. Rejects with a ParleyError if it cannot be opened. */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const database = await PostgresDatabase.open(options)
  const logs = new PostgresLogs(database)
  // Resumes deletions that an earlier process did not finish. If that fails, the next start resumes them.
  void logs.finishDeletions().catch(() => undefined)
  return {
    create: (batch) => logs.create(batch),
    append: (batch) => logs.append(batch),
    read: (sessionId, range) => logs.read(sessionId, range),
    load: (sessionId) => logs.load(sessionId),
    receipt: (sessionId, commandId) => logs.receipt(sessionId, commandId),
    checkpoint: (sessionId, blocks) => logs.checkpoint(sessionId, blocks),
    checkpoints: (sessionId) => logs.checkpoints(sessionId),
    delete: (sessionId) => logs.delete(sessionId),
    ...createPostgresSessions(database),
    ...createPostgresSettings(database),
    close: () => database.close(),
  }
}
