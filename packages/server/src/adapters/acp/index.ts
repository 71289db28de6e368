import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { AgentAdapter, AgentMemory, AgentOutput, ConnectInput, Person } from '@parley/adapter-kit'
import { adviseMissing, configAdvice, programAsTyped } from '@parley/adapter-kit/advice'
import { agentEnvironment } from '@parley/adapter-kit/environment'
import { findProgram, installedVersion, pathWithNode } from '@parley/adapter-kit/find-program'
import {
  type AgentProgram,
  createAgentProgram,
  expectFolder,
  lazyMemory,
  type ProgramAdapterOptions,
} from '@parley/adapter-kit/program-adapter'
import type { AgentProbe } from '@parley/protocol'
import { capabilities, newId, ParleyError, type PermissionMode, validationError } from '@parley/protocol'
import { AcpAgent, hasCredential, type KnownAgent, withDefaults } from './agent.ts'
import type { AcpConnectionOptions } from './connection.ts'
import { acpAgents } from './presets.ts'
import { writeSettings } from './write-settings.ts'

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

export type AcpAdapterOptions = ProgramAdapterOptions & {
  readonly args?: readonly string[]
}

/**
 * An adapter for any agent that speaks the Agent Client Protocol over stdio, with one process per session. The SDK is
 * loaded on demand.
 */
export function createAcpAdapter(preset: AcpAgent, options: AcpAdapterOptions): AgentAdapter {
  const agent = known(preset, options)
  const { terminal } = agent
  const program = programOf(agent, options)
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
    ...(agent.conversations && { conversations: createMemory(agent, program, options) }),
    ...(terminal && { terminalCommand: (id: string) => [...terminal, id] }),
    probe: createProbe(agent, program, options),
    refusal: program.refusal,
    async connect(input) {
      const path = program.expectFound()
      expectFolder(input.cwd)
      const env = environment(agent, options, input)
      const { connectAcp } = await import('./connection.ts')
      return connectAcp({ agent: withProgram(agent, path, options), program: path, env }, input)
    },
  }
}

function known(preset: AcpAgent, { args }: AcpAdapterOptions): KnownAgent {
  const given = args ? { ...preset, args: [...args] } : preset
  if (acpAgents.includes(preset)) return withDefaults(given)
  const { data, error } = AcpAgent.safeParse(given)
  if (error) throw validationError(`The agent "${preset.id}"`, error)
  return data
}

function programOf(agent: KnownAgent, options: AcpAdapterOptions): AgentProgram {
  const { env, executable, agentsFolder } = options
  const find = () =>
    executable === undefined
      ? findProgram({ name: agent.command, env, installed: { folder: agentsFolder, agent: agent.id } })
      : findProgram({ name: executable, env })
  return createAgentProgram({ name: agent.name, find, hint: adviseInstall(agent, options) })
}

/**
 * The environment of the process: the variables of any program, of the vendor and of the preset, and those that the
 * person adds.
 */
function environment(
  agent: KnownAgent,
  { env: from, add, agentsFolder }: AcpAdapterOptions,
  input?: Pick<ConnectInput, 'trusted' | 'mcpServers' | 'env'>,
): Record<string, string> {
  const { vendor, without, sets } = agent
  const own = agentEnvironment({ from, vendor, without, add })
  const env: Record<string, string> = {
    ...agent.env,
    ...trustVariables(agent, agentsFolder, input),
    ...own,
    ...input?.env,
    ...sets,
    PATH: pathWithNode(own.PATH),
  }
  expectTrust(agent, env, input)
  return env
}

function trustVariables(
  { id, trust }: KnownAgent,
  agentsFolder: string | undefined,
  input: Pick<ConnectInput, 'trusted'> | undefined,
): Record<string, string> {
  if (trust === undefined || trust === 'required') return {}
  if (input?.trusted) return trust.trusted
  const { settings } = trust
  const file = settings && {
    [settings.variable]: writeSettings(`${id}-untrusted`, settings.untrusted, agentsFolder),
  }
  return { ...trust.untrusted, ...file }
}

/** Throws if the folder is not trusted, and the agent would load settings or servers in it that it must not load. */
function expectTrust(
  { name, trust }: KnownAgent,
  env: Readonly<Record<string, string>>,
  input: Pick<ConnectInput, 'trusted' | 'mcpServers'> | undefined,
): void {
  if (trust === undefined || !input) return
  const refuse = (what: string) => {
    throw new ParleyError('not_supported', `${name} ${what} Trust the folder first.`)
  }
  if (trust === 'required') {
    if (!input.trusted)
      refuse(
        'loads the settings of every folder, with their hooks and MCP servers, so it is started only in trusted folders.',
      )
    return
  }
  const hasServers = Object.keys(input.mcpServers ?? {}).length > 0
  const variables = Object.entries(trust.trusted)
  const isTrusted =
    variables.length > 0 ? variables.every(([variable, value]) => env[variable] === value) : input.trusted
  if (trust.forServers && hasServers && !isTrusted) refuse('starts MCP servers only in trusted folders.')
}

/** Returns the sign-in variables that hold a key. The other sign-in variables select a cloud service. */
function keysOf({ signIn }: KnownAgent): Pick<AgentAdapter, 'keys'> {
  const keys = (signIn?.variables ?? []).filter((name) => /_(KEY|TOKEN)$/.test(name))
  return keys.length > 0 ? { keys } : {}
}

