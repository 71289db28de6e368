import type { OpencodeClient, Session } from '@opencode-ai/sdk/v2/client'
import type { AgentConnection, AgentMessage, AgentOutput, ConnectInput } from '@parley/adapter-kit'
import { createOutputQueue } from '@parley/adapter-kit/output-queue'
import { resolvesWithin, unlessAborted } from '@parley/adapter-kit/time-limit'
import { withInterrupt, withoutTurn } from '@parley/adapter-kit/translation'
import { ParleyError, type Prompt, type SessionSettings } from '@parley/protocol'
import { applyRules, type Conversation, openConversation } from './conversation.ts'
import { readEvents } from './events.ts'
import { errorText, ignoredFrames } from './native.ts'
import { commandIn, type NativeCommand, nativeParts, PromptSender } from './prompt.ts'
import { Requests } from './requests.ts'
import { sessionRules } from './rules.ts'
import type { OpenCodeServer, SharedServer } from './server.ts'
import type { Advice, ServerInfo } from './server-info.ts'
import { EffectiveSettings } from './settings.ts'
import { concerns, propertiesOf, translate, typeOf } from './translate.ts'
import {
  initialState,
  type TranslateState,
  type Translation,
  withDenied,
  withoutOrphan,
  withoutSteering,
  withSteering,
  withTurn,
} from './translate-state.ts'
import { withGap } from './translate-stream.ts'
import { failToBegin } from './translate-turn.ts'
import { TurnWatch } from './turn-watch.ts'

/** The time limit for stopping a running turn when the connection is closed. */
const stopMs = 1_000
/** The time limit for OpenCode to confirm a stop. It usually confirms at once. */
const answerMs = 3_000

/** Objects that all connections of an adapter share. */
type Shared = { readonly advice: Advice }
type Opened = Conversation & { readonly client: OpencodeClient }

/** Opens a conversation on a server, and releases the server if that fails. */
export async function connectOpenCode(
  { server, release }: SharedServer,
  input: ConnectInput,
  shared: Shared,
): Promise<AgentConnection> {
  try {
    const opening = open({ server, release }, input, shared)
    return await unlessAborted(opening, input.signal, 'Cancelled while OpenCode was starting.')
  } catch (error) {
    const { stderrTail } = server.exitDetails()
    if (input.signal.aborted) server.checkAlive()
    await release()
    if (error instanceof ParleyError) throw error
    throw new ParleyError('agent_failed', `OpenCode could not open the conversation: ${errorText(error)}`, {
      details: { ...(stderrTail !== undefined && { stderrTail }) },
      cause: error,
    })
  }
}

async function open(shared: SharedServer, input: ConnectInput, { advice }: Shared): Promise<AgentConnection> {
  const client = shared.server.client(input.cwd)
  const conversation = await openConversation(client, input, advice)
  const connection = new OpenCodeConnection(shared, input, { ...conversation, client })
  const abandon = () => void connection.close()
  input.signal.addEventListener('abort', abandon, { once: true })
  try {
    if (input.signal.aborted) {
      await connection.close()
      throw new ParleyError('cancelled', 'Cancelled while OpenCode opened the conversation.')
    }
    await connection.start()
    return connection
  } finally {
    input.signal.removeEventListener('abort', abandon)
  }
}

class OpenCodeConnection implements AgentConnection {
  readonly events: AsyncIterable<AgentOutput>
  readonly #input: ConnectInput
  readonly #server: OpenCodeServer
  readonly #release: () => Promise<void>
  readonly #client: OpencodeClient
  readonly #info: ServerInfo
  readonly #settings: EffectiveSettings
  readonly #prompts: PromptSender
  readonly #queue = createOutputQueue(() => void this.close())
  readonly #requests: Requests
  readonly #reading = new AbortController()
  readonly #ready = Promise.withResolvers<void>()
  readonly #session: Session
  #state: TranslateState
  readonly #watch: TurnWatch
  #isReady = false
  #closing = false
  #closed: Promise<void> | undefined
  #stopping: Promise<void> = Promise.resolve()

