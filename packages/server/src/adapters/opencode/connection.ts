import type { OpencodeClient, Session } from '@opencode-ai/sdk/v2/client'
import {
  type Billing,
  ParleyError,
  type PermissionMode,
  type Prompt,
  type RewindPreview,
  type SessionSettings,
} from '@parley/protocol'
import {
  type AgentConnection,
  type AgentMessage,
  type AgentOutput,
  askAgain,
  type ConnectInput,
} from '../../core/agent-adapter.ts'
import { createOutputQueue } from '../output-queue.ts'
import { type RewindKeeper, type RewindRequest, rewindRequest } from '../rewind.ts'
import { within } from '../within.ts'
import { AnnouncedCalls } from './announced-calls.ts'
import { applyRules, type usageOf } from './conversation.ts'
import { readEvents } from './events.ts'
import { billingOfModel, connectedOutput, type Introduction } from './introduction.ts'
import { ignoredFrames } from './native.ts'
import { newMessageId, Outgoing } from './outgoing.ts'
import { commandIn, messageIdOf, type NativeCommand, nativeParts } from './prompt.ts'
import { Requests } from './requests.ts'
import { previewRewind, rewind } from './rewind.ts'
import { sessionRules } from './rules.ts'
import type { OpenCodeServer, SharedServer } from './server.ts'
import { concerns, propertiesOf, translate, typeOf } from './translate.ts'
import { afterGap } from './translate-snapshot.ts'
import {
  initialState,
  type TranslateState,
  type Translation,
  withDenied,
  withInterrupt,
  withoutOrphan,
  withoutSteering,
  withoutTurn,
  withSteering,
  withTurn,
} from './translate-state.ts'
import { failToBegin } from './translate-turn.ts'
import { TurnWatch } from './turn-watch.ts'
import { wordsOf } from './words-of.ts'

/** How long a running turn may take to stop when the connection is closed. */
const stopMs = 1_000
/** How long OpenCode may take to confirm a stop. It usually does so at once: a server that does not may hang. */
const answerMs = 3_000

/** The parts of a connection whose conversation is open. */
export type Opened = {
  readonly client: OpencodeClient
  readonly introduction: Introduction
  readonly session: Session
  readonly used: Awaited<ReturnType<typeof usageOf>>
  readonly keeper: RewindKeeper
}

export class OpenCodeConnection implements AgentConnection {
  readonly events: AsyncIterable<AgentOutput>
  readonly #input: ConnectInput
  readonly #server: OpenCodeServer
  readonly #release: () => Promise<void>
  readonly #client: OpencodeClient
  readonly #introduction: Introduction
  readonly #outgoing: Outgoing
  readonly #queue = createOutputQueue(() => void this.close())
  readonly #calls = new AnnouncedCalls()
  readonly #requests: Requests
  readonly #reading = new AbortController()
  readonly #ready = Promise.withResolvers<void>()
  /** The name of the agent of each session; for the root, the one whose rules are in effect. */
  readonly #agents = new Map<string, string>()
  readonly #session: Session
  readonly #keeper: RewindKeeper
  /** OpenCode's ids of the prompts that were sent here or reported as said elsewhere. */
  readonly #heard = new Set<string>()
  #state: TranslateState
  /** The billing as last reported. */
  #billing: Billing | undefined
  /** A mode that takes effect with the next turn. */
  #nextMode: PermissionMode | undefined
  readonly #watch: TurnWatch
  #isReady = false
  #closing = false
  #closed: Promise<void> | undefined
  #stopping: Promise<void> = Promise.resolve()

