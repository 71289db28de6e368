import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import {
  type CommandInput,
  type Delta,
  type EventOf,
  type EventType,
  type NewSessionInput,
  newId,
  type OpenRequest,
  type Receipt,
  type SessionEvent,
  turnOf,
} from '@parley/protocol'
import type { EncodedItem, Host, HostOptions } from '../../core/index.ts'
import type { SessionStore } from '../../core/session-store.ts'
import { createHost } from '../../index.ts'
import { expect } from '../peers.ts'
import { expectValidLog } from './log-rules.ts'
import type { ContractWorld, Scenario, Words } from './setup.ts'

/** Runs one case on a bench of its own, and then checks that every log it created satisfies the rules. */
export async function onBench(
  world: ContractWorld,
  adapter: AgentAdapter,
  work: (bench: Bench) => Promise<void>,
): Promise<void> {
  await using bench = await Bench.open(world, adapter)
  await work(bench)
  await bench.expectValidLogs()
}

type BenchParts = { agent: string; host: Host; store: SessionStore; folder: string }

/** A host, a store and a folder, removed when the case is over. */
export class Bench implements AsyncDisposable {
  readonly folder: string
  readonly #world: ContractWorld
  readonly #agent: string
  readonly #store: SessionStore
  readonly #ownFolder: boolean
  readonly #sessions = new Set<BenchSession>()
  readonly #temporary: string[] = []
  #host: Host

  constructor(world: ContractWorld, parts: BenchParts) {
    this.#world = world
    this.#agent = parts.agent
    this.#host = parts.host
    this.#store = parts.store
    this.folder = parts.folder
    this.#ownFolder = world.folder === undefined
  }

  static async open<Opened extends Bench>(
    this: new (
      world: ContractWorld,
      parts: BenchParts,
    ) => Opened,
    world: ContractWorld,
    adapter = world.adapter(),
  ): Promise<Opened> {
    const folder = (await world.folder?.()) ?? (await mkdtemp(join(tmpdir(), 'parley-contract-')))
    const store = world.store()
    const host = await createHost({ adapters: [adapter], store })
    return new this(world, { agent: adapter.id, store, folder, host })
  }

  newAdapter(): AgentAdapter {
    return this.#world.adapter()
  }

  get host(): Host {
    return this.#host
  }

  async session(settings: Scenario['session'] & Partial<NewSessionInput> = {}): Promise<BenchSession> {
    const input = { agent: this.#agent, cwd: this.folder, ...settings }
    const { id } = await this.#host.create(input)
    return this.follow(id)
  }

  async follow(sessionId: string): Promise<BenchSession> {
    const session = await BenchSession.follow(() => this.#host, sessionId)
    this.#sessions.add(session)
    return session
  }

  /** Stops the host as a server does, and starts another on the same store. */
  async restart(
    more: Pick<HostOptions, 'tools' | 'toolEnv' | 'limits' | 'sessionFolder' | 'worktrees'> = {},
  ): Promise<void> {
    await this.#host.close()
    this.#host = await createHost({ adapters: [this.#world.adapter()], store: this.#store, ...more })
  }

  /** A folder outside the session's folder, removed when the bench is closed. */
  async temporaryFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'parley-contract-'))
    this.#temporary.push(folder)
    return folder
  }

  /** The text of a file in the folder; undefined if the file does not exist. */
  file(path: string): Promise<string | undefined> {
    return readFile(join(this.folder, path), 'utf8').catch(() => undefined)
  }

  async expectValidLogs(): Promise<void> {
    await this.#host.close()
    for (const session of this.#sessions) expectValidLog(session.events, session.deltas)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#host.close()
    await this.#store.close()
    const removed = this.#ownFolder ? [this.folder, ...this.#temporary] : this.#temporary
    await Promise.all(removed.map((folder) => rm(folder, { recursive: true, force: true })))
  }
}

/** A session with the events and deltas received from it; a case can wait for one of them. */
export class BenchSession {
  readonly id: string
  readonly events: SessionEvent[] = []
  readonly deltas: Delta[] = []
  readonly natives: unknown[] = []
  readonly #host: () => Host
  readonly #start: number
  readonly #waiting = new Set<() => void>()

  private constructor(id: string, host: () => Host, start: number) {
    this.id = id
    this.#host = host
    this.#start = start
  }

  /** Follows a session after the event `start`. */
  static async follow(host: () => Host, id: string, start = 0): Promise<BenchSession> {
    const session = new BenchSession(id, host, start)
    await session.listen()
    return session
  }

