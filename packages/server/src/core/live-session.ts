import {
  type Actor,
  type Command,
  ParleyError,
  type Receipt,
  type RewindPreview,
  type SessionState,
  type SuggestedMessage,
} from '@parley/protocol'
import { currentAdapter } from './agent-keeper.ts'
import { CheckedCalls } from './checked-calls.ts'
import { withinTime } from './clock.ts'
import { isPendingSteer } from './decide.ts'
import { waitsForWorktree } from './decide-worktree.ts'
import { turnWaits } from './end-turn.ts'
import { FileRestore } from './file-restore.ts'
import { createHostToolCalls } from './host-tool-calls.ts'
import { createPermissionBroker } from './permission-broker.ts'
import { createPersisting, type Persisting } from './persist.ts'
import { PickSteps } from './pick-steps.ts'
import { recovery } from './recover.ts'
import { Rejoin } from './rejoin.ts'
import { SessionAgent } from './session-agent.ts'
import { checkMark, checkStopped, SessionChecks, serverStopped } from './session-checks.ts'
import { createSessionCommands, type SessionCommands } from './session-commands.ts'
import { createSessionLog, type SessionLog } from './session-log.ts'
import { activityDelta, SessionLoop } from './session-loop.ts'
import { canResume, type SessionContext, type SessionServices } from './session-services.ts'
import { WorktreeSteps } from './worktree-steps.ts'

/** The holder of all live sessions, with the operations that a session calls. */
export type SessionOwner = {
  /** Drops this session object, which must not be used afterwards. The session is loaded again on use. */
  forgetOnly(sessionId: string, session: LiveSession): Promise<void>
  startAhead(sessionId: string): void
}

/** The time for which a session that ends waits for a snapshot of its folder to complete. */
const snapshotMs = 2_000
/**
 * The time for which a session that stops waits for its commands. Most of them are cancelled; a merge that has begun
 * to write files is completed, because half of a merge would have to be undone by hand.
 */
const commandsMs = 10_000

/**
 * One session while it is in memory: its log and the parts that work on it. Commands are recorded here; the loop
 * performs their effects, from the recorded state.
 */
export class LiveSession {
  readonly log: SessionLog
  readonly #context: SessionContext
  readonly #commands: SessionCommands
  readonly #rejoin: Rejoin
  readonly #agent: SessionAgent
  readonly #restore: FileRestore
  readonly #checks: SessionChecks
  readonly #pick: PickSteps
  readonly #loop: SessionLoop
  readonly #worktree: WorktreeSteps
  readonly #persisting: Persisting
  readonly #stopping = new AbortController()
  #recovered: Promise<void> | undefined
  #suggesting: Promise<SuggestedMessage> | undefined

