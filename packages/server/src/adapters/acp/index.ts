import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type AgentProbe,
  capabilities,
  ParleyError,
  type PermissionMode,
  validationError,
} from '@parley/protocol'
import type { AgentAdapter, ConnectInput } from '../../core/agent-adapter.ts'
import { agentEnvironment, type Environment } from '../environment.ts'
import { findProgram, installedVersion, pathWithNode } from '../find-program.ts'
import { AcpAgent, type KnownAgent } from './agent.ts'

export { AcpAgent } from './agent.ts'
export {
  acpAgents,
  claudeAcp,
  codexAcp,
  copilot,
  cursor,
  gemini,
  goose,
  kimi,
  opencodeAcp,
  qwen,
} from './presets.ts'

export type AcpAdapterOptions = {
  /** The environment of this process, of which the agent gets what it needs. */
  readonly env: Environment
  /** Added to it, from the configuration. */
  readonly add?: Readonly<Record<string, string>>
  /** Another program than the usual one: a whole path, or a name on the PATH. */
  readonly executable?: string
  /** In place of the usual ones. */
  readonly args?: readonly string[]
  /** Where Parley installs agents. */
  readonly agentsFolder?: string
}

/** Any agent that speaks the Agent Client Protocol over stdio: one live process a session. The SDK is loaded when needed. */
export function createAcpAdapter(preset: AcpAgent, options: AcpAdapterOptions): AgentAdapter {
  const agent = known(preset, options)
  const find = () => findAgent(agent, options)
  return {
    id: agent.id,
    name: agent.name,
    ...(agent.description !== undefined && { description: agent.description }),
    capabilities: capabilities(...agent.capabilities),
    modes: Object.keys(agent.modes) as PermissionMode[],
    options: agent.options,
    restartsFor: agent.options.filter((option) => option === 'directories'),
    ...(agent.install && { install: agent.install }),
    ...(agent.startsAhead && { startsAhead: true }),
    probe: async () => probe(agent, options, find()),
    async connect(input) {
      const program = find()
      if (program === undefined) throw new ParleyError('agent_not_found', notFound(agent))
      if (!existsSync(input.cwd))
        throw new ParleyError('validation_error', `The folder ${input.cwd} does not exist.`)
      const env = environment(agent, options, input)
      const { connectAcp } = await import('./connection.ts')
      return connectAcp({ agent, program, env }, input)
    },
  }
}

function known(preset: AcpAgent, { args }: AcpAdapterOptions): KnownAgent {
  const { data, error } = AcpAgent.safeParse(args ? { ...preset, args: [...args] } : preset)
  if (error) throw validationError(`The agent "${preset.id}"`, error)
  return data
}

function findAgent({ id, command }: KnownAgent, options: AcpAdapterOptions): string | undefined {
  const { env, executable, agentsFolder } = options
  if (executable !== undefined) return findProgram({ name: executable, env })
  return findProgram({ name: command, env, installed: { folder: agentsFolder, agent: id } })
}

/** Of the process: what any program needs, what is the vendor's, what the entry sets, and what the person adds. */
function environment(
  agent: KnownAgent,
  { env: from, add }: AcpAdapterOptions,
  input?: Pick<ConnectInput, 'trusted' | 'mcpServers'>,
): Record<string, string> {
  const { vendor, without, trust } = agent
  const own = agentEnvironment({ from, vendor, without, ...(add && { add }) })
  const trusts = trust && { [trust.variable]: input?.trusted ? trust.yes : trust.no }
  const env: Record<string, string> = { ...agent.env, ...trusts, ...own, PATH: pathWithNode(own.PATH) }
  const hasServers = Object.keys(input?.mcpServers ?? {}).length > 0
  if (trust?.forServers && hasServers && env[trust.variable] !== trust.yes) {
    const message = `${agent.name} starts MCP servers only in a folder that is trusted. Trust the folder first.`
    throw new ParleyError('not_supported', message)
  }
  return env
}

function probe(agent: KnownAgent, options: AcpAdapterOptions, path: string | undefined): AgentProbe {
  if (path === undefined) return { found: false, hint: notFound(agent) }
  const version = versionOf(agent, options, path)
  const signedIn = hasCredential(agent, environment(agent, options))
  return {
    found: true,
    path,
    ...(version !== undefined && { version }),
    ...(signedIn ? { signedIn } : agent.signIn && { hint: agent.signIn.hint }),
  }
}

function notFound({ name, command, install }: KnownAgent): string {
  const how = install
    ? `Install it: npm install -g ${install.package}@${install.version}`
    : 'Install it first.'
  return `${name} was not found: there is no program "${command}". ${how}`
}

/** That it is signed in can be seen; that it is not, only the agent itself can say. */
function hasCredential({ signIn }: KnownAgent, env: Readonly<Record<string, string>>): boolean {
  const { variables = [], files = [] } = signIn ?? {}
  if (variables.some((name) => env[name])) return true
  return files.some((file) => existsSync(join(env.HOME ?? homedir(), file)))
}

/** As its package says, which stands around the program; asking the program itself takes seconds. */
function versionOf(
  { id, install }: KnownAgent,
  { agentsFolder }: AcpAdapterOptions,
  path: string,
): string | undefined {
  if (!install) return undefined
  try {
    for (let folder = dirname(realpathSync(path)); folder !== dirname(folder); folder = dirname(folder)) {
      const file = join(folder, 'package.json')
      if (!existsSync(file)) continue
      const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as { name?: string; version?: string }
      if (name === install.package) return version
    }
  } catch {}
  return agentsFolder && installedVersion(agentsFolder, id, install.package)
}
