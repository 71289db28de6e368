import { type ClientContext, RequestError } from '@agentclientprotocol/sdk/unstable'
import { ParleyError } from '@parley/protocol'
import { AgentProcess } from '../child-process.ts'
import { unlessAborted } from '../within.ts'
import type { KnownAgent } from './agent.ts'
import { cannotStart, words } from './cannot-start.ts'
import type { AcpConnectionOptions } from './connection.ts'
import type { Frame, NativeInitialized } from './native.ts'
import { endGroup } from './process-group.ts'
import { initialize } from './start.ts'
import { Wire } from './wire.ts'

export type TellerOptions = AcpConnectionOptions & {
  /** The working directory of the program. */
  readonly folder: string
}

const homeWaitMs = 1_500

/** Starts a program only to read from it, and ends it when `work` settles. */
export async function withTeller<T>(
  options: TellerOptions,
  signal: AbortSignal,
  work: (teller: Teller) => Promise<T>,
): Promise<T> {
  const { name } = options.agent
  const teller = new Teller(options)
  try {
    const told = teller.introduce().then(() => work(teller))
    return await unlessAborted(told, signal, `Cancelled while ${name} told of its conversations.`)
  } catch (error) {
    throw await teller.failure(error, signal)
  } finally {
    await teller.end()
  }
}

export class Teller {
  readonly agent: KnownAgent
  readonly env: Readonly<Record<string, string>>
  readonly wire: ClientContext
  about: NativeInitialized = {}
  readonly #process = new AgentProcess()
  readonly #child: ReturnType<AgentProcess['spawn']>
  #listener: (frame: Frame) => void = () => undefined
  #replayed = false
  #failure: Error | undefined

  constructor({ agent, program, env, folder }: TellerOptions) {
    this.agent = agent
    this.env = env
    this.#child = this.#process.spawn({ command: program, args: agent.args, cwd: folder, env })
    this.#child.once('error', (error) => {
      this.#failure = error
    })
    const wire = new Wire(this.#child, {
      heard: async (frame) => this.#hear(frame),
      garbage: async () => undefined,
      sent: () => undefined,
      asked: async (method) => {
        throw RequestError.methodNotFound(method)
      },
    })
    this.wire = wire.agent
  }

  async introduce(): Promise<void> {
    this.about = await initialize(this.wire, this.agent)
  }

  /** Passes every later frame of the agent to `listener`. */
  listen(listener: (frame: Frame) => void): void {
    this.#listener = listener
  }

  /** Whether anything was replayed since the last call. */
  readonly replayed = (): boolean => {
    const replayed = this.#replayed
    this.#replayed = false
    return replayed
  }

  async failure(error: unknown, signal: AbortSignal): Promise<ParleyError> {
    this.#process.kill()
    await this.#process.gone(homeWaitMs)
    const { name } = this.agent
    if (error instanceof RequestError)
      return new ParleyError('agent_failed', `${name} cannot tell of its conversations: ${words(error)}`)
    return cannotStart(error, { name, process: this.#process, failure: this.#failure, signal })
  }

  async end(): Promise<void> {
    this.#child.stdin.end()
    await this.#process.gone(homeWaitMs)
    await endGroup(this.#process, this.#child.pid)
  }

  #hear(frame: Frame): void {
    this.#replayed ||= frame.message?.method === 'session/update'
    this.#listener(frame)
  }
}
