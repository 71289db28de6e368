import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import type { Asked } from './folder-contents.ts'
import { createWorkspace } from './index.ts'
import { createSessionFolder } from './session-folder.ts'

const workspace = createWorkspace({ env: process.env })

function write(folder: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}

function git(folder: string, ...args: string[]): void {
  execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@example.com', ...args], {
    cwd: folder,
    stdio: 'pipe',
  })
}

/** A repository with committed files, inside a folder that contains a secret. */
function repository(files: Readonly<Record<string, string | Uint8Array>> = {}) {
  const outer = folderForTest()
  const folder = join(outer, 'repository')
  write(outer, { 'secret.txt': 'secret' })
  write(folder, { 'a.txt': 'one\n', ...files })
  git(folder, 'init', '-q', '-b', 'main')
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
  return { outer, folder }
}

const file = (folder: string, path: string, more: Partial<Asked> = {}) =>
  workspace.file([folder], { path, all: true, ...more })
const tree = (folder: string, path = '', more: Partial<Asked> = {}) =>
  workspace.tree([folder], { path, all: true, ...more })
const names = async (folder: string, path = '') => (await tree(folder, path)).entries.map(({ name }) => name)
const refused = (code: string) => expect.objectContaining({ name: 'ParleyError', code })

describe('a tree', () => {
  it('is one level, folders first and by name, without the git directory', async () => {
    const { folder } = repository({ 'z/inner.txt': '', 'file10.txt': 'ten', 'file9.txt': '', 'B.txt': '' })
    symlinkSync('a.txt', join(folder, 'near'))
    symlinkSync('z', join(folder, 'deep'))
    symlinkSync('../secret.txt', join(folder, 'out'))
    symlinkSync('nowhere', join(folder, 'broken'))
    expect(await tree(folder)).toEqual({
      path: '',
      cut: false,
      entries: [
        { name: 'deep', kind: 'link', leadsTo: 'folder' },
        { name: 'z', kind: 'folder' },
        { name: 'a.txt', kind: 'file', size: 4 },
        { name: 'B.txt', kind: 'file', size: 0 },
        { name: 'broken', kind: 'link' },
        { name: 'file9.txt', kind: 'file', size: 0 },
        { name: 'file10.txt', kind: 'file', size: 3 },
        { name: 'near', kind: 'link', leadsTo: 'file' },
        { name: 'out', kind: 'link' },
      ],
    })
    expect(await tree(folder, 'z')).toMatchObject({ path: 'z', entries: [{ name: 'inner.txt' }] })
    expect(await tree(folder, 'deep')).toMatchObject({ path: 'z' })
    expect(await tree(folder, join(folder, 'z'))).toMatchObject({ path: 'z' })
  })

  it('marks what git ignores', async () => {
    const { folder } = repository({ '.gitignore': 'dist/\n*.log\n!kept.log\n', 'kept.log': '' })
    write(folder, { 'dist/x.js': '', 'debug.log': '', 'new.txt': '' })
    const ignored = (await tree(folder)).entries.filter((entry) => entry.ignored).map(({ name }) => name)
    expect(ignored).toEqual(['dist', 'debug.log'])
    expect((await tree(folder, 'dist')).entries).toMatchObject([{ name: 'x.js', ignored: true }])
  })

  it('contains names of every kind', async () => {
    const odd = ['-n', ' ', 'two\nlines', 'a"b', "it's", ':(top)', '*', '\\', 'größe', '{x}', '$(touch y)']
    const { folder } = repository(Object.fromEntries(odd.map((name) => [name, name])))
    expect((await names(folder)).toSorted()).toEqual([...odd, 'a.txt'].toSorted())
    for (const name of odd)
      expect(await file(folder, name, { all: false })).toMatchObject({ type: 'text', text: name })
  })

  it('is cut if there are too many entries', async () => {
    const { folder } = repository()
    mkdirSync(join(folder, 'many'))
    for (let at = 0; at < 5_010; at++) writeFileSync(join(folder, 'many', `${at}`), '')
    const { entries, cut } = await tree(folder, 'many')
    expect([entries.length, cut]).toEqual([5_000, true])
  })

  it('of a file, or of a path that does not exist, is refused', async () => {
    const { folder } = repository()
    await expect(tree(folder, 'a.txt')).rejects.toEqual(refused('validation_error'))
    await expect(tree(folder, 'none')).rejects.toEqual(refused('not_found'))
  })
})

