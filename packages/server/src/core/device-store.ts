import type { SharedSettings } from './shared-settings.ts'

/** A signed-in browser as it is stored: its public key, and when it was used. */
export type StoredDevice = {
  readonly deviceId: string
  readonly name: string
  /** A P-256 public key as SubjectPublicKeyInfo, base64url. */
  readonly publicKey: string
  readonly createdAt: number
  readonly lastSeenAt: number
  /** A revoked device is kept so that its browser can be told why access is refused. */
  readonly revokedAt?: number
}

/**
 * PORT. Stores devices and makes no decisions. Rules:
 * - a stored device is durable against the death of this process when the promise resolves.
 * - a failure of the medium is a ParleyError (`busy` if trying again can help, else `internal_error`).
 * - the caller may keep what is returned; the store never changes it afterwards.
 */
export type DeviceStore = {
  /** All devices, in the order in which they were first stored. */
  devices(): Promise<StoredDevice[]>
  /** Adds a device, or replaces the one with the same id. Its position in the list and a revocation are kept. */
  putDevice(device: StoredDevice): Promise<void>
  /** Removes a device. Returns false if there was no such device. */
  removeDevice(deviceId: string): Promise<boolean>
  /** Absent if no other process can open the store. */
  readonly shared?: SharedSettings
}
