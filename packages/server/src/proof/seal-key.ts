import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { ParleyError } from '@parley/protocol'
import { keyIdOf, type Sealer } from '../core/index.ts'

/** A sealer with the public half of its key, as SPKI in base64url. */
export type KeySealer = Sealer & { readonly publicKey: string }

/**
 * The sealer with the key in this file. The file is created on first use, readable only by this user. Throws a
 * ParleyError if the file cannot be read or contains no key.
 */
export function openSealer(file: string): KeySealer {
  return sealerWith(readKey(file) ?? makeKey(file))
}

function sealerWith(key: KeyObject): KeySealer {
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' })
  return {
    keyId: keyIdOf(publicKey),
    publicKey: publicKey.toString('base64url'),
    sign: (text) => sign(null, Buffer.from(text), key).toString('base64url'),
    seed: seedSource(),
  }
}

const seedLength = 16
const seedsAtOnce = 64

/** Random bytes are taken from the system for many seeds at once, because each call takes longer than a hash. */
function seedSource(): () => string {
  let bytes = Buffer.alloc(0)
  return () => {
    if (bytes.length === 0) bytes = randomBytes(seedsAtOnce * seedLength)
    const seed = bytes.toString('base64url', 0, seedLength)
    bytes = bytes.subarray(seedLength)
    return seed
  }
}

/** Checks an Ed25519 signature of a text. Only the canonical base64url form of the signature is accepted. */
export function isSignedBy(publicKey: KeyObject, text: string, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64url')
  return bytes.toString('base64url') === signature && verify(null, Buffer.from(text), publicKey, bytes)
}

function readKey(file: string): KeyObject | undefined {
  let pem: string
  try {
    pem = readFileSync(file, 'utf8')
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new ParleyError('internal_error', `${file} cannot be read (${code}). Check its permissions.`, {
      cause: thrown,
    })
  }
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // The error below reports a file without a valid key.
  }
  throw new ParleyError(
    'validation_error',
    `${file} contains no Ed25519 key. Restore it from a backup, or remove it: a new key is then created, and seals of the old key remain valid.`,
  )
}

/** Creates the file atomically: if two programs start at once, both use the key that was created first. */
function makeKey(file: string): KeyObject {
  const { privateKey } = generateKeyPairSync('ed25519')
  const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    writeFileSync(temporary, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' })
    linkSync(temporary, file)
    return privateKey
  } catch (thrown) {
    const made = readKey(file)
    if (made) return made
    const { code } = thrown as NodeJS.ErrnoException
    throw new ParleyError('internal_error', `${file} cannot be written (${code}).`, { cause: thrown })
  } finally {
    rmSync(temporary, { force: true })
  }
}
