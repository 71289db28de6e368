import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type AgentProbe, capabilities, ParleyError } from '@parley/protocol'
import type { AgentAdapter, PrepareInput } from '../../core/agent-adapter.ts'
import { configAdvice, programAsTyped, programForTerminal } from '../advice.ts'
import { agentEnvironment } from '../environment.ts'
import {
  commonCapabilities,
  createAgentProgram,
  expectFolder,
  lazyMemory,
  type ProgramAdapterOptions,
} from '../program-adapter.ts'
import { createRewindKeeper } from '../rewind.ts'
import type { ClaudeOptions } from './connection.ts'
import { promptUuid } from './prompt.ts'
import { configFolder, honouredOptions, settingSourcesFor } from './settings.ts'

export type ClaudeAdapterOptions = Pick<ProgramAdapterOptions, 'env' | 'add' | 'executable'> & {
  /**
   * Whether sessions load the person's own settings by default. A session option takes precedence. The default is true.
   */
  readonly userSettings?: boolean
}

/** Variables that Claude Code sets for its child processes. Parley itself may be one of them. */
const ofAnotherSession = [
  'CLAUDECODE',
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_SSE_PORT',
  'CLAUDE_CODE_SESSION_ID',
]

/** With this variable, a conversation whose deferred call has lost its tool continues without that call. */
const dropLostTools = { CLAUDE_CODE_DROP_UNAVAILABLE_DEFERRED_TOOL: '1' }

/**
 * Sessions may set the variables for billing and for the model, but no variables that move Claude Code's files or
 * disable its checks.
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
    add: { ...dropLostTools, ...options.add },
  })
  const { executable } = options
  const program = createAgentProgram({
    name: 'Claude Code',
    find: () => findClaude(executable),
    hint:
      executable === undefined
        ? 'Reinstall the dependencies of Parley for this platform: npm install'
        : `There is no program "${executable}". ${configAdvice('claude')}`,
  })
  const keeper = createRewindKeeper()
  return {
    id: 'claude',
    startsAhead: true,
    endsOwnTurns: true,
    name: 'Claude',
    description: 'Claude Code by Anthropic, through its Agent SDK.',
    capabilities: capabilities(
      ...commonCapabilities,
      'toolInputStreaming',
      'editInput',
      'planApproval',
      'background',
      'hostTools',
      'rewind',
      'cost',
      'structuredOutput',
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
      programForTerminal('claude', executable ?? bundled(), env),
      '--resume',
      agentSessionId,
    ],
    probe: program.probe(async (path) => ({
      found: true,
      path,
      version: sdkVersion(),
      ...signIn(path, env),
    })),
    async models(signal) {
      const { modelsOfClaude } = await import('./program.ts')
      return modelsOfClaude({ env, executable }, signal)
    },
    refusal: program.refusal,
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

  /** The options for a session. Throws if Claude Code is missing or not signed in. */
  function nativeFor(input: PrepareInput): ClaudeOptions {
    const own = { ...env, ...input.env }
    const { signedIn, hint, command } = signIn(program.expectFound(), own)
    if (signedIn === false) {
      const message = `Claude Code is not signed in. ${hint}`
      throw new ParleyError('agent_not_signed_in', message, { details: { command } })
    }
    const { userSettings = options.userSettings ?? true } = input.settings.options ?? {}
    const settingSources = settingSourcesFor(input.trusted, userSettings)
    return { env: own, settingSources, keeper, ...(executable !== undefined && { executable }) }
  }
}

function findClaude(executable: string | undefined): string | undefined {
  const path = executable ?? bundled()
  return path !== undefined && existsSync(path) ? path : undefined
}

/** The sign-in state, as far as it is visible, and advice unless somebody is signed in. */
function signIn(
  path: string,
  env: Record<string, string>,
): Pick<AgentProbe, 'signedIn' | 'hint' | 'command'> {
  const signedIn = isSignedIn(env, process.platform)
  if (signedIn) return { signedIn }
  const command = `${programAsTyped(path, env)} auth login`
  const hint = `Set ANTHROPIC_API_KEY, or sign in once with the program itself: ${command}`
  return { ...(signedIn === false && { signedIn }), hint, command }
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

type Values = Readonly<Record<string, unknown>>

/** If one of these is set, Claude Code has a key or uses a cloud service with its own credentials. */
const signInVariables = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_ANTHROPIC_AWS',
  'CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_FOUNDRY',
  'CLAUDE_CODE_USE_GATEWAY',
  'CLAUDE_CODE_USE_MANTLE',
  'CLAUDE_CODE_USE_VERTEX',
]

/**
 * Whether Claude Code has a credential, as far as that is visible from outside; undefined if it is not visible. Must
 * never return false for a person who is signed in.
 */
export function isSignedIn(env: Readonly<Record<string, string>>, platform: NodeJS.Platform) {
  const home = env.HOME ?? ''
  const folder = configFolder(env)
  if (isNamed(env) || existsSync(join(folder, '.credentials.json'))) return true
  const settings = read(join(folder, 'settings.json'))
  if (settings.apiKeyHelper || isNamed(asValues(settings.env))) return true
  if (read(join(env.CLAUDE_CONFIG_DIR ?? home, '.claude.json')).primaryApiKey) return true
  // On macOS, Claude Code stores its credential in the system keychain.
  return platform === 'darwin' ? undefined : false
}

function isNamed(values: Values): boolean {
  return signInVariables.some((name) => values[name])
}

function read(file: string): Values {
  try {
    return asValues(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return {}
  }
}

function asValues(value: unknown): Values {
  return typeof value === 'object' && value !== null ? (value as Values) : {}
}
