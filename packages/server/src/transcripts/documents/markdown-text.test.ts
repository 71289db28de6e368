import { describe, expect, it } from 'vitest'
import { contained, fenced, inline, quoted } from './markdown-text.ts'

describe('content as Markdown', () => {
  it('has a fence longer than its own backticks', () => {
    expect(fenced('a\n````\nb', 'diff')).toBe('`````diff\na\n````\nb\n`````')
    expect(fenced('plain\n')).toBe('```\nplain\n```')
  })

  it('shows tags as text, but does not change code', () => {
    expect(contained('a <b>, `Map<K>`, <!-- c')).toBe('a &lt;b>, `Map<K>`, &lt;!-- c')
    expect(contained('```ts\nArray<string>\n```\n<details>')).toBe('```ts\nArray<string>\n```\n&lt;details>')
    expect(contained('1 < 2')).toBe('1 < 2')
  })

  it('treats unpaired backticks as text, not as code', () => {
    expect(contained('a ` b\n` <details> `')).toBe('a ` b\n` &lt;details> `')
    expect(contained('\\` <b> `')).toBe('\\` &lt;b> `')
    expect(contained('- x\n  ```\n<details>')).toBe('- x\n  ```\n&lt;details>')
  })

  it('closes a fence that was left open', () => {
    expect(contained('look:\n````\ncode\n```')).toBe('look:\n````\ncode\n```\n````')
    expect(contained('~~~\ncode\n')).toBe('~~~\ncode\n~~~')
  })

  it('quotes every line and keeps a title on one line', () => {
    expect(quoted('a\n\n</details>')).toBe('> a\n>\n> &lt;/details>')
    expect(inline('# a\n* `b` <c>')).toBe('\\# a \\* \\`b\\` \\<c\\>')
  })
})
