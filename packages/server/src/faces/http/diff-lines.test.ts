import { describe, expect, it } from 'vitest'
import { diffLines, diffText } from './diff-lines.ts'

describe('a change as lines', () => {
  it('shows what differs with three lines around it', () => {
    const before = 'a\nb\nc\nd\ne\nf\ng\nh\ni\n'
    const text = diffText(diffLines({ before, after: before.replace('e', 'E') }))
    expect(text).toBe('@@ line 2 @@\n b\n c\n d\n-e\n+E\n f\n g\n h')
  })

  it('shows a new file, a deleted one, and one that grew by a repeated line', () => {
    expect(diffText(diffLines({ before: null, after: 'a\nb\n' }))).toBe('+a\n+b')
    expect(diffText(diffLines({ before: 'a\n', after: null }))).toBe('-a')
    expect(diffText(diffLines({ before: 'a\na\n', after: 'a\na\na\n' }))).toBe(' a\n a\n+a')
    expect(diffLines({ before: 'a', after: 'a' })).toEqual([])
  })

  it("passes the agent's own patch on", () => {
    const patch = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same\n'
    expect(diffText(diffLines({ patch, before: 'ignored' }))).toBe(patch.trimEnd())
  })
})
