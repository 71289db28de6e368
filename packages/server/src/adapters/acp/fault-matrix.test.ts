import { type BenchSession, childrenWith, connectInput } from '@parley/adapter-kit/testing'
import { describe, expect, it, vi } from 'vitest'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { AcpWorld, agentNames, agents, done, failing, hello } from './acp-world-under-test.ts'
import { isAmong } from './processes-under-test.ts'

/**
 * Tests the real programs under faults: behind a wrapper script, with a failing model, and stopped by
 * SIGSTOP.
 */
const world = await AcpWorld.start()

const codes = (session: BenchSession) => session.all('agent.noticed').map(({ code }) => code)

async function expectHello(session: BenchSession): Promise<void> {
  const turn = await session.prompt(hello)
  await turn.completed()
  expect(turn.said).toBe('Hello there.')
}

describe.each(agentNames)('%s', { timeout: 90_000 }, (name) => {
  const { shell, program, key } = agents[name]

  it('works with garbage on stdout, and reports it', async () => {
    const lines = `printf 'Welcome!\\n{"half": \\n\\377\\n'; seq 1 30
"$REAL" "$@" | while IFS= read -r line; do printf 'noise\\n%s\\n' "$line"; done`
    await world.play(
      name,
      async (bench, processes) => {
        const session = await bench.session({ mode: 'bypass' })
        await expectHello(session)
        const turn = await session.prompt(modelPrompt('Write it.', shell('echo once >> note.txt'), done))
        await turn.completed()
        processes()
        expect(await bench.file('note.txt')).toBe('once\n')
        const kept = session.all('agent.unrecognised').map(({ native }) => native)
        expect(kept).toHaveLength(20)
        expect(kept.slice(0, 2)).toEqual(['Welcome!', '{"half": '])
        expect(codes(session)).toContain('garbage')
      },
      { executable: world.wrapped(name, lines) },
    )
  })

  it.each([
    ['a flood on stderr', `head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; exec "$REAL" "$@"`],
    ['a slow start', `sleep 3; exec "$REAL" "$@"`],
  ])('works with %s', async (_, lines) => {
    await world.play(
      name,
      async (bench) => {
        const session = await bench.session()
        await expectHello(session)
        expect(session.all('agent.unrecognised')).toEqual([])
      },
      { executable: world.wrapped(name, lines) },
    )
  })

  it('is refused with advice if it speaks another version of the protocol', async () => {
    const lines = `"$REAL" "$@" | sed -u 's/"protocolVersion":1/"protocolVersion":9/'`
    await world.play(
      name,
      async (bench) => {
        const session = await bench.session()
        const message = expect.stringMatching(/uses version 9 .*Install another version/)
        for (let round = 0; round < 2; round++) {
          const turn = await session.prompt(hello)
          const error = { code: 'agent_failed', message }
          expect(await turn.ended()).toMatchObject({ outcome: 'failed', error })
        }
      },
      { executable: world.wrapped(name, lines) },
    )
  })

  it('reports that it is not signed in, with advice, and works in the same session once it is signed in', async () => {
    const env = world.signedOutEnv(name)
    await world.play(
      name,
      async (bench) => {
        const session = await bench.session()
        const error = { code: 'agent_not_signed_in', message: expect.stringContaining(key) }
        expect(await (await session.prompt(hello)).ended()).toMatchObject({ outcome: 'failed', error })
        env[key] = 'placeholder'
        await expectHello(session)
      },
      { env },
    )
  })

  it('is given up when it hangs during its start, and leaves no process behind', async () => {
    const giveUp = new AbortController()
    const input = connectInput({ cwd: world.home, signal: giveUp.signal })
    const connecting = world.adapter(name).connect(input)
    await vi.waitFor(() => expect(childrenWith(program)).toHaveLength(1), 20_000)
    for (const pid of childrenWith(program)) process.kill(pid, 'SIGSTOP')
    giveUp.abort()
    await expect(connecting).rejects.toMatchObject({ code: 'cancelled' })
    await vi.waitFor(() => expect(childrenWith(program)).toEqual([]), 5_000)
  })
})

describe.each(agentNames)('%s in a shared session', { timeout: 90_000 }, (name) => {
  const play = world.playShared(name)
  const { shell } = agents[name]

  it.each([
    [429, 'rate_limited', /Too many requests/],
    [500, 'agent_failed', /The service is down/],
    [0, 'agent_failed', /terminated|fetch failed|closed|connection/i],
  ])(
    'fails the turn with the error of a model that responds with %i, and runs the next prompt',
    async (status, code, message) => {
      await play(async (bench) => {
        const session = await bench.session()
        const turn = await session.prompt(failing(status))
        expect(await turn.ended()).toMatchObject({
          outcome: 'failed',
          error: { code, message: expect.stringMatching(message) },
        })
        await expectHello(session)
        expect(session.all('agent.disconnected')).toEqual([])
      })
    },
  )

  it('is killed with its commands when a turn in which it hangs is cancelled, and restarts', async () => {
    await play(async (bench, processes) => {
      const session = await bench.session()
      await (await session.prompt(modelPrompt('The word is parsley.', done))).completed()
      const turn = await session.prompt(modelPrompt('Wait.', shell('tail -f /dev/null'), done))
      await turn.decide(await turn.asked(), 'allow')
      await vi.waitFor(() => expect(isAmong(processes(), 'tail -f /dev/null')).toBe(true), 20_000)
      for (const pid of processes()) process.kill(pid, 'SIGSTOP')
      await session.command({ type: 'turn.cancel' })
      expect(await turn.ended()).toMatchObject({ outcome: 'cancelled' })
      const next = await session.prompt(modelPrompt('What did I say?', { say: 'history' }))
      await next.completed()
      expect(next.said).toContain('The word is parsley.')
    })
  })
})