describe('a file', () => {
  it('is a text, with its path and its size', async () => {
    const { folder } = repository({ 'src/größe.ts': 'const größe = 1\n' })
    const expected = {
      type: 'text',
      path: 'src/größe.ts',
      absolutePath: join(folder, 'src/größe.ts'),
      size: 18,
      text: 'const größe = 1\n',
      cut: false,
    }
    for (const path of ['src/größe.ts', './src/../src/größe.ts', join(folder, 'src/größe.ts')])
      expect(await file(folder, path)).toEqual(expected)
    symlinkSync('src/größe.ts', join(folder, 'link'))
    expect(await file(folder, 'link')).toEqual(expected)
  })

  it('is read in the other folders of the session too', async () => {
    const { outer, folder } = repository()
    write(outer, { 'other/b.txt': 'two' })
    symlinkSync(join(outer, 'other'), join(outer, 'alias'))
    const other = join(outer, 'other/b.txt')
    const found = await workspace.file([folder, join(outer, 'alias')], { path: other, all: true })
    expect(found).toMatchObject({ path: other, text: 'two' })
  })

  it('is recognised as an image by its first bytes, whatever its name', async () => {
    const png = Buffer.from('89504e470d0a1a0a0000000d', 'hex')
    const { folder } = repository({ 'picture.txt': png, 'page.png': '<script>alert(1)</script>' })
    expect(await file(folder, 'picture.txt')).toMatchObject({
      type: 'image',
      mimeType: 'image/png',
      data: png.toString('base64'),
    })
    expect(await file(folder, 'page.png')).toMatchObject({ type: 'text' })
  })

  it.each([
    ['image/jpeg', 'ffd8ffe000104a4649460001'],
    ['image/gif', Buffer.from('GIF89a').toString('hex')],
    ['image/webp', Buffer.from('RIFF\0\0\0\0WEBP').toString('hex')],
    ['image/avif', Buffer.from('\0\0\0\x20ftypavif').toString('hex')],
    ['image/bmp', `424d${'00'.repeat(12)}28${'00'.repeat(20)}`],
  ])('can be an %s', async (mimeType, hex) => {
    const { folder } = repository({ x: Buffer.from(hex, 'hex') })
    expect(await file(folder, 'x')).toMatchObject({ type: 'image', mimeType })
  })

  it('with an SVG is a text', async () => {
    const { folder } = repository({ 'a.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>' })
    expect(await file(folder, 'a.svg')).toMatchObject({ type: 'text' })
  })

  it('is binary if it contains null characters, except in UTF-16', async () => {
    const { folder } = repository({
      program: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0]),
      wide: Buffer.from('\ufeffwide', 'utf16le'),
      empty: '',
      latin: Buffer.from([0x67, 0x72, 0xfc, 0x6e]),
    })
    expect(await file(folder, 'program')).toEqual(
      expect.objectContaining({ type: 'binary', size: 5, path: 'program' }),
    )
    expect(await file(folder, 'wide')).toMatchObject({ type: 'text', text: 'wide' })
    expect(await file(folder, 'empty')).toMatchObject({ type: 'text', text: '', size: 0 })
    expect(await file(folder, 'latin')).toMatchObject({ type: 'text', text: 'gr\ufffdn' })
  })

  it('that is long is cut between characters', async () => {
    const { folder } = repository({ 'long.txt': `x${'é'.repeat(1_200_000)}` })
    const found = await file(folder, 'long.txt')
    expect(found).toMatchObject({ type: 'text', cut: true, size: 2_400_001 })
    expect('text' in found && found.text.length).toBe(2 ** 20)
    expect('text' in found && found.text.endsWith('é')).toBe(true)
  })

  it('that is huge is read only as far as it is shown', async () => {
    const { folder } = repository({ 'picture.png': Buffer.from('89504e470d0a1a0a0000000d', 'hex') })
    write(folder, { 'huge.txt': 'begin' })
    // The files are sparse, so they take up no space on the disk.
    truncateSync(join(folder, 'huge.txt'), 1e12)
    truncateSync(join(folder, 'picture.png'), 11 * 2 ** 20)
    expect(await file(folder, 'huge.txt')).toMatchObject({ type: 'binary', size: 1e12 })
    await expect(file(folder, 'picture.png')).rejects.toEqual(refused('too_large'))
  })
})

