import { join } from 'node:path'
import { createSoleOwnership } from '../core/session-ownership.ts'
import { soleOwnershipContract } from '../testing/ownership-contract.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import { createMemoryStore } from './memory.ts'
import { openSqliteStore } from './sqlite.ts'

soleOwnershipContract('the memory store', async () => soleOwner(createMemoryStore()))
soleOwnershipContract('the SQLite store', async () =>
  soleOwner(openSqliteStore({ file: join(folderForTest(), 'parley.db') })),
)

function soleOwner(store: ReturnType<typeof createMemoryStore>) {
  return { store, ownership: createSoleOwnership(store), close: () => store.close() }
}
