import { createHttp } from '@parley/client'
import { ParleyError, signedText } from '@parley/protocol'
import { type DBSchema, type IDBPDatabase, openDB } from 'idb'

/**
 * The identity of this browser at the server: a private key that no script can read, and the id of its public key.
 * A browser that was signed in by an older version has no id before it gets an access token. The access token is kept
 * only in the memory of this tab.
 */
type StoredDevice = { readonly deviceId: string } & (
  | { readonly key: CryptoKey; readonly keyId?: string }
  // A page over plain HTTP has no keys.
  | { readonly secret: string }
)
interface Devices extends DBSchema {
  devices: { key: string; value: StoredDevice }
}

const deviceIdKey = 'parley:device'
const recordKey = 'this'
/** The share of a token's lifetime after which it is renewed. */
const renewAfter = 0.9
export const http = createHttp({ url: document.baseURI })
const revokedListeners = new Set<() => void>()
let current: { readonly token: string; readonly goodUntil: number } | undefined
let renewing: Promise<string | undefined> | undefined

/** True if this browser was signed in with a link. The server may have signed it out since. */
export function isSignedIn(): boolean {
  return localStorage.getItem(deviceIdKey) !== null
}

/** Calls the listener when the server reports that this browser was signed out. */
export function onRevoked(listener: () => void): void {
  revokedListeners.add(listener)
}

/**
 * Returns the access token to send, or undefined if this browser is not signed in. Never returns `refused`, a token
 * that the server did not accept.
 */
export function accessToken(refused?: string): Promise<string | undefined> {
  if (current && current.token !== refused && performance.now() < current.goodUntil) {
    return Promise.resolve(current.token)
  }
  renewing ??= renew().finally(() => {
    renewing = undefined
  })
  return renewing
}

async function renew(isSecondTry = false): Promise<string | undefined> {
  if (!isSignedIn()) return undefined
  const asked = performance.now()
  const [device, { nonce }] = await Promise.all([storedDevice(), http.call('createNonce')])
  if (!device) return undefined
  const proof = 'secret' in device ? { secret: device.secret } : await signed(device, nonce)
  try {
    const body = { deviceId: device.deviceId, ...proof }
    const { token, expiresInMs, keyId } = await http.call('createAccessToken', { body })
    if (keyId !== undefined && 'key' in device && device.keyId === undefined)
      await storeKeyId(device.deviceId, keyId).catch(() => undefined)
    current = { token, goodUntil: asked + expiresInMs * renewAfter }
    return token
  } catch (thrown) {
    const reason = thrown instanceof ParleyError ? thrown.details?.reason : undefined
    // Tries once more: the server was restarted between the two requests and does not know the nonce.
    if (reason === 'nonce' && !isSecondTry) return renew(true)
    if (reason === 'revoked') for (const listener of revokedListeners) listener()
    throw thrown
  }
}

async function signed({ deviceId, key }: { deviceId: string; key: CryptoKey }, nonce: string) {
  const text = new TextEncoder().encode(signedText({ origin: location.origin, deviceId, nonce }))
  const bytes = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, text)
  return { nonce, signature: base64url(bytes) }
}

/** Stores the device that this browser signed in as. */
export async function storeDevice(device: StoredDevice): Promise<void> {
  await (await database()).put('devices', device, recordKey)
  localStorage.setItem(deviceIdKey, device.deviceId)
}

/**
 * Stores the id of the key that has just signed a nonce. Does nothing if the browser was signed out or signed in again
 * meanwhile. If the write fails, the browser has no id until it gets another access token.
 */
async function storeKeyId(deviceId: string, keyId: string): Promise<void> {
  const transaction = (await database()).transaction('devices', 'readwrite')
  const device = await transaction.store.get(recordKey)
  if (device && 'key' in device && device.deviceId === deviceId)
    await transaction.store.put({ ...device, keyId }, recordKey)
  await transaction.done
}

export async function forgetDevice(): Promise<void> {
  current = undefined
  localStorage.removeItem(deviceIdKey)
  await (await database()).delete('devices', recordKey).catch(() => {})
}

export async function storedDevice(): Promise<StoredDevice | undefined> {
  return (await database()).get('devices', recordKey)
}

function database(): Promise<IDBPDatabase<Devices>> {
  return openDB<Devices>('parley-device', 1, { upgrade: (db) => void db.createObjectStore('devices') })
}

export function base64url(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}
