import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fitsGlob } from './glob.ts'

const barred = /[;\n]/

describe('a pattern', () => {
  const letters = fc.constantFrom('a', 'b', ';', '\\', '?')
  const pattern = fc.array(fc.oneof(letters, fc.constant('*')), { maxLength: 8 }).map((all) => all.join(''))
  const text = fc.array(letters, { maxLength: 12 }).map((all) => all.join(''))

  it.each([
    ['without barred characters', {}],
    ['with barred characters', { barred }],
    ['with question marks', { question: true }],
  ])('matches what an exhaustive search matches, %s', (_, options) => {
    fc.assert(
      fc.property(pattern, text, (glob, value) => {
        expect(fitsGlob(glob, value, options)).toBe(tried(glob, value, options))
      }),
      { numRuns: 5_000 },
    )
  })

  it.each([
    ['*curl*|*sh*', 'curl |'.repeat(20_000)],
    ['*a*a*a*a*b', 'a'.repeat(100_000)],
    [`${'*a'.repeat(2_000)}b`, 'a'.repeat(50_000)],
    [`*${'a'.repeat(2_000)}b`, 'a'.repeat(50_000)],
  ])('that begins with %.12s is matched against a long text without trying every split', (glob, value) => {
    expect(fitsGlob(glob, value)).toBe(false)
    expect(fitsGlob(glob, value, { barred })).toBe(false)
  })
})

/** A second implementation of the match, which tries every way to split the text. */
function tried(glob: string, text: string, options: { barred?: RegExp; question?: boolean }): boolean {
  if (glob === '') return text === ''
  const [char = ''] = glob
  if (char === '*') {
    if (tried(glob.slice(1), text, options)) return true
    return text !== '' && !options.barred?.test(text.charAt(0)) && tried(glob, text.slice(1), options)
  }
  const isEscape = !options.question && char === '\\' && glob.length > 1
  const literal = isEscape ? glob.charAt(1) : char
  const fits = text !== '' && ((options.question && char === '?') || text.charAt(0) === literal)
  return fits && tried(glob.slice(isEscape ? 2 : 1), text.slice(1), options)
}
