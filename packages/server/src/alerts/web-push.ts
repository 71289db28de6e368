import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { ParleyError } from '@parley/protocol'

/** The keys of a browser's push subscription, as base64url. */
export type SubscriptionKeys = { readonly p256dh: string; readonly auth: string }

/** The random values of an encryption. A test sets them, to compare the result with the example of the RFC. */
export type EncryptionSeed = { readonly salt: Buffer; readonly privateKey: Buffer }

/** The maximum length of a message in bytes. Push services must accept 4096 with the overhead (RFC 8030). */
export const longestMessage = 3993
const recordSize = 4096

/** Encrypts a message for a browser, with the content coding aes128gcm in one record (RFC 8291 and 8188). */
export function encryptPush(
  message: Buffer,
  { p256dh, auth }: SubscriptionKeys,
  seed: EncryptionSeed | undefined = undefined,
): Buffer {
  const receiver = Buffer.from(p256dh, 'base64url')
  const ecdh = createECDH('prime256v1')
  if (seed) ecdh.setPrivateKey(seed.privateKey)
  else ecdh.generateKeys()
  const sender = ecdh.getPublicKey()
  const salt = seed?.salt ?? randomBytes(16)
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), receiver, sender])
  const secret = derive(ecdh.computeSecret(receiver), Buffer.from(auth, 'base64url'), info, 32)
  const key = derive(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = derive(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
  const cipher = createCipheriv('aes-128-gcm', key, nonce)
  // The padding delimiter 2 marks the last record.
  const encrypted = Buffer.concat([cipher.update(message), cipher.update(Buffer.of(2)), cipher.final()])
  const header = Buffer.alloc(21)
  salt.copy(header)
  header.writeUInt32BE(recordSize, 16)
  header.writeUInt8(sender.length, 20)
  return Buffer.concat([header, sender, encrypted, cipher.getAuthTag()])
}

function derive(secret: Buffer, salt: Buffer, info: Buffer, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, length))
}

/** Throws ParleyError `validation_error` unless messages can be encrypted with these keys. */
export function checkSubscriptionKeys(keys: SubscriptionKeys): void {
  try {
    if (Buffer.from(keys.auth, 'base64url').length !== 16) throw new Error('The length is wrong.')
    encryptPush(Buffer.alloc(0), keys)
  } catch {
    throw new ParleyError('validation_error', 'The keys of the push subscription are not valid.')
  }
}

/** The key pair with which this server identifies itself to push services (VAPID, RFC 8292). */
export type PushKey = { readonly privateKey: KeyObject; readonly publicKey: string }

export function newPushKey(): string {
  return generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    .privateKey.export({ format: 'der', type: 'pkcs8' })
    .toString('base64url')
}

export function pushKeyOf(stored: string): PushKey {
  const privateKey = createPrivateKey({ key: Buffer.from(stored, 'base64url'), format: 'der', type: 'pkcs8' })
  const { x = '', y = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  const point = [Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]
  return { privateKey, publicKey: Buffer.concat(point).toString('base64url') }
}

const authorizationSeconds = 12 * 3600

/**
 * The header Authorization for a push service. `contact` is the URL at which the operator of the service can reach the
 * sender.
 */
export function pushAuthorization(
  { privateKey, publicKey }: PushKey,
  { endpoint, contact, now }: { readonly endpoint: string; readonly contact: string; readonly now: number },
): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = {
    aud: new URL(endpoint).origin,
    exp: Math.floor(now / 1000) + authorizationSeconds,
    sub: contact,
  }
  const text = `${part({ typ: 'JWT', alg: 'ES256' })}.${part(claims)}`
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `vapid t=${text}.${signature.toString('base64url')}, k=${publicKey}`
}
