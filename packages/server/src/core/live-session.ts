import {
  activityOf,
  type Command,
  type ParkReason,
  ParleyError,
  type PermissionRule,
  type Receipt,
  type RewindPreview,
  runningInBackground,
  type SessionEvent,
  type SessionState,
  type TurnEnd,
} from '@parley/protocol'
import type { AgentAdapter } from './agent-adapter.ts'
import type { CloseReason } from './agent-link.ts'
import { type BackgroundWatch, createBackgroundWatch } from './background-watch.ts'
import type { Clock, Ids } from './clock.ts'
import { type CommandDesk, createCommandDesk } from './command-desk.ts'
import type { ConnectionSlots } from './connection-slots.ts'
import { isPendingSteer } from './decide.ts'
import { requestsOfTurn } from './end-turn.ts'
import type { EnvironmentOf } from './environment.ts'
import { createFactWaiters } from './fact-waiters.ts'
import type { Trusts } from './folder-trust.ts'
import type { HostObserver } from './host-observer.ts'
import type { HostToolSet } from './host-tool.ts'
import type { HostToolEnv } from './host-tool-desk.ts'
import type { Limits } from './limits.ts'
import { createPersisting, type Persist, type Persisting } from './persist.ts'
import { recoveryPlan } from './recover.ts'
import { SessionAgent } from './session-agent.ts'
import { createSessionLog, type SessionLog, type SessionLogOptions } from './session-log.ts'
import type { SessionStore } from './session-store.ts'
import type { SpareAgents } from './spare-agents.ts'
import { answeredTask, goOnWithTask, isWanted, onlyWait } from './task-plans.ts'
import { createTimers } from './timers.ts'
import * as plans from './turn-plans.ts'

export type LiveSessionOptions = {
  readonly state: SessionState
  readonly adapter: AgentAdapter | undefined
  readonly store: SessionStore
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Limits
  readonly slots: ConnectionSlots
  readonly spares: SpareAgents
  readonly rules: () => readonly PermissionRule[]
  readonly trusts: Trusts
  readonly environment: EnvironmentOf
  readonly hostTools: HostToolSet
  readonly toolEnv: HostToolEnv
  readonly temporaryFolder: (sessionId: string) => Promise<string>
  readonly announced: SessionLogOptions['announced']
  readonly observer: HostObserver
  readonly fork: Parameters<typeof createCommandDesk>[0]['fork']
  readonly problem: (error: unknown, doing: string) => void
  /** This object must not be used any more; load the session again. */
  readonly broken: () => void
}

/**
 * One session while it is in memory. Takes commands, records them, and only then acts on them. The next action always
 * follows from the recorded state, so that a restart continues where this process stopped.
 */
export class LiveSession {
  readonly log: SessionLog
  readonly #options: LiveSessionOptions
  readonly #agent: SessionAgent
  readonly #desk: CommandDesk
  readonly #persisting: Persisting
  readonly #persist: Persist
  readonly #timers: ReturnType<typeof createTimers<'idle' | 'force' | 'park' | 'expire' | 'quiet'>>
  readonly #background: BackgroundWatch
  readonly #facts: ReturnType<typeof createFactWaiters>
  /** The turn that was started, so that it is started once. */
  #begun: string | undefined
  #driving: Promise<void> | undefined
  #driveAgain = false
  #recovered: Promise<void> | undefined
  /**
   * False until recovery is done: nothing is driven before, because the state may be what a dead server left behind.
   */
  #isRecovered = false
  #stopping = false
  #idleSince: number | undefined
  #activity = 'idle'

