import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectIdOf } from '@parley/protocol'
import { expect, it } from 'vitest'
import { hostUnderTest } from '../core/host-under-test.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import { createSessionFolder } from '../workspace/session-folder.ts'
import { createWorktrees } from '../workspace/worktrees.ts'
import { sweepWorktrees } from './keep-worktrees.ts'

it('worktrees that were unused for keepDays are removed if nothing would be lost, and no others', async () => {
  const root = join(folderForTest(), 'worktrees')
  mkdirSync(root)
  const worktrees = createWorktrees({ env: process.env, root })
  const sessionFolder = createSessionFolder({ env: process.env, root: folderForTest() })
  await using test = await hostUnderTest({ worktrees, sessionFolder })
  const { host, time } = test
  const cwd = realpathSync(test.cwd)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@example.com', ...args], { cwd })
  git('init', '-q', '-b', 'main')
  writeFileSync(join(cwd, '.gitignore'), 'out/\n*.log\n')
  git('add', '-A')
  git('commit', '-qm', 'first')
  const made = async (title: string, file?: string) => {
    const session = await test.create({ cwd, title, worktree: {} })
    const { worktree } = await session.when((state) => state.worktree?.phase === 'ready')
    const path = worktree?.path ?? ''
    mkdirSync(join(path, 'out'))
    writeFileSync(join(path, 'out/built.js'), 'x\n')
    if (file !== undefined) writeFileSync(join(path, file), 'x\n')
    return { path, session }
  }
  const [clean, changed, ignored, pinned] = [
    await made('clean'),
    await made('changed', 'new.txt'),
    await made('ignored', 'notes.log'),
    await made('pinned'),
  ]
  await host.patch(pinned.session.id, { pinned: true })
  const logger = { info: () => undefined, warn: () => undefined }
  const sweep = () => sweepWorktrees({ host, clock: time, logger, isUsed: () => false })
  time.advance(40 * 24 * 60 * 60_000)
  await sweep()
  await host.patchProject(projectIdOf({ project: join(cwd, '.git') }), { keepDays: 30 })
  await made('fresh')
  expect(existsSync(clean.path)).toBe(true)
  await sweep()
  await clean.session.when((state) => state.worktree?.phase === 'removed')
  const all = await host.list({ limit: 10 })
  const kept = all.sessions.filter(({ worktree }) => worktree?.phase === 'ready').map(({ title }) => title)
  expect(kept.toSorted()).toEqual(['changed', 'fresh', 'ignored', 'pinned'])
  expect([changed, ignored, pinned].map(({ path }) => existsSync(path))).toEqual([true, true, true])
})
