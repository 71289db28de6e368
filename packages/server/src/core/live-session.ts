import {
  type Command,
  type DraftOf,
  errorInfoOf,
  type OpenTurn,
  type ParkReason,
  ParleyError,
  type PermissionRule,
  type Prompt,
  type Receipt,
  type SessionEvent,
  type SessionState,
  type TurnEnd,
} from '@parley/protocol'
import type { AgentAdapter, AgentMessage, AgentOutput } from './agent-adapter.ts'
import type { AgentLink, CloseReason } from './agent-link.ts'
import type { Clock, Ids } from './clock.ts'
import { type CommandDesk, createCommandDesk } from './command-desk.ts'
import { connectAgent } from './connect-agent.ts'
import type { ConnectionSlots } from './connection-slots.ts'
import { createFactWaiters } from './fact-waiters.ts'
import type { Limits } from './limits.ts'
import { createPermissionBroker, type PermissionBroker } from './permission-broker.ts'
import { createPersisting, type Persist, type Persisting } from './persist.ts'
import { deltaOf, draftsOf, freshProgress, isDelta } from './record-output.ts'
import { recoveryPlan } from './recover.ts'
import { createSessionAgent } from './session-agent.ts'
import { createSessionLog, type SessionLog, type SessionLogOptions } from './session-log.ts'
import type { SessionStore } from './session-store.ts'
import { createTimers } from './timers.ts'
import * as plans from './turn-plans.ts'

export type LiveSessionOptions = {
  readonly state: SessionState
  /** Absent when the agent of a stored session is no longer known here: it can be read, not driven. */
  readonly adapter: AgentAdapter | undefined
  readonly store: SessionStore
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Limits
  readonly slots: ConnectionSlots
  readonly rules: () => readonly PermissionRule[]
  readonly announced: SessionLogOptions['announced']
  readonly fork: Parameters<typeof createCommandDesk>[0]['fork']
  readonly problem: (error: unknown, doing: string) => void
  /** It must not be used any more; whoever wants the session loads it anew. */
  readonly broken: () => void
}

type LastWords = Omit<DraftOf<'agent.disconnected'>, 'turnId'> | undefined

/**
 * One session while it is in memory. Takes commands and an agent's outputs, records both, and only then acts on them.
 * What to do next always follows from the recorded state, so that a restart goes on where this one was.
 */
export class LiveSession {
  readonly log: SessionLog
  readonly #options: LiveSessionOptions
  readonly #broker: PermissionBroker
  readonly #agent: ReturnType<typeof createSessionAgent>
  readonly #desk: CommandDesk
  readonly #persisting: Persisting
  readonly #persist: Persist
  readonly #timers: ReturnType<typeof createTimers<'idle' | 'force' | 'park' | 'expire'>>
  readonly #facts: ReturnType<typeof createFactWaiters>
  #link: AgentLink | undefined
  /** The link that the open turn was sent to. */
  #turnLink: AgentLink | undefined
  #starting: AbortController | undefined
  /** The turn that was begun, so that it is begun once. */
  #begun: string | undefined
  #progress = freshProgress()
  #steers: Prompt[] = []
  #outbound: Promise<void> = Promise.resolve()
  #driving: Promise<void> | undefined
  #driveAgain = false
  #recovered: Promise<void> | undefined
  #stopping = false
  #idleSince: number | undefined
  #activity = 'idle'

  constructor(options: LiveSessionOptions) {
    const { store, clock, ids, rules, limits, problem } = options
    this.#options = options
    this.log = createSessionLog({
      store,
      clock,
      checkpointMs: limits.checkpointMs,
      state: options.state,
      announced: (...batch) => this.#announced(...batch),
      problem,
    })
    this.#timers = createTimers(clock)
    this.#facts = createFactWaiters(clock)
    this.#persisting = createPersisting({ log: this.log, clock, problem, broken: () => this.#break() })
    this.#persist = this.#persisting.persist
    this.#broker = createPermissionBroker({ log: this.log, ids, rules, persist: this.#persist })
    this.#agent = createSessionAgent(options.adapter, () => this.state)
    const agent = this.#agent.forCommand
    this.#desk = createCommandDesk({ ...options, log: this.log, maxQueue: limits.maxQueue, agent })
  }

