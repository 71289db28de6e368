import type { AgentConnection } from '@parley/adapter-kit'
import type { DraftOf, SessionSettings } from '@parley/protocol'
import type { Clock } from './clock.ts'

export type CloseReason = DraftOf<'agent.disconnected'>['reason']

export type AgentEnd = {
  readonly last?: Omit<DraftOf<'agent.disconnected'>, 'turnId'> | undefined
  readonly error?: unknown
}

const closeWaitMs = 5_000

/** One connection as a live session holds it, from connect to the recorded end of its outputs. */
export class AgentLink {
  readonly connectionId: string
  readonly connection: AgentConnection
  /** The settings and the conditions that the agent's process was started with. */
  readonly settings: SessionSettings
  readonly conditions: string
  /** The last event before the start of the agent. */
  readonly since: number
  readonly #release: () => void
  readonly #clock: Clock
  readonly #ended = Promise.withResolvers<void>()
  readonly #abandoned = Promise.withResolvers<AgentEnd>()
  #closing: CloseReason | undefined
  #closed: Promise<void> | undefined

  constructor(
    connection: AgentConnection,
    clock: Clock,
    start: Pick<AgentLink, 'connectionId' | 'settings' | 'conditions' | 'since'> & { release: () => void },
  ) {
    this.connection = connection
    this.connectionId = start.connectionId
    this.settings = start.settings
    this.conditions = start.conditions
    this.since = start.since
    this.#clock = clock
    this.#release = start.release
  }

  /** Set when the host decided to close the connection: later outputs are ignored. */
  get closing(): CloseReason | undefined {
    return this.#closing
  }

  /** Resolves when the end of the connection is recorded. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /**
   * Waits for the end of the outputs, then releases the slot. An agent that does not end in time after `close` is not
   * waited for.
   */
  async endOf(outputs: Promise<AgentEnd>): Promise<AgentEnd> {
    const end = await Promise.race([outputs, this.#abandoned.promise])
    this.#release()
    return end
  }

  end(): void {
    this.#ended.resolve()
  }

  /** Asks the agent to end, and waits a limited time for it. Resolves when the end is recorded. Idempotent. */
  close(reason: CloseReason): Promise<void> {
    this.#closing ??= reason
    this.#closed ??= this.#close()
    return this.#closed
  }

  /** Kills the agent, and does not wait for its end. */
  kill(): void {
    this.#closing ??= 'closed'
    const { connection } = this
    const killed: unknown = connection.kill ? connection.kill() : connection.close()
    Promise.resolve(killed).catch(() => undefined)
    this.#abandoned.resolve({})
  }

  async #close(): Promise<void> {
    const abandon = () => this.#abandoned.resolve({})
    const stopWaiting = this.#clock.after(closeWaitMs, abandon)
    const park = this.#closing === 'parked' ? this.connection.park?.() : undefined
    const closed = (park ?? this.connection.close()).catch(() => undefined)
    await Promise.race([closed.then(() => this.ended), this.#abandoned.promise])
    stopWaiting()
    await this.ended
  }
}
