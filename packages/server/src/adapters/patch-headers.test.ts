import { expect, it } from 'vitest'
import { kindOfPatch, patchedFiles, pathsOfPatch } from './patch-headers.ts'

const patch = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')

it.each([
  [patch('*** Add File: a', '+x', '*** Update File: b', '@@', '-x', '+y'), 'edit', ['a', 'b']],
  [patch('*** Update File: a', '*** Delete File: b'), 'delete', ['a', 'b']],
  [patch('*** Update File: a', '*** Move to: ../b', '@@'), 'move', ['a', '../b']],
  [patch('*** Update File: a', '*** Move to: b', '*** Delete File: c'), 'delete', ['a', 'b', 'c']],
  [patch('*** Delete File:a\r', '  *** Move to: b\r'), 'delete', ['a', 'b']],
  ['+*** Delete File: a', 'edit', []],
  ['', 'edit', []],
] as const)('%j does %s', (text, kind, paths) => {
  const files = patchedFiles(text)
  expect(kindOfPatch(files)).toBe(kind)
  expect(pathsOfPatch(files)).toEqual(paths)
})
