import {
  activityOf,
  type Delta,
  dueRestore,
  isWorktreeUnderWay,
  type KnownTask,
  type OpenTurn,
  type ParkReason,
  type PermissionRule,
  runningInBackground,
  type SessionEvent,
  type SessionState,
  type TurnEnd,
} from '@parley/protocol'
import type { CloseReason } from './agent-link.ts'
import { type BackgroundWatch, createBackgroundWatch } from './background-watch.ts'
import { hasUsableAnswer } from './carried-answers.ts'
import { leavesWorktree } from './decide-round.ts'
import { waitsForWorktree } from './decide-worktree.ts'
import { requestsOfTurn } from './end-turn.ts'
import type { FileRestore } from './file-restore.ts'
import type { HostToolCalls } from './host-tool-calls.ts'
import type { PermissionBroker } from './permission-broker.ts'
import type { PickSteps } from './pick-steps.ts'
import type { SessionAgent } from './session-agent.ts'
import { checkStopped, type SessionChecks } from './session-checks.ts'
import { canResume, type SessionContext } from './session-services.ts'
import { allTasksWait, answeredTask, restartTask } from './task-transactions.ts'
import { createTimers } from './timers.ts'
import { TurnSnapshots } from './turn-snapshots.ts'
import * as turns from './turn-transactions.ts'
import type { WorktreeSteps } from './worktree-steps.ts'

export type LoopParts = {
  readonly agent: SessionAgent
  readonly broker: PermissionBroker
  readonly toolCalls: HostToolCalls
  readonly worktree: WorktreeSteps
  readonly restore: FileRestore
  readonly checks: SessionChecks
  readonly pick: PickSteps
  /** Cancels the commands that work in the folder, and resolves when they have ended. */
  readonly endFolderWork: () => Promise<void>
}

/**
 * The loop of a live session. Every recorded batch of events passes through it:
 * 1. `#recorded`: the effects of the events, such as an interrupt, and the calls of listeners.
 * 2. `nextAction`: the action that the state requires now. A pure function, so that a restart continues in the same
 *    way.
 * 3. `#act`: one action at a time. It records what it does, which starts the loop again.
 */
export class SessionLoop {
  readonly #context: SessionContext
  readonly #parts: LoopParts
  readonly #timers: ReturnType<typeof createTimers<'idle' | 'force' | 'park' | 'expire' | 'quiet'>>
  readonly #background: BackgroundWatch
  readonly snapshots: TurnSnapshots
  /** The turn that was started last, so that no turn is started twice. */
  #begun: string | undefined
  #acting: Promise<void> | undefined
  #actAgain = false
  /**
   * False before the recovery. Until then the loop does nothing, because the state may be that of a server that died.
   */
  #isRecovered = false
  #isIdle = false
  /** Set while the session stops: checks whether the turn is over. */
  #checkOver: (() => void) | undefined
  #activity = 'idle'

  constructor(context: SessionContext, parts: LoopParts) {
    const { clock, limits } = context.services
    this.#context = context
    this.#parts = parts
    this.#timers = createTimers(clock)
    this.snapshots = new TurnSnapshots(context)
    this.#background = createBackgroundWatch({ clock, limits, over: () => void this.#endBackground() })
    context.log.onRecorded((...batch) => this.#recorded(...batch))
  }

  get #state(): SessionState {
    return this.#context.log.state
  }

