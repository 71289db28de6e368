import { realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createWorktrees } from '../packages/server/src/workspace/worktrees.ts'
import { type Figure, milliseconds } from './lib/figure.ts'
import { fillRepository, git } from './lib/large-repository.ts'
import { compare, inTurns, timed } from './lib/stats.ts'

/** The time to make a worktree of a large repository, compared with plain `git worktree add`. */
export const worktrees: Figure = {
  name: 'worktrees',
  async measure({ quick, folder }) {
    const files = quick ? 1_000 : 50_000
    const source = join(realpathSync(folder), 'big')
    fillRepository(source, files)
    const root = join(realpathSync(folder), 'worktrees')
    const made = createWorktrees({ env: process.env, root })
    const { signal } = new AbortController()
    const project = join(source, '.git')
    const asked = { project, sessionId: 'ses_1', words: 'bench', wanted: { copy: [] } }
    const ours = async () => {
      const { worktree } = await made.plan(source, asked)
      const took = await timed(() => made.make(worktree, { trusted: false, signal }))
      await made.remove(worktree, { branch: 'delete', head: worktree.base })
      return took
    }
    const bare = async () => {
      const path = join(folder, 'plain')
      const took = await timed(async () => git(source, 'worktree', 'add', '-q', '-b', 'plain', path))
      rmSync(path, { recursive: true })
      git(source, 'worktree', 'prune')
      git(source, 'branch', '-D', 'plain')
      return took
    }
    const pairs = await inTurns(quick ? 3 : 4, ours, bare)
    const result = compare(pairs.slice(1))
    return [
      {
        figure: `worktree of ${files.toLocaleString('en')} files`,
        value: milliseconds(result.ours),
        baseline: milliseconds(result.bare),
        ratio: result.ratio,
        aim: '< 3500 ms',
        met: result.ours < 3_500,
        data: { ours: result.ours, bare: result.bare },
      },
    ]
  },
}
