import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram, installedVersion } from '@parley/adapter-kit/find-program'
import { ParleyError } from '@parley/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type InstallProgress, type InstallRequest, installAgent, removeAgent } from './install.ts'
import {
  type PackageUnderTest,
  type RegistryUnderTest,
  startRegistry,
  writeInstalled,
} from './npm-registry-under-test.ts'

/** The tests run the real npm against a registry on loopback. */
const root = mkdtempSync(join(tmpdir(), 'parley-install-'))
let registry: RegistryUnderTest
let agentsFolder: string
/**
 * A new package name for each test, since npm caches the packages that it fetched. The name is short, since npm hides
 * text that looks like a key.
 */
let name: string
let tests = 0

beforeAll(async () => {
  registry = await startRegistry()
})
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]()
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
})
beforeEach(() => {
  agentsFolder = join(root, randomUUID(), 'agents')
  name = `tiny-${process.pid}-${++tests}`
})

const publish = (version: string, more: Partial<PackageUnderTest> = {}) =>
  registry.publish({ name, version, ...more })

const install = (version: string, more: Partial<InstallRequest> = {}) =>
  installAgent({ agentsFolder, agent: 'tiny', package: name, version, env: registry.env, ...more })

const refusal = (work: Promise<unknown>): Promise<ParleyError> =>
  work.then(
    () => {
      throw new Error('was not refused')
    },
    (thrown: unknown) => {
      if (thrown instanceof ParleyError) return thrown
      throw thrown
    },
  )

const inFolder = () => readdirSync(agentsFolder).toSorted()
const versionThere = () => installedVersion(agentsFolder, 'tiny', name)
const programThere = () => {
  const installed = { folder: agentsFolder, agent: 'tiny' }
  const path = findProgram({ name, env: {}, installed }) ?? 'nothing'
  return execFileSync(process.execPath, [path], { encoding: 'utf8' }).trim()
}

/** The npm processes that install the package of this test. */
const npmProcesses = () =>
  execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(`${name}@`) && line.includes('install'))
    .map((line) => Number.parseInt(line, 10))

