import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { git, write } from './hostile-repository-under-test.ts'
import { createWorkspace } from './index.ts'
import { createSessionFolder } from './session-folder.ts'
import type { SnapshotLimits } from './shadowed-folders.ts'

const env = { PATH: process.env.PATH, HOME: '/nonexistent' }
const sessionId = 'ses_1'

function repository(files: Record<string, string>): string {
  const folder = folderForTest()
  git(folder, 'init', '-q', '-b', 'main', '--template=')
  write(folder, files)
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
  return folder
}

function folders(root = folderForTest(), limits: Partial<SnapshotLimits> = {}) {
  const made = createSessionFolder({ env, root: join(root, 'shadows'), limits })
  const { changes, patch } = createWorkspace({ env, folders: made })
  const seen = (path: string) => ({ path, trusted: false })
  return {
    ...made,
    take: (folder: string) => made.snapshot(folder, { sessionId }),
    restoreTo: (folder: string, tree: string, paths: readonly string[]) =>
      made.restore(folder, { sessionId, tree, paths }),
    /** Each changed file with its status and its lines. */
    async since(folder: string, from: string, to?: string): Promise<Record<string, string>> {
      const { files } = await changes(seen(folder), { with: 'snapshot', from, ...(to && { to }) })
      return Object.fromEntries(
        files.map(({ path, from, status, added = '', removed = '' }) => [
          path,
          `${from ? `${from} ` : ''}${status} ${added} ${removed}`.trim(),
        ]),
      )
    },
    patch: (folder: string, path: string, from: string, to?: string) =>
      patch(seen(folder), path, { with: 'snapshot', from, ...(to && { to }) }),
  }
}

