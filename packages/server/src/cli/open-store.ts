import { openSqliteStore } from '../stores/sqlite.ts'
import { databaseFile } from './configuration.ts'
import type { OpenedStore, StoreOptions } from './open-node.ts'

/**
 * Opens the store of a server, and locks its data folder. Only a server on PostgreSQL loads the code for that. Rejects
 * with a ParleyError, and leaves nothing open then.
 */
export async function openStore({ databaseUrl, ...options }: StoreOptions): Promise<OpenedStore> {
  if (databaseUrl === undefined) return { store: openSqliteStore({ file: databaseFile(options.dataDir) }) }
  const { openNode } = await import('./open-node.ts')
  return openNode({ ...options, databaseUrl })
}
