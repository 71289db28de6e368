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
  /** Absent when the agent of a stored session is no longer known here: it can be read, not driven. */
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
 * The agent of one live session: starts it, speaks to it, records what it says, and notices when it is gone. What it
 * should do is the live session's to say; what may be done is the broker's.
 */
export class SessionAgent {
  readonly #options: SessionAgentOptions
  readonly #broker: PermissionBroker
  readonly #desk: HostToolDesk
  readonly #rejoin: Rejoin
  #link: AgentLink | undefined
  /** What the link was started under. */
  #startedUnder = ''
  #hostToolsOnly = false
  /** The link that the open turn was sent to. */
  #turnLink: AgentLink | undefined
  #starting: AbortController | undefined
  /** A start before there is anything to do. The first turn waits for it. */
  #ahead: { readonly abort: AbortController; readonly over: Promise<unknown> } | undefined
  #progress = freshProgress()
  /** Of what belongs to no turn. */
  #besideProgress = freshProgress()
  #steers: Prompt[] = []
  readonly #accepted: AcceptedSteers
  /** There may be more in the agent's record than in the log, although the agent is there. */
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

  /** It was started under conditions that hold no longer: another trust, other options, servers or variables. */
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

  /** Starts an agent that takes long to start before its first prompt, if nobody has to give way for it. */
  async startAhead(): Promise<void> {
    const { adapter, slots } = this.#options
    if (!adapter?.startsAhead || this.connected || this.starting || !slots.hasRoom) return
    await this.#connectAhead().catch(() => undefined)
  }

  /** What a rewind to this prompt would change. An agent that is not there is started for it. */
  async previewRewind(promptId: string): Promise<RewindPreview> {
    while (this.#ahead) await this.#ahead.over
    if (!this.#link && this.#rejoin.isDue) this.#spokenElsewhere = true
    const { connection } = this.#link ?? (await this.#connectAhead())
    if (connection.previewRewind) return connection.previewRewind(promptId).catch(notRewindable)
    throw new ParleyError('not_supported', `${this.#adapter().name} cannot say what a rewind would change.`)
  }

  /** Starts it without a turn. One that begins meanwhile waits for it. */
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

  /** The agent's conversation can be gone on with by another process. */
  get canResume(): boolean {
    const { adapter } = this.#options
    return adapter?.capabilities.resume === true && this.#state.connection?.agentSessionId !== undefined
  }

  /** What the agent's record holds beyond the log comes before the next turn. */
  get mustRejoin(): boolean {
    return (!this.connected || this.#spokenElsewhere) && this.#rejoin.isDue
  }

  /** Asks the live agent, between turns, whether somebody spoke in the conversation by another way. */
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
    if (this.#startFailure === undefined) await this.#rejoin.run({ wasReleased })
  }

  /** With the agent there, its record is read without a second start. A failure is that of the turn which follows. */
  async #startForRejoin(): Promise<void> {
    await this.#connectAhead().catch((error: unknown) => {
      this.#startFailure = { error }
    })
  }

  /** What only ends something needs no agent, so that nothing hangs when the agent is gone for good. */
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

  /** Reacts to what was recorded, whoever recorded it. */
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

  /** A turn that the agent began, or goes on with by itself, is at its link already. */
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
    const taken = await this.#send(link, { type: 'prompt', prompt })
    if (taken === 'pending' || this.#link !== link) return
    await this.#accepted.accept(prompt.promptId)
  }

  /** Stops a background task, or all. The agent reports their ends. */
  stopTasks(taskId: string | undefined): void {
    const link = this.#link
    for (const task of runningInBackground(this.#state)) {
      if (taskId !== undefined && task.taskId !== taskId) continue
      this.#quietly(link?.connection.stopTask?.(task.taskId), 'stop a background task')
    }
  }

  /** Asks the agent to stop the turn. False if it has not even got it, and nothing is on the way: then it is over. */
  interrupt(): boolean {
    const link = this.#turnLink
    if (link) this.#quietly(link.connection.interrupt(), 'interrupt the agent')
    else this.#starting?.abort()
    return link !== undefined || this.#starting !== undefined
  }

  /** Resolves when a start ahead of its time is given up; a turn's own start ends with the turn. */
  async abortStart(): Promise<void> {
    this.#starting?.abort()
    this.#ahead?.abort.abort()
    await this.#ahead?.over
  }

  /** Gives the turn to the agent, started if need be; a parked one goes on. However it fails, the turn ends. */
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

  /** The prompt first, then what was said meanwhile. */
  async #hand(turn: OpenTurn, link: AgentLink): Promise<void> {
    this.#turnLink = link
    const prompt: Prompt = { ...(turn.prompt ?? goOn(turn)), delivery: 'queue' }
    const sent = this.#send(link, { type: turn.parked ? 'continue' : 'prompt', prompt })
    for (const steer of this.#steers.splice(0)) {
      this.#quietly(this.#sendSteer(link, steer), 'steer the agent')
    }
    await sent
  }

  /** In order, one after another; given up when the agent is gone. */
  #send(link: AgentLink, message: AgentMessage): ReturnType<AgentConnection['send']> {
    const sent = this.#outbound.then(() => Promise.race([link.connection.send(message), link.ended]))
    this.#outbound = sent.then(
      () => undefined,
      () => undefined,
    )
    return sent
  }

  /** Returns nothing when it is done at once, so that a flood of deltas costs no promises. */
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

  /** The host's own tools and no others, where the session wants it so: what the agent reports is looked at. */
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

/** A turn that the agent began by itself has no prompt to be reminded of. */
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
