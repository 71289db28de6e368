/** A signed-in browser as it is kept: the public half of its key, and when it was used. */
export type StoredDevice = {
  readonly deviceId: string
  readonly name: string
  /** A P-256 public key as SubjectPublicKeyInfo, base64url. */
  readonly publicKey: string
  readonly createdAt: number
  readonly lastSeenAt: number
  /** A revoked device is kept so that its browser can be told why it is not let in. */
  readonly revokedAt?: number
}

/**
 * PORT. Keeps devices; it decides nothing. Rules:
 * - what was put is durable against the death of this process when the promise resolves.
 * - a failure of the medium is a ParleyError (`busy` if trying again can help, else `internal_error`).
 * - what it returns may be kept and is never changed by it afterwards.
 */
export type DeviceStore = {
  /** In the order in which they were first put. */
  devices(): Promise<StoredDevice[]>
  /** Adds a device, or replaces the one with its id, which keeps its place. */
  putDevice(device: StoredDevice): Promise<void>
  /** False if there was none. */
  removeDevice(deviceId: string): Promise<boolean>
}
