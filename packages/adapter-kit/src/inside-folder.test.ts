import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isInsideFolders, reachOf } from './inside-folder.ts'

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

describe('the reach of a request', () => {
  const session = { cwd: '/somewhere', settings: { options: { directories: ['/more'] } } }

  it('is outside if one of the named files is outside', () => {
    for (const kind of ['read', 'search', 'edit', 'delete', 'move'] as const) {
      expect(reachOf(kind, ['a', '/somewhere/b', '/more/x'], session)).toEqual({})
      expect(reachOf(kind, ['a', '/etc/hosts'], session)).toEqual({ outside: true })
    }
  })

  it('is outside if a change names no file', () => {
    for (const kind of ['edit', 'delete', 'move'] as const)
      expect(reachOf(kind, [], session)).toEqual({ outside: true })
    for (const kind of ['read', 'search', 'execute', 'other'] as const)
      expect(reachOf(kind, [], session)).toEqual({})
  })

  it('is protected if a protected file is changed, not if it is read', () => {
    for (const kind of ['edit', 'delete', 'move'] as const)
      expect(reachOf(kind, ['a', '.git/config'], session)).toEqual({ protected: true })
    expect(reachOf('edit', ['/elsewhere/.bashrc'], session)).toEqual({ outside: true, protected: true })
    expect(reachOf('edit', ['~/.bashrc'], session)).toEqual({ outside: true, protected: true })
    expect(reachOf('read', ['.git/config'], session)).toEqual({})
  })

  it('is protected for every spelling of a protected path', () => {
    const name = fc.constantFrom(
      '.git/config',
      '.claude/settings.json',
      '.mcp.json',
      '.vscode/tasks.json',
      '.envrc',
    )
    const folder = fc.constantFrom(
      '',
      'src/',
      './',
      'src/../',
      'a/b/../../',
      'src//',
      '/somewhere/',
      '/more/x/',
    )
    const upper = fc.array(fc.boolean(), { minLength: 25, maxLength: 25 })
    const cased = fc
      .tuple(name, upper)
      .map(([text, up]) =>
        [...text].map((letter, index) => (up[index] ? letter.toUpperCase() : letter)).join(''),
      )
    const end = fc.constantFrom('', '.', ' ', '\u200d', '::$DATA')
    fc.assert(
      fc.property(
        folder,
        cased,
        end,
        fc.array(fc.constantFrom('a', 'src/b')),
        (before, path, after, more) => {
          const paths = [...more, `${before}${path}${after}`]
          for (const kind of ['edit', 'delete', 'move'] as const)
            expect(reachOf(kind, paths, session)).toMatchObject({ protected: true })
        },
      ),
    )
  })

  it('ignores a protected folder that contains the session folder', () => {
    const inner = { cwd: '/x/.claude/worktrees/a', settings: {} }
    expect(reachOf('edit', ['src/a', '/x/.claude/worktrees/a/b'], inner)).toEqual({})
    expect(reachOf('edit', ['.git'], inner)).toEqual({ protected: true })
    expect(reachOf('edit', ['../../settings.json'], inner)).toEqual({ outside: true, protected: true })
  })
})

describe('symbolic links', () => {
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
    mkdirSync(join(cwd, '.git', 'hooks'), { recursive: true })
    symlinkSync(join(cwd, '.git', 'hooks'), join(cwd, 'scripts'))
    symlinkSync(join(cwd, '.envrc'), join(cwd, 'not-yet'))
    symlinkSync(join(cwd, 'src'), join(cwd, '.husky'))
    for (const [target, name] of links) symlinkSync(join(place, target), join(cwd, name))
    symlinkSync(cwd, join(place, 'by-another-name'))
  })
  afterAll(() => rmSync(place, { recursive: true, force: true }))

  it.each([
    ['notes', 'a file elsewhere', false],
    ['folder/rc', 'a folder elsewhere', false],
    ['folder/new/file', 'a file elsewhere that is not there yet', false],
    ['deep/../new', 'a path beside a folder elsewhere', false],
    ['src/../deep/../new', 'a path beside a folder elsewhere, through another folder', false],
    ['broken', 'nowhere', false],
    ['broken/', 'nowhere', false],
    ['broken/new', 'nowhere', false],
    ['round', 'itself', false],
    ['src/a/b', 'a path below a regular file', false],
    ['near/a', 'a folder of the session', true],
    ['near/new/file', 'a file of the session that is not there yet', true],
    ['other/b', 'another folder of the session', true],
  ])('%s leads to %s', (path, _, inside) => {
    const more = [join(place, 'more')]
    expect(isInsideFolders(path, cwd, more)).toBe(inside)
    expect(isInsideFolders(`${cwd}/${path}`, cwd, more)).toBe(inside)
  })

  it.each([
    ['scripts/pre-commit', true],
    ['src/../scripts/new/hook', true],
    ['near/../scripts/pre-commit', true],
    ['not-yet', true],
    ['.husky/pre-commit', true],
    ['near/a', false],
  ])('%s leads to a protected file: %s', (path, expected) => {
    const reach = reachOf('edit', [path], { cwd, settings: {} })
    expect(reach.protected ?? false).toBe(expected)
  })

  it('on the way to the session folder itself do not matter', () => {
    const named = join(place, 'by-another-name')
    expect(isInsideFolders(join(cwd, 'src/a'), named)).toBe(true)
    expect(isInsideFolders(join(named, 'src/a'), cwd)).toBe(true)
    expect(isInsideFolders(join(named, 'notes'), named)).toBe(false)
  })
})
