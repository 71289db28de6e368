import { join } from 'node:path'
import { type Bench, type BenchSession, killChildren } from '@parley/adapter-kit/testing'
import type { NewRule, PermissionMode } from '@parley/protocol'
import { describe, expect, it, vi } from 'vitest'
import { cutTranscript } from '../../testing/claude-transcript.ts'
import { hostOf } from '../../testing/contract-host.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { AcpWorld, type AgentName, agentNames, agents, call, done } from './acp-world-under-test.ts'
import { isAmong } from './processes-under-test.ts'

/** Tests the real programs when they are killed and when requests are refused. */
const world = await AcpWorld.start()

const ended = (session: BenchSession) => session.all('tool-call.ended').map(({ outcome }) => outcome)

describe.each(agentNames)('%s is killed', { timeout: 60_000 }, (name) => {
  const play = world.playShared(name)
  const { program, shell } = agents[name]
  const adding = modelPrompt('Add a line.', shell('echo once >> note.txt'), done)
  const kill = () => killChildren(program)

  it('in the middle of a turn: the turn fails, its commands end, and the next prompt resumes the conversation', () =>
    play(async (bench, processes) => {
      const session = await bench.session()
      await (await session.prompt(modelPrompt('The word is parsley.', done))).completed()
      const turn = await session.prompt(modelPrompt('Wait.', shell('tail -f /dev/null'), done))
      await turn.decide(await turn.asked(), 'allow')
      await vi.waitFor(() => expect(isAmong(processes(), 'tail -f /dev/null')).toBe(true), 10_000)
      await kill()
      expect(await turn.ended()).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
      expect(session.all('agent.disconnected')).toMatchObject([{ reason: 'crashed', signal: 'SIGKILL' }])
      const next = await session.prompt(modelPrompt('What did I say?', { say: 'history' }))
      await next.completed()
      expect(next.said).toContain('The word is parsley.')
    }))

  it.each([
    ['allow', 'once\n', 'completed'],
    ['deny', undefined, 'denied'],
  ] as const)(
    'with an open permission: the turn is parked, and the answer takes effect: %s',
    (decision, text, outcome) =>
      play(async (bench, processes) => {
        const session = await bench.session()
        const turn = await session.prompt(adding)
        const { requestId } = await turn.asked()
        processes()
        await kill()
        await session.until(() => turn.all('turn.parked')[0])
        expect((await bench.host.state(session.id)).requests).toMatchObject([{ requestId, stale: true }])
        expect(await bench.file('note.txt')).toBeUndefined()
        await turn.decide({ requestId }, decision)
        await turn.completed()
        expect(await bench.file('note.txt')).toBe(text)
        expect(ended(session)).toEqual(['cancelled', outcome])
      }),
  )
})

it.each(agentNames)(
  '%s is killed in the second step of a turn: the completed step is not repeated',
  { timeout: 60_000 },
  (name) => world.play(name, (bench) => killInSecondStep(bench, name)),
)

it.each([
  ['the result of the first step', 'result', 1],
  ['the call of the second step', 'call', 2],
] as const)(
  'claude-acp is killed in the second step before it has stored %s: the completed step is not repeated',
  { timeout: 60_000 },
  (_, part, nth) =>
    world.play('claude-acp', (bench) =>
      killInSecondStep(bench, 'claude-acp', () => cutTranscript(world.home, bench.folder, part, nth)),
    ),
)

/** Kills the agent while its second call waits for an answer. Each of the two calls must run once. */
async function killInSecondStep(bench: Bench, name: AgentName, afterKill = () => {}): Promise<void> {
  const { program, shell } = agents[name]
  const session = await bench.session()
  const steps = [shell('echo one >> note.txt'), shell('echo two >> note.txt'), done]
  const turn = await session.prompt(modelPrompt('Add two lines.', ...steps))
  await turn.decide(await turn.asked(), 'allow')
  await session.until(() => turn.all('tool-call.ended')[0])
  const { requestId } = await turn.asked()
  await killChildren(program)
  await session.until(() => turn.all('turn.parked')[0])
  afterKill()
  await turn.decide({ requestId }, 'allow')
  await turn.completed()
  expect(await bench.file('note.txt')).toBe('one\ntwo\n')
  expect(turn.all('permission.resolved').at(-1)).toMatchObject({ carriedFrom: requestId })
}

