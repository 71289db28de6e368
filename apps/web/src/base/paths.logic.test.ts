import { describe, expect, it } from 'vitest'
import { foldersAbove, parentOf, pathInside } from './paths.logic.ts'

describe('a path inside a folder', () => {
  it.each([
    ['/w/app/src/a.ts', 'src/a.ts'],
    ['src/./x/../a.ts', 'src/a.ts'],
    ['./a.ts', 'a.ts'],
    ['/w/app', ''],
    ['two\nlines', 'two\nlines'],
  ])('%j is %j', (path, inside) => {
    expect(pathInside('/w/app', path)).toBe(inside)
  })

  it('is none if it leads out of the folder', () => {
    for (const path of ['../a', 'src/../../a', '/w/application/a', '/etc/passwd', '~/a'])
      expect(pathInside('/w/app', path), path).toBeUndefined()
    expect(pathInside('/', '/etc/passwd')).toBe('etc/passwd')
  })

  it('starts at the file that names it', () => {
    expect(pathInside('/w/app', '../a.md', 'docs/x')).toBe('docs/a.md')
    expect(pathInside('/w/app', '/w/app/b.md', 'docs/x')).toBe('b.md')
  })
})

it('a path is in folders', () => {
  expect(parentOf('a/b/c.ts')).toBe('a/b')
  expect(parentOf('c.ts')).toBe('')
  expect(foldersAbove('a/b/c.ts')).toEqual(['a', 'a/b'])
  expect(foldersAbove('c.ts')).toEqual([])
})
