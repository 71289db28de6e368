import {
  type Command,
  capabilities,
  type DraftOf,
  errorInfoOf,
  messageOf,
  type OpenTurn,
  ParleyError,
  type PermissionRule,
  type Prompt,
  type RewindPreview,
  runningInBackground,
  type SessionEvent,
  type SessionState,
  type TurnCause,
  type TurnEnd,
} from '@parley/protocol'
import { type AcceptedSteers, createAcceptedSteers } from './accepted-steers.ts'
import {
  type AgentAdapter,
  type AgentConnection,
  type AgentMessage,
  type AgentOutput,
  askAgain,
  type HostTools,
} from './agent-adapter.ts'
import type { AgentLink, CloseReason } from './agent-link.ts'
import type { Clock, Ids } from './clock.ts'
import { connectAgent } from './connect-agent.ts'
import type { ConnectionSlots, SlotHolder } from './connection-slots.ts'
import type { DecideContext } from './decide.ts'
import { badEnd, endTurn } from './end-turn.ts'
import type { EnvironmentOf } from './environment.ts'
import type { Trusts } from './folder-trust.ts'
import { type HostToolSet, strangersAmong } from './host-tool.ts'
import { createHostToolDesk, type HostToolDesk, type HostToolEnv } from './host-tool-desk.ts'
import { createPermissionBroker, type PermissionBroker } from './permission-broker.ts'
import type { Persist } from './persist.ts'
import {
  beginsOwnTurn,
  deltaOf,
  draftsOf,
  freshProgress,
  isBeside,
  isDelta,
  type TurnProgress,
} from './record-output.ts'
import { Rejoin } from './rejoin.ts'
import type { SessionLog } from './session-log.ts'
import type { SpareAgents } from './spare-agents.ts'
import { startConditions } from './start-conditions.ts'
import * as plans from './turn-plans.ts'

export type SessionAgentOptions = {
  /** Absent if the agent of a stored session is no longer known here: the session can be read, but not driven. */
  readonly adapter: AgentAdapter | undefined
  readonly log: SessionLog
  readonly persist: Persist
  readonly clock: Clock
  readonly ids: Ids
  readonly rules: () => readonly PermissionRule[]
  readonly trusts: Trusts
  readonly environment: EnvironmentOf
  readonly hostTools: HostToolSet
  readonly toolEnv: HostToolEnv
  readonly temporaryFolder: (sessionId: string) => Promise<string>
  readonly connectMs: number
  readonly slots: ConnectionSlots
  readonly spares: SpareAgents
  readonly holder: SlotHolder
  readonly stopping: () => boolean
  readonly problem: (error: unknown, doing: string) => void
}

/**
 * The agent of one live session: starts it, sends to it, records its output, and notices its end. The live session
 * decides what it should do; the broker decides what it may do.
 */
export class SessionAgent {
  readonly #options: SessionAgentOptions
  readonly #broker: PermissionBroker
  readonly #desk: HostToolDesk
  readonly #rejoin: Rejoin
  #link: AgentLink | undefined
  /** The conditions that the link was started under. */
  #startedUnder = ''
  #hostToolsOnly = false
  /** The link that the open turn was sent to. */
  #turnLink: AgentLink | undefined
  #starting: AbortController | undefined
  /** A start without a turn. The first turn waits for it. */
  #ahead: { readonly abort: AbortController; readonly over: Promise<unknown> } | undefined
  #progress = freshProgress()
  /** The progress of output that belongs to no turn. */
  #besideProgress = freshProgress()
  #steers: Prompt[] = []
  readonly #accepted: AcceptedSteers
  /** The agent's record may contain more than the log, although the agent is connected. */
  #spokenElsewhere = false
  #startFailure: { readonly error: unknown } | undefined
  #outbound: Promise<void> = Promise.resolve()