describe('a snapshot', () => {
  it('contains changed, new, removed and renamed files, their modes and links, but no ignored files', async () => {
    const { take, since } = folders()
    const folder = repository({
      '.gitignore': 'build/\n',
      'a.txt': 'one\ntwo\n',
      'gone.txt': 'gone\n',
      'run.sh': '#!/bin/sh\n',
      'long.txt': 'a line\n'.repeat(20),
      'sub/deep.txt': 'deep\n',
    })
    const before = await take(folder)
    expect(before).toMatchObject({ head: git(folder, 'rev-parse', 'HEAD').trim(), leftOut: [] })
    write(folder, {
      'a.txt': 'one\n2\n',
      'new file.txt': 'x\n',
      'build/out.txt': 'out\n',
      'tab\tname': 't\n',
    })
    rmSync(join(folder, 'gone.txt'))
    chmodSync(join(folder, 'run.sh'), 0o755)
    renameSync(join(folder, 'long.txt'), join(folder, 'sub/moved.txt'))
    symlinkSync('a.txt', join(folder, 'link'))
    const after = await take(folder)
    const changes = {
      'a.txt': 'modified 1 1',
      'gone.txt': 'deleted 0 1',
      link: 'added 1 0',
      'new file.txt': 'added 1 0',
      'run.sh': 'modified 0 0',
      'sub/moved.txt': 'long.txt renamed 0 0',
      'tab\tname': 'added 1 0',
    }
    expect(await since(folder, before.tree, after.tree)).toEqual(changes)
    expect(await since(folder, before.tree)).toEqual(changes)
    expect(await since(join(folder, 'sub'), before.tree)).toEqual({ 'moved.txt': 'added 20 0' })
    expect(await take(folder)).toMatchObject({ tree: after.tree })
    expect(await take(join(folder, 'sub'))).toMatchObject({ tree: after.tree })
  })

  it('does not change the repository', async () => {
    const { take } = folders()
    const folder = repository({ 'a.txt': 'one\n' })
    write(folder, { 'a.txt': 'two\n', 'new.txt': 'new\n' })
    const listed = () => readdirSync(join(folder, '.git'), { recursive: true }).toSorted()
    const state = () => [listed(), readFileSync(join(folder, '.git/index')), git(folder, 'show-ref')]
    const before = state()
    await take(folder)
    expect(state()).toEqual(before)
  })

  it('leaves out large untracked files, submodules and other repositories, and names them', async () => {
    const { take, since } = folders()
    const other = repository({ 'b.txt': 'b\n' })
    const folder = repository({ 'a.txt': 'a\n', 'tracked.bin': 'x' })
    git(folder, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other, 'module')
    git(folder, 'commit', '-qm', 'module')
    git(folder, 'init', '-q', 'inner')
    write(folder, { 'inner/c.txt': 'c\n' })
    const large = Buffer.alloc(10 * 1024 * 1024 + 1)
    writeFileSync(join(folder, 'film.mp4'), large)
    writeFileSync(join(folder, 'tracked.bin'), large)
    write(folder, { 'grows.bin': 'small' })
    const before = await take(folder)
    expect(before.leftOut).toEqual([
      { path: 'film.mp4', reason: 'large' },
      { path: 'inner', reason: 'repository' },
      { path: 'module', reason: 'repository' },
    ])
    writeFileSync(join(folder, 'grows.bin'), large)
    write(folder, { 'module/b.txt': 'changed\n' })
    const { leftOut, tree } = await take(folder)
    expect(leftOut.map(({ path }) => path)).toEqual(['film.mp4', 'grows.bin', 'inner', 'module'])
    expect(await since(folder, before.tree, tree)).toEqual({
      'grows.bin': 'deleted 0 1',
    })
  })

  it('contains ignored files if and only if the repository tracks them', async () => {
    const { take, since } = folders()
    const folder = repository({ '.gitignore': '*.log\n', 'a.txt': 'a\n' })
    write(folder, { 'build/out.txt': 'one\n', 'kept.log': 'kept\nlog\n' })
    const before = await take(folder)
    write(folder, { '.gitignore': '*.log\nbuild/\n', 'build/out.txt': 'two\n' })
    git(folder, 'add', '-f', 'kept.log')
    expect(await since(folder, before.tree)).toEqual({
      '.gitignore': 'modified 1 0',
      'build/out.txt': 'deleted 0 1',
      'kept.log': 'added 2 0',
    })
  })

  it('contains the bytes of files that git converts, whether or not they have changed', async () => {
    const { take, restoreTo } = folders()
    const folder = folderForTest()
    git(folder, 'init', '-q')
    git(folder, 'config', 'filter.rot.clean', 'tr a-z n-za-m')
    git(folder, 'config', 'filter.rot.smudge', 'tr a-z n-za-m')
    const contents = {
      '.gitattributes':
        '*.rot filter=rot\n*.txt text eol=crlf\n*.id ident\n*.utf working-tree-encoding=UTF-16\n',
      'a.rot': 'secret\n',
      'b.txt': 'one\r\ntwo\r\n',
      'c.id': '$Id: 1 $\n',
      'd.sh': 'plain\n',
    }
    write(folder, contents)
    git(folder, 'add', '-A')
    git(folder, 'commit', '-qm', 'first')
    expect(git(folder, 'cat-file', 'blob', 'HEAD:a.rot')).toBe('frperg\n')
    const { tree } = await take(folder)
    for (const path of Object.keys(contents)) write(folder, { [path]: 'changed\n' })
    await restoreTo(folder, tree, Object.keys(contents))
    const found = Object.keys(contents).map((path) => [path, readFileSync(join(folder, path), 'utf8')])
    expect(Object.fromEntries(found)).toEqual(contents)
  })

  it('of a folder without a repository has its files, without installed packages', async () => {
    const { take, since, restoreTo } = folders()
    const folder = folderForTest()
    write(folder, { 'a.txt': 'one\n', 'node_modules/x/a.js': 'x\n' })
    const before = await take(folder)
    expect(before).toEqual({ tree: expect.any(String), leftOut: [] })
    write(folder, { 'a.txt': 'two\n', 'b.txt': 'b\n', 'node_modules/x/b.js': 'x\n' })
    expect(await since(folder, before.tree)).toEqual({ 'a.txt': 'modified 1 1', 'b.txt': 'added 1 0' })
    await restoreTo(folder, before.tree, ['a.txt', 'b.txt'])
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one\n')
    expect(existsSync(join(folder, 'b.txt'))).toBe(false)
  })

  it('is refused for a folder that contains the home folder, and for one with too many files', async () => {
    const { take } = folders()
    await expect(take('/')).rejects.toMatchObject({ code: 'not_supported' })
    const folder = folderForTest()
    mkdirSync(join(folder, 'many'))
    for (let file = 0; file <= 20_000; file++) writeFileSync(join(folder, 'many', `${file}`), '')
    await expect(take(folder)).rejects.toMatchObject({ code: 'not_supported', details: { files: 20_001 } })
  })

  it('is taken of a repository in any state: without commits, in a merge, with a split index, in SHA-256', async () => {
    const { take, since } = folders()
    const bare = folderForTest()
    git(bare, 'init', '-q', '--object-format=sha256')
    write(bare, { 'a.txt': 'a\n' })
    const first = await take(bare)
    expect(first).toEqual({ tree: expect.stringMatching(/^[0-9a-f]{64}$/), leftOut: [] })

    const merging = repository({ 'a.txt': 'a\n' })
    git(merging, 'checkout', '-qb', 'side')
    write(merging, { 'a.txt': 'side\n' })
    git(merging, 'commit', '-qam', 'side')
    git(merging, 'checkout', '-q', 'main')
    write(merging, { 'a.txt': 'main\n' })
    git(merging, 'commit', '-qam', 'main')
    const before = await take(merging)
    expect(() => git(merging, 'merge', 'side')).toThrow()
    expect(await since(merging, before.tree)).toEqual({ 'a.txt': 'modified 4 0' })

    const split = repository({ 'a.txt': 'a\n' })
    git(split, 'update-index', '--split-index')
    expect(await take(split)).toMatchObject({ tree: git(split, 'rev-parse', 'HEAD^{tree}').trim() })
  })

  it('has the tree that git itself computes, if nothing is left out', async () => {
    const { take } = folders()
    const folder = repository({ 'a.txt': 'one\n', 'b/c.txt': 'two\n' })
    write(folder, { 'b/c.txt': 'three\n', 'd.txt': 'four\n' })
    const { tree } = await take(folder)
    git(folder, 'add', '-A')
    expect(git(folder, 'write-tree').trim()).toBe(tree)
  })

  it('detects a change that keeps the size and the time of a file', async () => {
    const { take } = folders()
    const folder = repository({ 'a.txt': 'one\n' })
    const { atime, mtime } = statSync(join(folder, 'a.txt'))
    const before = await take(folder)
    write(folder, { 'a.txt': 'two\n' })
    utimesSync(join(folder, 'a.txt'), atime, mtime)
    expect((await take(folder)).tree).not.toBe(before.tree)
  })

  it('is taken even if the objects of the previous snapshot no longer exist', async () => {
    const { take, since } = folders()
    const folder = repository({ 'a.txt': 'one\n' })
    write(folder, { 'staged.txt': 'staged\n' })
    git(folder, 'add', 'staged.txt')
    const before = await take(folder)
    rmSync(join(folder, '.git'), { recursive: true })
    git(folder, 'init', '-q')
    write(folder, { 'a.txt': 'two\n' })
    const after = await take(folder)
    expect(after.tree).not.toBe(before.tree)
    await expect(since(folder, before.tree, after.tree)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('is taken despite names that git refuses and files that cannot be read', async () => {
    const { take, since } = folders()
    const folder = repository({ 'a.txt': 'one\n' })
    const before = await take(folder)
    write(folder, { 'git~1': 'x\n', 'sub/.GIT/config': 'x\n', 'a\\b': 'x\n', 'line\nbreak': 'x\n' })
    symlinkSync('/etc/passwd', join(folder, '.gitmodules'))
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]), 'x\n')
    const { leftOut, tree } = await take(folder)
    expect(leftOut.map(({ path }) => path)).toEqual(['.gitmodules', 'sub/.GIT/config'])
    expect(Object.keys(await since(folder, before.tree, tree))).toHaveLength(4)
  })

  it('is shared by sessions that request one at the same time', async () => {
    const { snapshot } = folders()
    const folder = repository({ 'a.txt': 'one\n' })
    const taken = await Promise.all(
      Array.from({ length: 8 }, (_, index) => snapshot(folder, { sessionId: `ses_${index}` })),
    )
    expect(new Set(taken.map(({ tree }) => tree)).size).toBe(1)
  })
})

