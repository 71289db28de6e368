import { createHash, hash } from 'node:crypto'
import type { SealSecrets } from './salts.ts'

/**
 * The computation of seals, from the exact texts of events as readers get them. docs/proof.md describes the same rules
 * for programs in other languages.
 */

/**
 * The hash that stands for an event in a seal, as a string with one character for each byte, which costs less than a
 * Buffer. Without a salt, it follows the rules of seals that have no secrets. An event that a redaction replaced keeps
 * the leaf of the original event.
 */
export function leafOf(text: string, salt?: string): string {
  const type = replaceableTypeOf(text)
  const kept = type && keptLeafOf(text)
  if (kept !== undefined) return Buffer.from(kept, 'base64url').toString('binary')
  if (salt === undefined) return hash('sha256', text, 'binary')
  return saltedLeaf(type === 'log.sealed' ? splitSecrets(text).text : text, salt)
}

/** The leaf of an event that no redaction has replaced; of a seal, without its secrets. */
export function saltedLeaf(text: string, salt: string): string {
  return hash('sha256', salt + text, 'binary')
}

/** The field `leaf` of an event that a redaction replaced. Such an event is valid only with a signature. */
function keptLeafOf(text: string): string | undefined {
  if (!text.includes('"leaf":"')) return undefined
  try {
    const { type, leaf } = JSON.parse(text) as { type?: unknown; leaf?: unknown }
    const isReplaced = type === 'event.redacted' || type === 'log.sealed'
    return isReplaced && typeof leaf === 'string' ? leaf : undefined
  } catch {
    return undefined
  }
}

const typeStart = '"type":"'

/**
 * The type of an event that a redaction can have replaced. In the text of an event, the first field `type` is that of the
 * event itself.
 */
function replaceableTypeOf(text: string): 'event.redacted' | 'log.sealed' | undefined {
  const start = text.indexOf(typeStart) + typeStart.length
  if (text.startsWith('log.sealed"', start)) return 'log.sealed'
  return text.startsWith('event.redacted"', start) ? 'event.redacted' : undefined
}

/** The hash of a seal, into which the leaves of its events are added one after another. */
export class SealHash {
  readonly #hash

  /** `version` is 2 if the leaves of the seal have salts. */
  constructor(sessionId: string, from: number, prev: string, version: 1 | 2) {
    this.#hash = createHash('sha256').update(`parley seal ${version}\n${sessionId}\n${from}\n${prev}\n`)
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

const secretsField = /^,("seed":"[\w-]{22}"|"seeds":\{(?:"\d+\.\d+":"[0-9a-f]{32}"(?:,(?=")|(?=\})))*\})\}$/

/** Splits the text of a seal into its signed text and the secrets after it, which no signature and no leaf covers. */
export function splitSecrets(text: string): { readonly text: string; readonly secrets?: SealSecrets } {
  const start = text.lastIndexOf(',"seed')
  const field = start < 0 ? undefined : secretsField.exec(text.slice(start))?.[1]
  if (field === undefined) return { text }
  return { text: `${text.slice(0, start)}}`, secrets: JSON.parse(`{${field}}`) as SealSecrets }
}

/** Adds secrets to the signed text of a seal. */
export function withSecrets(text: string, secrets: SealSecrets): string {
  return `${text.slice(0, -1)},${JSON.stringify(secrets).slice(1)}`
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
