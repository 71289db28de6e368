import fc from 'fast-check'
import { expect, it } from 'vitest'
import { patchOf } from './patch.ts'

it.each([
  ['a\nb\n', 'a\nc\n', '@@ -1,2 +1,2 @@\n a\n-b\n+c'],
  ['', 'a\n', '@@ -0,0 +1,1 @@\n+a'],
  ['a\n', '', '@@ -1,1 +0,0 @@\n-a'],
  ['a\n', 'a\n', ''],
  [
    '1\n2\n3\n4\n5\n6\n7\n8\n9\n',
    '1\n2\n3\n4\nx\n6\n7\n8\n9\n',
    '@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8',
  ],
])('makes of %j and %j one hunk', (before, after, patch) => {
  expect(patchOf(before, after)).toBe(patch)
})

/** As any reader of patches would do it. */
function applied(lines: readonly string[], patch: string): string[] {
  if (patch === '') return [...lines]
  const [head = '', ...body] = patch.split('\n')
  const [, start = '', count = ''] = /^@@ -(\d+),(\d+) /.exec(head) ?? []
  const at = Number(count) === 0 ? Number(start) : Number(start) - 1
  const old = body.filter((line) => !line.startsWith('+')).map((line) => line.slice(1))
  expect(lines.slice(at, at + Number(count))).toEqual(old)
  const now = body.filter((line) => !line.startsWith('-')).map((line) => line.slice(1))
  return [...lines.slice(0, at), ...now, ...lines.slice(at + Number(count))]
}

it('gives a patch that makes the one of the other', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 20 })
  fc.assert(
    fc.property(text, text, (before, after) => {
      const join = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')
      expect(applied(before, patchOf(join(before), join(after)))).toEqual(after)
    }),
  )
})
