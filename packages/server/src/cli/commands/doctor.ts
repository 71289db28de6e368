import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AgentAdapter } from '@parley/adapter-kit'
import { installedVersion } from '@parley/adapter-kit/find-program'
import { type AdapterFailure, type AgentInfo, defined, messageOf } from '@parley/protocol'
import { migrations } from '../../stores/migrations/index.ts'
import { oldestNode } from '../../version.ts'
import { type Check, checkLine, fail, ok, warn } from '../checks.ts'
import { isConfigExposed } from '../config-file.ts'
import { agentsFolder, type Configuration, configFile, databaseFile, type Flags } from '../configuration.ts'
import { configuredAdapters } from '../configured-adapters.ts'
import { type Connected, findServer, isFolderHeld, silent } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { makingProblem } from '../data-folder.ts'
import { machineChecks, serviceCheck } from '../doctor-machine.ts'
import { messageChecks, storedMessages } from '../doctor-messages.ts'
import { reachChecks } from '../doctor-reach.ts'
import { worktreeChecks } from '../doctor-worktrees.ts'
import { readOwner } from '../owner.ts'
import { isTokenExposed, tokenFile } from '../token-file.ts'

export type DoctorOptions = Flags & { readonly json?: boolean }

const probeMs = 10_000
const largestChecked = 256 * 1024 * 1024

/** Checks everything that a server needs, changes nothing, and prints what to do. Exit code 1 if something fails. */
export async function doctor(options: DoctorOptions, context: Context): Promise<number> {
  const { output } = context
  const checks: Check[] = []
  const add = (found: readonly Check[]) => {
    checks.push(...found)
    for (const check of found)
      output.out(options.json ? `${JSON.stringify(check)}\n` : checkLine(check, context))
  }
  add([nodeCheck(process.versions.node)])
  let configuration: Configuration
  try {
    configuration = configurationOf(context, options)
  } catch (thrown) {
    add([fail('configuration', (thrown as Error).message)])
    return 1
  }
  add([configurationCheck(configFile(configuration.dataDir))])
  add([folderCheck(configuration.dataDir), tokenCheck(configuration, context)])
  add(await machineChecks(configuration, context))
  const isHeld = await isFolderHeld(configuration.dataDir)
  const { check, server } = await serverCheck(configuration, isHeld)
  add([check, await serviceCheck(configuration, context)])
  await using _ = server
  add(await reachChecks(configuration, context, server?.url))
  add(await storeChecks(configuration, { isHeld, server }))
  add(await worktreeChecks(server, context))
  add(await agentChecks(server, configuration, context))
  return checks.some(({ result }) => result === 'fail') ? 1 : 0
}

function nodeCheck(version: string): Check {
  if (Number.parseInt(version, 10) >= oldestNode) return ok('node', version)
  return fail('node', `${version} is too old: install Node ${oldestNode} or newer`)
}

function configurationCheck(file: string): Check {
  const name = 'configuration'
  if (isConfigExposed(file))
    return warn(name, `other users can read the secrets in ${file}; run: chmod 600 ${file}`)
  return ok(name, existsSync(file) ? file : 'defaults, flags and environment')
}

function folderCheck(dataDir: string): Check {
  const name = 'data folder'
  const found = statSync(dataDir, { throwIfNoEntry: false })
  if (!found) {
    const problem = makingProblem(dataDir)
    if (problem === undefined)
      return ok(name, `${dataDir} does not exist yet; it is created at the first start`)
    return fail(name, `${dataDir} cannot be created (${problem}): choose another with --data-dir`)
  }
  if (!found.isDirectory()) return fail(name, `${dataDir} is not a folder: choose another with --data-dir`)
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return fail(name, `${dataDir} cannot be written: check its permissions, or use --data-dir`)
  }
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) {
    return warn(name, `other users can read ${dataDir}; run: chmod 700 ${dataDir}`)
  }
  return ok(name, dataDir)
}

function tokenCheck({ token, dataDir }: Configuration, { commandLine }: Context): Check {
  const name = 'token'
  if (token) return ok(name, `given by ${token.from}`)
  if (!existsSync(tokenFile(dataDir))) return ok(name, 'none yet; it is created at the first start')
  if (isTokenExposed(dataDir)) {
    return warn(
      name,
      `other users can read ${tokenFile(dataDir)}; run chmod 600 on it, then ${commandLine('token --rotate')}`,
    )
  }
  return ok(name, tokenFile(dataDir))
}

async function serverCheck(
  configuration: Configuration,
  isHeld: boolean,
): Promise<{ check: Check; server: Connected | undefined }> {
  const name = 'server'
  const owner = readOwner(configuration.dataDir)
  try {
    const server = await findServer(configuration, { lock: isHeld ? 'held' : 'free' })
    if (server) return { server, check: ok(name, `healthy at ${server.url} (pid ${owner?.pid})`) }
  } catch (thrown) {
    return { server: undefined, check: warn(name, messageOf(thrown)) }
  }
  if (isHeld) return { server: undefined, check: fail(name, silent(configuration).message) }
  const { host, port } = configuration
  const problem = await listenProblem(host, port)
  if (problem === undefined)
    return { server: undefined, check: ok(name, `not running; ${host}:${port} is free`) }
  const text = `not running, and ${host}:${port} cannot be used (${problem}): use --port, or stop the program that listens there`
  return { server: undefined, check: fail(name, text) }
}

function listenProblem(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen({ host, port }, () => probe.close(() => resolve(undefined)))
  })
}

