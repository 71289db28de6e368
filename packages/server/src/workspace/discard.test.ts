import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { peopleIn, repository } from './folder-changes-under-test.ts'
import { git, write } from './hostile-repository-under-test.ts'

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}\n`).join('')
const thirty = numbered(1, 30)
const textOf = (folder: string, path: string) => readFileSync(join(folder, path), 'utf8')
const status = (folder: string) => git(folder, 'status', '--porcelain')

describe('discarding files', () => {
  it('returns files of every kind to HEAD and unstages them, and can be undone', async () => {
    const folder = repository({
      'edited.txt': thirty,
      'gone.txt': 'gone\n',
      'run.sh': '#!/bin/sh\n',
      'old name.txt': thirty,
      'binary.bin': 'a\0b',
      'to-link': 'text\n',
      'kept.txt': 'one\n',
    })
    const { list, see, discard, restore } = peopleIn(folder)
    write(folder, { 'edited.txt': `${thirty}more\n`, 'binary.bin': 'a\0c', 'new/file.txt': 'new\n' })
    rmSync(join(folder, 'gone.txt'))
    chmodSync(join(folder, 'run.sh'), 0o755)
    renameSync(join(folder, 'old name.txt'), join(folder, 'tab\tname.txt'))
    rmSync(join(folder, 'to-link'))
    symlinkSync('/etc/passwd', join(folder, 'to-link'))
    git(folder, 'add', '-A')
    write(folder, { 'kept.txt': 'two\n', 'untracked.txt': 'x\n' })
    const before = status(folder)
    const files = (await list()).filter(({ path }) => path !== 'kept.txt')
    expect(files.map(({ path }) => path)).toEqual([
      ...['binary.bin', 'edited.txt', 'gone.txt', 'new/file.txt', 'run.sh', 'tab\tname.txt'],
      ...['to-link', 'untracked.txt'],
    ])
    const discarded = await discard(await Promise.all(files.map(({ path }) => see(path))))
    expect(status(folder)).toBe(' M kept.txt\n')
    expect(existsSync(join(folder, 'new'))).toBe(false)
    expect(discarded.staged).toHaveLength(8)
    await restore(discarded)
    expect(status(folder)).toBe(before)
    expect(readlinkSync(join(folder, 'to-link'))).toBe('/etc/passwd')
    expect(textOf(folder, 'untracked.txt')).toBe('x\n')
    expect(statSync(join(folder, 'run.sh')).mode & 0o111).not.toBe(0)
  })

  it('returns files to a snapshot of the session, and keeps staged changes', async () => {
    const folder = repository({ 'a.txt': 'one\n' })
    const { take, see, discard } = peopleIn(folder)
    write(folder, { 'a.txt': 'two\n' })
    git(folder, 'add', '-A')
    const tree = await take()
    write(folder, { 'a.txt': 'three\n', 'b.txt': 'b\n' })
    const snapshot = { with: 'snapshot', from: tree } as const
    await discard([await see('a.txt', snapshot), await see('b.txt', snapshot)], tree)
    expect(textOf(folder, 'a.txt')).toBe('two\n')
    expect(status(folder)).toBe('M  a.txt\n')
  })

  it('works in a folder below the top of the repository, and in a repository without a commit', async () => {
    const folder = repository({ 'sub/a.txt': 'one\n', 'a.txt': 'one\n' })
    write(folder, { 'sub/a.txt': 'two\n', 'a.txt': 'two\n' })
    const below = peopleIn(join(folder, 'sub'))
    await below.discard([await below.see('a.txt')])
    expect(status(folder)).toBe(' M a.txt\n')
    const empty = folderForTest()
    git(empty, 'init', '-q', '--template=')
    write(empty, { 'a.txt': 'a\n', 'b.txt': 'b\n' })
    git(empty, 'add', 'a.txt')
    const { discard, see, restore } = peopleIn(empty)
    const discarded = await discard([await see('a.txt')], '')
    expect(status(empty)).toBe('?? b.txt\n')
    await restore(discarded)
    expect(status(empty)).toBe('A  a.txt\n?? b.txt\n')
  })

  it('writes the line endings that the repository configures, and refuses a filter in an untrusted folder', async () => {
    const folder = repository({
      '.gitattributes': '*.txt text eol=crlf\n*.big filter=lfs\n',
      'a.txt': 'one\r\n',
    })
    expect(git(folder, 'cat-file', 'blob', 'HEAD:a.txt')).toBe('one\n')
    write(folder, { 'a.txt': 'two\r\n', 'b.big': 'pointer\n' })
    git(folder, 'add', 'b.big')
    git(folder, 'commit', '-qm', 'big')
    write(folder, { 'b.big': 'other\n' })
    const { discard, see } = peopleIn(folder)
    await discard([await see('a.txt')])
    expect(textOf(folder, 'a.txt')).toBe('one\r\n')
    await expect(discard([await see('b.big')])).rejects.toMatchObject({
      code: 'not_supported',
      details: { filter: 'lfs' },
    })
  })
})

describe('discarding hunks', () => {
  const changed = thirty.replace('line 2\n', 'line two\n').replace('line 28\n', '')

  it('reverts only these hunks, and can be undone', async () => {
    const folder = repository({ 'a.txt': thirty })
    const { see, hunks, discard, restore } = peopleIn(folder)
    write(folder, { 'a.txt': changed })
    const [first, second] = await hunks('a.txt')
    expect([first, second]).not.toContain(undefined)
    const discarded = await discard([{ ...(await see('a.txt')), hunks: [first!] }])
    expect(textOf(folder, 'a.txt')).toBe(thirty.replace('line 28\n', ''))
    expect(discarded.files).toEqual([{ path: 'a.txt', hunks: 1 }])
    await restore(discarded)
    expect(textOf(folder, 'a.txt')).toBe(changed)
    await discard([{ ...(await see('a.txt')), hunks: await hunks('a.txt') }])
    expect(status(folder)).toBe('')
  })

  it.each([
    ['carriage returns', (text: string) => text.replaceAll('\n', '\r\n')],
    ['no line break at the end', (text: string) => text.trimEnd()],
    ['lines that look like headers', (text: string) => text.replaceAll('line 1', '@@ -1 +1 @@\n-- a')],
    ['characters of several bytes', (text: string) => text.replaceAll('line', 'Zeile ß 𝄞')],
  ])('keeps %s', async (_, transform) => {
    const folder = repository({ 'a.txt': transform(thirty) })
    const { see, hunks, discard } = peopleIn(folder)
    const last = changed.replace('line 30\n', 'line thirty\n')
    write(folder, { 'a.txt': transform(last) })
    const all = await hunks('a.txt')
    await discard([{ ...(await see('a.txt')), hunks: all.slice(1) }])
    expect(textOf(folder, 'a.txt')).toBe(transform(thirty.replace('line 2\n', 'line two\n')))
    await discard([{ ...(await see('a.txt')), hunks: await hunks('a.txt') }])
    expect(status(folder)).toBe('')
  })

  it('removes a new file with its only hunk, and restores a deleted file with its mode', async () => {
    const folder = repository({ 'gone.sh': '#!/bin/sh\n' })
    chmodSync(join(folder, 'gone.sh'), 0o755)
    git(folder, 'commit', '-qam', 'mode')
    rmSync(join(folder, 'gone.sh'))
    write(folder, { 'new.txt': 'new\n' })
    const { see, hunks, discard } = peopleIn(folder)
    const [gone, fresh] = [await see('gone.sh'), await see('new.txt')]
    await discard([
      { ...gone, hunks: await hunks('gone.sh') },
      { ...fresh, hunks: await hunks('new.txt') },
    ])
    expect(status(folder)).toBe('')
  })

  it('refuses hunks that the file does not have, and hunks of a link', async () => {
    const folder = repository({ 'a.txt': thirty, link: 'x\n' })
    const { see, hunks, discard } = peopleIn(folder)
    write(folder, { 'a.txt': changed })
    rmSync(join(folder, 'link'))
    symlinkSync('a.txt', join(folder, 'link'))
    const [first] = await hunks('a.txt')
    const wrong = { ...first!, newStart: 2 }
    const file = await see('a.txt')
    await expect(discard([{ ...file, hunks: [wrong] }])).rejects.toMatchObject({ code: 'conflict' })
    await expect(
      discard([{ ...(await see('link')), hunks: [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1 }] }]),
    ).rejects.toMatchObject({ code: 'validation_error' })
    expect(textOf(folder, 'a.txt')).toBe(changed)
  })
})

describe('a discard is refused without an effect', () => {
  it('if a file has changed since it was seen, and so is its undo', async () => {
    const folder = repository({ 'a.txt': 'one\n', 'b.txt': 'one\n' })
    const { see, discard, restore } = peopleIn(folder)
    write(folder, { 'a.txt': 'two\n', 'b.txt': 'two\n' })
    git(folder, 'add', '-A')
    const files = [await see('a.txt'), await see('b.txt')]
    write(folder, { 'b.txt': 'by an agent\n' })
    const before = status(folder)
    await expect(discard(files)).rejects.toMatchObject({ code: 'conflict', details: { path: 'b.txt' } })
    expect(status(folder)).toBe(before)
    const discarded = await discard([files[0]!])
    write(folder, { 'a.txt': 'by an agent\n' })
    await expect(restore(discarded)).rejects.toMatchObject({ code: 'conflict', details: { path: 'a.txt' } })
    expect(textOf(folder, 'a.txt')).toBe('by an agent\n')
  })

  it('for paths outside the folder, in .git, behind a link, named twice, ignored or of a submodule', async () => {
    const folder = repository({ 'a.txt': 'one\n', '.gitignore': 'ignored\n' })
    const outside = folderForTest()
    write(outside, { 'x.txt': 'x\n' })
    symlinkSync(outside, join(folder, 'out'))
    write(folder, { 'a.txt': 'two\n', ignored: 'secret\n' })
    mkdirSync(join(folder, 'inner'))
    git(join(folder, 'inner'), 'init', '-q')
    write(join(folder, 'inner'), { 'x.txt': 'x\n' })
    const { see, discard } = peopleIn(folder)
    const { blob } = await see('a.txt')
    const file = (path: string) => ({ path, blob })
    for (const path of ['../x', '/etc/passwd', 'a/../../x', '.git/config', './a.txt'])
      await expect(discard([file(path)]), path).rejects.toMatchObject({ code: 'validation_error' })
    await expect(discard([file('a.txt'), file('a.txt')])).rejects.toMatchObject({ code: 'validation_error' })
    for (const path of ['ignored', 'out/x.txt', 'inner/x.txt'])
      await expect(discard([file(path)]), path).rejects.toMatchObject({ code: 'not_supported' })
    expect(textOf(outside, 'x.txt')).toBe('x\n')
    expect(lstatSync(join(folder, 'ignored')).isFile()).toBe(true)
  })

  it('for a base that is no commit and no snapshot of the session', async () => {
    const folder = repository({ 'a.txt': 'one\n' })
    const { see, discard, folders } = peopleIn(folder)
    const other = await folders.snapshot(folder, { sessionId: 'ses_other' })
    write(folder, { 'a.txt': 'two\n' })
    for (const base of [other.tree, 'f'.repeat(40)])
      await expect(discard([await see('a.txt')], base)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('if the index is in use, and if a merge has left the file unresolved', async () => {
    const folder = repository({ 'a.txt': 'one\n' })
    const { see, discard } = peopleIn(folder)
    write(folder, { 'a.txt': 'two\n' })
    git(folder, 'add', '-A')
    writeFileSync(join(folder, '.git/index.lock'), '')
    await expect(discard([await see('a.txt')])).rejects.toMatchObject({ code: 'busy' })
    expect(textOf(folder, 'a.txt')).toBe('two\n')
    rmSync(join(folder, '.git/index.lock'))
    git(folder, 'commit', '-qm', 'two')
    git(folder, 'checkout', '-qb', 'side', 'HEAD~1')
    write(folder, { 'a.txt': 'three\n' })
    git(folder, 'commit', '-qam', 'three')
    expect(() => git(folder, 'merge', 'main')).toThrow()
    await expect(discard([await see('a.txt')])).rejects.toMatchObject({ code: 'conflict' })
  })
})
