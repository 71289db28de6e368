import { storeContract } from '../testing/store-contract.ts'
import { createMemoryStore } from './memory.ts'

storeContract('the memory store', async () => ({
  store: createMemoryStore(),
  notDurable: 'it lives as long as its process',
  cleanup: async () => {},
}))
