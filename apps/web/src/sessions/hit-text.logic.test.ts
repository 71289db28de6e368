import { describe, expect, it } from 'vitest'
import { piecesOf } from './hit-text.logic.ts'

const shown = (text: string, marks: [number, number][]) =>
  piecesOf(text, marks).map(({ text, isMarked }) => (isMarked ? `[${text}]` : text))

describe('the pieces of an excerpt', () => {
  it('are the found words and the text between them, in order', () => {
    expect(
      shown('…move the table now', [
        [1, 5],
        [10, 15],
      ]),
    ).toEqual(['…', '[move]', ' the ', '[table]', ' now'])
    expect(shown('whole', [[0, 5]])).toEqual(['[whole]'])
    expect(shown('none', [])).toEqual(['none'])
    expect(shown('', [])).toEqual([])
  })

  it('contain each character once, even if marks overlap', () => {
    expect(
      shown('abcdef', [
        [1, 4],
        [2, 5],
      ])
        .join('')
        .replace(/[[\]]/g, ''),
    ).toBe('abcdef')
  })
})
