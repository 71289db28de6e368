import { execFileSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EventOf } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { createSessionFolder } from '../workspace/session-folder.ts'
import { connectedAs, faultyAgent } from './faulty-agent-under-test.ts'
import {
  type HostUnderTest,
  type HostUnderTestOptions,
  hostUnderTest,
  type SessionUnderTest,
} from './host-under-test.ts'
import type { SessionFolder } from './session-folder.ts'

const write = (path: string, text: string) =>
  ({ type: 'tool', name: 'Bash', kind: 'execute', effect: { writeFile: { path, text } } }) as const

async function tested(options: {
  root?: string
  limits?: { budgetMs: number }
  wrap?: (real: SessionFolder) => SessionFolder
  adapter?: HostUnderTestOptions['adapter']
}) {
  const { root = folderForTest(), limits, wrap = (real) => real, adapter } = options
  const real = createSessionFolder({ env: process.env, root, ...(limits && { limits }) })
  const test = await hostUnderTest({ sessionFolder: wrap(real), ...(adapter && { adapter }) })
  execFileSync('git', ['init', '-q'], { cwd: test.cwd })
  return { test, root }
}

async function taken(session: SessionUnderTest, count: number) {
  const events = () => session.events('snapshot.taken')
  await expect.poll(async () => (await events()).length, { timeout: 20_000 }).toBeGreaterThanOrEqual(count)
  return events()
}

/** A turn that writes a file only after its first snapshot is recorded. */
async function quietTurn({ gates }: HostUnderTest, session: SessionUnderTest, path: string) {
  const before = (await session.events('snapshot.taken')).length
  const playing = session.play({ type: 'wait', gate: path }, write(path, 'x'))
  await taken(session, before + 1)
  gates.open(path)
  await playing
  return taken(session, before + 2)
}

describe('a turn', () => {
  it('has a snapshot before and after it, and the state keeps those of the first turn and of the last turns', async () => {
    const { test } = await tested({})
    await using _ = test
    const session = await test.create()
    const all: EventOf<'snapshot.taken'>[] = []
    for (const path of ['a', 'b', 'c', 'd', 'e']) {
      all.splice(0, all.length, ...(await quietTurn(test, session, path)))
    }
    expect(all.map(({ when, late }) => [when, late])).toEqual(
      Array.from({ length: 5 }, () => [
        ['before', undefined],
        ['after', undefined],
      ]).flat(),
    )
    const turns = (await session.events('turn.ended')).map(({ turnId }) => turnId)
    expect(all.map(({ turnId }) => turnId)).toEqual(turns.flatMap((turnId) => [turnId, turnId]))
    expect(all[0]?.tree).not.toBe(all[1]?.tree)
    expect(all[1]?.tree).toBe(all[2]?.tree)
    expect(all.map(({ changed }) => changed?.added)).toEqual([undefined, 1, 1, 2, 2, 3, 3, 4, 4, 5])
    expect(all.at(-1)?.changed).toEqual({ files: 5, added: 5, removed: 0 })
    const listed = async () => (await test.host.list({ limit: 1 })).sessions[0]?.changed
    await expect.poll(listed).toEqual({ files: 5, added: 5, removed: 0 })
    const { snapshots } = await session.state()
    expect(snapshots?.first).toMatchObject({ tree: all[0]?.tree, seq: all[0]?.seq })
    expect(snapshots?.turns.map(({ turnId }) => turnId)).toEqual(turns.slice(-4))
    expect(test.problems).toEqual([])
  })

  it('with which a session is created has a snapshot before it too', async () => {
    const { test } = await tested({})
    await using _ = test
    const session = await test.create({
      prompt: JSON.stringify([{ type: 'wait', gate: 'g' }, write('a', 'x')]),
    })
    const [before] = await taken(session, 1)
    test.gates.open('g')
    const [, after] = await taken(session, 2)
    expect([before?.when, before?.late, after?.when]).toEqual(['before', undefined, 'after'])
    expect(before?.tree).not.toBe(after?.tree)
  })

  it('never waits for its snapshots, which are late if a call that writes began first', async () => {
    const held = Promise.withResolvers<void>()
    const { test } = await tested({
      wrap: (real) => ({ ...real, snapshot: (...given) => held.promise.then(() => real.snapshot(...given)) }),
    })
    await using _ = test
    const session = await test.create()
    await session.play(write('a', 'x'))
    await session.play({ type: 'tool', name: 'Read', kind: 'read' })
    expect(await session.events('snapshot.taken')).toEqual([])
    held.resolve()
    const events = await taken(session, 4)
    const [first] = await session.events('turn.ended')
    const lateness = events.map(({ when, late = false, turnId }) => [turnId === first?.turnId, when, late])
    expect(lateness.toSorted()).toEqual([
      [false, 'after', false],
      [false, 'before', false],
      [true, 'after', false],
      [true, 'before', true],
    ])
  })

  it('that the agent starts by itself has snapshots too', async () => {
    const agent = faultyAgent((connection) => ({
      async send() {
        connection.say(connectedAs('odd'))
        connection.endTurn()
      },
    }))
    const adapter: typeof agent.adapter = (scripted) => ({ ...agent.adapter(scripted), endsOwnTurns: true })
    const { test } = await tested({ adapter })
    await using _ = test
    const session = await test.create()
    await session.command({ type: 'prompt.submit', text: 'Watch the build.' })
    await taken(session, 2)
    agent.connections[0]?.say({ type: 'turn.started', cause: { by: 'agent' } })
    await taken(session, 3)
    agent.connections[0]?.endTurn()
    const own = (await taken(session, 4)).slice(2)
    const [, turn] = await session.events('turn.started')
    expect(turn?.cause).toEqual({ by: 'agent' })
    expect(own).toMatchObject([
      { when: 'before', turnId: turn?.turnId },
      { when: 'after', turnId: turn?.turnId },
    ])
  })
})

