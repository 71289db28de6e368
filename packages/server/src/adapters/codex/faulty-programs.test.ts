import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchSession, connectInput } from '@parley/adapter-kit/testing'
import { ParleyError } from '@parley/protocol'
import { beforeEach, describe, expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { done } from '../../testing/model-answers.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { agentsFolder, CodexUnderTest, codexProgram, forever, hello } from './codex-under-test.ts'
import { createCodexAdapter } from './index.ts'
import { mark, processes, programPid, programs, script, until } from './programs-under-test.ts'

const agentHome = await AgentHome.forFile({ answers: 'script' })
const home = agentHome.path
const world = new CodexUnderTest(agentHome)

it('hangs under two sessions: a cancel ends both turns, and another program resumes both', async () => {
  answerByPrompt(world.server)
  await world.play(async (bench) => {
    const names = [mark(), mark()]
    const sessions = [await bench.session({ mode: 'bypass' }), await bench.session({ mode: 'bypass' })]
    const turns = await Promise.all(
      sessions.map((session, at) => session.prompt(modelPrompt('Wait.', forever(names[at] ?? ''), done))),
    )
    await until(() => names.every((name) => processes(name).length > 0))
    const stalled = programPid()
    process.kill(-stalled, 'SIGSTOP')
    await sessions[0]?.command({ type: 'turn.cancel' })
    expect(await turns[0]?.ended()).toMatchObject({ outcome: 'cancelled' })
    const next = await sessions[0]?.prompt(modelPrompt('Again.', { say: 'history' }))
    expect(await turns[1]?.ended()).toMatchObject({
      outcome: 'failed',
      error: { code: 'agent_failed', message: expect.stringContaining('stopped answering') },
    })
    await next?.completed()
    expect(next?.said).toContain('Wait.')
    await (await sessions[1]?.prompt(hello))?.completed()
    expect(programs().map(({ pid }) => pid)).not.toContain(stalled)
    expect(programs()).toHaveLength(1)
    await until(() => names.every((name) => processes(name).length === 0))
  })
})

describe('a misbehaving program', () => {
  beforeEach(() => answerByPrompt(world.server))

  it('prints garbage: it is recorded, and the turn runs', async () => {
    const executable = script(
      home,
      `#!/bin/sh
echo 'Welcome!'
echo '{"half": '
echo '{"id": 4711, "result": "nobody asked"}'
(until [ -e "$0.speak" ]; do sleep 0.05; done; echo 'Late.') &
exec '${codexProgram}' "$@"
`,
    )
    await world.play(
      async (bench) => {
        const session = await bench.session()
        const turn = await session.prompt(hello)
        await turn.completed()
        expect(turn.said).toContain('Hello there')
        const kept = (one: BenchSession) =>
          one.all('agent.unrecognised').map(({ native }) => (native as { params: unknown }).params)
        const first = ['Welcome!', '{"half": ', { id: 4711, result: 'nobody asked' }]
        expect(kept(session)).toEqual(first)
        const other = await bench.session()
        await (await other.prompt(hello)).completed()
        writeFileSync(`${executable}.speak`, '')
        for (const one of [session, other]) await one.until(() => kept(one).includes('Late.'))
        for (const one of [session, other]) await (await one.prompt(hello)).completed()
        expect([kept(session), kept(other)]).toEqual([[...first, 'Late.'], ['Late.']])
      },
      { executable },
    )
  })

  it('prints endless garbage: its start is recorded, shortened, and later sessions do not receive it', async () => {
    const executable = script(
      home,
      `#!/bin/sh
printf '{"id": 4711, "result": "%0100000d"}\\n' 0
i=0; while [ $i -lt 2000 ]; do echo "garbage $i"; i=$((i+1)); done
exec '${codexProgram}' "$@"
`,
    )
    await world.play(
      async (bench) => {
        const sessions = [await bench.session(), await bench.session()]
        for (const session of sessions) await (await session.prompt(hello)).completed()
        const [first = [], second] = sessions.map((session) =>
          session.all('agent.unrecognised').map(({ native }) => (native as { params: string }).params),
        )
        expect(first.slice(0, 2)).toEqual([expect.stringMatching(/^.{1000}$/), 'garbage 0'])
        expect(first.slice(-2)).toEqual(['garbage 18', '(further output was discarded)'])
        expect([first.length, second]).toEqual([21, []])
        expect(programs()).toHaveLength(1)
      },
      { executable },
    )
  })

  it('is slow to start: the turn waits, and runs', async () => {
    const executable = script(
      home,
      `#!/bin/sh
until [ -e "$0.go" ]; do sleep 0.05; done
exec '${codexProgram}' "$@"
`,
    )
    await world.play(
      async (bench) => {
        const session = await bench.session()
        const turn = await session.prompt(hello)
        await until(() => processes(executable).length > 0)
        expect(session.all('agent.connected')).toEqual([])
        writeFileSync(`${executable}.go`, '')
        await turn.completed()
        expect(turn.said).toContain('Hello there')
      },
      { executable },
    )
  })

  it.each([
    [
      'takes too long to start',
      200,
      { code: 'agent_failed', message: expect.stringContaining('within 0.2 s') },
    ],
    ['takes long to start while the caller aborts', 600_000, { code: 'cancelled' }],
  ])('%s: the process and its descendants are killed', async (_what, startMs, refusal) => {
    const name = mark()
    const executable = script(home, `#!/bin/sh\nsh -c 'while true; do sleep 0.1; done; echo ${name}'\n`)
    const giveUp = new AbortController()
    const connecting = world
      .adapter({ executable, startMs })
      .connect(connectInput({ cwd: home, signal: giveUp.signal }))
      .catch((error: unknown) => error)
    if (refusal.code === 'cancelled') {
      await until(() => processes(name).length > 0)
      giveUp.abort()
    }
    const refused = await connecting
    expect(refused).toBeInstanceOf(ParleyError)
    expect(refused).toMatchObject(refusal)
    await until(() => processes(name).length === 0)
    expect(processes(executable)).toEqual([])
  })

  it('floods stderr: the turn runs, and only the tail is kept', async () => {
    const flooded = join(home, 'flooded')
    const executable = script(
      home,
      `#!/bin/sh
(head -c 20000000 /dev/zero | tr '\\0' 'x' >&2; touch '${flooded}') &
exec '${codexProgram}' "$@"
`,
    )
    await world.play(
      async (bench) => {
        const session = await bench.session({ mode: 'bypass' })
        await (await session.prompt(hello)).completed()
        await until(() => readdirSync(home).includes('flooded'))
        const turn = await session.prompt(modelPrompt('Wait.', forever(mark()), done))
        await turn.begun()
        process.kill(programPid(), 'SIGKILL')
        await turn.ended()
        expect(session.all('agent.disconnected')[0]?.stderrTail?.length).toBeLessThanOrEqual(4_000)
      },
      { executable },
    )
  })

  it.each([
    [
      'has no app-server',
      `#!/bin/sh\necho "error: unrecognized subcommand 'app-server'" >&2\nexit 2\n`,
      'exited at once',
    ],
    [
      'is too old',
      `#!/bin/sh\nread line\necho '{"id":1,"result":{"userAgent":"parley/0.98.0 (Linux)"}}'\nread line\n`,
      'it is version 0.98.0',
    ],
    [
      'does not report its version',
      `#!/bin/sh\nread line\necho '{"id":1,"result":{}}'\nread line\n`,
      'does not report its version',
    ],
    [
      'refuses the handshake',
      `#!/bin/sh\nread line\necho '{"id":1,"error":{"code":1,"message":"no!"}}'\nread line\n`,
      'no!',
    ],
  ])('%s: it is refused with advice', async (_what, text, why) => {
    const executable = script(home, text)
    const refusal = await world
      .adapter({ executable })
      .connect(connectInput({ cwd: home }))
      .catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(ParleyError)
    expect(refusal).toMatchObject({ code: 'agent_failed', message: expect.stringContaining(why) })
    expect((refusal as Error).message).toContain('needs Codex 0.166.0 or newer. Correct agents.codex.command')
    expect(await world.adapter({ executable }).probe(AbortSignal.timeout(5_000))).toMatchObject({
      found: true,
      usable: false,
      hint: expect.stringContaining(why),
    })
    expect(processes(executable)).toEqual([])
  })

  it('is missing, or is not signed in: it is refused', async () => {
    const nowhere = createCodexAdapter({ env: { PATH: home, HOME: home } })
    await expect(nowhere.connect(connectInput({ cwd: home }))).rejects.toMatchObject({
      code: 'agent_not_found',
    })
    expect(await nowhere.probe(AbortSignal.timeout(5_000))).toMatchObject({ found: false })
    const { OPENAI_API_KEY: _, ...known } = agentHome.env('codex')
    const env = { ...known, CODEX_HOME: agentHome.folder('nobody') }
    const nobody = createCodexAdapter({ env, agentsFolder })
    const refusal = { code: 'agent_not_signed_in', message: expect.stringContaining('codex login') }
    await expect(nobody.connect(connectInput({ cwd: home }))).rejects.toMatchObject(refusal)
    expect(await nobody.probe(AbortSignal.timeout(5_000))).toMatchObject({
      found: true,
      signedIn: false,
      command: expect.stringMatching(/ login$/),
    })
    expect(programs(), 'the program that was asked has ended').toEqual([])
    await expect(world.adapter().connect(connectInput({ cwd: join(home, 'no-such') }))).rejects.toMatchObject(
      {
        code: 'validation_error',
      },
    )
    expect(programs()).toEqual([])
  })

  it('has invalid settings: the refusal names the place', async () => {
    const env = agentHome.env('codex', { home: agentHome.folder('broken') })
    writeFileSync(join(env.CODEX_HOME ?? '', 'config.toml'), 'model = [')
    const broken = createCodexAdapter({ env, agentsFolder })
    const refusal = await broken.connect(connectInput({ cwd: home })).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(ParleyError)
    await until(() => programs().length === 0)
  })
})
