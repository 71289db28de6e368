import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findProgram } from '@parley/adapter-kit/find-program'
import { runProgram } from '@parley/adapter-kit/run-program'
import { messageOf } from '@parley/protocol'
import { findNpm } from '../adapters/npm.ts'
import { version } from '../version.ts'
import { type Check, fail, ok, warn } from './checks.ts'
import { agentsFolder, type Configuration, databaseFile } from './configuration.ts'
import type { Context } from './context.ts'
import { sizeText } from './durations.ts'
import { findManager, installedService } from './service/find-manager.ts'

/** The checks of `parley doctor` for this machine: its programs, disk and clock, and the service. They change nothing. */

const timeoutMs = 10_000
/** The oldest git with all settings that protect Parley in folders that are not trusted. */
const oldestGit = [2, 38] as const
const [fullBytes, lowBytes] = [100_000_000, 1_000_000_000]
/** No version of Parley is older than this, so a clock that shows an earlier time is wrong. */
const earliest = Date.UTC(2025, 0)
const skewMs = 60_000

export async function machineChecks(configuration: Configuration, context: Context): Promise<Check[]> {
  const { dataDir } = configuration
  const programs = await Promise.all([gitCheck(context.env), npmCheck(context.env)])
  return [...programs, diskCheck(dataDir), sizeCheck(dataDir), clockCheck(dataDir, Date.now())]
}

async function gitCheck(env: Context['env']): Promise<Check> {
  const name = 'git'
  const command = findProgram({ name, env })
  if (command === undefined)
    return warn(name, 'not found: the changes of sessions are not shown. Install git')
  const { stdout, exitCode, stderrTail } = await runProgram({ command, args: ['--version'], env, timeoutMs })
  const found = /(\d+)\.(\d+)[.\w]*/.exec(stdout)
  if (exitCode !== 0 || !found)
    return warn(name, `${command} does not run: ${stderrTail || `exit code ${exitCode}`}`)
  const [text, major, minor] = [found[0], Number(found[1]), Number(found[2])]
  if (major > oldestGit[0] || (major === oldestGit[0] && minor >= oldestGit[1]))
    return ok(name, `${text}, ${command}`)
  const needed = oldestGit.join('.')
  return warn(name, `${text} is old. In folders that are not trusted, git ${needed} or newer is safer`)
}

async function npmCheck(env: Context['env']): Promise<Check> {
  const name = 'npm'
  try {
    return ok(name, (await findNpm(env)).path)
  } catch (thrown) {
    return warn(name, `agents cannot be installed: ${messageOf(thrown)}`)
  }
}

function diskCheck(dataDir: string): Check {
  const name = 'disk'
  const { bavail, bsize } = statfsSync(nearestFolder(dataDir))
  const free = bavail * bsize
  const text = `${sizeText(free)} free for ${dataDir}`
  if (free < fullBytes)
    return fail(name, `${text}: sessions cannot be recorded on a full disk. Free some space`)
  return free < lowBytes ? warn(name, `${text}: free some space`) : ok(name, text)
}

function nearestFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestFolder(dirname(folder))
}

function sizeCheck(dataDir: string): Check {
  const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0
  const file = databaseFile(dataDir)
  const parts = [`database ${sizeText(sizeOf(file) + sizeOf(`${file}-wal`))}`]
  const agents = agentsFolder(dataDir)
  if (existsSync(agents)) parts.push(`agents ${sizeText(folderBytes(agents))}`)
  return { name: 'sizes', result: 'info', text: parts.join(', ') }
}

function folderBytes(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return entries.reduce(
    (sum, { parentPath, name }) =>
      sum + (statSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}

/**
 * Checks that the clock is not earlier than the last change of the database. doctor-nodes.ts compares it with the clock
 * of PostgreSQL.
 */
export function clockCheck(dataDir: string, now: number): Check {
  const name = 'clock'
  const shown = new Date(now).toISOString()
  if (now < earliest)
    return fail(name, `${shown} is in the past: links and tokens expire at the wrong time. Set the clock`)
  const written = statSync(databaseFile(dataDir), { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (written > now + skewMs)
    return warn(
      name,
      `${shown} is earlier than the last change of the database: the clock was set back. Check it`,
    )
  return ok(name, shown)
}

export async function serviceCheck(configuration: Configuration, context: Context): Promise<Check> {
  const name = 'service'
  const { commandLine } = context
  const info = (text: string): Check => ({ name, result: 'info', text })
  const manager = findManager(configuration, context)
  if (!manager) return info('not supported on this system')
  try {
    const found = await installedService(manager)
    if (!found)
      return info(
        `not installed. The server runs as long as its terminal; see: ${commandLine('service --help')}`,
      )
    const { state, record } = found
    const why = state.reason === undefined ? '' : ` (${state.reason})`
    if (state.state === 'failed') return fail(name, `failed${why}. See: ${commandLine('service logs')}`)
    if (state.state !== 'running')
      return warn(name, `${state.state}${why}. Start it: ${commandLine('service install')}`)
    if (record?.version !== version)
      return warn(
        name,
        `installed by version ${record?.version}, this is ${version}. Update it: ${commandLine('service install')}`,
      )
    return ok(
      name,
      `${state.state} (pid ${state.pid}), ${state.atBoot ? 'starts with the machine' : 'starts at login'}`,
    )
  } catch (thrown) {
    return info(`not known: ${messageOf(thrown)}`)
  }
}
