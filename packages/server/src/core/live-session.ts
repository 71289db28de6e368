import {
  type Command,
  type DraftOf,
  type EventDraft,
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
import type { AgentAdapter, AgentOutput } from './agent-adapter.ts'
import { type AgentLink, type CloseReason, openAgentLink } from './agent-link.ts'
import type { Clock, Ids } from './clock.ts'
import type { ConnectionSlots } from './connection-slots.ts'
import { decide } from './decide.ts'
import { endOpenCalls, endTurn, writeOpenText } from './end-turn.ts'
import { hashOf } from './hash.ts'
import type { Limits } from './limits.ts'
import { createPermissionBroker, type PermissionBroker } from './permission-broker.ts'
import { deltaOf, draftsOf, freshProgress, isDelta } from './record-output.ts'
import { recoveryPlan } from './recover.ts'
import { createSessionLog, type Plan, type SessionLog, type SessionLogOptions } from './session-log.ts'
import type { SessionStore } from './session-store.ts'

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
  /** Copies the log of a session into a new one; the same child twice is one copy. */
  readonly fork: (parent: SessionState, child: string, title: string | undefined) => Promise<void>
  readonly problem: (error: unknown, doing: string) => void
}

/**
 * One session while it is in memory. Takes commands and an agent's outputs, records both, and only then acts on them.
 * What to do next always follows from the recorded state, so that a restart goes on where this one was.
 */
export class LiveSession {
  readonly log: SessionLog
  readonly #options: LiveSessionOptions
  readonly #broker: PermissionBroker
  readonly #inFlight = new Map<string, { hash: string; receipt: Promise<Receipt> }>()
  #link: AgentLink | undefined
  #turnLink: AgentLink | undefined
  #starting: AbortController | undefined
  #begun: string | undefined
  #progress = freshProgress()
  #steers: Prompt[] = []
  #driving: Promise<void> | undefined
  #driveAgain = false
  #stopping = false
  #idleSince: number | undefined
  #timers = new Map<'idle' | 'force' | 'park' | 'expire', () => void>()
  #activity = 'idle'