  constructor(options: LiveSessionOptions) {
    const { store, clock, limits, problem } = options
    this.#options = options
    options.observer.opened(options.state)
    this.log = createSessionLog({
      store,
      clock,
      checkpointMs: limits.checkpointMs,
      state: options.state,
      announced: (...batch) => this.#announced(...batch),
      goingOn: ({ turn }) => (turn ? [this.#activityNow()] : []),
      problem,
    })
    this.#timers = createTimers(clock)
    this.#background = createBackgroundWatch({ clock, limits, over: () => void this.#endBackground() })
    this.#facts = createFactWaiters(clock)
    this.#persisting = createPersisting({ log: this.log, clock, problem, broken: () => this.#break() })
    this.#persist = this.#persisting.persist
    this.#agent = new SessionAgent({
      ...options,
      log: this.log,
      persist: this.#persist,
      connectMs: limits.connectMs,
      holder: { idleSince: () => this.#idleSince, yieldSlot: () => void this.#disconnect('idle') },
      stopping: () => this.#stopping,
    })
    const agent = (command: Command) => this.#agent.forCommand(command)
    const mustWait = () => this.#agent.mustRejoin
    this.#desk = createCommandDesk({ ...options, log: this.log, maxQueue: limits.maxQueue, agent, mustWait })
  }

  get state(): SessionState {
    return this.log.state
  }

  /** Nothing runs or waits, and nobody reads: the session can be removed from memory and loaded again on use. */
  get quiet(): boolean {
    const { turn, requests } = this.state
    const running = this.#agent.connected || this.#agent.starting || this.#driving || turn
    const recording = this.#desk.busy || this.log.busy || this.#persisting.pending > 0
    return !running && !recording && requests.length === 0 && !this.log.feed.hasReaders
  }

  /** Starts the agent of a new session before its first prompt, if the agent starts slowly. */
  async startAhead(): Promise<void> {
    await this.recover()
    if (this.#stopping || this.state.turn || this.state.queue.length > 0) return
    await this.#agent.startAhead()
    this.#drive()
  }

  /** What `session.rewind` to this prompt would change. Nothing is recorded. */
  async previewRewind(promptId: string): Promise<RewindPreview> {
    await this.recover()
    if (this.state.turn) throw new ParleyError('conflict', 'A turn is open. Wait for its end, then rewind.')
    try {
      return await this.#agent.previewRewind(promptId)
    } finally {
      this.#drive()
    }
  }

  async command(command: Command): Promise<Receipt> {
    await this.recover()
    if (command.type === 'prompt.submit') await this.#agent.listenElsewhere()
    if (command.type === 'prompt.withdraw') await this.#takeBack(command.promptId)
    const { receipt, fresh } = await this.#desk.take(command)
    const lets = command.type === 'session.close' || command.type === 'session.release'
    if (fresh && lets && !this.state.turn) await this.#disconnect('closed')
    if (fresh && command.type === 'task.stop') this.#agent.stopTasks(command.taskId)
    return receipt
  }

  async #takeBack(promptId: string): Promise<void> {
    if (!isPendingSteer(this.state, promptId) || (await this.#agent.takeBack(promptId))) return
    const message = 'The agent has this prompt already, or does not give it back.'
    throw new ParleyError('conflict', message, { details: { promptId } })
  }

  /** Recovers, once, from a restart, then continues what can continue. Rejects if the recovery cannot be recorded. */
  recover(): Promise<void> {
    this.#recovered ??= this.#recover().catch((error) => {
      this.#recovered = undefined
      throw error
    })
    return this.#recovered
  }

  async #recover(): Promise<void> {
    await this.log.transact((state) => recoveryPlan(state, this.#options.clock.now(), this.#agent.canResume))
    this.#isRecovered = true
    this.#drive()
    this.#watchRequests()
  }

  /** The folder's trust may have changed: an idle agent that was started with another trust is closed. */
  refresh(): void {
    this.#drive()
  }

  /**
   * For a stop of the host: parks what waits for a person, ends what runs, and keeps prompts that the agent has not
   * received.
   */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#persisting.stop()
    const aborted = this.#agent.abortStart()
    const { turn } = this.state
    if (turn && !turn.parked && this.#agent.connected) {
      const waits = requestsOfTurn(this.state).length > 0 || turn.carried.length > 0
      if (waits && this.#agent.canResume) await this.#park('server-stopped')
      else await this.#endBeforeStop()
    }
    await this.#disconnect('server-stopped')
    await aborted
    await this.#driving
    await this.#disconnect('server-stopped')
    this.#stopTimers()
    await this.log.close('closed')
  }

  async #endBeforeStop(): Promise<void> {
    await this.#persist(plans.interruptByHost)
    const over = () => this.state.turn === undefined || !this.#agent.connected
    await this.#facts.until(over, this.#options.limits.stopGraceMs)
    await this.#endTurn({ outcome: 'cancelled', stopReason: 'server_stopped' })
  }

  /** For a deletion: nothing more is recorded. Readers are told only after `remove` has removed the session. */
  async destroy(remove: () => Promise<unknown>): Promise<void> {
    this.#stopping = true
    this.#persisting.stop()
    const aborted = this.#agent.abortStart()
    await this.log.seal('deleted')
    await this.#disconnect('closed')
    await aborted
    await this.#driving
    this.#stopTimers()
    const removed = await remove().then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
    await this.log.close(removed ? 'closed' : 'deleted')
    if (removed) throw removed.error
  }

  #stopTimers(): void {
    this.#timers.stopAll()
    this.#background.stop()
  }

  #break(): void {
    this.#options.broken()
    this.stop().catch((error) => this.#options.problem(error, 'stop a session that another has written to'))
  }

  // Effects of recorded events

