import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
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
import type { AgentAdapter } from '../../agent-adapter.ts'
import { Broken, expect, shown } from '../expect.ts'
import type { ContractHost, ContractHosts, HostNeeds } from '../host.ts'
import type { RuleName } from '../rules.ts'
import { Witness } from '../witness.ts'
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

type Store = ReturnType<ContractHosts['createStore']>
type BenchParts = { agent: string; host: ContractHost; store: Store; folder: string; witness: Witness }

/** A host, a store and a folder, removed when the case is over. */
export class Bench implements AsyncDisposable {
  readonly folder: string
  /** Watches the adapters of the bench. */
  readonly witness: Witness
  readonly #world: ContractWorld
  readonly #agent: string
  readonly #store: Store
  readonly #ownFolder: boolean
  readonly #sessions = new Set<BenchSession>()
  readonly #temporary: string[] = []
  /** The sessions of the case, for the message of a failure. */
  protected readonly shown: BenchSession[] = []
  #host: ContractHost
  #isReleased = false

  constructor(world: ContractWorld, parts: BenchParts) {
    this.#world = world
    this.#agent = parts.agent
    this.#host = parts.host
    this.#store = parts.store
    this.folder = parts.folder
    this.witness = parts.witness
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
    const store = world.host.createStore()
    const witness = new Witness()
    const host = await world.host.createHost({ adapters: [witness.watch(adapter)], store })
    return new this(world, { agent: adapter.id, store, folder, host, witness })
  }

  newAdapter(): AgentAdapter {
    return this.witness.watch(this.#world.adapter())
  }

  get host(): ContractHost {
    return this.#host
  }

  async session(settings: Scenario['session'] & Partial<NewSessionInput> = {}): Promise<BenchSession> {
    const input = { agent: this.#agent, cwd: this.folder, ...settings }
    const { id } = await this.#host.create(input)
    return this.follow(id)
  }

  async follow(sessionId: string): Promise<BenchSession> {
    const session = await BenchSession.follow(() => this.#host, sessionId, { witness: this.witness })
    this.#sessions.add(session)
    this.shown.push(session)
    return session
  }

  /** Stops the host as a server does, and starts another on the same store. */
  async restart(more: Omit<HostNeeds, 'adapters' | 'store'> = {}): Promise<void> {
    await this.#host.close()
    const given = { adapters: [this.newAdapter()], store: this.#store }
    this.#host = await this.hosts.createHost({ ...given, ...more })
  }

  get hosts(): ContractHosts {
    return this.#world.host
  }

  /** Checks every 20 ms, until `holds` returns true or the bench is released. */
  poll(what: string, rule: RuleName, holds: () => boolean): Promise<void> {
    const work = async () => {
      while (!this.#isReleased && !holds()) await setTimeout(20)
    }
    return this.witness.waiting(what, rule, work())
  }

  /** The state of each session, for the message of a failure. */
  describeSessions(): string[] {
    return this.shown.slice(-3).map((session) => session.describe())
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
    await this.witness.waiting('the host to close its connections', 'close', this.#host.close())
    for (const session of this.#sessions) expectValidLog(session.events, session.deltas)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isReleased = true
    await this.#host.close()
    await this.#store.close()
    const removed = this.#ownFolder ? [this.folder, ...this.#temporary] : this.#temporary
    await Promise.all(removed.map((folder) => rm(folder, { recursive: true, force: true })))
  }
}

type Followed = { readonly start?: number; readonly witness?: Witness }

/** A session with the events and deltas received from it; a case can wait for one of them. */
export class BenchSession {
  readonly id: string
  readonly events: SessionEvent[] = []
  readonly deltas: Delta[] = []
  readonly natives: unknown[] = []
  readonly #host: () => ContractHost
  readonly #start: number
  readonly #witness: Witness
  readonly #waiting = new Set<() => void>()

  private constructor(
    id: string,
    host: () => ContractHost,
    { start = 0, witness = new Witness() }: Followed,
  ) {
    this.id = id
    this.#host = host
    this.#start = start
    this.#witness = witness
  }

  /** Follows a session after the event `start`. */
  static async follow(host: () => ContractHost, id: string, options: Followed = {}): Promise<BenchSession> {
    const session = new BenchSession(id, host, options)
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

  #deliver(batch: readonly { readonly kind: string; readonly json: string }[]): void {
    for (const item of batch) {
      const value: unknown = JSON.parse(item.json)
      if (item.kind === 'event') this.events.push(value as SessionEvent)
      else if (item.kind === 'delta') this.deltas.push(value as Delta)
      else this.natives.push(value)
    }
    for (const check of this.#waiting) check()
  }

  /**
   * Calls `find` now and after every delivery, and resolves with its first result. `what` and `rule` are for the message
   * if it never comes.
   */
  until<Found>(
    find: () => Found | undefined | false,
    what = 'an event of the session',
    rule?: RuleName,
  ): Promise<Found> {
    const found = new Promise<Found>((resolve) => {
      const check = () => {
        const found = find()
        if (found === undefined || found === false) return
        this.#waiting.delete(check)
        resolve(found)
      }
      this.#waiting.add(check)
      check()
    })
    return this.#witness.waiting(what, rule, found)
  }

  /** The state of the session in a sentence, for the message of a failure. */
  describe(): string {
    const ids = (type: EventType, field: string) =>
      this.all(type).map((event) => (event as Readonly<Record<string, unknown>>)[field] as string)
    const open = (what: string, all: readonly string[], over: readonly string[]) => {
      const left = all.filter((id) => !over.includes(id))
      return left.length === 0 ? [] : [`open ${what}: ${left.join(', ')}`]
    }
    const ended = this.all('turn.ended').map(({ outcome }) => outcome)
    const parts = [
      `turns: ${ids('turn.started', 'turnId').length} started, ${ended.length} ended${ended.length > 0 ? ` (${ended.join(', ')})` : ''}`,
      ...open('calls', ids('tool-call.called', 'toolCallId'), ids('tool-call.ended', 'toolCallId')),
      ...open(
        'requests',
        [...ids('permission.requested', 'requestId'), ...ids('question.asked', 'requestId')],
        [...ids('permission.resolved', 'requestId'), ...ids('question.resolved', 'requestId')],
      ),
      `last event: ${this.events.at(-1)?.type ?? 'none'}`,
    ]
    return `The session: ${parts.join('; ')}`
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
    }, 'the first output of the turn')
  }

  /** Resolves with the first result of `find`. Rejects if the turn ends before that. */
  async first<Found>(
    find: () => Found | undefined | false,
    what = 'an event of the turn',
    rule?: RuleName,
  ): Promise<Found> {
    const over = Symbol()
    const ended = () => this.all('turn.ended')
    const found = await this.#session.until(() => find() || (ended().length > 0 && over), what, rule)
    if (found === over) throw new Broken(`the turn ended before ${what}: ${shown(ended()[0])}`, rule)
    return found as Found
  }

  ended(): Promise<EventOf<'turn.ended'>> {
    return this.#session.until(() => this.all('turn.ended')[0], 'the end of the turn', 'one-end-of-a-turn')
  }

  /** Waits for the turn to end as completed, and allows every permission it asks for. */
  async completed(): Promise<EventOf<'turn.ended'>> {
    for (;;) {
      const next = await this.#session.until(
        () => this.all('turn.ended')[0] ?? this.#open()[0],
        'the end of the turn',
        'one-end-of-a-turn',
      )
      if (next.type === 'turn.ended') {
        expect(next, 'the end of the turn').toMatchObject({ outcome: 'completed' })
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
    return this.first(() => this.#open()[0], 'a permission request', 'permissions')
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
