import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findProgram, installedVersion } from '../adapters/find-program.ts'
import { type RegistryUnderTest, startRegistry } from '../adapters/npm-registry-under-test.ts'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import type { AgentAdapter, AgentConnection, AgentOutput } from '../core/agent-adapter.ts'
import { createCommandLine } from '../faces/http/command-line.ts'
import { claudeEnvironment } from '../testing/claude-environment.ts'
import { answerByPrompt, modelPrompt } from '../testing/model-by-prompt.ts'
import { startModelServer } from '../testing/model-server.ts'
import { agentDoctor } from './commands/agents-doctor.ts'
import { installAgents, type ListAgents, removeAgents, updateAgents } from './commands/agents-install.ts'
import type { Context } from './context.ts'
import { createHome } from './program-under-test.ts'
import { createStyle } from './terminal/style.ts'

let registry: RegistryUnderTest
let dataDir: string
const root = mkdtempSync(join(tmpdir(), 'parley-cli-agents-'))
beforeAll(async () => {
  registry = await startRegistry()
  for (const version of ['1.0.0', '1.1.0', '2.0.0']) registry.publish({ name: 'tiny-agent', version })
  registry.publish({ name: 'small-agent', version: '1.0.0' })
})
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]()
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
})
beforeEach(() => {
  dataDir = mkdtempSync(join(root, 'data-'))
})

/** A context of the program, and what it says. */
function contextUnderTest(env: Record<string, string> = registry.env) {
  const said = { out: '', err: '' }
  const plain = createStyle(false)
  const context: Context = {
    env,
    cwd: root,
    invocation: 'parley',
    commandLine: createCommandLine({ invocation: 'parley' }),
    stdin: process.stdin,
    output: {
      out(text) {
        said.out += text
      },
      err(text) {
        said.err += text
      },
      outStyle: plain,
      errStyle: plain,
      isOutTerminal: false,
      isErrTerminal: false,
      canAsk: false,
      columns: () => 100,
      readerLeft: new AbortController().signal,
      flush: async () => {},
    },
  }
  return { said, context }
}

function agentFor(id: string, folder: string | undefined, more: Partial<AgentAdapter> = {}): AgentAdapter {
  const name = `${id}-agent`
  const installed = { folder, agent: id }
  return {
    ...createScriptedAdapter({ id, name: id }),
    install: { package: name, version: '1.0.0' },
    async probe() {
      const path = findProgram({ name, env: {}, installed })
      const version = folder && installedVersion(folder, id, name)
      return { found: path !== undefined, ...(path && { path }), ...(version && { version }) }
    },
    ...more,
  }
}

const twoAgents: ListAgents = ({ agentsFolder } = {}) => [
  agentFor('tiny', agentsFolder),
  agentFor('small', agentsFolder),
  createScriptedAdapter({ id: 'own', name: 'Own' }),
]

const installed = (agent: string, folder = join(dataDir, 'agents')) =>
  installedVersion(folder, agent, `${agent}-agent`)

async function refusal(work: Promise<unknown>): Promise<ParleyError> {
  const thrown = await work.catch((error: unknown) => error)
  if (thrown instanceof ParleyError) return thrown
  throw new Error('was not refused', { cause: thrown })
}