describe('an installation', () => {
  it('puts the exact version into an npm project of its own and reports the progress of npm', async () => {
    publish('1.0.0')
    publish('1.1.0')
    const progressed: InstallProgress[] = []
    const done = await install('1.0.0', { progress: (progress) => progressed.push(progress) })
    const path = join(agentsFolder, 'tiny', 'node_modules', '.bin', name)
    expect(done).toEqual({ version: '1.0.0', path, changed: true })
    expect(programThere()).toBe('1.0.0')
    expect(inFolder()).toEqual(['tiny'])
    const project = JSON.parse(readFileSync(join(agentsFolder, 'tiny', 'package.json'), 'utf8'))
    expect(project).toMatchObject({ private: true, dependencies: { [name]: '1.0.0' } })
    const fetched = progressed.find(({ line }) => line.startsWith('fetch GET 200') && line.includes(name))
    expect(fetched?.elapsedMs).toBeGreaterThan(0)
    expect(existsSync(join(agentsFolder, 'tiny', '.home'))).toBe(false)
  })

  it('makes no request if that version is installed already', async () => {
    publish('1.0.0')
    await install('1.0.0')
    const before = registry.asked.length
    expect(await install('1.0.0', { env: {} })).toMatchObject({ version: '1.0.0', changed: false })
    expect(registry.asked.length).toBe(before)
  })

  it('replaces another version, and resolves the tag latest', async () => {
    publish('1.0.0')
    publish('2.0.0')
    await install('1.0.0')
    expect(await install('latest')).toMatchObject({ version: '2.0.0', replaced: '1.0.0', changed: true })
    expect(programThere()).toBe('2.0.0')
    expect(await install('latest')).toMatchObject({ version: '2.0.0', changed: false })
    expect(await install('1.0.0')).toMatchObject({ version: '1.0.0', replaced: '2.0.0' })
    expect(inFolder()).toEqual(['tiny'])
  })

  it('finds the program of a scoped package by the program name', async () => {
    name = `@tiny/${name}`
    publish('1.0.0', { programName: 'tiny' })
    const { path } = await install('1.0.0')
    expect(path).toBe(join(agentsFolder, 'tiny', 'node_modules', '.bin', 'tiny'))
    expect(execFileSync(process.execPath, [path], { encoding: 'utf8' })).toBe('1.0.0\n')
  })

  it('runs the install script of a package whose program needs it, and no other install script', async () => {
    const makes = (file: string) => `node -e "require('fs').writeFileSync('${file}', 'console.log(7)')"`
    const helper = `helper-${name}`
    registry.publish({ name: helper, version: '1.0.0', scripts: { postinstall: makes('ran.js') } })
    const dependencies = { [helper]: '1.0.0' }
    const scripts = { postinstall: makes('made.js') }
    publish('1.0.0', { program: "require('./made.js')", scripts, dependencies })
    await install('1.0.0')
    expect(programThere()).toBe('7')
    const inside = (...path: string[]) => join(agentsFolder, 'tiny', 'node_modules', ...path)
    expect(existsSync(inside(helper, 'package.json'))).toBe(true)
    expect(existsSync(inside(helper, 'ran.js'))).toBe(false)

    publish('2.0.0', { scripts, dependencies })
    await install('2.0.0')
    expect(existsSync(inside(name, 'made.js'))).toBe(false)
  })

  it('gives npm a reduced environment with all npm variables', async () => {
    const dump = "require('fs').writeFileSync('env.json', JSON.stringify(process.env))"
    const scripts = { postinstall: `node -e "${dump}"` }
    publish('1.0.0', { program: "require('./env.json')", scripts })
    const secrets = { ANTHROPIC_API_KEY: 'placeholder', GITHUB_TOKEN: 'placeholder', PARLEY_TOKEN: 'x' }
    const own = {
      npm_config_maxsockets: '3',
      NPM_TOKEN: 'of-npm',
      https_proxy: 'http://127.0.0.1:1',
      no_proxy: '127.0.0.1',
    }
    const ofParent = { npm_config_local_prefix: root, npm_config_global: 'true', npm_config_dry_run: 'true' }
    await install('1.0.0', { env: { ...registry.env, ...secrets, ...own, ...ofParent } })
    const file = join(agentsFolder, 'tiny', 'node_modules', name, 'env.json')
    const seen = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>
    expect(seen).toMatchObject(own)
    expect(Object.keys(seen).filter((key) => key in secrets)).toEqual([])
  })

  it('reads the global settings of the npm that it found, even if our Node runs that npm', async () => {
    publish('1.0.0')
    const prefix = join(root, randomUUID())
    mkdirSync(join(prefix, 'bin'), { recursive: true })
    mkdirSync(join(prefix, 'etc'))
    symlinkSync(findProgram({ name: 'npm', env: process.env }) ?? '', join(prefix, 'bin', 'npm'))
    writeFileSync(join(prefix, 'etc', 'npmrc'), `registry=${registry.url}\n`)
    const { npm_config_registry, PATH, ...env } = registry.env
    await install('1.0.0', { env: { ...env, PATH: `${join(prefix, 'bin')}:${PATH}` } })
    expect(versionThere()).toBe('1.0.0')
  })
})

