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
import { createNonces } from './nonces.ts'
import { createRateLimit } from './rate-limit.ts'

/**
 * Signed-in browsers and their access tokens. Devices are stored; tokens and nonces live in memory, so after a restart
 * each browser signs a new nonce. Times are monotonic, except those that are shown.
 */
export type Devices = {
  /** Throws ParleyError `validation_error` if the key is not a P-256 key. */
  checkKey(publicKey: string): void
  /** The caller must have checked a one-time code. */
  register(publicKey: string, name: string): Promise<Device>
  /** The devices that are signed in. */
  list(): Promise<Device[]>
  /** Tokens fail and connections are closed before this resolves. ParleyError `not_found` for an unknown id. */
  revoke(deviceId: string): Promise<void>
  nonce(): Nonce
  /**
   * ParleyError `unauthorized` unless the device signed the nonce for this origin; `details.reason` is `revoked` for a
   * revoked device.
   */
  accessToken(request: NewAccessToken & { readonly origin: string }): Promise<AccessToken>
  /** The device that an access token belongs to, if the token is valid. */
  callerOf(token: string): DeviceCaller | undefined
}

/** A device as the caller of a request. */
export type DeviceCaller = {
  readonly kind: 'device'
  readonly deviceId: string
  readonly isRevoked: boolean
  /** Registers a callback for when the device is revoked. Returns a function that removes it. */
  onRevoked(call: () => void): () => void
}

type Known = {
  device: StoredDevice
  readonly key: KeyObject
  readonly held: Set<() => void>
  /** The hashes of its access tokens, the oldest first, with their expiry times. */
  readonly tokens: Map<string, number>
}

export const nonceLifetimeMs = 60_000
export const accessTokenLifetimeMs = 15 * 60_000
const seenEveryMs = 60_000
/** More than anyone's tabs. A further token ends the oldest one, whose tab gets a new one by itself. */
const mostTokens = 64
const mostDevices = 1000

export function createDevices({
  store,
  now = () => performance.now(),
}: {
  store: DeviceStore
  now?: () => number
}): Devices {
  const nonces = createNonces({ lifetimeMs: nonceLifetimeMs, now })
  const renewals = createRateLimit({ most: 240, perMs: 60_000, now })
  const owners = new Map<string, Known>()
  let loading: Promise<Map<string, Known>> | undefined

  function load(): Promise<Map<string, Known>> {
    loading ??= store
      .devices()
      .then((devices) => new Map(devices.map((device) => [device.deviceId, knownOf(device)])))
    loading.catch(() => {
      loading = undefined
    })
    return loading
  }

  /** This write may be lost: nothing depends on the time of last use. */
  function see(known: Known): void {
    const at = Date.now()
    if (Math.abs(at - known.device.lastSeenAt) < seenEveryMs) return
    known.device = { ...known.device, lastSeenAt: at }
    void store.putDevice(known.device).catch(() => undefined)
  }

  function forgetTokens(known: Known, holds: (expiresAt: number, count: number) => boolean): void {
    for (const [hash, expiresAt] of known.tokens) {
      if (!holds(expiresAt, known.tokens.size)) return
      known.tokens.delete(hash)
      owners.delete(hash)
    }
  }

  /** Only revoked devices are removed to make room for a new one. */
  async function makeRoom(all: Map<string, Known>): Promise<void> {
    if (all.size < mostDevices) return
    const gone = [...all.values()].find(({ device }) => device.revokedAt !== undefined)
    if (!gone) {
      throw new ParleyError('conflict', `${mostDevices} browsers are signed in. Sign some of them out first.`)
    }
    await store.removeDevice(gone.device.deviceId)
    all.delete(gone.device.deviceId)
  }

  return {
    checkKey: (publicKey) => void keyOf(publicKey),
    async register(publicKey, name) {
      const key = keyOf(publicKey)
      const all = await load()
      await makeRoom(all)
      const at = Date.now()
      const device = { deviceId: newId('dev'), name, publicKey, createdAt: at, lastSeenAt: at }
      await store.putDevice(device)
      all.set(device.deviceId, { device, key, held: new Set(), tokens: new Map() })
      return shown(device)
    },
    async list() {
      const devices = [...(await load()).values()].map(({ device }) => device)
      return devices.filter(({ revokedAt }) => revokedAt === undefined).map(shown)
    },
    async revoke(deviceId) {
      const known = (await load()).get(deviceId)
      if (!known) throw new ParleyError('not_found', `No signed-in browser has the id ${deviceId}.`)
      known.device = { ...known.device, revokedAt: known.device.revokedAt ?? Date.now() }
      forgetTokens(known, () => true)
      for (const call of [...known.held]) call()
      known.held.clear()
      await store.putDevice(known.device)
    },
    nonce: () => ({ nonce: nonces.make(), expiresInMs: nonceLifetimeMs }),
    async accessToken({ deviceId, nonce, signature, origin }) {
      const known = (await load()).get(deviceId)
      if (!known || !isSigned(known.key, signedText({ origin, deviceId, nonce }), signature)) {
        throw refused('This browser is not signed in here.', 'unknown')
      }
      if (!nonces.isFresh(nonce)) throw refused('That nonce was used, or is too old.', 'nonce')
      nonces.use(nonce)
      if (known.device.revokedAt !== undefined) throw refused('This browser was signed out.', 'revoked')
      renewals.check(deviceId)
      renewals.count(deviceId)
      forgetTokens(known, (expiresAt, count) => expiresAt <= now() || count >= mostTokens)
      const token = randomBytes(32).toString('base64url')
      known.tokens.set(hashOf(token), now() + accessTokenLifetimeMs)
      owners.set(hashOf(token), known)
      see(known)
      return { token, expiresInMs: accessTokenLifetimeMs }
    },
    callerOf(token) {
      const hash = hashOf(token)
      const known = owners.get(hash)
      const expiresAt = known?.tokens.get(hash)
      if (!known || expiresAt === undefined || expiresAt <= now()) return undefined
      if (known.device.revokedAt !== undefined) return undefined
      see(known)
      return callerFor(known)
    },
  }
}

function callerFor(known: Known): DeviceCaller {
  return {
    kind: 'device',
    deviceId: known.device.deviceId,
    get isRevoked() {
      return known.device.revokedAt !== undefined
    },
    onRevoked(call) {
      known.held.add(call)
      return () => known.held.delete(call)
    },
  }
}

function knownOf(device: StoredDevice): Known {
  return { device, key: keyOf(device.publicKey), held: new Set(), tokens: new Map() }
}

function shown({ deviceId, name, createdAt, lastSeenAt }: StoredDevice): Device {
  return { deviceId, name, createdAt, lastSeenAt }
}

function keyOf(publicKey: string): KeyObject {
  let key: KeyObject | undefined
  try {
    key = createPublicKey({ key: Buffer.from(publicKey, 'base64url'), format: 'der', type: 'spki' })
  } catch {}
  if (key?.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key
  throw new ParleyError(
    'validation_error',
    'publicKey is not a P-256 public key (SubjectPublicKeyInfo, base64url).',
  )
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
