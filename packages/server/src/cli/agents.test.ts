import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import { findProgram, installedVersion } from '@parley/adapter-kit/find-program'
import { ParleyError } from '@parley/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { builtInAdapters } from '../adapters/index.ts'
import { type RegistryUnderTest, startRegistry } from '../adapters/npm-registry-under-test.ts'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import { installAgents, type ListAgents, removeAgents, updateAgents } from './commands/agents-install.ts'
import { contextUnderTest } from './context-under-test.ts'
import { createHome } from './program-under-test.ts'

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

function agentFor(id: string, folder: string | undefined): AgentAdapter {
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
  it('installs the given agents once, and reports each installation', async () => {
    const { said, context } = contextUnderTest({ env: registry.env, cwd: root })
    expect(await installAgents(['tiny', 'small'], { dataDir }, context, twoAgents)).toBe(0)
    expect([installed('tiny'), installed('small')]).toEqual(['1.0.0', '1.0.0'])
    expect(said.out).toMatch(/^tiny 1\.0\.0 installed in \d.*\/agents\/tiny\/.*\nsmall 1\.0\.0 installed in/)
    expect(said.err).toContain('installing tiny (tiny-agent 1.0.0)\n')
    const again = contextUnderTest({ env: registry.env, cwd: root })
    expect(await installAgents(['tiny'], { dataDir }, again.context, twoAgents)).toBe(0)
    expect(again.said).toEqual({ out: 'tiny 1.0.0 is already installed\n', err: '' })
  })

  it('installs into another folder, and prints JSON', async () => {
    const { said, context } = contextUnderTest({ env: registry.env, cwd: root })
    await installAgents(['tiny'], { dataDir, into: 'elsewhere', json: true }, context, twoAgents)
    const path = join(root, 'elsewhere', 'tiny', 'node_modules', '.bin', 'tiny-agent')
    expect(JSON.parse(said.out)).toEqual({ id: 'tiny', tested: true, version: '1.0.0', path, changed: true })
    expect(existsSync(join(dataDir, 'agents'))).toBe(false)
  })

  it('installs another version only on request, and warns that it is not tested', async () => {
    const { said, context } = contextUnderTest({ env: registry.env, cwd: root })
    expect(await installAgents(['tiny'], { dataDir, version: '1.1.0' }, context, twoAgents)).toBe(0)
    expect(said.err).toContain(
      'tiny 1.1.0 is not tested with this version of Parley; 1.0.0 is. To install the tested version: parley agents update tiny\n',
    )
    expect(await installAgents(['tiny'], { dataDir, latest: true }, context, twoAgents)).toBe(0)
    expect(installed('tiny')).toBe('2.0.0')
    expect(said.out).toContain('tiny 2.0.0 installed in place of 1.1.0')
    const both = installAgents(['tiny'], { dataDir, latest: true, version: '1.0.0' }, context, twoAgents)
    expect((await refusal(both)).code).toBe('validation_error')
  })

  it('installs the others if one fails, and exits with 1', async () => {
    const { said, context } = contextUnderTest({ env: registry.env, cwd: root })
    expect(await installAgents(['small', 'tiny'], { dataDir, version: '2.0.0' }, context, twoAgents)).toBe(1)
    expect(said.err).toContain('parley: There is no version 2.0.0 of small-agent.\n')
    expect([installed('small'), installed('tiny')]).toEqual([undefined, '2.0.0'])
  })

  it('refuses agents that it cannot install, and unknown ones', async () => {
    const { said, context } = contextUnderTest({ env: registry.env, cwd: root })
    expect(await installAgents(['own'], { dataDir }, context, twoAgents)).toBe(0)
    expect(said.err).toBe('own is already installed, but not by Parley, so it was left unchanged.\n')
    const probe = async () => ({ found: false, hint: 'Get it from its makers.' })
    const absent: ListAgents = () => [{ ...createScriptedAdapter({ id: 'own', name: 'Own' }), probe }]
    const { code, message } = await refusal(installAgents(['own'], { dataDir }, context, absent))
    expect([code, message]).toEqual(['not_supported', 'Parley does not install Own. Get it from its makers.'])
    const unknown = await refusal(installAgents(['tiny', 'nope'], { dataDir }, context, twoAgents))
    expect(unknown.message).toBe('There is no agent "nope". Known agents: tiny, small, own.')
    expect(installed('tiny')).toBeUndefined()
  })

  it('with --wait waits for another installation, and finds it done', async () => {
    const { said, context } = contextUnderTest({ env: registry.env, cwd: root })
    const held = registry.hold('tiny-agent')
    const first = installAgents(['tiny'], { dataDir, version: '1.1.0' }, context, twoAgents)
    await held.waits
    const busy = contextUnderTest({ env: registry.env, cwd: root })
    expect(await installAgents(['tiny'], { dataDir, version: '1.1.0' }, busy.context, twoAgents)).toBe(1)
    expect(busy.said.err).toMatch(/^parley: tiny is being installed.*by process \d+ right now/m)
    const second = contextUnderTest({ env: registry.env, cwd: root })
    const options = { dataDir, version: '1.1.0', wait: true }
    const waiting = installAgents(['tiny'], options, second.context, twoAgents)
    held.release()
    expect([await first, await waiting]).toEqual([0, 0])
    expect(said.out).toContain('tiny 1.1.0 installed')
    expect(second.said.out).toBe('tiny 1.1.0 is already installed\n')
  })

  it('stops at a signal with exit code 130, and leaves nothing behind', async () => {
    const { said, context } = contextUnderTest({ env: registry.env, cwd: root })
    const held = registry.hold('small-agent')
    const installing = installAgents(['small', 'tiny'], { dataDir }, context, twoAgents)
    await held.waits
    process.emit('SIGTERM')
    expect(await installing).toBe(130)
    held.release()
    expect(said.err).toContain('parley: Cancelled; the previous installation is unchanged.\n')
    expect(readdirSync(join(dataDir, 'agents'))).toEqual([])
  })
})