describe('a failed installation leaves the installed version in place', () => {
  beforeEach(() => {
    publish('1.0.0')
    writeInstalled(join(agentsFolder, 'tiny'), { name, version: '1.0.0' })
  })
  const unharmed = () => {
    expect(inFolder()).toEqual(['tiny'])
    expect(programThere()).toBe('1.0.0')
    expect(npmProcesses()).toEqual([])
  }

  it('for a version that does not exist', async () => {
    const { code, message, details } = await refusal(install('9.9.9'))
    expect(code).toBe('not_found')
    expect(details).toMatchObject({ reason: 'version', npm: 'ETARGET' })
    expect(message).toBe(`There is no version 9.9.9 of ${name}.`)
    unharmed()
  })

  it('for a package that does not exist', async () => {
    const { code, details } = await refusal(install('2.0.0', { package: `no-${name}` }))
    expect(code).toBe('not_found')
    expect(details).toMatchObject({ reason: 'package', npm: 'E404' })
    unharmed()
  })

  it('for a registry that cannot be reached, with an early and clear error', async () => {
    const env = { ...registry.env, npm_config_registry: 'http://127.0.0.1:9/' }
    const { code, message, details } = await refusal(install('2.0.0', { env }))
    expect(code).toBe('agent_failed')
    expect(details).toMatchObject({ reason: 'network', npm: 'ECONNREFUSED' })
    expect(message).toMatch(/^npm cannot reach its registry.*network.*proxy/)
    unharmed()
  })

  it.each([
    ['ends with an error', "console.error('no such thing\\nlibfoo.so is missing'); process.exit(3)"],
    ['is missing', false as const],
  ])('for a package whose program %s', async (_, program) => {
    publish('2.0.0', { program })
    const { code, message, details } = await refusal(install('2.0.0'))
    expect(code).toBe('agent_failed')
    expect(details).toMatchObject({ reason: 'broken' })
    expect(message).toMatch(
      program ? /does not start \(exit code 3\): libfoo.so is missing$/ : /does not start \(ENOENT\)/,
    )
    unharmed()
  })

  it('for a package whose version differs from the version in the registry', async () => {
    publish('2.0.0', { claims: '2.0.1' })
    const { code, message } = await refusal(install('2.0.0'))
    expect(code).toBe('agent_failed')
    expect(message).toContain('npm installed 2.0.1 instead')
    unharmed()
  })

  it('for text that is not a version', async () => {
    const before = registry.asked.length
    for (const version of ['file:../elsewhere', 'git+ssh://there', '1.0.0 || 2', '../x', '', '-g']) {
      expect([version, (await refusal(install(version))).code]).toEqual([version, 'validation_error'])
    }
    expect(registry.asked.length).toBe(before)
    unharmed()
  })

  it('for an installation that is cancelled', async () => {
    publish('2.0.0')
    const held = registry.hold(`${name}/-/2.0.0`)
    const stop = new AbortController()
    const installing = refusal(install('2.0.0', { signal: stop.signal }))
    await held.waits
    expect(npmProcesses()).toHaveLength(1)
    expect(inFolder()).toHaveLength(3)
    stop.abort()
    expect((await installing).code).toBe('cancelled')
    unharmed()
    held.release()
    expect(await install('2.0.0')).toMatchObject({ changed: true })
  })

  it('for an installation whose npm is killed', async () => {
    publish('2.0.0')
    const held = registry.hold(`${name}/-/2.0.0`)
    const installing = refusal(install('2.0.0'))
    await held.waits
    for (const pid of npmProcesses()) process.kill(pid, 'SIGKILL')
    const { code, message } = await installing
    expect(code).toBe('agent_failed')
    expect(message).toContain('SIGKILL')
    unharmed()
  })

  it('for a machine without npm', async () => {
    const { code, message } = await refusal(install('2.0.0', { env: { ...registry.env, PATH: root } }))
    expect(code).toBe('not_found')
    expect(message).toMatch(/^npm was not found\. Install/)
    unharmed()
  })

  it('for an agents folder that cannot be created', async () => {
    const file = join(root, randomUUID())
    writeFileSync(file, '')
    const { code, message } = await refusal(install('1.0.0', { agentsFolder: join(file, 'agents') }))
    expect(code).toBe('agent_failed')
    expect(message).toMatch(/^Parley cannot write to .* \(ENOTDIR\)/)
  })
})

