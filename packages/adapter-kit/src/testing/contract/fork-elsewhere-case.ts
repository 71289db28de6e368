import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '../expect.ts'
import type { Bench } from './bench.ts'
import { type CapabilityCase, refusedCommand } from './capability-case.ts'

/** A fork in a worktree: its agent remembers the conversation, and works in the other folder. */
export const forkElsewhereCase: CapabilityCase<'forkElsewhere'> = {
  title:
    'a fork in a worktree has the files of the session, remembers the conversation, and works in the worktree',
  async shows(bench, { first, second, says, writes }) {
    await withRepository(bench)
    const origin = await bench.session(writes.session)
    await (await origin.prompt(first)).completed()
    writeFileSync(join(bench.folder, 'open.txt'), 'not committed\n')
    const { sessionId = '' } = await origin.command({ type: 'session.fork', worktree: {} })
    writeFileSync(join(bench.folder, 'open.txt'), 'later\n')
    const fork = await bench.follow(sessionId)
    const turn = await fork.prompt(second)
    await turn.completed()
    expect(turn.said).toContain(says)
    const writing = await fork.prompt(writes.prompt)
    await writing.completed()
    const { cwd } = await bench.host.state(sessionId)
    expect(readFileSync(join(cwd, 'open.txt'), 'utf8')).toBe('not committed\n')
    expect(readFileSync(join(cwd, writes.effect.path), 'utf8')).toBe(writes.effect.text)
    expect(existsSync(join(bench.folder, writes.effect.path))).toBe(false)
  },
  refused: (bench) => refusedCommand(bench, { type: 'session.fork', worktree: {} }),
}

/** Makes the folder of the bench a repository, of which the host can make worktrees. */
async function withRepository(bench: Bench): Promise<void> {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@example.com', ...args], {
      cwd: bench.folder,
    })
  git('init', '-q')
  git('commit', '-q', '--allow-empty', '-m', 'first')
  const [shadows, root] = [await bench.temporaryFolder(), await bench.temporaryFolder()]
  await bench.restart({
    sessionFolder: bench.hosts.createSessionFolder(shadows),
    worktrees: bench.hosts.createWorktrees(root),
  })
}