describe('parley agents update and remove', () => {
  it('update brings all installed agents to the tested version', async () => {
    const { said, context } = contextUnderTest({ env: registry.env, cwd: root })
    expect(await updateAgents([], { dataDir }, context, twoAgents)).toBe(0)
    expect(said.err).toBe('Parley has installed no agents.\n')
    await installAgents(['tiny'], { dataDir, latest: true }, context, twoAgents)
    expect(await updateAgents([], { dataDir }, context, twoAgents)).toBe(0)
    expect(installed('tiny')).toBe('1.0.0')
    expect(said.out).toMatch(/tiny 1\.0\.0 installed in place of 2\.0\.0/)
    await updateAgents(['tiny'], { dataDir, version: '1.1.0' }, context, twoAgents)
    expect(installed('tiny')).toBe('1.1.0')
  })

  it('update and remove only affect agents that Parley has installed', async () => {
    const { said, context } = contextUnderTest({ env: registry.env, cwd: root })
    const { message } = await refusal(updateAgents(['tiny'], { dataDir }, context, twoAgents))
    expect(message).toMatch(/^Parley has not installed tiny.*parley agents install tiny$/)
    expect((await refusal(removeAgents(['tiny'], { dataDir }, context, twoAgents))).code).toBe('not_found')
    await installAgents(['tiny'], { dataDir }, context, twoAgents)
    expect(await removeAgents(['tiny'], { dataDir }, context, twoAgents)).toBe(0)
    expect(said.out).toMatch(/tiny removed\n$/)
    expect(readdirSync(join(dataDir, 'agents'))).toEqual([])
  })
})

