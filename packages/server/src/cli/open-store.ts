import { readFileSync } from 'node:fs'
import { ParleyError } from '@parley/protocol'
import { openSqliteStore } from '../stores/sqlite.ts'
import { databaseFile, nodeFile } from './configuration.ts'
import type { OpenedStore, StoreOptions } from './open-node.ts'

/**
 * Opens the store of a server, and locks its data folder. Only a server on PostgreSQL loads the code for that. Rejects
 * with a ParleyError, and leaves nothing open then.
 */
export async function openStore({ databaseUrl, ...options }: StoreOptions): Promise<OpenedStore> {
  if (databaseUrl === undefined) {
    const store = openSqliteStore({ file: databaseFile(options.dataDir) })
    const refusal = folderOfNode(nodeFile(options.dataDir))
    if (!refusal) return { store }
    await store.close()
    throw refusal
  }
  const { openNode } = await import('./open-node.ts')
  return openNode({ ...options, databaseUrl })
}

/** The refusal of the folder of a node. Without its database, it would store conversations where nobody looks for them. */
function folderOfNode(file: string): ParleyError | undefined {
  let database: string
  try {
    database = readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
  return new ParleyError(
    'conflict',
    `This data folder belongs to a node on ${database}, but no database URL is given. Set PARLEY_DATABASE_URL. To use SQLite in this folder instead, delete ${file}.`,
  )
}