  constructor(options: SessionAgentOptions) {
    this.#options = options
    this.#broker = createPermissionBroker(options)
    this.#accepted = createAcceptedSteers({
      state: () => this.#state,
      take: (promptId) => this.#taken(promptId),
    })
    this.#rejoin = new Rejoin({ ...options, state: () => this.#state })
    this.#desk = createHostToolDesk({
      tools: options.hostTools,
      env: options.toolEnv,
      temporaryFolder: options.temporaryFolder,
      state: () => this.#state,
      person: this.#broker.person,
      clock: options.clock,
      interrupt: () => options.persist(plans.interruptByHost),
    })
  }

  get #state(): SessionState {
    return this.#options.log.state
  }

  get connected(): boolean {
    return this.#link !== undefined
  }

  /**
   * The agent was started under conditions that no longer hold: another trust, other options, servers or variables.
   */
  get isOutdated(): boolean {
    const { requested: settings, mcpServers, cwd } = this.#state
    const { trusts, environment, adapter } = this.#options
    const env = adapter?.capabilities.environment ? environment(this.#state) : undefined
    const now = { settings, trusted: trusts(cwd), ...(mcpServers && { mcpServers }), ...(env && { env }) }
    return this.connected && this.#startedUnder !== startConditions(this.#adapter(), now, this.#offered())
  }

  #offered(): HostTools | undefined {
    return this.#adapter().capabilities.hostTools ? this.#desk.offered() : undefined
  }

  get starting(): boolean {
    return this.#starting !== undefined || this.#ahead !== undefined
  }

  /** Starts a slow agent before its first prompt, if a slot is free. */
  async startAhead(): Promise<void> {
    const { adapter, slots } = this.#options
    if (!adapter?.startsAhead || this.connected || this.starting || !slots.hasRoom) return
    await this.#connectAhead().catch(() => undefined)
  }

  /** What a rewind to this prompt would change. An agent that is not connected is started for it. */
  async previewRewind(promptId: string): Promise<RewindPreview> {
    while (this.#ahead) await this.#ahead.over
    if (!this.#link && this.#rejoin.isDue) this.#spokenElsewhere = true
    const { connection } = this.#link ?? (await this.#connectAhead())
    if (connection.previewRewind) return connection.previewRewind(promptId).catch(notRewindable)
    throw new ParleyError('not_supported', `${this.#adapter().name} cannot say what a rewind would change.`)
  }

  /** Starts the agent without a turn. A turn that starts meanwhile waits for it. */
  async #connectAhead(): Promise<AgentLink> {
    const abort = new AbortController()
    const link = this.#connect(abort.signal)
    this.#ahead = { abort, over: link.catch(() => undefined) }
    try {
      return await link
    } finally {
      this.#ahead = undefined
    }
  }

  /** Another process of the agent can continue the conversation. */
  get canResume(): boolean {
    const { adapter } = this.#options
    return adapter?.capabilities.resume === true && this.#state.connection?.agentSessionId !== undefined
  }

  /** The agent's record must be read and added to the log before the next turn. */
  get mustRejoin(): boolean {
    return (!this.connected || this.#spokenElsewhere) && this.#rejoin.isDue
  }

  /** Asks the connected agent, between turns, whether somebody continued the conversation elsewhere. */
  async listenElsewhere(): Promise<void> {
    const link = this.#link
    if (!link || link.closing || this.#state.turn || this.#spokenElsewhere) return
    const heard = await link.connection.saidElsewhere?.().catch((error: unknown) => {
      this.#options.problem(error, 'ask the agent what was said elsewhere')
      return undefined
    })
    if ((heard ?? 'nothing') === 'nothing' || this.#link !== link || this.#state.turn) return
    this.#spokenElsewhere = true
    this.#rejoin.forget()
    if (heard === 'unknown') await link.close('restarted')
  }

  /** Adds to the log what was said elsewhere, if that is due. */
  async rejoin(): Promise<void> {
    await this.listenElsewhere()
    while (this.#ahead) await this.#ahead.over
    if (!this.mustRejoin) return
    this.#spokenElsewhere = false
    const wasReleased = this.#state.released !== undefined
    if (!this.connected && this.#adapter().capabilities.rejoin) await this.#startForRejoin()
    if (this.#startFailure !== undefined) return
    const isDone = await this.#rejoin.run({ wasReleased })
    if (!isDone) this.#spokenElsewhere = true
  }

  /**
   * With the agent connected, its record is read without a second start. If the start fails, the turn that follows
   * fails with its error.
   */
  async #startForRejoin(): Promise<void> {
    this.#startFailure = undefined
    await this.#connectAhead().catch((error: unknown) => {
      this.#startFailure = { error }
    })
  }

  /** Commands that only end something need no known agent, so that nothing hangs when the agent was removed. */
  forCommand({ type }: Command): DecideContext['agent'] {
    const ends = type === 'turn.cancel' || type === 'prompt.withdraw' || type === 'session.close'
    if (!ends || this.#options.adapter) return this.#adapter()
    return { name: this.#state.agent, capabilities: capabilities(), modes: [] }
  }

  #adapter(): AgentAdapter {
    const { adapter } = this.#options
    if (adapter) return adapter
    const message = `The agent "${this.#state.agent}" of this session is not known here.`
    throw new ParleyError('agent_not_found', message)
  }

  /** Reacts to recorded events, whoever recorded them. */
  hear(events: readonly SessionEvent[]): void {
    for (const event of events) {
      if (event.type === 'turn.started') this.#startOfTurn(event)
      if (event.type === 'turn.parked') this.#letGo()
      if (event.type === 'turn.ended') this.#endOfTurn()
      if (event.type === 'turn.interrupted') this.#desk.stop('turn')
      if (event.type === 'prompt.submitted' && event.turnId) this.#steer(event)
      if (event.type === 'session.configured' && event.requested) this.#configure()
    }
    this.#broker.settle(events)
  }

  /** A turn that the agent started or continues by itself is already at its link. */
  #startOfTurn({ cause }: SessionEvent & { type: 'turn.started' }): void {
    this.#progress = freshProgress()
    if (cause?.by === 'agent' || cause?.by === 'steer') this.#turnLink = this.#link
  }

  #letGo(): void {
    this.#broker.detach()
    this.#desk.stop('all')
    this.#turnLink = undefined
  }

  #endOfTurn(): void {
    this.#desk.stop('turn')
    this.#turnLink = undefined
    this.#steers = []
    this.#accepted.forget()
    this.#starting?.abort()
  }

  #configure(): void {
    this.#quietly(this.#link?.connection.configure(this.#state.requested), 'configure the agent')
  }

  #steer({ promptId, parts, delivery, at }: SessionEvent & { type: 'prompt.submitted' }): void {
    const prompt: Prompt = { promptId, parts, delivery, at }
    if (!this.#turnLink) this.#steers.push(prompt)
    else this.#quietly(this.#sendSteer(this.#turnLink, prompt), 'steer the agent')
  }

  /** Takes back a steered prompt that the agent has not taken up. */
  async takeBack(promptId: string): Promise<boolean> {
    const unsent = this.#steers.length
    this.#steers = this.#steers.filter((prompt) => prompt.promptId !== promptId)
    if (this.#steers.length < unsent) return true
    return (await this.#turnLink?.connection.takeBack?.(promptId)) ?? false
  }

  async #sendSteer(link: AgentLink, prompt: Prompt): Promise<void> {
    const { turnId } = this.#state.turn ?? {}
    const isOpen = () => turnId !== undefined && this.#state.turn?.turnId === turnId
    const taken = await this.#send(link, { type: 'prompt', prompt }, isOpen)
    if (taken === 'pending' || this.#link !== link) return
    await this.#accepted.accept(prompt.promptId)
  }

  /** Stops one background task, or all of them. The agent reports their ends. */
  stopTasks(taskId: string | undefined): void {
    const link = this.#link
    for (const task of runningInBackground(this.#state)) {
      if (taskId !== undefined && task.taskId !== taskId) continue
      this.#quietly(link?.connection.stopTask?.(task.taskId), 'stop a background task')
    }
  }

  /**
   * Asks the agent to stop the turn. False if the agent has not received it and no start is pending: then the turn is
   * over.
   */
  interrupt(): boolean {
    const link = this.#turnLink
    if (link) this.#quietly(link.connection.interrupt(), 'interrupt the agent')
    else this.#starting?.abort()
    return link !== undefined || this.#starting !== undefined
  }

  /** Resolves when a start without a turn has been cancelled; a turn's own start ends with the turn. */
  async abortStart(): Promise<void> {
    this.#starting?.abort()
    this.#ahead?.abort.abort()
    await this.#ahead?.over
  }

  /**
   * Gives the turn to the agent, which is started if necessary; a parked turn is resumed. If anything fails, the turn
   * ends.
   */
  async begin(turn: OpenTurn): Promise<void> {
    const { stopping, problem, clock } = this.#options
    const starting = new AbortController()
    this.#starting = starting
    const isOpen = () => this.#state.turn?.turnId === turn.turnId && !this.#state.turn.interrupted
    try {
      const link = await this.#linkFor(turn, starting.signal)
      const ready = isOpen() && !stopping() && (!turn.parked || (await this.#resume(turn)))
      if (!ready) throw new ParleyError('cancelled', 'The turn was cancelled before it began.')
      if (this.#link !== link || link.closing) throw lostAtOnce(this.#adapter())
      await this.#hand(turn, link)
      this.#starting = undefined
      if (!isOpen() && this.#state.turn?.turnId === turn.turnId) this.interrupt()
    } catch (error) {
      this.#starting = undefined
      if (stopping()) return
      if (!(error instanceof ParleyError)) problem(error, 'start a turn')
      const end = isOpen() ? failedToStart(error) : cancelled
      await this.#options.persist((state) => plans.endThisTurn(state, turn.turnId, end, clock.now()))
    }
  }

  async #linkFor(turn: OpenTurn, signal: AbortSignal): Promise<AgentLink> {
    if (turn.parked && !this.canResume) throw cannotResume(this.#adapter())
    // While a turn is open, no other can be recorded: the record is read before the next turn.
    if (turn.parked && this.#rejoin.isDue) this.#spokenElsewhere = true
    const giveUp = () => this.#ahead?.abort.abort()
    signal.addEventListener('abort', giveUp, { once: true })
    await this.#ahead?.over
    signal.removeEventListener('abort', giveUp)
    if (this.#link?.closing || this.isOutdated) await this.#link?.close(this.#link.closing ?? 'restarted')
    const failure = this.#startFailure
    this.#startFailure = undefined
    if (failure && !this.#link) throw failure.error
    return this.#link ?? (await this.#connect(signal))
  }

  #connect(signal: AbortSignal): Promise<AgentLink> {
    const { ids } = this.#options
    let offered: HostTools | undefined
    return connectAgent({
      ...this.#options,
      adapter: this.#adapter(),
      state: () => this.#state,
      connectionId: ids('con'),
      person: this.#desk.person,
      hostTools: () => {
        offered = this.#offered()
        return offered
      },
      signal,
      opened: (link, startedWith) => {
        this.#link = link
        this.#startedUnder = startConditions(this.#adapter(), startedWith, offered)
        this.#hostToolsOnly = startedWith.settings.options?.hostToolsOnly === true
        this.#outbound = Promise.resolve()
        this.#besideProgress = freshProgress()
        if (this.#state.requested !== startedWith.settings) this.#configure()
      },
      take: (link, output) => this.#take(link, output),
      lost: (link, last, error) => this.#lost(link, last, error),
    })
  }

  async #resume(turn: OpenTurn): Promise<boolean> {
    this.#progress = freshProgress()
    const events = await this.#options.persist((state) => plans.resume(state, turn.turnId))
    return events !== undefined && events.length > 0
  }

  /** Sends the prompt first, then the prompts that were steered meanwhile. */
  async #hand(turn: OpenTurn, link: AgentLink): Promise<void> {
    this.#turnLink = link
    const prompt: Prompt = { ...(turn.prompt ?? goOn(turn)), delivery: 'queue' }
    const sent = this.#send(link, { type: turn.parked ? 'continue' : 'prompt', prompt })
    for (const steer of this.#steers.splice(0)) {
      this.#quietly(this.#sendSteer(link, steer), 'steer the agent')
    }
    await sent
  }

  /**
   * Sends messages in order, one after another; stops waiting when the agent has ended. A message that is no longer wanted
   * when it is its turn is not sent.
   */
  #send(link: AgentLink, message: AgentMessage, isWanted = () => true): ReturnType<AgentConnection['send']> {
    const sent = this.#outbound.then(() =>
      isWanted() ? Promise.race([link.connection.send(message), link.ended]) : 'pending',
    )
    this.#outbound = sent.then(
      () => undefined,
      () => undefined,
    )
    return sent
  }

  /** Returns undefined if it is done at once, so that a flood of deltas allocates no promises. */
  #take(link: AgentLink, output: AgentOutput): Promise<void> | undefined {
    const { log } = this.#options
    if (output.type === 'native') {
      log.native(output.message)
      return
    }
    const taken = this.#accepted.heard(output)
    if (taken) return taken.then(() => this.#take(link, output))
    if (output.type === 'turn.started') return this.#beginOwn(output.cause)
    if (output.type === 'prompt.taken') return this.#taken(output.promptId)
    if (beginsOwnTurn(output, this.#state)) return this.#beginOwn().then(() => this.#take(link, output))
    if (isDelta(output)) {
      const delta = deltaOf(output, this.#state, this.#progressFor(output))
      const wait = delta && log.stream(delta)
      return wait?.then(() => this.#take(link, output))
    }
    return this.#record(link, this.#desk.withResult(output))
  }

  #progressFor(output: AgentOutput): TurnProgress {
    return isBeside(output, this.#state) ? this.#besideProgress : this.#progress
  }

  async #beginOwn(cause?: TurnCause): Promise<void> {
    await this.#options.persist((state) => plans.startOwn(state, this.#options.ids('trn'), cause))
  }

  async #taken(promptId: string): Promise<void> {
    await this.#options.persist((state) => plans.take(state, promptId))
  }

  async #record(link: AgentLink, output: Parameters<typeof draftsOf>[0]): Promise<void> {
    const { connectionId } = link
    const { persist, clock, ids } = this.#options
    const progress = this.#progressFor(output)
    let commit: () => void = () => undefined
    const recorded = await persist((state) => {
      const step = draftsOf(output, state, progress, { now: clock.now(), connectionId, ids })
      commit = step.commit
      return { drafts: step.drafts }
    })
    if (recorded) {
      commit()
      return this.#checkTools(link, output)
    }
    const reason = 'could not be recorded as it was'
    await persist((state) => ({
      drafts: [
        { type: 'agent.unrecognised', native: { type: output.type }, reason },
        ...(output.type === 'turn.ended' ? endTurn(state, badEnd, clock.now()) : []),
      ],
    }))
  }

  /** In a session with hostToolsOnly: checks that the agent reports no tools but those of the host. */
  async #checkTools(link: AgentLink, output: AgentOutput): Promise<void> {
    if (!this.#hostToolsOnly || output.type !== 'agent.connected') return
    const { persist, clock, hostTools } = this.#options
    const strangers = strangersAmong(output.tools ?? [], hostTools)
    if (strangers.length === 0) return
    await persist((state) => plans.endForTools(state, strangers, clock.now()))
    void link.close('closed')
  }

  async #lost(
    link: AgentLink,
    last: Omit<DraftOf<'agent.disconnected'>, 'turnId'> | undefined,
    error: unknown,
  ): Promise<void> {
    const { persist, clock, problem } = this.#options
    if (this.#link === link) this.#link = undefined
    this.#accepted.forget()
    this.#rejoin.forget()
    if (error !== undefined) problem(error, 'read the agent')
    const hadTurn = this.#turnLink === link
    const how = { closing: link.closing, last, hadTurn, canResume: this.canResume, now: clock.now() }
    await persist((state) => plans.loseAgent(state, how))
    this.#broker.abandon()
    this.#desk.stop('all')
  }

  async disconnect(reason: CloseReason): Promise<void> {
    await this.#link?.close(reason)
  }

  #quietly(work: Promise<unknown> | undefined, doing: string): void {
    work?.catch((error: unknown) => this.#options.problem(error, doing))
  }
}

/** A turn that the agent started by itself has no prompt that could be sent again. */
function goOn({ turnId, startedAt }: OpenTurn): Prompt {
  return {
    promptId: turnId,
    parts: [{ type: 'text', text: askAgain }],
    delivery: 'queue',
    at: startedAt,
  }
}

const cancelled = { outcome: 'cancelled', stopReason: 'cancelled' } as const

function failedToStart(error: unknown): Omit<TurnEnd, 'durationMs'> {
  return { outcome: 'failed', stopReason: 'agent_failed', error: errorInfoOf(error) }
}

function notRewindable(error: unknown): never {
  throw new ParleyError('conflict', `The files cannot be restored to that prompt: ${messageOf(error)}`)
}

function cannotResume(adapter: AgentAdapter): ParleyError {
  const message = `${adapter.name} cannot go on with an interrupted turn. Send the prompt again.`
  return new ParleyError('not_supported', message)
}

function lostAtOnce(adapter: AgentAdapter): ParleyError {
  const message = `${adapter.name} ended as soon as it was started. Send the prompt again.`
  return new ParleyError('agent_failed', message)
}
