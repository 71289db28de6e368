import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { createSessionFolder } from '../workspace/session-folder.ts'
import { createWorktrees } from '../workspace/worktrees.ts'
import { hostUnderTest, SessionUnderTest } from './host-under-test.ts'

function git(folder: string, ...args: string[]): string {
  const who = ['-c', 'user.name=p', '-c', 'user.email=p@example.com']
  return execFileSync('git', [...who, ...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trim()
}

const write = (folder: string, name: string, text: string) => writeFileSync(join(folder, name), text)
const read = (folder: string, name: string) => readFileSync(join(folder, name), 'utf8')
const shell = (path: string, text: string) =>
  ({ type: 'tool', name: 'Bash', kind: 'execute', effect: { writeFile: { path, text } } }) as const

/** A host with a session in a repository of one commit, whose turns have snapshots. */
async function tested() {
  const root = join(folderForTest(), 'worktrees')
  mkdirSync(root)
  const test = await hostUnderTest({
    sessionFolder: createSessionFolder({ env: process.env, root: folderForTest() }),
    worktrees: createWorktrees({ env: process.env, root }),
  })
  onTestFinished(() => test[Symbol.asyncDispose]())
  const folder = realpathSync(test.cwd)
  git(folder, 'init', '-q', '-b', 'main')
  write(folder, 'a.txt', 'one\n')
  write(folder, '.gitignore', '.env\n')
  git(folder, 'add', '-A')
  git(folder, 'commit', '-qm', 'first')
  const session = await test.create()
  let turns = 0
  /** Plays a turn that begins after its first snapshot. Returns the prompt. */
  const turn = async (of: SessionUnderTest, ...steps: object[]) => {
    const gate = `turn ${turns++}`
    const text = JSON.stringify([{ type: 'wait', gate }, ...steps])
    const taken = async (when: string) => {
      const { turn, lastTurn, snapshots } = await of.state()
      const turnId = (turn ?? lastTurn)?.turnId
      return snapshots?.turns.some((one) => one.turnId === turnId && one[when as 'before']) ?? false
    }
    const { promptId = '' } = await of.command({ type: 'prompt.submit', text })
    await of.when((state) => state.turn !== undefined)
    await expect.poll(() => taken('before'), { timeout: 20_000 }).toBe(true)
    test.gates.open(gate)
    await of.idle()
    await expect.poll(() => taken('after'), { timeout: 20_000 }).toBe(true)
    return promptId
  }
  const forked = async (of: SessionUnderTest, fields: object) => {
    const { sessionId = '' } = await of.command({ type: 'session.fork', worktree: {}, ...fields })
    const fork = new SessionUnderTest(() => test.host, sessionId)
    await fork.when(({ worktree }) => worktree?.phase === 'ready' || worktree?.failure !== undefined)
    const { worktree, cwd } = await fork.state()
    if (!worktree) throw new Error('The fork has no worktree.')
    return { fork, worktree, cwd }
  }
  return { test, folder, session, turn, forked }
}

describe('a fork in a worktree', () => {
  it('before a prompt has the commit and the files of that moment, and leaves the folder of the original alone', async () => {
    const { test, folder, session, turn, forked } = await tested()
    write(folder, '.env', 'KEY=1\n')
    await test.store.setProjectSettings([
      { project: join(folder, '.git'), field: 'copy', value: ['.env'], at: 0 },
    ])
    await turn(session, shell('a.txt', 'two\n'), shell('new.txt', 'new\n'))
    const first = git(folder, 'rev-parse', 'HEAD')
    const before = await turn(session, shell('a.txt', 'three\n'))
    git(folder, 'commit', '-qam', 'second')
    write(folder, 'new.txt', 'by hand\n')
    const { fork, worktree, cwd } = await forked(session, { before, title: 'Other way' })
    expect(worktree).toMatchObject({
      branch: 'parley/other-way',
      base: first,
      source: folder,
      copy: ['.env'],
    })
    expect(worktree.from).toBeUndefined()
    expect([cwd, git(cwd, 'rev-parse', 'HEAD'), git(cwd, 'status', '--porcelain')]).toEqual([
      ...[worktree.path, first, 'M a.txt\n?? new.txt'],
    ])
    expect([read(cwd, 'a.txt'), read(cwd, 'new.txt'), read(cwd, '.env')]).toEqual([
      ...['one\ntwo\n', 'new\n', 'KEY=1\n'],
    ])
    expect([read(folder, 'a.txt'), read(folder, 'new.txt')]).toEqual(['one\ntwo\nthree\n', 'by hand\n'])
    await turn(fork, shell('a.txt', 'other\n'))
    expect([read(cwd, 'a.txt'), read(folder, 'a.txt')]).toEqual([
      ...['one\ntwo\nother\n', 'one\ntwo\nthree\n'],
    ])
    expect(test.connections.at(-1)?.input.cwd).toBe(cwd)
    expect(test.problems).toEqual([])
  })

  it('at the end has the files as they are now, even if the original works in a worktree, and continues after a restart', async () => {
    const { test, folder, session, forked } = await tested()
    write(folder, 'a.txt', 'open\n')
    const first = await forked(session, {})
    write(first.cwd, 'b.txt', 'from the first\n')
    await test.host.trust(folder)
    const { sessionId = '' } = await first.fork.command({
      type: 'session.fork',
      worktree: { branch: 'again' },
    })
    await test.restart()
    const second = new SessionUnderTest(() => test.host, sessionId)
    await second.when(({ worktree }) => worktree?.phase === 'ready')
    const { cwd, worktree } = await second.state()
    expect(worktree).toMatchObject({ branch: 'again', source: folder })
    expect([read(cwd, 'a.txt'), read(cwd, 'b.txt')]).toEqual(['open\n', 'from the first\n'])
    expect((await test.host.detail(sessionId, 0)).trusted).toBe(true)
    expect(existsSync(join(folder, 'b.txt'))).toBe(false)
    await first.fork.command({ type: 'worktree.remove', branch: 'delete' })
    await first.fork.when((state) => state.worktree?.phase === 'removed')
    expect(read(cwd, 'b.txt')).toBe('from the first\n')
    expect(test.problems).toEqual([])
  })

  it('is made once, and is refused without a snapshot, and for a branch that exists', async () => {
    const { test, session, turn, forked } = await tested()
    const before = await turn(session, shell('a.txt', 'two\n'))
    const { worktree } = await forked(session, { before, commandId: 'once' })
    const again = await forked(session, { before, commandId: 'once' })
    expect(again.worktree).toEqual(worktree)
    await expect(
      session.command({ type: 'session.fork', before, worktree: { branch: worktree.branch } }),
    ).rejects.toMatchObject({ code: 'conflict' })
    expect(await session.events('session.forked')).toHaveLength(1)

    const plain = await hostUnderTest()
    onTestFinished(() => plain[Symbol.asyncDispose]())
    const other = await plain.create()
    await expect(other.command({ type: 'session.fork', worktree: {} })).rejects.toMatchObject({
      code: 'not_supported',
    })
    expect(test.problems).toEqual([])
  })
})
