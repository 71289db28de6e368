import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PermissionMode } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { type Bench, type BenchSession, onBench } from '../../testing/adapter-contract/bench.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { claudeEnvironment } from '../../testing/claude-environment.ts'
import { geminiEnvironment } from '../../testing/gemini-environment.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { type ModelAnswer, type ModelServer, startModelServer } from '../../testing/model-server.ts'
import { claudeAcp, createAcpAdapter, gemini } from './index.ts'
import { alive, childrenWith, isAmong, killChildren, treeOf } from './processes-under-test.ts'

/** The real programs, killed, refused and cut off. */
const home = mkdtempSync(join(tmpdir(), 'parley-faults-'))
const agentsFolder = testAgentsFolder()
let server: ModelServer
beforeAll(async () => {
  server = await startModelServer()
  server.script(({ messages }) => /fail with (\d+)/.test(lastWords(messages)), failures())
  answerByPrompt(server, /Parley was restarted/)
})
afterAll(async () => {
  await server.stop()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
})

function lastWords(messages: readonly { content?: unknown }[]): string {
  return JSON.stringify(messages.at(-1)?.content ?? '')
}

/** A prompt that says how the model is to fail. */
function failures() {
  return [
    { response: { error: { message: 'Too many requests.', type: 'error' }, status: 429 } as ModelAnswer },
    { response: { error: { message: 'The service is down.', type: 'error' }, status: 500 } as ModelAnswer },
    { response: { content: 'This answer is cut off in the middle.' }, truncateAfterChunks: 3, latency: 20 },
  ]
}

const call = (name: string, input: unknown): ModelAnswer =>
  ({ toolCalls: [{ name, arguments: JSON.stringify(input) }] }) as ModelAnswer
const agents = {
  gemini: {
    adapter: () =>
      createAcpAdapter(gemini, { env: geminiEnvironment({ url: server.url, home }), agentsFolder }),
    program: 'bin/gemini',
    shell: (command: string) => call('run_shell_command', { command }),
  },
  'claude-acp': {
    adapter: () =>
      createAcpAdapter(claudeAcp, { env: claudeEnvironment({ url: server.url, home }), agentsFolder }),
    program: 'claude-agent-acp',
    shell: (command: string): ModelAnswer => ({
      toolCalls: [
        { name: 'Bash', id: 'toolu_a', arguments: JSON.stringify({ command, description: 'as asked' }) },
      ],
    }),
  },
}
type AgentName = keyof typeof agents

const { shell } = agents.gemini
const done: ModelAnswer = { content: 'That is done.' }
const hello = modelPrompt('Hello.', { content: 'Hello there.' })
const adding = modelPrompt('Add a line.', shell('echo once >> note.txt'), done)

/** Runs it, and looks afterwards that nothing is left of any process that was there. */
async function play(
  work: (bench: Bench, processes: () => number[]) => Promise<void>,
  name: AgentName = 'gemini',
): Promise<void> {
  const { adapter, program } = agents[name]
  const seen = new Set<number>()
  const processes = () => {
    const now = childrenWith(program).flatMap(treeOf)
    for (const pid of now) seen.add(pid)
    return now
  }
  await onBench({ adapter, store: createMemoryStore }, adapter(), async (bench) => {
    await work(bench, processes)
    processes()
  })
  expect(seen.size).toBeGreaterThan(0)
  await vi.waitFor(() => expect(alive([...seen])).toEqual([]), 5_000)
}

const ended = (session: BenchSession) => session.all('tool-call.ended').map(({ outcome }) => outcome)

