import { statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as sdk from '@anthropic-ai/claude-agent-sdk'
import type { Options, Query, SDKUserMessage, SpareProcess } from '@anthropic-ai/claude-agent-sdk'
import type { AgentOutput, ConnectInput, HostTools, PrepareInput } from '@parley/adapter-kit'
import { AgentProcess } from '@parley/adapter-kit/child-process'
import { expectGuarded } from '@parley/adapter-kit/guarded-file'
import { runProgram } from '@parley/adapter-kit/run-program'
import { type AgentModel, messageOf, ParleyError } from '@parley/protocol'
import { mcpServersFor } from './host-tools.ts'
import { agentModel } from './introduction.ts'
import { createOnElicitation } from './question.ts'
import { createCanUseTool, createToolHook, type RequestContext } from './requests.ts'
import type { SettingSources } from './settings.ts'
import { claimOptions, processOptions, sessionOptions } from './settings.ts'

/** An installation of the Agent SDK. */
export type SdkPlace = {
  readonly folder: string
  readonly version: string
  /** The version of the program that belongs to the SDK. */
  readonly programVersion: string
  /** True if the SDK is in the agents folder. Otherwise it was installed like Parley's own packages. */
  readonly isInstalled: boolean
}

export type ProgramOptions = {
  readonly env: Record<string, string>
  readonly sdk: SdkPlace
  readonly executable: string
  readonly settingSources: SettingSources
}

/** The session that the program serves. */
export type ProgramUser = {
  readonly permissions: RequestContext
  readonly hostTools: HostTools | undefined
}

/** The session input for a program that is already running. */
export type Place = Pick<ConnectInput, 'cwd' | 'settings' | 'trusted'>

/**
 * Effectively no timeout, since a person may take any time to answer. The value is in seconds. The program converts it
 * to milliseconds in 31 bits, so it cannot be much larger.
 */
const hookTimeoutS = 2_000_000

/**
 * The process of Claude Code. It is started for a session, or it is started as a spare (`startSpare`) and assigned to a
 * session later (`enter`). Its requests are passed to the session that `serve` was last called with.
 */
export class ClaudeProgram {
  readonly prompts = createInput<SDKUserMessage>()
  readonly process = new AgentProcess()
  readonly #options: ProgramOptions
  readonly #abort = new AbortController()
  #user: ProgramUser | undefined
  #spare: SpareProcess | undefined
  #query: Query | undefined

  constructor(options: ProgramOptions) {
    this.#options = options
  }

  get loaded(): ProgramOptions['settingSources'] {
    return this.#options.settingSources
  }

  serve(user: ProgramUser): void {
    this.#user = user
  }

  /** Resolves when the program is ready for a prompt. If the start fails, the process is killed. */
  async start(input: ConnectInput, resumption: Options): Promise<Query> {
    return this.#startUnlessAborted(input.signal, async () => {
      const session = { ...sessionOptions(input), ...resumption }
      const options = { ...this.#fixed(input), ...session, abortController: this.#abort }
      const { query } = await loadSdk(this.#options.sdk)
      this.#query = query({ prompt: this.prompts.messages, options })
      await this.#query.initializationResult()
      return this.#query
    })
  }

  /** Starts the program as a spare. It reads no folder until `enter` assigns it to the folder of a session. */
  async startSpare(input: PrepareInput): Promise<void> {
    await this.#startUnlessAborted(input.signal, async () => {
      const options = { ...this.#fixed(input), abortController: this.#abort }
      const { prewarm } = await loadSdk(this.#options.sdk)
      this.#spare = await prewarm({ options })
      this.#spare.claimed.catch(() => undefined)
    })
  }

  /**
   * Assigns the spare to the folder of a session. Rejects if it cannot serve the folder; the process is then killed.
   */
  async enter(place: Place, signal?: AbortSignal): Promise<Query> {
    return this.#startUnlessAborted(signal, async () => {
      const spare = this.#spare
      if (!spare) throw new Error('The program is not a spare.')
      this.#query ??= spare.claim({ prompt: this.prompts.messages, options: claimOptions(place) })
      await spare.claimed
      await this.#query.initializationResult()
      return this.#query
    })
  }

  get isSpare(): boolean {
    return this.#spare !== undefined && !this.process.ended
  }

  kill(): void {
    void this.#spare?.close()
    this.process.killAll()
  }

  /** Kills the process as soon as `signal` aborts, even if the SDK does not react. */
  async #startUnlessAborted<T>(signal: AbortSignal | undefined, start: () => Promise<T>): Promise<T> {
    const giveUp = () => {
      this.#abort.abort()
      this.process.kill()
    }
    signal?.addEventListener('abort', giveUp, { once: true })
    try {
      signal?.throwIfAborted()
      const ready = await start()
      signal?.throwIfAborted()
      return ready
    } catch (error) {
      this.process.kill()
      throw error
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  /** The options that apply for the lifetime of the process, in every session that it serves. */
  #fixed(input: Pick<PrepareInput, 'settings' | 'hostTools'> & Pick<ConnectInput, 'mcpServers'>): Options {
    const { env, executable, settingSources } = this.#options
    const permissions = lateBound(() => this.#served.permissions)
    const hostTools = input.hostTools && this.#lateTools(input.hostTools.tools)
    return {
      ...processOptions(input.settings),
      ...mcpServersFor({ ...input, hostTools }, permissions),
      env,
      allowDangerouslySkipPermissions: mayBypass(env),
      settingSources,
      canUseTool: createCanUseTool(permissions),
      onElicitation: createOnElicitation(permissions),
      hooks: {
        PreToolUse: [{ hooks: [createToolHook(permissions)], timeout: hookTimeoutS, onFailure: 'block' }],
      },
      spawnClaudeCodeProcess: this.process.spawn,
      pathToClaudeCodeExecutable: executable,
    }
  }

  #lateTools(tools: HostTools['tools']): HostTools {
    return {
      tools,
      call: (...call) => {
        const { hostTools } = this.#served
        if (!hostTools) throw new Error('The session has no host tools.')
        return hostTools.call(...call)
      },
    }
  }

  get #served(): ProgramUser {
    if (this.#user) return this.#user
    throw new Error('Claude Code asked for something before it had a session.')
  }
}