/** Runs an installation in another process, which the test can kill or restrict. */
function installElsewhere(version: string, shell = ':') {
  const request = { agentsFolder, agent: 'tiny', package: name, version, env: registry.env }
  const source = `
    import { installAgent } from ${JSON.stringify(new URL('install.ts', import.meta.url).href)}
    await installAgent(${JSON.stringify(request)}).catch((error) => {
      console.log(JSON.stringify({ code: error.code, message: error.message, details: error.details }))
    })`
  const node = [process.execPath, '--conditions=source', '--input-type=module', '-e', source]
  const words = node.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
  const child = spawn('sh', ['-c', `${shell} && exec ${words}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const closed = once(child, 'close')
  return { child, ended: closed.then(() => said) }
}

describe('an installation under faults', () => {
  it('is completed by the next one after its process was killed', async () => {
    publish('1.0.0')
    const held = registry.hold(`${name}/-/1.0.0`)
    const { child, ended } = installElsewhere('1.0.0')
    await held.waits
    const npm = npmProcesses()
    child.kill('SIGKILL')
    await ended
    expect(inFolder()).toEqual(expect.arrayContaining(['.tiny.lock']))
    for (const pid of npm) process.kill(pid, 'SIGKILL')
    held.release()
    expect(await install('1.0.0')).toMatchObject({ changed: true })
    expect(inFolder()).toEqual(['tiny'])
  })

  it('restores the previous version that a killed installation had moved aside', async () => {
    publish('1.0.0')
    await install('1.0.0')
    renameSync(join(agentsFolder, 'tiny'), join(agentsFolder, '.old.tiny.x'))
    expect(versionThere()).toBeUndefined()
    expect((await refusal(install('9.9.9'))).code).toBe('not_found')
    expect(programThere()).toBe('1.0.0')
    expect(inFolder()).toEqual(['tiny'])
  })

  it('reports a full disk', async () => {
    publish('1.0.0', { files: { 'large.txt': 'x'.repeat(4_000_000) } })
    const said = await installElsewhere('1.0.0', 'ulimit -f 1024').ended
    expect(JSON.parse(said)).toMatchObject({ code: 'agent_failed', details: { reason: 'space' } })
    expect(said).toContain(`There is no space left for ${name}`)
    expect(inFolder()).toEqual([])
  })

  it('refuses a second installation at the same time, from this process and from another', async () => {
    publish('1.0.0')
    const held = registry.hold(`${name}/-/1.0.0`)
    const first = install('1.0.0')
    await held.waits
    const here = await refusal(install('1.0.0'))
    expect(here.code).toBe('busy')
    expect(here.message).toContain(`process ${process.pid} right now`)
    expect(JSON.parse(await installElsewhere('1.0.0').ended)).toMatchObject({ code: 'busy' })
    held.release()
    expect(await first).toMatchObject({ version: '1.0.0', changed: true })
    expect(inFolder()).toEqual(['tiny'])
  })

  it.each([
    ['of a process that no longer runs', () => `${deadPid()} someone`],
    ['of an earlier process with our process id', () => `${process.pid} someone`],
    ['that is damaged', () => 'nonsense'],
  ])('ignores a lock %s', async (_, content) => {
    publish('1.0.0')
    mkdirSync(agentsFolder, { recursive: true })
    writeFileSync(join(agentsFolder, '.tiny.lock'), content())
    expect(await install('1.0.0')).toMatchObject({ changed: true })
    expect(inFolder()).toEqual(['tiny'])
  })
})

function deadPid(): number {
  return Number(execFileSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' }))
}

describe('removing an agent', () => {
  it('leaves no files, and returns false if the agent was not installed', async () => {
    publish('1.0.0')
    expect(await removeAgent(agentsFolder, 'tiny')).toBe(false)
    await install('1.0.0')
    expect(await removeAgent(agentsFolder, 'tiny')).toBe(true)
    expect(inFolder()).toEqual([])
    expect(await removeAgent(agentsFolder, 'tiny')).toBe(false)
  })

  it('is refused during an installation', async () => {
    publish('1.0.0')
    publish('2.0.0')
    await install('1.0.0')
    const held = registry.hold(`${name}/-/2.0.0`)
    const stop = new AbortController()
    const installing = refusal(install('2.0.0', { signal: stop.signal }))
    await held.waits
    expect((await refusal(removeAgent(agentsFolder, 'tiny'))).code).toBe('busy')
    stop.abort()
    expect((await installing).code).toBe('cancelled')
    expect(programThere()).toBe('1.0.0')
  })
})
