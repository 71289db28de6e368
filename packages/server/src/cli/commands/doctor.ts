import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import type { ParleyError } from '@parley/protocol'
import { builtInAdapters } from '../../adapters/index.ts'
import { migrations } from '../../stores/migrations/index.ts'
import { type Configuration, configFile, databaseFile, type Flags } from '../configuration.ts'
import { type Connected, findServer, isAlive, readOwner } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { makingProblem } from '../data-folder.ts'
import { oneLine } from '../terminal/visible.ts'
import { isTokenExposed, tokenFile } from '../token-file.ts'

export type DoctorOptions = Flags & { readonly json?: boolean }

export type Check = {
  readonly name: string
  readonly result: 'ok' | 'warn' | 'fail'
  readonly text: string
}

const probeMs = 5_000
const oldestNode = [22, 18] as const
const largestChecked = 256 * 1024 * 1024

/** Looks at everything a server needs, changes nothing, and says what to do. Exit code 1 if something fails. */
export async function doctor(options: DoctorOptions, context: Context): Promise<number> {
  const { output } = context
  const checks: Check[] = []
  const add = (found: readonly Check[]) => {
    checks.push(...found)
    for (const check of found) output.out(options.json ? `${JSON.stringify(check)}\n` : line(check, context))
  }
  add([nodeCheck(process.versions.node)])
  let configuration: Configuration
  try {
    configuration = configurationOf(context, options)
  } catch (thrown) {
    add([{ name: 'configuration', result: 'fail', text: (thrown as Error).message }])
    return 1
  }
  const hasFile = existsSync(configFile(configuration.dataDir))
  add([ok('configuration', hasFile ? configFile(configuration.dataDir) : 'defaults, flags and environment')])
  add([folderCheck(configuration.dataDir), tokenCheck(configuration, context)])
  const { check, server } = await serverCheck(configuration)
  add([check])
  await using _ = server
  const owner = readOwner(configuration.dataDir)
  add([await databaseCheck(configuration, owner !== undefined && isAlive(owner.pid))])
  add(await agentChecks(server, context.env))
  return checks.some(({ result }) => result === 'fail') ? 1 : 0
}

function line({ name, result, text }: Check, { output }: Context): string {
  const { green, yellow, red } = output.outStyle
  const paint = { ok: green, warn: yellow, fail: red }[result]
  return `${paint(result.padEnd(5))}${name.padEnd(15)}${oneLine(text)}\n`
}

export function nodeCheck(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNew = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])
  if (isNew) return ok('node', version)
  return {
    name: 'node',
    result: 'fail',
    text: `${version} is too old: install Node ${oldestNode.join('.')} or newer`,
  }
}

function folderCheck(dataDir: string): Check {
  const name = 'data folder'
  const found = statSync(dataDir, { throwIfNoEntry: false })
  if (!found) {
    const problem = makingProblem(dataDir)
    if (problem === undefined) return ok(name, `${dataDir} does not exist yet; it is made at the first start`)
    return {
      name,
      result: 'fail',
      text: `${dataDir} cannot be made, ${problem}: choose another with --data-dir`,
    }
  }
  if (!found.isDirectory())
    return { name, result: 'fail', text: `${dataDir} is not a folder: choose another with --data-dir` }
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return {
      name,
      result: 'fail',
      text: `${dataDir} cannot be written: check its permissions, or use --data-dir`,
    }
  }
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) {
    return { name, result: 'warn', text: `others can look into ${dataDir}: chmod 700 it` }
  }
  return ok(name, dataDir)
}

function tokenCheck({ token, dataDir }: Configuration, { commandLine }: Context): Check {
  const name = 'token'
  if (token) return ok(name, `given by ${token.from}`)
  if (!existsSync(tokenFile(dataDir))) return ok(name, 'none yet; it is made at the first start')
  if (isTokenExposed(dataDir)) {
    return {
      name,
      result: 'warn',
      text: `others can read ${tokenFile(dataDir)}: chmod 600 it, then ${commandLine('token --rotate')}`,
    }
  }
  return ok(name, tokenFile(dataDir))
}