  constructor(options: LiveSessionOptions) {
    this.#options = options
    this.log = createSessionLog({
      store: options.store,
      clock: options.clock,
      checkpointMs: options.limits.checkpointMs,
      state: options.state,
      announced: (...batch) => this.#announced(...batch),
      problem: options.problem,
    })
    this.#broker = createPermissionBroker({
      log: this.log,
      ids: options.ids,
      rules: options.rules,
      persist: (plan) => this.#persist(plan),
    })
  }

  get state(): SessionState {
    return this.log.state
  }

  /** Nothing runs, nobody reads: it can be dropped from memory and loaded again when it is wanted. */
  get quiet(): boolean {
    return (
      !this.#link &&
      !this.#starting &&
      !this.state.turn &&
      !this.log.feed.hasReaders &&
      this.#inFlight.size === 0 &&
      !this.#driving
    )
  }

  async command(command: Command): Promise<Receipt> {
    const hash = hashOf(command)
    const underWay = this.#inFlight.get(command.commandId)
    if (underWay) return sameCommand(underWay.hash, hash, command) ?? underWay.receipt
    const receipt = this.#execute(command, hash)
    this.#inFlight.set(command.commandId, { hash, receipt })
    try {
      return await receipt
    } finally {
      this.#inFlight.delete(command.commandId)
    }
  }

  async #execute(command: Command, hash: string): Promise<Receipt> {
    const { store, clock, ids, limits } = this.#options
    const { commandId } = command
    const earlier = await store.receipt(this.log.sessionId, commandId)
    if (earlier) return sameCommand(earlier.hash, hash, command) ?? earlier.receipt
    const context = { now: clock.now(), ids, agent: this.#adapter(), maxQueue: limits.maxQueue }
    if (command.type === 'session.fork') {
      const { into } = forkOf(decide(this.state, command, context).drafts)
      await this.#options.fork(this.state, into, command.title)
    }
    let receipt: Receipt = { commandId, seq: 0 }
    await this.log.transact((state) => {
      const { reply, ...decision } = decide(state, command, { ...context, now: clock.now() })
      return {
        ...decision,
        receipt: (seq) => {
          receipt = { commandId, seq, ...reply }
          return { commandId, hash, receipt }
        },
      }
    })
    if (command.type === 'session.close') await this.#disconnect('closed')
    return receipt
  }

  #adapter(): AgentAdapter {
    const { adapter, state } = this.#options
    if (adapter) return adapter
    throw new ParleyError('agent_not_found', `The agent "${state.agent}" of this session is not known here.`)
  }

  /** Looks at what a restart left behind, then goes on with what can go on. */
  async recover(): Promise<void> {
    await this.#persist((state) => recoveryPlan(state, this.#options.clock.now()))
    this.#drive()
    this.#watchRequests()
  }

  /** For a stop of the host: parks what waits for a person, ends what works, keeps what has not begun. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#starting?.abort()
    const { turn, requests } = this.state
    if (turn && !turn.parked && this.#link) {
      if (requests.length > 0 && this.#canResume()) await this.#park('server-stopped')
      else await this.#endBeforeStop()
    }
    await this.#disconnect('server-stopped')
    await this.#driving
    for (const stop of this.#timers.values()) stop()
    await this.log.close('closed')
  }

  async #endBeforeStop(): Promise<void> {
    await this.#persist(({ turn }) => ({
      drafts:
        turn && !turn.interrupted ? [{ type: 'turn.interrupted', turnId: turn.turnId, by: 'host' }] : [],
    }))
    await this.#waitFor(() => this.state.turn === undefined || !this.#link, this.#options.limits.stopGraceMs)
    await this.#endTurn({ outcome: 'cancelled', stopReason: 'server_stopped' })
  }

  /** For a deletion: nothing more is recorded. */
  async destroy(): Promise<void> {
    this.#stopping = true
    this.#starting?.abort()
    await this.log.close('deleted')
    await this.#disconnect('closed')
    for (const stop of this.#timers.values()) stop()
  }

  // What follows from what was recorded

  #announced(...[events, state, granted]: Parameters<SessionLogOptions['announced']>): void {
    for (const event of events) this.#react(event)
    this.#broker.settle(events)
    this.#options.announced(events, state, granted)
    this.#tellActivity()
    this.#watchRequests()
    this.#changed()
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
        this.#begun = undefined
        this.#turnLink = undefined
        return
      case 'turn.ended':
        this.#stopTimer('force')
        this.#begun = undefined
        this.#turnLink = undefined
        this.#steers = []
        this.#starting?.abort()
        return
      case 'prompt.submitted':
        if (event.turnId) this.#steer(event)
        return
      case 'session.configured':
        if (event.requested)
          this.#quietly(this.#link?.connection.configure(this.state.requested), 'configure the agent')
        return
    }
  }

  #steer({ promptId, parts, delivery, at }: SessionEvent & { type: 'prompt.submitted' }): void {
    const prompt: Prompt = { promptId, parts, delivery, at }
    if (!this.#link || this.#starting) this.#steers.push(prompt)
    else this.#quietly(this.#link.connection.send({ type: 'prompt', prompt }), 'steer the agent')
  }

  #interrupt(): void {
    if (this.#starting || !this.#link) {
      this.#starting?.abort()
      return
    }
    this.#quietly(this.#link.connection.interrupt(), 'interrupt the agent')
    this.#timer('force', this.#options.limits.cancelGraceMs, () => void this.#disconnect('closed'))
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
        if (this.#driveAgain) {
          this.#driveAgain = false
          this.#drive()
        }
      })
  }

  async #driveOn(): Promise<void> {
    await Promise.resolve()
    const { turn, queue, requests, archived } = this.state
    if (this.#stopping) return
    if (!turn) {
      if (queue.length > 0 && !archived) await this.#startNext()
      else this.#idle(true)
      return
    }
    if (turn.turnId === this.#begun) return
    if (!turn.parked) {
      this.#begun = turn.turnId
      await this.#begin(turn, async () => true)
    } else if (requests.length === 0) {
      this.#begun = turn.turnId
      await this.#begin(turn, () => this.#resume(turn))
    }
  }

  async #startNext(): Promise<void> {
    await this.#persist(({ turn, queue }) => {
      const next = queue[0]
      if (turn || !next) return { drafts: [] }
      return { drafts: [{ type: 'turn.started', turnId: this.#options.ids('trn'), promptId: next.promptId }] }
    })
  }

  // The turn and its agent

  async #begin(turn: OpenTurn, ready: () => Promise<boolean>): Promise<void> {
    const starting = new AbortController()
    this.#starting = starting
    const isOpen = () => this.state.turn?.turnId === turn.turnId && !this.state.turn.interrupted
    try {
      if (turn.parked && !this.#canResume()) throw cannotResume(this.#adapter())
      if (this.#link?.closing) await this.#link.close(this.#link.closing)
      const link = this.#link ?? (await this.#connect(starting.signal))
      if (!isOpen() || this.#stopping || !(await ready())) throw startCancelled()
      this.#turnLink = link
      await link.connection.send({ type: turn.parked ? 'continue' : 'prompt', prompt: turn.prompt })
      this.#starting = undefined
      for (const prompt of this.#steers.splice(0)) await link.connection.send({ type: 'prompt', prompt })
      if (!isOpen() && this.state.turn) this.#interrupt()
    } catch (error) {
      this.#starting = undefined
      if (this.#stopping) return
      const cancelled = !isOpen()
      await this.#endTurn(
        cancelled
          ? { outcome: 'cancelled', stopReason: 'cancelled' }
          : { outcome: 'failed', stopReason: 'agent_failed', error: errorInfoOf(error) },
        turn.turnId,
      )
      if (!(error instanceof ParleyError)) this.#options.problem(error, 'start a turn')
    }
  }

  /** The parked turn goes on: its old calls are over, the agent will ask anew and get the carried answers. */
  async #resume(turn: OpenTurn): Promise<boolean> {
    this.#progress = freshProgress()
    const events = await this.#persist((state) => {
      if (state.turn?.turnId !== turn.turnId || !state.turn.parked) return { drafts: [] }
      const text = 'The agent was restarted; it asks for this call again.'
      return {
        drafts: [...endOpenCalls(state, 'cancelled', text), { type: 'turn.resumed', turnId: turn.turnId }],
      }
    })
    return events !== undefined && events.length > 0
  }

  async #connect(signal: AbortSignal): Promise<AgentLink> {
    const { clock, ids, limits, slots } = this.#options
    const adapter = this.#adapter()
    const release = await slots.acquire(
      { idleSince: () => this.#idleSince, yieldSlot: () => void this.#disconnect('idle') },
      signal,
    )
    const timeout = new AbortController()
    const stopTimer = clock.after(limits.connectMs, () => timeout.abort())
    const stopSignal = AbortSignal.any([signal, timeout.signal])
    const connectionId = ids('con')
    try {
      const { state } = this
      const connecting = adapter.connect({
        sessionId: state.id,
        connectionId,
        cwd: state.cwd,
        settings: state.requested,
        ...(state.mcpServers && { mcpServers: state.mcpServers }),
        ...this.#resumption(),
        person: this.#broker.person,
        signal: stopSignal,
      })
      const connection = await unlessAborted(connecting, stopSignal, (late) =>
        this.#quietly(late.close(), 'close the agent'),
      )
      await this.#persist(() => ({ drafts: [{ type: 'agent.connected', connectionId, cwd: state.cwd }] }))
      this.#link = openAgentLink({
        connectionId,
        connection,
        clock,
        take: (link, output) => this.#take(link, output),
        lost: async (link, last, error) => {
          release()
          await this.#lost(link, last, error)
        },
      })
      return this.#link
    } catch (error) {
      release()
      const failure = timeout.signal.aborted ? connectTimeout(adapter, limits.connectMs) : error
      if (!signal.aborted) {
        const drafts: EventDraft[] = [
          { type: 'agent.disconnected', reason: 'failed-to-start', error: errorInfoOf(failure) },
        ]
        await this.#persist(() => ({ drafts }))
      }
      throw failure
    } finally {
      stopTimer()
    }
  }

  #resumption() {
    const { connection, forkPending } = this.state
    const { adapter } = this.#options
    if (!adapter?.capabilities.resume || !connection?.agentSessionId) return {}
    return { resume: { agentSessionId: connection.agentSessionId, ...(forkPending && { fork: true }) } }
  }

  #canResume(): boolean {
    return (
      this.#options.adapter?.capabilities.resume === true &&
      this.state.connection?.agentSessionId !== undefined
    )
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

  async #record(link: AgentLink, output: Parameters<typeof draftsOf>[0]): Promise<void> {
    const { clock } = this.#options
    const progress = this.#progress
    let commit: () => void = () => undefined
    await this.#persist((state) => {
      const step = draftsOf(output, state, progress, { now: clock.now(), connectionId: link.connectionId })
      commit = step.commit
      return { drafts: step.drafts }
    })
    commit()
  }

  /** The connection is over. Its turn is parked if a person is asked and the agent can resume; else it ends. */
  async #lost(
    link: AgentLink,
    last: Omit<DraftOf<'agent.disconnected'>, 'turnId'> | undefined,
    error: unknown,
  ): Promise<void> {
    if (this.#link === link) this.#link = undefined
    if (error !== undefined) this.#options.problem(error, 'read the agent')
    const canResume = this.#canResume()
    await this.#persist((state) => {
      const { turn, requests } = state
      const reason = link.closing ?? last?.reason ?? (turn ? 'crashed' : 'ended')
      const disconnected: EventDraft = { type: 'agent.disconnected', ...last, reason }
      if (!turn || turn.parked || this.#turnLink !== link) return { drafts: [disconnected] }
      if (requests.length > 0 && canResume && !turn.interrupted && !link.closing) {
        const parked: EventDraft = { type: 'turn.parked', turnId: turn.turnId, reason: 'agent-lost' }
        return { drafts: [disconnected, ...writeOpenText(state), parked] }
      }
      return { drafts: [disconnected, ...endTurn(state, lostEnd(turn, last), this.#options.clock.now())] }
    })
    this.#broker.abandon()
  }

  async #disconnect(reason: CloseReason): Promise<void> {
    this.#stopTimer('idle')
    await this.#link?.close(reason)
  }

  async #endTurn(end: Omit<TurnEnd, 'durationMs'>, turnId = this.state.turn?.turnId): Promise<void> {
    await this.#persist((state) => ({
      drafts:
        state.turn && state.turn.turnId === turnId ? endTurn(state, end, this.#options.clock.now()) : [],
    }))
  }

  // Waiting

  async #park(reason: ParkReason): Promise<void> {
    const link = this.#link
    const events = await this.#persist((state) => {
      const { turn, requests } = state
      if (!turn || turn.parked || turn.interrupted || requests.length === 0) return { drafts: [] }
      return { drafts: [...writeOpenText(state), { type: 'turn.parked', turnId: turn.turnId, reason }] }
    })
    if (!events || events.length === 0) return
    await link?.close('parked')
  }

  /** A request that waits long costs no process; one that has a deadline expires. Both count from when it was asked. */
  #watchRequests(): void {
    const { parkAfterMs, expireAfterMs } = this.#options.limits
    const { requests, turn } = this.state
    const first = requests[0]
    this.#stopTimer('park')
    this.#stopTimer('expire')
    if (!first || this.#stopping) return
    const waited = this.#options.clock.now() - first.at
    if (turn && !turn.parked && this.#link && this.#canResume()) {
      this.#timer('park', Math.max(0, parkAfterMs - waited), () => void this.#park('waited-long'))
    }
    if (expireAfterMs > 0) {
      this.#timer(
        'expire',
        Math.max(0, expireAfterMs - waited),
        () => void this.#persist(() => this.#expiry()),
      )
    }
  }

  #expiry(): Plan {
    const first = this.state.requests[0]
    if (!first) return { drafts: [] }
    const { type, turnId, requestId } = first
    const resolved = {
      ...(turnId && { turnId }),
      requestId,
      outcome: 'expired' as const,
      by: 'timeout' as const,
    }
    return {
      drafts: [{ type: type === 'permission' ? 'permission.resolved' : 'question.resolved', ...resolved }],
    }
  }

  #idle(idle: boolean): void {
    const { clock, limits, slots } = this.#options
    if (!idle || !this.#link) {
      this.#idleSince = undefined
      this.#stopTimer('idle')
      return
    }
    if (this.#idleSince !== undefined) return
    this.#idleSince = clock.now()
    this.#timer('idle', limits.idleCloseMs, () => void this.#disconnect('idle'))
    slots.becameIdle()
  }

  #tellActivity(): void {
    const { status, turn } = this.state
    const activity = status === 'idle' ? 'idle' : status === 'working' ? 'active' : 'asking'
    if (activity === this.#activity) return
    this.#activity = activity
    void this.log.stream({ type: 'activity.changed', activity, ...(turn && { turnId: turn.turnId }) })
  }

  /** Records, trying again while the store fails: what an agent did must not be lost. Undefined once the log is closed. */
  async #persist(plan: (state: SessionState) => Plan): Promise<SessionEvent[] | undefined> {
    const { clock, problem } = this.#options
    for (let wait = 50; ; wait = Math.min(wait * 2, 5_000)) {
      try {
        return await this.log.transact(plan)
      } catch (error) {
        if (this.log.closed) return undefined
        problem(error, 'record what the agent did; trying again')
        await new Promise<void>((resolve) => clock.after(wait, resolve))
      }
    }
  }

  #waiters = new Set<() => void>()

  #changed(): void {
    for (const check of this.#waiters) check()
  }

  #waitFor(fact: () => boolean, ms: number): Promise<void> {
    if (fact()) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        stop()
        this.#waiters.delete(check)
        resolve()
      }
      const check = () => fact() && done()
      const stop = this.#options.clock.after(ms, done)
      this.#waiters.add(check)
    })
  }

  #timer(name: 'idle' | 'force' | 'park' | 'expire', ms: number, call: () => void): void {
    this.#stopTimer(name)
    this.#timers.set(name, this.#options.clock.after(ms, call))
  }

  #stopTimer(name: 'idle' | 'force' | 'park' | 'expire'): void {
    this.#timers.get(name)?.()
    this.#timers.delete(name)
  }

  #quietly(work: Promise<void> | undefined, doing: string): void {
    work?.catch((error: unknown) => this.#options.problem(error, doing))
  }
}

