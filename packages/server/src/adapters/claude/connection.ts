import { randomUUID } from 'node:crypto'
import type { Query } from '@anthropic-ai/claude-agent-sdk'
import {
  type AgentConnection,
  type AgentMessage,
  type AgentOutput,
  askAgain,
  type ConnectInput,
} from '@parley/adapter-kit'
import { hostToolNames } from '@parley/adapter-kit/host-tool-server'
import { reachOf } from '@parley/adapter-kit/inside-folder'
import { createOutputQueue } from '@parley/adapter-kit/output-queue'
import { withDenied, withInterrupt } from '@parley/adapter-kit/translation'
import { defined, messageOf, type PermissionMode, type SessionSettings } from '@parley/protocol'
import { type Resumed, readResumed } from './conversation.ts'
import { describeCall, diffsOfCall } from './describe-call.ts'
import { introductionOf } from './introduction.ts'
import {
  ClaudeProgram,
  cannotStart,
  disconnection,
  mayBypass,
  notAsRoot,
  type ProgramOptions,
} from './program.ts'
import { promptUuid, userMessage } from './prompt.ts'
import { DeferredCall, type HookedCall, HookWaits, RecordedCalls, type RequestContext } from './requests.ts'
import { applySettings, nativeModes, startMode } from './settings.ts'
import { deferredCall, readTranscript, TranscriptWatch, uuidsIn } from './transcript.ts'
import { callAgain, initialState, translate } from './translate.ts'
import {
  callIdOf,
  parentOfCall,
  type Translation,
  withCommands,
  withRequestedMode,
  withSteering,
  withTurn,
} from './translate-state.ts'
import { changesProtected, grantedBySettings, pathsOf, willAsk, writesPlan } from './will-ask.ts'

export type ClaudeOptions = ProgramOptions

/** A method that the SDK has but does not declare: cancels a message that waits in the program's queue. */
type QueuedMessages = { cancelAsyncMessage?(uuid: string): Promise<boolean> }

const goneWaitMs = 200
/** The time limit for an idle process to flush its output and exit. */
const exitWaitMs = 1_500
/** The time limit for the process to record that a call is deferred. */
const deferWaitMs = 3_000

/** Starts Claude Code, or uses a spare, and resolves when it is ready for the first prompt. */
export async function connectClaude(
  options: ClaudeOptions,
  input: ConnectInput,
  program = new ClaudeProgram(options),
): Promise<AgentConnection> {
  const connection = new ClaudeConnection(input, options, program)
  await connection.start()
  return connection
}

class ClaudeConnection implements AgentConnection {
  readonly events: AsyncIterable<AgentOutput>
  readonly #input: ConnectInput
  readonly #env: Readonly<Record<string, string>>
  readonly #resumed: Resumed
  readonly #program: ClaudeProgram
  readonly #queue = createOutputQueue(() => void this.close())
  readonly #calls = new RecordedCalls()
  readonly #waits = new HookWaits()
  /** The uuids of all steered prompts. */
  readonly #steered = new Set<string>()
  readonly #watch: TranscriptWatch
  readonly #deferred: DeferredCall | undefined
  #result = Promise.withResolvers<void>()
  #isModeSet = false
  #granted: ReadonlySet<string> = new Set()
  #query: Query | undefined
  #state: ReturnType<typeof initialState>
  #mode: PermissionMode
  #closing = false
  #ended: Promise<void> = Promise.resolve()

