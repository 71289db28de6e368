import { describe, fc, it } from './peers.ts'
import { checkpointCases } from './store-contract/checkpoint-cases.ts'
import { copyCases, reopenCases } from './store-contract/durability-cases.ts'
import { listCases } from './store-contract/list-cases.ts'
import { logCases } from './store-contract/log-cases.ts'
import { projectCases } from './store-contract/project-cases.ts'
import { sessionCases } from './store-contract/session-cases.ts'
import { settingCases } from './store-contract/setting-cases.ts'
import { type StoreUnderTest, testedStore } from './store-contract/tested-store.ts'
import { expectStoreToEqualModel, storeOperations } from './store-model.ts'

/** Tests every rule of the port `SessionStore`, for any store. */
export function storeContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name} satisfies the contract of a store`, () => {
    const tested = testedStore(open)
    logCases(tested)
    describe('checkpoints', () => checkpointCases(tested))
    describe('the list', () => listCases(tested))
    sessionCases(tested)
    settingCases(tested)
    describe('projects', () => projectCases(tested))
    copyCases(tested)
    reopenCases(tested)

    it('equals a simple model after any operations', async () => {
      await fc.assert(
        fc.asyncProperty(storeOperations(), async (operations) => {
          const fresh = await open()
          try {
            await expectStoreToEqualModel(fresh, operations)
          } finally {
            await fresh.cleanup()
          }
        }),
        { numRuns: 40 },
      )
    })
  })
}