  get state(): SessionState {
    return this.log.state
  }

  /** Nothing runs, nobody reads: it can be dropped from memory and loaded again when it is wanted. */
  get quiet(): boolean {
    const running = this.#link || this.#starting || this.#driving || this.state.turn
    const recording = this.#desk.busy || this.log.busy || this.#persisting.pending > 0
    return !running && !recording && !this.log.feed.hasReaders
  }

  async command(command: Command): Promise<Receipt> {
    await this.recover()
    const { receipt, fresh } = await this.#desk.take(command)
    if (fresh && command.type === 'session.close' && !this.state.turn) await this.#disconnect('closed')
    return receipt
  }

  /** Looks, once, at what a restart left behind, then goes on with what can go on. Rejects if it cannot be recorded. */
  recover(): Promise<void> {
    this.#recovered ??= this.#recover().catch((error) => {
      this.#recovered = undefined
      throw error
    })
    return this.#recovered
  }

  async #recover(): Promise<void> {
    await this.log.transact((state) => recoveryPlan(state, this.#options.clock.now()))
    this.#drive()
    this.#watchRequests()
  }

  /** For a stop of the host: parks what waits for a person, ends what works, keeps what has not begun. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#persisting.stop()
    this.#starting?.abort()
    const { turn, requests } = this.state
    if (turn && !turn.parked && this.#link) {
      if (requests.length > 0 && this.#agent.canResume()) await this.#park('server-stopped')
      else await this.#endBeforeStop()
    }
    await this.#disconnect('server-stopped')
    await this.#driving
    await this.#disconnect('server-stopped')
    this.#timers.stopAll()
    await this.log.close('closed')
  }

  async #endBeforeStop(): Promise<void> {
    await this.#persist(plans.interruptByHost)
    await this.#facts.until(
      () => this.state.turn === undefined || !this.#link,
      this.#options.limits.stopGraceMs,
    )
    await this.#endTurn({ outcome: 'cancelled', stopReason: 'server_stopped' })
  }

  /** For a deletion: nothing more is recorded. */
  async destroy(): Promise<void> {
    this.#stopping = true
    this.#persisting.stop()
    this.#starting?.abort()
    await this.log.close('deleted')
    await this.#disconnect('closed')
    await this.#driving
    this.#timers.stopAll()
  }

  #break(): void {
    this.#options.broken()
    this.#quietly(this.stop(), 'stop a session that was written to by another')
  }

  // What follows from what was recorded

  #announced(...[events, state, granted]: Parameters<SessionLogOptions['announced']>): void {
    for (const event of events) this.#react(event)
    this.#broker.settle(events)
    this.#options.announced(events, state, granted)
    this.#tellActivity()
    this.#watchRequests()
    this.#facts.changed()
    this.#drive()
  }

  #react(event: SessionEvent): void {
    switch (event.type) {
      case 'turn.started':
        this.#progress = freshProgress()
        this.#idle(false)
        return
      case 'turn.interrupted':
        return this.#interrupt()
      case 'turn.parked':
        this.#broker.detach()
        this.#begun = undefined
        this.#turnLink = undefined
        return
      case 'turn.ended':
        this.#timers.stop('force')
        this.#begun = undefined
        this.#turnLink = undefined
        this.#steers = []
        this.#starting?.abort()
        return
      case 'prompt.submitted':
        if (event.turnId) this.#steer(event)
        return
      case 'session.configured':
        if (event.requested) this.#configure()
        return
    }
  }

  #configure(): void {
    this.#quietly(this.#link?.connection.configure(this.state.requested), 'configure the agent')
  }

  #steer({ promptId, parts, delivery, at }: SessionEvent & { type: 'prompt.submitted' }): void {
    const prompt: Prompt = { promptId, parts, delivery, at }
    if (!this.#turnLink) this.#steers.push(prompt)
    else this.#quietly(this.#send(this.#turnLink, { type: 'prompt', prompt }), 'steer the agent')
  }

  #interrupt(): void {
    const link = this.#turnLink
    if (!link) return this.#starting ? this.#starting.abort() : void this.#endTurn(cancelled)
    this.#quietly(link.connection.interrupt(), 'interrupt the agent')
    if (this.#stopping) return
    this.#timers.set('force', this.#options.limits.cancelGraceMs, () => void this.#disconnect('closed'))
  }

  /** One at a time, again after every change: looks at the state and does the next thing it asks for. */
  #drive(): void {
    if (this.#driving) {
      this.#driveAgain = true
      return
    }
    this.#driving = this.#driveOn()
      .catch((error) => this.#options.problem(error, 'drive the session'))
      .finally(() => {
        this.#driving = undefined
        if (!this.#driveAgain) return
        this.#driveAgain = false
        this.#drive()
      })
  }

  async #driveOn(): Promise<void> {
    await Promise.resolve()
    const { turn, queue, requests, archived } = this.state
    if (this.#stopping) return
    if (!turn) {
      if (queue.length === 0 || archived) return this.#idle(true)
      await this.#persist((state) => plans.startNext(state, this.#options.ids('trn')))
      return
    }
    const waits = turn.parked && requests.length > 0
    if (turn.turnId === this.#begun || waits) return
    this.#begun = turn.turnId
    await this.#begin(turn)
  }

  // The turn and its agent

  async #begin(turn: OpenTurn): Promise<void> {
    const starting = new AbortController()
    this.#starting = starting
    const isOpen = () => this.state.turn?.turnId === turn.turnId && !this.state.turn.interrupted
    try {
      if (turn.parked && !this.#agent.canResume()) throw cannotResume(this.#agent.need())
      if (this.#link?.closing) await this.#link.close(this.#link.closing)
      const link = this.#link ?? (await this.#connect(starting.signal))
      const ready = isOpen() && !this.#stopping && (!turn.parked || (await this.#resume(turn)))
      if (!ready) throw new ParleyError('cancelled', 'The turn was cancelled before it began.')
      if (this.#link !== link || link.closing) throw lostAtOnce(this.#agent.need())
      this.#turnLink = link
      const sent = this.#send(link, { type: turn.parked ? 'continue' : 'prompt', prompt: turn.prompt })
      for (const prompt of this.#steers.splice(0)) {
        this.#quietly(this.#send(link, { type: 'prompt', prompt }), 'steer the agent')
      }
      await sent
      this.#starting = undefined
      if (!isOpen() && this.state.turn?.turnId === turn.turnId) this.#interrupt()
    } catch (error) {
      this.#starting = undefined
      if (this.#stopping) return
      if (!(error instanceof ParleyError)) this.#options.problem(error, 'start a turn')
      await this.#endTurn(isOpen() ? failedToStart(error) : cancelled, turn.turnId)
    }
  }

  /** In order, one after another; given up when the agent is gone. */
  #send(link: AgentLink, message: AgentMessage): Promise<void> {
    const sent = this.#outbound.then(() => Promise.race([link.connection.send(message), link.ended]))
    this.#outbound = sent.catch(() => undefined)
    return sent
  }

  async #resume(turn: OpenTurn): Promise<boolean> {
    this.#progress = freshProgress()
    const events = await this.#persist((state) => plans.resume(state, turn.turnId))
    return events !== undefined && events.length > 0
  }

  #connect(signal: AbortSignal): Promise<AgentLink> {
    const { clock, ids, limits, slots, problem } = this.#options
    return connectAgent({
      adapter: this.#agent.need(),
      state: () => this.state,
      connectionId: ids('con'),
      person: this.#broker.person,
      clock,
      connectMs: limits.connectMs,
      slots,
      holder: { idleSince: () => this.#idleSince, yieldSlot: () => void this.#disconnect('idle') },
      persist: this.#persist,
      signal,
      opened: (link, startedWith) => {
        this.#link = link
        this.#outbound = Promise.resolve()
        if (this.state.requested !== startedWith) this.#configure()
      },
      take: (link, output) => this.#take(link, output),
      lost: (link, last, error) => this.#lost(link, last, error),
      problem,
    })
  }

  /** Returns nothing when it is done at once, so that a flood of deltas costs no promises. */
  #take(link: AgentLink, output: AgentOutput): Promise<void> | undefined {
    if (output.type === 'native') {
      this.log.native(output.message)
      return
    }
    if (isDelta(output)) {
      const delta = deltaOf(output, this.state, this.#progress)
      const wait = delta && this.log.stream(delta)
      return wait?.then(() => this.#take(link, output))
    }
    return this.#record(link, output)
  }

  async #record({ connectionId }: AgentLink, output: Parameters<typeof draftsOf>[0]): Promise<void> {
    const progress = this.#progress
    let commit: () => void = () => undefined
    const recorded = await this.#persist((state) => {
      const step = draftsOf(output, state, progress, { now: this.#options.clock.now(), connectionId })
      commit = step.commit
      return { drafts: step.drafts }
    })
    if (recorded) return commit()
    const reason = 'could not be recorded as it was'
    await this.#persist(() => ({
      drafts: [{ type: 'agent.unrecognised', native: { type: output.type }, reason }],
    }))
  }

  async #lost(link: AgentLink, last: LastWords, error: unknown): Promise<void> {
    if (this.#link === link) this.#link = undefined
    if (error !== undefined) this.#options.problem(error, 'read the agent')
    const hadTurn = this.#turnLink === link
    const how = {
      closing: link.closing,
      last,
      hadTurn,
      canResume: this.#agent.canResume(),
      now: this.#options.clock.now(),
    }
    await this.#persist((state) => plans.loseAgent(state, how))
    this.#broker.abandon()
  }

  async #disconnect(reason: CloseReason): Promise<void> {
    this.#timers.stop('idle')
    await this.#link?.close(reason)
  }

  async #endTurn(end: Omit<TurnEnd, 'durationMs'>, turnId = this.state.turn?.turnId): Promise<void> {
    await this.#persist((state) => plans.endThisTurn(state, turnId, end, this.#options.clock.now()))
  }

  // Waiting

  async #park(reason: ParkReason): Promise<void> {
    const link = this.#link
    const events = await this.#persist((state) => plans.park(state, reason))
    if (events && events.length > 0) await link?.close('parked')
  }

  /** A request that waits long costs no process; one that has a deadline expires. Both count from when it was asked. */
  #watchRequests(): void {
    const { clock, limits } = this.#options
    const { requests, turn } = this.state
    const [first] = requests
    this.#timers.stop('park')
    this.#timers.stop('expire')
    if (!first || this.#stopping) return
    const waited = clock.now() - first.at
    if (turn && !turn.parked && this.#link && this.#agent.canResume()) {
      this.#timers.set('park', limits.parkAfterMs - waited, () => void this.#park('waited-long'))
    }
    if (limits.expireAfterMs > 0) {
      this.#timers.set('expire', limits.expireAfterMs - waited, () => void this.#persist(plans.expireFirst))
    }
  }

  #idle(idle: boolean): void {
    const { clock, limits, slots } = this.#options
    if (!idle || !this.#link) {
      this.#idleSince = undefined
      this.#timers.stop('idle')
      return
    }
    if (this.#idleSince !== undefined) return
    this.#idleSince = clock.now()
    this.#timers.set('idle', limits.idleCloseMs, () => void this.#disconnect('idle'))
    slots.becameIdle()
  }

  #tellActivity(): void {
    const { status, turn } = this.state
    const activity = status === 'idle' ? 'idle' : status === 'working' ? 'active' : 'asking'
    if (activity === this.#activity) return
    this.#activity = activity
    void this.log.stream({ type: 'activity.changed', activity, ...(turn && { turnId: turn.turnId }) })
  }

  #quietly(work: Promise<void> | undefined, doing: string): void {
    work?.catch((error: unknown) => this.#options.problem(error, doing))
  }
}

const cancelled = { outcome: 'cancelled', stopReason: 'cancelled' } as const

function failedToStart(error: unknown): Omit<TurnEnd, 'durationMs'> {
  return { outcome: 'failed', stopReason: 'agent_failed', error: errorInfoOf(error) }
}

function cannotResume(adapter: AgentAdapter): ParleyError {
  const message = `${adapter.name} cannot go on with an interrupted turn. Send the prompt again.`
  return new ParleyError('not_supported', message)
}

function lostAtOnce(adapter: AgentAdapter): ParleyError {
  return new ParleyError(
    'agent_failed',
    `${adapter.name} ended as soon as it was started. Send the prompt again.`,
  )
}
