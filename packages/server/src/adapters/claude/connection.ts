import { randomUUID } from 'node:crypto'
import type { Query, SDKMessage } from '@anthropic-ai/claude-agent-sdk'
import { messageOf, type ParleyError, type PermissionMode, type SessionSettings } from '@parley/protocol'
import {
  type AgentConnection,
  type AgentMessage,
  type AgentOutput,
  askAgain,
  type ConnectInput,
} from '../../core/agent-adapter.ts'
import { reachOf } from '../inside-folder.ts'
import { createOutputQueue } from '../output-queue.ts'
import { type RewindKeeper, rewindRequest } from '../rewind.ts'
import { DeferredCall } from './deferred-call.ts'
import { diffsOfCall } from './diffs-of-call.ts'
import { cannotStart, farewell, notAsRoot } from './farewell.ts'
import { HookWaits } from './hook-waits.ts'
import { hostToolNames } from './host-tools.ts'
import { introductionOf } from './introduction.ts'
import type { HookedCall, PermissionContext } from './permission.ts'
import { ClaudeProgram, mayBypass, type ProgramOptions } from './program.ts'
import { userMessage } from './prompt.ts'
import { changesProtected, pathsOf, writesPlan } from './protected-call.ts'
import { previewRewind, rewind } from './rewind.ts'
import { nativeModes, startMode } from './settings.ts'
import { deferredCall, promptUuid, readTranscript, uuidsIn } from './transcript.ts'
import { TranscriptWatch } from './transcript-watch.ts'
import { callAgain, initialState, translate } from './translate.ts'
import {
  callIdOf,
  parentOfCall,
  withCommands,
  withDenied,
  withInterrupt,
  withRequestedMode,
  withSteering,
  withTurn,
} from './translate-state.ts'
import { describeCall } from './translate-tool-call.ts'
import { grantedBySettings, willAsk } from './will-ask.ts'

export type ClaudeOptions = ProgramOptions & { readonly keeper: RewindKeeper }

/** A method that the SDK has but does not declare: cancels a message that waits in the program's queue. */
type QueuedMessages = { cancelAsyncMessage?(uuid: string): Promise<boolean> }

const goneWaitMs = 200
/** How long an idle process may take to flush its output and exit. */
const homeWaitMs = 1_500
/** How long the process may take to record that a call is deferred. */
const deferWaitMs = 3_000

