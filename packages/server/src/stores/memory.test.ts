import { accessStoreContract } from '../testing/access-store-contract.ts'
import { alertStoreContract } from '../testing/alert-store-contract.ts'
import { decisionLinkStoreContract } from '../testing/decision-link-store-contract.ts'
import { ledgerStoreContract } from '../testing/ledger-store-contract.ts'
import { storeContract } from '../testing/store-contract.ts'
import { viewedStoreContract } from '../testing/viewed-store-contract.ts'
import { createMemoryStore } from './memory.ts'

const open = async () => ({
  store: createMemoryStore(),
  notDurable: 'it lives as long as its process',
  cleanup: async () => {},
})

storeContract('the memory store', open)
accessStoreContract('the memory store', open)
alertStoreContract('the memory store', open)
decisionLinkStoreContract('the memory store', open)
ledgerStoreContract('the memory store', open)
viewedStoreContract('the memory store', open)
