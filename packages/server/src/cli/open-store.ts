import { readFileSync } from 'node:fs'
import { ParleyError } from '@parley/protocol'
import { openSqliteStore } from '../stores/sqlite.ts'
import { databaseFile, nodeFile, searchFile } from './configuration.ts'
import type { OpenedStore, StoreOptions } from './open-node.ts'

/**
 * Opens the store of a server, and locks its data folder. The code for PostgreSQL is loaded only if it is used.
 * Rejects with a ParleyError; nothing is left open then.
 */
export async function openStore({ databaseUrl, ...options }: StoreOptions): Promise<OpenedStore> {
  if (databaseUrl === undefined) {
    const store = openSqliteStore({ file: databaseFile(options.dataDir) })
    const refusal = folderOfNode(nodeFile(options.dataDir))
    if (!refusal) return { store, searchIndex: () => openSearch(searchFile(options.dataDir)) }
    await store.close()
    throw refusal
  }
  const { openNode } = await import('./open-node.ts')
  return openNode({ ...options, databaseUrl })
}

async function openSearch(file: string) {
  const { createSqliteSearch } = await import('../stores/sqlite-search.ts')
  return createSqliteSearch(file)
}

/**
 * The error for a data folder that belongs to a node, if no database URL is given: new sessions would be stored in
 * SQLite, separate from the others.
 */
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