  /** Follows the session after the last known event. Must be called again after a restart. */
  async listen(): Promise<void> {
    const after = this.events.at(-1)?.seq ?? this.#start
    await this.#host().follow(
      this.id,
      { after },
      {
        native: true,
        following: () => undefined,
        deliver: (batch) => this.#deliver(batch),
        caughtUp: () => undefined,
        ended: () => undefined,
      },
    )
  }

  #deliver(batch: readonly EncodedItem[]): void {
    for (const item of batch) {
      const value: unknown = JSON.parse(item.json)
      if (item.kind === 'event') this.events.push(value as SessionEvent)
      else if (item.kind === 'delta') this.deltas.push(value as Delta)
      else this.natives.push(value)
    }
    for (const check of this.#waiting) check()
  }

  /** Calls `find` now and after every delivery, and resolves with its first result. */
  until<Found>(find: () => Found | undefined | false): Promise<Found> {
    return new Promise((resolve) => {
      const check = () => {
        const found = find()
        if (found === undefined || found === false) return
        this.#waiting.delete(check)
        resolve(found)
      }
      this.#waiting.add(check)
      check()
    })
  }

  command(command: DistributiveOmit<CommandInput, 'commandId'>): Promise<Receipt> {
    return this.#host().command(this.id, { ...command, commandId: newId('cmd') } as CommandInput)
  }

  async prompt(words: Words, delivery: 'queue' | 'steer' = 'queue'): Promise<Turn> {
    const said = typeof words === 'string' ? { text: words } : { parts: [...words] }
    const { promptId } = await this.command({ type: 'prompt.submit', ...said, delivery })
    return new Turn(this, promptId ?? '')
  }

  all<Type extends EventType>(type: Type): EventOf<Type>[] {
    return this.events.filter((event): event is EventOf<Type> => event.type === type)
  }
}

type DistributiveOmit<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never

/** The result of one prompt. */
export class Turn {
  readonly promptId: string
  readonly #session: BenchSession
  readonly #decided = new Set<string>()

  constructor(session: BenchSession, promptId: string) {
    this.#session = session
    this.promptId = promptId
  }

  get turnId(): string | undefined {
    return this.#session.all('turn.started').find((event) => event.promptId === this.promptId)?.turnId
  }

  all<Type extends EventType>(type: Type): EventOf<Type>[] {
    return this.#session
      .all(type)
      .filter((event) => event.turnId !== undefined && event.turnId === this.turnId)
  }

  get deltas(): Delta[] {
    return this.#session.deltas.filter((delta) => this.turnId !== undefined && turnOf(delta) === this.turnId)
  }

  /** All text of the turn, without that of subagents. */
  get said(): string {
    return this.all('text.written')
      .filter((event) => event.parentToolCallId === undefined)
      .map((event) => event.text)
      .join('\n')
  }

  /** Resolves at the first sign of the agent's work. */
  async begun(): Promise<void> {
    await this.first(() => {
      const seen = [
        ...this.all('text.written'),
        ...this.all('thinking.written'),
        ...this.all('tool-call.called'),
      ]
      return seen.length > 0 || this.deltas.some((delta) => delta.type !== 'activity.changed')
    })
  }

  /** Resolves with the first result of `find`. Rejects if the turn ends before that. */
  async first<Found>(find: () => Found | undefined | false): Promise<Found> {
    const over = Symbol()
    const found = await this.#session.until(() => find() || (this.all('turn.ended').length > 0 && over))
    if (found === over)
      throw new Error(`the turn ended before the expected result: ${JSON.stringify(this.all('turn.ended'))}`)
    return found as Found
  }

  ended(): Promise<EventOf<'turn.ended'>> {
    return this.#session.until(() => this.all('turn.ended')[0])
  }

  /** Waits for the turn to end as completed, and allows every permission it asks for. */
  async completed(): Promise<EventOf<'turn.ended'>> {
    for (;;) {
      const next = await this.#session.until(() => this.all('turn.ended')[0] ?? this.#open()[0])
      if (next.type === 'turn.ended') {
        expect(next).toMatchObject({ outcome: 'completed' })
        return next
      }
      await this.decide(next, 'allow')
    }
  }

  /** The requests that are not resolved and that `decide` has not answered. */
  #open(): EventOf<'permission.requested'>[] {
    const resolved = new Set(this.all('permission.resolved').map((event) => event.requestId))
    return this.all('permission.requested').filter(
      ({ requestId }) => !resolved.has(requestId) && !this.#decided.has(requestId),
    )
  }

  asked(): Promise<EventOf<'permission.requested'>> {
    return this.first(() => this.#open()[0])
  }

  async decide(
    { requestId }: Pick<OpenRequest, 'requestId'>,
    decision: 'allow' | 'deny',
    more: { input?: unknown } = {},
  ): Promise<void> {
    this.#decided.add(requestId)
    await this.#session.command({ type: 'permission.decide', requestId, decision, ...more })
  }
}
