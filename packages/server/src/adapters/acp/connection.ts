import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import type { AgentConnection, AgentMessage, AgentOutput, ConnectInput } from '@parley/adapter-kit'
import { AgentProcess } from '@parley/adapter-kit/child-process'
import { createOutputQueue } from '@parley/adapter-kit/output-queue'
import { ParleyError, type PromptPart, type SessionSettings } from '@parley/protocol'
import type { KnownAgent } from './agent.ts'
import { startSession } from './conversation.ts'
import { createFileMethods, type FileMethods } from './files.ts'
import type { Frame, NativeInitialized } from './native.ts'
import { cannotStart, endGroup, errorMessage } from './program.ts'
import { contentBlocks, continuation } from './prompt.ts'
import { AcpRequests } from './requests.ts'
import { applyMode, applyModel, commandLine } from './settings.ts'
import { initialState, type TranslateState, translate } from './translate.ts'
import { ourMode, withRequestedMode } from './translate-state.ts'
import { closeTexts } from './translate-text.ts'
import { openCalls } from './translate-tool-call.ts'
import { errorOf } from './translate-turn.ts'
import { Wire } from './wire.ts'

export type AcpConnectionOptions = {
  readonly agent: KnownAgent
  readonly program: string
  readonly env: Readonly<Record<string, string>>
}

/** The time limits for an agent to stop its turn, then to exit by itself, and then to flush its last lines. */
const stopWaitMs = 700
const exitWaitMs = 1_500
const lastLinesMs = 300
/** The time limit for the report of the sign-in state, for agents that report it. */
const signInWaitMs = 6_000
/**
 * The maximum number of stdout lines that are recorded although they are not messages. Further lines are only counted.
 */
const maxRecordedLines = 20
/** The time of silence after which a text outside a turn counts as complete. */
const quietMs = 1_000

/** Starts the agent and resolves when it accepts prompts. */
export async function connectAcp(
  options: AcpConnectionOptions,
  input: ConnectInput,
): Promise<AgentConnection> {
  const connection = new AcpConnection(options, input)
  await connection.start()
  return connection
}

class AcpConnection implements AgentConnection {
  readonly events: AsyncIterable<AgentOutput>
  readonly #options: AcpConnectionOptions
  readonly #input: ConnectInput
  readonly #process = new AgentProcess()
  readonly #queue = createOutputQueue(() => void this.close())
  readonly #files: FileMethods
  readonly #requests: AcpRequests
  readonly #child: ChildProcessWithoutNullStreams
  readonly #wire: Wire
  #about: NativeInitialized = {}
  #state: TranslateState
  #live = false
  #replayed = false
  #invalidLines = 0
  #quiet: NodeJS.Timeout | undefined
  #over = false
  #failure: Error | undefined
  #closing: Promise<void> | undefined
  /** Resolves when the process sends no more output, including stderr. */
  readonly #silent = Promise.withResolvers<void>()
  readonly #signInReported = Promise.withResolvers<void>()
  #turnOver = Promise.withResolvers<void>()