  get #isStopping(): boolean {
    return this.#context.stopping.aborted
  }

  get acting(): Promise<void> | undefined {
    return this.#acting
  }

  /** Called when the recovery is recorded: from now on the loop acts. */
  start(): void {
    this.#isRecovered = true
    this.snapshots.started(this.#state)
    this.wake()
    this.#parts.pick.wake()
    this.#watchRequests()
  }

  /** Takes the next action, after the current one. Must be called if something other than the log has changed. */
  wake(): void {
    if (this.#acting) {
      this.#actAgain = true
      return
    }
    this.#acting = this.#act()
      .catch((error) => this.#context.problem(error, 'run the session loop'))
      .finally(() => {
        this.#acting = undefined
        if (!this.#actAgain) return
        this.#actAgain = false
        this.wake()
      })
  }

  async #act(): Promise<void> {
    await Promise.resolve()
    if (this.#isStopping || !this.#isRecovered) return
    const { agent, worktree } = this.#parts
    const { persist, services } = this.#context
    const { ids } = services
    const next = nextAction(this.#state, this.#begun)
    switch (next.type) {
      case 'wait':
        return
      case 'rest':
        return this.#rest()
      case 'work-on-worktree':
        return worktree.take(() => this.#leaveFolder())
      case 'leave-worktree':
        return worktree.leave()
      case 'restore-files':
        return this.#parts.restore.run()
      case 'start-prompt':
        await worktree.look()
        if (waitsForWorktree(this.#state)) return
        await agent.rejoin()
        await persist((state) => turns.startNext(state, ids('trn')))
        return
      case 'restart-task': {
        if (hasUsableAnswer(next.task)) await agent.rejoin()
        const fresh = { turnId: ids('trn'), promptId: ids('prm') }
        await persist((state) => restartTask(state, fresh))
        return
      }
      case 'watch-own-turn':
        this.#begun = next.turnId
        return this.#watchOwnTurn()
      case 'begin-turn':
        this.#begun = next.turn.turnId
        return agent.begin(next.turn)
    }
  }

  // Effects of recorded events

  #recorded(events: readonly SessionEvent[], state: SessionState, granted: readonly PermissionRule[]): void {
    const { rules, news, observer, awaits } = this.#context.services
    for (const event of events) this.#react(event)
    this.snapshots.recorded(events)
    rules.granted(granted)
    news.recorded(events, state, awaits)
    if (events.length > 0) observer.recorded(events, state)
    this.#tellActivity()
    this.#watchRequests()
    this.#watchOwnTurn()
    this.#background.update(state, state.connected && !this.#isStopping)
    this.#checkOver?.()
    this.#parts.restore.recorded()
    if (this.#isRecovered) this.#parts.pick.wake()
    this.wake()
  }

  #react(event: SessionEvent): void {
    const { agent, broker, toolCalls, worktree, checks } = this.#parts
    switch (event.type) {
      case 'prompt.submitted':
        this.#background.reset()
        if (event.turnId) agent.steer(event)
        return
      case 'session.configured':
        if (event.requested) agent.configure()
        return
      case 'turn.started':
        return this.#busy()
      case 'restore.started':
        return this.#parts.restore.started(event.seq)
      case 'turn.interrupted':
        toolCalls.stop('turn')
        return this.#interrupt()
      case 'turn.parked':
        this.#begun = undefined
        broker.detach()
        return toolCalls.stop('all')
      case 'turn.ended':
        this.#begun = undefined
        this.#timers.stop('force')
        toolCalls.stop('turn')
        return agent.turnEnded()
      case 'permission.resolved':
      case 'question.resolved':
        return broker.settle(event)
      case 'worktree.requested':
        return worktree.end()
      case 'check.started':
        return checks.started(event.command)
      case 'attempt.passed-over':
        return void checks.stop(checkStopped)
    }
  }

  #interrupt(): void {
    if (!this.#parts.agent.interrupt()) {
      void this.#endTurn({ outcome: 'cancelled', stopReason: 'cancelled' })
      return
    }
    if (this.#isStopping) return
    const { cancelGraceMs } = this.#context.services.limits
    this.#timers.set('force', cancelGraceMs, () => void this.disconnect('closed'))
  }

  #tellActivity(): void {
    const delta = activityDelta(this.#state)
    if (delta.activity === this.#activity) return
    this.#activity = delta.activity
    void this.#context.log.stream(delta)
  }

  // Actions after a delay

  /**
   * Sets the timers for open requests. A turn whose request waits long is parked, and a request with a deadline
   * expires. Both times count from the request. A stale request does not park the turn: its process has already
   * ended, and the process that runs now serves something else.
   */
  #watchRequests(): void {
    const { clock, limits } = this.#context.services
    const { requests } = this.#state
    const [first] = requests
    const asked = requests.find(({ stale }) => !stale)
    this.#timers.stop('park')
    this.#timers.stop('expire')
    if (!first || this.#isStopping) return
    const left = (limit: number, { at } = first) => limit - (clock.now() - at)
    const mayPark = onlyWaits(this.#state) && this.#parts.agent.connected && canResume(this.#context)
    if (asked && mayPark) {
      this.#timers.set('park', left(limits.parkAfterMs, asked), () => void this.park('waited-long'))
    }
    if (limits.expireAfterMs > 0) {
      const expire = () => void this.#context.persist(turns.expireFirst)
      this.#timers.set('expire', left(limits.expireAfterMs), expire)
    }
  }

  /**
   * For an agent that does not report the end of its own turn: the turn ends when nothing is open and the agent has
   * been silent for a while.
   */
  #watchOwnTurn(): void {
    const { turn, openBlocks, requests } = this.#state
    this.#timers.stop('quiet')
    if (turn?.cause?.by !== 'agent' || turn.parked || this.#isStopping) return
    if (this.#context.adapter?.endsOwnTurns || openBlocks.length > 0 || requests.length > 0) return
    this.#timers.set('quiet', this.#context.services.limits.ownTurnQuietMs, () => {
      void this.#endTurn({ outcome: 'completed', stopReason: 'quiet' }, turn.turnId)
    })
  }

  /**
   * Closes the agent, whose background work has reached a limit. If its own turn waits for a person and can be resumed,
   * the turn is parked.
   */
  async #endBackground(): Promise<void> {
    const { persist } = this.#context
    const waits = this.#state.turn && canResume(this.#context) && requestsOfTurn(this.#state).length > 0
    if (waits) await persist((state) => turns.park(state, 'waited-long'))
    await this.disconnect(waits ? 'parked' : 'idle')
  }

  /** Called when no action is due. An idle agent is closed after a while, or at once if it is outdated. */
  #rest(): void {
    const { agent } = this.#parts
    const { clock, limits, slots } = this.#context.services
    if (!agent.connected || runningInBackground(this.#state).length > 0) return this.#busy()
    if (agent.isOutdated) return void this.disconnect('idle')
    if (this.#isIdle) return
    this.#isIdle = true
    agent.idle = clock.now()
    this.#timers.set('idle', limits.idleCloseMs, () => void this.disconnect('idle'))
    slots.becameIdle()
  }

  #busy(): void {
    if (!this.#isIdle) return
    this.#isIdle = false
    this.#parts.agent.idle = undefined
    this.#timers.stop('idle')
  }

  // Parking and ending

  async park(reason: ParkReason): Promise<void> {
    if (!this.#state.turn) return this.disconnect('parked')
    const events = await this.#context.persist((state) => turns.park(state, reason))
    if (events && events.length > 0) await this.disconnect('parked')
  }

  /** Asks the agent to stop its turn, and ends the turn after `stopGraceMs` at the latest. */
  async endBeforeStop(): Promise<void> {
    const { clock, limits } = this.#context.services
    await this.#context.persist((state) => turns.interruptByHost(state, 'server-stopped'))
    const over = Promise.withResolvers<void>()
    const stopTimer = clock.after(limits.stopGraceMs, over.resolve)
    this.#checkOver = () => {
      if (!this.#state.turn || !this.#parts.agent.connected) over.resolve()
    }
    this.#checkOver()
    await over.promise
    stopTimer()
    await this.#endTurn({ outcome: 'cancelled', stopReason: 'server_stopped' })
  }

  async #endTurn(end: Omit<TurnEnd, 'durationMs'>, turnId = this.#state.turn?.turnId): Promise<void> {
    const { persist, services } = this.#context
    await persist((state) => turns.endThisTurn(state, turnId, end, services.clock.now()))
  }

  async disconnect(reason: CloseReason): Promise<void> {
    this.#timers.stop('idle')
    await this.#parts.agent.disconnect(reason)
  }

  /** Ends everything that runs in the folder of the session. */
  async #leaveFolder(): Promise<void> {
    await Promise.all([this.#parts.checks.stop(checkStopped), this.#parts.endFolderWork()])
    await this.disconnect('closed')
  }

  stopTimers(): void {
    this.#parts.pick.stop()
    this.#timers.stopAll()
    this.#background.stop()
  }
}

type Action =
  | {
      readonly type:
        | 'wait'
        | 'rest'
        | 'start-prompt'
        | 'work-on-worktree'
        | 'leave-worktree'
        | 'restore-files'
    }
  | { readonly type: 'restart-task'; readonly task: KnownTask }
  | { readonly type: 'watch-own-turn'; readonly turnId: string }
  | { readonly type: 'begin-turn'; readonly turn: OpenTurn }

/** The action that the state requires. `begun` is the turn that was started last. */
function nextAction(state: SessionState, begun: string | undefined): Action {
  const { turn, archived } = state
  if (!turn) {
    if (isWorktreeUnderWay(state.worktree)) return { type: 'work-on-worktree' }
    if (waitsForWorktree(state)) return { type: 'rest' }
    if (dueRestore(state)) return { type: 'restore-files' }
    if (leavesWorktree(state)) return { type: 'leave-worktree' }
    const task = answeredTask(state)
    if (task) return { type: 'restart-task', task }
    return { type: turns.nextPrompt(state) && !archived ? 'start-prompt' : 'rest' }
  }
  const isAsked = turn.parked && requestsOfTurn(state).length > 0
  if (turn.turnId === begun || isAsked) return { type: 'wait' }
  if (turn.cause?.by === 'agent' && !turn.parked) return { type: 'watch-own-turn', turnId: turn.turnId }
  return { type: 'begin-turn', turn }
}

/** True if the turn and all background tasks wait for a person: no process is needed until there is an answer. */
function onlyWaits(state: SessionState): boolean {
  const { turn } = state
  const turnWaits = !turn || (!turn.parked && requestsOfTurn(state).length > 0)
  return turnWaits && allTasksWait(state)
}

export function activityDelta({ status, turn }: SessionState): Delta & { type: 'activity.changed' } {
  return { type: 'activity.changed', activity: activityOf(status), ...(turn && { turnId: turn.turnId }) }
}
