import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import { adviseInstall, adviseMissing, programAsTyped, programForTerminal } from '@parley/adapter-kit/advice'
import { agentEnvironment } from '@parley/adapter-kit/environment'
import { agentFolder, findProgram, installedVersion } from '@parley/adapter-kit/find-program'
import {
  commonCapabilities,
  createAgentProgram,
  expectFolder,
  lazyMemory,
  type ProgramAdapterOptions,
} from '@parley/adapter-kit/program-adapter'
import { runProgram } from '@parley/adapter-kit/run-program'
import { type AgentProbe, capabilities, type SessionOptions } from '@parley/protocol'
import { messageIdOf } from './native.ts'
import type { ServerPool, SharedServer } from './server.ts'
import type { Advice } from './server-info.ts'
import type { ServerNeeds } from './settings.ts'

export type OpenCodeAdapterOptions = ProgramAdapterOptions

/** The session options that this adapter supports. All take effect with the next prompt. */
const honouredOptions = [
  'effort',
  'appendSystemPrompt',
  'outputSchema',
] as const satisfies readonly (keyof SessionOptions)[]

const id = 'opencode'
const install = { package: 'opencode-ai', version: '1.18.33' }
const versionMs = 5_000

/** OpenCode through its own server, which serves many sessions. The SDK is loaded on first use. */
export function createOpenCodeAdapter(options: OpenCodeAdapterOptions): AgentAdapter {
  const { executable = id, agentsFolder, parley } = options
  const env = agentEnvironment({
    from: options.env,
    vendor: ['OPENCODE_', ...providerVariables],
    without: ofAnotherServer,
    ...(options.add && { add: options.add }),
  })
  const given = { agent: id, install, executable: options.executable, agentsFolder, parley }
  const installAdvice = adviseInstall(given)
  const { find, expectFound, refusal, probe } = createAgentProgram({
    name: 'OpenCode',
    find: () => findProgram({ name: executable, env, installed: { folder: agentsFolder, agent: id } }),
    hint: adviseMissing(given),
  })
  const signIn = (program: string) => `${programAsTyped(program, options.env)} auth login`
  let pool: ServerPool | undefined
  const acquire = async (needs: ServerNeeds, signal: AbortSignal): Promise<SharedServer> => {
    const program = expectFound()
    const { ServerPool } = await import('./server.ts')
    const { serverEnvironment, serverKey } = await import('./settings.ts')
    pool ??= new ServerPool()
    const start = () => ({ program, env: serverEnvironment(env, needs) })
    return pool.acquire(serverKey(needs), start, signal)
  }
  return {
    id,
    name: 'OpenCode',
    description: 'OpenCode, with the models of any provider, through its own server.',
    capabilities: capabilities(
      ...commonCapabilities,
      'toolOutputStreaming',
      'forkBefore',
      'cost',
      'structuredOutput',
      'retraction',
      'rejoin',
    ),
    modes: ['ask', 'accept-edits', 'read-only', 'plan', 'bypass'],
    options: honouredOptions,
    install,
    keys: providerVariables.filter((name) => name.endsWith('_API_KEY')),
    variables: { reserved: ['OPENCODE_*'], open: ['OPENCODE_API_KEY'] },
    startsAhead: true,
    conversations: lazyMemory(async () => {
      const { opencodeMemory } = await import('./memory.ts')
      return opencodeMemory((signal) => acquire({ trusted: false }, signal))
    }, messageIdOf),
    terminalCommand: (agentSessionId) => [
      programForTerminal(id, find(), options.env),
      '--session',
      agentSessionId,
    ],
    probe: probe((path, signal) =>
      probeProgram(path, { env, agentsFolder, signal, advice: { installAdvice, signIn: signIn(path) } }),
    ),
    refusal,
    async connect(input) {
      expectFolder(input.cwd)
      const shared = await acquire(input, input.signal)
      const { connectOpenCode } = await import('./connection.ts')
      const advice = { installAdvice, signIn: signIn(find() ?? id) }
      return connectOpenCode(shared, input, { advice })
    },
  }
}

type ProbeContext = {
  readonly env: Readonly<Record<string, string>>
  readonly agentsFolder: string | undefined
  readonly signal: AbortSignal
  readonly advice: Advice
}

/**
 * Probes the program without starting a server. The sign-in state is then uncertain, because only a running server
 * can report it.
 */
async function probeProgram(path: string, context: ProbeContext): Promise<AgentProbe> {
  const { advice } = context
  const version = await versionOf(path, context)
  const { tooOld } = await import('./server-info.ts')
  const hint = version === undefined ? undefined : tooOld(version, advice.installAdvice)
  if (version !== undefined && hint !== undefined) return { found: true, path, version, usable: false, hint }
  const signInHint = `Sign in once with the program itself (${advice.signIn}), or set the key of a provider.`
  const signedIn = hasEvidentCredential(context.env)
    ? { signedIn: true }
    : { hint: signInHint, command: advice.signIn }
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

/**
 * OpenCode has no vendor of its own: it uses every provider for which its environment has a key. This list has the keys
 * of the most common providers, and the settings of the two clouds that have no single key. Any other key can be added
 * with `agents.opencode.env`, or stored by OpenCode itself (opencode auth login).
 */
const providerVariables = [
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'GEMINI_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'OPENROUTER_API_KEY',
  'GROQ_API_KEY',
  'MISTRAL_API_KEY',
  'DEEPSEEK_API_KEY',
  'XAI_API_KEY',
  'CEREBRAS_API_KEY',
  'TOGETHER_API_KEY',
  'FIREWORKS_API_KEY',
  'MOONSHOT_API_KEY',
  'ZHIPU_API_KEY',
  'AI_GATEWAY_API_KEY',
  'AWS_',
  'AZURE_',
  'GOOGLE_CLOUD_PROJECT',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'VERTEX_LOCATION',
] as const

/** Variables that another OpenCode sets for its children. They must not be inherited. */
const ofAnotherServer = [
  'OPENCODE_SERVER_PASSWORD',
  'OPENCODE_SERVER_USERNAME',
  'OPENCODE_PID',
  'OPENCODE_TERMINAL',
  'OPENCODE_ROUTE',
  'OPENCODE_WORKSPACE_ID',
  'OPENCODE_CLIENT',
] as const

/** True if a credential is visible without a server. If none is, the server is asked once it has started. */
function hasEvidentCredential(env: Readonly<Record<string, string>>): boolean {
  const keys = ['OPENCODE_API_KEY', ...providerVariables.filter((name) => name.endsWith('_API_KEY'))]
  if (keys.some((name) => env[name]) || env.OPENCODE_AUTH_CONTENT) return true
  const data = env.XDG_DATA_HOME ?? join(env.HOME ?? '', '.local', 'share')
  try {
    const kept = JSON.parse(readFileSync(join(data, 'opencode', 'auth.json'), 'utf8')) as object
    return Object.keys(kept).length > 0
  } catch {
    return false
  }
}
