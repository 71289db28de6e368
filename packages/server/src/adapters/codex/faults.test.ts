import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { connectInput, promptMessage, readToEnd } from '@parley/adapter-kit/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { codexEnvironment } from '../../testing/codex-environment.ts'
import { done } from '../../testing/model-answers.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { AppServer } from './app-server.ts'
import { CodexUnderTest, codexProgram, forever, hello, run } from './codex-under-test.ts'
import { mark, processes, programPid, programs, until } from './programs-under-test.ts'

const world = new CodexUnderTest(await AgentHome.forFile({ answers: 'script' }))
const { home } = world

describe('a killed program', () => {
  beforeEach(() => answerByPrompt(world.server))

  it('in the middle of a turn: the turn fails, no process is left, and the next prompt starts it again', async () => {
    await world.play(async (bench) => {
      const name = mark()
      const session = await bench.session({ mode: 'bypass' })
      const turn = await session.prompt(modelPrompt('Wait.', forever(name), done))
      await until(() => processes(name).length > 0)
      process.kill(programPid(), 'SIGKILL')
      expect(await turn.ended()).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
      expect(session.all('agent.disconnected')).toMatchObject([{ reason: 'crashed', signal: 'SIGKILL' }])
      await until(() => processes(name).length === 0)
      await (await session.prompt(hello)).completed()
      expect(programs()).toHaveLength(1)
    })
  })

  it('with an open permission: the request remains open, its answer resumes the turn, and the command runs once', async () => {
    await world.play(async (bench) => {
      const session = await bench.session()
      await (await session.prompt(hello)).completed()
      const turn = await session.prompt(modelPrompt('Add.', run('echo once >> note.txt'), done))
      const ask = await turn.asked()
      process.kill(-programPid(), 'SIGKILL')
      await session.until(() => session.all('turn.parked')[0])
      expect((await bench.host.state(session.id)).requests).toMatchObject([
        { requestId: ask.requestId, stale: true },
      ])
      await turn.decide(ask, 'allow')
      expect(await turn.completed()).toMatchObject({ outcome: 'completed' })
      expect(await bench.file('note.txt')).toBe('once\n')
    })
  })

  it('before it has stored the prompt: the prompt is sent again', async () => {
    await world.play(async (bench) => {
      const session = await bench.session()
      const turn = await session.prompt(modelPrompt('Add.', run('echo once >> note.txt'), done))
      const ask = await turn.asked()
      process.kill(-programPid(), 'SIGKILL')
      await session.until(() => session.all('turn.parked')[0])
      const sessions = join(home, '.codex', 'sessions')
      const { connection } = await bench.host.state(session.id)
      const [transcript = ''] = readdirSync(sessions, { recursive: true, encoding: 'utf8' }).filter((path) =>
        path.includes(connection?.agentSessionId ?? '-'),
      )
      rmSync(join(sessions, transcript))
      await turn.decide(ask, 'allow')
      await turn.completed()
      expect(await bench.file('note.txt')).toBe('once\n')
    })
  })

  it('under two sessions: both turns end, and one program serves both again', async () => {
    await world.play(async (bench) => {
      const sessions = [await bench.session({ mode: 'bypass' }), await bench.session({ mode: 'bypass' })]
      const turns = await Promise.all(
        sessions.map((session) => session.prompt(modelPrompt('Wait.', forever(mark()), done))),
      )
      await Promise.all(turns.map((turn) => turn.begun()))
      expect(programs()).toHaveLength(1)
      process.kill(programPid(), 'SIGKILL')
      for (const turn of turns) expect(await turn.ended()).toMatchObject({ outcome: 'failed' })
      for (const session of sessions) await (await session.prompt(hello)).completed()
      expect(programs()).toHaveLength(1)
    })
  })
})

it('ends the commands of a session that is closed, and none of another session', async () => {
  answerByPrompt(world.server)
  const names = [mark(), mark()]
  const codex = world.adapter()
  const connections = await Promise.all(
    names.map(async (name) => {
      const connection = await codex.connect(connectInput({ cwd: home, settings: { mode: 'bypass' } }))
      await connection.send(promptMessage(modelPrompt('Wait.', forever(name), done)))
      return { connection, outputs: readToEnd(connection) }
    }),
  )
  await until(() => names.every((name) => processes(name).length > 0))
  await connections[0]?.connection.close()
  expect((await connections[0]?.outputs)?.at(-1)).toMatchObject({
    type: 'agent.disconnected',
    reason: 'closed',
  })
  await until(() => processes(names[0]).length === 0)
  expect(processes(names[1])).not.toEqual([])
  expect(programs()).toHaveLength(1)
  await connections[1]?.connection.close()
  expect([processes(names[1]), programs()]).toEqual([[], []])
})