  constructor(input: ConnectInput, { env }: ClaudeOptions, program: ClaudeProgram) {
    this.#input = input
    this.#env = env
    this.#program = program
    this.#mode = input.settings.mode ?? 'ask'
    this.#resumed = readResumed(env, input.resume)
    const { transcript } = this.#resumed
    this.#state = initialState({
      requestedMode: this.#mode,
      resumed: input.resume !== undefined,
      taken: uuidsIn(transcript),
      hostTools: hostToolNames(input.hostTools),
    })
    this.#watch = new TranscriptWatch(env, transcript, input.resume?.agentSessionId)
    const deferred = deferredCall(transcript)
    this.#deferred =
      deferred === undefined
        ? undefined
        : new DeferredCall(deferred, (name, given) => this.#announceAgain(deferred, name, given))
    this.events = this.#queue.outputs
  }

  async start(): Promise<void> {
    if (this.#mode === 'bypass' && !mayBypass(this.#env)) throw notAsRoot()
    this.#granted = grantedBySettings(this.#env, this.#input.cwd, this.#program.loaded)
    this.#program.serve({ permissions: this.#permissions(), hostTools: this.#input.hostTools })
    try {
      this.#query = this.#program.isSpare
        ? await this.#program.enter(this.#input, this.#input.signal)
        : await this.#program.start(this.#input, this.#resumed.options)
      if (!this.#deferred) await this.#setMode()
    } catch (error) {
      this.#program.kill()
      const isLost = (this.#input.resume?.turns ?? 0) > 0 && this.#resumed.transcript === undefined
      throw cannotStart(error, isLost, this.#program.process.exitDetails())
    }
    this.#ended = this.#pump(this.#query)
    void this.#introduce(this.#query)
  }

  /**
   * Sets the mode of the session. The process starts in a mode that asks for everything, for two reasons: a deferred
   * call must be asked about even if the mode has changed since, and the SDK warns when a process starts with bypass.
   */
  async #setMode(): Promise<void> {
    if (this.#isModeSet) return
    this.#isModeSet = true
    if (nativeModes[this.#mode] !== startMode(this.#mode))
      await this.#query?.setPermissionMode(nativeModes[this.#mode])
  }

  async send(message: AgentMessage): Promise<'pending' | undefined> {
    if (this.#closing) return undefined
    const { prompt } = message
    if (this.#deferred && !this.#deferred.isDecided && !this.#decideDeferred(this.#deferred, message))
      return undefined
    const known = message.type === 'continue' && this.#remembers(prompt.promptId)
    const uuid = known ? randomUUID() : promptUuid(prompt.promptId)
    this.#watch.promptSent(uuid)
    if (this.#steered.has(uuid)) return this.#continueWithSteer(uuid)
    const steer = message.type === 'prompt' && prompt.delivery === 'steer'
    if (steer && this.#state.turn === undefined) return 'pending'
    if (steer) this.#steered.add(uuid)
    this.#state = steer ? withSteering(this.#state, uuid, prompt.promptId) : withTurn(this.#state, uuid)
    const parts = known ? [{ type: 'text' as const, text: askAgain(message.openCalls) }] : prompt.parts
    this.#program.prompts.push(userMessage(parts, uuid, steer))
    return steer ? 'pending' : undefined
  }

  /**
   * Begins the turn of a steered prompt. Nothing is sent: the agent has this prompt already, and starts it by
   * itself when the previous turn is over.
   */
  #continueWithSteer(uuid: string): undefined {
    if (this.#state.turn === undefined && this.#state.pending.has(uuid))
      this.#state = withTurn(this.#state, uuid)
    return undefined
  }

  /**
   * Decides the outcome of the deferred call, for which the resumed process requests permission by itself. Returns
   * false if no prompt needs to be sent.
   */
  #decideDeferred(deferred: DeferredCall, message: AgentMessage): boolean {
    const isContinued = message.type === 'continue'
    if (isContinued) this.#state = withTurn(this.#state)
    deferred.decide(isContinued ? 'again' : 'dismissed')
    return !isContinued
  }

  #remembers(promptId: string): boolean {
    const transcript = readTranscript(this.#env, this.#input.resume?.agentSessionId ?? '')
    return transcript?.includes(promptUuid(promptId)) ?? false
  }

  async outsideMessages(): Promise<'nothing' | 'unknown'> {
    return (await this.#watch.hasForeignPrompts(this.#state.reportedSessionId)) ? 'unknown' : 'nothing'
  }

  async stopTask(taskId: string): Promise<void> {
    await this.#query?.stopTask(taskId).catch((error: unknown) => this.#notice('stop the task', error))
  }

  /**
   * Interrupts the turn. First cancels the steered prompts that the agent has not started, because the agent would
   * start them after the interrupt.
   */
  async interrupt(): Promise<void> {
    this.#state = withInterrupt(this.#state)
    for (const uuid of this.#state.pending.keys()) await this.#cancelQueued(uuid)
    if (!this.#closing)
      await this.#query?.interrupt().catch((error: unknown) => this.#notice('interrupt', error))
  }

  async takeBack(promptId: string): Promise<boolean> {
    const uuid = promptUuid(promptId)
    return this.#state.pending.has(uuid) && this.#cancelQueued(uuid)
  }

  /** Removes a steered prompt from the queue of the program. Returns false if the program has already started it. */
  async #cancelQueued(uuid: string): Promise<boolean> {
    const query = this.#query as (Query & QueuedMessages) | undefined
    const isCancelled = (await query?.cancelAsyncMessage?.(uuid).catch(() => false)) === true
    if (isCancelled) this.#steered.delete(uuid)
    return isCancelled
  }

  /** Settings that the agent acknowledges take effect now; the others take effect at its next start. */
  async configure(settings: SessionSettings): Promise<void> {
    if (this.#closing) return
    await this.#configure(settings).catch((error: unknown) => this.#notice('accept the new settings', error))
  }

  async #configure({ model, mode, options }: SessionSettings): Promise<void> {
    if (!this.#query) return
    const isNewMode = mode !== undefined && mode !== this.#mode
    if (isNewMode) {
      this.#mode = mode
      this.#state = withRequestedMode(this.#state, mode)
    }
    const effort = options?.effort
    const effective = {
      ...(isNewMode && { mode }),
      ...(model !== undefined && { model }),
      ...(effort !== undefined && { options: { ...this.#input.settings.options, effort } }),
    }
    await applySettings(this.#query, effective)
    void this.#queue.put({ type: 'session.configured', effective })
  }

  async close(): Promise<void> {
    if (!this.#closing) {
      this.#closing = true
      this.#program.prompts.end()
      if (this.#state.turn === undefined)
        await Promise.race([this.#ended, this.#program.process.gone(exitWaitMs)])
      this.#query?.close()
      this.#program.process.kill()
    }
    await this.#ended
  }

  kill(): void {
    this.#closing = true
    this.#program.kill()
  }

  /** Defers the open call and ends the process. Claude Code can defer only a single call of the main agent. */
  async park(): Promise<void> {
    const [waiting] = this.#waits.waiting
    const { open } = this.#calls
    if (waiting !== undefined && open.size === 1 && open.has(callIdOf(this.#state, waiting))) {
      this.#waits.defer(waiting)
      await Promise.race([this.#result.promise, this.#program.process.gone(deferWaitMs)])
    }
    await this.close()
  }

  #permissions(): RequestContext {
    return {
      person: this.#input.person,
      describe: (name, input) => describeCall({ ...this.#state, cwd: this.#input.cwd }, name, input),
      reach: (kind, input) => reachOf(kind, pathsOf(input), this.#input),
      mustAsk: (call) => this.#mustAsk(call),
      insists: (kind) =>
        kind === 'read' ||
        kind === 'search' ||
        (kind === 'edit' && this.#mode === 'accept-edits' && this.#isModeSet),
      diffs: (name, input) => diffsOfCall(name, input, this.#input),
      callId: async (nativeId) => {
        const toolCallId = callIdOf(this.#state, nativeId)
        await this.#calls.recorded(toolCallId)
        return toolCallId
      },
      parentOf: (toolCallId) => parentOfCall(this.#state, toolCallId),
      denied: (toolCallId) => {
        this.#state = withDenied(this.#state, toolCallId)
      },
      leavePlan: () => this.#leavePlan(),
      interrupt: () => void this.interrupt(),
      withdrawn: (signal) => this.#withdrawn(signal),
      waits: this.#waits,
      // False for host tools: a resumed process looks up the tool of a deferred call before the host tools
      // are registered.
      willAsk: (call) => {
        if (this.#state.hostTools.has(call.tool)) return false
        if (willAsk(call, call.planning ? 'plan' : this.#mode, this.#granted)) return true
        return !call.planning && this.#mustAsk(call)
      },
      calledAgain: async (nativeId, ...call) =>
        nativeId === this.#deferred?.nativeId ? this.#deferred.ask(...call) : 'fresh',
    }
  }

  #mustAsk(call: HookedCall): boolean {
    if (call.planning && writesPlan(call, this.#env)) return false
    return changesProtected(call, this.#mode, this.#input)
  }

  async #announceAgain(nativeId: string, name: string, input: unknown): Promise<void> {
    const toolCallId = `${nativeId}.${this.#input.connectionId}`
    await this.#take(callAgain(this.#state, { nativeId, toolCallId, name, input }))
  }

  async #take({ state, outputs }: Translation): Promise<void> {
    this.#state = state
    for (const output of outputs) {
      await this.#queue.put(output)
      this.#calls.note(output)
    }
  }

  /** After a plan is approved, records `ask` as the requested mode. The agent reports when that mode is in effect. */
  #leavePlan(): PermissionMode {
    if (this.#mode !== 'plan') return this.#mode
    this.#mode = 'ask'
    this.#state = withRequestedMode(this.#state, this.#mode)
    void this.#queue.put({ type: 'session.configured', requested: { mode: this.#mode } })
    return this.#mode
  }

  /**
   * Returns a signal that aborts when the agent withdraws its request. The SDK's own signal also aborts when the
   * process dies, so the returned signal aborts only if the process is still alive a moment later.
   */
  #withdrawn(signal: AbortSignal): AbortSignal {
    const withdrawn = new AbortController()
    signal.addEventListener('abort', () => {
      setTimeout(() => {
        if (!this.#closing && !this.#program.process.ended) withdrawn.abort()
      }, goneWaitMs).unref()
    })
    return withdrawn.signal
  }

  async #pump(query: Query): Promise<void> {
    let failure: unknown
    try {
      for await (const message of query) {
        await this.#queue.put({ type: 'native', message })
        const isDropped = this.#deferred?.drops(message, this.#state.turn?.prompts[0])
        if (!isDropped) await this.#take(translate(this.#state, message))
        if (message.type === 'result') this.#turnResult()
      }
    } catch (error) {
      failure = error
    }
    this.#calls.releaseAll()
    this.#program.process.killAll()
    void this.#queue.put(disconnection(this.#closing, failure, this.#program.process.exitDetails()))
    this.#queue.end()
  }

  #turnResult(): void {
    void this.#setMode().catch((error: unknown) => this.#notice('accept the mode', error))
    this.#result.resolve()
    this.#result = Promise.withResolvers()
    this.#calls.open.clear()
  }

  /** Reports the models and commands that the program lists. */
  async #introduce(query: Query): Promise<void> {
    try {
      const introduction = await introductionOf(query, this.#program.loaded)
      this.#state = withCommands(this.#state, introduction.commands)
      await this.#queue.put(introduction)
      const effective = { mode: this.#mode, ...defined({ options: this.#input.settings.options }) }
      await this.#queue.put({ type: 'session.configured', effective })
    } catch (error) {
      const text = `Claude Code did not report its capabilities: ${messageOf(error)}`
      void this.#queue.put({ type: 'agent.noticed', level: 'warning', code: 'no_introduction', text })
    }
  }

  /** Reports a failed request to Claude Code, unless the process is ending, which may be the cause of the failure. */
  #notice(doing: string, error: unknown): void {
    if (this.#closing || this.#program.process.ended) return
    const text = `Claude Code did not ${doing}: ${messageOf(error)}`
    void this.#queue.put({ type: 'agent.noticed', level: 'warning', code: 'not_done', text })
  }
}