  constructor({ server, release }: SharedServer, input: ConnectInput, opened: Opened) {
    const { client, introduction, session, used, keeper } = opened
    this.#input = input
    this.#server = server
    this.#release = release
    this.#client = client
    this.#introduction = introduction
    this.#session = session
    this.#keeper = keeper
    this.#outgoing = new Outgoing(client, session.id, { introduction, settings: input.settings })
    this.#agents.set(session.id, this.#outgoing.agent?.name ?? '')
    this.#state = initialState({
      root: session.id,
      cwd: input.cwd,
      title: session.title,
      windows: introduction.windows,
      servers: introduction.mcpServers.map(({ name }) => name),
      ...used,
    })
    this.#requests = new Requests({
      person: input.person,
      session: input,
      client,
      calls: this.#calls,
      hasTurn: () => this.#state.turn !== undefined,
      isOver: () => this.#closing || !this.#server.alive || this.#state.interrupting,
      problem: (doing, error) => this.#problem(doing, error),
      agentIn: (sessionID) => this.#agent(this.#agents.get(sessionID) ?? ''),
      agent: (name) => this.#agent(name),
      denied: (toolCallId) => {
        this.#state = withDenied(this.#state, toolCallId)
      },
      endTurn: () => void this.interrupt(),
    })
    this.#watch = new TurnWatch({
      client,
      now: {
        state: () => this.#state,
        give: (translation) => this.#give(translation),
        waiting: (permissions, questions) => this.#requests.reconcile(permissions, questions),
      },
      isOver: () => this.#closing || !this.#server.alive,
      problem: (doing, error) => this.#problem(doing, error),
    })
    this.events = this.#queue.outputs
  }

  /** Resolves when the event stream is open: no later event is missed. */
  async start(): Promise<void> {
    void this.#introduce()
    const ended = this.#pump()
    await Promise.race([this.#ready.promise, ended])
    if (!this.#isReady) throw new Error('it ended as soon as it was started')
  }

  async send(message: AgentMessage): Promise<'pending' | undefined> {
    if (this.#closing) return undefined
    const { type, prompt } = message
    if (type === 'prompt' && prompt.delivery === 'steer')
      return this.#state.turn ? this.#steer(prompt) : 'pending'
    this.#calls.clear()
    // OpenCode applies a refusal to all requests that wait in the session, so it must arrive before a new one can
    // wait.
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

  /** OpenCode reads the conversation anew for each prompt, so it knows messages from other programs. */
  async saidElsewhere(): Promise<'nothing' | 'known'> {
    const { data } = await this.#client.session.messages({ sessionID: this.#session.id, limit: 1 })
    const last = data?.at(-1)?.info
    const id = last?.role === 'assistant' ? last.parentID : last?.id
    if (id === undefined || this.#heard.has(id)) return 'nothing'
    this.#heard.add(id)
    return 'known'
  }

  async interrupt(): Promise<void> {
    if (this.#closing || !this.#state.turn) return
    this.#state = withInterrupt(this.#state)
    this.#stopping = this.#stopping.then(() => this.#stop())
    await this.#stopping
  }

  /** The host keeps the mode, except for plan mode. Other settings take effect with the next prompt. */
  async configure(settings: SessionSettings): Promise<void> {
    if (this.#closing) return
    const before = this.#outgoing.agent
    this.#outgoing.configure(settings)
    const { mode } = this.#outgoing
    const waits = this.#state.turn !== undefined && this.#outgoing.agent !== before
    this.#nextMode = waits ? mode : undefined
    this.#configured(waits ? undefined : mode)
    this.#sayBilling(settings.model)
  }

  /** Providers are billed differently, and another model may belong to another provider. */
  #sayBilling(model: string | undefined): void {
    const billing = billingOfModel(this.#introduction, model)
    if (billing === undefined || billing === this.#billing) return
    this.#billing = billing
    void this.#queue.put({ type: 'agent.connected', billing })
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#closing = true
    this.#watch.begin()
    if (this.#state.turn) await within(stopMs, this.#stop())
    this.#reading.abort()
    await this.#release()
  }

  async #introduce(): Promise<void> {
    this.#billing = billingOfModel(this.#introduction, this.#input.settings.model)
    await this.#queue.put(connectedOutput(this.#introduction, this.#session.id, this.#input))
    this.#configured(this.#outgoing.mode)
    const { unasked } = this.#introduction
    if (unasked.length === 0) return
    const text = `OpenCode would run these tools without asking, so the model does not get them: ${unasked.join(', ')}`
    void this.#queue.put({ type: 'agent.noticed', level: 'info', code: 'tools-left-out', text })
  }

  #configured(mode: PermissionMode | undefined): void {
    const { options, missingEffort } = this.#outgoing
    const effective = { ...(mode && { mode }), ...(options && { options }) }
    void this.#queue.put({ type: 'session.configured', effective })
    if (missingEffort !== undefined) {
      const text = `The model has no effort "${missingEffort}": it is left out.`
      void this.#queue.put({ type: 'agent.noticed', level: 'warning', code: 'no-effort', text })
    }
  }

  /** Sets the rules of the agent that will work, before its prompt is sent. */
  async #useAgent(): Promise<void> {
    const { agent } = this.#outgoing
    await applyRules(this.#client, this.#session.id, sessionRules(agent, this.#introduction.unasked))
    if (agent) this.#agents.set(this.#session.id, agent.name)
    if (this.#nextMode) this.#configured(this.#nextMode)
    this.#nextMode = undefined
  }

  async #begin({ type, prompt }: AgentMessage): Promise<void> {
    const messageId = this.#idOf(prompt)
    if (type === 'continue' && (await this.#remembers(messageId))) {
      const again = newMessageId()
      this.#heard.add(again)
      return this.#outgoing.prompt(again, [{ type: 'text', text: askAgain }])
    }
    const request = rewindRequest(prompt.parts)
    if (request) return this.#rewind(request)
    const command = commandIn(prompt.parts, this.#input.cwd)
    if (command) return this.#run(command, messageId)
    await this.#outgoing.prompt(messageId, nativeParts(prompt.parts, this.#input.cwd))
  }

  #idOf({ promptId }: Prompt): string {
    const messageId = messageIdOf(this.#session.id, promptId)
    this.#heard.add(messageId)
    return messageId
  }

  async #remembers(messageID: string): Promise<boolean> {
    const { response } = await this.#client.session.message({ sessionID: this.#session.id, messageID })
    return response !== undefined && response.status !== 404
  }

  /**
   * The response comes at the end of the command, which may be long after its HTTP connection timed out. Events report
   * the progress.
   */
  async #run(command: NativeCommand, messageId: string): Promise<void> {
    const { round } = this.#watch
    this.#outgoing.run(messageId, command, this.#state.saidModel).catch((error: unknown) => {
      if (!this.#state.turn?.begun) void this.#fail(error, round)
    })
  }

  async #rewind(request: RewindRequest): Promise<void> {
    const context = { keeper: this.#keeper, session: this.#input }
    const output = await rewind(this.#client, this.#session.id, request, context)
    this.#give({ state: withoutTurn(this.#state), outputs: [output] })
  }

  previewRewind(promptId: string): Promise<RewindPreview> {
    return previewRewind(this.#client, this.#session.id, promptId)
  }

  /** If OpenCode has not stored a prompt whose request failed, the host sends it again. */
  async #steer(prompt: Prompt): Promise<'pending' | undefined> {
    const messageId = this.#idOf(prompt)
    this.#state = withSteering(this.#state, messageId)
    try {
      await this.#outgoing.prompt(messageId, nativeParts(prompt.parts, this.#input.cwd))
    } catch {
      if (await this.#remembers(messageId).catch(() => false)) return undefined
      this.#state = withoutSteering(this.#state, messageId)
      // OpenCode may have become idle while the request was pending, which was ignored then.
      void this.#watch.catchUp()
      return 'pending'
    }
    return undefined
  }

  /** The prompt of this round failed. If the server has died, the turn ends with it. */
  async #fail(error: unknown, round: number): Promise<void> {
    if (!(await this.#server.lives())) return this.#server.doubt()
    if (this.#closing || !this.#server.alive || !this.#state.turn || round !== this.#watch.round) return
    const told = failToBegin(this.#state)
    if (told.outputs.length > 0) return void this.#give(told)
    const failure =
      error instanceof ParleyError
        ? error
        : new ParleyError('agent_failed', `OpenCode did not take the prompt: ${wordsOf(error)}`)
    const output = { outcome: 'failed', stopReason: 'not_taken', error: failure.toInfo() } as const
    void this.#give({ state: withoutTurn(this.#state), outputs: [{ type: 'turn.ended', ...output }] })
  }

  async #stop(): Promise<void> {
    const stopped = await within(answerMs, this.#abort())
    if (!stopped) this.#server.doubt()
    await within(answerMs, this.#requests.refuseAll())
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
      this.#problem('be understood', error)
    }
    this.#calls.clear()
    void this.#queue.put(await this.#farewell())
    this.#queue.end()
  }

  /** Called on the first connection of the event stream and after each gap. */
  async #connected(): Promise<void> {
    if (!this.#isReady) {
      this.#isReady = true
      return this.#ready.resolve()
    }
    this.#state = afterGap(this.#state)
    await this.#watch.catchUp()
    this.#watch.doubt()
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
      if (call) this.#calls.announce(call.key, output)
    }
  }

  /** Handles what an event requires of the connection. */
  #attend(type: string, properties: Readonly<Record<string, unknown>>): void {
    this.#requests.hear(type, properties)
    switch (type) {
      case 'session.created': {
        const { id, agent } = properties.info as Session
        return void this.#agents.set(id, agent ?? '')
      }
      case 'session.error':
        return this.#watch.awaitTakingUp()
      case 'session.status':
      case 'session.idle':
        return this.#followUp()
    }
  }

  /** OpenCode can be stopped only once it works. A steered prompt that it missed is sent again. */
  #followUp(): void {
    const { turn, interrupting } = this.#state
    if (turn?.begun && interrupting && !turn.answer) {
      this.#stopping = this.#stopping.then(() => this.#stop())
    }
    if (interrupting && this.#state.messages.size > 0) this.#watch.doubt()
    if (turn?.orphan === undefined) return
    this.#state = withoutOrphan(this.#state)
    const { round } = this.#watch
    this.#outgoing.prompt(turn.orphan, []).catch((error: unknown) => this.#fail(error, round))
  }

  async #farewell(): Promise<AgentOutput> {
    if (this.#closing) return { type: 'agent.disconnected', reason: 'closed' }
    await this.#release()
    const words = this.#server.lastWords()
    const error = { code: 'agent_failed' as const, message: 'The server of OpenCode ended unexpectedly.' }
    return { type: 'agent.disconnected', reason: 'crashed', error, ...words }
  }

  #agent(name: string) {
    return this.#introduction.agents.find((agent) => agent.name === name)
  }

  /** If the server is just ending, the error is not a failure of the call. */
  #problem(doing: string, error: unknown): void {
    if (this.#closing || !this.#server.alive) return
    const text = `OpenCode did not ${doing}: ${wordsOf(error)}`
    void this.#queue.put({ type: 'agent.noticed', level: 'warning', code: 'not_done', text })
  }
}
