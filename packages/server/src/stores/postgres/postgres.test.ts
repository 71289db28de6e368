import { accessStoreContract } from '../../testing/access-store-contract.ts'
import { alertStoreContract } from '../../testing/alert-store-contract.ts'
import { decisionLinkStoreContract } from '../../testing/decision-link-store-contract.ts'
import { ledgerStoreContract } from '../../testing/ledger-store-contract.ts'
import { storeContract } from '../../testing/store-contract.ts'
import { viewedStoreContract } from '../../testing/viewed-store-contract.ts'
import { openPostgresStore } from './index.ts'
import { PostgresServer } from './postgres-under-test.ts'

const server = await PostgresServer.forFile()
const url = await server.database()
let schemas = 0

/** A store in a schema of its own. */
const open = async () => {
  const schema = `parley_${++schemas}`
  let store = await openPostgresStore({ url, schema, connections: 4 })
  return {
    store,
    hasPlaces: true,
    async reopen() {
      await store.close()
      store = await openPostgresStore({ url, schema, connections: 4 })
      return store
    },
    cleanup: () => store.close(),
  }
}

storeContract('the PostgreSQL store', open)
accessStoreContract('the PostgreSQL store', open)
alertStoreContract('the PostgreSQL store', open)
decisionLinkStoreContract('the PostgreSQL store', open)
viewedStoreContract('the PostgreSQL store', open)
ledgerStoreContract('the PostgreSQL store', open)