async function serverCheck(
  configuration: Configuration,
): Promise<{ check: Check; server: Connected | undefined }> {
  const name = 'server'
  const owner = readOwner(configuration.dataDir)
  try {
    const server = existsSync(configuration.dataDir) ? await findServer(configuration) : undefined
    if (server) return { server, check: ok(name, `healthy at ${server.url} (pid ${owner?.pid})`) }
  } catch (thrown) {
    return { server: undefined, check: { name, result: 'warn', text: (thrown as ParleyError).message } }
  }
  if (owner && isAlive(owner.pid)) {
    const where = owner.url ? ` at ${owner.url}` : ''
    const text = `pid ${owner.pid} holds the data folder but does not answer${where}: stop it and start again`
    return { server: undefined, check: { name, result: 'fail', text } }
  }
  const { host, port } = configuration
  const problem = await listenProblem(host, port)
  if (problem === undefined)
    return { server: undefined, check: ok(name, `not running; ${host}:${port} is free`) }
  const text = `not running, and ${host}:${port} cannot be used (${problem}): use --port, or stop what listens there`
  return { server: undefined, check: { name, result: 'fail', text } }
}

function listenProblem(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen({ host, port }, () => probe.close(() => resolve(undefined)))
  })
}

/** A running server has the file locked: that it runs says that the database is open. */
async function databaseCheck({ dataDir }: Configuration, isHeld: boolean): Promise<Check> {
  const name = 'database'
  const file = databaseFile(dataDir)
  const known = migrations.at(-1)?.version ?? 0
  if (isHeld) return ok(name, 'open in the running server')
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined) return ok(name, 'none yet; it is made at the first start')
  try {
    const { DatabaseSync } = await import('node:sqlite')
    using database = new DatabaseSync(file)
    const version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
    if (version > known) {
      return {
        name,
        result: 'fail',
        text: `${file} has schema ${version}, this Parley knows ${known}: update Parley`,
      }
    }
    const damage =
      size <= largestChecked ? database.prepare('PRAGMA quick_check(1)').get()?.quick_check : 'ok'
    if (damage !== 'ok')
      return { name, result: 'fail', text: `${file} is damaged (${damage}): restore a backup` }
    return ok(name, `${file}, schema ${version}${version < known ? `, will be brought to ${known}` : ''}`)
  } catch (thrown) {
    return { name, result: 'fail', text: `${file} cannot be opened: ${(thrown as Error).message}` }
  }
}

async function agentChecks(server: Connected | undefined, env: Context['env']): Promise<Check[]> {
  if (server) {
    const { agents } = await server.client.call('listAgents')
    return agents.map(agentCheck)
  }
  return Promise.all(
    builtInAdapters({ env }).map(async ({ id, probe }) => {
      try {
        return agentCheck({ id, ...(await probe(AbortSignal.timeout(probeMs))) })
      } catch (thrown) {
        return {
          name: `agent ${id}`,
          result: 'fail' as const,
          text: `could not be looked at: ${(thrown as Error).message}`,
        }
      }
    }),
  )
}

function agentCheck(agent: {
  id: string
  found: boolean
  version?: string | undefined
  signedIn?: boolean | undefined
  hint?: string | undefined
}): Check {
  const { id, found, version, signedIn, hint } = agent
  const name = `agent ${id}`
  if (!found) return { name, result: 'warn', text: `not found. ${hint ?? ''}` }
  if (signedIn === false) return { name, result: 'warn', text: `not signed in. ${hint ?? ''}` }
  return ok(name, [version, hint].filter(Boolean).join(', ') || 'found')
}

function ok(name: string, text: string): Check {
  return { name, result: 'ok', text }
}
