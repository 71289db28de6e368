import { existsSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { git, write } from '../workspace/hostile-repository-under-test.ts'
import { createHome } from './program-under-test.ts'

it('run --worktree works on a new branch, and worktrees lists, removes and restores it', async () => {
  await using home = createHome()
  const app = join(realpathSync(home.folder), 'app')
  mkdirSync(app)
  git(app, 'init', '-q', '-b', 'trunk')
  write(app, { 'a.txt': 'a\n' })
  git(app, 'add', '-A')
  git(app, 'commit', '-qm', 'first')
  const wrong = await home.run(['run', 'demo', 'help', '--cwd', app, '--branch', 'x'])
  expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('add --worktree') })
  const ran = await home.run(['run', 'demo', 'help', '--cwd', app, '--worktree', '--json'])
  expect(ran.exitCode).toBe(0)
  const events = ran.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const { sessionId, worktree } = events[0]
  expect(worktree).toMatchObject({ branch: 'parley/help', from: 'trunk', source: app })
  expect(git(worktree.path, 'branch', '--show-current').trim()).toBe('parley/help')

  writeFileSync(join(worktree.path, 'b.txt'), 'b\n')
  const listed = await home.run(['worktrees'])
  expect(listed.stdout).toMatch(/^\S+ \S+ +parley\/help +help +1 change +app-ses_\w+$/m)
  const gentle = await home.run(['worktrees', 'remove', 'last', '--if-nothing-lost'])
  expect(gentle).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('nowhere else') })
  const removed = await home.run(['worktrees', 'remove', sessionId, '--delete-branch'])
  expect(removed.stderr).toContain(`worktrees restore ${sessionId}`)
  expect(existsSync(worktree.path)).toBe(false)
  const restored = await home.run(['worktrees', 'restore', 'last', '--json'])
  expect(JSON.parse(restored.stdout)).toMatchObject({ sessionId, worktree: { phase: 'ready' } })
  expect(readdirSync(worktree.path).toSorted()).toEqual(['.git', 'a.txt', 'b.txt'])
  expect(await home.run(['worktrees', 'remove', 'nothing'])).toMatchObject({ exitCode: 1 })
  const again = await home.run(['worktrees', 'remove', 'last', '--json'])
  expect(JSON.parse(again.stdout)).toMatchObject({ sessionId, worktree: { phase: 'removed' } })
})

it('worktrees fill checks out the empty submodules of a worktree, once its folder is trusted', async () => {
  await using home = createHome()
  const [app, lib] = ['app', 'lib'].map((name) => join(realpathSync(home.folder), name)) as [string, string]
  for (const folder of [lib, app]) {
    mkdirSync(folder)
    git(folder, 'init', '-q', '-b', 'main')
    write(folder, { 'a.txt': 'a\n' })
    git(folder, 'add', '-A')
    git(folder, 'commit', '-qm', 'first')
  }
  git(app, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', lib, 'lib')
  git(app, 'commit', '-qm', 'submodule')
  write(home.folder, { '.gitconfig': '[protocol "file"]\n\tallow = always\n' })
  const ran = await home.run(['run', 'demo', 'help', '--cwd', app, '--worktree', '--json'])
  const { path } = JSON.parse(ran.stdout.split('\n')[0] ?? '').worktree
  const refused = await home.run(['worktrees', 'fill', 'last'])
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('trust') })
  expect(readdirSync(join(path, 'lib'))).toEqual([])
  await home.run(['trust', app])
  const filled = await home.run(['worktrees', 'fill', 'last', '--json'])
  expect(JSON.parse(filled.stdout)).toMatchObject({ type: 'worktree.filled', submodules: ['lib'] })
  expect(readdirSync(join(path, 'lib'))).toContain('a.txt')
  const again = await home.run(['worktrees', 'fill', 'last'])
  expect(again).toMatchObject({ exitCode: 0, stderr: 'No submodule is empty.\n' })
})
