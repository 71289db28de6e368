import { existsSync } from 'node:fs'
import { type AgentProbe, capabilities, ParleyError } from '@parley/protocol'
import type { AgentAdapter } from '../../core/agent-adapter.ts'
import { agentEnvironment, type Environment } from '../environment.ts'
import { findProgram, pathWithNode } from '../find-program.ts'
import { unlessAborted } from '../unless-aborted.ts'
import { type AppServerPool, createAppServerPool } from './app-server-pool.ts'
import { connectCodex } from './connection.ts'
import { codexMemory } from './memory.ts'
import { readAccount, signInHint } from './open-thread.ts'
import { honouredOptions, offeredModes } from './settings.ts'

export type CodexAdapterOptions = {
  /** The environment of this process, of which the agent gets what it needs. */
  readonly env: Environment
  /** Added to it, from the configuration. */
  readonly add?: Readonly<Record<string, string>>
  /** Another Codex than the one that is found: a path, or a name on the PATH. */
  readonly executable?: string
  /** Where Parley installs agents. */
  readonly agentsFolder?: string
  /** How long Codex may take to start. */
  readonly startMs?: number
}

/** What belongs to a Codex that Parley itself may run in. */
const ofAnotherSession = [
  'CODEX_SANDBOX',
  'CODEX_SANDBOX_NETWORK_DISABLED',
  'CODEX_THREAD_ID',
  'CODEX_CI',
  'CODEX_INTERNAL_ORIGINATOR_OVERRIDE',
]
const install = { package: '@openai/codex', version: '0.166.0' } as const
const notFound = `Codex was not found. Install it: npm install -g ${install.package}@${install.version}`
/** How long it is believed that Codex is signed in, before it is asked again. */
const believedMs = 60_000

/** Codex by OpenAI, through `codex app-server`: one process for all sessions. */
export function createCodexAdapter(options: CodexAdapterOptions): AgentAdapter {
  const env = agentEnvironment({
    from: options.env,
    vendor: ['OPENAI_', 'CODEX_'],
    without: ofAnotherSession,
    ...(options.add && { add: options.add }),
  })
  env.PATH = pathWithNode(env.PATH)
  const find = () =>
    findProgram({
      name: options.executable ?? 'codex',
      env,
      installed: { folder: options.agentsFolder, agent: 'codex' },
    })
  const pool = createAppServerPool(() => ({ program: find() ?? '', env, startMs: options.startMs }))
  const expectFound = () => {
    if (find() === undefined) throw new ParleyError('agent_not_found', notFound)
  }
  let believed: { probe: AgentProbe; at: number } | undefined
  return {
    id: 'codex',
    name: 'Codex',
    description: 'Codex by OpenAI, through its app-server.',
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
      'hostTools',
      'commands',
      'compaction',
      'usage',
      'structuredOutput',
      'retraction',
    ),
    modes: offeredModes,
    options: honouredOptions,
    restartsFor: ['systemPrompt', 'appendSystemPrompt', 'directories', 'tools'],
    install,
    conversations: codexMemory(async (signal) => {
      expectFound()
      return pool.acquire(signal)
    }),
    terminalCommand: (agentSessionId) => ['codex', 'resume', agentSessionId],
    async probe(signal) {
      const path = find()
      if (path === undefined) return { found: false, hint: notFound }
      if (believed?.probe.path === path && Date.now() - believed.at < believedMs) return believed.probe
      const probe = await ask(pool, path, signal)
      believed = probe.signedIn ? { probe, at: Date.now() } : undefined
      return probe
    },
    async connect(input) {
      expectFound()
      if (!existsSync(input.cwd))
        throw new ParleyError('validation_error', `The folder ${input.cwd} does not exist.`)
      return connectCodex(pool, input)
    },
  }
}

/** Only the program itself knows who is signed in: with which account, or with a provider that needs none. */
async function ask(pool: AppServerPool, path: string, signal: AbortSignal): Promise<AgentProbe> {
  try {
    const { server, release } = await pool.acquire(signal)
    try {
      const told = Promise.all([readAccount(server), server.models().catch(() => [])])
      const [{ signedIn }, models] = await unlessAborted(told, signal, 'Codex did not answer in time.')
      const hint = signedIn ? {} : { hint: signInHint }
      return { found: true, path, version: server.version, signedIn, models, ...hint }
    } finally {
      if (signal.aborted) void server.suspect()
      void release()
    }
  } catch (error) {
    const hint = error instanceof ParleyError ? error.message : 'Codex does not answer.'
    return { found: true, path, signedIn: false, hint }
  }
}
