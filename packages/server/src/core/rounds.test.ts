import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError, projectIdOf, type Round } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import type { HostUnderTest, SessionUnderTest } from './host-under-test.ts'
import { attemptSessionId, roundIdFrom } from './round-attempts.ts'
import { pathOf, two, withRound, worked } from './rounds-under-test.ts'
import type { Worktrees } from './worktrees.ts'
import { branches, git, reaches, shell, tested, worktreeOf, write } from './worktrees-under-test.ts'

const picks = ({ picked, attempts }: Round) => [picked, ...attempts.map(({ pick }) => pick)]
const settled = (session: SessionUnderTest) =>
  session.when(({ round }) => round?.pick?.state === 'picked' && !round.pick.due)

describe('a round', () => {
  it('gives one prompt to several agents, each in a worktree of its own from the same commit', async () => {
    const { test, repository, round, sessions, shown } = await withRound()
    expect(round).toMatchObject({ title: 'Repair the parser', count: 2, from: 'main', checkable: false })
    expect(round.base).toBe(git(repository, 'rev-parse', 'HEAD'))
    await worked(sessions)
    const states = await Promise.all(sessions.map((session) => session.state()))
    expect(states.map((state) => state.round)).toEqual([
      { id: round.id, attempt: 1, count: 2, workedMs: expect.any(Number) },
      { id: round.id, attempt: 2, count: 2, workedMs: expect.any(Number) },
    ])
    expect(states.map(({ worktree }) => worktree?.branch)).toEqual([
      'parley/repair-the-parser-scripted',
      'parley/repair-the-parser-scripted-2',
    ])
    expect(new Set(states.map(({ worktree }) => worktree?.base))).toEqual(new Set([round.base]))
    for (const { cwd } of states) expect(readFileSync(join(cwd, 'made.txt'), 'utf8')).toBe('x\n')
    expect(existsSync(join(repository, 'made.txt'))).toBe(false)
    const now = await shown()
    expect(now.prompt).toContain('made.txt')
    expect(now.attempts).toMatchObject([
      { attempt: 1, agent: 'scripted', state: 'done', turns: 1 },
      { attempt: 2, model: 'scripted-small', state: 'done', turns: 1 },
    ])
    expect(test.problems).toEqual([])
  })

  it('is made once for a repeated command, from the same commit even if the branch has moved', async () => {
    const commandId = 'cmd_round'
    const { test, repository, round } = await withRound({ commandId, base: 'main' })
    write(repository, { 'b.txt': 'b\n' })
    git(repository, 'add', 'b.txt')
    git(repository, 'commit', '-qm', 'second')
    const asked = {
      ...{ prompt: JSON.stringify([shell('made.txt')]), cwd: repository, title: 'Repair the parser' },
      ...{ attempts: two, commandId, base: 'main' },
    }
    // This is the state after a kill before the second attempt was made.
    await test.host.delete(attemptSessionId({ id: round.id, attempt: 2 }))
    const again = await test.host.createRound(asked)
    expect(again.id).toBe(round.id)
    expect(again.attempts.map(({ sessionId }) => sessionId)).toEqual(
      round.attempts.map(({ sessionId }) => sessionId),
    )
    const bases = await Promise.all(
      again.attempts.map(async ({ sessionId }) => (await test.host.state(sessionId)).worktree?.base),
    )
    expect(bases).toEqual([round.base, round.base])
    await test.host.delete(attemptSessionId({ id: round.id, attempt: 1 }))
    await expect(test.host.createRound({ ...asked, title: 'Other' })).rejects.toMatchObject({
      code: 'conflict',
    })
    expect((await test.host.round(round.id)).attempts.map(({ attempt }) => attempt)).toEqual([2])
  })

  it('that was made in part is named, and completed by the same request', async () => {
    let isFull = true
    const wrap = (worktrees: Worktrees): Worktrees => ({
      ...worktrees,
      async plan(folder, asked) {
        if (isFull && asked.suffix === 'scripted-2')
          throw new ParleyError('not_supported', 'The disk is full.')
        return worktrees.plan(folder, asked)
      },
    })
    const { test, repository } = await tested({ wrap })
    const [commandId, prompt] = ['cmd_part', JSON.stringify([shell('made.txt')])]
    const asked = { prompt, cwd: repository, attempts: two, commandId }
    const id = roundIdFrom(commandId)
    const inPart = { code: 'not_supported', details: { round: id } }
    await expect(test.host.createRound(asked)).rejects.toMatchObject(inPart)
    expect((await test.host.round(id)).attempts).toHaveLength(1)
    isFull = false
    expect((await test.host.createRound(asked)).attempts).toHaveLength(2)
  })

  it('is not made at all if an attempt asks for what its agent cannot do, or if the folder has no repository', async () => {
    const { test, repository } = await tested()
    const asked = { prompt: 'x', cwd: repository }
    const wrong = [
      { ...asked, attempts: [{ agent: 'scripted' }, { agent: 'none' }] },
      { ...asked, attempts: [{ agent: 'scripted' }, { agent: 'scripted', options: { maxTurns: 1 } }] },
      { ...asked, attempts: two, base: 'none' },
      { prompt: 'x', attempts: two, cwd: test.cwd.replace(/[^/]+$/, '') },
      { prompt: 'x', attempts: two, project: projectIdOf({ project: '/none/.git' }) },
      { prompt: 'x', attempts: two },
      { ...asked, attempts: [{ agent: 'scripted' }] },
    ]
    for (const one of wrong) await expect(test.host.createRound(one)).rejects.toThrow()
    await expect(test.host.createRound(wrong[3]!)).rejects.toMatchObject({ code: 'not_supported' })
    expect((await test.host.list({ limit: 10 })).sessions).toEqual([])
    expect(branches(repository)).toEqual(['main'])
  })

  it('lets one attempt fail alone, and reports why', async () => {
    const commandId = 'cmd_fails'
    const failing = attemptSessionId({ id: roundIdFrom(commandId), attempt: 2 })
    const setup = `case "$PARLEY_WORKTREE" in *${failing}) exit 3;; esac`
    const { sessions, shown } = await withRound({ commandId }, { settings: { setup } })
    const [one, other] = sessions as [SessionUnderTest, SessionUnderTest]
    await worked([one])
    await reaches(other, 'failed')
    expect((await shown()).attempts).toMatchObject([
      { state: 'done' },
      { state: 'failed', failure: { code: 'conflict' }, worktree: { phase: 'failed' }, turns: 0 },
    ])
    await expect(other.command({ type: 'attempt.pick' })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('is listed once, where its latest session is, without attempts that are forks or that were deleted', async () => {
    const { test, repository, round, sessions } = await withRound()
    await worked(sessions)
    const other = await test.host.createRound({ prompt: '[]', cwd: repository, attempts: two })
    const { sessionId: fork = '' } = await sessions[0]!.command({ type: 'session.fork' })
    expect((await test.host.state(fork)).round).toBeUndefined()
    const page = await test.host.rounds({ limit: 1 })
    const rest = await test.host.rounds({ limit: 1, cursor: page.cursor ?? '' })
    expect([...page.rounds, ...rest.rounds].map(({ id }) => id).toSorted()).toEqual(
      [round.id, other.id].toSorted(),
    )
    expect((await test.host.rounds({ limit: 1, cursor: rest.cursor ?? '' })).rounds).toEqual([])
    await test.host.delete(sessions[0]!.id)
    expect((await test.host.round(round.id)).attempts.map(({ attempt }) => attempt)).toEqual([2])
    await test.host.delete(sessions[1]!.id)
    await expect(test.host.round(round.id)).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('a pick', () => {
  it('removes the worktrees of the other attempts, and can be changed', async () => {
    const { test, round, sessions, shown, repository } = await withRound()
    const [one, other] = sessions as [SessionUnderTest, SessionUnderTest]
    await worked(sessions)
    await one.command({ type: 'attempt.pick' })
    await reaches(other, 'removed')
    await settled(one)
    expect(picks(await shown())).toEqual([1, 'picked', 'passed-over'])
    expect(existsSync(await pathOf(other))).toBe(false)
    expect(branches(repository)).toContain('parley/repair-the-parser-scripted-2')
    const { seq } = await one.state()
    await one.command({ type: 'attempt.pick' })
    expect((await one.state()).seq).toBe(seq)

    await other.command({ type: 'attempt.pick' })
    await reaches(other, 'ready')
    await reaches(one, 'removed')
    await settled(other)
    expect(picks(await shown())).toEqual([2, 'passed-over', 'picked'])
    expect(readFileSync(join(await pathOf(other), 'made.txt'), 'utf8')).toBe('x\n')
    expect(await other.events('attempt.picked')).toMatchObject([{ round: round.id, number: 2 }])
    expect(test.problems).toEqual([])
  })

  it('stops the other attempts, and pauses their queue', async () => {
    const { sessions } = await withRound({ script: [shell('made.txt'), { type: 'wait', gate: 'go' }] })
    const [one, other] = sessions as [SessionUnderTest, SessionUnderTest]
    await other.when(({ turn }) => turn !== undefined)
    await other.submit(shell('later.txt'))
    await one.command({ type: 'attempt.pick' })
    const { queue, lastTurn } = await other.when(({ turn }) => !turn)
    expect(lastTurn?.outcome).toBe('cancelled')
    expect(queue).toMatchObject([{ paused: true }])
    await reaches(other, 'removed')
    await expect(other.submit(shell('later.txt'))).rejects.toMatchObject({ code: 'conflict' })
  })

  it('cancels a worktree that is still being made', async () => {
    const { sessions, root } = await withRound({}, { settings: { setup: 'sleep 60' } })
    const [one, other] = sessions as [SessionUnderTest, SessionUnderTest]
    await reaches(other, 'preparing')
    await one.command({ type: 'attempt.pick' })
    await reaches(other, 'removed')
    expect(existsSync(join(root, await pathOf(other)))).toBe(false)
  })

  it('keeps a worktree with files that no snapshot has, and one in which other sessions work', async () => {
    const three = [...two, { agent: 'scripted' }]
    const { sessions, shown } = await withRound({ attempts: three })
    const [one, ignored, forked] = sessions as [SessionUnderTest, SessionUnderTest, SessionUnderTest]
    await worked(sessions)
    writeFileSync(join(await pathOf(ignored), 'secret.key'), 'only here\n')
    const { sessionId: fork = '' } = await forked.command({ type: 'session.fork' })
    await one.command({ type: 'attempt.pick' })
    await settled(one)
    await ignored.when(({ worktree }) => worktree?.kept !== undefined)
    await forked.when(({ worktree }) => worktree?.kept !== undefined)
    expect((await worktreeOf(ignored))?.kept).toEqual({ ignoredFiles: 1 })
    expect((await worktreeOf(forked))?.kept).toEqual({ sessions: [fork] })
    expect((await shown()).attempts.map(({ worktree }) => [worktree?.phase, worktree?.kept])).toEqual([
      ['ready', undefined],
      ['ready', true],
      ['ready', true],
    ])
    // The worktree is not removed later either.
    await ignored.play(shell('more.txt'))
    expect((await worktreeOf(ignored))?.phase).toBe('ready')
  })

  it('refuses to pass an attempt over for a pick that was not made', async () => {
    const { test, sessions } = await withRound()
    const [one, other] = sessions as [SessionUnderTest, SessionUnderTest]
    await worked(sessions)
    const stranger = await test.create()
    for (const by of [one.id, other.id, stranger.id, 'ses_none']) {
      const lie = other.command({ type: 'attempt.pass-over', number: 1, by })
      await expect(lie).rejects.toMatchObject({ code: 'conflict' })
    }
    await expect(stranger.command({ type: 'attempt.pick' })).rejects.toMatchObject({ code: 'conflict' })
    expect((await other.state()).round?.pick).toBeUndefined()
  })

  it('ends with one picked attempt if two are picked at the same time', async () => {
    const { sessions, shown } = await withRound()
    await worked(sessions)
    await Promise.all(sessions.map((session) => session.command({ type: 'attempt.pick' })))
    const isOver = async () => {
      const states = await Promise.all(sessions.map((session) => session.state()))
      return states.map(({ round }) => [round?.pick?.state, round?.pick?.due]).toSorted()
    }
    await expect.poll(isOver, { timeout: 10_000 }).toEqual([
      ['passed-over', false],
      ['picked', false],
    ])
    const { picked, attempts } = await shown()
    expect(attempts.find(({ attempt }) => attempt === picked)?.pick).toBe('picked')
  })

  it('of an attempt that was passed over before keeps its worktree, even while the worktree is being examined for removal', async () => {
    const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const wrap = (worktrees: Worktrees): Worktrees => ({
      ...worktrees,
      async examine(worktree) {
        begun.resolve()
        await released.promise
        return worktrees.examine(worktree)
      },
    })
    const { test, sessions } = await withRound({}, { wrap })
    const [one, other] = sessions as [SessionUnderTest, SessionUnderTest]
    await worked(sessions)
    await one.command({ type: 'attempt.pick' })
    await begun.promise
    await other.command({ type: 'attempt.pick' })
    released.resolve()
    await reaches(one, 'removed')
    await settled(other)
    await test.restart()
    expect((await worktreeOf(other))?.phase).toBe('ready')
    expect(await other.events('worktree.requested')).toEqual([])
  })

  it('can be changed to an attempt whose folder somebody has deleted, and its changes remain known', async () => {
    const { test, repository, round, sessions } = await withRound()
    const [one, other] = sessions as [SessionUnderTest, SessionUnderTest]
    await worked(sessions)
    const path = await pathOf(other)
    git(path, 'add', 'made.txt')
    git(path, 'commit', '-qm', 'made')
    await other.when(({ snapshots }) => snapshots?.turns.at(-1)?.after !== undefined)
    const last = (await other.state()).snapshots?.turns.at(-1)?.after?.tree
    rmSync(path, { recursive: true })
    await one.command({ type: 'attempt.pick' })
    await reaches(other, 'removed')
    expect((await test.host.attemptFiles(round.id))[1]).toMatchObject({
      folder: { path: repository },
      last: { tree: last },
    })
    await other.command({ type: 'attempt.pick' })
    await reaches(other, 'ready')
    expect(git(path, 'log', '-1', '--format=%s')).toBe('made')
  })

  it.each([1, 2, 3, 4, 5])('is completed by a restart after step %i, and so is its change', async (step) => {
    const { test, sessions } = await withRound()
    const [one, other] = sessions as [SessionUnderTest, SessionUnderTest]
    await worked(sessions)
    await killAfter(step, test, () => one.command({ type: 'attempt.pick' }))
    await reaches(other, 'removed')
    await settled(one)
    await killAfter(step, test, () => other.command({ type: 'attempt.pick' }))
    await reaches(one, 'removed')
    await settled(other)
    const { path } = await reaches(other, 'ready')
    expect(readFileSync(join(path, 'made.txt'), 'utf8')).toBe('x\n')
    for (const session of sessions) {
      const types = ['attempt.picked', 'attempt.settled', 'attempt.passed-over', 'worktree.removed'] as const
      for (const type of types) expect(await session.events(type)).toHaveLength(1)
    }
  })
})

/** Does the work, and kills the server when it has stored `steps` steps of a pick. */
async function killAfter(steps: number, test: HostUnderTest, work: () => Promise<unknown>): Promise<void> {
  const { append } = test.store
  let left = steps
  Object.assign(test.store, {
    append: async (batch: Parameters<typeof append>[0]) => {
      const isStep = batch.events.some(({ json }) => /"type":"(attempt|worktree|snapshot)\./.test(json))
      if (isStep && left-- <= 0) return new Promise(() => undefined)
      return append.call(test.store, batch)
    },
  })
  await work()
  await expect.poll(() => left < 0, { timeout: 10_000 }).toBe(true)
  Object.assign(test.store, { append })
  await test.killAndRestart()
}