describe('parley agents install', () => {
  it('installs what is asked for, says what it does, and does it once', async () => {
    const { said, context } = contextUnderTest()
    expect(await installAgents(['tiny', 'small'], { dataDir }, context, twoAgents)).toBe(0)
    expect([installed('tiny'), installed('small')]).toEqual(['1.0.0', '1.0.0'])
    expect(said.out).toMatch(/^tiny 1\.0\.0 installed in \d.*\/agents\/tiny\/.*\nsmall 1\.0\.0 installed in/)
    expect(said.err).toContain('installing tiny (tiny-agent 1.0.0)\n')
    const again = contextUnderTest()
    expect(await installAgents(['tiny'], { dataDir }, again.context, twoAgents)).toBe(0)
    expect(again.said).toEqual({ out: 'tiny 1.0.0 is there already\n', err: '' })
  })

  it('installs elsewhere, and as JSON', async () => {
    const { said, context } = contextUnderTest()
    await installAgents(['tiny'], { dataDir, into: 'elsewhere', json: true }, context, twoAgents)
    const path = join(root, 'elsewhere', 'tiny', 'node_modules', '.bin', 'tiny-agent')
    expect(JSON.parse(said.out)).toEqual({ id: 'tiny', tested: true, version: '1.0.0', path, changed: true })
    expect(existsSync(join(dataDir, 'agents'))).toBe(false)
  })

  it('installs another version only when it is asked to, and says that it is not tested', async () => {
    const { said, context } = contextUnderTest()
    expect(await installAgents(['tiny'], { dataDir, version: '1.1.0' }, context, twoAgents)).toBe(0)
    expect(said.err).toContain(
      'tiny 1.1.0 is not tested with this Parley; 1.0.0 is. To get that: parley agents update tiny\n',
    )
    expect(await installAgents(['tiny'], { dataDir, latest: true }, context, twoAgents)).toBe(0)
    expect(installed('tiny')).toBe('2.0.0')
    expect(said.out).toContain('tiny 2.0.0 installed in place of 1.1.0')
    const both = installAgents(['tiny'], { dataDir, latest: true, version: '1.0.0' }, context, twoAgents)
    expect((await refusal(both)).code).toBe('validation_error')
  })

  it('installs the rest if one fails, and ends with 1', async () => {
    const { said, context } = contextUnderTest()
    expect(await installAgents(['small', 'tiny'], { dataDir, version: '2.0.0' }, context, twoAgents)).toBe(1)
    expect(said.err).toContain('parley: There is no version 2.0.0 of small-agent.\n')
    expect([installed('small'), installed('tiny')]).toEqual([undefined, '2.0.0'])
  })

  it('knows what is not its own to install', async () => {
    const { said, context } = contextUnderTest()
    expect(await installAgents(['own'], { dataDir }, context, twoAgents)).toBe(0)
    expect(said.err).toBe('own is there already: it is not one that Parley installs.\n')
    const probe = async () => ({ found: false, hint: 'Get it from its makers.' })
    const absent: ListAgents = () => [{ ...createScriptedAdapter({ id: 'own', name: 'Own' }), probe }]
    const { code, message } = await refusal(installAgents(['own'], { dataDir }, context, absent))
    expect([code, message]).toEqual([
      'not_supported',
      'Own is not one that Parley installs. Get it from its makers.',
    ])
    const unknown = await refusal(installAgents(['tiny', 'nope'], { dataDir }, context, twoAgents))
    expect(unknown.message).toBe('There is no agent "nope". parley agents lists them.')
    expect(installed('tiny')).toBeUndefined()
  })

  it('stops at a signal, with 130, and leaves nothing', async () => {
    const { said, context } = contextUnderTest()
    const held = registry.hold('small-agent')
    const installing = installAgents(['small', 'tiny'], { dataDir }, context, twoAgents)
    await held.waits
    process.emit('SIGTERM')
    expect(await installing).toBe(130)
    held.release()
    expect(said.err).toContain('parley: Cancelled; what was installed before is untouched.\n')
    expect(readdirSync(join(dataDir, 'agents'))).toEqual([])
  })
})

describe('parley agents update and remove', () => {
  it('brings all that is installed to the tested version', async () => {
    const { said, context } = contextUnderTest()
    expect(await updateAgents([], { dataDir }, context, twoAgents)).toBe(0)
    expect(said.err).toBe('Parley has installed no agents.\n')
    await installAgents(['tiny'], { dataDir, latest: true }, context, twoAgents)
    expect(await updateAgents([], { dataDir }, context, twoAgents)).toBe(0)
    expect(installed('tiny')).toBe('1.0.0')
    expect(said.out).toMatch(/tiny 1\.0\.0 installed in place of 2\.0\.0/)
    await updateAgents(['tiny'], { dataDir, version: '1.1.0' }, context, twoAgents)
    expect(installed('tiny')).toBe('1.1.0')
  })

  it('updates and removes only what it has installed', async () => {
    const { said, context } = contextUnderTest()
    const { message } = await refusal(updateAgents(['tiny'], { dataDir }, context, twoAgents))
    expect(message).toMatch(/^Parley has not installed tiny.*parley agents install tiny$/)
    expect((await refusal(removeAgents(['tiny'], { dataDir }, context, twoAgents))).code).toBe('not_found')
    await installAgents(['tiny'], { dataDir }, context, twoAgents)
    expect(await removeAgents(['tiny'], { dataDir }, context, twoAgents)).toBe(0)
    expect(said.out).toMatch(/tiny removed\n$/)
    expect(readdirSync(join(dataDir, 'agents'))).toEqual([])
  })
})

