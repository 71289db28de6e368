import { randomUUID } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { AgentPackage } from '@parley/adapter-kit'
import { agentEnvironment, type Environment } from '@parley/adapter-kit/environment'
import { agentFolder, installedVersion, pathWithNode } from '@parley/adapter-kit/find-program'
import { type ProgramEnd, runProgram } from '@parley/adapter-kit/run-program'
import { defined, ParleyError } from '@parley/protocol'
import { lockInstall } from './install-lock.ts'
import { cancelled, findNpm, type Npm, runNpm } from './npm.ts'

/**
 * Installs an agent's npm package into a folder of its own under the agents folder, or removes it. A new installation
 * is prepared in another folder and tested before it replaces the old installation. If an installation fails or is
 * killed, the old one is kept.
 */

export type InstallRequest = Pick<AgentPackage, 'package' | 'integrity' | 'library'> & {
  readonly agentsFolder: string
  readonly agent: string
  /** An exact version, or a tag such as latest. */
  readonly version: string
  /** Installs the program of a library even if this machine has another program that the adapter can use. */
  readonly withProgram?: boolean
  /** The environment of this process. npm receives the variables that it needs. */
  readonly env: Environment
  readonly progress?: (progress: InstallProgress) => void
  readonly signal?: AbortSignal | undefined
}

/** A line of npm's output or the current step, and the time since the start. */
export type InstallProgress = { readonly line: string; readonly elapsedMs: number }

export type Installed = {
  readonly version: string
  readonly path: string
  /** The version that was installed before, if it differs. */
  readonly replaced?: string
  /** False if this version was already installed. */
  readonly changed: boolean
}

type Work = InstallRequest & {
  readonly say: (line: string) => void
  /** False if the package is installed without its program. */
  readonly isWhole: boolean
}

/** The package of an agent at a version. Its integrity is that of the tested version, so it applies to no other one. */
export function packageAt({ integrity, ...agent }: AgentPackage, version: string) {
  return { ...agent, version, ...(version === agent.version && defined({ integrity })) }
}

const checkMs = 60_000
/** Arguments of npm. They override settings of the person that would change the installed files. */
const npmInstall = [
  'install',
  '--save-exact',
  '--ignore-scripts',
  '--omit=dev',
  '--global=false',
  '--workspaces=false',
  '--no-audit',
  '--no-fund',
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=5000',
]

export async function installAgent(request: InstallRequest): Promise<Installed> {
  const { agentsFolder, agent, version } = request
  if (!/^[0-9a-z][0-9a-z.+-]*$/i.test(version)) {
    throw new ParleyError(
      'validation_error',
      `"${version}" is not a version. Give one such as 1.2.3, or latest.`,
    )
  }
  const isWhole = await needsProgram(request)
  const there = alreadyThere(request, isWhole)
  if (there) return there
  return writing(agentsFolder, async () => {
    makeFolder(agentsFolder)
    using _ = lockAgent(agentsFolder, agent)
    await clearLeftovers(agentsFolder, agent)
    return alreadyThere(request, isWhole) ?? (await installLocked(request, isWhole))
  })
}

/**
 * True if the package must contain the program. An adapter that loads a library may use another program of this
 * machine.
 */
async function needsProgram({ library, withProgram = false, signal }: InstallRequest): Promise<boolean> {
  return !library || withProgram || !(await library.hasOtherProgram(signal))
}

function alreadyThere(request: InstallRequest, isWhole: boolean): Installed | undefined {
  const { agentsFolder, agent, package: name, version } = request
  if (installedVersion(agentsFolder, agent, name) !== version) return undefined
  const path = placeIn(agentFolder(agentsFolder, agent), request)
  return !isWhole || hasProgram(path) ? { version, path, changed: false } : undefined
}

async function installLocked(request: InstallRequest, isWhole: boolean): Promise<Installed> {
  const { agentsFolder, agent, package: name, progress, signal } = request
  const before = installedVersion(agentsFolder, agent, name)
  const since = performance.now()
  const say = (line: string) => progress?.({ line, elapsedMs: Math.round(performance.now() - since) })
  const staging = join(agentsFolder, `${stagingPrefix(agent)}${randomUUID()}`)
  try {
    const version = await prepare({ ...request, say, isWhole }, staging)
    if (signal?.aborted) throw cancelled()
    const folder = agentFolder(agentsFolder, agent)
    const changed = version !== before || (isWhole && !hasProgram(placeIn(folder, request)))
    if (changed) await replace(folder, staging, agentsFolder, agent)
    const isOther = before !== undefined && before !== version
    return { version, path: placeIn(folder, request), changed, ...(isOther && { replaced: before }) }
  } finally {
    await removeFolder(staging)
  }
}

