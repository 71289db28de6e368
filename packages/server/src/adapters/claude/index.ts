import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type AgentProbe, capabilities, ParleyError } from '@parley/protocol'
import type { AgentAdapter, PrepareInput } from '../../core/agent-adapter.ts'
import { correctIt, programAsTyped, programForTerminal } from '../advice.ts'
import { agentEnvironment, type Environment } from '../environment.ts'
import { expectFolder, lazyMemory } from '../program-adapter.ts'
import { createRewindKeeper } from '../rewind.ts'
import type { ClaudeOptions } from './connection.ts'
import { honouredOptions } from './settings.ts'
import { isSignedIn } from './signed-in.ts'
import { promptUuid } from './transcript.ts'
import { settingSourcesFor } from './trust.ts'

export type ClaudeAdapterOptions = {
  /** The environment of this process. The agent receives only the variables that it needs. */
  readonly env: Environment
  /** Variables that the configuration adds. */
  readonly add?: Readonly<Record<string, string>>
  /** Replaces the Claude Code that comes with the SDK. */
  readonly executable?: string
  /** Whether sessions load the person's own settings if the session does not say; true by default. */
  readonly userSettings?: boolean
}

/** Variables of a Claude session that Parley itself may run in. */
const ofAnotherSession = [
  'CLAUDECODE',
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_SSE_PORT',
  'CLAUDE_CODE_SESSION_ID',
]

/** Keeps a conversation usable whose deferred call has lost its tool: it continues without that call. */
const keptUsable = { CLAUDE_CODE_DROP_UNAVAILABLE_DEFERRED_TOOL: '1' }

/**
 * Sessions may set variables for billing and for the model, but not for where Claude Code keeps its files or what it
 * skips.
 */
const variables = {
  reserved: ['CLAUDE*', 'IS_SANDBOX'],
  open: [
    'CLAUDE_CODE_OAUTH_TOKEN',
    'CLAUDE_CODE_USE_BEDROCK',
    'CLAUDE_CODE_USE_VERTEX',
    'CLAUDE_CODE_USE_FOUNDRY',
    'CLAUDE_CODE_MAX_OUTPUT_TOKENS',
  ],
}

/** Claude Code through its Agent SDK, with one process per session. The SDK is loaded on first use. */
export function createClaudeAdapter(options: ClaudeAdapterOptions): AgentAdapter {
  const env = agentEnvironment({
    from: options.env,
    vendor: ['ANTHROPIC_', 'CLAUDE_', 'AWS_', 'IS_SANDBOX', 'API_TIMEOUT_MS'],
    without: ofAnotherSession,
    add: { ...keptUsable, ...options.add },
  })
  const keeper = createRewindKeeper()
  return {
    id: 'claude',
    startsAhead: true,
    endsOwnTurns: true,
    name: 'Claude',
    description: 'Claude Code by Anthropic, through its Agent SDK.',
    capabilities: capabilities(
      'streaming',
      'thinking',
      'toolInputStreaming',
      'permissions',
      'editInput',
      'questions',
      'plan',
      'planApproval',
      'subagents',
      'background',
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
      'rewind',
      'usage',
      'cost',
      'structuredOutput',
      'environment',
      'rejoin',
    ),
    modes: ['ask', 'accept-edits', 'read-only', 'plan', 'bypass'],
    options: honouredOptions,
    fixedOptions: ['systemPrompt', 'appendSystemPrompt'],
    restartsFor: [...honouredOptions.filter((option) => option !== 'effort'), 'tools'],
    variables,
    keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
    conversations: lazyMemory(
      async () => (await import('./memory.ts')).claudeMemory(env),
      (_agentSessionId, promptId) => promptUuid(promptId),
    ),
    terminalCommand: (agentSessionId) => [
      programForTerminal('claude', options.executable ?? bundled(), env),
      '--resume',
      agentSessionId,
    ],
    probe: async () => probe(env, options.executable),
    async models(signal) {
      const { modelsOfClaude } = await import('./models.ts')
      return modelsOfClaude({ env, executable: options.executable }, signal)
    },
    refusal: () => notFound(probe(env, options.executable)),
    async connect(input) {
      const native = nativeFor(input)
      expectFolder(input.cwd)
      const { connectClaude } = await import('./connection.ts')
      return connectClaude(native, input)
    },
    async prepare(input) {
      const native = nativeFor(input)
      const { prepareClaude } = await import('./spare.ts')
      return prepareClaude(native, input)
    },
  }
  /** Throws if Claude Code is missing or not signed in. */
  function nativeFor(input: PrepareInput): ClaudeOptions {
    const { executable } = options
    const own = { ...env, ...input.env }
    const found = probe(own, executable)
    const refusal = notFound(found) ?? notSignedIn(found)
    if (refusal) throw refusal
    const { userSettings = options.userSettings ?? true } = input.settings.options ?? {}
    const settingSources = settingSourcesFor(input.trusted, userSettings)
    return { env: own, settingSources, keeper, ...(executable && { executable }) }
  }
}

function probe(env: Record<string, string>, executable: string | undefined): AgentProbe {
  const path = executable ?? bundled()
  if (path === undefined || !existsSync(path)) {
    const hint =
      executable === undefined
        ? 'Install what Parley needs again, with the packages for this platform: npm install'
        : `There is no program "${executable}". ${correctIt('claude')}`
    return { found: false, hint }
  }
  const signedIn = isSignedIn(env, process.platform)
  const command = `${programAsTyped(path, env)} auth login`
  const hint = `Set ANTHROPIC_API_KEY, or sign in once with the program itself: ${command}`
  const told = signedIn === undefined ? {} : { signedIn }
  return { found: true, path, version: sdkVersion(), ...told, ...(!signedIn && { hint, command }) }
}

function notFound({ found, hint = '' }: AgentProbe): ParleyError | undefined {
  return found ? undefined : new ParleyError('agent_not_found', `Claude Code was not found. ${hint}`)
}

function notSignedIn({ signedIn, hint = '', command }: AgentProbe): ParleyError | undefined {
  if (signedIn !== false) return undefined
  return new ParleyError('agent_not_signed_in', `Claude Code is not signed in. ${hint}`, {
    details: { command },
  })
}

const require = createRequire(import.meta.url)

function bundled(): string | undefined {
  const suffixes = process.platform === 'linux' ? ['', '-musl'] : ['']
  for (const suffix of suffixes) {
    try {
      const name = `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}${suffix}`
      const folder = join(require.resolve(`${name}/package.json`), '..')
      return join(folder, process.platform === 'win32' ? 'claude.exe' : 'claude')
    } catch {}
  }
  return undefined
}

function sdkVersion(): string {
  const file = new URL('package.json', import.meta.resolve('@anthropic-ai/claude-agent-sdk'))
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { claudeCodeVersion?: string; version: string }
  return manifest.claudeCodeVersion ?? manifest.version
}