/** The checks of the database and, on PostgreSQL, of the nodes that use it. */
async function storeChecks(
  configuration: Configuration,
  { isHeld, server }: { isHeld: boolean; server: Connected | undefined },
): Promise<Check[]> {
  const { databaseUrl } = configuration
  if (databaseUrl === undefined) return [await databaseCheck(configuration, isHeld)]
  const { databaseChecks, nodeChecks } = await import('../doctor-nodes.ts')
  const checks = await databaseChecks(databaseUrl)
  if (!server)
    return [...checks, notChecked(isHeld ? 'the running server was not reached' : 'no server runs here')]
  try {
    const list = await server.client.call('listNodes', { query: { check: 'all' } })
    if (list.database) return [...checks, ...nodeChecks(list)]
    const text = 'the running server uses SQLite: restart it, so that it uses PARLEY_DATABASE_URL'
    return [...checks, fail('nodes', text)]
  } catch (thrown) {
    return [...checks, notChecked(messageOf(thrown))]
  }
}

function notChecked(reason: string): Check {
  const text = `not checked: ${reason}. They are checked through a running server`
  return { name: 'nodes', result: 'info', text }
}

/**
 * Checks that the database can be opened and has a known version. If a running server has locked the file, the
 * database is not opened, because the server already has it open.
 */
async function databaseCheck({ dataDir }: Configuration, isHeld: boolean): Promise<Check> {
  const name = 'database'
  const file = databaseFile(dataDir)
  const known = migrations.at(-1)?.version ?? 0
  if (isHeld) return ok(name, 'open in the running server')
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined) return ok(name, 'none yet; it is created at the first start')
  try {
    const { DatabaseSync } = await import('node:sqlite')
    using database = new DatabaseSync(file)
    const version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
    if (version > known) {
      return fail(
        name,
        `${file} has schema version ${version}, but this version of Parley supports ${known}: update Parley`,
      )
    }
    const damage =
      size <= largestChecked ? database.prepare('PRAGMA quick_check(1)').get()?.quick_check : 'ok'
    if (damage !== 'ok') return fail(name, `${file} is damaged (${damage}): restore a backup`)
    return ok(name, `${file}, schema ${version}${version < known ? `, will be migrated to ${known}` : ''}`)
  } catch (thrown) {
    return fail(name, `${file} cannot be opened: ${(thrown as Error).message}`)
  }
}

async function agentChecks(
  server: Connected | undefined,
  configuration: Configuration,
  context: Context,
): Promise<Check[]> {
  const { agents } = configuration
  let listed: Listed
  try {
    listed = await (server ? server.client.call('listAgents') : agentsHere(configuration, context))
  } catch (thrown) {
    return [fail('agents', messageOf(thrown))]
  }
  const { agents: found, failures = [] } = listed
  const isWished = ({ id, install, module }: Probed) =>
    agents[id] !== undefined || install?.installed !== undefined || module !== undefined
  const rest = found.filter((agent) => !isWished(agent) && isNotSetUp(agent))
  const checks = [
    ...failures.map(failureCheck),
    ...found.filter((agent) => !rest.includes(agent)).map((agent) => agentCheck(agent)),
  ]
  const messages = found.flatMap((agent) => messageChecks(agent, context))
  return [...checks, ...messages, ...(rest.length === 0 ? [] : [restCheck(rest, context)])]
}

type Probed = Pick<
  AgentInfo,
  'id' | 'found' | 'version' | 'usable' | 'signedIn' | 'hint' | 'install' | 'unrecognised' | 'module'
>
type Listed = {
  readonly agents: readonly Probed[]
  readonly failures?: readonly AdapterFailure[] | undefined
}

/** The agents as a server would list them. */
async function agentsHere(configuration: Configuration, context: Context): Promise<Listed> {
  const { dataDir, agents, adapterModules: modules } = configuration
  const { env, commandLine: parley } = context
  const folder = agentsFolder(dataDir)
  const given = { env, agentsFolder: folder, agents, parley }
  const { adapters, own } = await configuredAdapters({ given, dataDir, modules })
  const messages = await storedMessages(configuration)
  const probing = adapters.map(async (adapter) => ({
    ...(await probed(adapter, folder)),
    ...defined({ unrecognised: messages.get(adapter.id)?.total, module: own.moduleOf(adapter.id) }),
  }))
  return { agents: await Promise.all(probing), failures: own.failures }
}

function failureCheck({ module, error: { message, details } }: AdapterFailure): Check {
  const stack = Array.isArray(details?.stack) ? details.stack.map(String) : []
  return { ...fail(`adapter ${module}`, message), ...(stack.length > 0 && { lines: stack }) }
}

async function probed({ id, install, probe }: AgentAdapter, folder: string): Promise<Probed> {
  const installed = install && installedVersion(folder, id, install.package)
  const state = { ...(install && { install: { ...install, ...(installed && { installed }) } }) }
  try {
    return { id, ...state, ...(await probe(AbortSignal.timeout(probeMs))) }
  } catch (thrown) {
    return { id, ...state, found: true, usable: false, hint: messageOf(thrown) }
  }
}

function isNotSetUp({ found, usable, signedIn }: Probed): boolean {
  return !found || (usable !== false && signedIn === false)
}

function agentCheck({ id, found, version, usable, signedIn, hint = '' }: Probed): Check {
  const name = `agent ${id}`
  if (!found) return warn(name, `not found. ${hint}`)
  if (usable === false) return warn(name, `cannot be used. ${hint}`)
  if (signedIn === false) return warn(name, `not signed in. ${hint}`)
  return ok(name, [version, hint].filter(Boolean).join(', ') || 'found')
}

/** One check for all missing or signed-out agents that are neither named in config.json nor installed by Parley. */
function restCheck(agents: readonly Probed[], { commandLine }: Context): Check {
  const names = agents.map(({ id, found }) => (found ? `${id} (not signed in)` : id))
  const text = `not set up: ${names.join(', ')}. What each one needs: ${commandLine('agents')}`
  return { name: 'other agents', result: 'info', text }
}
