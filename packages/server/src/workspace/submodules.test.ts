import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { peopleIn, person, repository } from './folder-changes-under-test.ts'
import { git, write } from './hostile-repository-under-test.ts'
import { createWorktrees } from './worktrees.ts'

const allowed = ['-c', 'protocol.file.allow=always']

/** A repository with two submodules, and a worktree of it, in which they are empty. */
async function withSubmodules(env: NodeJS.ProcessEnv) {
  const inner = repository({ 'deep.txt': 'deep\n' })
  const library = repository({ 'lib.txt': 'lib\n' })
  git(library, ...allowed, 'submodule', '--quiet', 'add', inner, 'inner')
  git(library, 'commit', '-qm', 'inner')
  const main = repository({ 'a.txt': 'one\n' })
  for (const path of ['lib', 'sub/other lib'])
    git(main, ...allowed, 'submodule', '--quiet', 'add', library, path)
  git(main, 'commit', '-qm', 'submodules')
  const worktrees = createWorktrees({ env, root: folderForTest() })
  const asked = { project: join(main, '.git'), sessionId: 'ses_1', words: 'x', wanted: { copy: [] } }
  const { worktree } = await worktrees.plan(main, asked)
  await worktrees.make(worktree, { trusted: false, signal: new AbortController().signal })
  return { worktree, worktrees, folder: worktree.path }
}

/** A person who permits git to clone submodules from folders. Parley does not change that setting. */
function personWithFiles(): NodeJS.ProcessEnv {
  const env = person()
  const config = '[user]\n\tname = Ada\n\temail = ada@example.com\n[protocol "file"]\n\tallow = always\n'
  write(env.HOME ?? '', { '.gitconfig': config })
  return env
}

it('the empty submodules of a trusted worktree are checked out, and those with files are left alone', async () => {
  const env = personWithFiles()
  const { worktree, worktrees, folder } = await withSubmodules(env)
  expect(await worktrees.emptySubmodules(worktree)).toBe(2)
  await expect(peopleIn(folder, { env }).fill()).rejects.toMatchObject({ code: 'forbidden' })
  expect(existsSync(join(folder, 'lib/lib.txt'))).toBe(false)
  const { fill } = peopleIn(folder, { env, trusted: true })
  expect((await fill()).submodules).toEqual(['lib', 'sub/other lib'])
  expect(readFileSync(join(folder, 'sub/other lib/inner/deep.txt'), 'utf8')).toBe('deep\n')
  expect([await worktrees.emptySubmodules(worktree), git(folder, 'status', '--porcelain')]).toEqual([0, ''])
  git(join(folder, 'lib'), 'commit', '-q', '--allow-empty', '-m', 'own')
  const own = git(join(folder, 'lib'), 'rev-parse', 'HEAD')
  expect(await fill()).toEqual({ submodules: [] })
  expect(git(join(folder, 'lib'), 'rev-parse', 'HEAD')).toBe(own)
  expect((await worktrees.examine(worktree)).loss.leftOut.map(({ path }) => path)).toEqual([
    'lib',
    'sub/other lib',
  ])
}, 60_000)

it('a submodule that an interrupted command has cloned, but not checked out, is checked out by the next one', async () => {
  const env = personWithFiles()
  const { worktree, worktrees, folder } = await withSubmodules(env)
  const { fill } = peopleIn(folder, { env, trusted: true })
  await fill()
  for (const name of readdirSync(join(folder, 'lib')).filter((one) => one !== '.git'))
    rmSync(join(folder, 'lib', name), { recursive: true })
  // An entry that `.gitmodules` does not name, as `git add` makes it for a repository in the folder.
  const commit = git(folder, 'rev-parse', 'HEAD')
  git(folder, 'update-index', '--add', '--cacheinfo', `160000,${commit.trim()},stray`)
  expect(await worktrees.emptySubmodules(worktree)).toBe(1)
  expect((await fill()).submodules).toEqual(['lib'])
  expect(readFileSync(join(folder, 'lib/lib.txt'), 'utf8')).toBe('lib\n')
  expect(readFileSync(join(folder, 'lib/inner/deep.txt'), 'utf8')).toBe('deep\n')
}, 60_000)

it('a submodule in a folder of the machine is cloned only if the person has permitted that', async () => {
  const { worktree, worktrees, folder } = await withSubmodules(person())
  const { fill } = peopleIn(folder, { env: person(), trusted: true })
  await expect(fill()).rejects.toMatchObject({
    code: 'conflict',
    details: { output: expect.stringContaining("'file'") },
  })
  expect(await worktrees.emptySubmodules(worktree)).toBe(2)
}, 60_000)