describe('an entry that is not a file inside the folder', () => {
  it('is not read through a path or a link, and the refusal does not reveal whether it exists', async () => {
    const { outer, folder } = repository()
    symlinkSync('../secret.txt', join(folder, 'out.txt'))
    symlinkSync('..', join(folder, 'up'))
    symlinkSync('/', join(folder, 'system'))
    for (const path of [
      '../secret.txt',
      '../none.txt',
      join(outer, 'secret.txt'),
      '/etc/passwd',
      'out.txt',
      'up/secret.txt',
      'up/none.txt',
      'up/repository/../secret.txt',
      'system/none',
      '..',
      `${folder}-other/a.txt`,
    ]) {
      await expect(file(folder, path), path).rejects.toEqual(refused('forbidden'))
      await expect(tree(folder, path), path).rejects.toEqual(refused('forbidden'))
    }
  })

  it('is refused with a typed error', async () => {
    const { folder } = repository()
    execFileSync('mkfifo', [join(folder, 'pipe')])
    const socket = createServer().listen(join(folder, 'socket'))
    await new Promise((resolve) => socket.once('listening', resolve))
    symlinkSync('loop', join(folder, 'loop'))
    for (const [path, code] of [
      ['pipe', 'validation_error'],
      ['socket', 'validation_error'],
      ['', 'validation_error'],
      ['.', 'validation_error'],
      ['a.txt\0.png', 'validation_error'],
      ['x'.repeat(300), 'validation_error'],
      ['none.txt', 'not_found'],
      ['a.txt/b', 'not_found'],
      ['loop', 'not_found'],
    ] as const)
      await expect(file(folder, path), path).rejects.toEqual(refused(code))
    expect((await tree(folder)).entries).toMatchObject([
      { name: 'a.txt' },
      { name: 'loop', kind: 'link' },
      { name: 'pipe', kind: 'other' },
      { name: 'socket', kind: 'other' },
    ])
    socket.close()
  })

  it('is refused if it is a device', async () => {
    await expect(file('/dev', 'null')).rejects.toEqual(refused('validation_error'))
  })

  it('is not read if the folder of the session was replaced by a link', async () => {
    const { outer, folder } = repository()
    write(outer, { 'elsewhere/secret.txt': 'secret' })
    renameSync(folder, join(outer, 'moved'))
    symlinkSync('elsewhere', folder)
    await expect(file(folder, 'secret.txt')).rejects.toEqual(refused('forbidden'))
    await expect(tree(folder)).rejects.toEqual(refused('forbidden'))
  })

  it('is never read while another program keeps replacing files with links', async () => {
    const { folder } = repository({ 'inner/secret.txt': 'harmless', 'secret.txt': 'harmless' })
    const at = (name: string) => join(folder, name)
    symlinkSync('../secret.txt', at('evil.txt'))
    symlinkSync('..', at('evil'))
    let isOver = false
    const swapping = (async () => {
      while (!isOver) {
        for (const [bad, good] of [
          ['evil.txt', 'secret.txt'],
          ['evil', 'inner'],
        ] as const) {
          renameSync(at(good), at('away'))
          renameSync(at(bad), at(good))
          await new Promise(setImmediate)
          renameSync(at(good), at(bad))
          renameSync(at('away'), at(good))
        }
        await new Promise(setImmediate)
      }
    })()
    const seen = new Set<string>()
    for (let round = 0; round < 400; round++) {
      const paths = ['secret.txt', 'inner/secret.txt']
      for (const result of await Promise.allSettled(paths.map((path) => file(folder, path)))) {
        if (result.status === 'fulfilled') seen.add('text' in result.value ? result.value.text : '')
        else expect(result.reason).toMatchObject({ name: 'ParleyError' })
      }
    }
    isOver = true
    await swapping
    expect([...seen]).toEqual(['harmless'])
  })
})

