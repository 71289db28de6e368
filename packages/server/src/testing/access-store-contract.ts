import type { AccessRecord, AccessStore } from '../core/access-store.ts'
import { afterEach, beforeEach, describe, expect, it } from './peers.ts'

export type AccessStoreUnderTest = {
  readonly store: AccessStore
  /** Closes the store and opens it again. A store that cannot be reopened gives the reason in `notDurable`. */
  readonly reopen?: () => Promise<AccessStore>
  readonly notDurable?: string
  cleanup(): Promise<void>
}

/** Tests every rule of the port `AccessStore`, for any store. */
export function accessStoreContract(name: string, open: () => Promise<AccessStoreUnderTest>): void {
  describe(`${name} satisfies the contract of an access store`, () => {
    let tested: AccessStoreUnderTest
    let store: AccessStore
    beforeEach(async () => {
      tested = await open()
      store = tested.store
    })
    afterEach(() => tested.cleanup())

    it('keeps records in the order in which they were added, each with all its fields', async () => {
      expect(await store.accessRecords()).toEqual([])
      const records = [
        recordOf('b'),
        recordOf('a', { retiredAt: 9, usedAt: 3 }),
        recordOf('"; --é\n', { data: { name: '"; --é\n\0', list: [1, { deep: null }] } }),
        recordOf('b', { kind: 'person' }),
      ]
      for (const record of records) await store.putAccessRecord(record)
      expect(await store.accessRecords()).toEqual(records)
    })

    it('replaces a record at its place, and keeps its retirement', async () => {
      await store.putAccessRecord(recordOf('a'))
      await store.putAccessRecord(recordOf('b', { retiredAt: 5 }))
      await store.touchAccessRecord('device', 'a', 7)
      await store.putAccessRecord(recordOf('a', { usedAt: 6, data: { name: 'new' } }))
      await store.putAccessRecord(recordOf('b', { retiredAt: 9 }))
      const a = recordOf('a', { usedAt: 7, data: { name: 'new' } })
      expect(await store.accessRecords()).toEqual([a, recordOf('b', { retiredAt: 5 })])
    })

    it('touching a record changes only the time of its last use', async () => {
      await store.putAccessRecord(recordOf('a', { retiredAt: 4 }))
      await store.touchAccessRecord('device', 'a', 6)
      await store.touchAccessRecord('device', 'missing', 6)
      expect(await store.accessRecords()).toEqual([recordOf('a', { usedAt: 6, retiredAt: 4 })])
    })

    it('retires a record once', async () => {
      await store.putAccessRecord(recordOf('a'))
      await store.putAccessRecord(recordOf('a', { kind: 'token' }))
      const retired = await Promise.all([3, 3, 3].map((at) => store.retireAccessRecord('device', 'a', at)))
      expect(retired.filter(Boolean)).toHaveLength(1)
      expect(await store.retireAccessRecord('device', 'missing', 3)).toBe(false)
      expect(await store.accessRecords()).toEqual([
        recordOf('a', { retiredAt: 3 }),
        recordOf('a', { kind: 'token' }),
      ])
    })

    it('removes a record once', async () => {
      await store.putAccessRecord(recordOf('a'))
      await store.putAccessRecord(recordOf('a', { kind: 'token' }))
      expect(await store.removeAccessRecord('device', 'a')).toBe(true)
      expect(await store.removeAccessRecord('device', 'a')).toBe(false)
      expect(await store.accessRecords()).toEqual([recordOf('a', { kind: 'token' })])
    })

    it('shares no objects with its callers', async () => {
      const data = { name: 'Chrome on Linux' }
      await store.putAccessRecord(recordOf('a', { data }))
      data.name = 'changed'
      const [read] = await store.accessRecords()
      Object.assign(read?.data ?? {}, { name: 'changed' })
      expect(await store.accessRecords()).toEqual([recordOf('a', { data: { name: 'Chrome on Linux' } })])
    })

    it('keeps records when it is reopened, or states why it cannot be reopened', async () => {
      await store.putAccessRecord(recordOf('a', { retiredAt: 3 }))
      if (!tested.reopen) return expect(tested.notDurable).toMatch(/\w/)
      expect(await (await tested.reopen()).accessRecords()).toEqual([recordOf('a', { retiredAt: 3 })])
    })
  })
}

function recordOf(id: string, changes: Partial<AccessRecord> = {}): AccessRecord {
  return { kind: 'device', id, data: { name: 'Chrome on Linux' }, createdAt: 1, ...changes }
}
