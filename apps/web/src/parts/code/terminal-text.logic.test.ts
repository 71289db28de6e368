import { describe, expect, it } from 'vitest'
import { tailOf, terminalPieces } from './terminal-text.logic.ts'

const words = (output: string) =>
  terminalPieces(output)
    .map((piece) => piece.text)
    .join('')

describe('terminal text', () => {
  it('keeps colours as class names', () => {
    expect(terminalPieces('\u001b[1;31mbad\u001b[0m ok \u001b[38;5;200;2mdim\u001b[m')).toEqual([
      { text: 'bad', look: 'ansi-bold ansi-1' },
      { text: ' ok ', look: '' },
      { text: 'dim', look: 'ansi-dim' },
    ])
  })

  it('shows the last state of a progress bar', () => {
    expect(words('10%\r50%\r100%\ndone\r\n')).toBe('100%\ndone\n')
  })

  it('removes all other sequences and hidden characters', () => {
    expect(words('\u001b]0;title\u0007a\u001b[2Jb\u001bPx\u001b\\c\u0000\u202ed')).toBe('abcd')
    expect(words('\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007')).toBe('link')
  })

  it('removes a sequence that is cut off at the end', () => {
    expect(words('text\u001b[3')).toBe('text')
  })
})

describe('the tail of a long text', () => {
  it('has the last lines, and the number of characters left out', () => {
    expect(tailOf('a\nb\nc\n', { lines: 2, characters: 100 })).toEqual({ shown: 'b\nc\n', left: 2 })
    expect(tailOf('a\nb', { lines: 5, characters: 100 })).toEqual({ shown: 'a\nb', left: 0 })
  })

  it('is not longer than the limit, even without line breaks', () => {
    const { shown, left } = tailOf('x'.repeat(10_000_000), { lines: 100, characters: 1000 })
    expect([shown.length, left]).toEqual([1000, 9_999_000])
  })
})
