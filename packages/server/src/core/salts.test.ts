import { hash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Salts, type SealSecrets, withoutSalt } from './salts.ts'

const seed = 'AAAAAAAAAAAAAAAAAAAAAA'

const saltsOf = (secrets: SealSecrets, count: number) => {
  const salts = new Salts(secrets)
  return Array.from({ length: count }, (_, offset) => salts.at(offset))
}

it('salts follow from the seed by the rules of docs/proof.md, in any order', () => {
  const sha512 = (text: string) => hash('sha512', text, 'hex')
  const byTheRules = (offset: number) => {
    let secret = sha512(`parley seed 1\n${seed}\n${Math.floor(offset / 4096)}`).slice(0, 32)
    for (let covered = 1024; covered >= 1; covered /= 4) {
      const part = Math.floor(offset / covered) % 4
      secret = sha512(`parley salts 1\n${secret}`).slice(part * 32, part * 32 + 32)
    }
    return secret
  }
  const all = saltsOf({ seed }, 10_000)
  expect(new Set(all).size).toBe(10_000)
  const salts = new Salts({ seed })
  for (const offset of [0, 1, 5, 4095, 4096, 9999, 3, 70_000]) {
    expect(salts.at(offset)).toBe(byTheRules(offset))
    if (offset < all.length) expect(all[offset]).toBe(byTheRules(offset))
  }
})

it('without the salts of some events, the salts of all others remain, and no secret gives a removed one', () => {
  const removals = fc.record({
    count: fc.integer({ min: 1, max: 9000 }),
    picks: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
  })
  fc.assert(
    fc.property(removals, ({ count, picks }) => {
      const before = saltsOf({ seed }, count)
      const removed = new Set(picks.map((pick) => pick % count))
      let secrets: SealSecrets = { seed }
      for (const offset of removed) secrets = withoutSalt(secrets, offset, count)
      expect(secrets.seed).toBeUndefined()
      expect(saltsOf(secrets, count)).toEqual(
        before.map((salt, offset) => (removed.has(offset) ? undefined : salt)),
      )
      const covers = (name: string, offset: number) => {
        const [level = 0, index = 0] = name.split('.').map(Number)
        return Math.floor(offset / 4 ** level) === index
      }
      const names = Object.keys(secrets.seeds ?? {})
      for (const offset of removed) expect(names.filter((name) => covers(name, offset))).toEqual([])
    }),
    { numRuns: 30 },
  )
})

it('a redaction in a seal of a hundred thousand events leaves fewer than fifty secrets', () => {
  const { seeds = {} } = withoutSalt({ seed }, 54_321, 100_000)
  expect(Object.keys(seeds).length).toBeLessThan(50)
  expect(Object.keys(withoutSalt({ seed }, 0, 1).seeds ?? {})).toEqual([])
})
