import { createHash, createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto'
import {
  type AccessToken,
  type Device,
  type NewAccessToken,
  type Nonce,
  newId,
  ParleyError,
  signedText,
} from '@parley/protocol'
import type { DeviceStore, StoredDevice } from '../../core/device-store.ts'
import type { OtherNodes } from '../other-nodes.ts'
import { createNonces } from './nonces.ts'
import { createRateLimit } from './rate-limit.ts'

/** A device as the caller of a request. */
export type DeviceCaller = {
  readonly kind: 'device'
  readonly deviceId: string
  readonly isRevoked: boolean
  /**
   * Whether the device is revoked. If this process may not have noticed that, it reads the stored devices first. Rejects
   * with ParleyError `busy` if it cannot.
   */
  isSignedOut(): Promise<boolean>
  /** If this process would not notice a revocation, the callbacks of `onRevoked` are called before this returns. */
  notice(): void
  /**
   * Registers a callback for when the device is revoked, or for when this process can no longer learn of a revocation;
   * `isRevoked` is then false. Returns a function that removes the callback.
   */
  onRevoked(call: () => void): () => void
}

type Known = {
  device: StoredDevice
  /** Undefined if the stored key is damaged. Such a device gets no access token, and can be revoked. */
  readonly key: KeyObject | undefined
  readonly held: Set<() => void>
  /** The hashes of the device's access tokens, the oldest first, with their expiry times. */
  readonly tokens: Map<string, number>
}

export type DevicesOptions = {
  readonly store: DeviceStore
  readonly now?: () => number
  readonly others?: OtherNodes | undefined
}

export const nonceLifetimeMs = 60_000
export const accessTokenLifetimeMs = 15 * 60_000
const seenEveryMs = 60_000
/**
 * How many access tokens a device may have: more than a person has tabs. A further token invalidates the oldest one,
 * whose tab then requests a new one.
 */
const maxTokens = 64
const maxDevices = 1000

/**
 * Signed-in browsers and their access tokens. Devices are stored; tokens and nonces are only in memory, so after a
 * restart each browser signs a new nonce. Times are monotonic, except those that are shown. If there are other nodes,
 * tokens are signed instead of stored, so that every node accepts them.
 */
export class Devices {
  readonly #store: DeviceStore
  readonly #now: () => number
  readonly #nonces
  readonly #renewals
  /** The device of each access token, by the hash of the token. */
  readonly #owners = new Map<string, Known>()
  readonly #others: OtherNodes | undefined
  #loading: Promise<Map<string, Known>> | undefined
  /** The devices, once they are loaded. */
  #all: Map<string, Known> | undefined

  constructor({ store, now = () => performance.now(), others }: DevicesOptions) {
    this.#store = store
    this.#now = now
    this.#others = others
    this.#nonces = createNonces({ lifetimeMs: nonceLifetimeMs, now, suffix: others?.suffix })
    this.#renewals = createRateLimit({ max: 240, perMs: 60_000, now })
    store.shared?.onChanged(() => this.#reload())
    store.shared?.onLost(() => this.#disconnect())
  }

  /** Throws ParleyError `validation_error` if the key is not a P-256 key. */
  checkKey(publicKey: string): void {
    if (parsedKey(publicKey)) return
    throw new ParleyError(
      'validation_error',
      'publicKey is not a P-256 public key (SubjectPublicKeyInfo, base64url).',
    )
  }

  /** Stores a new device. The caller must have checked a one-time code. */
  async register(publicKey: string, name: string): Promise<Device> {
    this.checkKey(publicKey)
    const all = await this.#load()
    await this.#makeRoom(all)
    const at = Date.now()
    const device = { deviceId: newId('dev'), name, publicKey, createdAt: at, lastSeenAt: at }
    await this.#store.putDevice(device)
    all.set(device.deviceId, knownOf(device))
    await this.#store.shared?.changed()
    return shown(device)
  }

  async list(): Promise<Device[]> {
    const devices = [...(await this.#load()).values()].map(({ device }) => device)
    return devices.filter(({ revokedAt }) => revokedAt === undefined).map(shown)
  }

  /**
   * Revokes a device. When the promise resolves, the tokens of the device are invalid and its connections are closed.
   * Rejects with ParleyError `not_found` for an unknown id.
   */
  async revoke(deviceId: string): Promise<void> {
    const known = (await this.#load()).get(deviceId)
    if (!known) throw new ParleyError('not_found', `No signed-in browser has the id ${deviceId}.`)
    this.#cutOff(known, known.device.revokedAt ?? Date.now())
    await this.#store.putDevice(known.device)
    await this.#store.shared?.changed()
  }

  #cutOff(known: Known, revokedAt: number): void {
    known.device = { ...known.device, revokedAt }
    this.#forgetTokens(known, () => true)
    for (const call of [...known.held]) call()
    known.held.clear()
  }

  /** Ends the connections of all devices, because this process would not learn that a device is revoked. */
  #disconnect(): void {
    for (const { held } of this.#all?.values() ?? []) {
      for (const call of [...held]) call()
      held.clear()
    }
  }

  /**
   * Applies the changes that other processes have stored: new devices, revocations, and removals of revoked devices.
   */
  async #reload(): Promise<void> {
    if (!this.#loading) return
    const all = await this.#loading
    const before = [...all.keys()]
    const stored = new Map((await this.#store.devices()).map((device) => [device.deviceId, device]))
    for (const device of stored.values())
      if (!all.has(device.deviceId)) all.set(device.deviceId, knownOf(device))
    for (const deviceId of before) {
      const known = all.get(deviceId)
      const { revokedAt } = stored.get(deviceId) ?? { revokedAt: Date.now() }
      if (known && revokedAt !== undefined) this.#cutOff(known, revokedAt)
      if (!stored.has(deviceId)) all.delete(deviceId)
    }
  }

  nonce(): Nonce {
    return { nonce: this.#nonces.make(), expiresInMs: nonceLifetimeMs }
  }

  /**
   * Returns a new access token. Rejects with ParleyError `unauthorized` unless the device signed the nonce
   * for this origin; `details.reason` is `revoked` for a revoked device.
   */
  async accessToken(request: NewAccessToken & { readonly origin: string }): Promise<AccessToken> {
    const { deviceId, nonce, signature, origin } = request
    const known = (await this.#upToDate()).get(deviceId)
    if (!known?.key || !isSigned(known.key, signedText({ origin, deviceId, nonce }), signature)) {
      throw refused('This browser is not signed in here.', 'unknown')
    }
    if (!this.#nonces.isFresh(nonce)) throw refused('That nonce was already used, or has expired.', 'nonce')
    this.#nonces.use(nonce)
    if (known.device.revokedAt !== undefined) throw refused('This browser was signed out.', 'revoked')
    this.#renewals.check(deviceId)
    this.#renewals.count(deviceId)
    this.#see(known)
    const token = this.#others?.tokens.issue(deviceId, accessTokenLifetimeMs) ?? this.#newToken(known)
    return { token, expiresInMs: accessTokenLifetimeMs }
  }

  #newToken(known: Known): string {
    this.#forgetTokens(known, (expiresAt, count) => expiresAt <= this.#now() || count >= maxTokens)
    const token = randomBytes(32).toString('base64url')
    known.tokens.set(hashOf(token), this.#now() + accessTokenLifetimeMs)
    this.#owners.set(hashOf(token), known)
    return token
  }

  /** Loads the data that `callerOf` needs for this token. If this returns a promise, await it before `callerOf`. */
  learn(token: string): Promise<unknown> | undefined {
    if (this.#all && this.#isWaitedFor) return undefined
    return this.#others?.tokens.deviceOf(token) === undefined ? undefined : this.#upToDate()
  }

  /** Whether this process learns of every revocation. */
  get #isWaitedFor(): boolean {
    return this.#store.shared?.isWaitedFor !== false
  }

  /** Loads the devices. If this process does not learn of every revocation, reads the stored changes too. */
  async #upToDate(): Promise<Map<string, Known>> {
    const all = await this.#load()
    if (!this.#isWaitedFor) await this.#reload()
    return all
  }

  /** The device that an access token belongs to, if the token is valid. */
  callerOf(token: string): DeviceCaller | undefined {
    const known = this.#others ? this.#signedFor(token, this.#others) : this.#keptFor(token)
    if (!known || known.device.revokedAt !== undefined) return undefined
    this.#see(known)
    return this.#callerFor(known)
  }

  #callerFor(known: Known): DeviceCaller {
    return {
      kind: 'device',
      deviceId: known.device.deviceId,
      get isRevoked() {
        return known.device.revokedAt !== undefined
      },
      isSignedOut: async () => {
        await this.#upToDate()
        return known.device.revokedAt !== undefined
      },
      notice: () => void this.#isWaitedFor,
      onRevoked(call) {
        known.held.add(call)
        return () => known.held.delete(call)
      },
    }
  }

  #signedFor(token: string, { tokens }: OtherNodes): Known | undefined {
    const deviceId = tokens.deviceOf(token)
    return deviceId === undefined ? undefined : this.#all?.get(deviceId)
  }

  #keptFor(token: string): Known | undefined {
    const hash = hashOf(token)
    const known = this.#owners.get(hash)
    const expiresAt = known?.tokens.get(hash)
    return expiresAt !== undefined && expiresAt > this.#now() ? known : undefined
  }

  #load(): Promise<Map<string, Known>> {
    this.#loading ??= this.#store.devices().then((devices) => {
      this.#all = new Map(devices.map((device) => [device.deviceId, knownOf(device)]))
      return this.#all
    })
    this.#loading.catch(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  /** Stores the time of last use, at most once in `seenEveryMs`. The write may be lost: nothing depends on it. */
  #see(known: Known): void {
    const at = Date.now()
    if (Math.abs(at - known.device.lastSeenAt) < seenEveryMs) return
    known.device = { ...known.device, lastSeenAt: at }
    void this.#store.putDevice(known.device).catch(() => undefined)
  }

  #forgetTokens(known: Known, mayGo: (expiresAt: number, count: number) => boolean): void {
    for (const [hash, expiresAt] of known.tokens) {
      if (!mayGo(expiresAt, known.tokens.size)) return
      known.tokens.delete(hash)
      this.#owners.delete(hash)
    }
  }

  /** Removes a revoked device if there is no room for a new one. Throws if none is revoked. */
  async #makeRoom(all: Map<string, Known>): Promise<void> {
    if (all.size < maxDevices) return
    const revoked = [...all.values()].find(({ device }) => device.revokedAt !== undefined)
    if (!revoked) {
      throw new ParleyError('conflict', `${maxDevices} browsers are signed in. Sign some of them out first.`)
    }
    await this.#store.removeDevice(revoked.device.deviceId)
    all.delete(revoked.device.deviceId)
  }
}

function knownOf(device: StoredDevice): Known {
  return { device, key: parsedKey(device.publicKey), held: new Set(), tokens: new Map() }
}

function shown({ deviceId, name, createdAt, lastSeenAt }: StoredDevice): Device {
  return { deviceId, name, createdAt, lastSeenAt }
}

function parsedKey(publicKey: string): KeyObject | undefined {
  let key: KeyObject | undefined
  try {
    key = createPublicKey({ key: Buffer.from(publicKey, 'base64url'), format: 'der', type: 'spki' })
  } catch {}
  const isP256 = key?.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  return isP256 ? key : undefined
}

function isSigned(key: KeyObject, text: string, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64url')
  return verify('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, bytes)
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

function refused(message: string, reason: 'unknown' | 'nonce' | 'revoked'): ParleyError {
  return new ParleyError('unauthorized', message, { details: { reason } })
}
