import { type Bench, connectInput } from '@parley/adapter-kit/testing'
import { describe, expect, it, vi } from 'vitest'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { bash, done, OpenCodeUnderTest } from './opencode-under-test.ts'

/** Tests servers that do not respond, and responses that come too late. */

const world = await OpenCodeUnderTest.forFile()

const waiting = { timeout: 60_000, interval: 50 }
const noProcessLeft = () => vi.waitFor(() => expect(world.processes()).toEqual([]), waiting)
const busy = (words: string) => modelPrompt(words, bash('tail -f /dev/null'), done)
const history = modelPrompt('What did I say?', { say: 'history' })

/** Stops the processes of the only server with SIGSTOP and returns their ids. */
function stall(): number[] {
  const pids = world.running('opencode serve')
  expect(pids).not.toEqual([])
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  return pids
}

async function expectGone(pids: readonly number[]): Promise<void> {
  await vi.waitFor(() => expect(world.processes().filter((pid) => pids.includes(pid))).toEqual([]), waiting)
}

async function twoTurns(bench: Bench) {
  const sessions = [await bench.session({ mode: 'bypass' }), await bench.session({ mode: 'bypass' })]
  return Promise.all(
    sessions.map(async (session, index) => {
      const words = ['The word is parsley.', 'The word is sage.'][index] ?? ''
      const turn = await session.prompt(busy(words))
      await turn.begun()
      return { session, turn, words }
    }),
  )
}

describe('a server that hangs under two sessions', { timeout: 240_000 }, () => {
  it('both are cancelled: their turns end, the server is killed, and another resumes both', async () => {
    await world.onBench(async (bench) => {
      const both = await twoTurns(bench)
      const pids = stall()
      await Promise.all(both.map(({ session }) => session.command({ type: 'turn.cancel' })))
      for (const { turn } of both) expect(await turn.ended()).toMatchObject({ outcome: 'cancelled' })
      for (const { session, words } of both) {
        const next = await session.prompt(history)
        await next.completed()
        expect(next.said).toContain(words)
      }
      await expectGone(pids)
    })
    await noProcessLeft()
  })

  it('one is cancelled: the turn of the other fails, and another server resumes both', async () => {
    await world.onBench(async (bench) => {
      const [one, other] = await twoTurns(bench)
      const pids = stall()
      await one?.session.command({ type: 'turn.cancel' })
      expect(await one?.turn.ended()).toMatchObject({ outcome: 'cancelled' })
      expect(await other?.turn.ended()).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
      await expectGone(pids)
      for (const { session, words } of [one, other].flatMap((found) => found ?? [])) {
        const next = await session.prompt(history)
        await next.completed()
        expect(next.said).toContain(words)
      }
    })
    await noProcessLeft()
  })

  it('an aborted connect kills the server', async () => {
    const adapter = world.adapter()
    const first = await adapter.connect(connectInput({ cwd: world.home }))
    const pids = stall()
    const cancelled = new AbortController()
    const second = adapter.connect(connectInput({ cwd: world.home, signal: cancelled.signal }))
    cancelled.abort()
    await expect(second).rejects.toMatchObject({ code: 'cancelled' })
    const third = await adapter.connect(connectInput({ cwd: world.home }))
    await expectGone(pids)
    await Promise.all([first.close(), third.close()])
    await noProcessLeft()
  })
})

it('a command that fails long after its turn does not fail the next turn', async () => {
  await world.onBench(
    async (bench) => {
      const session = await bench.session()
      await (await session.prompt(modelPrompt('Hello.', { content: 'Hello there.' }))).completed()
      await (await session.prompt([{ type: 'command', name: 'compact' }])).completed()
      const turn = await session.prompt(modelPrompt('Hello again.', { content: 'Hello again, you.' }))
      await turn.completed()
      expect(turn.said).toBe('Hello again, you.')
    },
    world.adapter({ executable: world.faulty('late') }),
  )
  await noProcessLeft()
})