/**
 * Variables that sessions may not set: those that the entry sets, and those that another running agent sets for its
 * children.
 */
function reservedVariables({
  env,
  sets,
  without,
  trust,
  variables,
}: KnownAgent): NonNullable<AgentAdapter['variables']> {
  const byTrust = typeof trust === 'object' ? { ...trust.trusted, ...trust.untrusted } : {}
  const file = typeof trust === 'object' && trust.settings ? [trust.settings.variable] : []
  const own = [...[env, sets, byTrust].flatMap((one) => Object.keys(one)), ...file, ...without]
  return { reserved: [...own, ...(variables?.reserved ?? [])], open: variables?.open ?? [] }
}

/** Inserts the program into the sign-in advice, so that a person can type the advice as shown. */
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

function createMemory(agent: KnownAgent, program: AgentProgram, options: AcpAdapterOptions): AgentMemory {
  return lazyMemory(async () => {
    const path = program.expectFound()
    const env = environment(agent, options)
    const { acpMemory } = await import('./memory.ts')
    return acpMemory({ agent, program: path, env, folder: neutralFolder(env, options) })
  })
}

/**
 * The working directory for a program that is only queried. It is always the same, since some programs record every
 * folder that they were started in.
 */
function neutralFolder(env: Readonly<Record<string, string>>, { agentsFolder }: AcpAdapterOptions): string {
  return agentsFolder !== undefined && existsSync(agentsFolder) ? agentsFolder : (env.HOME ?? homedir())
}

/** The time for which a successful probe result is reused, because asking the program takes seconds. */
const reuseMs = 60_000

function createProbe(
  preset: KnownAgent,
  program: AgentProgram,
  options: AcpAdapterOptions,
): AgentAdapter['probe'] {
  return program.probe(async (path, signal) => {
    const env = environment(preset, options)
    const version = versionOf(preset, options, path)
    const folder = neutralFolder(env, options)
    const agent = withProgram(preset, path, options)
    return probeProgram({ agent, program: path, env, version, folder }, signal)
  }, reuseMs)
}

function adviseInstall(
  { id, command, install, installGuide }: KnownAgent,
  options: AcpAdapterOptions,
): string {
  const { executable, agentsFolder, parley } = options
  if (install) return adviseMissing({ agent: id, install, executable, agentsFolder, parley })
  if (installGuide !== undefined && executable === undefined) return `To install it, see ${installGuide}`
  return `There is no program "${executable ?? command}". ${configAdvice(id)}`
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

type ProbeOptions = AcpConnectionOptions & {
  /** The version from the package.json of the program. */
  readonly version: string | undefined
  readonly folder: string
}

type Connected = Extract<AgentOutput, { type: 'agent.connected' }>

/** Denies every request: a probe must not run anything. */
const denyingPerson: Person = {
  forbids: () => true,
  permit: async () => ({ outcome: 'denied', requestId: 'probe' }),
  answer: async () => ({ outcome: 'cancelled', requestId: 'probe' }),
}

/** Starts the program, creates a session and ends it. Returns what the program reports about itself. Never rejects. */
async function probeProgram(options: ProbeOptions, signal: AbortSignal): Promise<AgentProbe> {
  const { agent, program, version } = options
  const found: AgentProbe = { found: true, path: program, ...(version !== undefined && { version }) }
  try {
    const reported = await introductionOf(options, signal)
    return { ...found, ...described(options, reported) }
  } catch (error) {
    const { code, message } =
      error instanceof ParleyError ? error : { code: 'agent_failed', message: `${error}` }
    if (code === 'agent_not_signed_in') {
      return { ...found, signedIn: false, hint: 'Sign in with the program itself.', ...signInAdvice(agent) }
    }
    if (!signal.aborted) return { ...found, usable: false, hint: message }
    const hint = `${agent.name} did not answer in time. For details, run "parley agents doctor ${agent.id}".`
    return { ...found, hint }
  }
}

async function introductionOf({ folder, ...options }: ProbeOptions, signal: AbortSignal): Promise<Connected> {
  const [mode = 'ask'] = Object.keys(options.agent.modes) as PermissionMode[]
  const { connectAcp } = await import('./connection.ts')
  const connection = await connectAcp(options, {
    sessionId: newId('ses'),
    connectionId: newId('con'),
    cwd: folder,
    settings: { mode },
    trusted: false,
    person: denyingPerson,
    signal,
  })
  const closed = connection.close()
  let reported: Connected = { type: 'agent.connected' }
  for await (const output of connection.events)
    if (output.type === 'agent.connected') reported = { ...reported, ...output }
  await closed
  return reported
}

function described({ agent, env, version }: ProbeOptions, reported: Connected): Partial<AgentProbe> {
  const { agentVersion, models, credential } = reported
  const signedIn = credential !== undefined || agent.signIn?.required || hasCredential(agent, env)
  return {
    ...(version === undefined && agentVersion !== undefined && { version: agentVersion }),
    ...(models && { models }),
    ...(signedIn ? { signedIn: true } : signInAdvice(agent)),
  }
}

function signInAdvice({ signIn }: ProbeOptions['agent']): Pick<AgentProbe, 'hint' | 'command'> {
  if (!signIn) return {}
  const { hint, command } = signIn
  return { hint, ...(command !== undefined && { command }) }
}