describe.each(Object.keys(agents) as AgentName[])('%s is killed', { timeout: 60_000 }, (name) => {
  const { program, shell } = agents[name]
  const adding = modelPrompt('Add a line.', shell('echo once >> note.txt'), done)
  const kill = () => killChildren(program)

  it('in the middle of a turn: the turn fails, its commands end, and the next prompt goes on', () =>
    play(async (bench, processes) => {
      const session = await bench.session({ mode: 'bypass' })
      await (await session.prompt(modelPrompt('The word is parsley.', done))).completed()
      const turn = await session.prompt(modelPrompt('Wait.', shell('tail -f /dev/null'), done))
      await turn.first(() => turn.all('permission.resolved')[0])
      await vi.waitFor(() => expect(isAmong(processes(), 'tail -f /dev/null')).toBe(true), 10_000)
      kill()
      expect(await turn.ended()).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
      expect(session.all('agent.disconnected')).toMatchObject([{ reason: 'crashed', signal: 'SIGKILL' }])
      const next = await session.prompt(modelPrompt('What did I say?', { say: 'history' }))
      await next.completed()
      expect(next.said).toContain('The word is parsley.')
    }, name))

  it.each([
    ['allow', 'once\n', 'completed'],
    ['deny', undefined, 'denied'],
  ] as const)('with a permission open: the turn waits, and the answer holds: %s', (decision, text, outcome) =>
    play(async (bench, processes) => {
      const session = await bench.session()
      const turn = await session.prompt(adding)
      const { requestId } = await turn.asked()
      processes()
      kill()
      await session.until(() => turn.all('turn.parked')[0])
      expect((await bench.host.state(session.id)).requests).toMatchObject([{ requestId, stale: true }])
      expect(await bench.file('note.txt')).toBeUndefined()
      await turn.decide({ requestId }, decision)
      await turn.completed()
      expect(await bench.file('note.txt')).toBe(text)
      expect(ended(session)).toEqual(['cancelled', outcome])
    }, name),
  )

  it('in the second step of a turn: what was done is not done again', () =>
    play(async (bench) => {
      const session = await bench.session()
      const steps = [shell('echo one >> note.txt'), shell('echo two >> note.txt'), done]
      const turn = await session.prompt(modelPrompt('Add two lines.', ...steps))
      await turn.decide(await turn.asked(), 'allow')
      await session.until(() => turn.all('tool-call.ended')[0])
      const { requestId } = await turn.asked()
      kill()
      await session.until(() => turn.all('turn.parked')[0])
      await turn.decide({ requestId }, 'allow')
      await turn.completed()
      expect(await bench.file('note.txt')).toBe('one\ntwo\n')
    }, name))
})

describe('the model fails', { timeout: 60_000 }, () => {
  it.each([
    [429, 'rate_limited', /Too many requests/],
    [500, 'agent_failed', /The service is down/],
    [0, 'agent_failed', /terminated|fetch failed/],
  ])('with %i: the turn fails in its words, and the session goes on', (status, code, message) =>
    play(async (bench) => {
      const session = await bench.session()
      const turn = await session.prompt(`Please fail with ${status}.`)
      expect(await turn.ended()).toMatchObject({
        outcome: 'failed',
        error: { code, message: expect.stringMatching(message) },
      })
      await (await session.prompt(hello)).completed()
      expect(session.all('agent.disconnected')).toEqual([])
    }),
  )
})

it('says that it is not signed in, and what to do', { timeout: 60_000 }, async () => {
  const unsigned = () =>
    createAcpAdapter(gemini, {
      env: { PATH: process.env.PATH, HOME: mkdtempSync(join(home, 'nobody-')) },
      agentsFolder,
    })
  const world = { adapter: unsigned, store: createMemoryStore }
  await onBench(world, unsigned(), async (bench) => {
    const session = await bench.session()
    const turn = await session.prompt(hello)
    expect(await turn.ended()).toMatchObject({
      outcome: 'failed',
      error: { code: 'agent_not_signed_in', message: expect.stringContaining('GEMINI_API_KEY') },
    })
  })
  await vi.waitFor(() => expect(childrenWith('bin/gemini')).toEqual([]), 5_000)
})

describe('refusals', { timeout: 60_000 }, () => {
  const file = (bench: Bench) =>
    call('write_file', { file_path: join(bench.folder, 'new.txt'), content: 'new\n' })

  it.each([
    ['read-only', 'denied', 'mode'],
    ['accept-edits', 'allowed', 'mode'],
    ['bypass', 'allowed', 'mode'],
  ] as const)('hold for files in mode %s: %s', (mode: PermissionMode, outcome, by) =>
    play(async (bench) => {
      const session = await bench.session({ mode })
      const turn = await session.prompt(modelPrompt('Write.', file(bench), done))
      await turn.completed()
      expect(turn.all('permission.resolved')).toMatchObject([{ outcome, by }])
      expect(await bench.file('new.txt')).toBe(outcome === 'allowed' ? 'new\n' : undefined)
    }),
  )

  it('do not stand in the way of reading', () =>
    play(async (bench) => {
      const session = await bench.session({ mode: 'read-only' })
      const steps = [call('list_directory', { dir_path: bench.folder }), call('glob', { pattern: '*' }), done]
      await (await session.prompt(modelPrompt('Look around.', ...steps))).completed()
      expect(ended(session)).toEqual(['completed', 'completed'])
      expect(session.all('permission.requested')).toEqual([])
    }))

  it.each(['ask', 'bypass'] as const)('of a rule hold for commands in mode %s', (mode) =>
    play(async (bench) => {
      await bench.host.addRule({
        tool: 'run_shell_command',
        match: { command: '*note.txt' },
        decision: 'deny',
        scope: 'always',
      })
      const session = await bench.session({ mode })
      const turn = await session.prompt(adding)
      await turn.completed()
      expect(turn.all('permission.resolved')).toMatchObject([{ outcome: 'denied', by: 'rule' }])
      expect(await bench.file('note.txt')).toBeUndefined()
      expect(ended(session)).toEqual(['denied'])
    }),
  )
})