/** Removes an agent that Parley installed. Resolves with false if Parley had not installed it. */
export async function removeAgent(agentsFolder: string, agent: string): Promise<boolean> {
  const folder = agentFolder(agentsFolder, agent)
  if (!existsSync(folder)) return false
  return writing(agentsFolder, async () => {
    using _ = lockAgent(agentsFolder, agent)
    renameSync(folder, join(agentsFolder, `${stagingPrefix(agent)}${randomUUID()}`))
    await clearLeftovers(agentsFolder, agent)
    return true
  })
}

async function writing<Value>(agentsFolder: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (thrown instanceof ParleyError || code === undefined) throw thrown
    const reason = code === 'ENOSPC' ? 'space' : 'forbidden'
    const what = code === 'ENOSPC' ? 'Free some space' : 'Check its permissions'
    throw new ParleyError(
      'agent_failed',
      `Parley cannot write to ${agentsFolder} (${code}). ${what}, then try again.`,
      {
        details: { reason },
        cause: thrown,
      },
    )
  }
}

/** Removes a folder asynchronously: there may be thousands of files, and the server must not block. */
function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

/** Prepares and tests an installation in the folder `staging`, which `findProgram` does not search. */
async function prepare(work: Work, staging: string): Promise<string> {
  const { package: name, version, agent, env, signal, say, library, isWhole } = work
  say('looking for npm')
  const npm = await findNpm(env, signal)
  mkdirSync(staging, { mode: 0o700 })
  const project = { private: true, name: `parley-agent-${agent}`, allowScripts: { [name]: true } }
  writeFileSync(join(staging, 'package.json'), `${JSON.stringify(project, null, 2)}\n`)
  const run = { cwd: staging, package: name, version, onLine: say, signal }
  const programs = isWhole ? '--include=optional' : '--omit=optional'
  // A library contains the code that it loads. Its peer dependencies are only for programs that use its types.
  const peers = library ? ['--legacy-peer-deps'] : []
  await runNpm(npm, [...npmInstall, programs, ...peers, `${name}@${version}`], run)
  const found = manifestIn(staging, name).version
  if (found === undefined) throw broken(work, 'npm did not install the package')
  if (/^\d/.test(version) && found !== version) throw broken(work, `npm installed ${found} instead`)
  expectIntegrity(work, found, staging)
  if (isWhole) await check(work, npm, staging)
  return found
}

/** Refuses the tested version if its content differs from the content that Parley was tested with. */
function expectIntegrity(work: Work, found: string, staging: string): void {
  const { package: name, integrity } = work
  if (integrity === undefined || found !== work.version) return
  const lock = readJson(join(staging, 'package-lock.json')) as Lock
  const given = lock.packages?.[`node_modules/${name}`]?.integrity
  if (given !== integrity)
    throw broken(work, 'its content differs from the content that Parley was tested with')
}

type Lock = { readonly packages?: Record<string, { readonly integrity?: string }> }

/**
 * Checks that the program starts. If it does not, runs the package's own install script, but no install script of a
 * dependency.
 */
async function check(work: Work, npm: Npm, staging: string): Promise<void> {
  const { package: name, version, agent, say, signal, library } = work
  const program = placeIn(staging, work)
  if (library && !hasProgram(program)) throw broken(work, 'it has no program for this platform')
  say(`checking that ${agent} starts`)
  let end = await tryProgram(program, work, staging)
  const { scripts = {} } = manifestIn(staging, name)
  const hasScript = ['preinstall', 'install', 'postinstall'].some((script) => script in scripts)
  if (!starts(end) && hasScript && !library && end.cut !== 'aborted') {
    say(`running the install script of ${name}`)
    await runNpm(npm, ['rebuild', name, '--global=false', '--workspaces=false'], {
      cwd: staging,
      package: name,
      version,
      onLine: say,
      signal,
    })
    end = await tryProgram(program, work, staging)
  }
  if (end.cut === 'aborted') throw cancelled()
  if (!starts(end)) throw broken(work, `its program does not start (${endWords(end)})`, end.stderrTail)
}

