import { ParleyError } from '@parley/protocol'
import type { AccessStore } from '../../core/access-store.ts'
import type { AlertStore } from '../../core/alert-store.ts'
import type { DecisionLinkStore } from '../../core/decision-link-store.ts'
import type { LedgerStore } from '../../core/ledger-store.ts'
import type { SearchIndex } from '../../core/search-index.ts'
import type { SessionStore } from '../../core/session-store.ts'
import type { SharedSettings } from '../../core/shared-settings.ts'
import type { ViewedStore } from '../../core/viewed-store.ts'
import { createPostgresAlerts } from './alerts.ts'
import { PostgresDatabase, type PostgresOptions } from './database.ts'
import { createPostgresDecisionLinks } from './decision-links.ts'
import { createPostgresLedger } from './ledger.ts'
import { PostgresLogs } from './logs.ts'
import { type NodeOptions, PostgresOwnership } from './ownership.ts'
import { createPostgresProjects } from './projects.ts'
import { createPostgresSessions } from './sessions.ts'
import { createPostgresSettings } from './settings.ts'
import { createPostgresViewed } from './viewed.ts'

/**
 * The time limit for a beat to extend the lease. After this time, the beat is given up, so that the next beat uses a
 * new connection before the lease ends.
 */
const beatDeadlineMs = 1_000

export type PostgresStore = SessionStore &
  AccessStore &
  AlertStore &
  DecisionLinkStore &
  LedgerStore &
  ViewedStore
export type PostgresNode = {
  readonly store: PostgresStore
  readonly ownership: PostgresOwnership
  readonly shared: SharedSettings
  readonly searchIndex: () => Promise<SearchIndex>
}

/** Keeps sessions in a PostgreSQL database. Rejects with a ParleyError if the database cannot be opened. */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const database = await PostgresDatabase.open(options)
  return createStore(database, new PostgresLogs(database))
}

/**
 * Opens a database that several nodes share. Without a URL, this node owns nothing before `ownership.start`. Closing the
 * store also closes the ownership.
 */
export async function openPostgresNode(
  options: PostgresOptions & { node: NodeOptions },
): Promise<PostgresNode> {
  const database = await PostgresDatabase.open(options)
  try {
    if (await isUnfinished(database)) throw unfinished()
    const onRing = () => ownership.settings.look()
    const own = await PostgresDatabase.open({
      ...options,
      connections: 1,
      deadlineMs: beatDeadlineMs,
      // If a crash of PostgreSQL undoes an extension of the lease, the lease ends earlier, which is safe.
      isDurable: false,
      onRing,
    })
    const ownership = new PostgresOwnership(database, own, options.node)
    const logs = new PostgresLogs(database, () => ownership.newOwner())
    ownership.onReleased((sessionId) => logs.forget(sessionId))
    ownership.onLost(() => logs.forgetAll())
    ownership.onLost(() => ownership.settings.lost())
    const store = createStore(database, logs)
    const close = async () => {
      await ownership.close()
      await database.close()
    }
    const { url } = options.node
    if (url !== undefined)
      await ownership.start(url).catch(async (thrown) => {
        await ownership.close()
        throw thrown
      })
    const shared = ownership.settings
    const searchIndex = async () => (await import('./search.ts')).createPostgresSearch(database)
    return { store: { ...store, shared, close }, ownership, shared, searchIndex }
  } catch (thrown) {
    await database.close()
    throw thrown
  }
}

export function createStore(database: PostgresDatabase, logs: PostgresLogs): PostgresStore {
  // Resumes deletions that an earlier process did not finish. If that fails, the next start resumes them.
  void logs.finishDeletions().catch(() => undefined)
  return {
    create: (batch) => logs.create(batch),
    append: (batch) => logs.append(batch),
    read: (sessionId, range) => logs.read(sessionId, range),
    load: (sessionId) => logs.load(sessionId),
    receipt: (sessionId, commandId) => logs.receipt(sessionId, commandId),
    checkpoint: (sessionId, blocks, term) => logs.checkpoint(sessionId, blocks, term),
    checkpoints: (sessionId) => logs.checkpoints(sessionId),
    redact: (batch) => logs.redact(batch),
    delete: (sessionId, term, ledger) => logs.delete(sessionId, term, ledger),
    ...createPostgresSessions(database),
    ...createPostgresProjects(database),
    ...createPostgresSettings(database),
    ...createPostgresAlerts(database),
    ...createPostgresDecisionLinks(database),
    ...createPostgresLedger(database, crypto.randomUUID()),
    ...createPostgresViewed(database),
    close: () => database.close(),
  }
}

/** True if `parley migrate` has begun to copy into the database, and has not finished. */
export async function isUnfinished(database: PostgresDatabase): Promise<boolean> {
  return (await database.query('SELECT 1 FROM unfinished_copy LIMIT 1')).length > 0
}

function unfinished(): ParleyError {
  return new ParleyError(
    'conflict',
    'The database is an unfinished copy: its migration is running, or was interrupted. Run migrate again, or drop the schema "parley".',
  )
}
