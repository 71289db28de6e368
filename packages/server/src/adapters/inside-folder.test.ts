import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isInsideFolders, reachOf, reachOfEdit } from './inside-folder.ts'

it.each([
  ['a.txt', true],
  ['./x/../a.txt', true],
  ['/somewhere', true],
  ['/somewhere/a', true],
  ['..a/b', true],
  ['../a.txt', false],
  ['/somewhere-else/a', false],
  ['/elsewhere/a', false],
  ['/more/a', true],
  ['~/.bashrc', false],
  ['file:///somewhere/a', false],
  ['a\0b', false],
])('%j is inside: %s', (path, inside) => {
  expect(isInsideFolders(path, '/somewhere', ['/more'])).toBe(inside)
})

it('reaches outside only with a path that does', () => {
  const session = { cwd: '/somewhere', settings: { options: { directories: ['/more'] } } }
  expect(reachOf('/etc/hosts', session)).toEqual({ outside: true })
  expect(reachOf('/more/x', session)).toEqual({})
  expect(reachOf(undefined, session)).toEqual({})
})

it('reaches outside with an edit that names one file there, or none at all', () => {
  const session = { cwd: '/somewhere', settings: {} }
  expect(reachOfEdit(['a', '/somewhere/b'], session)).toEqual({})
  expect(reachOfEdit(['a', '/etc/hosts'], session)).toEqual({ outside: true })
  expect(reachOfEdit([], session)).toEqual({ outside: true })
})

describe('links', () => {
  const place = mkdtempSync(join(tmpdir(), 'parley-inside-'))
  const cwd = join(place, 'project')
  beforeAll(() => {
    for (const folder of ['project/src', 'more', 'home/deep'])
      mkdirSync(join(place, folder), { recursive: true })
    for (const file of ['project/src/a', 'more/b', 'home/rc']) writeFileSync(join(place, file), '')
    const links = [
      ['home/rc', 'notes'],
      ['home', 'folder'],
      ['home/deep', 'deep'],
      ['home/none', 'broken'],
      ['project/round', 'round'],
      ['project/src', 'near'],
      ['more', 'other'],
    ] as const
    for (const [target, name] of links) symlinkSync(join(place, target), join(cwd, name))
    symlinkSync(cwd, join(place, 'by-another-name'))
  })
  afterAll(() => rmSync(place, { recursive: true, force: true }))

  it.each([
    ['notes', 'a file elsewhere', false],
    ['folder/rc', 'a folder elsewhere', false],
    ['folder/new/file', 'a file elsewhere that is not there yet', false],
    ['deep/../new', 'what lies beside a folder elsewhere', false],
    ['src/../deep/../new', 'the same from further away', false],
    ['broken', 'nowhere', false],
    ['broken/', 'nowhere', false],
    ['broken/new', 'nowhere', false],
    ['round', 'itself', false],
    ['src/a/b', 'a file that is no folder', false],
    ['near/a', 'a folder of the session', true],
    ['near/new/file', 'a file of the session that is not there yet', true],
    ['other/b', 'another folder of the session', true],
  ])('%s leads to %s', (path, _, inside) => {
    const more = [join(place, 'more')]
    expect(isInsideFolders(path, cwd, more)).toBe(inside)
    expect(isInsideFolders(`${cwd}/${path}`, cwd, more)).toBe(inside)
  })

  it('on the way to the folder itself do not matter', () => {
    const named = join(place, 'by-another-name')
    expect(isInsideFolders(join(cwd, 'src/a'), named)).toBe(true)
    expect(isInsideFolders(join(named, 'src/a'), cwd)).toBe(true)
    expect(isInsideFolders(join(named, 'notes'), named)).toBe(false)
  })
})