describe('permissions of Gemini', { timeout: 60_000 }, () => {
  const shared = world.playShared('gemini')
  /** Runs a case in a session with this mode. The rule, if given, is removed after the case. */
  const play = (
    mode: PermissionMode,
    work: (session: BenchSession, bench: Bench) => Promise<void>,
    rule?: NewRule,
  ) =>
    shared(async (bench) => {
      const session = await bench.session()
      await session.command({ type: 'session.configure', mode })
      const added = rule && (await hostOf(bench).addRule(rule))
      try {
        await work(session, bench)
      } finally {
        if (added) await hostOf(bench).removeRule(added.ruleId)
      }
    })
  const { shell } = agents.gemini
  const adding = modelPrompt('Add a line.', shell('echo once >> note.txt'), done)
  const file = (bench: Bench) =>
    call('write_file', { file_path: join(bench.folder, 'new.txt'), content: 'new\n' })

  it.each([
    ['read-only', 'denied', 'mode'],
    ['accept-edits', 'allowed', 'mode'],
    ['bypass', 'allowed', 'mode'],
  ] as const)('follow mode %s for files: %s', (mode, outcome, by) =>
    play(mode, async (session, bench) => {
      const turn = await session.prompt(modelPrompt('Write.', file(bench), done))
      await turn.completed()
      expect(turn.all('permission.resolved')).toMatchObject([{ outcome, by }])
      expect(await bench.file('new.txt')).toBe(outcome === 'allowed' ? 'new\n' : undefined)
    }),
  )

  it('are requested once per change, and an allowed change is written without another request', () =>
    play('ask', async (session, bench) => {
      const path = join(bench.folder, 'new.txt')
      const change = {
        file_path: path,
        old_string: 'new',
        new_string: 'newer',
        instruction: 'Make it newer.',
      }
      const turn = await session.prompt(modelPrompt('Write.', file(bench), call('replace', change), done))
      const writing = await turn.asked()
      expect(await bench.file('new.txt')).toBeUndefined()
      await turn.decide(writing, 'allow')
      const replacing = await turn.asked()
      expect(await bench.file('new.txt')).toBe('new\n')
      await turn.decide(replacing, 'allow')
      await turn.completed()
      expect(await bench.file('new.txt')).toBe('newer\n')
      expect(turn.all('permission.requested').map(({ tool }) => tool)).toEqual(['write_file', 'replace'])
    }))

  it('are denied by a rule on the file write itself, even after the call was allowed', () => {
    const match = { path: '*/new.txt' }
    const rule: NewRule = { tool: 'write_text_file', match, decision: 'deny', scope: 'always' }
    const deniedWrite = async (session: BenchSession, bench: Bench) => {
      const turn = await session.prompt(modelPrompt('Write.', file(bench), done))
      await turn.decide(await turn.asked(), 'allow')
      await turn.completed()
      expect(await bench.file('new.txt')).toBeUndefined()
      expect(turn.all('permission.resolved')).toMatchObject([
        { outcome: 'allowed', by: 'person' },
        { outcome: 'denied', by: 'rule' },
      ])
    }
    return play('ask', deniedWrite, rule)
  })

  it('are not needed for reading', () =>
    play('read-only', async (session, bench) => {
      const steps = [call('list_directory', { dir_path: bench.folder }), call('glob', { pattern: '*' }), done]
      await (await session.prompt(modelPrompt('Look around.', ...steps))).completed()
      expect(ended(session)).toEqual(['completed', 'completed'])
      expect(session.all('permission.requested')).toEqual([])
    }))

  it.each(['ask', 'bypass'] as const)('are denied by a rule for commands in mode %s', (mode) => {
    const match = { command: '*note.txt' }
    const rule: NewRule = { tool: 'run_shell_command', match, decision: 'deny', scope: 'always' }
    const deniedCommand = async (session: BenchSession, bench: Bench) => {
      const turn = await session.prompt(adding)
      await turn.completed()
      expect(turn.all('permission.resolved')).toMatchObject([{ outcome: 'denied', by: 'rule' }])
      expect(await bench.file('note.txt')).toBeUndefined()
      expect(ended(session)).toEqual(['denied'])
    }
    return play(mode, deniedCommand, rule)
  })
})