describe('without all=true, a caller reads only files that git lists', () => {
  const read = (folder: string, path: string) => file(folder, path, { all: false })
  const unlisted = expect.objectContaining({
    code: 'forbidden',
    details: { unlisted: expect.any(String) },
  })

  it('tracked and new files, but neither ignored ones nor the git directory', async () => {
    const { folder } = repository({ '.gitignore': '.env\ndist/\ntracked.log\n', 'deep/a.txt': '' })
    write(folder, { '.env': 'KEY=1', 'dist/x.js': '', 'new.txt': '', 'tracked.log': '' })
    git(folder, 'add', '-f', 'tracked.log')
    for (const path of ['a.txt', 'new.txt', 'tracked.log', 'deep/a.txt'])
      expect(await read(folder, path)).toMatchObject({ type: 'text' })
    for (const path of ['.env', 'dist/x.js', '.git/config', '.git/HEAD'])
      await expect(read(folder, path), path).rejects.toEqual(unlisted)
    symlinkSync('.env', join(folder, 'innocent.txt'))
    await expect(read(folder, 'innocent.txt')).rejects.toEqual(unlisted)
    await expect(tree(folder, 'dist', { all: false })).rejects.toEqual(unlisted)
    await expect(tree(folder, '.git', { all: false })).rejects.toEqual(unlisted)
    const { entries } = await tree(folder, '', { all: false })
    expect(entries).toContainEqual({ name: '.env', kind: 'file', size: 5, ignored: true })
    expect(await file(folder, '.env')).toMatchObject({ text: 'KEY=1' })
  })

  it('nothing in a folder without a repository', async () => {
    const folder = folderForTest()
    write(folder, { 'a.txt': 'one' })
    await expect(read(folder, 'a.txt')).rejects.toMatchObject({ details: { unlisted: 'no-repository' } })
    await expect(tree(folder, '', { all: false })).rejects.toEqual(unlisted)
    expect((await tree(folder)).entries).toEqual([{ name: 'a.txt', kind: 'file', size: 3 }])
  })

  it('nothing of a repository in an ignored folder, but files of a submodule', async () => {
    const { folder } = repository({ '.gitignore': 'vendor/\n' })
    for (const inner of ['vendor/lib', 'module']) {
      write(folder, { [`${inner}/b.txt`]: 'two' })
      git(join(folder, inner), 'init', '-q')
      git(join(folder, inner), 'add', '-A')
      git(join(folder, inner), 'commit', '-qm', 'inner')
    }
    git(folder, 'add', 'module')
    await expect(read(folder, 'vendor/lib/b.txt')).rejects.toEqual(unlisted)
    expect(await read(folder, 'module/b.txt')).toMatchObject({ text: 'two' })
  })

  it('files of a session in a folder below the top of the repository', async () => {
    const { folder } = repository({ '.gitignore': '*.log\n', 'app/a.txt': '', 'app/x.log': '' })
    expect(await read(join(folder, 'app'), 'a.txt')).toMatchObject({ path: 'a.txt' })
    await expect(file(join(folder, 'app'), '../a.txt')).rejects.toEqual(refused('forbidden'))
  })
})

it('a hard link is a file of the folder', async () => {
  const { folder } = repository()
  linkSync(join(folder, 'a.txt'), join(folder, 'b.txt'))
  rmSync(join(folder, 'a.txt'))
  expect(await file(folder, 'b.txt')).toMatchObject({ text: 'one\n' })
})

describe('an earlier version of a file', () => {
  const stored = (folder: string, path: string, rev: string) => file(folder, path, { rev, all: false })

  it('is that of a commit, even if the file no longer exists', async () => {
    const { folder } = repository({ 'src/b.ts': 'old' })
    rmSync(join(folder, 'src'), { recursive: true })
    write(folder, { 'a.txt': 'two' })
    expect(await stored(folder, 'src/b.ts', 'HEAD')).toEqual({
      type: 'text',
      path: 'src/b.ts',
      size: 3,
      text: 'old',
      cut: false,
    })
    expect(await stored(folder, join(folder, 'a.txt'), 'HEAD')).toMatchObject({ text: 'one\n' })
    expect(await stored(join(folder, 'src'), 'b.ts', 'HEAD').catch(() => undefined)).toBeUndefined()
  })

  it('is that of a snapshot, with files that are not committed', async () => {
    const { outer, folder } = repository({ '.gitignore': '.env\n' })
    write(folder, { 'new.txt': 'first', '.env': 'KEY=1' })
    const folders = createSessionFolder({ env: process.env, root: join(outer, 'shadows') })
    const { tree } = await folders.snapshot(folder, { sessionId: 'ses_1' })
    write(folder, { 'new.txt': 'second' })
    const shadowed = createWorkspace({ env: process.env, folders })
    const read = (path: string, rev: string) => shadowed.file([folder], { path, rev, all: false })
    expect(await read('new.txt', tree)).toMatchObject({ text: 'first' })
    expect(await read('a.txt', 'HEAD')).toMatchObject({ text: 'one\n' })
    await expect(read('.env', tree)).rejects.toEqual(refused('not_found'))
  })

  it('is refused with a typed error', async () => {
    const { folder } = repository({ 'src/b.ts': '' })
    symlinkSync('../secret.txt', join(folder, 'out.txt'))
    git(folder, 'add', '-A')
    git(folder, 'commit', '-qm', 'second')
    for (const [path, rev, code] of [
      ['a.txt', 'main', 'validation_error'],
      ['a.txt', '--help', 'validation_error'],
      ['a.txt', '0123456789', 'not_found'],
      ['none.txt', 'HEAD', 'not_found'],
      ['src', 'HEAD', 'validation_error'],
      ['.', 'HEAD', 'validation_error'],
      ['out.txt', 'HEAD', 'validation_error'],
      ['../secret.txt', 'HEAD', 'forbidden'],
      ['a\0', 'HEAD', 'validation_error'],
    ] as const)
      await expect(stored(folder, path, rev), `${path} ${rev}`).rejects.toEqual(refused(code))
  })
})
