import { mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { git, write } from '../workspace/hostile-repository-under-test.ts'
import { createHome } from './program-under-test.ts'

it('changes, discard, commit, push and pr work on the folder of a session', async () => {
  await using home = createHome()
  const app = join(realpathSync(home.folder), 'app')
  const remote = join(realpathSync(home.folder), 'remote.git')
  mkdirSync(app)
  git(app, 'init', '-q', '-b', 'main')
  git(app, 'config', 'user.name', 'Ada')
  git(app, 'config', 'user.email', 'ada@example.com')
  write(app, { 'a.txt': 'one\n', 'b.txt': 'one\n' })
  git(app, 'add', '-A')
  git(app, 'commit', '-qm', 'first')
  git(app, 'clone', '-q', '--bare', app, remote)
  git(app, 'remote', 'add', 'origin', remote)
  git(app, 'checkout', '-qb', 'fix')
  await home.run(['run', 'demo', 'help', '--cwd', app, '--title', 'Fix the parser'])
  write(app, { 'a.txt': 'two\n', 'b.txt': 'two\n' })

  expect((await home.run(['changes', 'last'])).stdout).toMatch(/^modified +1 +1 +a\.txt$/m)
  const discarded = JSON.parse((await home.run(['discard', 'last', 'b.txt', '--json'])).stdout)
  expect(readFileSync(join(app, 'b.txt'), 'utf8')).toBe('one\n')
  expect((await home.run(['discard', 'last', '--undo', String(discarded.seq)])).exitCode).toBe(0)
  expect(readFileSync(join(app, 'b.txt'), 'utf8')).toBe('two\n')
  expect(await home.run(['commit', 'last', 'c.txt'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('c.txt has not changed'),
  })
  expect((await home.run(['commit', 'last', 'a.txt', '-m', 'Change a'])).stdout).toMatch(
    / on fix: Change a$/m,
  )
  const suggested = JSON.parse((await home.run(['commit', 'last', '--suggest', '--json'])).stdout)
  expect(suggested).toMatchObject({
    by: 'agent',
    message: expect.stringMatching(/^Show what a commit message looks like\n\n/),
  })
  expect((await home.run(['changes', 'last'])).stdout).toMatch(/b\.txt/)
  const committed = JSON.parse((await home.run(['commit', 'last', '--json'])).stdout)
  expect(committed).toMatchObject({ type: 'changes.committed', files: 1, branch: 'fix' })
  expect(git(app, 'log', '--format=%an %s', 'main..')).toBe('Ada Fix the parser\nAda Change a\n')

  expect(await home.run(['push', 'last'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('not trusted'),
  })
  await home.run(['trust', app])
  expect((await home.run(['push', 'last'])).stdout).toMatch(/^fix \(\w{8}\) is at origin\.$/m)
  expect(JSON.parse((await home.run(['push', 'last', '--json'])).stdout)).toMatchObject({
    type: 'branch.pushed',
    commit: committed.commit,
  })
  expect(git(remote, 'log', '-1', '--format=%s', 'fix')).toBe('Fix the parser\n')
  expect((await home.run(['pr', 'last'])).stdout).toBe('There is no pull request.\n')

  const preview = await home.run(['merge', 'last', '--preview'])
  expect(preview.stdout).toContain('fix into main: 2 commits, 2 files\n')
  expect(preview.stdout).toMatch(/^The merge is a fast-forward\.$/m)
  const merged = JSON.parse((await home.run(['merge', 'last', '--squash', '--json'])).stdout)
  expect(merged).toMatchObject({ type: 'branch.merged', into: 'main', way: 'squash', commits: 2 })
  expect(git(app, 'log', '-1', '--format=%an %B', 'main').trim()).toBe(
    'Ada Fix the parser\n\n* Change a\n* Fix the parser',
  )
  expect(await home.run(['merge', 'last', '--squash'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('has all changes of fix already'),
  })
})
