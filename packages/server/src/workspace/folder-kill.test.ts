import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { git, write } from './hostile-repository-under-test.ts'
import { KilledProgram, killSeed } from './kill-under-test.ts'
import { createSessionFolder } from './session-folder.ts'
import { createWorktrees } from './worktrees.ts'

const kills = Number(process.env.PARLEY_FOLDER_KILLS ?? 8)
const names = Array.from({ length: 60 }, (_, index) => `file${index}.txt`)
const files = (text: string) =>
  Object.fromEntries(names.map((name) => [name, `${text} ${name}\n`.repeat(200)]))

it(`after a kill at any moment, a snapshot and a restoration succeed, and no partial file is left (seed ${killSeed})`, async () => {
  const [root, folder] = [folderForTest(), folderForTest()]
  git(folder, 'init', '-q', '-b', 'main')
  write(folder, files('one'))
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'one')
  const shadows = createSessionFolder({ env: process.env, root })
  const take = async () => (await shadows.snapshot(folder, { sessionId: 'ses_1' })).tree
  const one = await take()
  write(folder, files('two'))
  const two = await take()
  expect(one).not.toBe(two)
  const killed = new KilledProgram({
    program: './folder-kill-under-test.ts',
    folders: [folder],
    whole: 'again',
  })
  for (let kill = 0; kill <= kills; kill++) {
    const said = await killed.run([root, folder, one, two], kill % 2 === 0 ? 'git' : undefined)
    // The restoration that was killed is repeated.
    const [from, tree, text] = said.endsWith('to one\n') ? [two, one, 'one'] : [one, two, 'two']
    const restored = await shadows.move(folder, { sessionId: 'ses_1', from, to: tree, again: true })
    expect(restored).toMatchObject({ before: from, after: tree, count: names.length, left: [] })
    for (const [name, content] of Object.entries(files(text)))
      expect(readFileSync(join(folder, name), 'utf8')).toBe(content)
    expect(await take()).toBe(tree)
  }
  const [shadow = ''] = readdirSync(root)
  const left = readdirSync(join(root, shadow), { recursive: true }).map(String)
  expect(left.filter((path) => /(^|\/)work-|\.lock$/.test(path))).toEqual([])
  const kept = left.filter((path) => /^refs\/snapshots\/.*\/[0-9a-f]{40}$/.test(path))
  for (const ref of kept) execFileSync('git', ['rev-list', '--objects', ref], { cwd: join(root, shadow) })
  expect(kept.length).toBeGreaterThan(1)
  expect(
    git(folder, 'status', '--porcelain')
      .split('\n')
      .filter((line) => line.startsWith('??')),
  ).toEqual([])
  expect(git(folder, 'fsck').trim()).toBe('')
})

it(`after a kill at any moment, a worktree can be made and removed, and nothing partial is left (seed ${killSeed})`, async () => {
  const [root, shadows, source] = [join(folderForTest(), 'worktrees'), folderForTest(), folderForTest()]
  git(source, 'init', '-q', '-b', 'main')
  write(source, files('one'))
  git(source, 'add', '-A')
  git(source, 'commit', '-qm', 'one')
  const worktrees = createWorktrees({ env: process.env, root })
  const project = join(source, '.git')
  const asked = { project, sessionId: 'ses_1', words: 'work', wanted: { copy: [] } }
  const { worktree } = await worktrees.plan(source, asked)
  const { signal } = new AbortController()
  const killed = new KilledProgram({
    program: './worktree-kill-under-test.ts',
    folders: [source],
    whole: 'again',
  })
  for (let kill = 0; kill <= kills; kill++) {
    await killed.run([root, shadows, JSON.stringify(worktree)], kill % 3 === 0 ? 'git' : undefined)
    if (kill % 2 === 0) {
      await worktrees.make(worktree, { trusted: false, signal })
      expect(git(worktree.path, 'status', '--porcelain', '--branch').trim()).toBe('## parley/work')
      expect(git(source, 'worktree', 'list').trim().split('\n')).toHaveLength(2)
    }
    await worktrees.remove(worktree, { branch: 'delete', head: worktree.base })
    expect(readdirSync(root)).toEqual([])
    expect(git(source, 'worktree', 'list', '--porcelain')).not.toContain('parley/work')
    expect(git(source, 'branch', '--format=%(refname:short)').trim()).toBe('main')
    expect(existsSync(join(project, 'worktrees')) ? readdirSync(join(project, 'worktrees')) : []).toEqual([])
  }
  expect(git(source, 'fsck').trim()).toBe('')
  expect(git(source, 'status', '--porcelain')).toBe('')
})