/** A connection that says this and then nothing more. */
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
    const { said, context } = contextUnderTest()
    const list: ListAgents = ({ agentsFolder } = {}) => [
      agentFor('tiny', agentsFolder, { probe: found, ...more }),
    ]
    const exitCode = await agentDoctor('tiny', { dataDir, ...options }, context, list)
    return { exitCode, out: said.out }
  }

  it('says what is not there, and what to type', async () => {
    const { exitCode, out } = await examine({ probe: async () => ({ found: false }) })
    expect([exitCode, out]).toEqual([
      1,
      'fail found          not found. Install it: parley agents install tiny\n',
    ])
  })

  it('says that it is not signed in', async () => {
    const probe = async () => ({ found: true, signedIn: false, hint: 'Run tiny login.' })
    const { exitCode, out } = await examine({ probe })
    expect(exitCode).toBe(1)
    expect(out).toMatch(/^fail sign-in +not signed in. Run tiny login.$/m)
  })

  it('says that the version is not the tested one, and goes on', async () => {
    const { exitCode, out } = await examine({ probe: async () => ({ ...(await found()), version: '0.9.0' }) })
    expect(exitCode).toBe(0)
    expect(out).toMatch(/^warn version +0\.9\.0 is not tested.*1\.0\.0 is.*parley agents install tiny$/m)
    expect(out).toMatch(/^ok +end /m)
  })

  it('says that it does not answer, also if its adapter does not give up', async () => {
    const { exitCode, out } = await examine(
      {
        connect: ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      },
      { timeout: '50ms' },
    )
    expect(exitCode).toBe(1)
    expect(out).toMatch(/^fail start +tiny does not answer within 50 ms$/m)
    const stubborn = await examine({ connect: () => new Promise(() => {}) }, { timeout: '50ms' })
    expect(stubborn.out).toMatch(/^fail start +tiny does not answer within 50 ms$/m)
  })

  it('says why it cannot be started, with the end of what it wrote', async () => {
    const details = { stderrTail: 'one\n\ntwo \u001b[2J\nlibfoo.so is missing\n' }
    const connect = () =>
      Promise.reject(new ParleyError('agent_failed', 'Tiny ended with exit code 127.', { details }))
    const { exitCode, out } = await examine({ connect })
    expect(exitCode).toBe(1)
    expect(out).toMatch(
      /^fail start +Tiny ended with exit code 127\.\n +one\n +two ␛\[2J\n +libfoo\.so is missing\n$/m,
    )
  })

  it('notices one that dies when it has started', async () => {
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

  it('tells how a prompt ended, if it was asked to send one', async () => {
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
  })
})

function childrenOf(pid = 0): number[] {
  const found = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
  return found.trim().split('\n').map(Number)
}

describe('the program', () => {
  it.each([
    [['agents', 'install'], 2, "missing required argument 'agents'"],
    [['agents', 'install', 'nope'], 1, 'There is no agent "nope". npm start -- agents lists them.'],
    [['agents', 'instal', 'demo'], 2, 'too many arguments'],
    [['agents', 'update', 'demo'], 1, 'Parley has not installed demo'],
    [['agents', 'remove', 'demo'], 1, 'Parley has not installed demo'],
    [['agents', 'doctor', 'demo', '--timeout', 'soon'], 2, '--timeout takes a time'],
  ])('answers %j with code %i and one line', async (args, code, words) => {
    await using home = createHome()
    const { exitCode, stdout, stderr } = await home.run(args)
    expect(stderr).toContain(words)
    expect(stderr).toMatch(/^parley: [^\n]*\n$/)
    expect([stdout, exitCode]).toEqual(['', code])
  })

  it('checks the demo agent, and Claude without an account, without a server', async () => {
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

  it('starts the real Claude Code, speaks to it, and tells what its model says', async () => {
    await using home = createHome()
    const model = await startModelServer()
    try {
      answerByPrompt(model, /^never$/)
      const env = claudeEnvironment({ url: model.url, home: home.folder })
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
    } finally {
      await model.stop()
    }
  })

  it('leaves no process behind when it is stopped', async () => {
    await using home = createHome()
    const model = await startModelServer()
    try {
      const env = claudeEnvironment({ url: model.url, home: home.folder })
      const held = model.hold(0)
      const doctor = home.start(['agents', 'doctor', 'claude', '--prompt', 'Hello.'], { env })
      await held.reached
      expect(childrenOf(doctor.child.pid)).toHaveLength(1)
      const [agent] = childrenOf(doctor.child.pid)
      doctor.child.kill('SIGINT')
      expect((await doctor.ended).exitCode).toBe(130)
      expect(() => process.kill(agent ?? 0, 0)).toThrow('ESRCH')
    } finally {
      await model.stop()
    }
  })

  it('lists where agents are, the same with a server and without', async () => {
    await using home = createHome()
    const alone = await home.run(['agents'])
    expect(alone.stdout).toMatch(/^ID +FOUND +VERSION +SIGNED IN +WHERE +WHAT TO DO\n/)
    expect(alone.stdout).toMatch(/^claude +yes +\S+ +no +\S+\/claude +Set ANTHROPIC_API_KEY/m)
    const server = home.start(['serve', '--port', '0', '--json'])
    await server.until('"pid"')
    expect((await home.run(['agents'])).stdout).toBe(alone.stdout)
  })

  it('heeds what config.json says of agents', async () => {
    await using home = createHome()
    mkdirSync(home.dataDir)
    const configure = (agents: unknown) =>
      writeFileSync(join(home.dataDir, 'config.json'), JSON.stringify({ agents }))
    configure({ demo: { disabled: true }, claude: { env: { ANTHROPIC_API_KEY: 'placeholder' } } })
    const listed = await home.run(['agents'])
    expect(listed.stdout).not.toContain('demo')
    expect(listed.stdout).toMatch(/^claude +yes +\S+ +yes /m)
    configure({ claude: { command: '/nowhere/claude' } })
    expect((await home.run(['agents'])).stdout).toMatch(/^claude +no /m)
    expect((await home.run(['doctor', '--port', '0'])).stdout).toMatch(/^warn agent claude +not found/m)
    configure({ cluade: { env: {} } })
    const refused = await home.run(['agents'])
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toContain('agents.cluade is set, but there is no agent "cluade"')
    expect((await home.run(['doctor', '--port', '0'])).stdout).toMatch(/^fail agents +agents\.cluade is set/m)
    expect(readFileSync(join(home.dataDir, 'config.json'), 'utf8')).toContain('cluade')
  })
})