/** Claude Code refuses to bypass permissions as root outside a sandbox. */
export function mayBypass(env: Readonly<Record<string, string>>): boolean {
  return process.getuid?.() !== 0 || env.IS_SANDBOX === '1'
}

/** A proxy for an object that is set later: each property is looked up on use. */
function lateBound<T extends object>(current: () => T): T {
  return new Proxy({} as T, { get: (_, name) => Reflect.get(current(), name) })
}

/** The last output of a connection, once the process has ended. */
export function disconnection(
  isClosing: boolean,
  failure: unknown,
  exitDetails: ReturnType<AgentProcess['exitDetails']>,
): AgentOutput {
  if (isClosing) return { type: 'agent.disconnected', reason: 'closed', ...exitDetails }
  const why = reasonOf(failure)
  const { stderrTail } = exitDetails
  const error = {
    code: 'agent_failed' as const,
    message: `${why}. The next prompt starts it again.`,
    ...(stderrTail !== undefined && { details: { stderrTail } }),
  }
  return { type: 'agent.disconnected', reason: 'crashed', error, ...exitDetails }
}

/**
 * The reason why the program failed. The SDK throws a TypeError if it cannot read a message, such as a result without
 * `errors`.
 */
function reasonOf(failure: unknown): string {
  if (failure instanceof TypeError) return 'Claude Code failed, and its last message could not be read'
  return failure instanceof Error ? failure.message : 'Claude Code ended without a result'
}

/**
 * The error for a program that could not be started. `isLost`: the conversation to resume no longer exists.
 */
