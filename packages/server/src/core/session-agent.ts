import {
  type AgentAdapter,
  type AgentConnection,
  type AgentMessage,
  askAgain,
  type OpenCall,
} from '@parley/adapter-kit'
import {
  errorInfoOf,
  type OpenTurn,
  ParleyError,
  type Prompt,
  runningInBackground,
  type SessionEvent,
  type SessionState,
  type TurnEnd,
} from '@parley/protocol'
import { type AcceptedSteers, createAcceptedSteers } from './accepted-steers.ts'
import type { AgentLink, CloseReason } from './agent-link.ts'
import { readOutputs } from './agent-outputs.ts'
import { connectAgent } from './connect-agent.ts'
import type { SlotHolder } from './connection-slots.ts'
import type { HostToolCalls } from './host-tool-calls.ts'
import type { PermissionBroker } from './permission-broker.ts'
import type { Rejoin } from './rejoin.ts'
import { canResume, type SessionContext, startedWith, unknownAgentOf } from './session-services.ts'
import { startConditions } from './start-conditions.ts'
import * as turns from './turn-transactions.ts'

/** The parts of a live session that the session agent uses. */
export type AgentParts = {
  readonly broker: PermissionBroker
  readonly toolCalls: HostToolCalls
  readonly rejoin: Rejoin
}

/**
 * Starts the agent of one live session, sends messages to it, passes its outputs on to be recorded, and records its
 * end. The loop decides what the agent should do; the broker decides what it may do.
 */
export class SessionAgent implements SlotHolder {
  readonly #context: SessionContext
  readonly #parts: AgentParts
  readonly #accepted: AcceptedSteers
  #link: AgentLink | undefined
  /** The turn that was sent last. `link` is undefined for a resumed turn until it is sent again. */
  #sent: { readonly turnId: string; readonly link: AgentLink | undefined } | undefined
  #starting: AbortController | undefined
  /** A start without a turn. The first turn waits for it. */
  #ahead: { readonly abort: AbortController; readonly over: Promise<unknown> } | undefined
  #startFailure: { readonly error: unknown } | undefined
  /** Steered prompts that wait until their turn is sent. */
  #steers: Prompt[] = []
  #outbound: Promise<void> = Promise.resolve()
  #idleSince: number | undefined

  constructor(context: SessionContext, parts: AgentParts) {
    this.#context = context
    this.#parts = parts
    this.#accepted = createAcceptedSteers(context)
  }

