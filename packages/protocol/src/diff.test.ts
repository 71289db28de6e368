import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  changedWords,
  compareTexts,
  type DiffHunk,
  type LineParts,
  parsePatch,
  patchText,
  readDiff,
} from './diff.ts'

const shape = (hunks: readonly DiffHunk[] | undefined) =>
  hunks?.map(({ lines }) =>
    lines.map(
      ({ type, text, before, after, noNewline }) =>
        `${type[0]}${before ?? ''}:${after ?? ''} ${text}${noNewline ? '⏎̸' : ''}`,
    ),
  )

const twoFiles = `diff --git a/one.txt b/one.txt
index 1..2 100644
--- a/one.txt
+++ b/one.txt
@@ -1,2 +1,2 @@
 same
-- old
+- new
diff --git a/two.txt b/two.txt
index 1..2 100644
--- a/two.txt
+++ b/two.txt
@@ -5 +5,2 @@
-two
+TWO
+2
`

describe('a patch', () => {
  it('with several files is read file by file', () => {
    const files = parsePatch(twoFiles)
    expect(files?.map(({ path, status, added, removed }) => [path, status, added, removed])).toEqual([
      ['one.txt', 'modified', 1, 1],
      ['two.txt', 'modified', 2, 1],
    ])
    expect(shape(files?.[1]?.hunks)).toEqual([['r5: two', 'a:5 TWO', 'a:6 2']])
  })

  it('with several files and no git headers is read file by file', () => {
    const patch = twoFiles.replace(/^(diff|index).*\n/gm, '')
    expect(parsePatch(patch)?.map(({ path, added, removed }) => [path, added, removed])).toEqual([
      ['one.txt', 1, 1],
      ['two.txt', 2, 1],
    ])
    const indexed = 'Index: /src/a.ts\n===================================================================\n'
    const opencode = `${indexed}--- /src/a.ts\n+++ /src/a.ts\n@@ -1 +1 @@\n-a\n+b\n`
    expect(parsePatch(opencode + opencode.replaceAll('a.ts', 'b.ts'))?.map(({ path }) => path)).toEqual([
      '/src/a.ts',
      '/src/b.ts',
    ])
  })

  it('keeps removed and added lines that begin with dashes and pluses', () => {
    const patch =
      '--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,3 @@\n--- drop this\n--\n-+++ x\n+++ y\n++\n+-- keep\n'
    expect(parsePatch(patch)).toMatchObject([{ path: 'q.sql', added: 3, removed: 3 }])
    expect(shape(parsePatch(patch)?.[0]?.hunks)).toEqual([
      ['r1: -- drop this', 'r2: -', 'r3: +++ x', 'a:1 ++ y', 'a:2 +', 'a:3 -- keep'],
    ])
  })

  it('recognises renames, new, deleted and binary files, and names with spaces, tabs and quotes', () => {
    const patch = [
      'diff --git a/old name.txt b/new name.txt\nsimilarity index 100%\nrename from old name.txt\nrename to new name.txt',
      'diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x',
      'diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x',
      'diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ',
      'diff --git "a/tab\\there\\".txt" "b/tab\\there\\".txt"\n--- "a/tab\\there\\".txt"\n+++ "b/tab\\there\\".txt"\n@@ -1 +1 @@\n-x\n+y',
    ].join('\n')
    const files = parsePatch(`${patch}\n`)
    expect(files?.map(({ path, from, status, binary }) => [path, from, status, binary])).toEqual([
      ['new name.txt', 'old name.txt', 'renamed', false],
      ['new.txt', undefined, 'added', false],
      ['gone.txt', undefined, 'deleted', false],
      ['p.png', undefined, 'modified', true],
      ['tab\there".txt', undefined, 'modified', false],
    ])
  })

  it('marks the line that has no line break at its end', () => {
    const patch = '@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n'
    expect(shape(parsePatch(patch)?.[0]?.hunks)).toEqual([['r1: a⏎̸', 'a:1 a']])
  })

  it('that was cut, or whose counts are wrong, is parsed as far as possible', () => {
    const cut = twoFiles.slice(0, twoFiles.indexOf('+2'))
    expect(parsePatch(cut)?.map(({ path, added }) => [path, added])).toEqual([
      ['one.txt', 1],
      ['two.txt', 1],
    ])
    const wrong = twoFiles.replace('-1,2 +1,2', '-1,9 +1,1')
    expect(parsePatch(wrong)?.map(({ added, removed }) => [added, removed])).toEqual([
      [1, 1],
      [2, 1],
    ])
  })

  it.each(['hello', '@@ nonsense @@\nmore', '--- a\nno more', 'diff is a word', '@@ -1 +1 @@', '\0\n@@'])(
    'that cannot be parsed is shown as plain text: %j',
    (patch) => {
      expect(parsePatch(patch)).toBeUndefined()
      expect(readDiff({ path: 'x', patch })).toMatchObject([{ path: 'x', added: 0, removed: 0 }])
      const lines = readDiff({ path: 'x', patch })[0]?.hunks.flatMap((hunk) => hunk.lines)
      expect(lines?.map(({ text }) => text).join('\n')).toBe(patch)
    },
  )

  it('never makes readDiff throw', () => {
    const piece = fc.constantFrom(
      '@@ -1,2 +1 @@',
      '--- a/x',
      '+++ b/x',
      'diff --git a/x b/x',
      '-a',
      '+',
      ' ',
      '',
      '\\',
      '"',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (lines) => {
        expect(readDiff({ path: 'x', patch: lines.join('\n') }).length).toBeGreaterThan(0)
      }),
    )
  })

  it('is empty if nothing differs', () => {
    expect(parsePatch('')).toEqual([])
    expect(readDiff({ path: 'x', patch: '' })).toMatchObject([{ path: 'x', hunks: [] }])
  })
})

