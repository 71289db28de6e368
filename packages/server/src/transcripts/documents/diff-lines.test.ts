import { describe, expect, it } from 'vitest'
import { diffLines, diffText } from './diff-lines.ts'

describe('diff lines', () => {
  it('show the differences with three lines of context', () => {
    const before = 'a\nb\nc\nd\ne\nf\ng\nh\ni\n'
    const text = diffText(diffLines({ path: 'x', before, after: before.replace('e', 'E') }))
    expect(text).toBe('@@ line 2 @@\n b\n c\n d\n-e\n+E\n f\n g\n h')
  })

  it('show a new file, a deleted one, and one that grew by a repeated line', () => {
    expect(diffText(diffLines({ path: 'x', before: null, after: 'a\nb\n' }))).toBe('+a\n+b')
    expect(diffText(diffLines({ path: 'x', before: 'a\n', after: null }))).toBe('-a')
    expect(diffText(diffLines({ path: 'x', before: 'a\na\n', after: 'a\na\na\n' }))).toBe(' a\n a\n+a')
    expect(diffLines({ path: 'x', before: 'a', after: 'a' })).toEqual([])
  })

  it("are read from the agent's own patch, with file names if there are several files", () => {
    const patch = '--- a/x\n+++ b/x\n@@ -7 +7 @@\n--- old\n+++ new\n'
    expect(diffText(diffLines({ path: 'x', patch, before: 'ignored' }))).toBe(
      '@@ line 7 @@\n--- old\n+++ new',
    )
    const both = diffLines({ path: 'x', patch: patch + patch.replaceAll('/x', '/y') })
    expect(both.map(({ sign }) => sign).join('')).toBe('@@-+@@-+')
    expect(both.filter(({ sign }) => sign === '@').map(({ text }) => text)).toEqual([
      'x',
      '@@ line 7 @@',
      'y',
      '@@ line 7 @@',
    ])
  })
})