describe('snapshots', () => {
  it('are turned off in a folder after three that took too long', async () => {
    const { take } = folders(folderForTest(), { budgetMs: -1 })
    const folder = repository({ 'a.txt': 'one\n' })
    for (let turn = 0; turn < 4; turn++) await take(folder)
    await expect(take(folder)).rejects.toMatchObject({ code: 'not_supported', details: { off: true } })
    expect(await take(repository({ 'a.txt': 'one\n' }))).toMatchObject({ leftOut: [] })
  })

  it('are kept if the only other session of the project is forgotten at the same time', async () => {
    const folder = repository({ 'a.txt': 'a' })
    const { snapshot, forget, since } = folders()
    await snapshot(folder, { sessionId: 'ses_a' })
    const [{ tree }] = await Promise.all([snapshot(folder, { sessionId: 'ses_b' }), forget(folder, 'ses_a')])
    write(folder, { 'a.txt': 'b' })
    await snapshot(folder, { sessionId: 'ses_b' })
    expect(await since(folder, tree)).toEqual({ 'a.txt': 'modified 1 1' })
  })

  it('are kept until the last session that has them is forgotten, forks included', async () => {
    const root = folderForTest()
    const { snapshot, share, forget, since } = folders(root)
    const folder = repository({ 'a.txt': 'one\n' })
    write(folder, { 'a.txt': 'two\n' })
    const first = await snapshot(folder, { sessionId: 'ses_a' })
    await share(folder, 'ses_a', 'ses_b')
    await share(folder, 'ses_none', 'ses_c')
    write(folder, { 'a.txt': 'three\n' })
    const second = await snapshot(folder, { sessionId: 'ses_b' })
    await forget(folder, 'ses_a')
    expect(await since(folder, first.tree, second.tree)).toEqual({ 'a.txt': 'modified 1 1' })
    expect(await snapshot(folder, { sessionId: 'ses_b' })).toMatchObject({ tree: second.tree })
    await forget(folder, 'ses_b')
    await forget(folder, 'ses_b')
    expect(readdirSync(join(root, 'shadows'), { recursive: true }).join()).not.toContain('objects/')
  })
})

