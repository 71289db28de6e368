import { describe, expect, it } from 'vitest'
import { pathOf, pathOfLink, pathPieces } from './path-text.logic.ts'

const folder = '/code/app'
const found = (text: string) =>
  pathPieces(text, folder).flatMap(({ to }) =>
    to ? [to.line === undefined ? to.path : `${to.path} ${to.line}`] : [],
  )

describe('the paths in a text', () => {
  it.each([
    ['    at run (/code/app/src/a.ts:12:5)', ['/code/app/src/a.ts 12']],
    ['    at file:///code/app/src/a.ts:12:5', ['/code/app/src/a.ts 12']],
    ['.github/workflows/ci.yml:3', ['.github/workflows/ci.yml 3']],
    ['src/a.ts(12,5): error TS2322: Type', ['src/a.ts 12']],
    ['  File "/code/app/b.py", line 7, in <module>', ['/code/app/b.py 7']],
    ['./src/a.rs:3:1: warning', ['./src/a.rs 3']],
    [' --> src/main.rs:9:5', ['src/main.rs 9']],
    ['a.go:4: undefined', ['a.go 4']],
    ['M  docs/read me.md', []],
    ['modified: docs/console.md', ['docs/console.md']],
    ['FAIL src/a.test.ts > the file', ['src/a.test.ts']],
    ['see https://example.com/x/a.ts:12 and /etc/passwd:1', []],
    ['/code/application/a.ts:1', []],
    ['version 1.2.3, either/or, e.g. this, 12:30:05', []],
    ['a.ts and b.ts', []],
    ['/code/app/Makefile:3', ['/code/app/Makefile 3']],
  ])('of %j are %j', (text, paths) => {
    expect(found(text)).toEqual(paths)
  })

  it('leave the text as it is', () => {
    const text = 'one src/a.ts:1 two\nthree b.ts:2:3'
    expect(
      pathPieces(text, folder)
        .map((piece) => piece.text)
        .join(''),
    ).toBe(text)
  })

  // A pattern that tries every way to split the text would not finish.
  it('are found in long texts without any', () => {
    for (const hostile of [
      'a/'.repeat(50_000),
      'a.'.repeat(50_000),
      '-'.repeat(100_000),
      '+/'.repeat(50_000),
    ])
      expect(found(`${hostile}\nsrc/a.ts:1`)).toContain('src/a.ts 1')
  })
})

it('a text can be a path as a whole', () => {
  expect(pathOf('src/a.ts:12', folder)).toEqual({ path: 'src/a.ts', line: 12 })
  expect(pathOf('/code/app/a', folder)).toEqual({ path: '/code/app/a' })
  expect(pathOf('see src/a.ts', folder)).toBeUndefined()
  expect(pathOf('npm test', folder)).toBeUndefined()
})

it('a relative link names a path, unless the path is outside the folder', () => {
  expect(pathOfLink('src/a%20b.ts#L12-L14')).toEqual({ path: 'src/a b.ts', line: 12 })
  expect(pathOfLink('/code/app/a.ts:3')).toEqual({ path: '/code/app/a.ts', line: 3 })
  expect(pathOfLink('README.md?plain=1#top')).toEqual({ path: 'README.md' })
  for (const href of ['https://x.test/a', 'javascript:alert(1)', '//x.test/a', '#top', 'mailto:a@b', ''])
    expect(pathOfLink(href)).toBeUndefined()
})