it('ends the program even if its outputs were never read', async () => {
  answerByPrompt(world.server)
  const connection = await world.adapter().connect(connectInput({ cwd: home }))
  await connection.send(promptMessage(hello))
  await connection.close()
  expect(programs()).toEqual([])
})

it('ends the program when it is aborted during the start', async () => {
  const giveUp = new AbortController()
  const connecting = world.adapter().connect(connectInput({ cwd: home, signal: giveUp.signal }))
  giveUp.abort()
  await expect(connecting).rejects.toMatchObject({ code: 'cancelled' })
  expect(programs()).toEqual([])
})

it('receives nothing while a listener holds the program', async () => {
  const env = { ...codexEnvironment({ url: world.server.url, home }), PATH: join(process.execPath, '..') }
  const app = await AppServer.start({ program: codexProgram, env })
  const listener = { receive: () => undefined, lost: () => undefined }
  app.hold(listener, true)
  let answered = false
  const models = app.call('model/list').then(() => {
    answered = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(answered).toBe(false)
  app.hold(listener, false)
  await models
  await app.close()
  expect(programs()).toEqual([])
})

describe('a failing model', () => {
  const failure = (status: number) => ({
    error: { message: `the model says ${status}`, type: 'server_error', code: 'x' },
    status,
  })
  const then = { response: { content: 'Better now.' } }

  it.each([
    [429, { code: 'rate_limited', message: expect.stringContaining('429') }, 'rate-limited'],
    [500, { code: 'agent_failed', message: expect.stringContaining('high demand') }, 'api-retry'],
    [
      401,
      { code: 'agent_not_signed_in', message: expect.stringContaining('the model says 401') },
      'api-retry',
    ],
  ] as const)(
    '%i: retries are reported, the turn fails with the error, and the next one runs',
    async (status, error, code) => {
      const response = failure(status)
      world.server.script(
        ({ messages }) => JSON.stringify(messages).includes('again') === false,
        Array.from({ length: 9 }, () => ({ response })),
      )
      world.server.script(() => true, [then])
      await world.play(
        async (bench) => {
          const session = await bench.session()
          const turn = await session.prompt('Hello.')
          expect(await turn.ended()).toMatchObject({ outcome: 'failed', error })
          expect(session.all('agent.noticed').map((notice) => notice.code)).toContain(code)
          const next = await session.prompt('And again.')
          await next.completed()
          expect(next.said).toBe('Better now.')
        },
        { retries: 1 },
      )
    },
  )

  it('400: the turn fails at once with the message of the model service', async () => {
    world.server.script(() => true, [{ response: failure(400) }, then])
    await world.play(async (bench) => {
      const session = await bench.session()
      const turn = await session.prompt('Hello.')
      expect(await turn.ended()).toMatchObject({
        outcome: 'failed',
        error: { message: 'the model says 400' },
      })
      await (await session.prompt('And again.')).completed()
    })
  })

  it('the answer breaks off: its start is kept, the turn fails, and the next one runs', async () => {
    world.server.wire((event, call) =>
      world.server.calls.indexOf(call) === 0 && /\.(done|completed)$/.test(event.type ?? '') ? '' : event,
    )
    world.server.script(() => true, [{ response: { content: 'This answer is cut off.' } }, then])
    await world.play(async (bench) => {
      const session = await bench.session()
      const turn = await session.prompt('Hello.')
      expect(await turn.ended()).toMatchObject({
        outcome: 'failed',
        error: { code: 'agent_failed', message: expect.stringContaining('stream') },
      })
      expect(turn.all('text.written')).toMatchObject([{ text: 'This answer is cut off.', interrupted: true }])
      await (await session.prompt('And again.')).completed()
    })
  })
})

it('writes nothing to the settings of the person', async () => {
  answerByPrompt(world.server)
  const before = codexEnvironment({ url: world.server.url, home }).CODEX_HOME ?? ''
  const settings = readFileSync(join(before, 'config.toml'), 'utf8')
  await world.play(async (bench) => {
    execFileSync('git', ['init', '-q', bench.folder])
    await (await (await bench.session()).prompt(hello)).completed()
  })
  expect(readFileSync(join(before, 'config.toml'), 'utf8')).toBe(settings)
})
