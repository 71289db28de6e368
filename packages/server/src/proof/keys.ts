import { createPublicKey, type KeyObject } from 'node:crypto'
import { ParleyError } from '@parley/protocol'
import { keyIdOf } from '../core/index.ts'

/** Public keys by their ids. */
export type Keys = ReadonlyMap<string, KeyObject>

/** Parses keys in SPKI format, as base64url. Computes the id of each key from the key itself. */
export function keysOf(publicKeys: Iterable<string>): Keys {
  return new Map(
    [...publicKeys].map((text) => {
      const der = Buffer.from(text, 'base64url')
      return [keyIdOf(der), createPublicKey({ key: der, format: 'der', type: 'spki' })]
    }),
  )
}

const pem = /-----BEGIN PUBLIC KEY-----[\s\S]+?-----END PUBLIC KEY-----/g

/** The keys of a file: PEM, or one key as SPKI in base64url in each line. Throws a ParleyError if there is none. */
export function keysInText(text: string): Keys {
  try {
    const pems = text
      .match(pem)
      ?.map((block) => createPublicKey(block).export({ type: 'spki', format: 'der' }))
    const lines = text.split(/\s+/).filter((word) => /^[\w-]{40,}$/.test(word))
    const keys = keysOf(pems?.map((der) => der.toString('base64url')) ?? lines)
    if (keys.size > 0) return keys
  } catch {
    // The error below reports a text without a valid key.
  }
  throw new ParleyError(
    'validation_error',
    'The key file contains no public key. "parley audit keys" prints the keys of a server.',
  )
}
