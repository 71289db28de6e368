import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SessionUnderTest } from './host-under-test.ts'
import { pathOf, withRound, worked } from './rounds-under-test.ts'
import { git, reaches, shell, tested } from './worktrees-under-test.ts'

describe('a check', () => {
  it('runs the command of the project in the worktree, and records how it ended', async () => {
    const { sessions, shown } = await withRound(
      {},
      { settings: { check: 'pwd; cat made.txt; echo failed >&2; exit 3' } },
    )
    const [one] = sessions as [SessionUnderTest]
    await worked(sessions)
    await one.command({ type: 'check.run' })
    const { checks, status } = await one.when((state) => state.checks?.last !== undefined)
    expect(status).toBe('idle')
    expect(checks).toMatchObject({
      last: { exitCode: 3, tail: `${await pathOf(one)}\nx\nfailed\n` },
    })
    expect((await shown()).attempts[0]?.check).toMatchObject({ exitCode: 3 })
    await one.play(shell('more.txt'))
    const outdated = { exitCode: 3, outdated: true }
    expect((await shown()).attempts[0]?.check).toMatchObject(outdated)
    await one.command({ type: 'check.run' })
    await one.when((state) => state.checks?.last?.turns === 2)
    const blob = git(await pathOf(one), 'hash-object', 'more.txt')
    await one.command({ type: 'changes.discard', base: 'HEAD', files: [{ path: 'more.txt', blob }] })
    expect((await shown()).attempts[0]?.check).toMatchObject(outdated)
  })

  it('is refused without a command, in an untrusted folder, and while a turn runs', async () => {
    const { test, repository, set, create } = await tested()
    const session = await create()
    await reaches(session, 'ready')
    const refused = (code: string) =>
      expect(session.command({ type: 'check.run' })).rejects.toMatchObject({ code })
    await refused('not_supported')
    await set({ check: 'touch ran' })
    await refused('conflict')
    await test.host.trust(repository)
    await session.submit({ type: 'wait', gate: 'go' })
    await session.when(({ turn }) => turn !== undefined)
    await refused('conflict')
    expect(existsSync(join(await pathOf(session), 'ran'))).toBe(false)
  })

  it('is ended when it takes too long, and recorded as one that did not end', async () => {
    const { test, repository, create } = await tested({
      settings: { check: 'echo started; (sleep 60; touch late) & wait' },
      limits: { checkMs: 300 },
    })
    await test.host.trust(repository)
    const session = await create()
    await reaches(session, 'ready')
    await session.command({ type: 'check.run' })
    await expect(session.command({ type: 'check.run' })).rejects.toMatchObject({ code: 'conflict' })
    const { checks } = await session.when((state) => state.checks?.last !== undefined)
    expect(checks?.last).toMatchObject({ tail: 'started\n', error: { code: 'busy' } })
    expect(checks?.last?.exitCode).toBeUndefined()
  })

  it('is recorded as one that did not end if the server ends, and can be run again', async () => {
    const { test, repository, create, set } = await tested({ settings: { check: 'sleep 60' } })
    await test.host.trust(repository)
    const session = await create()
    await reaches(session, 'ready')
    await session.command({ type: 'check.run' })
    await session.when(({ checks }) => checks?.running !== undefined)
    await test.killAndRestart()
    const { checks } = await session.when((state) => state.checks?.last !== undefined)
    expect(checks).toMatchObject({ last: { command: 'sleep 60', error: { code: 'cancelled' } } })
    await set({ check: 'sleep 61' })
    await session.command({ type: 'check.run' })
    await session.command({ type: 'check.stop' })
    const after = await session.state()
    expect(after.checks).toMatchObject({ last: { command: 'sleep 61', error: { code: 'cancelled' } } })
    await set({ check: 'echo fine' })
    await session.command({ type: 'check.run' })
    await session.when((state) => state.checks?.last?.exitCode === 0)
  })
})