describe('restoring paths', () => {
  it('returns exactly these paths to their state in the snapshot, and can be undone', async () => {
    const { take, restoreTo, since } = folders()
    const folder = repository({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'sub/c.txt': 'c\n', 'run.sh': 'x\n' })
    const before = await take(folder)
    write(folder, { 'a.txt': 'A\n', 'b.txt': 'B\n', 'new/d.txt': 'd\n' })
    rmSync(join(folder, 'sub'), { recursive: true })
    chmodSync(join(folder, 'run.sh'), 0o755)
    const restored = await restoreTo(folder, before.tree, ['a.txt', 'sub/c.txt', 'new/d.txt', 'run.sh'])
    expect(restored.missing).toEqual([])
    expect(await since(folder, before.tree)).toEqual({ 'b.txt': 'modified 1 1' })
    expect(existsSync(join(folder, 'new'))).toBe(false)
    expect(statSync(join(folder, 'run.sh')).mode & 0o111).toBe(0)
    await restoreTo(folder, restored.before, ['a.txt', 'sub/c.txt', 'new/d.txt', 'run.sh'])
    expect(await since(folder, restored.before)).toEqual({})
    expect(git(folder, 'status', '--porcelain').split('\n')).toContain('?? new/')
  })

  it('is relative to the folder, and refuses paths outside it', async () => {
    const { take, restoreTo } = folders()
    const folder = repository({ 'sub/a.txt': 'a\n', 'a.txt': 'a\n' })
    const { tree } = await take(folder)
    write(folder, { 'sub/a.txt': 'A\n', 'a.txt': 'A\n' })
    await restoreTo(join(folder, 'sub'), tree, ['a.txt'])
    expect(git(folder, 'diff', '--name-only').trim()).toBe('a.txt')
    for (const path of ['../a.txt', '/etc/passwd', '', 'x/../../a.txt', '.git/config', 'a\0b'])
      await expect(restoreTo(join(folder, 'sub'), tree, [path])).rejects.toThrow()
  })

  it('writes nothing through a link, and nothing over a file that the snapshot left out', async () => {
    const { take, restoreTo } = folders()
    const folder = repository({ '.gitignore': 'ignored\n', 'sub/a.txt': 'a\n' })
    const outside = folderForTest()
    write(outside, { 'a.txt': 'outside\n' })
    const { tree } = await take(folder)
    rmSync(join(folder, 'sub'), { recursive: true })
    symlinkSync(outside, join(folder, 'sub'))
    await restoreTo(folder, tree, ['sub', 'sub/a.txt'])
    expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe('outside\n')
    expect(readFileSync(join(folder, 'sub/a.txt'), 'utf8')).toBe('a\n')

    write(folder, { 'mine.txt': 'before\n' })
    const { tree: withMine } = await take(folder)
    write(folder, { '.gitignore': 'ignored\nmine.txt\n', 'mine.txt': 'mine\n' })
    await expect(restoreTo(folder, withMine, ['mine.txt'])).rejects.toMatchObject({ code: 'conflict' })
    expect(readFileSync(join(folder, 'mine.txt'), 'utf8')).toBe('mine\n')
  })

  it('names paths whose content the repository has removed, and does not change them', async () => {
    const { take, restoreTo } = folders()
    const folder = repository({ 'a.txt': 'one\n', 'b.txt': 'one b\n' })
    const blob = git(folder, 'rev-parse', 'HEAD:a.txt').trim()
    const { tree } = await take(folder)
    write(folder, { 'a.txt': 'two\n', 'b.txt': 'two b\n' })
    rmSync(join(folder, '.git/objects', blob.slice(0, 2), blob.slice(2)))
    expect(await restoreTo(folder, tree, ['a.txt', 'b.txt'])).toMatchObject({ missing: ['a.txt'] })
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('two\n')
    expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('one b\n')
  })
})

describe('the patch of a path', () => {
  it('between snapshots, and between a snapshot and now, is as git writes it', async () => {
    const { take, patch, since } = folders()
    const folder = repository({ 'a b.txt': 'one\r\ntwo\r\n', 'pic.bin': 'a\0b' })
    const before = await take(folder)
    write(folder, { 'a b.txt': 'one\r\n2\r\n', 'pic.bin': 'a\0c', 'new.txt': 'no end' })
    const after = await take(folder)
    appendFileSync(join(folder, 'a b.txt'), 'three\r\n')
    const { patch: text } = await patch(folder, 'a b.txt', before.tree, after.tree)
    expect(text).toContain('-two\r\n+2\r\n')
    expect(text).not.toContain('three')
    expect((await patch(folder, 'pic.bin', before.tree, after.tree)).patch).toContain('Binary files')
    expect((await patch(folder, 'new.txt', before.tree, after.tree)).patch).toContain('\\ No newline')
    await since(folder, before.tree)
    expect((await patch(folder, 'a b.txt', before.tree)).patch).toContain('+three\r\n')
    await expect(patch(folder, 'a b.txt', 'HEAD')).rejects.toMatchObject({ code: 'validation_error' })
  })
})
