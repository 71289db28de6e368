import type { AccessStore } from '../core/access-store.ts'
import type { AlertStore } from '../core/alert-store.ts'
import type { DecisionLinkStore } from '../core/decision-link-store.ts'
import type { LedgerStore } from '../core/ledger-store.ts'
import type { SessionStore } from '../core/session-store.ts'
import type { ViewedStore } from '../core/viewed-store.ts'
import { createSqliteAccess } from './sqlite-access.ts'
import { createAlertRemoval, createSqliteAlerts, createUnsentRemoval } from './sqlite-alerts.ts'
import { openSqliteDatabase, type SqliteDatabase } from './sqlite-database.ts'
import { createLinkRemoval, createSqliteDecisionLinks } from './sqlite-decision-links.ts'
import { createSqliteDecisions, createSqliteEnvironments, createSqliteRules } from './sqlite-decisions.ts'
import { createSqliteEvents } from './sqlite-events.ts'
import { createSqliteLedger } from './sqlite-ledger.ts'
import { SqliteLogs } from './sqlite-logs.ts'
import type { OwnerInfo } from './sqlite-owner.ts'
import { createSqliteProjects } from './sqlite-projects.ts'
import { createSqliteSessions } from './sqlite-sessions.ts'
import { createSqliteViewed, createViewedRemoval } from './sqlite-viewed.ts'

export type SqliteStore = SessionStore &
  AccessStore &
  AlertStore &
  DecisionLinkStore &
  LedgerStore &
  ViewedStore & {
    /** Sets the fields of the owner file, in addition to the pid and the start time of this process. */
    describeOwner(info: OwnerInfo): void
    /** Copies the database to a new file. Sessions are used and recorded meanwhile. */
    copyTo(file: string): Promise<void>
  }

export type SqliteStoreOptions = { readonly file: string; readonly owner?: OwnerInfo }

/**
 * Keeps sessions in one SQLite file, which no other process can open at the same time. Throws a ParleyError if it
 * cannot be opened.
 */
export function openSqliteStore(options: SqliteStoreOptions): SqliteStore {
  const database = openSqliteDatabase(options)
  try {
    return createSqliteStore(database)
  } catch (thrown) {
    database.close()
    throw thrown
  }
}

export function createSqliteStore(database: SqliteDatabase): SqliteStore {
  const events = createSqliteEvents(database)
  const sessions = createSqliteSessions(database, events.rebuildState)
  const rules = createSqliteRules(database)
  const environments = createSqliteEnvironments(database)
  const ledger = createSqliteLedger(database)
  const logs = new SqliteLogs(database, {
    ...{ events, sessions, rules, environments, ledger },
    removeAlerts: createAlertRemoval(database),
    removeUnsent: createUnsentRemoval(database),
    removeLinks: createLinkRemoval(database),
    removeViewed: createViewedRemoval(database),
  })
  return {
    create: async (batch) => logs.create(batch),
    append: async (batch) => logs.append(batch),
    read: async (sessionId, range) => logs.read(sessionId, range),
    load: async (sessionId) => logs.load(sessionId),
    receipt: async (sessionId, commandId) => logs.receipt(sessionId, commandId),
    checkpoint: async (sessionId, blocks) => logs.checkpoint(sessionId, blocks),
    checkpoints: async (sessionId) => logs.checkpoints(sessionId),
    delete: async (sessionId, _, ledger) => logs.delete(sessionId, ledger),
    redact: async (batch) => logs.redact(batch),

    list: async (query) => database.read(() => sessions.list(query)),
    sessionsOf: async (agent, agentSessionIds) =>
      database.read(() => sessions.ofConversations(agent, agentSessionIds)),
    unsettled: async () => database.read(() => sessions.unsettled()),
    waiting: async () => database.read(() => sessions.waiting()),

    ...createSqliteProjects(database, (key) => sessions.load(key).state),
    ...createSqliteDecisions(database, rules, environments),
    ...createSqliteAccess(database),
    ...createSqliteAlerts(database),
    ...createSqliteDecisionLinks(database),
    ...ledger.store,
    ...createSqliteViewed(database),
    describeOwner: (info) => database.describeOwner(info),
    copyTo: (file) => database.copyTo(file),
    close: async () => database.close(),
  }
}