describe('snapshots', () => {
  it('that take too long are turned off, and one notice in the session reports this', async () => {
    const { test } = await tested({ limits: { budgetMs: -1 } })
    await using _ = test
    const session = await test.create()
    for (const path of ['a', 'b']) await quietTurn(test, session, path)
    await session.play(write('c', 'x'))
    await session.play(write('d', 'x'))
    await expect
      .poll(async () => (await session.events('agent.noticed')).map(({ code }) => code), { timeout: 10_000 })
      .toEqual(['snapshots-off'])
    expect(await session.events('snapshot.taken')).toHaveLength(4)
  })

  it('are recorded without counts if the changed lines cannot be counted', async () => {
    const count = () => Promise.reject(new Error('The shadow is gone.'))
    const { test } = await tested({ wrap: (real) => ({ ...real, count }) })
    await using _ = test
    const taken = await quietTurn(test, await test.create(), 'a')
    expect(taken.map(({ when, changed }) => [when, changed])).toEqual([
      ['before', undefined],
      ['after', undefined],
    ])
    expect(test.problems).toEqual([])
  })

  it('that fail are reported, and the session continues', async () => {
    const { test, root } = await tested({})
    await using _ = test
    writeFileSync(join(root, 'file'), '')
    const session = await test.create()
    const failing = await tested({ root: join(root, 'file') })
    await using __ = failing.test
    const other = await failing.test.create()
    await other.play(write('a', 'x'))
    await expect.poll(() => failing.test.problems.length, { timeout: 10_000 }).toBe(2)
    expect(failing.test.problems[0]).toContain('take a snapshot of the folder')
    expect((await session.state()).status).toBe('idle')
  })

  it('are deleted with the session and its forks', async () => {
    const { test, root } = await tested({})
    await using _ = test
    const session = await test.create()
    await quietTurn(test, session, 'a')
    const { sessionId = '' } = await session.command({ type: 'session.fork' })
    await test.host.delete(session.id)
    const [shadow = ''] = readdirSync(root)
    const kept = () => readdirSync(join(root, shadow, 'refs/snapshots')).length
    await expect.poll(kept, { timeout: 10_000 }).toBe(1)
    await test.host.delete(sessionId)
    await expect.poll(() => readdirSync(root), { timeout: 10_000 }).toEqual([])
  })
})