describe('the program', () => {
  it.each([
    [['agents', 'install'], 2, "missing required argument 'agents'"],
    [['agents', 'instal', 'demo'], 2, 'use install, update'],
    [['agents', 'update', 'demo'], 1, 'Parley has not installed demo'],
    [['agents', 'remove', 'demo'], 1, 'Parley has not installed demo'],
    [['agents', 'doctor', 'demo', '--timeout', 'soon'], 2, '--timeout takes a time'],
  ])('answers %j with exit code %i and one line', async (args, code, words) => {
    await using home = createHome()
    const { exitCode, stdout, stderr } = await home.run(args)
    expect(stderr).toContain(words)
    expect(stderr).toMatch(/^parley: [^\n]*\n$/)
    expect([stdout, exitCode]).toEqual(['', code])
  })

  it('installs, lists and removes an agent from a test registry', async () => {
    await using home = createHome()
    const { package: name = '', version = '' } =
      builtInAdapters().find(({ id }) => id === 'gemini')?.install ?? {}
    registry.publish({ name, version, programName: 'gemini' })
    const env = { ...registry.env, HOME: home.folder }
    expect((await home.run(['agents'], { env })).stdout).toMatch(
      /^gemini +no +- +- +- +npm start -- agents install gemini$/m,
    )
    const { exitCode, stdout, stderr } = await home.run(['agents', 'install', 'gemini'], { env })
    const path = join(home.dataDir, 'agents', 'gemini', 'node_modules', '.bin', 'gemini')
    expect(stdout).toMatch(new RegExp(`^gemini ${version} installed in .*: ${path}\n$`))
    expect(exitCode).toBe(0)
    expect(stderr.startsWith(`installing gemini (${name} ${version})\n`)).toBe(true)
    expect(readdirSync(home.dataDir)).toContain('agents')
    expect((await home.run(['agents'], { env })).stdout).toMatch(
      new RegExp(`^gemini +unusable +${version} .*~?/\\S+/agents/gemini/\\S+`, 'm'),
    )
    expect(await home.run(['agents', 'remove', 'gemini'], { env })).toMatchObject({
      exitCode: 0,
      stdout: 'gemini removed\n',
    })
    expect(readdirSync(join(home.dataDir, 'agents'))).toEqual([])
  })

  it('lists the paths of agents, with the same result with and without a server', async () => {
    await using home = createHome()
    const alone = await home.run(['agents'])
    expect(alone.stdout).toMatch(/^ID +FOUND +VERSION +SIGNED IN +WHERE +WHAT TO DO\n/)
    expect(alone.stdout).toMatch(/^claude +yes +\S+ +no +\S+\/claude +Set ANTHROPIC_API_KEY/m)
    await home.serve()
    expect((await home.run(['agents'])).stdout).toBe(alone.stdout)
  })

  it('applies the agent settings in config.json', async () => {
    await using home = createHome()
    mkdirSync(home.dataDir)
    const configure = (agents: unknown) =>
      writeFileSync(join(home.dataDir, 'config.json'), JSON.stringify({ agents }))
    configure({ demo: { disabled: true }, claude: { env: { ANTHROPIC_API_KEY: 'placeholder' } } })
    const listed = await home.run(['agents'])
    expect(listed.stdout).not.toContain('demo')
    const { stderr } = await home.run(['agents', 'doctor', 'demo'])
    expect(stderr).toBe('parley: There is no agent "demo". It is disabled in config.json.\n')
    expect(listed.stdout).toMatch(/^claude +yes +\S+ +yes /m)
    configure({ claude: { command: '/nowhere/claude' } })
    expect((await home.run(['agents'])).stdout).toMatch(/^claude +no /m)
    expect((await home.run(['doctor', '--port', '0'])).stdout).toMatch(/^warn agent claude +not found/m)
    configure({ claude: { command: 'npm' } })
    expect((await home.run(['agents'])).stdout).toMatch(/^claude +yes +\S+ +no +\/\S+\/npm /m)
    configure({ claude: { args: ['--fast'] } })
    expect((await home.run(['agents'])).stderr).toContain('claude does not accept arguments')
    configure({ cluade: { env: {} } })
    const refused = await home.run(['agents'])
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toContain('agents.cluade is set, but there is no agent "cluade"')
    expect((await home.run(['doctor', '--port', '0'])).stdout).toMatch(/^fail agents +agents\.cluade is set/m)
    expect(readFileSync(join(home.dataDir, 'config.json'), 'utf8')).toContain('cluade')
  })
})
