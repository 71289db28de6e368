import { createPublicKey, hash, type KeyObject, randomBytes, timingSafeEqual, verify } from 'node:crypto'
import {
  type AccessToken,
  type Device,
  defined,
  type ExportProof,
  type NewAccessToken,
  type NewDevice,
  type Nonce,
  newId,
  ParleyError,
  signedText,
} from '@parley/protocol'
import { keyIdOf } from '../core/index.ts'
import type { Caller, Holder, Holders } from './holders.ts'
import { createNonces } from './nonces.ts'
import type { Rights } from './principal.ts'
import { createRateLimit } from './rate-limit.ts'
import type { DeviceData } from './record-data.ts'

/** Access tokens that every node on the same database accepts, and the suffix of the ids that this node makes. */
export type NodeTokens = {
  readonly tokens: {
    issue(deviceId: string, lifetimeMs: number): string
    /** The device of a valid access token; undefined for any other text. The device may be revoked. */
    deviceOf(token: string): string | undefined
  }
  suffix(): string
}

export type DevicesOptions = {
  readonly holders: Holders
  readonly now?: () => number
  readonly others?: NodeTokens | undefined
  /** Accepts devices with a secret instead of a key. */
  readonly allowInsecure?: boolean | undefined
}

/** The public key of a device or, for a weak device, the hash of its secret. */
export type DeviceCredential = { readonly publicKey: string } | { readonly secretHash: string }

type SignedRequest = NewAccessToken & { readonly origin: string }

/** The person to whom a new device belongs, and its rights. */
export type DeviceGrant = Rights & { readonly personId: string }

export const nonceLifetimeMs = 60_000
export const accessTokenLifetimeMs = 15 * 60_000
/**
 * The maximum number of access tokens of a device; people have fewer tabs open. A further token invalidates the oldest
 * one, and its tab then requests a new one.
 */
const maxTokens = 64
const maxDevices = 1000

/**
 * Signed-in browsers and their access tokens. Devices are stored; tokens and nonces are only in memory, so after a
 * restart each browser signs a new nonce. Expiry times use a monotonic clock; times that people see use the system's
 * clock. If there are other nodes, tokens are signed instead of stored, so that every node accepts them.
 */
export class Devices {
  readonly #holders: Holders
  readonly #now: () => number
  readonly #nonces
  readonly #renewals
  /** The device and the expiry time of each access token, by the hash of the token. The oldest token is first. */
  readonly #issued = new Map<string, { readonly deviceId: string; readonly expiresAt: number }>()
  readonly #others: NodeTokens | undefined
  readonly #allowInsecure: boolean
  readonly #keys = new WeakMap<object, KeyObject>()

  constructor({ holders, now = () => performance.now(), others, allowInsecure }: DevicesOptions) {
    this.#allowInsecure = allowInsecure === true
    this.#holders = holders
    this.#now = now
    this.#others = others
    this.#nonces = createNonces({ lifetimeMs: nonceLifetimeMs, now, suffix: others?.suffix })
    this.#renewals = createRateLimit({ max: 240, perMs: 60_000, now })
  }

  /**
   * The credential of a new device: a P-256 key or, if this server allows secrets, a secret. Throws ParleyError
   * `validation_error` for anything else.
   */
  credentialOf({ publicKey, secret }: Pick<NewDevice, 'publicKey' | 'secret'>): DeviceCredential {
    if ((publicKey === undefined) === (secret === undefined))
      throw new ParleyError('validation_error', 'Send either publicKey or secret.')
    if (secret !== undefined) {
      this.#expectInsecure()
      return { secretHash: hashOf(secret) }
    }
    if (publicKey !== undefined && parsedKey(publicKey)) return { publicKey }
    throw new ParleyError(
      'validation_error',
      'publicKey is not a P-256 public key (SubjectPublicKeyInfo, base64url).',
    )
  }