function forkOf(drafts: readonly EventDraft[]): DraftOf<'session.forked'> {
  const forked = drafts.find((draft) => draft.type === 'session.forked')
  if (!forked) throw new ParleyError('internal_error', 'A fork without a new session.')
  return forked
}

/** The promise, or a rejection as soon as `signal` aborts; what comes too late is handed to `discard`. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal, discard: (late: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(startCancelled())
      work.then(discard, () => undefined)
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** The same id for another command is a mistake; for the same one it is a repeat, and gives nothing to throw. */
function sameCommand(before: string, now: string, command: Command): undefined {
  if (before === now) return undefined
  throw new ParleyError(
    'conflict',
    `The commandId ${command.commandId} was used for another command. Choose a new one.`,
  )
}

function lostEnd(
  turn: OpenTurn,
  last: { error?: TurnEnd['error'] } | undefined,
): Omit<TurnEnd, 'durationMs'> {
  if (turn.interrupted) return { outcome: 'cancelled', stopReason: 'cancelled' }
  const error = last?.error ?? {
    code: 'agent_failed' as const,
    message: "The agent's process ended in the middle of the turn. The next prompt starts it again.",
  }
  return { outcome: 'failed', stopReason: 'agent_lost', error }
}

function startCancelled(): ParleyError {
  return new ParleyError('cancelled', 'The turn was cancelled before it began.')
}

function cannotResume(adapter: AgentAdapter): ParleyError {
  return new ParleyError(
    'not_supported',
    `${adapter.name} cannot go on with an interrupted turn. Send the prompt again.`,
  )
}

function connectTimeout(adapter: AgentAdapter, ms: number): ParleyError {
  return new ParleyError(
    'agent_failed',
    `${adapter.name} did not start within ${ms / 1000} s. See "parley doctor".`,
  )
}
