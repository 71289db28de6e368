import { describe, expect, it } from 'vitest'
import { codeText, lineNamed, matchesIn, maxRowLength, rowOfLine } from './rows.logic.ts'

describe('the rows of a text', () => {
  it('are its lines, with hidden characters made visible', () => {
    const { rows, columns, left } = codeText('a\r\n\tb\u202e\n\u0007\n')
    expect(rows.map(({ line, text }) => [line, text])).toEqual([
      [1, 'a'],
      [2, '\tb\\u{202e}'],
      [3, '\u2407'],
    ])
    expect([columns, left]).toEqual([13, 0])
    expect(codeText('').rows).toEqual([{ line: 1, from: 0, text: '' }])
  })

  it('are pieces of a long line, which split no character', () => {
    const long = `${'x'.repeat(maxRowLength - 1)}😀${'y'.repeat(5)}`
    const { rows } = codeText(`first\n${long}\nlast`)
    expect(rows.map(({ line, from }) => [line, from])).toEqual([
      [1, 0],
      [2, 0],
      [2, maxRowLength - 1],
      [3, 0],
    ])
    expect(rows[2]?.text).toBe('😀yyyyy')
    expect([1, 2, 3, 99].map((line) => rowOfLine(rows, line))).toEqual([0, 1, 3, 3])
  })

  it('end where a browser could scroll no further', () => {
    const { rows, left } = codeText('\n'.repeat(2 * 1024 * 1024))
    expect(rows.length + left).toBe(2 * 1024 * 1024)
    expect(left).toBeGreaterThan(0)
  })
})

describe('matches in a text', () => {
  it('are found without regard to case, even across the pieces of a line', () => {
    const { rows } = codeText(`Aa\n${'x'.repeat(maxRowLength - 2)}find${'x'.repeat(10)}\nfi\nnd`)
    expect(matchesIn(rows, 'a')).toEqual([
      { row: 0, at: 0 },
      { row: 0, at: 1 },
    ])
    expect(matchesIn(rows, 'FIND')).toEqual([{ row: 1, at: maxRowLength - 2 }])
    expect(matchesIn(rows, '')).toEqual([])
  })
})

it('a query can name a line', () => {
  expect([':12', ' :7 ', ':0', '12', ':x'].map(lineNamed)).toEqual([12, 7, undefined, undefined, undefined])
})
