import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connectInput } from '@parley/adapter-kit/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import {
  opencodeConfig,
  opencodeEnvironment,
  opencodeProgram,
  quietEnvironment,
} from '../../testing/opencode-environment.ts'
import { bash, call, done, OpenCodeUnderTest } from './opencode-under-test.ts'

const world = await OpenCodeUnderTest.forFile()

const waiting = { timeout: 30_000, interval: 50 }
const noProcessLeft = () => vi.waitFor(() => expect(world.processes()).toEqual([]), waiting)
const hello = modelPrompt('Hello.', { content: 'Hello there.' })
const node = `exec ${process.execPath} --conditions=source`

describe('a server that dies', { timeout: 90_000 }, () => {
  it('in the middle of a turn: the turn fails, its commands end, and the next prompt starts another server', async () => {
    await world.onBench(async (bench) => {
      const session = await bench.session({ mode: 'bypass' })
      const turn = await session.prompt(modelPrompt('Wait.', bash('sleep 4321'), done))
      await vi.waitFor(() => expect(world.running('sleep 4321')).not.toEqual([]), waiting)
      for (const pid of world.running('opencode serve')) process.kill(pid, 'SIGKILL')
      expect(await turn.ended()).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
      expect(session.all('agent.disconnected')).toMatchObject([{ reason: 'crashed', signal: 'SIGKILL' }])
      await vi.waitFor(() => expect(world.running('sleep 4321')).toEqual([]), waiting)
      await (await session.prompt(hello)).completed()
    })
    await noProcessLeft()
  })

  it('with an open permission: the request remains open, and its answer takes effect once', async () => {
    await world.onBench(async (bench) => {
      const session = await bench.session()
      await (await session.prompt(hello)).completed()
      const writing = modelPrompt('Write it.', bash('printf "once\\n" >> note.txt'), done)
      const turn = await session.prompt(writing)
      const ask = await turn.asked()
      for (const pid of world.running('opencode serve')) process.kill(pid, 'SIGKILL')
      await session.until(() => session.all('turn.parked')[0])
      expect(await bench.host.state(session.id)).toMatchObject({
        status: 'parked',
        requests: [{ requestId: ask.requestId, stale: true }],
      })
      expect(await bench.file('note.txt')).toBeUndefined()
      await turn.decide(ask, 'allow')
      expect(await turn.ended()).toMatchObject({ outcome: 'completed' })
      expect(await bench.file('note.txt')).toBe('once\n')
      expect(turn.all('permission.resolved').map(({ outcome }) => outcome)).toEqual(['allowed', 'allowed'])
    })
    await noProcessLeft()
  })

  it('because our process was killed leaves no process behind', async () => {
    const program = join(import.meta.dirname, 'connect-under-test.ts')
    const env = opencodeEnvironment({ url: world.server.url, home: world.home })
    const us = spawn(process.execPath, ['--conditions=source', program, world.home], {
      env: { PATH: process.env.PATH, GIVEN: JSON.stringify(env), EXECUTABLE: opencodeProgram() },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await new Promise((resolve) => us.stdout.once('data', resolve))
    expect(world.running('opencode serve')).toHaveLength(1)
    us.kill('SIGKILL')
    await noProcessLeft()
  })
})

describe('a broken event stream', { timeout: 90_000 }, () => {
  const file = () => join(world.home, 'wire')
  const proxied = () => {
    const proxy = join(import.meta.dirname, 'proxy-under-test.ts')
    const executable = world.script('proxied', `${node} ${proxy} ${file()} ${opencodeProgram()} "$@"`)
    return world.adapter({ executable })
  }
  /** Cuts or restores the connection, and resolves when that is done. */
  const make = async (state: 'cut' | 'whole') => {
    process.kill(world.running('proxy-under-test.ts')[0] ?? 0, 'SIGUSR2')
    await vi.waitFor(() => expect(readFileSync(file(), 'utf8')).toBe(state), waiting)
  }

  beforeAll(async () => {
    await world.stay(proxied())
  })
  afterAll(async () => {
    await world.leave()
    await noProcessLeft()
  })

  it('in the middle of a turn: missed events are reported once', async () => {
    await world.onBench(async (bench) => {
      const session = await bench.session({ mode: 'bypass' })
      await (await session.prompt(hello)).completed()
      const words = 'This is said while the wire is whole, and this while it is cut.'
      const writing = { content: words, ...bash('printf "once\\n" >> note.txt') }
      const before = world.server.calls.length
      const hold = world.server.hold(5)
      const turn = await session.prompt(modelPrompt('Write it.', writing, { content: 'And this after it.' }))
      await hold.reached
      await turn.begun()
      await make('cut')
      hold.release()
      await vi.waitFor(() => expect(world.server.calls[before]?.complete).toBe(true), waiting)
      await make('whole')
      await turn.completed()
      expect(turn.all('text.written').map(({ text }) => text)).toEqual([words, 'And this after it.'])
      expect(turn.all('tool-call.called')).toHaveLength(1)
      expect(turn.all('tool-call.ended')).toMatchObject([{ outcome: 'completed' }])
      expect(await bench.file('note.txt')).toBe('once\n')
      expect(session.all('agent.disconnected')).toEqual([])
    })
  })

  it('in a turn with an output schema: the turn returns its structured output', async () => {
    await world.onBench(async (bench) => {
      const schema = { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] }
      const session = await bench.session({ mode: 'bypass', options: { outputSchema: schema } })
      const counting = [bash('echo two'), call('StructuredOutput', { count: 2 })]
      const before = world.server.calls.length
      const hold = world.server.hold(1)
      const turn = await session.prompt(modelPrompt('Count.', ...counting))
      await hold.reached
      await make('cut')
      hold.release()
      await vi.waitFor(() => expect(world.server.calls[before]?.complete).toBe(true), waiting)
      await make('whole')
      expect(await turn.completed()).toMatchObject({ structuredOutput: { count: 2 } })
      expect(turn.all('tool-call.ended')).toHaveLength(2)
    })
  })

  it.each(['cut', 'whole'] as const)(
    'with an open question: it is asked once and answered while %s',
    async (state) => {
      await world.onBench(async (bench) => {
        const options = ['red', 'blue'].map((label) => ({ label, description: label }))
        const questions = [{ question: 'Which colour?', header: 'Colour', options }]
        const session = await bench.session()
        const turn = await session.prompt(
          modelPrompt('Ask.', call('question', { questions }), { say: 'history' }),
        )
        const asked = await turn.first(() => turn.all('question.asked')[0])
        const { requestId } = asked
        const answer = () => session.command({ type: 'question.answer', requestId, answers: { 1: 'blue' } })
        await make('cut')
        if (state === 'cut') {
          await answer()
          await turn.first(() => turn.all('agent.noticed').some(({ code }) => code === 'not_done'))
        }
        await make('whole')
        if (state === 'whole') await answer()
        await turn.completed()
        expect(turn.said).toContain('blue')
        expect(turn.all('question.asked')).toHaveLength(1)
      })
    },
  )
})

describe('the start of a server with faults', { timeout: 90_000 }, () => {
  const real = () => `exec ${opencodeProgram()} "$@"`
  it.each([
    ['garbage on stdout', () => `printf 'opencode server listening on nowhere\\n\\0\\377'; echo; ${real()}`],
    ['a flood on stderr', () => `head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; ${real()}`],
    ['a slow start', () => `sleep 3; ${real()}`],
  ])('succeeds with %s', async (name, lines) => {
    const executable = world.script(name.replaceAll(' ', '-'), lines())
    await world.onBench(async (bench) => {
      const session = await bench.session()
      const turn = await session.prompt(hello)
      await turn.completed()
      expect(turn.said).toContain('Hello there.')
    }, world.adapter({ executable }))
    await noProcessLeft()
  })

  it('is given up when the caller aborts, and leaves no process behind', async () => {
    const executable = world.script('sleeper', 'exec sleep 1000')
    const cancelled = new AbortController()
    const connecting = world
      .adapter({ executable })
      .connect(connectInput({ cwd: world.home, signal: cancelled.signal }))
    await vi.waitFor(() => expect(world.running('sleep 1000')).not.toEqual([]), waiting)
    cancelled.abort()
    await expect(connecting).rejects.toMatchObject({ name: 'ParleyError', code: 'cancelled' })
    await noProcessLeft()
  })
})

describe('a failed start is refused with advice', { timeout: 60_000 }, () => {
  const connect = (options: Parameters<OpenCodeUnderTest['adapter']>[0]) =>
    world.adapter(options).connect(connectInput({ cwd: world.home }))

  it.each([
    ['a program that ends', 'echo oh dear >&2; exit 3', { code: 'agent_failed', words: 'exit code 3' }],
    [
      'a program that serves something else',
      'echo "opencode server listening on http://127.0.0.1:1"; exec sleep 1000',
      { code: 'agent_failed', words: 'not an OpenCode server' },
    ],
  ])('for %s', async (name, lines, { code, words }) => {
    const executable = world.script(name.replaceAll(' ', '-'), lines)
    await expect(connect({ executable })).rejects.toMatchObject({
      name: 'ParleyError',
      code,
      message: expect.stringContaining(words),
    })
    await noProcessLeft()
  })

  it('for a missing provider of models', async () => {
    const env = quietEnvironment(mkdtempSync(join(world.home, 'nobody-')))
    await expect(connect({ env })).rejects.toMatchObject({
      code: 'agent_not_signed_in',
      message: expect.stringContaining('opencode auth login'),
    })
  })

  it('for a missing folder', async () => {
    const input = connectInput({ cwd: join(world.home, 'nowhere') })
    await expect(world.adapter().connect(input)).rejects.toMatchObject({ code: 'validation_error' })
  })

  it('for a conversation that OpenCode no longer has', async () => {
    const resume = { agentSessionId: 'ses_nobody', turns: 2 }
    const input = connectInput({ cwd: world.home, resume })
    await expect(world.adapter().connect(input)).rejects.toMatchObject({
      code: 'agent_failed',
      message: expect.stringContaining('Start a new session'),
    })
    await noProcessLeft()
  })
})

describe('a failing model', { timeout: 90_000 }, () => {
  /**
   * A server in front of the model. While `refusing` is set, it responds with that status and asks for an immediate
   * retry.
   */
  let front: Server
  let refusing: number | undefined
  let cutting = false
  beforeAll(async () => {
    front = createServer((request, response) => {
      if (refusing !== undefined) {
        response.writeHead(refusing, { 'content-type': 'application/json', 'retry-after-ms': '10' })
        return response.end(
          JSON.stringify({ error: { message: `It says ${refusing}.`, type: 'server_error' } }),
        )
      }
      if (cutting) {
        cutting = false
        const delta = { choices: [{ index: 0, delta: { role: 'assistant', content: 'This breaks' } }] }
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        return response.write(`data: ${JSON.stringify(delta)}\n\n`, () => response.destroy())
      }
      response.writeHead(307, { location: `${world.server.url}${request.url}` })
      return response.end()
    })
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    await world.stay(fronted())
  })
  afterAll(async () => {
    await world.leave()
    await noProcessLeft()
    front.close()
  })
  const fronted = () => {
    const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
    const env = opencodeEnvironment({ url, home: world.home })
    return world.adapter({ env: { ...env, OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(url)) } })
  }

  it.each([
    [429, 'rate_limited'],
    [500, 'agent_failed'],
  ] as const)(
    'with %i ends the turn with its error, after notices, and the next prompt runs',
    async (status, code) => {
      await world.onBench(async (bench) => {
        const session = await bench.session()
        refusing = status
        const turn = await session.prompt(hello)
        const end = await turn.ended()
        refusing = undefined
        expect(end).toMatchObject({ outcome: 'failed', error: { code } })
        expect(end.error?.message).toContain(`It says ${status}.`)
        expect(turn.all('agent.noticed').map((notice) => notice.code)).toContain('api-retry')
        await (await session.prompt(hello)).completed()
        expect(session.all('agent.disconnected')).toEqual([])
      })
    },
  )

  it('that fails in the middle of its answer is asked again, and the broken part is retracted', async () => {
    await world.onBench(async (bench) => {
      const session = await bench.session()
      cutting = true
      const turn = await session.prompt(hello)
      await turn.completed()
      expect(turn.said).toBe('Hello there.')
      expect(turn.all('agent.noticed').map((notice) => notice.code)).toContain('api-retry')
    })
  })
})
