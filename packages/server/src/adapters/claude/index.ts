import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { AgentAdapter, AgentPackage, PrepareInput } from '@parley/adapter-kit'
import { configAdvice, installCommand, programAsTyped, programForTerminal } from '@parley/adapter-kit/advice'
import { agentEnvironment } from '@parley/adapter-kit/environment'
import { agentFolder, findProgram, isOlder } from '@parley/adapter-kit/find-program'
import {
  commonCapabilities,
  createAgentProgram,
  expectFolder,
  lazyMemory,
  type ProgramAdapterOptions,
} from '@parley/adapter-kit/program-adapter'
import { type AgentProbe, capabilities, ParleyError } from '@parley/protocol'
import type { ClaudeOptions } from './connection.ts'
import type { SdkPlace } from './program.ts'
import { promptUuid } from './prompt.ts'
import { configFolder, honouredOptions, settingSourcesFor } from './settings.ts'

export type ClaudeAdapterOptions = ProgramAdapterOptions & {
  /**
   * True if sessions load the person's own settings by default. A session option takes precedence. The default is
   * true.
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

/** Makes a conversation continue without its deferred call if the tool of that call no longer exists. */
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

/**
 * The Agent SDK, at the version that Parley is tested with. It is not a dependency of Parley, because few installations
 * need its 350 MB: `agents install claude` installs it. Packages beside it contain the program, one for each platform.
 */
const sdkPackage = {
  package: '@anthropic-ai/claude-agent-sdk',
  version: '0.3.325',
  integrity:
    'sha512-MhSm2Fhk3DA/hhjdCKXDZWlnykpPWJjX42SogllAHMplY9ZKT+Ltb8QPtQxpe225Imfs4A8IKaNE4biivA+fHg==',
  programVersion: '2.1.325',
} as const

/**
 * The oldest usable versions. An older program ignores `onFailure`: it would run a call although the hook that asks for
 * permission has failed. The SDK refuses such a program.
 */
const oldest = { sdk: '0.3.325', program: '2.1.318' }

/** Claude Code through its Agent SDK, with one process per session. The SDK is loaded on first use. */
export function createClaudeAdapter(options: ClaudeAdapterOptions): AgentAdapter {
  const env = agentEnvironment({
    from: options.env,
    vendor: ['ANTHROPIC_', 'CLAUDE_', 'AWS_', 'IS_SANDBOX', 'API_TIMEOUT_MS'],
    without: ofAnotherSession,
    add: { ...dropLostTools, ...options.add },
  })
  const { executable, agentsFolder, parley } = options
  const find = () => findClaude({ executable, agentsFolder, env })
  const otherProgram = () => executable ?? findProgram({ name: 'claude', env })
  const install: AgentPackage = {
    ...sdkPackage,
    library: {
      programIn: (folder) => includedProgram(join(folder, 'node_modules', sdkPackage.package)),
      async hasOtherProgram(signal) {
        const path = otherProgram()
        if (path === undefined || !existsSync(path)) return false
        const { versionOf } = await import('./program.ts')
        return !isOlder((await versionOf(path, env, signal)) ?? '0', oldest.program)
      },
    },
  }
  const command = installCommand({ agent: 'claude', install, agentsFolder, parley })
  const installAdvice = `Install it: ${command}`
  const program = createAgentProgram({
    name: () => (find().program === undefined ? 'Claude Code' : 'The Agent SDK of Claude Code'),
    find: () => {
      const { sdk, program } = find()
      return sdk && program
    },
    hint: () => {
      const { program } = find()
      if (executable !== undefined && program === undefined)
        return `There is no program "${executable}". ${configAdvice('claude')}`
      return program === undefined ? installAdvice : `Parley needs it to run ${program}. ${installAdvice}`
    },
  })
  return {
    id: 'claude',
    startsAhead: true,
    endsOwnTurns: true,
    dropsCompacted: true,
    name: 'Claude',
    description: 'Claude Code by Anthropic, through its Agent SDK.',
    capabilities: capabilities(
      ...commonCapabilities,
      'toolInputStreaming',
      'editInput',
      'planApproval',
      'background',
      'hostTools',
      'forkBefore',
      'forkElsewhere',
      'aside',
      'cost',
      'structuredOutput',
      'rejoin',
    ),
    modes: ['ask', 'accept-edits', 'read-only', 'plan', 'bypass'],
    options: honouredOptions,
    fixedOptions: ['systemPrompt', 'appendSystemPrompt'],
    restartsFor: [...honouredOptions.filter((option) => option !== 'effort'), 'tools'],
    variables,
    install,
    keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
    conversations: lazyMemory(
      async () => (await import('./memory.ts')).claudeMemory(env),
      (_agentSessionId, promptId) => promptUuid(promptId),
    ),
    terminalCommand: (agentSessionId) => [
      programForTerminal('claude', find().program, env),
      '--resume',
      agentSessionId,
    ],
    probe: program.probe(async (path, signal) => {
      const version = await versionFound(signal)
      if (version !== undefined && isOlder(version, oldest.program)) {
        const hint = `${path} is Claude Code ${version}, and Parley needs ${oldest.program} or newer. Update it, or install the version that Parley is tested with: ${command}`
        return { found: true, path, version, usable: false, hint }
      }
      return { found: true, path, ...(version !== undefined && { version }), ...signIn(path, env) }
    }),
    async models(signal) {
      const { modelsOfClaude } = await import('./program.ts')
      return modelsOfClaude({ env, ...expectFound() }, signal)
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

  /** The SDK and the program. Throws if one of them is missing. */
  function expectFound(): { sdk: SdkPlace; executable: string } {
    const path = program.expectFound()
    return { sdk: find().sdk as SdkPlace, executable: path }
  }

  /**
   * The version of the program. The SDK names the version of the program that comes with it; any other program is asked
   * for its version.
   */
  async function versionFound(signal: AbortSignal): Promise<string | undefined> {
    const { sdk, program: path = '' } = find()
    if (sdk && path === includedProgram(sdk.folder)) return sdk.programVersion
    const { versionOf } = await import('./program.ts')
    return versionOf(path, env, signal)
  }

  /** The options for a session. Throws if Claude Code is missing or not signed in. */
  function nativeFor(input: PrepareInput): ClaudeOptions {
    const found = expectFound()
    const own = { ...env, ...input.env }
    const { signedIn, hint, command } = signIn(found.executable, own)
    if (signedIn === false) {
      const message = `Claude Code is not signed in. ${hint}`
      throw new ParleyError('agent_not_signed_in', message, { details: { command } })
    }
    const { userSettings = options.userSettings ?? true } = input.settings.options ?? {}
    const settingSources = settingSourcesFor(input.trusted, userSettings)
    return { env: own, settingSources, ...found }
  }
}

/**
 * Finds the SDK and the program. The program is the configured one, otherwise the one that came with the SDK, otherwise
 * `claude` on the PATH.
 */
function findClaude({
  executable,
  agentsFolder,
  env,
}: {
  readonly executable: string | undefined
  readonly agentsFolder: string | undefined
  readonly env: Record<string, string>
}): { sdk?: SdkPlace; program?: string } {
  const sdk = findSdk(agentsFolder)
  const path = executable ?? (sdk && includedProgram(sdk.folder)) ?? findProgram({ name: 'claude', env })
  return { ...(sdk && { sdk }), ...(path !== undefined && existsSync(path) && { program: path }) }
}

/** The SDK that Parley installed, otherwise one that is installed beside Parley, as in a checkout. */
function findSdk(agentsFolder: string | undefined): SdkPlace | undefined {
  const installed =
    agentsFolder && join(agentFolder(agentsFolder, 'claude'), 'node_modules', sdkPackage.package)
  return (installed && sdkIn(installed, true)) || sdkIn(folderBesideParley(), false)
}

const require = createRequire(import.meta.url)

function folderBesideParley(): string | undefined {
  try {
    return dirname(require.resolve(sdkPackage.package))
  } catch {
    return undefined
  }
}

function sdkIn(folder: string | undefined, isInstalled: boolean): SdkPlace | undefined {
  const { version, claudeCodeVersion } = folder === undefined ? {} : read(join(folder, 'package.json'))
  if (folder === undefined || typeof version !== 'string' || isOlder(version, oldest.sdk)) return undefined
  return { folder, version, programVersion: String(claudeCodeVersion ?? version), isInstalled }
}

/** The program for this platform, in a package beside that of the SDK. */
function includedProgram(sdkFolder: string): string | undefined {
  const name = process.platform === 'win32' ? 'claude.exe' : 'claude'
  return ['', '-musl']
    .map((suffix) => join(`${sdkFolder}-${process.platform}-${process.arch}${suffix}`, name))
    .find((path) => existsSync(path))
}

/** Returns the detected sign-in state, with advice unless a credential was found. */
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
 * Returns whether Claude Code has a credential, or undefined if this cannot be detected from outside. Must never
 * return false for a person who is signed in.
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