export function cannotStart(
  error: unknown,
  isLost: boolean,
  { stderrTail }: ReturnType<AgentProcess['exitDetails']>,
): ParleyError {
  const message = isLost
    ? 'Claude Code no longer has this conversation: its transcript is missing. Start a new session.'
    : `Claude Code could not be started: ${messageOf(error)}`
  return new ParleyError('agent_failed', message, {
    details: { ...(stderrTail !== undefined && { stderrTail }) },
    cause: error,
  })
}

export function notAsRoot(): ParleyError {
  const message =
    'Claude Code does not bypass permissions for root. Run Parley as another user or, in a sandbox, set IS_SANDBOX=1.'
  return new ParleyError('not_supported', message)
}

/** A queue of messages for an agent that reads them in order for its whole lifetime. */
export function createInput<Message>() {
  const waiting: Message[] = []
  let wake: (() => void) | undefined
  let ended = false

  async function* messages(): AsyncGenerator<Message, void> {
    for (;;) {
      const next = waiting.shift()
      if (next !== undefined) yield next
      else if (ended) return
      else {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  }

  return {
    messages: messages(),
    push(message: Message): void {
      waiting.push(message)
      wake?.()
    },
    /** Ends the queue. The agent exits when it has no more work. */
    end(): void {
      ended = true
      wake?.()
    },
  }
}

const goneWaitMs = 2_000

/**
 * The models that Claude Code offers. A process is started to list them and gets no prompt. It loads no settings,
 * hooks or servers, not even the person's own, and its folder is empty.
 */
export async function modelsOfClaude(
  { env, executable, sdk }: Pick<ProgramOptions, 'env' | 'executable' | 'sdk'>,
  signal: AbortSignal,
): Promise<AgentModel[]> {
  const cwd = await mkdtemp(join(tmpdir(), 'parley-models-'))
  const agent = new AgentProcess()
  const input = createInput<never>()
  const abortController = new AbortController()
  const giveUp = () => abortController.abort()
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    signal.throwIfAborted()
    const { query: startQuery } = await loadSdk(sdk)
    const query = startQuery({
      prompt: input.messages,
      options: {
        cwd,
        env,
        abortController,
        settingSources: [],
        mcpServers: {},
        strictMcpConfig: true,
        persistSession: false,
        spawnClaudeCodeProcess: agent.spawn,
        pathToClaudeCodeExecutable: executable,
      },
    })
    const { models } = await query.initializationResult()
    return models.map(agentModel)
  } finally {
    signal.removeEventListener('abort', giveUp)
    input.end()
    agent.killAll()
    await agent.gone(goneWaitMs)
    await rm(cwd, { recursive: true, force: true })
  }
}

/**
 * Loads the SDK. Each version is loaded once, so after an update the next start uses the new version. Parley's own process
 * runs this code, so the SDK in the agents folder is refused if other users can change it.
 */
async function loadSdk({
  folder,
  version,
  isInstalled,
}: SdkPlace): Promise<Pick<typeof sdk, 'query' | 'prewarm'>> {
  const file = join(folder, 'sdk.mjs')
  if (isInstalled) expectGuarded(file)
  const url = pathToFileURL(file)
  url.searchParams.set('version', version)
  try {
    return (await import(url.href)) as typeof sdk
  } catch (error) {
    const message = `The Agent SDK of Claude Code (${folder}) cannot be loaded: ${messageOf(error)}`
    throw new ParleyError('agent_failed', message, { cause: error })
  }
}

const versionMs = 10_000
const versions = new Map<string, string>()

/** The version that a program reports; undefined if it reports none. Each program is asked only once. */
export async function versionOf(
  path: string,
  env: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { ino, size, mtimeMs } = statSync(path)
  const key = JSON.stringify([path, ino, size, mtimeMs])
  const known = versions.get(key)
  if (known !== undefined) return known
  const { stdout } = await runProgram({
    command: path,
    args: ['--version'],
    cwd: tmpdir(),
    env,
    timeoutMs: versionMs,
    signal,
  })
  const version = /^\d+\.\d+\.\d+/.exec(stdout)?.[0]
  if (version !== undefined) versions.set(key, version)
  return version
}
