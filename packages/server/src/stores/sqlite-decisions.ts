import type { Actor, PermissionRule, TrustedFolder } from '@parley/protocol'
import type { SessionStore, StoredEnvironment } from '../core/session-store.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { parseRow } from './sqlite-failure.ts'

/** Decisions of people for more than one session: rules, trusted folders, environment variables. */
export type DecisionStore = Pick<
  SessionStore,
  | 'rules'
  | 'addRule'
  | 'removeRule'
  | 'trustedFolders'
  | 'trustFolder'
  | 'distrustFolder'
  | 'environments'
  | 'setEnvironment'
>

export function createSqliteRules(database: SqliteDatabase) {
  const upsert = database.prepare(
    `INSERT INTO rules (id, session_id, rule) VALUES (?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET session_id = excluded.session_id, rule = excluded.rule`,
  )
  const select = database.prepare('SELECT rule FROM rules ORDER BY number')
  const remove = database.prepare('DELETE FROM rules WHERE id = ?')
  const removeOfSession = database.prepare('DELETE FROM rules WHERE session_id = ?')
  return {
    all: () =>
      (select.all() as { rule: string }[]).map(({ rule }) =>
        parseRow<PermissionRule>(rule, 'a permission rule'),
      ),
    put: (rule: PermissionRule) => void upsert.run(rule.ruleId, rule.sessionId ?? null, JSON.stringify(rule)),
    remove: (ruleId: string) => Number(remove.run(ruleId).changes) > 0,
    removeOfSession: (sessionId: string) => void removeOfSession.run(sessionId),
  }
}

export function createSqliteEnvironments(database: SqliteDatabase) {
  const upsert = database.prepare(
    `INSERT INTO environments (scope, place, variables) VALUES (?, ?, ?)
     ON CONFLICT (scope, place) DO UPDATE SET variables = excluded.variables`,
  )
  const select = database.prepare('SELECT scope, place, variables FROM environments ORDER BY number')
  const remove = database.prepare('DELETE FROM environments WHERE scope = ? AND place = ?')
  return {
    all: () =>
      (select.all() as EnvironmentRow[]).map(({ scope, place, variables }) => ({
        scope,
        place,
        variables: parseRow<StoredEnvironment['variables']>(variables, `the environment of ${place}`),
      })),
    set({ scope, place, variables }: StoredEnvironment): void {
      if (Object.keys(variables).length === 0) remove.run(scope, place)
      else upsert.run(scope, place, JSON.stringify(variables))
    },
    removeOfSession: (sessionId: string) => void remove.run('session', sessionId),
  }
}

type EnvironmentRow = Pick<StoredEnvironment, 'scope' | 'place'> & { variables: string }

export function createSqliteTrust(database: SqliteDatabase) {
  const upsert = database.prepare(
    `INSERT INTO trusted_folders (folder, trusted_at, trusted_by) VALUES (?, ?, ?)
     ON CONFLICT (folder) DO UPDATE SET trusted_at = excluded.trusted_at, trusted_by = excluded.trusted_by`,
  )
  const select = database.prepare(
    'SELECT folder, trusted_at AS trustedAt, trusted_by AS trustedBy FROM trusted_folders ORDER BY number',
  )
  const remove = database.prepare('DELETE FROM trusted_folders WHERE folder = ?')
  return {
    all: () =>
      (select.all() as TrustRow[]).map(
        ({ folder, trustedAt, trustedBy }): TrustedFolder => ({
          folder,
          trustedAt,
          ...(trustedBy !== null && { trustedBy: parseRow<Actor>(trustedBy, `the trust of ${folder}`) }),
        }),
      ),
    put: ({ folder, trustedAt, trustedBy }: TrustedFolder) =>
      void upsert.run(folder, trustedAt, trustedBy ? JSON.stringify(trustedBy) : null),
    remove: (folder: string) => Number(remove.run(folder).changes) > 0,
  }
}

type TrustRow = { folder: string; trustedAt: number; trustedBy: string | null }

export function createSqliteDecisions(
  database: SqliteDatabase,
  rules: ReturnType<typeof createSqliteRules>,
  environments: ReturnType<typeof createSqliteEnvironments>,
): DecisionStore {
  const trust = createSqliteTrust(database)
  return {
    rules: async () => database.read(() => rules.all()),
    addRule: async (rule) => database.write(() => rules.put(rule)),
    removeRule: async (ruleId) => database.write(() => rules.remove(ruleId)),
    trustedFolders: async () => database.read(() => trust.all()),
    trustFolder: async (trusted) => database.write(() => trust.put(trusted)),
    distrustFolder: async (folder) => database.write(() => trust.remove(folder)),
    environments: async () => database.read(() => environments.all()),
    setEnvironment: async (environment) => database.write(() => environments.set(environment)),
  }
}