  constructor({ server, release }: SharedServer, input: ConnectInput, opened: Opened) {
    const { client, info, session, used } = opened
    this.#input = input
    this.#server = server
    this.#release = release
    this.#client = client
    this.#info = info
    this.#session = session
    this.#settings = new EffectiveSettings(info, input.settings, (output) => void this.#queue.put(output))
    this.#prompts = new PromptSender(client, session.id, this.#settings)
    this.#state = initialState({
      root: session.id,
      cwd: input.cwd,
      title: session.title,
      windows: info.windows,
      servers: info.mcpServers.map(({ name }) => name),
      ...used,
    })
    this.#requests = new Requests({
      person: input.person,
      session: input,
      client,
      hasTurn: () => this.#state.turn !== undefined,
      isOver: () => this.#closing || !this.#server.alive || this.#state.interrupting,
      problem: (what, error) => this.#problem(what, error),
      agents: info.agents,
      denied: (toolCallId) => {
        this.#state = withDenied(this.#state, toolCallId)
      },
      endTurn: () => void this.interrupt(),
    })
    this.#requests.useAgent(session.id, this.#settings.agent?.name ?? '')
    this.#watch = new TurnWatch({
      client,
      state: () => this.#state,
      give: (translation) => this.#give(translation),
      reconcileRequests: (permissions, questions) => this.#requests.reconcile(permissions, questions),
      isOver: () => this.#closing || !this.#server.alive,
      problem: (what, error) => this.#problem(what, error),
    })
    this.events = this.#queue.outputs
  }

  /** Resolves when the event stream is open, so that no later event is missed. */
  async start(): Promise<void> {
    this.#settings.reportConnected(this.#session.id, this.#input)
    const ended = this.#pump()
    await Promise.race([this.#ready.promise, ended])
    if (!this.#isReady) throw new Error('it exited right after it was started')
  }

  async send(message: AgentMessage): Promise<'pending' | undefined> {
    if (this.#closing) return undefined
    const { type, prompt } = message
    if (type === 'prompt' && prompt.delivery === 'steer')
      return this.#state.turn ? this.#steer(prompt) : 'pending'
    // OpenCode applies a refusal to all requests that wait in the session, so old requests must be refused before a new
    // request can wait.
    const cleared = this.#requests.clear()
    const round = this.#watch.begin()
    this.#state = withTurn(this.#state, Date.now())
    try {
      await cleared
      await this.#useAgent()
      await this.#begin(message)
    } catch (error) {
      await this.#fail(error, round)
    }
    return undefined
  }

  outsideMessages(): Promise<'nothing' | 'known'> {
    return this.#prompts.outsideMessages()
  }

  async interrupt(): Promise<void> {
    if (this.#closing || !this.#state.turn) return
    this.#state = withInterrupt(this.#state)
    this.#stopping = this.#stopping.then(() => this.#stop())
    await this.#stopping
  }

  async configure(settings: SessionSettings): Promise<void> {
    if (!this.#closing) this.#settings.configure(settings, this.#state.turn !== undefined)
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  kill(): void {
    this.#server.kill()
    void this.close()
  }

  async #close(): Promise<void> {
    this.#closing = true
    this.#watch.begin()
    if (this.#state.turn) await resolvesWithin(stopMs, this.#stop())
    this.#reading.abort()
    await this.#release()
  }

  /** Sets the rules of the agent that will run the prompt, before the prompt is sent. */
  async #useAgent(): Promise<void> {
    const { agent } = this.#settings
    await applyRules(this.#client, this.#session.id, sessionRules(agent, this.#info.unasked))
    if (agent) this.#requests.useAgent(this.#session.id, agent.name)
    this.#settings.beginTurn()
  }

  async #begin(message: AgentMessage): Promise<void> {
    const { prompt } = message
    const messageId = this.#prompts.idOf(prompt)
    if (message.type === 'continue' && (await this.#prompts.isStored(messageId)))
      return this.#prompts.askAgain(message.openCalls)
    const command = commandIn(prompt.parts, this.#input.cwd)
    if (command) return this.#run(command, messageId)
    await this.#prompts.prompt(messageId, nativeParts(prompt.parts, this.#input.cwd))
  }

  /**
   * Runs a command without waiting for the response, which arrives only at the end of the command, perhaps long after
   * its HTTP connection timed out. Events report the progress.
   */
  async #run(command: NativeCommand, messageId: string): Promise<void> {
    const { round } = this.#watch
    const lastModel = this.#state.reportedModel ?? this.#info.defaultModel ?? ''
    this.#prompts.command(messageId, command, lastModel).catch((error: unknown) => {
      if (!this.#state.turn?.begun) void this.#fail(error, round)
    })
  }

  /**
   * Sends a prompt into the running turn. If the request fails and OpenCode has not stored the prompt,
   * returns `pending`, and the host sends it again.
   */
  async #steer(prompt: Prompt): Promise<'pending' | undefined> {
    const messageId = this.#prompts.idOf(prompt)
    this.#state = withSteering(this.#state, messageId)
    try {
      await this.#prompts.prompt(messageId, nativeParts(prompt.parts, this.#input.cwd))
    } catch {
      if (await this.#prompts.isStored(messageId).catch(() => false)) return undefined
      this.#state = withoutSteering(this.#state, messageId)
      // OpenCode may have reported idle while the request was pending. That report was ignored, so the status is read
      // again.
      void this.#watch.catchUp()
      return 'pending'
    }
    return undefined
  }

  /** Called when the prompt of this round failed. If the server has died, its end also ends the turn. */
  async #fail(error: unknown, round: number): Promise<void> {
    if (!(await this.#server.responds())) return this.#server.checkAlive()
    if (this.#closing || !this.#server.alive || !this.#state.turn || round !== this.#watch.round) return
    // OpenCode has begun the turn, so only the answer to the request was lost.
    if (this.#state.turn.begun) return
    const failed = failToBegin(this.#state)
    if (failed.outputs.length > 0) return void this.#give(failed)
    const failure =
      error instanceof ParleyError
        ? error
        : new ParleyError('agent_failed', `OpenCode did not accept the prompt: ${errorText(error)}`)
    const output = { outcome: 'failed', stopReason: 'not_taken', error: failure.toInfo() } as const
    void this.#give({ state: withoutTurn(this.#state), outputs: [{ type: 'turn.ended', ...output }] })
  }

  async #stop(): Promise<void> {
    const stopped = await resolvesWithin(answerMs, this.#abort())
    if (!stopped) this.#server.checkAlive()
    await resolvesWithin(answerMs, this.#requests.refuseAll())
  }

  async #abort(): Promise<void> {
    try {
      await this.#client.session.abort({ sessionID: this.#session.id }, { throwOnError: true })
    } catch (error) {
      this.#problem('stop', error)
    }
  }

  async #pump(): Promise<void> {
    const { signal } = this.#reading
    try {
      for await (const event of readEvents(this.#client, { alive: () => this.#server.alive, signal })) {
        if (this.#closing) break
        if (typeOf(event) === 'server.connected') await this.#connected()
        else await this.#take(event)
      }
    } catch (error) {
      this.#problem('send readable events', error)
    }
    this.#requests.end()
    void this.#queue.put(await this.#disconnected())
    this.#queue.end()
  }

  /** Called on the first connection of the event stream and after each gap. */
  async #connected(): Promise<void> {
    if (!this.#isReady) {
      this.#isReady = true
      return this.#ready.resolve()
    }
    this.#state = withGap(this.#state)
    await this.#watch.catchUp()
    this.#watch.expectStart()
  }

  async #take(event: unknown): Promise<void> {
    const type = typeOf(event)
    if (Object.hasOwn(ignoredFrames, type) || !concerns(this.#state, event)) return
    await this.#queue.put({ type: 'native', message: event })
    await this.#give(translate(this.#state, event))
    this.#attend(type, propertiesOf(event))
  }

  async #give({ state, outputs }: Translation): Promise<void> {
    this.#state = state
    for (const output of outputs) {
      if (output.type === 'turn.ended') await this.#stopping
      await this.#queue.put(output)
      if (output.type !== 'tool-call.called') continue
      const call = this.#state.calls.get(output.toolCallId)
      if (call) this.#requests.callRecorded(call.key, output)
    }
  }

  /** Performs the actions that an event requires of the connection. */
  #attend(type: string, properties: Readonly<Record<string, unknown>>): void {
    this.#requests.take(type, properties)
    switch (type) {
      case 'session.error':
        return this.#watch.expectStartAfterError()
      case 'session.status':
      case 'session.idle':
        return this.#followUp()
    }
  }

  /**
   * Stops the turn if a stop was requested before OpenCode had started it, and sends a steered prompt again if
   * OpenCode's turn missed it.
   */
  #followUp(): void {
    const { turn, interrupting } = this.#state
    if (turn?.begun && interrupting && !turn.answer) {
      this.#stopping = this.#stopping.then(() => this.#stop())
    }
    if (interrupting && this.#state.messages.size > 0) this.#watch.expectStart()
    if (turn?.orphan === undefined) return
    this.#state = withoutOrphan(this.#state)
    const { round } = this.#watch
    this.#prompts.prompt(turn.orphan, []).catch((error: unknown) => this.#fail(error, round))
  }

  async #disconnected(): Promise<AgentOutput> {
    if (this.#closing) return { type: 'agent.disconnected', reason: 'closed' }
    await this.#release()
    const words = this.#server.exitDetails()
    const error = { code: 'agent_failed' as const, message: 'The server of OpenCode ended unexpectedly.' }
    return { type: 'agent.disconnected', reason: 'crashed', error, ...words }
  }

  /**
   * Records a notice about a failed request to OpenCode, unless the server is ending, which may be the cause of the
   * failure.
   */
  #problem(what: string, error: unknown): void {
    if (this.#closing || !this.#server.alive) return
    const text = `OpenCode did not ${what}: ${errorText(error)}`
    void this.#queue.put({ type: 'agent.noticed', level: 'warning', code: 'not_done', text })
  }
}