describe('the comparison of two texts', () => {
  it('has three lines of context around each change', () => {
    const before = Array.from({ length: 30 }, (_, index) => `${index + 1}\n`).join('')
    const after = before.replace('5\n', 'five\n').replace('\n25\n', '\n')
    expect(shape(compareTexts(before, after))).toEqual([
      ['s2:2 2', 's3:3 3', 's4:4 4', 'r5: 5', 'a:5 five', 's6:6 6', 's7:7 7', 's8:8 8'],
      ['s22:22 22', 's23:23 23', 's24:24 24', 'r25: 25', 's26:25 26', 's27:26 27', 's28:27 28'],
    ])
  })

  it('makes a patch that turns the first text into the second', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', '-- c', '++ d', ''), { maxLength: 20 })
      .map((lines) => lines.map((line) => `${line}\n`).join(''))
    fc.assert(
      fc.property(text, text, (before, after) => {
        const hunks = compareTexts(before, after)
        expect(applied(before, hunks)).toBe(after)
        if (hunks.length > 0) expect(parsePatch(patchText(hunks))?.[0]?.hunks).toEqual(hunks)
      }),
    )
  })

  it('is one range of removed lines and one of added lines if very many lines differ', () => {
    const many = (word: string) => Array.from({ length: 5_000 }, (_, index) => `${word} ${index}`).join('\n')
    const [file] = readDiff({ path: 'x', before: `same\n${many('a')}`, after: `same\n${many('b')}` })
    expect(file).toMatchObject({ added: 5_000, removed: 5_000, status: 'modified' })
    expect(file?.hunks[0]?.lines[0]).toEqual({ type: 'same', text: 'same', before: 1, after: 1 })
  })

  it('is a new or a deleted file if one of the texts is missing', () => {
    expect(readDiff({ path: 'x', before: null, after: 'a\n' })).toMatchObject([{ status: 'added', added: 1 }])
    expect(readDiff({ path: 'x', before: 'a\n', after: null })).toMatchObject([
      { status: 'deleted', removed: 1 },
    ])
  })
})

function applied(before: string, hunks: readonly DiffHunk[]): string {
  const old = before.split('\n').slice(0, -1)
  const now: string[] = []
  let at = 0
  for (const { lines } of hunks) {
    for (const { type, text, before: number } of lines) {
      while (number !== undefined && at < number - 1) now.push(old[at++] ?? '')
      if (type !== 'added') expect(old[at++]).toBe(text)
      if (type !== 'removed') now.push(text)
    }
  }
  return [...now, ...old.slice(at)].map((line) => `${line}\n`).join('')
}

describe('the words in which two lines differ', () => {
  const words = (before: string, after: string) => {
    const found = changedWords(before, after)
    const cut = (line: string, parts: LineParts) => parts.map(([from, to]) => line.slice(from, to))
    return found && [cut(before, found.before), cut(after, found.after)]
  }

  it('are found in similar lines, and joined where they touch', () => {
    expect(words("compute(3, 'some text', true)", "compute(4, 'other text', true)")).toEqual([
      ['3', 'some'],
      ['4', 'other'],
    ])
    expect(words('  return a', '    return a')).toEqual([['  '], ['    ']])
    expect(words('call(a)', 'call(a, b, c)')).toEqual([[], [', b, c']])
  })

  it('are not given for lines that have little in common, are equal or are long', () => {
    expect(words('const a = 1', 'export function other() {')).toBeUndefined()
    expect(words('same', 'same')).toBeUndefined()
    expect(words('x'.repeat(501), `${'x'.repeat(501)}y`)).toBeUndefined()
    const many = (word: string) => Array.from({ length: 60 }, (_, at) => `${word}${at}`).join(' ')
    expect(words(many('a'), many('b'))).toBeUndefined()
  })
})
