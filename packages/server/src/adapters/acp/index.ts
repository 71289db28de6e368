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
import type { AgentAdapter, AgentMemory, ConnectInput } from '../../core/agent-adapter.ts'
import { correctIt, howToFind, type ParleyCommand, programAsTyped } from '../advice.ts'
import { agentEnvironment, type Environment } from '../environment.ts'
import { findProgram, installedVersion, pathWithNode } from '../find-program.ts'
import { expectFolder, lazyMemory } from '../program-adapter.ts'
import { AcpAgent, type KnownAgent } from './agent.ts'
import { acpAgents } from './presets.ts'

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
  /** The environment of this process. The agent receives only the variables that it needs. */
  readonly env: Environment
  /** Variables that the configuration adds. */
  readonly add?: Readonly<Record<string, string>>
  /** Replaces the default program: an absolute path, or a name on the PATH. */
  readonly executable?: string
  /** Replaces the default arguments. */
  readonly args?: readonly string[]
  /** Where Parley installs agents. */
  readonly agentsFolder?: string
  /** Formats a command of Parley's own program, for advice. */
  readonly parley?: ParleyCommand
}

/**
 * An adapter for any agent that speaks the Agent Client Protocol over stdio, with one process per session. The SDK is
 * loaded on demand.
 */
export function createAcpAdapter(preset: AcpAgent, options: AcpAdapterOptions): AgentAdapter {
  const agent = known(preset, options)
  const { terminal } = agent
  return {
    id: agent.id,
    name: agent.name,
    ...(agent.description !== undefined && { description: agent.description }),
    capabilities: capabilities(...agent.capabilities),
    modes: Object.keys(agent.modes) as PermissionMode[],
    options: agent.options,
    restartsFor: agent.options.filter((option) => option === 'directories'),
    ...(agent.install && { install: agent.install }),
    variables: reservedVariables(agent),
    ...keysOf(agent),
    ...(agent.startsAhead && { startsAhead: true }),
    ...(agent.conversations && { conversations: createMemory(agent, options) }),
    ...(terminal && { terminalCommand: (id: string) => [...terminal, id] }),
    probe: createProbe(agent, options),
    refusal: () => refusal(agent, options),
    async connect(input) {
      const program = expectFound(agent, options)
      expectFolder(input.cwd)
      const env = environment(agent, options, input)
      const { connectAcp } = await import('./connection.ts')
      return connectAcp({ agent: withProgram(agent, program, options), program, env }, input)
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

/**
 * The environment of the process: the variables that any program needs, those of the vendor, those of the entry, and
 * those that the person adds.
 */
function environment(
  agent: KnownAgent,
  { env: from, add }: AcpAdapterOptions,
  input?: Pick<ConnectInput, 'trusted' | 'mcpServers' | 'env'>,
): Record<string, string> {
  const { vendor, without, trust } = agent
  const own = agentEnvironment({ from, vendor, without, ...(add && { add }) })
  const trusts = trust && { [trust.variable]: input?.trusted ? trust.yes : trust.no }
  const env: Record<string, string> = {
    ...agent.env,
    ...trusts,
    ...own,
    ...input?.env,
    PATH: pathWithNode(own.PATH),
  }
  const hasServers = Object.keys(input?.mcpServers ?? {}).length > 0
  if (trust?.forServers && hasServers && env[trust.variable] !== trust.yes) {
    const message = `${agent.name} starts MCP servers only in a folder that is trusted. Trust the folder first.`
    throw new ParleyError('not_supported', message)
  }
  return env
}

/** The sign-in variables that hold a key; the others select a cloud service. */
function keysOf({ signIn }: KnownAgent): Pick<AgentAdapter, 'keys'> {
  const keys = (signIn?.variables ?? []).filter((name) => /_(KEY|TOKEN)$/.test(name))
  return keys.length > 0 ? { keys } : {}
}

/** Variables that sessions may not set: those that the entry sets, and those that belong to another session. */
function reservedVariables({
  env,
  without,
  trust,
  variables,
}: KnownAgent): NonNullable<AgentAdapter['variables']> {
  const own = [...Object.keys(env), ...without, ...(trust ? [trust.variable] : [])]
  return { reserved: [...own, ...(variables?.reserved ?? [])], open: variables?.open ?? [] }
}

/** Fills the program into the sign-in advice, so that it can be typed as it is. */
function withProgram(agent: KnownAgent, program: string, { env }: AcpAdapterOptions): KnownAgent {
  const { signIn } = agent
  if (!signIn) return agent
  const typed = (words: string) => words.replaceAll('{program}', programAsTyped(program, env))
  const { hint, command } = signIn
  return {
    ...agent,
    signIn: { ...signIn, hint: typed(hint), ...(command !== undefined && { command: typed(command) }) },
  }
}

function refusal(agent: KnownAgent, options: AcpAdapterOptions): ParleyError | undefined {
  if (findAgent(agent, options) !== undefined) return undefined
  return new ParleyError('agent_not_found', `${agent.name} was not found. ${howToGet(agent, options)}`)
}

function expectFound(agent: KnownAgent, options: AcpAdapterOptions): string {
  const program = findAgent(agent, options)
  if (program === undefined) throw refusal(agent, options)
  return program
}

function createMemory(agent: KnownAgent, options: AcpAdapterOptions): AgentMemory {
  return lazyMemory(async () => {
    const program = expectFound(agent, options)
    const env = environment(agent, options)
    const { acpMemory } = await import('./memory.ts')
    return acpMemory({ agent, program, env, folder: steadyFolder(env, options) })
  })
}

/**
 * The working directory for a program that is only queried. It is always the same, since some programs record every
 * folder that they were started in.
 */
function steadyFolder(env: Readonly<Record<string, string>>, { agentsFolder }: AcpAdapterOptions): string {
  return agentsFolder !== undefined && existsSync(agentsFolder) ? agentsFolder : (env.HOME ?? homedir())
}

/** How long a good result of a probe is reused: asking the program takes seconds. */
const believedMs = 60_000

function createProbe(agent: KnownAgent, options: AcpAdapterOptions): AgentAdapter['probe'] {
  let believed: { probe: AgentProbe; at: number } | undefined
  return async (signal) => {
    const program = findAgent(agent, options)
    if (program === undefined) return { found: false, hint: howToGet(agent, options) }
    if (believed?.probe.path === program && Date.now() - believed.at < believedMs) return believed.probe
    const env = environment(agent, options)
    const version = versionOf(agent, options, program)
    const { probeProgram } = await import('./probe.ts')
    const folder = steadyFolder(env, options)
    const told = withProgram(agent, program, options)
    const probe = await probeProgram({ agent: told, program, env, version, folder }, signal)
    believed = probe.signedIn ? { probe, at: Date.now() } : undefined
    return probe
  }
}

function howToGet({ id, command, install }: KnownAgent, options: AcpAdapterOptions): string {
  const { executable, agentsFolder, parley } = options
  if (install) return howToFind({ agent: id, install, executable, agentsFolder, parley })
  const isKnown = executable === undefined && acpAgents.some((preset) => preset.id === id)
  if (isKnown) return `${command} is not installed. See its install guide.`
  return `There is no program "${executable ?? command}". ${correctIt(id)}`
}

/** The version from the package.json around the program. Asking the program itself takes seconds. */
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
