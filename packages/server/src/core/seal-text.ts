import { createHash, hash } from 'node:crypto'

/**
 * The computation of seals, from the exact texts of events as readers get them. docs/proof.md describes the same rules
 * for programs in other languages.
 */

/**
 * The hash that stands for an event in a seal, as a string with one character for each byte, which costs less than a
 * Buffer. A redacted event keeps the leaf of the original event.
 */
export function leafOf(text: string): string {
  if (text.includes('"type":"event.redacted"')) {
    const { type, leaf } = JSON.parse(text) as { type: string; leaf: string }
    if (type === 'event.redacted') return Buffer.from(leaf, 'base64url').toString('binary')
  }
  return hash('sha256', text, 'binary')
}

/** The hash of a seal, into which the leaves of its events are added one after another. */
export class SealHash {
  readonly #hash

  constructor(sessionId: string, from: number, prev: string) {
    this.#hash = createHash('sha256').update(`parley seal 1\n${sessionId}\n${from}\n${prev}\n`)
  }

  /** One leaf, or several one after another. */
  add(leaves: string): void {
    this.#hash.update(leaves, 'binary')
  }

  /** The hash of a seal that ends with event `to`. `leaves` follow the leaves that were added. */
  upTo(to: number, leaves = ''): string {
    return this.#hash.copy().update(leaves, 'binary').update(`\n${to}`).digest('base64url')
  }
}

const signatureField = /,"signature":"([\w-]+)"\}$/

/** The text of a JSON object with a signature as its last field. The signature covers the rest of the text. */
export function signedText(text: string, sign: (text: string) => string): string {
  return `${text.slice(0, -1)},"signature":"${sign(text)}"}`
}

/** Splits a text that `signedText` returned; undefined for any other text. */
export function splitSigned(
  text: string,
): { readonly unsigned: string; readonly signature: string } | undefined {
  const signature = signatureField.exec(text)?.[1]
  if (signature === undefined) return undefined
  return { unsigned: `${text.slice(0, -`,"signature":"${signature}"}`.length)}}`, signature }
}

/** The id of a public key, given as SPKI in DER: the start of its SHA-256. */
export function keyIdOf(publicKey: Buffer): string {
  return hash('sha256', publicKey, 'base64url').slice(0, 16)
}