  get #state(): SessionState {
    return this.#context.log.state
  }

  get connected(): boolean {
    return this.#link !== undefined
  }

  get starting(): boolean {
    return this.#starting !== undefined || this.#ahead !== undefined
  }

  /** True if the agent was started with another conversation, trust, options, servers or variables. */
  get isOutdated(): boolean {
    if (!this.#link) return false
    if ((this.#state.conversationFrom ?? 0) > this.#link.since) return true
    const { services } = this.#context
    const adapter = this.#adapter()
    const now = startedWith(services, adapter, this.#state)
    const offered = adapter.capabilities.hostTools ? this.#parts.toolCalls.offered() : undefined
    return this.#link.conditions !== startConditions(adapter, now, offered)
  }

  /** The link that has the open turn: the turn was sent to it, or its agent started the turn. */
  get #turnLink(): AgentLink | undefined {
    const { turn } = this.#state
    if (!turn || turn.parked) return undefined
    if (this.#sent?.turnId === turn.turnId) return this.#sent.link
    return turn.cause?.by === 'agent' || turn.cause?.by === 'steer' ? this.#link : undefined
  }

  #adapter(): AgentAdapter {
    const { adapter } = this.#context
    if (adapter) return adapter
    throw unknownAgentOf(this.#state)
  }

  // Start

  /** Starts a slow agent before its first prompt, if a slot is free. */
  async startAhead(): Promise<void> {
    const { adapter, services } = this.#context
    if (!adapter?.startsAhead || this.connected || this.starting || !services.slots.hasRoom) return
    await this.#connectAhead().catch(() => undefined)
  }

  /**
   * If necessary, adds outside turns to the log. An agent that is connected is not started again to read its record. If
   * the start fails, the next turn fails with the same error.
   */
  async rejoin(): Promise<void> {
    const { rejoin } = this.#parts
    await rejoin.checkElsewhere()
    while (this.#ahead) await this.#ahead.over
    if (!rejoin.isRequired) return
    const wasReleased = this.#state.released !== undefined
    if (!this.#link && this.#adapter().capabilities.rejoin) {
      this.#startFailure = undefined
      await this.#connectAhead().catch((error: unknown) => {
        this.#startFailure = { error }
      })
    }
    if (this.#startFailure === undefined) await rejoin.run(wasReleased)
  }

  /** Starts the agent without a turn. A turn that begins meanwhile waits for this start. */
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

  async #connect(signal: AbortSignal): Promise<AgentLink> {
    const { broker, toolCalls, rejoin } = this.#parts
    const context = this.#context
    const link = await connectAgent({
      ...{ context, broker, toolCalls, signal },
      adapter: this.#adapter(),
      holder: this,
    })
    this.#link = link
    this.#outbound = Promise.resolve()
    rejoin.attach(link)
    if (this.#state.requested !== link.settings) this.configure()
    void this.#serve(link)
    return link
  }

  /** Records the outputs of the agent until they end, then records the end. */
  async #serve(link: AgentLink): Promise<void> {
    const { toolCalls, broker, rejoin } = this.#parts
    const { persist, services, problem } = this.#context
    const context = this.#context
    const outputs = readOutputs(link, { context, toolCalls, accepted: this.#accepted })
    const { last, error } = await link.endOf(outputs)
    const hadTurn = this.#turnLink === link
    if (this.#link === link) this.#link = undefined
    this.#accepted.forget()
    rejoin.detach()
    if (error !== undefined) problem(error, 'read the output of the agent')
    const now = services.clock.now()
    const lost = { closing: link.closing, last, hadTurn, canResume: canResume(context), now }
    await persist((state) => turns.loseAgent(state, lost))
    broker.abandon()
    toolCalls.stop('all')
    link.end()
  }

  /** Cancels a start. Resolves when a start without a turn is over; a start for a turn ends with the turn. */
  async abortStart(): Promise<void> {
    this.#starting?.abort()
    this.#ahead?.abort.abort()
    await this.#ahead?.over
  }

  // Turns

  /**
   * Gives the turn to the agent, which is started if necessary; a parked turn is resumed. If anything fails, the turn
   * ends.
   */
  async begin(turn: OpenTurn): Promise<void> {
    const { stopping, problem, persist, services } = this.#context
    const starting = new AbortController()
    this.#starting = starting
    if (turn.parked) this.#sent = { turnId: turn.turnId, link: undefined }
    const isOpen = () => this.#state.turn?.turnId === turn.turnId && !this.#state.turn.interrupted
    try {
      const link = await this.#linkFor(turn, starting.signal)
      const openCalls = turns.openCalls(this.#state)
      const ready = isOpen() && !stopping.aborted && (!turn.parked || (await this.#resume(turn)))
      if (!ready) throw new ParleyError('cancelled', 'The turn was cancelled before it began.')
      if (this.#link !== link || link.closing) throw lostAtOnce(this.#adapter())
      await this.#sendTurn(turn, link, openCalls)
      this.#starting = undefined
      if (!isOpen() && this.#state.turn?.turnId === turn.turnId) this.interrupt()
    } catch (error) {
      this.#starting = undefined
      if (stopping.aborted) return
      if (!(error instanceof ParleyError)) problem(error, 'start a turn')
      const end = isOpen() ? failedToStart(error) : cancelled
      await persist((state) => turns.endThisTurn(state, turn.turnId, end, services.clock.now()))
    }
  }

  async #linkFor(turn: OpenTurn, signal: AbortSignal): Promise<AgentLink> {
    if (turn.parked && !canResume(this.#context)) throw cannotResume(this.#adapter())
    // While a turn is open, no outside turn can be recorded, so the record is read before the next turn.
    if (turn.parked) this.#parts.rejoin.postpone()
    const abortAhead = () => this.#ahead?.abort.abort()
    signal.addEventListener('abort', abortAhead, { once: true })
    await this.#ahead?.over
    signal.removeEventListener('abort', abortAhead)
    if (this.#link?.closing || this.isOutdated) await this.#link?.close(this.#link.closing ?? 'restarted')
    const failure = this.#startFailure
    this.#startFailure = undefined
    if (failure && !this.#link) throw failure.error
    return this.#link ?? (await this.#connect(signal))
  }

  async #resume(turn: OpenTurn): Promise<boolean> {
    const events = await this.#context.persist((state) => turns.resume(state, turn.turnId))
    return events !== undefined && events.length > 0
  }

  /** Sends the prompt first, then the prompts that were steered meanwhile. */
  async #sendTurn(turn: OpenTurn, link: AgentLink, openCalls: readonly OpenCall[]): Promise<void> {
    this.#sent = { turnId: turn.turnId, link }
    const prompt: Prompt = { ...(turn.prompt ?? continuation(turn, openCalls)), delivery: 'queue' }
    const sent = this.#send(
      link,
      turn.parked ? { type: 'continue', prompt, openCalls } : { type: 'prompt', prompt },
    )
    for (const steer of this.#steers.splice(0)) {
      this.#inBackground(this.#sendSteer(link, steer), 'steer the agent')
    }
    await sent
  }

  /**
   * Sends a message after all earlier messages; stops waiting when the agent has ended. If the message is no longer
   * wanted by then, it is not sent.
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

  /**
   * Asks the agent to stop the turn, or cancels the start of the agent. Returns false if the agent does not have the
   * turn and no start is pending; the caller must then end the turn.
   */
  interrupt(): boolean {
    const link = this.#turnLink
    if (link) this.#inBackground(link.connection.interrupt(), 'interrupt the agent')
    else this.#starting?.abort()
    return link !== undefined || this.#starting !== undefined
  }

  /** Called when the turn has ended: drops its unsent messages. */
  turnEnded(): void {
    this.#steers = []
    this.#accepted.forget()
    this.#starting?.abort()
  }

  configure(): void {
    this.#inBackground(this.#link?.connection.configure(this.#state.requested), 'configure the agent')
  }

  // Steered prompts

  steer({ promptId, parts, delivery, at }: SessionEvent & { type: 'prompt.submitted' }): void {
    const prompt: Prompt = { promptId, parts, delivery, at }
    const link = this.#turnLink
    if (!link) this.#steers.push(prompt)
    else this.#inBackground(this.#sendSteer(link, prompt), 'steer the agent')
  }

  /** Takes back a steered prompt. Returns false if the agent has taken it up, or does not give it back. */
  async withdrawSteer(promptId: string): Promise<boolean> {
    const unsent = this.#steers.length
    this.#steers = this.#steers.filter((prompt) => prompt.promptId !== promptId)
    if (this.#steers.length < unsent) return true
    return (await this.#turnLink?.connection.takeBack?.(promptId)) ?? false
  }

  async #sendSteer(link: AgentLink, prompt: Prompt): Promise<void> {
    const { turnId } = this.#state.turn ?? {}
    const isOpen = () => turnId !== undefined && this.#state.turn?.turnId === turnId
    const sent = await this.#send(link, { type: 'prompt', prompt }, isOpen)
    if (sent === 'pending' || this.#link !== link) return
    await this.#accepted.accept(prompt.promptId)
  }

  // Between turns

  /** Stops one background task, or all of them. The agent reports their ends. */
  stopTasks(taskId: string | undefined): void {
    const link = this.#link
    for (const task of runningInBackground(this.#state)) {
      if (taskId !== undefined && task.taskId !== taskId) continue
      this.#inBackground(link?.connection.stopTask?.(task.taskId), 'stop a background task')
    }
  }

  /** Sets the time since which the agent has been idle; undefined while it is in use. */
  set idle(since: number | undefined) {
    this.#idleSince = since
  }

  idleSince(): number | undefined {
    return this.#idleSince
  }

  yieldSlot(): void {
    void this.disconnect('idle')
  }

  /** Kills the agent at once, and stops the host tools that it has called. */
  kill(): void {
    const { broker, toolCalls } = this.#parts
    this.#link?.kill()
    toolCalls.stop('all')
    broker.abandon()
  }

  async disconnect(reason: CloseReason): Promise<void> {
    await this.#link?.close(reason)
  }

  /** Runs work that nobody waits for. Its failure is reported. */
  #inBackground(work: Promise<unknown> | undefined, doing: string): void {
    work?.catch((error: unknown) => this.#context.problem(error, doing))
  }
}

/**
 * The prompt for a resumed turn that the agent started by itself, which has no prompt that could be sent
 * again.
 */
function continuation({ turnId, startedAt }: OpenTurn, openCalls: readonly OpenCall[]): Prompt {
  return {
    promptId: turnId,
    parts: [{ type: 'text', text: askAgain(openCalls) }],
    delivery: 'queue',
    at: startedAt,
  }
}

const cancelled = { outcome: 'cancelled', stopReason: 'cancelled' } as const

function failedToStart(error: unknown): Omit<TurnEnd, 'durationMs'> {
  return { outcome: 'failed', stopReason: 'agent_failed', error: errorInfoOf(error) }
}

function cannotResume(adapter: AgentAdapter): ParleyError {
  const message = `${adapter.name} cannot continue an interrupted turn. Send the prompt again.`
  return new ParleyError('not_supported', message)
}

function lostAtOnce(adapter: AgentAdapter): ParleyError {
  const message = `${adapter.name} exited right after it was started. Send the prompt again.`
  return new ParleyError('agent_failed', message)
}
