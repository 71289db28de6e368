import { join } from 'node:path'
import { createSoleOwnership } from '../core/session-ownership.ts'
import { type OwnershipUnderTest, ownershipContract } from '../testing/ownership-contract.ts'
import { TemporaryFolder } from '../testing/temporary-folder.ts'
import { createMemoryStore } from './memory.ts'
import { openSqliteStore } from './sqlite.ts'

ownershipContract('the memory store', async () => {
  const store = createMemoryStore()
  return { ...soleOwner(store), cleanup: async () => undefined }
})

ownershipContract('the SQLite store', async () => {
  const folder = new TemporaryFolder()
  const store = openSqliteStore({ file: join(folder.path, 'parley.db') })
  return { ...soleOwner(store), cleanup: async () => folder[Symbol.dispose]() }
})

function soleOwner(store: ReturnType<typeof createMemoryStore>): Omit<OwnershipUnderTest, 'cleanup'> {
  const ownership = createSoleOwnership(store)
  return { isSole: true, open: async () => ({ store, ownership, close: () => store.close() }) }
}
