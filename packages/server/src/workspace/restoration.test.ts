import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { git, write } from './hostile-repository-under-test.ts'
import { restoreTo } from './restore-under-test.ts'
import { createSessionFolder } from './session-folder.ts'

const sessionId = 'ses_1'

async function world(files: Record<string, string>) {
  const folder = folderForTest()
  git(folder, 'init', '-q', '-b', 'main', '--template=')
  write(folder, files)
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
  const folders = createSessionFolder({ env: process.env, root: folderForTest() })
  const { tree } = await folders.snapshot(folder, { sessionId })
  const read = (path: string) => readFileSync(join(folder, path), 'utf8')
  return { folder, folders, tree, read }
}

it('a restoration names the paths that it cannot restore, and restores the others', async () => {
  const { folder, folders, tree, read } = await world({
    'a.txt': 'one\n',
    'gone.txt': 'kept nowhere\n',
    dir: 'a file\n',
    'mine.txt': 'before\n',
  })
  const blob = git(folder, 'rev-parse', 'HEAD:gone.txt').trim()
  rmSync(join(folder, 'dir'))
  mkdirSync(join(folder, 'dir'))
  write(folder, {
    '.gitignore': '*.log\nmine.txt\n',
    'a.txt': 'two\n',
    'gone.txt': 'two\n',
    'dir/x.log': 'log\n',
  })
  git(folder, 'rm', '-q', '--cached', 'mine.txt')
  writeFileSync(join(folder, 'mine.txt'), 'mine\n')
  rmSync(join(folder, '.git/objects', blob.slice(0, 2), blob.slice(2)))
  const paths = ['a.txt', 'gone.txt', 'dir', 'mine.txt']
  const { count, left } = await restoreTo(folders, folder, { tree, paths })
  const reasons = Object.fromEntries(left.map(({ path, reason }) => [path, reason]))
  expect({ count, reasons }).toEqual({
    count: 1,
    reasons: { 'gone.txt': 'not-stored', dir: 'in-the-way', 'mine.txt': 'in-the-way' },
  })
  expect([read('a.txt'), read('gone.txt'), read('dir/x.log'), read('mine.txt')]).toEqual([
    'one\n',
    'two\n',
    'log\n',
    'mine\n',
  ])
})

it('a restoration leaves a file alone if it changes after the plan, even in a subfolder of the repository', async () => {
  const { folder, folders, read } = await world({ 'sub/a.txt': 'a\n', 'sub/b.txt': 'b\n', 'c.txt': 'c\n' })
  const sub = join(folder, 'sub')
  const { tree } = await folders.snapshot(sub, { sessionId })
  write(folder, { 'sub/a.txt': 'A\n', 'sub/b.txt': 'B\n', 'c.txt': 'C\n' })
  const { now, files } = await folders.compare(sub, { sessionId, trees: [tree] })
  expect(files.map(({ path }) => path)).toEqual(['a.txt', 'b.txt'])
  const planned = await folders.plan(sub, { sessionId, now: now.tree, tree, paths: ['a.txt', 'b.txt'] })
  write(folder, { 'sub/b.txt': 'edited\n' })
  const moved = await folders.move(sub, { sessionId, from: now.tree, to: planned.tree })
  expect(moved).toMatchObject({ count: 1, left: [{ path: 'b.txt', reason: 'changed-since' }] })
  expect([read('sub/a.txt'), read('sub/b.txt'), read('c.txt')]).toEqual(['a\n', 'edited\n', 'C\n'])
  await folders.move(sub, { sessionId, from: moved.after, to: moved.before })
  expect([read('sub/a.txt'), read('sub/b.txt')]).toEqual(['A\n', 'edited\n'])
})
