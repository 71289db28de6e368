import type { DeviceStore, StoredDevice } from '../core/device-store.ts'
import { afterEach, beforeEach, describe, expect, it } from './peers.ts'

export type DeviceStoreUnderTest = {
  readonly store: DeviceStore
  /** Closes the store and opens it again. A store that cannot be reopened gives the reason in `notDurable`. */
  readonly reopen?: () => Promise<DeviceStore>
  readonly notDurable?: string
  cleanup(): Promise<void>
}

/** Tests every rule of the port `DeviceStore`, for any store. */
export function deviceStoreContract(name: string, open: () => Promise<DeviceStoreUnderTest>): void {
  describe(`${name} satisfies the contract of a device store`, () => {
    let tested: DeviceStoreUnderTest
    let store: DeviceStore
    beforeEach(async () => {
      tested = await open()
      store = tested.store
    })
    afterEach(() => tested.cleanup())

    it('keeps devices in the order in which they were added, each with all its fields', async () => {
      expect(await store.devices()).toEqual([])
      const devices = [deviceOf('b'), deviceOf('a', { revokedAt: 9 }), deviceOf('c', { name: '"; --é\n' })]
      for (const device of devices) await store.putDevice(device)
      expect(await store.devices()).toEqual(devices)
    })

    it('replaces a device at its place, and keeps its revocation', async () => {
      await store.putDevice(deviceOf('a'))
      await store.putDevice(deviceOf('b', { revokedAt: 5 }))
      await store.putDevice(deviceOf('a', { lastSeenAt: 7 }))
      await store.putDevice(deviceOf('b', { lastSeenAt: 8 }))
      const [a, b] = [deviceOf('a', { lastSeenAt: 7 }), deviceOf('b', { lastSeenAt: 8, revokedAt: 5 })]
      expect(await store.devices()).toEqual([a, b])
    })

    it('removes a device once', async () => {
      await store.putDevice(deviceOf('a'))
      expect(await store.removeDevice('a')).toBe(true)
      expect(await store.removeDevice('a')).toBe(false)
      expect(await store.devices()).toEqual([])
    })

    it('shares no objects with its callers', async () => {
      const given = { ...deviceOf('a') }
      await store.putDevice(given)
      given.name = 'changed'
      const [read] = await store.devices()
      Object.assign(read ?? {}, { name: 'changed' })
      expect(await store.devices()).toEqual([deviceOf('a')])
    })

    it('keeps devices when it is reopened, or gives the reason why not', async () => {
      await store.putDevice(deviceOf('a', { revokedAt: 3 }))
      if (!tested.reopen) return expect(tested.notDurable).toMatch(/\w/)
      expect(await (await tested.reopen()).devices()).toEqual([deviceOf('a', { revokedAt: 3 })])
    })
  })
}

function deviceOf(deviceId: string, changes: Partial<StoredDevice> = {}): StoredDevice {
  return {
    deviceId,
    name: 'Chrome on Linux',
    publicKey: `key of ${deviceId}`,
    createdAt: 1,
    lastSeenAt: 2,
    ...changes,
  }
}