/** Starts Claude Code, or takes a parked program, and resolves when it is ready for the first prompt. */
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
  readonly #keeper: RewindKeeper
  readonly #program: ClaudeProgram
  readonly #queue = createOutputQueue(() => void this.close())
  readonly #called = new Map<string, PromiseWithResolvers<void>>()
  readonly #waits = new HookWaits()
  /** The uuids of all steered prompts. */
  readonly #handed = new Set<string>()
  readonly #watch: TranscriptWatch
  /** Calls of the main agent that have no result yet. */
  readonly #open = new Set<string>()
  readonly #deferred: DeferredCall | undefined
  #result = Promise.withResolvers<void>()
  #dismissing = false
  #isWide = false
  #granted: ReadonlySet<string> = new Set()
  #query: Query | undefined
  #state: ReturnType<typeof initialState>
  #mode: PermissionMode
  #closing = false
  #ended: Promise<void> = Promise.resolve()

  constructor(input: ConnectInput, { env, keeper }: ClaudeOptions, program: ClaudeProgram) {
    this.#input = input
    this.#env = env
    this.#keeper = keeper
    this.#program = program
    this.#mode = input.settings.mode ?? 'ask'
    const transcript = input.resume && this.#transcript
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
      this.#query = this.#program.isParked
        ? await this.#program.enter(this.#input, this.#input.signal)
        : await this.#program.start(this.#input, this.#transcript !== undefined)
      if (!this.#deferred) await this.#widen()
    } catch (error) {
      this.#program.kill()
      throw this.#cannotStart(error)
    }
    this.#ended = this.#pump(this.#query)
    void this.#introduce(this.#query)
  }

  /**
   * Sets the mode of the session. The process starts in a mode that asks for everything, for two reasons: a deferred
   * call must be asked about whatever the mode is by now, and the SDK warns when a process starts with bypass.
   */
  async #widen(): Promise<void> {
    if (this.#isWide) return
    this.#isWide = true
    if (nativeModes[this.#mode] !== startMode(this.#mode))
      await this.#query?.setPermissionMode(nativeModes[this.#mode])
  }

  async send(message: AgentMessage): Promise<'pending' | undefined> {
    if (this.#closing) return undefined
    const { prompt } = message
    if (this.#deferred && !this.#deferred.isDecided && !(await this.#decideDeferred(this.#deferred, message)))
      return undefined
    const known = message.type === 'continue' && this.#remembers(prompt.promptId)
    const uuid = known ? randomUUID() : promptUuid(prompt.promptId)
    this.#watch.gives(uuid)
    const request = rewindRequest(prompt.parts)
    if (request) {
      const context = { keeper: this.#keeper, session: this.#input }
      void this.#queue.put(await rewind(this.#query, request, context))
      return undefined
    }
    if (this.#handed.has(uuid)) return this.#goOnWithSteer(uuid)
    const steer = message.type === 'prompt' && prompt.delivery === 'steer'
    if (steer && this.#state.turn === undefined) return 'pending'
    if (steer) this.#handed.add(uuid)
    this.#state = steer ? withSteering(this.#state, uuid, prompt.promptId) : withTurn(this.#state, uuid)
    const parts = known ? [{ type: 'text' as const, text: askAgain }] : prompt.parts
    this.#program.prompts.push(userMessage(parts, uuid, steer))
    return steer ? 'pending' : undefined
  }

  /** The agent has this prompt already, and starts it by itself when the previous turn is over. */
  #goOnWithSteer(uuid: string): undefined {
    if (this.#state.turn === undefined && this.#state.pending.has(uuid))
      this.#state = withTurn(this.#state, uuid)
    return undefined
  }

  /**
   * Decides what becomes of the deferred call, which the resumed process asks about by itself. Returns false if no
   * prompt needs to be sent.
   */
  async #decideDeferred(deferred: DeferredCall, message: AgentMessage): Promise<boolean> {
    if (message.type === 'continue') {
      this.#state = withTurn(this.#state)
      deferred.decide('again')
      return false
    }
    this.#dismissing = true
    deferred.decide('dismissed')
    return true
  }

  get #transcript(): string | undefined {
    return readTranscript(this.#env, this.#input.resume?.agentSessionId ?? '')
  }

  #remembers(promptId: string): boolean {
    return this.#transcript?.includes(promptUuid(promptId)) ?? false
  }

  async saidElsewhere(): Promise<'nothing' | 'unknown'> {
    return (await this.#watch.hasStrangers(this.#state.saidSessionId)) ? 'unknown' : 'nothing'
  }

  async stopTask(taskId: string): Promise<void> {
    await this.#query?.stopTask(taskId).catch((error: unknown) => this.#notice('stop the task', error))
  }

  /** Cancels steered prompts that the agent has not started, since it would run them after the interrupt. */
  async interrupt(): Promise<void> {
    this.#state = withInterrupt(this.#state)
    const query = this.#query as (Query & QueuedMessages) | undefined
    for (const uuid of this.#state.pending.keys()) {
      if ((await query?.cancelAsyncMessage?.(uuid).catch(() => false)) !== true) continue
      this.#handed.delete(uuid)
    }
    if (!this.#closing)
      await this.#query?.interrupt().catch((error: unknown) => this.#notice('interrupt', error))
  }

  async takeBack(promptId: string): Promise<boolean> {
    const uuid = promptUuid(promptId)
    const query = this.#query as (Query & QueuedMessages) | undefined
    if (!this.#state.pending.has(uuid)) return false
    if ((await query?.cancelAsyncMessage?.(uuid).catch(() => false)) !== true) return false
    this.#handed.delete(uuid)
    return true
  }

  /** Settings that the agent acknowledges take effect now; the others take effect at its next start. */
  async configure(settings: SessionSettings): Promise<void> {
    if (this.#closing) return
    await this.#configure(settings).catch((error: unknown) => this.#notice('take the new settings', error))
  }

  async #configure({ model, mode, options }: SessionSettings): Promise<void> {
    const query = this.#query
    if (!query) return
    const isNewMode = mode !== undefined && mode !== this.#mode
    if (isNewMode) {
      this.#mode = mode
      this.#state = withRequestedMode(this.#state, mode)
      await query.setPermissionMode(nativeModes[mode])
    }
    if (model !== undefined) await query.setModel(model)
    if (options?.effort !== undefined) {
      await query.applyFlagSettings({ effortLevel: options.effort } as Parameters<
        Query['applyFlagSettings']
      >[0])
    }
    const effective = {
      ...(isNewMode && { mode }),
      ...(model !== undefined && { model }),
      ...(options?.effort !== undefined && {
        options: { ...this.#input.settings.options, effort: options.effort },
      }),
    }
    void this.#queue.put({ type: 'session.configured', effective })
  }

  async close(): Promise<void> {
    if (!this.#closing) {
      this.#closing = true
      this.#program.prompts.end()
      if (this.#state.turn === undefined)
        await Promise.race([this.#ended, this.#program.process.gone(homeWaitMs)])
      this.#query?.close()
      this.#program.process.kill()
    }
    await this.#ended
  }

  previewRewind(promptId: string): ReturnType<typeof previewRewind> {
    return previewRewind(this.#query, promptId)
  }

  /** The agent can keep a single open call of the main agent. In any other case the process just ends. */
  async park(): Promise<void> {
    const [waiting] = this.#waits.waiting
    const isOnly = waiting !== undefined && this.#open.size === 1
    if (isOnly && this.#open.has(callIdOf(this.#state, waiting))) {
      this.#waits.defer(waiting)
      await Promise.race([this.#result.promise, this.#program.process.gone(deferWaitMs)])
    }
    await this.close()
  }

  #permissions(): PermissionContext {
    return {
      person: this.#input.person,
      describe: (name, input) => describeCall({ ...this.#state, cwd: this.#input.cwd }, name, input),
      reach: (kind, input) => reachOf(kind, pathsOf(input), this.#input),
      mustAsk: (call) => this.#mustAsk(call),
      insists: (kind) =>
        kind === 'read' ||
        kind === 'search' ||
        (kind === 'edit' && this.#mode === 'accept-edits' && this.#isWide),
      diffs: (name, input) => diffsOfCall(name, input, this.#input),
      callId: async (nativeId) => {
        const toolCallId = callIdOf(this.#state, nativeId)
        await this.#call(toolCallId).promise
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
      // A resumed process looks for the tool of a deferred call before it knows the host tools.
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
    const { state, outputs } = callAgain(this.#state, { nativeId, toolCallId, name, input })
    this.#state = state
    for (const output of outputs) {
      await this.#queue.put(output)
      this.#note(output)
    }
  }

  /** Records the mode that the person requests from now on. The agent itself reports when it is in effect. */
  #leavePlan(): PermissionMode {
    if (this.#mode !== 'plan') return this.#mode
    this.#mode = 'ask'
    this.#state = withRequestedMode(this.#state, this.#mode)
    void this.#queue.put({ type: 'session.configured', requested: { mode: this.#mode } })
    return this.#mode
  }

  /** The SDK also aborts a request when the process dies. The agent has withdrawn it only if the process lives on. */
  #withdrawn(signal: AbortSignal): AbortSignal {
    const withdrawn = new AbortController()
    signal.addEventListener('abort', () => {
      setTimeout(() => {
        if (!this.#closing && !this.#program.process.ended) withdrawn.abort()
      }, goneWaitMs).unref()
    })
    return withdrawn.signal
  }

  #call(toolCallId: string): PromiseWithResolvers<void> {
    const call = this.#called.get(toolCallId) ?? Promise.withResolvers<void>()
    this.#called.set(toolCallId, call)
    return call
  }

  async #pump(query: Query): Promise<void> {
    let failure: unknown
    try {
      for await (const message of query) {
        await this.#queue.put({ type: 'native', message })
        if (this.#dismissing && !this.#isDismissed(message)) continue
        const { state, outputs } = translate(this.#state, message)
        this.#state = state
        for (const output of outputs) {
          await this.#queue.put(output)
          this.#note(output)
        }
        if (message.type === 'result') this.#turnResult()
      }
    } catch (error) {
      failure = error
    }
    for (const call of this.#called.values()) call.resolve()
    this.#program.process.killAll()
    void this.#queue.put(farewell(this.#closing, failure, this.#program.process.lastWords()))
    this.#queue.end()
  }

  /**
   * Drops messages about a dismissed deferred call until the program starts the new prompt. Returns false for a
   * message to drop.
   */
  #isDismissed(message: SDKMessage): boolean {
    const [uuid] = this.#state.turn?.prompts ?? []
    const { type, state, command_uuid } = message as { type: string; state?: string; command_uuid?: string }
    this.#dismissing = !(type === 'command_lifecycle' && state === 'started' && command_uuid === uuid)
    if (type === 'result') this.#turnResult()
    return !this.#dismissing
  }

  #note(output: AgentOutput): void {
    if (output.type === 'tool-call.ended') this.#open.delete(output.toolCallId)
    if (output.type !== 'tool-call.called') return
    if (output.parentToolCallId === undefined) this.#open.add(output.toolCallId)
    this.#call(output.toolCallId).resolve()
  }

  #turnResult(): void {
    void this.#widen().catch((error: unknown) => this.#notice('take its mode', error))
    this.#result.resolve()
    this.#result = Promise.withResolvers()
    this.#open.clear()
  }

  /** Reports models and commands as the program itself describes them. */
  async #introduce(query: Query): Promise<void> {
    try {
      const introduction = await introductionOf(query, this.#program.loaded)
      this.#state = withCommands(this.#state, introduction.commands)
      await this.#queue.put(introduction)
      const { options } = this.#input.settings
      const effective = { mode: this.#mode, ...(options && { options }) }
      await this.#queue.put({ type: 'session.configured', effective })
    } catch (error) {
      const text = `Claude Code did not say what it can do: ${messageOf(error)}`
      void this.#queue.put({ type: 'agent.noticed', level: 'warning', code: 'no_introduction', text })
    }
  }

  /** If the process is just ending, the error is not a failure of the call. */
  #notice(doing: string, error: unknown): void {
    if (this.#closing || this.#program.process.ended) return
    const text = `Claude Code did not ${doing}: ${messageOf(error)}`
    void this.#queue.put({ type: 'agent.noticed', level: 'warning', code: 'not_done', text })
  }

  #cannotStart(error: unknown): ParleyError {
    const isLost = (this.#input.resume?.turns ?? 0) > 0 && this.#transcript === undefined
    return cannotStart(error, isLost, this.#program.process.lastWords())
  }
}
