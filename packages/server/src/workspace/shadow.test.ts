import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { repository } from './folder-changes-under-test.ts'
import { git } from './hostile-repository-under-test.ts'
import { createSessionFolder } from './session-folder.ts'

it('the snapshots of a session are dropped with it although its folder is gone, as a removed worktree is', async () => {
  const root = folderForTest()
  const { snapshot, forget } = createSessionFolder({ env: { PATH: process.env.PATH }, root })
  const folder = repository({ 'a.txt': 'one\n' })
  const worktree = join(folderForTest(), 'worktree')
  git(folder, 'worktree', 'add', '-q', worktree)
  await snapshot(worktree, { sessionId: 'ses_a' })
  await snapshot(folder, { sessionId: 'ses_b' })
  const [shadow = ''] = readdirSync(root)
  const kept = () => readdirSync(join(root, shadow, 'refs/snapshots')).length
  expect(kept()).toBe(2)
  rmSync(worktree, { recursive: true })
  await forget(worktree, 'ses_a')
  expect([kept(), readdirSync(root)]).toEqual([1, [shadow]])
})
