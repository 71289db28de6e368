import { expect, it } from 'vitest'
import { diffsIn } from './translate-tool-result.ts'

it('returns each file of a patch separately', () => {
  const files = [
    { filePath: 'a.txt', type: 'update', patch: '@@ -1 +1 @@\n-a\n+b' },
    { filePath: 'b.txt', movePath: 'c.txt', type: 'move', patch: '@@ -1 +1 @@\n-b\n+c' },
    { filePath: 'd.txt', type: 'delete', patch: '@@ -1 +0,0 @@\n-d' },
  ]
  expect(diffsIn({ files, diff: 'all of them', filepath: 'a.txt, c.txt, d.txt' }).diffs).toEqual([
    { path: 'a.txt', patch: files[0]?.patch },
    { path: 'c.txt', movedFrom: 'b.txt', patch: files[1]?.patch },
    { path: 'd.txt', after: null, patch: files[2]?.patch },
  ])
})

it('returns the diff of one file, and nothing if there is no diff', () => {
  expect(diffsIn({ diff: '@@', filepath: 'a.txt' }).diffs).toEqual([{ path: 'a.txt', patch: '@@' }])
  for (const metadata of [{}, { diff: '@@' }, { files: [] }]) expect(diffsIn(metadata)).toEqual({})
})
