import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { processesIn } from '../testing/child-processes.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import { git, write } from './hostile-repository-under-test.ts'
import { createSessionFolder } from './session-folder.ts'
import { createWorktrees } from './worktrees.ts'

const kills = Number(process.env.PARLEY_FOLDER_KILLS ?? 8)
const fileHere = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const names = Array.from({ length: 60 }, (_, index) => `file${index}.txt`)
const files = (text: string) =>
  Object.fromEntries(names.map((name) => [name, `${text} ${name}\n`.repeat(200)]))

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    // The process has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * Kills the program at a random moment, and returns its output. With `also`, kills the git process that it started
 * too, which may be writing a file.
 */
async function killAtAnyMoment(
  program: string,
  given: readonly string[],
  folder: string,
  also?: 'git',
): Promise<string> {
  const args = ['--conditions=source', fileHere(program), ...given]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env: process.env })
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  await once(child.stdout, 'data')
  // The kill comes at a random moment; the test does not depend on what has happened by then.
  await setTimeout(Math.random() * 300)
  child.kill('SIGKILL')
  await once(child, 'close')
  if (also) for (const { pid } of processesIn(folder)) kill(pid)
  // A git process that the killed process started continues for a moment.
  await expect.poll(() => processesIn(folder), { timeout: 20_000 }).toEqual([])
  return said
}

it('after a kill at any moment, a snapshot and a restoration succeed, and no partial file is left', async () => {
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
  for (let kill = 0; kill < kills; kill++) {
    const also = kill % 2 === 0 ? 'git' : undefined
    const said = await killAtAnyMoment('./folder-kill-under-test.ts', [root, folder, one, two], folder, also)
    // Repeats the restoration that was interrupted.
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

it('after a kill at any moment, a worktree can be made and removed, and nothing partial is left', async () => {
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
  for (let kill = 0; kill < kills; kill++) {
    const planned = JSON.stringify(worktree)
    await killAtAnyMoment('./worktree-kill-under-test.ts', [root, shadows, planned], source)
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
