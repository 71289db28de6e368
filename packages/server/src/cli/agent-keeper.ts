import { randomBytes } from 'node:crypto'
import { chmodSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { AgentAdapter } from '@parley/adapter-kit'
import { findProgram } from '@parley/adapter-kit/find-program'
import { type AgentCheck, defined, ParleyError } from '@parley/protocol'
import { type BuiltInAdapterOptions, builtInAdapters } from '../adapters/index.ts'
import type { AgentKeeper } from '../core/index.ts'
import type { CommandLine } from '../faces/http/command-line.ts'
import type { Check } from './checks.ts'
import { type ConfigFile, parseConfigFile } from './config-file.ts'
import { agentSettings } from './configuration.ts'
import type { OwnAdapters } from './own-adapters.ts'

export type AgentKeeperOptions = {
  /** `config.json`, written with access for this user only. */
  readonly file: string
  /** The options of the adapters, without the settings from `file`. */
  readonly given: Omit<BuiltInAdapterOptions, 'agents'>
  /** The adapters of modules. */
  readonly own: OwnAdapters | undefined
  readonly commandLine: CommandLine
}

type Agents = NonNullable<ConfigFile['agents']>

const testMs = 30_000

/** Stores in `config.json` the agents and keys that people add. The rest of that file is left unchanged. */
export function createAgentKeeper({ file, given, own, commandLine }: AgentKeeperOptions): AgentKeeper {
  const builtIn = new Set(builtInAdapters(given).map(({ id }) => id))
  let revision = 0

  async function adapterOf(id: string, changed: Agents): Promise<AgentAdapter> {
    const agents = agentSettings(changed)
    const adapter = own?.moduleOf(id)
      ? await own.again(id, agents[id])
      : builtInAdapters({ ...given, agents, ...(own && { isElsewhere: own.isElsewhere }) }).find(
          (one) => one.id === id,
        )
    if (!adapter)
      throw new ParleyError('conflict', `"${id}" is disabled in config.json. Enable it there first.`)
    revision++
    return { ...adapter, revision: String(revision) }
  }

  function change(
    id: string,
    work: (before: Agents[string] | undefined) => Agents[string] | undefined,
  ): Agents {
    const config = read(file)
    const { [id]: before, ...others } = config.agents ?? {}
    const after = work(before)
    const agents = after ? { ...others, [id]: after } : others
    write(file, { ...config, agents })
    return agents
  }

  return {
    stateOf(id) {
      const { env = {} } = readable(file).agents?.[id] ?? {}
      const keysSet = Object.keys(env)
      const module = own?.moduleOf(id)
      const isAdded = module === undefined && !builtIn.has(id)
      return {
        ...defined({ module }),
        ...(isAdded && { added: true as const }),
        ...(keysSet.length > 0 && { keysSet }),
      }
    },
    async add({ id, name, command, args }) {
      if (findProgram({ name: command, env: given.env ?? {} }) === undefined) {
        const message = `There is no program "${command}" on the server's machine. Give its absolute path.`
        throw new ParleyError('validation_error', message, { details: { command } })
      }
      const agent = { command, ...(name !== undefined && { name }), ...(args && { args }) }
      return adapterOf(
        id,
        change(id, (before) => ({ ...before, ...agent })),
      )
    },
    async forget(id) {
      expectAdded(id, builtIn, own)
      change(id, () => undefined)
    },
    async setKey({ id, keys = [], name }, variable, value) {
      const namesKeys = builtIn.has(id) || own?.moduleOf(id) !== undefined
      const isKey = namesKeys ? keys.includes(variable) : /^(?!PARLEY_).*_(KEY|TOKEN)$/.test(variable)
      if (!isKey) throw notAKey(name, keys, variable)
      const agents = change(id, (before = {}) => {
        const { [variable]: old, ...env } = before.env ?? {}
        if (value === undefined && old === undefined) {
          throw new ParleyError('not_found', `${variable} is not set for ${name} in config.json.`)
        }
        return { ...before, env: value === undefined ? env : { ...env, [variable]: value } }
      })
      return adapterOf(id, agents)
    },
    test: (adapter) => checksOf(adapter, own?.moduleOf(adapter.id), commandLine),
  }
}

async function checksOf(
  adapter: AgentAdapter,
  module: string | undefined,
  commandLine: CommandLine,
): Promise<AgentCheck[]> {
  const checks: Check[] = []
  const add = (check: Check) => void checks.push(check)
  const stop = AbortSignal.timeout(2 * testMs)
  const { examineAgent } = await import('./examine-agent.ts')
  await examineAgent({ adapter, module, commandLine, timeoutMs: testMs, stop, add })
  return checks.map(({ lines, ...check }) => ({ ...check, ...(lines && { lines: [...lines] }) }))
}

function expectAdded(id: string, builtIn: ReadonlySet<string>, own: OwnAdapters | undefined): void {
  const refuse = (message: string) => {
    throw new ParleyError('not_supported', `"${id}" ${message} in config.json.`)
  }
  if (builtIn.has(id)) refuse(`comes with Parley. To hide it, set agents.${id}.disabled`)
  if (own?.moduleOf(id) !== undefined)
    refuse('comes from a module. To remove it, remove its module from "adapters"')
}

function notAKey(name: string, keys: readonly string[], variable: string): ParleyError {
  const known =
    keys.length > 0
      ? `The key variables of ${name}: ${keys.join(', ')}.`
      : 'The name of a key ends in _KEY or _TOKEN.'
  const message = `${variable} is not a key of ${name}. ${known} Set other variables in config.json.`
  return new ParleyError('validation_error', message, { details: { variable, keys } })
}

/** Reads the file each time: a person may have changed it since the server started. */
function read(file: string): ConfigFile {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new ParleyError('internal_error', `${file} cannot be read. Check its permissions.`, {
      cause: thrown,
    })
  }
  return parseConfigFile(text, file)
}

/**
 * Reads the file. Returns an empty configuration if that fails, so that a broken file does not break the list
 * of agents.
 */
function readable(file: string): ConfigFile {
  try {
    return read(file)
  } catch {
    return {}
  }
}

/**
 * Writes atomically and with access for this user only, regardless of the previous file mode, because the file may now
 * contain keys.
 */
function write(file: string, config: ConfigFile): void {
  const text = `${JSON.stringify(config, undefined, 2)}\n`
  parseConfigFile(text, file)
  const place = realPlace(file)
  const temporary = `${place}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
    chmodSync(temporary, 0o600)
    renameSync(temporary, place)
  } catch (thrown) {
    rmSync(temporary, { force: true })
    throw new ParleyError('internal_error', `${file} cannot be written. Check its permissions.`, {
      cause: thrown,
    })
  }
}

/** Resolves symbolic links, so that writing does not replace a link. */
function realPlace(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}