  #announced(...[events, state, granted]: Parameters<SessionLogOptions['announced']>): void {
    for (const event of events) this.#react(event)
    this.#agent.hear(events)
    this.#options.announced(events, state, granted)
    if (events.length > 0) this.#options.observer.recorded(events, state)
    this.#tellActivity()
    this.#watchRequests()
    this.#watchOwnTurn()
    this.#background.look(state, this.#agent.connected && !this.#stopping)
    this.#facts.changed()
    this.#drive()
  }

  #react(event: SessionEvent): void {
    if (event.type === 'prompt.submitted') this.#background.startAnew()
    if (event.type === 'turn.started') this.#idle(false)
    if (event.type === 'turn.interrupted') this.#interrupt()
    if (event.type === 'turn.ended') this.#timers.stop('force')
    if (event.type === 'turn.ended' || event.type === 'turn.parked') this.#begun = undefined
  }

  #interrupt(): void {
    if (!this.#agent.interrupt()) return void this.#endTurn({ outcome: 'cancelled', stopReason: 'cancelled' })
    if (this.#stopping) return
    this.#timers.set('force', this.#options.limits.cancelGraceMs, () => void this.#disconnect('closed'))
  }

  /** Runs one step at a time, and again after every change: reads the state and takes the next action. */
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
    const { turn, archived } = this.state
    const { ids } = this.#options
    if (this.#stopping || !this.#isRecovered) return
    if (!turn) {
      const task = answeredTask(this.state)
      if (task) {
        if (isWanted(task)) await this.#agent.rejoin()
        const fresh = { turnId: ids('trn'), promptId: ids('prm') }
        await this.#persist((state) => goOnWithTask(state, fresh))
        return
      }
      if (!plans.nextPrompt(this.state) || archived) return this.#idle(true)
      await this.#agent.rejoin()
      await this.#persist((state) => plans.startNext(state, ids('trn')))
      return
    }
    const waits = turn.parked && requestsOfTurn(this.state).length > 0
    if (turn.turnId === this.#begun || waits) return
    this.#begun = turn.turnId
    if (turn.cause?.by === 'agent' && !turn.parked) return this.#watchOwnTurn()
    await this.#agent.begin(turn)
  }

  async #disconnect(reason: CloseReason): Promise<void> {
    this.#timers.stop('idle')
    await this.#agent.disconnect(reason)
  }

  async #endTurn(end: Omit<TurnEnd, 'durationMs'>, turnId = this.state.turn?.turnId): Promise<void> {
    await this.#persist((state) => plans.endThisTurn(state, turnId, end, this.#options.clock.now()))
  }

  // Waiting

  async #park(reason: ParkReason): Promise<void> {
    if (!this.state.turn) return this.#disconnect('parked')
    const events = await this.#persist((state) => plans.park(state, reason))
    if (events && events.length > 0) await this.#disconnect('parked')
  }

  /**
   * A turn whose request waits long is parked; a request with a deadline expires. Both times count from the request. A
   * stale request has lost its process already: the process that runs now serves something else.
   */
  #watchRequests(): void {
    const { clock, limits } = this.#options
    const { requests } = this.state
    const [first] = requests
    const asked = requests.find(({ stale }) => !stale)
    this.#timers.stop('park')
    this.#timers.stop('expire')
    if (!first || this.#stopping) return
    const left = (limit: number, { at } = first) => limit - (clock.now() - at)
    if (asked && this.#onlyWaits && this.#agent.connected && this.#agent.canResume) {
      this.#timers.set('park', left(limits.parkAfterMs, asked), () => void this.#park('waited-long'))
    }
    if (limits.expireAfterMs > 0) {
      this.#timers.set('expire', left(limits.expireAfterMs), () => void this.#persist(plans.expireFirst))
    }
  }

  /** The turn and all background tasks wait for a person: no process is needed until there is an answer. */
  get #onlyWaits(): boolean {
    const { turn } = this.state
    const turnWaits = !turn || (!turn.parked && requestsOfTurn(this.state).length > 0)
    return turnWaits && onlyWait(this.state)
  }

  /**
   * For an agent that does not report the end of its own turn: the turn ends when nothing is open and nothing was
   * said for a while.
   */
  #watchOwnTurn(): void {
    const { turn, openBlocks, requests } = this.state
    this.#timers.stop('quiet')
    if (turn?.cause?.by !== 'agent' || turn.parked || this.#stopping) return
    if (this.#options.adapter?.endsOwnTurns || openBlocks.length > 0 || requests.length > 0) return
    this.#timers.set('quiet', this.#options.limits.ownTurnQuietMs, () => {
      void this.#endTurn({ outcome: 'completed', stopReason: 'quiet' }, turn.turnId)
    })
  }

  /** The agent's background work reached a limit. Its own turn is parked if it waits for a person. */
  async #endBackground(): Promise<void> {
    const waits = this.state.turn && this.#agent.canResume && requestsOfTurn(this.state).length > 0
    if (waits) await this.#persist((state) => plans.park(state, 'waited-long'))
    await this.#disconnect(waits ? 'parked' : 'idle')
  }

  #idle(idle: boolean): void {
    const { clock, limits, slots } = this.#options
    const keeps = this.#agent.connected && runningInBackground(this.state).length > 0
    if (idle && !keeps && this.#agent.isOutdated) return void this.#disconnect('idle')
    if (!idle || keeps || !this.#agent.connected) {
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
    const delta = this.#activityNow()
    if (delta.activity === this.#activity) return
    this.#activity = delta.activity
    void this.log.stream(delta)
  }

  #activityNow() {
    const { status, turn } = this.state
    const activity = activityOf(status)
    return { type: 'activity.changed' as const, activity, ...(turn && { turnId: turn.turnId }) }
  }
}