  constructor(services: SessionServices, state: SessionState, owner: SessionOwner) {
    const { store, clock, limits, observer, sealer } = services
    const problem = (error: unknown, doing: string) => services.problem({ error, doing, sessionId: state.id })
    observer.opened(state)
    const joining = (now: SessionState) => (now.turn ? [activityDelta(now)] : [])
    const { checkpointMs } = limits
    this.log = createSessionLog({ store, clock, checkpointMs, state, sealer, joining, problem })
    const stopping = this.#stopping.signal
    const broken = () => {
      void owner.forgetOnly(state.id, this)
      this.stop().catch((thrown) => problem(thrown, 'stop a session that another log has written to'))
    }
    this.#persisting = createPersisting({ log: this.log, clock, stopping, problem, broken })
    const context: SessionContext = {
      services,
      adapter: currentAdapter(services.adapters, state.agent),
      hostTools: services.tools.get(state.id),
      log: this.log,
      persist: this.#persisting.persist,
      checkedCalls: new CheckedCalls(),
      stopping,
      problem,
    }
    const broker = createPermissionBroker(context)
    const toolCalls = createHostToolCalls(context, broker.person)
    this.#context = context
    this.#rejoin = new Rejoin(context)
    this.#agent = new SessionAgent(context, { broker, toolCalls, rejoin: this.#rejoin })
    this.#worktree = new WorktreeSteps(context)
    this.#restore = new FileRestore(context)
    this.#checks = new SessionChecks(context)
    this.#pick = new PickSteps(context)
    const folder = { worktree: this.#worktree, restore: this.#restore, checks: this.#checks }
    const endFolderWork = () => this.#commands.endFolderWork()
    const parts = { agent: this.#agent, pick: this.#pick, endFolderWork, ...folder }
    this.#loop = new SessionLoop(context, { ...parts, broker, toolCalls })
    this.#commands = createSessionCommands(context, this.#rejoin, (child) => owner.startAhead(child))
  }

  get state(): SessionState {
    return this.log.state
  }

  /**
   * True if nothing runs or waits and there are no readers: the session can be removed from memory and loaded again on
   * use.
   */
  get quiet(): boolean {
    const { turn, requests } = this.state
    const running =
      this.#agent.connected || this.#agent.starting || this.#loop.acting || turn || this.#loop.snapshots.busy
    const working = this.#suggesting || this.#checks.busy || this.#pick.busy
    const recording = working || this.#commands.busy || this.log.busy || this.#persisting.pending > 0
    return !running && !recording && requests.length === 0 && !this.log.feed.hasReaders
  }

  async command(command: Command, by?: Actor): Promise<Receipt> {
    await this.recover()
    const isHere = this.#context.services.awaits === undefined
    if (command.type === 'prompt.submit' && isHere) {
      if (!this.state.turn) await this.#worktree.look()
      await this.#rejoin.checkElsewhere()
    }
    if (command.type === 'worktree.remove' || command.type === 'worktree.restore')
      await this.#worktree.check(command)
    if (command.type === 'attempt.pick') await this.#worktree.expectFree()
    if (command.type === 'prompt.withdraw') await this.#withdrawSteer(command.promptId)
    // A rewind of files needs the snapshot after the last turn.
    const restoresFiles = command.type === 'session.rewind' && command.files !== false
    if (restoresFiles && isHere) await this.#loop.snapshots.settled()
    const { receipt, fresh } = await this.#commands.record(command, by)
    if (this.state.restore?.seq === receipt.seq) await this.#restore.done(receipt.seq)
    const closes = command.type === 'session.close' || command.type === 'session.release'
    if (fresh && closes && !this.state.turn) await this.#loop.disconnect('closed')
    if (fresh && command.type === 'check.stop') await this.#checks.stop(checkStopped)
    if (fresh && command.type === 'task.stop') this.#agent.stopTasks(command.taskId)
    if (fresh && refusesElsewhere(command)) await this.#context.services.shared?.changed()
    return receipt
  }

  async #withdrawSteer(promptId: string): Promise<void> {
    if (!isPendingSteer(this.state, promptId) || (await this.#agent.withdrawSteer(promptId))) return
    const message =
      'The prompt cannot be withdrawn: the agent has already taken it up, or does not support withdrawing.'
    throw new ParleyError('conflict', message, { details: { promptId } })
  }

  /**
   * Recovers from a restart, once, then continues the work that can be continued. Rejects if the recovery cannot be
   * recorded.
   */
  recover(): Promise<void> {
    this.#recovered ??= this.#recover().catch((error) => {
      this.#recovered = undefined
      throw error
    })
    return this.#recovered
  }

  async #recover(): Promise<void> {
    const { clock, awaits, ownership } = this.#context.services
    const isShared = ownership.firstTerm !== undefined
    const recordedBy = isShared ? (awaits === undefined ? 'node' : 'caretaker') : undefined
    const facts = { canResume: canResume(this.#context), recordedBy } as const
    if (this.state.checks?.running) this.#context.services.projectCommands?.end(checkMark(this.state.id))
    await this.log.transact((state) => recovery(state, clock.now(), facts))
    if (awaits === undefined) this.#loop.start()
  }

  async startAhead(): Promise<void> {
    await this.recover()
    const isWaiting = this.state.queue.length > 0 || waitsForWorktree(this.state)
    if (this.#stopping.signal.aborted || this.state.turn || isWaiting) return
    await this.#agent.startAhead()
    this.#loop.wake()
  }

  async previewRewind(promptId: string): Promise<RewindPreview> {
    await this.recover()
    if (this.state.turn) throw new ParleyError('conflict', 'A turn is open. Wait until it ends, then rewind.')
    await this.#loop.snapshots.settled()
    const [{ previewRewind }, { pointBefore }] = await Promise.all([
      import('./rewind-files.ts'),
      import('./point-before.ts'),
    ])
    const { seq } = await pointBefore(this.#context.services.store, this.state, promptId, undefined)
    return previewRewind(this.#context, seq)
  }

  async suggestMessage(paths: readonly string[], signal?: AbortSignal): Promise<SuggestedMessage> {
    await this.recover()
    if (this.#suggesting)
      throw new ParleyError('busy', 'The agent is already writing a message. Wait until it has ended.')
    const suggesting = import('./suggest-message.ts').then((code) =>
      code.suggestMessage(this.#context, paths, signal),
    )
    this.#suggesting = suggesting
    try {
      return await suggesting
    } finally {
      this.#suggesting = undefined
    }
  }

  /**
   * Called when the folder's trust, the variables or the agent's configuration may have changed. Closes an idle agent
   * that is outdated.
   */
  refresh(): void {
    this.#loop.wake()
  }

  /**
   * Called when the host stops: parks a turn that waits for a person, ends a running turn, and keeps prompts that the
   * agent has not received.
   */
  async stop(): Promise<void> {
    this.#stopping.abort()
    const aborted = this.#agent.abortStart()
    const { turn } = this.state
    if (turn && !turn.parked && this.#agent.connected) {
      if (turnWaits(this.state) && canResume(this.#context)) await this.#loop.park('server-stopped')
      else await this.#loop.endBeforeStop()
    }
    await this.#checks.stop(serverStopped)
    await this.#disconnectForGood('server-stopped', aborted)
    await withinTime(this.#context.services.clock, commandsMs, this.#commands.settled())
    await this.log.close('closed')
  }

  /**
   * Called when another process may own the session: nothing more is recorded, and the agent is killed before this
   * returns. Readers must connect again.
   */
  async abandon(): Promise<void> {
    this.#stopping.abort()
    this.log.abandon()
    this.#agent.kill()
    await this.#disconnectForGood('closed', this.#agent.abortStart())
  }

  /**
   * Closes the agent, seals the log, and lets `change` rewrite it. Nothing more is recorded. Readers must connect
   * again. Rejects with ParleyError `conflict` while the session works.
   */
  async rewrite(change: () => Promise<void>): Promise<void> {
    await this.recover()
    const { turn, requests, queue } = this.state
    if (turn || requests.length + queue.length > 0)
      throw new ParleyError(
        'conflict',
        'The session is working, or waits for an answer. Try again when it is idle.',
      )
    this.#stopping.abort()
    await this.#disconnectForGood('closed', this.#agent.abortStart())
    await this.log.sealRest()
    await this.log.seal('closed')
    try {
      await change()
    } finally {
      await this.log.close('closed')
    }
  }

  /** Called for a deletion: nothing more is recorded. Readers are notified after `remove` has resolved. */
  async destroy(remove: () => Promise<unknown>): Promise<void> {
    this.#stopping.abort()
    const aborted = this.#agent.abortStart()
    await this.log.seal('deleted')
    await this.#disconnectForGood('closed', aborted)
    const removed = await remove().then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
    await this.log.close(removed ? 'closed' : 'deleted')
    if (removed) throw removed.error
  }

  /**
   * Closes the agent and stops the timers. Closes the agent a second time after the loop has finished, because a
   * start that was in progress may have connected meanwhile.
   */
  async #disconnectForGood(reason: 'closed' | 'server-stopped', aborted: Promise<void>): Promise<void> {
    await this.#loop.disconnect(reason)
    await aborted
    await this.#loop.acting
    await this.#loop.disconnect(reason)
    await this.#checks.stop(serverStopped)
    this.#loop.stopTimers()
    await this.#suggesting?.catch(() => undefined)
    const { clock } = this.#context.services
    await withinTime(clock, snapshotMs, this.#loop.snapshots.settled())
  }
}

/**
 * True if the answer stores a rule that refuses calls of other sessions. Such an answer is confirmed only when the
 * processes that may run those sessions apply the rule. A rule that allows calls may be applied later, because a
 * person is asked until then. A rule for this session is read by every process that claims the session.
 */
function refusesElsewhere(command: Command): boolean {
  if (command.type !== 'permission.decide' || command.decision !== 'deny') return false
  return command.scope === 'project' || command.scope === 'always'
}