function starts({ exitCode, cut }: ProgramEnd): boolean {
  return exitCode === 0 && cut === undefined
}

/** Runs the program with a temporary HOME, for the files that it may write. */
async function tryProgram(program: string, { env, signal }: Work, staging: string): Promise<ProgramEnd> {
  const home = join(staging, '.home')
  mkdirSync(home, { recursive: true })
  const add = { HOME: home, PATH: pathWithNode(env.PATH) }
  const without = ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_CACHE_HOME']
  const end = await runProgram({
    command: program,
    args: ['--version'],
    cwd: home,
    env: agentEnvironment({ from: env, vendor: [], without, add }),
    timeoutMs: checkMs,
    signal,
  })
  await removeFolder(home)
  return end
}

function endWords({ exitCode, signal, cut, error }: ProgramEnd): string {
  if (cut === 'too slow') return `no answer within ${checkMs / 1000} s`
  if (error) return error.code ?? error.message
  return signal ? `ended by ${signal}` : `exit code ${exitCode}`
}

type Manifest = {
  readonly version?: string
  readonly bin?: string | Record<string, string>
  readonly scripts?: Record<string, string>
}

function manifestIn(folder: string, name: string): Manifest {
  return readJson(join(folder, 'node_modules', name, 'package.json')) as Manifest
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}

/** The path of the installed program; for a library without its program, the folder of the package. */
function placeIn(folder: string, { package: name, agent, library }: InstallRequest): string {
  if (!library) return programIn(folder, name, agent)
  return library.programIn(folder) ?? join(folder, 'node_modules', name)
}

function hasProgram(place: string): boolean {
  return statSync(place, { throwIfNoEntry: false })?.isFile() === true
}

/** The program of a package: the program with the name of the agent or of the package, or else its first program. */
function programIn(folder: string, name: string, agent: string): string {
  const { bin } = manifestIn(folder, name)
  const short = name.replace(/^@[^/]+\//, '')
  const names = typeof bin === 'string' ? [short] : Object.keys(bin ?? {})
  const chosen = [agent, short].find((one) => names.includes(one)) ?? names[0] ?? short
  return join(folder, 'node_modules', '.bin', chosen)
}

/**
 * Replaces an installation by two renames. If the process is killed between them, the next installation
 * restores the old version.
 */
async function replace(folder: string, staging: string, agentsFolder: string, agent: string): Promise<void> {
  const aside = join(agentsFolder, `${replacedPrefix(agent)}${randomUUID()}`)
  const isThere = existsSync(folder)
  if (isThere) renameSync(folder, aside)
  try {
    renameSync(staging, folder)
  } catch (thrown) {
    if (isThere) renameSync(aside, folder)
    throw thrown
  }
  await removeFolder(aside)
}

async function clearLeftovers(agentsFolder: string, agent: string): Promise<void> {
  const folder = agentFolder(agentsFolder, agent)
  for (const name of readdirSync(agentsFolder)) {
    const path = join(agentsFolder, name)
    if (name.startsWith(replacedPrefix(agent)) && !existsSync(folder)) renameSync(path, folder)
    else if (name.startsWith(stagingPrefix(agent)) || name.startsWith(replacedPrefix(agent))) {
      await removeFolder(path)
    }
  }
}

/**
 * The start of the names of folders in which an agent is prepared. The dots around the agent's name
 * distinguish it from another agent whose name starts with the same letters.
 */
function stagingPrefix(agent: string): string {
  return `.new.${agent}.`
}

function replacedPrefix(agent: string): string {
  return `.old.${agent}.`
}

function lockAgent(agentsFolder: string, agent: string): Disposable {
  return lockInstall(join(agentsFolder, `.${agent}.lock`), agent)
}

/**
 * Creates a folder and its parents one by one: Node's recursive mkdir may not terminate where no folder can
 * be created.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  if (dirname(folder) !== folder) makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
  }
}

function broken({ package: name, version }: Work, what: string, stderrTail = ''): ParleyError {
  const last = stderrTail.trim().split('\n').at(-1) ?? ''
  return new ParleyError(
    'agent_failed',
    `${name} ${version} was not installed: ${what}${last === '' ? '.' : `: ${last}`}`,
    { details: { reason: 'broken', ...(stderrTail !== '' && { stderrTail }) } },
  )
}
