import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createWorktrees } from '../packages/server/src/workspace/worktrees.ts'
import { type Figure, milliseconds } from './lib/figure.ts'
import { compare, inTurns } from './lib/stats.ts'

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@example.com', ...args], {
    cwd,
    stdio: 'pipe',
  })

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

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const filesInFolder = 100
const lineBytes = 64

/** A repository of files of about 5 KB, in one commit. */
function fillRepository(folder: string, files: number): void {
  for (let index = 0; index < files; index++) {
    const place = join(folder, `part${Math.floor(index / filesInFolder)}`)
    if (index % filesInFolder === 0) mkdirSync(place, { recursive: true })
    const lines = Array.from({ length: 80 }, (_, line) => `${index} ${line} `.padEnd(lineBytes, 'abcdef '))
    writeFileSync(join(place, `file${index % filesInFolder}.txt`), lines.join('\n'))
  }
  git(folder, 'init', '-q', '-b', 'main')
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
}
