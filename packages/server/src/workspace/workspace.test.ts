import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { countLines } from './count-lines.ts'
import { bestOf, createFolderFiles } from './files.ts'
import { type GitIn, notARepository } from './git.ts'
import { hashFiles } from './hash-files.ts'
import { createWorkspace } from './index.ts'

const workspace = createWorkspace({ env: process.env })
const folders: string[] = []
afterEach(() => {
  vi.unstubAllEnvs()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const seen = (path: string, trusted = false) => ({ path, trusted })

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-workspace-'))
  folders.push(folder)
  write(folder, files)
  return folder
}

function write(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

function git(folder: string, ...args: string[]): string {
  const who = ['-c', 'user.name=p', '-c', 'user.email=p@example.com']
  return execFileSync('git', [...who, ...args], { cwd: folder, encoding: 'utf8' })
}

function repository(files: Record<string, string>): string {
  const folder = folderWith(files)
  git(folder, 'init', '-q', '-b', 'main')
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
  return folder
}

it('lists the changes of a SHA-256 repository without commits', async () => {
  const folder = folderWith({ 'a.txt': 'a\n' })
  git(folder, 'init', '-q', '--object-format=sha256')
  git(folder, 'add', '-A')
  const { files } = await workspace.changes(seen(folder), 'HEAD')
  const blob = git(folder, 'hash-object', 'a.txt').trim()
  expect(files).toMatchObject([{ path: 'a.txt', status: 'added', added: 1, blob }])
})

describe('files', () => {
  it('are the tracked and the untracked files, without ignored ones', async () => {
    const folder = repository({ '.gitignore': 'ignored/\n', 'src/app.ts': '', 'README.md': '' })
    write(folder, { 'src/new.ts': '', 'ignored/app.ts': '' })
    expect(await workspace.findFiles(folder, 'ts', 10)).toEqual(['src/app.ts', 'src/new.ts'])
    expect(await workspace.findFiles(folder, '', 2)).toEqual(['.gitignore', 'README.md'])
  })

  it('are found without a repository too', async () => {
    const folder = folderWith({ 'a/b.txt': '', 'node_modules/x/b.txt': '' })
    expect(await workspace.findFiles(folder, 'b', 10)).toEqual(['a/b.txt'])
  })

  it('are listed once for concurrent queries, and again when the listing is old', async () => {
    const folder = folderWith({ 'a.txt': '' })
    const [slow, clock] = [Promise.withResolvers<void>(), { now: 0 }]
    let listed = 0
    const look = async () => {
      listed++
      await slow.promise
      return notARepository
    }
    const gitIn: GitIn = () => ({ look, change: look, reach: look })
    const files = createFolderFiles(gitIn, () => clock.now)
    const typing = [files.find(folder, 'a', 5)]
    clock.now = 60_000
    typing.push(files.find(folder, 'a', 5))
    slow.resolve()
    expect(await Promise.all(typing)).toEqual([['a.txt'], ['a.txt']])
    await files.find(folder, 'a', 5)
    expect(listed).toBe(1)
    clock.now = 120_000
    await files.find(folder, 'a', 5)
    expect(listed).toBe(2)
  })

  it('are ranked: names before folders, and contiguous matches before initials', () => {
    const files = ['src/application/x.ts', 'src/app.ts', 'src/map.ts', 'a/p/p.md']
    expect(bestOf(files, 'app', 10)).toEqual(['src/app.ts', 'src/application/x.ts', 'a/p/p.md'])
    expect(bestOf(files, 'zzz', 10)).toEqual([])
    const sources = [
      'src/components/Badge.tsx',
      'src/pages/Monitor.tsx',
      'src/use-month-names.ts',
      'lib/common.ts',
    ]
    expect(bestOf(sources, 'mon', 10)).toEqual([
      'src/pages/Monitor.tsx',
      'lib/common.ts',
      'src/use-month-names.ts',
    ])
    expect(bestOf(sources, 'umn', 10)).toEqual(['src/use-month-names.ts'])
  })
})

describe('folders', () => {
  const found = async (typed: string, limit = 10) =>
    (await workspace.findFolders(typed, limit)).map((path) => path.slice(typed.lastIndexOf('/') + 1))

  it('complete a typed path: folders and links to folders, no files, and hidden folders only after a dot', async () => {
    const folder = folderWith({
      'Projects/a': '',
      'private/a': '',
      '.git/a': '',
      'prose.txt': '',
      'other/a': '',
    })
    symlinkSync(join(folder, 'other'), join(folder, 'present'))
    symlinkSync(join(folder, 'prose.txt'), join(folder, 'prefix'))
    expect(await found(`${folder}/pr`)).toEqual(['present', 'private', 'Projects'])
    expect(await found(`${folder}/`)).toEqual(['other', 'present', 'private', 'Projects'])
    expect(await found(`${folder}/.`)).toEqual(['.git'])
    expect(await found(`${folder}/p`, 1)).toEqual(['present'])
    expect(await workspace.findFolders(`${folder}/oth`, 10)).toEqual([join(folder, 'other')])
  })

  it('of the home folder are written with ~', async () => {
    vi.stubEnv('HOME', folderWith({ 'projects/parley/a': '', '.cache/a': '' }))
    for (const typed of ['', '~', '~/'])
      expect(await workspace.findFolders(typed, 10)).toEqual(['~/projects'])
    expect(await workspace.findFolders('~/projects/', 10)).toEqual(['~/projects/parley'])
    expect(await workspace.findFolders('~/.', 10)).toEqual(['~/.cache'])
  })

  it('that do not exist, or are not folders, are refused with a code', async () => {
    const folder = folderWith({ file: '' })
    await expect(workspace.findFolders(`${folder}/none/x`, 10)).rejects.toMatchObject({ code: 'not_found' })
    await expect(workspace.findFolders(`${folder}/file/x`, 10)).rejects.toMatchObject({ code: 'not_found' })
    for (const bad of ['src/x', '../x', '~root/x', '/a\0/b'])
      await expect(workspace.findFolders(bad, 10)).rejects.toMatchObject({ code: 'validation_error' })
  })
})

describe('the commit of a folder', () => {
  it('is the checked-out commit, or undefined without one', async () => {
    const folder = repository({ 'a.txt': '' })
    expect(await workspace.commit(folder)).toBe(git(folder, 'rev-parse', 'HEAD').trim())
    expect(await workspace.commit(folderWith({ 'a.txt': '' }))).toBeUndefined()
    const empty = folderWith({})
    git(empty, 'init', '-q')
    expect(await workspace.commit(empty)).toBeUndefined()
  })
})

describe('changes', () => {
  it('include each kind of change, with the number of lines', async () => {
    const folder = repository({
      'kept.txt': 'a\n',
      'edited.txt': 'one\ntwo\n',
      'gone.txt': 'x\n',
      'old name.txt': 'a line that stays\nanother one\nand one more\n',
      'package-lock.json': '{}\n',
    })
    write(folder, {
      'edited.txt': 'one\n2\n3\n',
      'new file.txt': 'hello\n',
      'package-lock.json': '{"a":1}\n',
    })
    rmSync(join(folder, 'gone.txt'))
    renameSync(join(folder, 'old name.txt'), join(folder, 'new name.txt'))
    git(folder, 'add', '-A', '--', 'old name.txt', 'new name.txt')
    const { files, branch, base, cut } = await workspace.changes(seen(folder), 'HEAD')
    expect({ branch, cut }).toEqual({ branch: 'main', cut: false })
    expect(base).toBe(git(folder, 'rev-parse', 'HEAD').trim())
    expect(files.map(({ path, status, added, removed }) => [path, status, added, removed])).toEqual([
      ['edited.txt', 'modified', 2, 1],
      ['gone.txt', 'deleted', 0, 1],
      ['new file.txt', 'untracked', 1, 0],
      ['new name.txt', 'renamed', 0, 0],
      ['package-lock.json', 'modified', 1, 1],
    ])
    expect(files.map(({ generated }) => generated)).toEqual([false, false, false, false, true])
    const edited = await workspace.patch(seen(folder), 'edited.txt', 'HEAD')
    expect(edited.patch).toContain('-two\n+2\n+3')
    expect((await workspace.patch(seen(folder), 'new file.txt', 'HEAD')).patch).toContain('+hello')
    expect(await workspace.patch(seen(folder), 'kept.txt', 'HEAD')).toEqual({ patch: '', cut: false })
  })

  it('name the content of each file byte for byte, without filters, as it is now', async () => {
    const folder = repository({ 'a.txt': 'a\n', 'b.txt': 'b\n', '.gitattributes': '*.txt text eol=crlf\n' })
    const secret = folderWith({ 'secret.txt': 'do not tell\n' })
    write(folder, { 'a.txt': 'one\r\ntwo\r\n', 'new.txt': 'new\n', 'empty.txt': '' })
    rmSync(join(folder, 'b.txt'))
    symlinkSync(join(secret, 'secret.txt'), join(folder, 'link.txt'))
    const blobs = async () =>
      new Map(
        (await workspace.changes(seen(folder), 'HEAD')).files.map(({ path, blob }) => [
          path,
          blob ?? 'unknown',
        ]),
      )
    const hash = (path: string) => git(folder, 'hash-object', '--no-filters', path).trim()
    const now = await blobs()
    for (const path of ['a.txt', 'new.txt', 'empty.txt']) expect(now.get(path)).toBe(hash(path))
    expect(now.get('b.txt')).toBe('0'.repeat(40))
    expect(now.get('link.txt')).not.toBe(git(folder, 'hash-object', join(secret, 'secret.txt')).trim())
    git(folder, 'add', '-A')
    expect(await blobs()).toEqual(now)
    expect(
      await hashFiles(folder, ['a.txt', 'none.txt', '.git'], { algorithm: 'sha1', maxBytes: 9 }),
    ).toEqual(new Map())
  })

  it('are relative to an earlier commit, or to the empty tree if there is no commit', async () => {
    const folder = repository({ 'a.txt': 'a\n' })
    const first = git(folder, 'rev-parse', 'HEAD').trim()
    write(folder, { 'a.txt': 'b\n' })
    git(folder, 'commit', '-qam', 'second')
    expect((await workspace.changes(seen(folder), 'HEAD')).files).toEqual([])
    expect((await workspace.changes(seen(folder), first)).files.map(({ path }) => path)).toEqual(['a.txt'])
    const empty = folderWith({ 'a.txt': 'a\n' })
    git(empty, 'init', '-q')
    expect(await workspace.changes(seen(empty), 'HEAD')).toMatchObject({
      base: '',
      files: [{ status: 'untracked', added: 1, removed: 0 }],
    })
  })

  it('include untracked files, whose lines are counted and shown as added', async () => {
    const folder = repository({ 'a.txt': 'a\n' })
    const secret = folderWith({ 'secret.txt': 'do\nnot\ntell\n' })
    write(folder, {
      'many.txt': 'line\n'.repeat(100_000),
      'no end.txt': 'one\ntwo',
      'nothing.txt': '',
      'picture.bin': 'abc\0def\n',
      'inner/dist/bundle.js': 'x\n',
      'other/file.txt': 'of another repository\n',
    })
    symlinkSync(join(secret, 'secret.txt'), join(folder, 'link.txt'))
    git(join(folder, 'other'), 'init', '-q')
    const { files } = await workspace.changes(seen(folder), 'HEAD')
    expect(files.map(({ path, added, binary, generated }) => [path, added, binary, generated])).toEqual([
      ['inner/dist/bundle.js', 1, false, true],
      ['link.txt', 1, false, false],
      ['many.txt', 100_000, false, false],
      ['no end.txt', 2, false, false],
      ['nothing.txt', 0, false, false],
      ['other/', undefined, false, false],
      ['picture.bin', undefined, true, false],
    ])
    expect((await workspace.patch(seen(folder), 'no end.txt', 'HEAD')).patch).toContain('+one\n+two')
    expect((await workspace.patch(seen(folder), 'picture.bin', 'HEAD')).patch).toContain('Binary files')
    expect((await workspace.patch(seen(folder), 'other/', 'HEAD')).patch).toBe('')
  })

  it('have line counts only up to a limited number of bytes', async () => {
    const folder = folderWith({ 'a.txt': 'a\n'.repeat(10), 'b.txt': 'b\n' })
    expect(await countLines(folder, ['a.txt', 'b.txt', 'none.txt'], 10)).toEqual(
      new Map([['b.txt', { lines: 1, binary: false }]]),
    )
  })

  it('of a folder inside a repository are limited to that folder', async () => {
    const folder = repository({ 'a.txt': 'a\n', 'inner/b.txt': 'b\n' })
    write(folder, { 'a.txt': 'c\n', 'inner/b.txt': 'c\n' })
    const { files } = await workspace.changes(seen(join(folder, 'inner')), 'HEAD')
    expect(files.map(({ path }) => path)).toEqual(['b.txt'])
  })

  it.each(['--output=/tmp/x', 'main; rm', '../x', ''])('since the base %j are refused', async (base) => {
    const folder = repository({ 'a.txt': 'a\n' })
    await expect(workspace.changes(seen(folder), base)).rejects.toMatchObject({ code: 'validation_error' })
  })

  it('contain no file of the repository that is outside the folder, although git lists it', async () => {
    const folder = repository({ 'sub/a.txt': 'a\n', 'top.txt': 'do not tell\n' })
    write(folder, {
      'sub/a.txt': 'b\n',
      'top.txt': 'do not tell anybody\n',
      'untracked.txt': 'do not tell\n',
    })
    const sub = seen(join(folder, 'sub'))
    expect((await workspace.changes(sub, 'HEAD')).files.map(({ path }) => path)).toEqual(['a.txt'])
    expect((await workspace.patch(sub, 'a.txt', 'HEAD')).patch).toContain('+b')
    for (const path of [
      '../untracked.txt',
      '../top.txt',
      'x/../../untracked.txt',
      join(folder, 'untracked.txt'),
    ])
      expect(await workspace.patch(sub, path, 'HEAD')).toEqual({ patch: '', cut: false })
  })

  it('contain nothing from outside the folder, through links or otherwise', async () => {
    const secret = folderWith({ 'secret.txt': 'do not tell\n' })
    const folder = repository({ 'a.txt': 'a\n' })
    symlinkSync(join(secret, 'secret.txt'), join(folder, 'link.txt'))
    for (const path of [
      join(secret, 'secret.txt'),
      `../${secret.split('/').at(-1)}/secret.txt`,
      'link.txt',
    ]) {
      expect((await workspace.patch(seen(folder), path, 'HEAD')).patch).not.toContain('do not tell')
    }
  })

  it('of a path are those of exactly this path, even if it looks like a pattern', async () => {
    const folder = repository({ '[id].txt': 'a\n', 'i.txt': 'a\n' })
    write(folder, { '[id].txt': 'b\n', 'i.txt': 'c\n' })
    const { patch } = await workspace.patch(seen(folder), '[id].txt', 'HEAD')
    expect([patch.includes('+b'), patch.includes('+c')]).toEqual([true, false])
  })

  it('are refused without a repository', async () => {
    const folder = folderWith({ 'a.txt': '' })
    await expect(workspace.changes(seen(folder), 'HEAD')).rejects.toMatchObject({ code: 'not_supported' })
  })

  it('are read without running a program that an untrusted repository names', async () => {
    const folder = repository({ 'a.txt': 'a\n', '.gitattributes': '*.txt diff=evil filter=evil\n' })
    for (const [name, value] of [
      ['diff.evil.textconv', 'touch ran; cat'],
      ['diff.external', 'touch ran'],
      ['core.fsmonitor', 'touch ran'],
      ['filter.evil.clean', 'touch ran; cat'],
      ['filter.evil.required', 'true'],
    ] as const) {
      git(folder, 'config', name, value)
    }
    write(folder, { 'a.txt': 'b\n' })
    await workspace.changes(seen(folder), 'HEAD')
    await workspace.patch(seen(folder), 'a.txt', 'HEAD')
    expect(await workspace.findFiles(folder, 'ran', 5)).toEqual([])
    await workspace.changes(seen(folder, true), 'HEAD')
    expect(existsSync(join(folder, 'ran')), 'a trusted folder runs its filters').toBe(true)
  })
})
