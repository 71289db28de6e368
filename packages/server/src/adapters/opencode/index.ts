import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type AgentProbe, capabilities, ParleyError } from '@parley/protocol'
import type { AgentAdapter } from '../../core/agent-adapter.ts'
import { agentEnvironment, type Environment } from '../environment.ts'
import { agentFolder, findProgram, installedVersion } from '../find-program.ts'
import { runProgram } from '../run-program.ts'
import { hasEvidentCredential, ofAnotherServer, providerVariables } from './credentials.ts'
import { opencodeMemory } from './memory.ts'
import type { ServerPool, SharedServer } from './server.ts'
import { honouredOptions, type ServerNeeds, serverEnvironment, serverKey } from './settings.ts'
import { tooOld } from './version.ts'

export type OpenCodeAdapterOptions = {
  /** The environment of this process, of which the agent gets what it needs. */
  readonly env: Environment
  /** Added to it, from the configuration. */
  readonly add?: Readonly<Record<string, string>>
  /** Another program than `opencode`: a whole path, or a name on the PATH. */
  readonly executable?: string
  /** Where Parley installs agents. */
  readonly agentsFolder?: string
}

const id = 'opencode'
const install = { package: 'opencode-ai', version: '1.18.33' }
const versionMs = 5_000
const signInHint = 'Sign in once with the program itself (opencode auth login), or set the key of a provider.'

/** OpenCode, through its own server: one for many sessions. Its SDK is loaded when it is first needed. */
export function createOpenCodeAdapter(options: OpenCodeAdapterOptions): AgentAdapter {
  const { executable = id, agentsFolder } = options
  const env = agentEnvironment({
    from: options.env,
    vendor: ['OPENCODE_', ...providerVariables],
    without: ofAnotherServer,
    ...(options.add && { add: options.add }),
  })
  const find = () => findProgram({ name: executable, env, installed: { folder: agentsFolder, agent: id } })
  let pool: ServerPool | undefined
  const acquire = async (needs: ServerNeeds, signal: AbortSignal): Promise<SharedServer> => {
    const program = find()
    if (program === undefined) throw new ParleyError('agent_not_found', notFound(executable))
    const { ServerPool } = await import('./server.ts')
    pool ??= new ServerPool()
    return pool.acquire(serverKey(needs), () => ({ program, env: serverEnvironment(env, needs) }), signal)
  }
  return {
    id,
    name: 'OpenCode',
    description: 'OpenCode, with the models of any provider, through its own server.',
    capabilities: capabilities(
      'streaming',
      'thinking',
      'toolOutputStreaming',
      'permissions',
      'questions',
      'plan',
      'subagents',
      'images',
      'files',
      'resume',
      'fork',
      'interrupt',
      'steer',
      'models',
      'effort',
      'modes',
      'mcp',
      'commands',
      'compaction',
      'rewind',
      'usage',
      'cost',
      'structuredOutput',
      'retraction',
    ),
    modes: ['ask', 'accept-edits', 'read-only', 'plan', 'bypass'],
    options: honouredOptions,
    install,
    startsAhead: true,
    conversations: opencodeMemory((signal) => acquire({ trusted: false }, signal)),
    terminalCommand: (agentSessionId) => [id, '--session', agentSessionId],
    probe: (signal) => probe(find(), { env, agentsFolder, signal }),
    async connect(input) {
      if (!existsSync(input.cwd))
        throw new ParleyError('validation_error', `The folder ${input.cwd} does not exist.`)
      const shared = await acquire(input, input.signal)
      const { connectOpenCode } = await import('./connect.ts')
      return connectOpenCode(shared, input)
    },
  }
}

type ProbeContext = {
  readonly env: Readonly<Record<string, string>>
  readonly agentsFolder: string | undefined
  readonly signal: AbortSignal
}

/** Starts no server: whether somebody is signed in is known for certain only when one is. */
async function probe(path: string | undefined, context: ProbeContext): Promise<AgentProbe> {
  if (path === undefined) return { found: false, hint: notFound(id) }
  const version = await versionOf(path, context)
  const refusal = version === undefined ? undefined : tooOld(version)
  if (version !== undefined && refusal !== undefined) return { found: true, path, version, hint: refusal }
  const signedIn = hasEvidentCredential(context.env) ? { signedIn: true } : { hint: signInHint }
  return { found: true, path, ...(version !== undefined && { version }), ...signedIn }
}

async function versionOf(
  path: string,
  { env, agentsFolder, signal }: ProbeContext,
): Promise<string | undefined> {
  if (agentsFolder !== undefined && dirname(path).startsWith(agentFolder(agentsFolder, id))) {
    return installedVersion(agentsFolder, id, install.package)
  }
  const start = { command: path, args: ['--version'], env, timeoutMs: versionMs, signal }
  const { exitCode, stdout } = await runProgram(start)
  return exitCode === 0 ? /^\d+\.\d+\.\d+\S*/.exec(stdout.trim())?.[0] : undefined
}

function notFound(name: string): string {
  return `${name} was not found. Install it with "parley agents install opencode", or name its path in config.json (agents.opencode.command).`
}
