import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSessionFolder } from './session-folder.ts'
import { createWorktrees } from './worktrees.ts'

/**
 * A program that makes a worktree, changes a file in it, removes it and restores it, again and again until it is
 * killed.
 */
const [root = '', shadows = '', planned = ''] = process.argv.slice(2)
const worktree = JSON.parse(planned)
const worktrees = createWorktrees({ env: process.env, root })
const folders = createSessionFolder({ env: process.env, root: shadows })
const { signal } = new AbortController()
process.stdout.write('started\n')
for (;;) {
  await worktrees.make(worktree, { trusted: false, signal })
  writeFileSync(join(worktree.path, 'file0.txt'), 'changed\n')
  const { tree, head } = await folders.snapshot(worktree.path, { sessionId: 'ses_1' })
  await worktrees.remove(worktree, { branch: 'keep' })
  await worktrees.make(worktree, { trusted: false, signal, head, branch: 'keep' })
  await folders.restore(worktree.path, { sessionId: 'ses_1', tree })
  await worktrees.remove(worktree, { branch: 'delete', head })
  process.stdout.write('again\n')
}
