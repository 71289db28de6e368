import { describe, expect, it } from 'vitest'
import { type Comment, commentsPrompt, withComment } from './comments.logic.ts'

const comment = (path: string, line: number, text: string, side: Comment['side'] = 'after'): Comment => ({
  path,
  line,
  side,
  quote: `  code ${line}`,
  text,
})

describe('comments on changes', () => {
  it('replace each other at the same place, and are removed by an empty text', () => {
    const first = withComment([], comment('a.ts', 3, 'why?'))
    const second = withComment(first, comment('a.ts', 3, 'why not?'))
    expect(second.map(({ text }) => text)).toEqual(['why not?'])
    expect(withComment(second, comment('a.ts', 3, 'x', 'before'))).toHaveLength(2)
    expect(withComment(second, comment('a.ts', 3, ' '))).toEqual([])
  })

  it('become one prompt, sorted by file and line', () => {
    const text = commentsPrompt([
      comment('b.ts', 1, 'last'),
      comment('a.ts', 9, 'two\nlines'),
      comment('a.ts', 2, 'first', 'before'),
    ])
    expect(text).toBe(
      [
        'Please address these comments on your changes:',
        '',
        '- a.ts:2 (removed line)',
        '  >   code 2',
        '',
        '  first',
        '',
        '- a.ts:9',
        '  >   code 9',
        '',
        '  two',
        '  lines',
        '',
        '- b.ts:1',
        '  >   code 1',
        '',
        '  last',
      ].join('\n'),
    )
  })
})
