import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { AgentAdapter, AgentConnection, AgentOutput } from '@parley/adapter-kit'
import { ParleyError } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import { AgentHome } from '../testing/agent-home.ts'
import { modelPrompt } from '../testing/model-by-prompt.ts'
import { folderForFile } from '../testing/temporary-folder.ts'
import { agentDoctor } from './commands/agents-doctor.ts'
import type { ListAgents } from './commands/agents-install.ts'
import { contextUnderTest } from './context-under-test.ts'
import { createHome } from './program-under-test.ts'

const dataDir = folderForFile()

/**
 * Creates a connection that emits these outputs and no others. With `stays`, its outputs end only when it is closed.
 */
function saying(outputs: readonly AgentOutput[], stays: boolean): AgentConnection {
  const closed = Promise.withResolvers<void>()
  return {
    events: (async function* () {
      yield* outputs
      if (stays) await closed.promise
    })(),
    send: async () => {},
    interrupt: async () => {},
    configure: async () => {},
    close: async () => closed.resolve(),
  }
}

describe('parley agents doctor', () => {
  const found = async () => ({ found: true, path: '/bin/tiny', version: '1.0.0', signedIn: true })
  const examine = async (
    more: Partial<AgentAdapter>,
    options: { timeout?: string; prompt?: string } = {},
  ) => {
    const { said, context } = contextUnderTest({ env: {}, cwd: dataDir })
    const install = { package: 'tiny-agent', version: '1.0.0' }
    const tiny = { ...createScriptedAdapter({ id: 'tiny', name: 'tiny' }), install, probe: found, ...more }
    const list: ListAgents = () => [tiny]
    const exitCode = await agentDoctor('tiny', { dataDir, ...options }, context, list)
    return { exitCode, out: said.out }
  }

  it('reports an agent that is not installed, with the command that installs it', async () => {
    const { exitCode, out } = await examine({ probe: async () => ({ found: false }) })
    expect([exitCode, out]).toEqual([
      1,
      'fail found               not found. Install it: parley agents install tiny\n',
    ])
  })

  it('reports an agent that is not signed in', async () => {
    const probe = async () => ({ found: true, signedIn: false, hint: 'Run tiny login.' })
    const { exitCode, out } = await examine({ probe })
    expect(exitCode).toBe(1)
    expect(out).toMatch(/^fail sign-in +not signed in. Run tiny login.$/m)
  })

  it('reports an agent that is found but cannot be used, and does not start it', async () => {
    const probe = async () => ({ ...(await found()), usable: false, hint: 'It is too old.' })
    const connect = () => Promise.reject(new Error('it was started'))
    const { exitCode, out } = await examine({ probe, connect })
    expect(exitCode).toBe(1)
    expect(out).toMatch(/^ok +found +\/bin\/tiny\nfail usable +cannot be used\. It is too old\.\n$/)
  })

  it('warns of an untested version, and continues', async () => {
    const { exitCode, out } = await examine({ probe: async () => ({ ...(await found()), version: '0.9.0' }) })
    expect(exitCode).toBe(0)
    expect(out).toMatch(/^warn version +0\.9\.0 is not tested.*1\.0\.0 is.*parley agents install tiny$/m)
    expect(out).toMatch(/^ok +end /m)
  })

  it('reports an agent that does not answer, even if its adapter ignores the abort', async () => {
    const { exitCode, out } = await examine(
      {
        connect: ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      },
      { timeout: '50ms' },
    )
    expect(exitCode).toBe(1)
    expect(out).toMatch(/^fail start +tiny did not answer within 50 ms$/m)
    const stubborn = await examine({ connect: () => new Promise(() => {}) }, { timeout: '50ms' })
    expect(stubborn.out).toMatch(/^fail start +tiny did not answer within 50 ms$/m)
  })

  it('reports why an agent cannot be started, with the end of its stderr', async () => {
    const details = { stderrTail: 'one\n\ntwo \u001b[2J\nlibfoo.so is missing\n' }
    const connect = () =>
      Promise.reject(new ParleyError('agent_failed', 'Tiny ended with exit code 127.', { details }))
    const { exitCode, out } = await examine({ connect })
    expect(exitCode).toBe(1)
    expect(out).toMatch(
      /^fail start +Tiny ended with exit code 127\.\n +one\n +two ␛\[2J\n +libfoo\.so is missing\n$/m,
    )
  })

  it('reports an agent that dies after its start', async () => {
    const last = {
      type: 'agent.disconnected',
      reason: 'crashed',
      exitCode: 3,
      stderrTail: 'no configuration',
    } as const
    const { exitCode, out } = await examine({ connect: async () => saying([last], false) })
    expect(exitCode).toBe(1)
    expect(out).toMatch(/^fail stays +tiny ended by itself \(exit code 3\)\n +no configuration$/m)
  })

  it('reports how a prompt ended, with --prompt', async () => {
    const connected: AgentOutput = { type: 'agent.connected', agentVersion: '1.0.0' }
    const failing: AgentOutput = {
      type: 'turn.ended',
      outcome: 'failed',
      stopReason: 'error',
      error: { code: 'agent_failed', message: 'The key is not valid.' },
    }
    const bad = await examine({ connect: async () => saying([connected, failing], true) }, { prompt: 'hi' })
    expect(bad.exitCode).toBe(1)
    expect(bad.out).toMatch(/^fail prompt +failed: The key is not valid\.$/m)
    expect(bad.out).toMatch(/^ok +end /m)
    const good = await examine({}, { prompt: 'hi' })
    expect(good.exitCode).toBe(0)
    expect(good.out).toMatch(/^ok +prompt +completed$/m)
    expect(good.out).not.toContain('messages')
    const strange: AgentOutput = {
      type: 'agent.unrecognised',
      native: { type: 'dance' },
      reason: 'it is new',
    }
    const odd = await examine(
      { connect: async () => saying([connected, strange, failing], true) },
      { prompt: 'hi' },
    )
    expect(odd.out).toMatch(
      /^warn messages +1 message was not understood since .*: dance: it is new \(1\)\./m,
    )
  })
})

function childrenOf(pid = 0): number[] {
  const found = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
  return found.trim().split('\n').map(Number)
}

describe('the program', () => {
  it('checks the demo agent and a signed-out Claude, without a server', async () => {
    await using home = createHome()
    const demo = await home.run(['agents', 'doctor', 'demo', '--prompt', 'help', '--json'])
    expect(demo.exitCode).toBe(0)
    const names = demo.stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { name: string }).name)
    expect(names).toEqual(['found', 'version', 'sign-in', 'start', 'introduction', 'prompt', 'end'])
    const claude = await home.run(['agents', 'doctor', 'claude'])
    expect(claude.exitCode).toBe(1)
    expect(claude.stdout).toMatch(/^fail sign-in +not signed in\. Set ANTHROPIC_API_KEY/m)
    expect(existsSync(home.dataDir)).toBe(false)
  })

  it('starts the real Claude Code, sends it a prompt, and reports the answer of its model', async () => {
    await using home = createHome()
    await using agents = await AgentHome.open()
    const env = agents.env('claude')
    const words = modelPrompt('Hello.', { content: 'Hello there.' })
    const well = await home.run(['agents', 'doctor', 'claude', '--prompt', words], { env })
    expect(well.stdout).toMatch(/^ok +introduction .*models/m)
    expect(well.stdout).toMatch(/^ok +prompt +completed$/m)
    expect(well.exitCode).toBe(0)
    const error = { message: 'invalid x-api-key', type: 'authentication_error' }
    const refused = modelPrompt('Hello again.', { error, status: 401 })
    const ill = await home.run(['agents', 'doctor', 'claude', '--prompt', refused], { env })
    expect(ill.stdout).toMatch(/^fail prompt +failed: /m)
    expect(ill.exitCode).toBe(1)
  })

  it('leaves no process behind when it is interrupted', async () => {
    await using home = createHome()
    await using agents = await AgentHome.open()
    const env = agents.env('claude')
    const held = agents.model.hold(1)
    const words = modelPrompt('Hello.', { content: 'Hello there.' })
    const doctor = home.start(['agents', 'doctor', 'claude', '--prompt', words], { env })
    await held.reached
    expect(childrenOf(doctor.child.pid)).toHaveLength(1)
    const [agent] = childrenOf(doctor.child.pid)
    doctor.child.kill('SIGINT')
    expect((await doctor.ended).exitCode).toBe(130)
    expect(() => process.kill(agent ?? 0, 0)).toThrow('ESRCH')
  })
})
