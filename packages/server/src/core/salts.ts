import { hash } from 'node:crypto'

/**
 * The salts of the events of one seal. They are derived from its seed by a tree, so that a redaction can remove one salt
 * and still needs little space for the others. docs/proof.md describes the same rules for programs in other languages.
 *
 * A secret at level 0 is the salt of one event, given by its offset from the first event of the seal. A secret at
 * level n is split into four secrets of level n - 1. The secrets of the highest level follow from the seed.
 */
export type SealSecrets = {
  readonly seed?: string | undefined
  /** The secrets that a redaction left, by `<level>.<index>`. */
  readonly seeds?: Readonly<Record<string, string>> | undefined
}

const levels = 6
/** The number of characters of a secret: 128 bits. */
const length = 32

export class Salts {
  readonly #seed: string | undefined
  readonly #kept: ReadonlyMap<string, string> | undefined
  /** At each level, the four secrets that were derived last, and the index of the secret that they were split from. */
  readonly #parents: number[] = []
  readonly #quarters: string[] = []

  constructor({ seed, seeds }: SealSecrets) {
    this.#seed = seed
    this.#kept = seeds && new Map(Object.entries(seeds))
  }

  /** The salt of the event at this offset; undefined if a redaction removed it. */
  at(offset: number): string | undefined {
    return this.#secret(0, offset)
  }

  #secret(level: number, index: number): string | undefined {
    const kept = this.#kept?.get(nameOf(level, index))
    if (kept !== undefined) return kept
    if (level === levels) return this.#seed === undefined ? undefined : rootOf(this.#seed, index)
    const parent = Math.floor(index / 4)
    if (this.#parents[level] !== parent) {
      const secret = this.#secret(level + 1, parent)
      if (secret === undefined) return undefined
      this.#parents[level] = parent
      this.#quarters[level] = quartersOf(secret)
    }
    const start = (index - 4 * parent) * length
    return this.#quarters[level]?.slice(start, start + length)
  }
}

/** The secrets that give the salts of `count` events, except the salt of the event at this offset. */
export function withoutSalt({ seed, seeds }: SealSecrets, offset: number, count: number): SealSecrets {
  const kept = new Map(Object.entries(seeds ?? {}))
  if (seed !== undefined)
    for (let root = 0; root * 4 ** levels < count; root++) kept.set(nameOf(levels, root), rootOf(seed, root))
  const split = (level: number, index: number, secret: string): void => {
    if (level === 0) return
    const quarters = quartersOf(secret)
    const covered = 4 ** (level - 1)
    for (let part = 0; part < 4; part++) {
      const child = index * 4 + part
      const quarter = quarters.slice(part * length, (part + 1) * length)
      if (child === Math.floor(offset / covered)) split(level - 1, child, quarter)
      else if (child * covered < count) kept.set(nameOf(level - 1, child), quarter)
    }
  }
  for (let level = levels; level >= 0; level--) {
    const index = Math.floor(offset / 4 ** level)
    const secret = kept.get(nameOf(level, index))
    if (secret === undefined) continue
    kept.delete(nameOf(level, index))
    split(level, index, secret)
  }
  return { seeds: Object.fromEntries(kept) }
}

const nameOf = (level: number, index: number) => `${level}.${index}`

const rootOf = (seed: string, index: number) =>
  hash('sha512', `parley seed 1\n${seed}\n${index}`, 'hex').slice(0, length)

const quartersOf = (secret: string) => hash('sha512', `parley salts 1\n${secret}`, 'hex')
