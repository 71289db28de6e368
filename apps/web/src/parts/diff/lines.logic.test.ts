import { describe, expect, it } from 'vitest'
import { diffFiles, diffLines, fileNote } from './lines.logic.ts'

const shape = (diff: Parameters<typeof diffLines>[0]) =>
  diffLines(diff).hunks.map((hunk) =>
    hunk.lines.map((line) => `${line.type[0]}${line.before ?? ''}:${line.after ?? ''} ${line.text}`),
  )

describe('the lines of a diff', () => {
  it('are the changed lines with their context', () => {
    const before = 'a\nb\nc\nd\ne\nf\ng\nh\n'
    expect(shape({ path: 'x', before, after: before.replace('e', 'E') })).toEqual([
      ['s2:2 b', 's3:3 c', 's4:4 d', 'r5: e', 'a:5 E', 's6:6 f', 's7:7 g', 's8:8 h'],
    ])
  })

  it('are all lines of a new or deleted file, and none of an unchanged one', () => {
    expect(shape({ path: 'x', before: null, after: 'a\nb\n' })).toEqual([['a:1 a', 'a:2 b']])
    expect(diffLines({ path: 'x', before: 'a\nb', after: null })).toMatchObject({ added: 0, removed: 2 })
    expect(diffLines({ path: 'x', before: 'a', after: 'a' }).hunks).toEqual([])
  })

  it('are read from a patch, even from a malformed one', () => {
    const patch = '--- a\n+++ b\n@@ -3,2 +3,2 @@\n same\n-old\n+new\n\\ No newline at end of file\n'
    expect(shape({ path: 'x', patch })).toEqual([['s3:3 same', 'r4: old', 'a:4 new']])
    expect(
      diffLines({ path: 'x', patch: '@@ nonsense @@\nmore' }).hunks.flatMap(({ lines }) => lines),
    ).not.toEqual([])
  })

  it('are not compared if that would take too long', () => {
    const many = (word: string) => Array.from({ length: 50_000 }, (_, index) => `${word} ${index}`).join('\n')
    expect(diffLines({ path: 'x', before: many('a'), after: many('b') })).toMatchObject({ added: 50_000 })
  })

  it('are counted without the file headers of a patch with several files', () => {
    const patch = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- old\n+new\n'
    const diff = { path: 'x', patch: patch + patch.replaceAll('/x', '/y') }
    expect(diffFiles(diff).map(({ path, added, removed }) => [path, added, removed])).toEqual([
      ['x', 1, 1],
      ['y', 1, 1],
    ])
    expect(diffLines(diff)).toMatchObject({ added: 2, removed: 2 })
  })

  it('come with a note on what happens to the whole file', () => {
    const note = (diff: Parameters<typeof diffLines>[0]) => fileNote(diff, diffFiles(diff)[0]!)
    expect(note({ path: 'x', before: null, after: 'a' })).toBe('New file')
    expect(note({ path: 'x', after: null, patch: '@@ -1 +0,0 @@\n-a' })).toBe('Deleted')
    expect(note({ path: 'x', after: 'a' })).toBe('Replaces the whole file')
    expect(note({ path: 'x', before: 'a', after: 'b' })).toBeUndefined()
    const moved = { path: 'y', movedFrom: 'x', patch: '@@ -1 +1 @@\n-a\n+b' }
    expect(diffFiles(moved)).toMatchObject([{ path: 'y', from: 'x', status: 'renamed' }])
  })

  it('are computed once per diff', () => {
    const diff = { path: 'x', before: 'a', after: 'b' }
    expect(diffLines(diff)).toBe(diffLines(diff))
  })
})
