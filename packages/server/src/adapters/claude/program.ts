import {
  type Options,
  prewarm,
  type Query,
  type SDKUserMessage,
  type SpareProcess,
  query as startQuery,
} from '@anthropic-ai/claude-agent-sdk'
import type { ConnectInput, HostTools, PrepareInput } from '../../core/agent-adapter.ts'
import { AgentProcess } from '../child-process.ts'
import { mcpServersFor } from './host-tools.ts'
import { createInput } from './input.ts'
import {
  createCanUseTool,
  createOnElicitation,
  createToolHook,
  type PermissionContext,
} from './permission.ts'
import { claimOptions, processOptions, sessionOptions } from './settings.ts'

export type ProgramOptions = {
  readonly env: Record<string, string>
  readonly executable?: string
  readonly settingSources: NonNullable<Options['settingSources']>
}

/** The session that the program serves. */
export type ProgramUser = {
  readonly permissions: PermissionContext
  readonly hostTools: HostTools | undefined
}

/** The session input for a program that is already running. */
export type Place = Pick<ConnectInput, 'cwd' | 'settings' | 'trusted'>

/** A person may take any time to answer. The program takes seconds, and stores milliseconds in 31 bits. */
const hookTimeoutS = 2_000_000

/**
 * The process of Claude Code. It is started for a session, or started without one (`park`) and assigned to a session
 * later (`enter`). Its requests go to the session that `serve` named last.
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

  /** Resolves when the program is ready for a prompt. If that fails, the process is killed. */
  async start(input: ConnectInput, isWritten: boolean): Promise<Query> {
    return this.#unlessAborted(input.signal, async () => {
      const session = sessionOptions(input, isWritten)
      const options = { ...this.#fixed(input), ...session, abortController: this.#abort }
      this.#query = startQuery({ prompt: this.prompts.messages, options })
      await this.#query.initializationResult()
      return this.#query
    })
  }

  /** Starts the program without a session. It reads nothing of any folder until it enters one. */
  async park(input: PrepareInput): Promise<void> {
    await this.#unlessAborted(input.signal, async () => {
      const options = { ...this.#fixed(input), abortController: this.#abort }
      this.#spare = await prewarm({ options })
      this.#spare.claimed.catch(() => undefined)
    })
  }

  /**
   * Assigns the parked program to the folder of a session. Rejects if it cannot serve the folder; the process is then
   * killed.
   */
  async enter(place: Place, signal?: AbortSignal): Promise<Query> {
    return this.#unlessAborted(signal, async () => {
      const spare = this.#spare
      if (!spare) throw new Error('The program is not parked.')
      this.#query ??= spare.claim({ prompt: this.prompts.messages, options: claimOptions(place) })
      await spare.claimed
      await this.#query.initializationResult()
      return this.#query
    })
  }

  get isParked(): boolean {
    return this.#spare !== undefined && !this.process.ended
  }

  /** Kills the process and all its descendants. */
  kill(): void {
    void this.#spare?.close()
    this.process.killAll()
  }

  /** Kills the process at once when `signal` aborts, whether or not the SDK notices. */
  async #unlessAborted<T>(signal: AbortSignal | undefined, start: () => Promise<T>): Promise<T> {
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

  /** The options that hold for the lifetime of the process, whichever session it serves. */
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
      ...(executable !== undefined && { pathToClaudeCodeExecutable: executable }),
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

/** A proxy for an object that is known later: each property is looked up on use. */
function lateBound<T extends object>(current: () => T): T {
  return new Proxy({} as T, { get: (_, name) => Reflect.get(current(), name) })
}
