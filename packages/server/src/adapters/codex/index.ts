import type { AgentAdapter } from '@parley/adapter-kit'
import { adviseInstall, adviseMissing, programAsTyped, programForTerminal } from '@parley/adapter-kit/advice'
import { agentEnvironment, environmentKey } from '@parley/adapter-kit/environment'
import { findProgram, pathWithNode } from '@parley/adapter-kit/find-program'
import {
  commonCapabilities,
  createAgentProgram,
  expectFolder,
  lazyMemory,
  type ProgramAdapterOptions,
} from '@parley/adapter-kit/program-adapter'
import { unlessAborted } from '@parley/adapter-kit/time-limit'
import { type AgentProbe, capabilities, ParleyError } from '@parley/protocol'
import type { AppServerPool } from './app-server-pool.ts'
import { honouredOptions, offeredModes } from './settings.ts'

export type CodexAdapterOptions = ProgramAdapterOptions & {
  readonly startMs?: number
}

/** Variables that Codex sets for its child processes. Parley itself may be one of them. */
const ofAnotherSession = [
  'CODEX_SANDBOX',
  'CODEX_SANDBOX_NETWORK_DISABLED',
  'CODEX_THREAD_ID',
  'CODEX_CI',
  'CODEX_INTERNAL_ORIGINATOR_OVERRIDE',
]
const install = { package: '@openai/codex', version: '0.166.0' } as const
/** The time for which a good sign-in state is reused before Codex is asked again. */
const probeReuseMs = 60_000

/** Codex by OpenAI, through `codex app-server`: one process for all sessions. */
export function createCodexAdapter(options: CodexAdapterOptions): AgentAdapter {
  const env = agentEnvironment({
    from: options.env,
    vendor: ['OPENAI_', 'CODEX_'],
    without: ofAnotherSession,
    ...(options.add && { add: options.add }),
  })
  env.PATH = pathWithNode(env.PATH)
  const { agentsFolder, parley, executable, startMs } = options
  const advice = { agent: 'codex', install, executable, agentsFolder, parley }
  const installAdvice = adviseInstall(advice)
  const installed = { folder: agentsFolder, agent: 'codex' }
  const { find, expectFound, refusal, probe } = createAgentProgram({
    name: 'Codex',
    find: () => findProgram({ name: executable ?? 'codex', env, installed }),
    hint: adviseMissing(advice),
  })
  const typed = (path: string) => programAsTyped(path, options.env)
  const pools = new Map<string, Promise<AppServerPool>>()
  /**
   * Returns the pool for sessions with these variables. A process has one environment, so only sessions with
   * equal variables share a program.
   */
  const poolFor = (more?: Readonly<Record<string, string>>): Promise<AppServerPool> => {
    const key = environmentKey(more)
    const known = pools.get(key)
    if (known) return known
    const start = () => ({ program: find() ?? '', env: { ...env, ...more }, startMs, installAdvice })
    const made = import('./app-server-pool.ts').then(({ createAppServerPool }) => createAppServerPool(start))
    pools.set(key, made)
    return made
  }
  return {
    id: 'codex',
    name: 'Codex',
    description: 'Codex by OpenAI, through its app-server.',
    capabilities: capabilities(
      ...commonCapabilities,
      'toolOutputStreaming',
      'forkBefore',
      'forkElsewhere',
      'aside',
      'hostTools',
      'structuredOutput',
      'retraction',
      'rejoin',
    ),
    modes: offeredModes,
    options: honouredOptions,
    restartsFor: ['systemPrompt', 'appendSystemPrompt', 'directories', 'tools'],
    install,
    keys: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
    variables: { reserved: ['CODEX_*'], open: ['CODEX_API_KEY'] },
    conversations: lazyMemory(async () => {
      const { codexMemory } = await import('./memory.ts')
      return codexMemory(async (signal) => {
        expectFound()
        return (await poolFor()).acquire(signal)
      })
    }),
    terminalCommand: (agentSessionId) => [
      programForTerminal('codex', find(), options.env),
      'resume',
      agentSessionId,
    ],
    probe: probe(
      async (path, signal) => askProgram(await poolFor(), { path, typed: typed(path) }, signal),
      probeReuseMs,
    ),
    refusal,
    async connect(input) {
      expectFound()
      expectFolder(input.cwd)
      const { connectCodex } = await import('./connection.ts')
      return connectCodex(await poolFor(input.env), input).catch((error: unknown) => {
        throw notSignedIn(error) ? withHint(error, signInAdvice(typed(find() ?? 'codex'))) : error
      })
    },
  }
}

function notSignedIn(error: unknown): error is ParleyError {
  return error instanceof ParleyError && error.code === 'agent_not_signed_in'
}

function withHint({ code, message }: ParleyError, hint: string): ParleyError {
  return new ParleyError(code, `${message} ${hint}`)
}

function signInAdvice(program: string): string {
  return `Sign in once with the program itself: ${program} login. Or set OPENAI_API_KEY for the server.`
}

/**
 * Asks the program for its sign-in state: an account, or a provider that needs none. Only the program itself has this
 * information.
 */
async function askProgram(
  pool: AppServerPool,
  { path, typed }: { path: string; typed: string },
  signal: AbortSignal,
): Promise<AgentProbe> {
  try {
    const { readAccount } = await import('./conversation.ts')
    const { server, release } = await pool.acquire(signal)
    try {
      const answers = Promise.all([readAccount(server), server.models().catch(() => [])])
      const [{ signedIn }, models] = await unlessAborted(answers, signal, 'Codex did not answer in time.')
      const hint = signedIn ? {} : { hint: signInAdvice(typed), command: `${typed} login` }
      return { found: true, path, version: server.version, signedIn, models, ...hint }
    } finally {
      if (signal.aborted) void server.checkAlive()
      await release()
    }
  } catch (error) {
    const hint = error instanceof ParleyError ? error.message : 'Codex does not answer.'
    return { found: true, path, ...(!signal.aborted && { usable: false }), hint }
  }
}
