import { expect, it } from 'vitest'
import { kindOfPatch, patchedFiles, pathsOfPatch, unifiedPaths } from './patch-headers.ts'

const patch = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')

it.each([
  [patch('*** Add File: a', '+x', '*** Update File: b', '@@', '-x', '+y'), 'edit', ['a', 'b']],
  [patch('*** Update File: a', '*** Delete File: b'), 'delete', ['a', 'b']],
  [patch('*** Update File: a', '*** Move to: ../b', '@@'), 'move', ['a', '../b']],
  [patch('*** Update File: a', '*** Move to: b', '*** Delete File: c'), 'delete', ['a', 'b', 'c']],
  [patch('*** Delete File:a\r', '  *** Move to: b\r'), 'delete', ['a', 'b']],
  ['+*** Delete File: a', 'edit', []],
  ['', 'edit', []],
] as const)('patch %j is of kind %s', (text, kind, paths) => {
  const files = patchedFiles(text)
  expect(kindOfPatch(files)).toBe(kind)
  expect(pathsOfPatch(files)).toEqual(paths)
})

it.each(['\n', '\r', '\u2028', '\n '])('reads a text of many %j in linear time', (blank) => {
  const start = performance.now()
  expect(patchedFiles(`${blank.repeat(100_000)}*** Delete File: a`)).toEqual([
    { action: 'delete', path: 'a' },
  ])
  expect(patchedFiles(blank.repeat(100_000))).toEqual([])
  expect(performance.now() - start).toBeLessThan(2_000)
})

it('finds the files of a unified diff, with and without the prefixes a/ and b/', () => {
  const diff =
    'diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\t2026\n+++ "b/a b"\n@@ -1 +1 @@\n--- /dev/null\n'
  expect(unifiedPaths(diff)).toEqual(['x', 'y', 'a/x', 'x', 'b/a b', 'a b'])
  expect(unifiedPaths('--\n+++\nplain text')).toEqual([])
})