  /** Stores a new device. The caller must have checked a one-time code. */
  async register(credential: DeviceCredential, given: string, grant: DeviceGrant): Promise<Device> {
    // The name marks the device as weak wherever it is shown.
    const name = 'secretHash' in credential ? `${given} (weak)` : given
    await this.#holders.load()
    await this.#makeRoom()
    const at = Date.now()
    const { personId, scopes, limits, expiresAt } = grant
    const data = { name, ...credential, personId, scopes, ...defined({ limits, expiresAt }) }
    const id = newId('dev')
    await this.#holders.put({ kind: 'device', id, data, createdAt: at, usedAt: at })
    return this.#shown(this.#device(id) as Holder)
  }

  /** Calls the listener with each device that is signed in from now on, through any node. */
  onAdded(listener: (device: Device) => void): void {
    this.#holders.onAdded((holder) => holder.kind === 'device' && listener(this.#shown(holder)))
  }

  /** The devices that are not revoked, oldest first. */
  async list(): Promise<Device[]> {
    await this.#holders.load()
    return this.#holders
      .all('device')
      .filter(({ record }) => record.retiredAt === undefined)
      .map((holder) => this.#shown(holder))
  }

  /** True if no browser has ever signed in. False until the devices are loaded. */
  get isFirst(): boolean {
    return this.#holders.isLoaded && this.#holders.all('device').length === 0
  }

  /** The rights of a device. The role of its person may limit them further. Undefined for an unknown id. */
  grantOf(deviceId: string): DeviceGrant | undefined {
    const data = this.#device(deviceId)?.data
    if (!data) return undefined
    const { personId, scopes, limits, expiresAt } = data
    return { personId, scopes, ...defined({ limits, expiresAt }) }
  }

  /** The devices with these keys, including revoked devices. */
  async withKeys(keyIds: ReadonlySet<string>): Promise<ExportProof['devices']> {
    await this.#holders.load()
    return this.#holders.all('device').flatMap(({ id: deviceId, data }) => {
      const { publicKey } = data as DeviceData
      if (publicKey === undefined) return []
      const keyId = idOf(publicKey)
      return keyIds.has(keyId) ? [{ keyId, publicKey, deviceId, name: data.name }] : []
    })
  }

  /**
   * When this resolves, the tokens of the device are invalid and its connections are closed. Rejects with ParleyError
   * `not_found` for an unknown id.
   */
  async revoke(deviceId: string): Promise<void> {
    await this.#holders.load()
    const holder = this.#device(deviceId)
    if (!holder) throw new ParleyError('not_found', `No signed-in browser has the id ${deviceId}.`)
    this.#forgetTokens((issued) => issued.deviceId === deviceId)
    await this.#holders.retire(holder)
  }

  nonce(): Nonce {
    return { nonce: this.#nonces.make(), expiresInMs: nonceLifetimeMs }
  }

  /**
   * Returns a new access token. Rejects with ParleyError `unauthorized` unless the device signed the nonce
   * for this origin; `details.reason` is `revoked` for a revoked device.
   */
  async accessToken(request: SignedRequest): Promise<AccessToken> {
    const { deviceId, secret } = request
    await this.#holders.upToDate()
    const holder = this.#device(deviceId)
    if (!holder) throw refused('This browser is not signed in here.', 'unknown')
    if (secret === undefined) this.#checkSignature(holder, request)
    else this.#checkSecret(holder, secret)
    if (!this.#holders.callerOf(holder)) throw refused('This browser was signed out.', 'revoked')
    this.#renewals.check(deviceId)
    this.#renewals.count(deviceId)
    const token = this.#others?.tokens.issue(deviceId, accessTokenLifetimeMs) ?? this.#newToken(deviceId)
    const { publicKey } = holder.data as DeviceData
    const keyId = publicKey === undefined ? undefined : idOf(publicKey)
    return { token, expiresInMs: accessTokenLifetimeMs, ...defined({ keyId }) }
  }

  #checkSignature(holder: Holder, { deviceId, nonce, signature, origin }: SignedRequest): void {
    const key = this.#keyOf(holder)
    if (nonce === undefined || signature === undefined)
      throw new ParleyError('validation_error', 'Send nonce and signature.')
    if (!key || !isSigned(key, signedText({ origin, deviceId, nonce }), signature))
      throw refused('This browser is not signed in here.', 'unknown')
    if (!this.#nonces.isFresh(nonce)) throw refused('That nonce was already used, or has expired.', 'nonce')
    this.#nonces.use(nonce)
  }

  #checkSecret({ data }: Holder, secret: string): void {
    this.#expectInsecure()
    const { secretHash } = data as DeviceData
    if (secretHash === undefined || !isSame(secretHash, hashOf(secret)))
      throw refused('This browser is not signed in here.', 'unknown')
  }

  #expectInsecure(): void {
    if (this.#allowInsecure) return
    throw new ParleyError(
      'forbidden',
      'Browsers store keys only for pages that are served over HTTPS or from this machine. Open Parley at 127.0.0.1, through an SSH tunnel, or over HTTPS. On a network that you trust, the server can be started with --allow-insecure.',
    )
  }

  #newToken(deviceId: string): string {
    this.#forgetTokens(({ expiresAt }) => expiresAt <= this.#now())
    const own = [...this.#issued].filter(([, issued]) => issued.deviceId === deviceId)
    for (const [hash] of own.slice(0, Math.max(0, own.length - maxTokens + 1))) this.#issued.delete(hash)
    const token = randomBytes(32).toString('base64url')
    this.#issued.set(hashOf(token), { deviceId, expiresAt: this.#now() + accessTokenLifetimeMs })
    return token
  }

  /** Loads the data that `callerOf` needs for this token. If this returns a promise, await it before `callerOf`. */
  learn(token: string): Promise<void> | undefined {
    if (this.#holders.isLoaded && this.#holders.isWaitedFor) return undefined
    return this.#others?.tokens.deviceOf(token) === undefined ? undefined : this.#holders.upToDate()
  }

  /** The device that an access token belongs to, if the token is valid. */
  callerOf(token: string): Caller | undefined {
    const deviceId = this.#others ? this.#others.tokens.deviceOf(token) : this.#issuedTo(token)
    const holder = deviceId === undefined ? undefined : this.#device(deviceId)
    return holder && this.#holders.callerOf(holder)
  }

  #issuedTo(token: string): string | undefined {
    const issued = this.#issued.get(hashOf(token))
    return issued && issued.expiresAt > this.#now() ? issued.deviceId : undefined
  }

  #device(deviceId: string): Holder | undefined {
    return this.#holders.get('device', deviceId)
  }

  /** The public key of a device. Undefined if it is damaged: such a device gets no access token. */
  #keyOf({ data }: Holder): KeyObject | undefined {
    const { publicKey } = data as DeviceData
    const known = this.#keys.get(data) ?? (publicKey === undefined ? undefined : parsedKey(publicKey))
    if (known) this.#keys.set(data, known)
    return known
  }

  #shown(holder: Holder): Device {
    const { name, personId, limits, expiresAt } = holder.data
    const { createdAt, usedAt: lastSeenAt = createdAt } = holder.record
    const scopes = this.#holders.scopesOf(holder)
    return {
      deviceId: holder.id,
      name,
      createdAt,
      lastSeenAt,
      personId,
      scopes,
      ...defined({ limits, expiresAt }),
      ...((holder.data as DeviceData).secretHash !== undefined && { weak: true as const }),
    }
  }

  #forgetTokens(mayGo: (issued: { deviceId: string; expiresAt: number }) => boolean): void {
    for (const [hash, issued] of this.#issued) if (mayGo(issued)) this.#issued.delete(hash)
  }

  /** If there is no room for a new device, removes a revoked or expired device. Throws if there is no such device. */
  async #makeRoom(): Promise<void> {
    const devices = this.#holders.all('device')
    if (devices.length < maxDevices) return
    const revoked = devices.find((holder) => this.#holders.isOver(holder))
    if (!revoked) {
      throw new ParleyError('conflict', `${maxDevices} browsers are signed in. Sign some of them out first.`)
    }
    await this.#holders.forget(revoked)
  }
}

function idOf(publicKey: string): string {
  return keyIdOf(Buffer.from(publicKey, 'base64url'))
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
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
  return hash('sha256', token, 'base64')
}

function refused(message: string, reason: 'unknown' | 'nonce' | 'revoked'): ParleyError {
  return new ParleyError('unauthorized', message, { details: { reason } })
}