  constructor(options: AcpConnectionOptions, input: ConnectInput) {
    const { agent, program, env } = options
    const { cwd, settings, person, connectionId } = input
    this.#options = options
    this.#input = input
    const { dialect, modes } = agent
    this.#state = initialState({ dialect, modes, connectionId, requestedMode: settings.mode ?? 'ask' })
    const folders = [cwd, ...(settings.options?.directories ?? [])]
    this.#files = createFileMethods({ folders, person, calls: () => openCalls(this.#state) })
    this.#requests = new AcpRequests({
      agent,
      input,
      files: this.#files,
      state: () => this.#state,
      isClosing: () => this.#closing !== undefined,
      leavePlan: () => this.#leavePlan(),
      interrupt: () => this.interrupt(),
      put: (output) => this.#put(output),
    })
    this.events = this.#queue.outputs
    this.#child = this.#process.spawn({ command: program, args: commandLine(agent, input), cwd, env })
    this.#wire = new Wire(this.#child, {
      received: (frame) => this.#receive(frame),
      garbage: (line) => this.#takeInvalidLine(line),
      sent: (frame) => void this.#take(frame),
      asked: (method, params, signal) => this.#requests.answer(method, params, signal),
    })
    this.#child.once('close', () => this.#silent.resolve())
    this.#child.once('error', (error) => {
      this.#failure = error
    })
    void this.#wire.ended.then(() => {
      this.#over = true
      return this.#end()
    })
  }

  async start(): Promise<void> {
    const { agent, env } = this.#options
    const giveUp = () => this.#process.kill()
    this.#input.signal.addEventListener('abort', giveUp, { once: true })
    if (this.#input.signal.aborted) giveUp()
    try {
      this.#about = await startSession({
        wire: this.#wire.agent,
        agent,
        input: this.#input,
        env,
        state: () => this.#state,
        replayed: () => {
          const replayed = this.#replayed
          this.#replayed = false
          return replayed
        },
        signInReported: () => Promise.race([this.#signInReported.promise, this.#process.gone(signInWaitMs)]),
      })
    } catch (error) {
      this.#process.killAll()
      await this.#process.gone(exitWaitMs)
      const about = { name: agent.name, process: this.#process, failure: this.#failure }
      throw cannotStart(error, { ...about, signal: this.#input.signal })
    } finally {
      this.#input.signal.removeEventListener('abort', giveUp)
    }
    this.#live = true
    const { config, requestedMode: mode } = this.#state
    const reported = config.mode !== undefined && ourMode(this.#state, config.mode) === mode
    if (!reported) void this.#queue.put({ type: 'session.configured', effective: { mode } })
    if (this.#over) void this.#end()
  }

  async send(message: AgentMessage): Promise<'pending' | undefined> {
    if (this.#closing) return undefined
    const { type, prompt } = message
    const { parts } = prompt
    if (type === 'prompt' && prompt.delivery === 'steer')
      return this.#state.turn ? this.#steer(parts) : 'pending'
    this.#files.forget()
    this.#turnOver = Promise.withResolvers()
    const sent = message.type === 'continue' ? continuation(this.#state, message) : parts
    try {
      const { sessionId = '' } = this.#state
      void this.#wire.agent
        .request('session/prompt', { sessionId, prompt: this.#blocks(sent) })
        .catch(() => undefined)
        .finally(() => this.#turnOver.resolve())
    } catch (error) {
      this.#turnOver.resolve()
      const info = error instanceof ParleyError ? error.toInfo() : errorOf({ message: String(error) })
      void this.#queue.put({ type: 'turn.ended', outcome: 'failed', stopReason: 'error', error: info })
    }
  }

  #blocks(parts: readonly PromptPart[]) {
    const abilities = this.#about.agentCapabilities?.promptCapabilities ?? {}
    return contentBlocks(parts, { cwd: this.#input.cwd, abilities })
  }

  /**
   * Sends a text into the running turn. If that turn does not accept the text, returns `pending`, and the host sends
   * the text again. The agent must not start a turn with the text.
   */
  async #steer(parts: readonly PromptPart[]): Promise<'pending' | undefined> {
    const { steering } = this.#options.agent.dialect
    const { sessionId } = this.#state
    const _meta = { steering: { idleBehavior: 'promptRequired' } }
    if (steering === undefined) return 'pending'
    try {
      const request = { sessionId, prompt: this.#blocks(parts), _meta }
      const { outcome } = await this.#wire.agent.request<{ outcome?: string }>(steering, request)
      return outcome === 'promptRequired' ? 'pending' : undefined
    } catch {
      return 'pending'
    }
  }

  async interrupt(): Promise<void> {
    const { sessionId = '' } = this.#state
    if (!this.#closing) await this.#wire.agent.notify('session/cancel', { sessionId }).catch(() => undefined)
  }

  /** Settings that the agent acknowledges take effect now; the others take effect at its next start. */
  async configure(settings: SessionSettings): Promise<void> {
    if (this.#closing) return
    const { requestedMode } = this.#state
    const { mode = requestedMode } = settings
    this.#state = withRequestedMode(this.#state, mode)
    try {
      const { agent } = this.#wire
      const isReported = await applyMode(agent, this.#state, mode)
      if (!isReported && mode !== requestedMode) {
        await this.#put({ type: 'session.configured', effective: { mode } })
      }
      await applyModel(agent, () => this.#state, settings)
    } catch (error) {
      if (this.#closing || this.#process.ended) return
      const text = `${this.#options.agent.name} did not accept a setting: ${errorMessage(error)}`
      await this.#put({ type: 'agent.noticed', level: 'warning', code: 'no_configure', text })
    }
  }

  /**
   * Closes the connection. A running turn is cancelled first, so that the agent ends the commands that it started. A
   * turn that waits for a person is not cancelled, because the resumed agent asks again.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  kill(): void {
    this.#process.killAll()
    this.#closing ??= this.#process.gone(exitWaitMs)
  }

  async #close(): Promise<void> {
    const { sessionId = '', turn } = this.#state
    const { agent } = this.#wire
    if (!this.#requests.isAsking && !this.#process.ended) {
      if (turn) {
        void agent.notify('session/cancel', { sessionId }).catch(() => undefined)
        await Promise.race([this.#turnOver.promise, this.#process.gone(stopWaitMs)])
      } else if (this.#about.agentCapabilities?.sessionCapabilities?.close != null) {
        const closed = agent.request('session/close', { sessionId }).catch(() => undefined)
        await Promise.race([closed, this.#process.gone(exitWaitMs)])
      }
      this.#child.stdin.end()
      await this.#process.gone(exitWaitMs)
    } else this.#process.kill()
    await endGroup(this.#process, this.#child.pid)
  }

  /**
   * Passes an output to the reader and waits until the reader has processed it. Before the agent is connected, nobody
   * reads the queue, so the method does not wait.
   */
  async #put(output: AgentOutput): Promise<void> {
    const processed = this.#queue.put(output)
    if (this.#live) await processed
  }

  async #receive(frame: Frame): Promise<void> {
    const { replaying } = this.#state
    if (replaying) this.#replayed ||= isUpdate(frame)
    else await this.#put({ type: 'native', message: frame.message })
    await this.#take(frame)
  }

  async #take(frame: Frame): Promise<void> {
    const { state, outputs, unasked = [] } = translate(this.#state, frame)
    const { mode } = this.#state.config
    this.#state = state
    if (state.signedIn !== undefined) this.#signInReported.resolve()
    for (const output of outputs) await this.#put(output)
    this.#closeWhenQuiet()
    for (const ask of unasked) void this.#requests.checkUnasked(ask)
    if (state.config.mode !== mode && this.#live) void this.#keepMode()
  }

  /**
   * Ends open texts after a silence, if no turn runs. In a turn, a text ends when another message arrives; outside a
   * turn, there may be no further message.
   */
  #closeWhenQuiet(): void {
    clearTimeout(this.#quiet)
    if (this.#state.turn || this.#state.replaying || Object.keys(this.#state.open).length === 0) return
    this.#quiet = globalThis.setTimeout(() => {
      const { state, outputs } = closeTexts(this.#state)
      this.#state = state
      for (const output of outputs) void this.#put(output)
    }, quietMs)
    this.#quiet.unref()
  }

  async #takeInvalidLine(line: string): Promise<void> {
    this.#invalidLines++
    if (this.#invalidLines <= maxRecordedLines) {
      const reason = 'a line on stdout that is not a message'
      return this.#put({ type: 'agent.unrecognised', native: line, reason })
    }
    if (this.#invalidLines > maxRecordedLines + 1) return
    const text = `${this.#options.agent.name} writes more lines that are not messages; they are not recorded.`
    await this.#put({ type: 'agent.noticed', level: 'warning', code: 'garbage', text })
  }

  /** If the agent switches by itself to a mode that Parley does not use, restores the requested mode. */
  async #keepMode(): Promise<void> {
    const { config, modes, requestedMode } = this.#state
    const known = Object.values(modes).includes(config.mode ?? null)
    if (known || !modes[requestedMode]) return
    await this.configure({ mode: requestedMode })
  }

  /**
   * After a plan is approved, records `ask` as the requested mode. The agent itself reports when the mode is in
   * effect.
   */
  #leavePlan(): void {
    if (this.#state.requestedMode !== 'plan') return
    this.#state = { ...this.#state, requestedMode: 'ask' }
    void this.#put({ type: 'session.configured', requested: { mode: 'ask' } })
  }

  async #end(): Promise<void> {
    this.#turnOver.resolve()
    if (!this.#live) return
    await this.#process.gone(exitWaitMs)
    await endGroup(this.#process, this.#child.pid)
    await Promise.race([this.#silent.promise, setTimeout(lastLinesMs, undefined, { ref: false })])
    void this.#queue.put(this.#disconnection())
    this.#queue.end()
  }

  #disconnection(): AgentOutput {
    const last = this.#process.exitDetails()
    if (this.#closing) return { type: 'agent.disconnected', reason: 'closed', ...last }
    const message = `The process of ${this.#options.agent.name} has ended.`
    return {
      type: 'agent.disconnected',
      reason: 'crashed',
      error: { code: 'agent_failed', message },
      ...last,
    }
  }
}

function isUpdate({ message }: Frame): boolean {
  return message?.method === 'session/update'
}
