import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { excerptOf } from './excerpt.ts'
import { queryWords, wordsOf } from './words.ts'

describe('the words of a text', () => {
  it.each([
    ['The quick, brown fox!', ['the', 'quick', 'brown', 'fox']],
    ['Größe façade', ['große', 'facade']],
    ['readFile', ['readfile', 'read', 'file']],
    ['HTTPServer2', ['httpserver2', 'http', 'server', '2']],
    ['snake_case src/app.ts', ['snake', 'case', 'src', 'app', 'ts']],
    ['SHOUT', ['shout']],
    ['設計図', ['設計', '計図']],
    ['🎉 --- ', []],
    ['a'.repeat(65), []],
  ])('of %j', (text, words) => expect(wordsOf(text)).toEqual(words))

  it('contain every word of a query that is a part of the text', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[\p{L}\p{N}]{1,20}$/u), { minLength: 1 }), (given) => {
        const text = given.join(' ')
        expect(wordsOf(text)).toEqual(expect.arrayContaining(queryWords(text)))
      }),
    )
  })

  it('are taken once from a query, and a name stays whole', () => {
    expect(queryWords('readFile readfile x.y')).toEqual(['readfile', 'x', 'y'])
  })
})

describe('an excerpt', () => {
  const marked = (text: string, ...words: string[]) => {
    const excerpt = excerptOf(text, words)
    return { ...excerpt, marked: excerpt.marks.map(([start, end]) => excerpt.text.slice(start, end)) }
  }

  it('of a short text is the text, on one line', () => {
    expect(marked('one\n\ttwo  three', 'two')).toMatchObject({ text: 'one  two  three', marked: ['two'] })
  })

  it('of a long text is the part around the first found word', () => {
    const text = `${'before '.repeat(100)}the Needle is here ${'after '.repeat(100)}`
    const excerpt = marked(text, 'needle')
    expect(excerpt.text).toMatch(/^…before .*the Needle is here after .*…$/)
    expect(excerpt.text.length).toBeLessThan(230)
    expect(excerpt.marked).toEqual(['Needle'])
  })

  it('marks the beginning of words, parts of names, and words with accents', () => {
    expect(marked('refactoring useRefactor café', 'refactor', 'cafe').marked).toEqual([
      'refactor',
      'Refactor',
      'café',
    ])
    expect(marked('profile', 'file').marked).toEqual([])
  })

  it('never marks outside its text, whatever the text is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 600 }), (text) => {
        const { text: part, marks } = excerptOf(text, wordsOf(text).slice(-2))
        for (const [start, end] of marks) {
          expect(start).toBeLessThan(end)
          expect(end).toBeLessThanOrEqual(part.length)
        }
        expect(part.isWellFormed() || !text.isWellFormed()).toBe(true)
      }),
    )
  })
})
