import {
  type AgentConnection,
  type AgentMessage,
  type AgentOutput,
  askAgain,
  type ConnectInput,
} from '@parley/adapter-kit'
import { hostToolNames } from '@parley/adapter-kit/host-tool-server'
import type { JsonRpcId } from '@parley/adapter-kit/json-rpc'
import { createOutputQueue } from '@parley/adapter-kit/output-queue'
import { resolvesWithin, unlessAborted } from '@parley/adapter-kit/time-limit'
import { withDenied, withInterrupt, withoutTurn } from '@parley/adapter-kit/translation'
import { messageOf, type PromptPart, type SessionSettings } from '@parley/protocol'
import { type ExitDetails, Inbox } from './app-server.ts'
import type { AppServerPool, Lease } from './app-server-pool.ts'
import {
  interruptTurns,
  introduce,
  leaveThreads,
  openThread,
  type RunningTurn,
  remembers,
} from './conversation.ts'
import type { CallCheck } from './hook-server.ts'
import { HostToolOffer } from './host-tools.ts'
import type { NativeMessage, NativeThreadOpened } from './native.ts'
import { type HookFailure, hookFailure } from './native-hook.ts'
import { createCallCheck } from './permission.ts'
import { isCompaction, type Skill, userInput } from './prompt.ts'
import { Requests } from './requests.ts'
import { turnParams } from './settings.ts'
import { translate } from './translate.ts'
import {
  initialState,
  optionsInForce,
  parentOf,
  type TranslateState,
  withNativeTurn,
  withSandbox,
  withSettings,
  withTurn,
} from './translate-state.ts'

const leaveMs = 1_000

type Disconnection = Pick<Extract<AgentOutput, { type: 'agent.disconnected' }>, 'reason' | 'error'>

/** Opens a conversation on the program that all sessions share. */
export async function connectCodex(pool: AppServerPool, input: ConnectInput): Promise<AgentConnection> {
  const lease = await pool.acquire(input.signal)
  let offer: HostToolOffer | undefined
  let opening: ReturnType<typeof openThread> | undefined
  try {
    offer = await HostToolOffer.open(input.hostTools)
    opening = openThread(lease.server, input, offer?.config)
    const opened = await unlessAborted(
      opening,
      input.signal,
      'Cancelled while Codex opened the conversation.',
    )
    return new CodexConnection(lease, input, { opened, offer })
  } catch (error) {
    await offer?.close()
    if (input.signal.aborted && opening) await giveUp(lease, input, opening)
    await lease.release()
    throw error
  }
}

/**
 * Gives up a conversation that is being opened. If Codex opens the conversation nevertheless, it is unloaded. If
 * other sessions use the program, waits a limited time for the unloading.
 */
async function giveUp(lease: Lease, { resume }: ConnectInput, opening: ReturnType<typeof openThread>) {
  const { server, isShared } = lease
  void server.checkAlive()
  const abandoned = server.abandon(opening, resume?.fork ? undefined : resume?.agentSessionId)
  if (isShared) await resolvesWithin(leaveMs, abandoned)
}

class CodexConnection implements AgentConnection {
  readonly events: AsyncIterable<AgentOutput>
  readonly #lease: Lease
  readonly #input: ConnectInput
  readonly #opened: NativeThreadOpened
  readonly #offer: HostToolOffer | undefined
  readonly #queue = createOutputQueue(() => void this.close())
  readonly #requests: Requests
  readonly #check: CallCheck
  readonly #skills: Promise<readonly Skill[]>
  readonly #inbox: Inbox
  #settings: SessionSettings
  #state: TranslateState
  #wasPlan: boolean
  /** Codex's id of the last turn that was sent; undefined if Codex did not accept it. */
  #turn = Promise.withResolvers<string | undefined>()
  #closed: Promise<void> | undefined

  constructor(
    lease: Lease,
    input: ConnectInput,
    { opened, offer }: { opened: NativeThreadOpened; offer: HostToolOffer | undefined },
  ) {
    this.#lease = lease
    this.#input = input
    this.#opened = opened
    this.#inbox = new Inbox(lease.server, (message) => this.#stopUnchecked(message))
    this.#offer = offer
    this.#settings = input.settings
    this.#wasPlan = opened.collaborationMode?.mode === 'plan'
    const { options = {} } = input.settings
    const { model, thread, reasoningEffort } = opened
    const hostTools = hostToolNames(input.hostTools)
    this.#state = withSettings(initialState({ threadId: thread.id, cwd: input.cwd, hostTools }), {
      options,
      model,
      effort: reasoningEffort ?? undefined,
    })
    this.events = this.#queue.outputs
    const put = (output: AgentOutput) => this.#queue.put(output)
    this.#requests = new Requests({
      server: lease.server,
      person: input.person,
      state: () => this.#state,
      denied: (toolCallId) => this.#deny(toolCallId),
      explain: (threadId, reason) => this.#explain(threadId, reason),
      put: (output) => void put(output),
    })
    this.#reportConfigured()
    this.#skills = introduce(lease.server, input, opened, put)
    this.#check = createCallCheck({
      person: input.person,
      cwd: input.cwd,
      state: () => this.#state,
      put,
      sandboxed: (toolCallId, permissions) => {
        this.#state = withSandbox(this.#state, toolCallId, permissions)
      },
    })
    offer?.join({
      parentOf: (threadId) => parentOf(this.#state, threadId),
      denied: (toolCallId) => this.#deny(toolCallId),
    })
    this.#follow(thread.id)
    void this.#pump()
  }

  /** Subscribes to a conversation, the session's own or that of a subagent, and checks its calls. */
  #follow(threadId: string): void {
    const { server } = this.#lease
    const { id, sessionId = id } = this.#opened.thread
    server.hookServer.join({ threadId, sessionId, check: this.#check })
    server.claim(threadId, this.#inbox)
  }

  get #threadId(): string {
    return this.#opened.thread.id
  }

  #call<Result>(method: string, params: object): Promise<Result> {
    return this.#lease.server.call(method, { threadId: this.#threadId, ...params })
  }

  // Calls from the host

  async send(message: AgentMessage): Promise<'pending' | undefined> {
    if (this.#over) return undefined
    const { prompt } = message
    if (message.type === 'prompt' && prompt.delivery === 'steer')
      return this.#state.turn ? this.#steer(prompt.parts, prompt.promptId) : 'pending'
    this.#turn = Promise.withResolvers()
    this.#state = withTurn(this.#state, { compacting: isCompaction(prompt.parts) })
    try {
      await this.#begin(message)
    } catch (error) {
      this.#turn.resolve(undefined)
      if (!this.#over) this.#failTurn(error)
    }
  }

  async #begin(message: AgentMessage): Promise<void> {
    const { prompt } = message
    if (isCompaction(prompt.parts)) return void (await this.#call('thread/compact/start', {}))
    const parts: readonly PromptPart[] =
      message.type === 'continue' && (await this.#remembers(prompt.promptId))
        ? [{ type: 'text', text: askAgain(message.openCalls) }]
        : prompt.parts
    const { outputSchema } = this.#settings.options ?? {}
    const { turn } = await this.#call<{ turn: { id: string } }>('turn/start', {
      clientUserMessageId: prompt.promptId,
      input: await this.#inputOf(parts),
      ...this.#turnParams(),
      ...(outputSchema && { outputSchema }),
    })
    this.#state = withNativeTurn(this.#state, turn.id)
    this.#turn.resolve(turn.id)
  }

  /**
   * True if the conversation contains this prompt. A conversation that could not be resumed was replaced by a new one
   * and contains nothing.
   */
  async #remembers(promptId: string): Promise<boolean> {
    const isResumed = this.#input.resume?.agentSessionId === this.#threadId
    return isResumed && remembers(this.#lease.server, this.#threadId, promptId)
  }

  async #inputOf(parts: readonly PromptPart[]) {
    const named = parts.some(({ type }) => type === 'command')
    return userInput(parts, named ? await this.#skills : [])
  }

  #turnParams(): Record<string, unknown> {
    const { model, sandbox } = this.#opened
    const { cwd } = this.#input
    const params = turnParams(this.#settings, { cwd, model, sandbox, wasPlan: this.#wasPlan })
    this.#wasPlan ||= this.#settings.mode === 'plan'
    return params
  }

  /**
   * Sends a text into the running turn. If Codex refuses the text, because the turn has ended or cannot be steered,
   * returns `pending`, and the host sends the text again.
   */
  async #steer(parts: readonly PromptPart[], promptId: string): Promise<'pending' | undefined> {
    try {
      await this.#call('turn/steer', {
        expectedTurnId: await this.#turn.promise,
        clientUserMessageId: promptId,
        input: await this.#inputOf(parts),
      })
      return undefined
    } catch {
      return 'pending'
    }
  }

  #failTurn(error: unknown): void {
    this.#state = withoutTurn(this.#state)
    void this.#queue.put({
      type: 'turn.ended',
      outcome: 'failed',
      stopReason: 'error',
      error: { code: 'agent_failed', message: `Codex did not accept the prompt: ${messageOf(error)}` },
    })
  }

  async interrupt(): Promise<void> {
    if (this.#over) return
    this.#state = withInterrupt(this.#state)
    const commands = [...this.#state.calls].filter(([, { isCommand }]) => isCommand)
    const subagents = this.#subagentTurns()
    try {
      const own = { threadId: this.#threadId, turnId: await this.#turn.promise }
      await interruptTurns(this.#lease.server, [own, ...subagents], new Set(commands.map(([id]) => id)))
    } catch (error) {
      this.#notice('Codex did not stop the turn', error)
    }
  }

  #subagentTurns(): RunningTurn[] {
    return [...this.#state.subagents].map(([threadId, { nativeTurn }]) => ({ threadId, turnId: nativeTurn }))
  }

  /** Settings that the conversation reports take effect now; the others take effect when it is next opened. */
  async configure(settings: SessionSettings): Promise<void> {
    if (this.#over) return
    this.#settings = settings
    try {
      await this.#call('thread/settings/update', this.#turnParams())
      const { model = this.#opened.model, options = {} } = settings
      const effort = options.effort ?? this.#state.reported.effort
      this.#state = withSettings(this.#state, { options, model, effort })
      this.#reportConfigured()
    } catch (error) {
      this.#notice('Codex did not accept the new settings', error)
    }
  }

  #reportConfigured(): void {
    const { mode = 'ask' } = this.#settings
    const { model } = this.#state.reported
    const effective = { mode, ...(model !== undefined && { model }), ...optionsInForce(this.#state) }
    void this.#queue.put({ type: 'session.configured', effective })
  }

  close(): Promise<void> {
    this.#closed ??= this.#shut({ reason: 'closed' })
    return this.#closed
  }

  kill(): void {
    this.#lease.server.kill()
    void this.close()
  }

  async #shut(disconnection: Disconnection): Promise<void> {
    const { server } = this.#lease
    this.#requests.close()
    server.hookServer.leave(this.#check)
    this.#inbox.close()
    const mustLeave = this.#lease.isShared || disconnection.reason === 'crashed'
    const left = !mustLeave || server.over || (await resolvesWithin(leaveMs, this.#leaveThreads()))
    if (!left) void server.checkAlive()
    await this.#lease.release()
    void this.#queue.put({ type: 'agent.disconnected', ...disconnection })
    this.#queue.end()
    await this.#offer?.close()
  }

  #leaveThreads(): Promise<void> {
    const own = { threadId: this.#threadId, turnId: this.#state.turn?.nativeId }
    return leaveThreads(this.#lease.server, [own, ...this.#subagentTurns()])
  }

  get #over(): boolean {
    return this.#closed !== undefined || this.#inbox.exitDetails !== undefined
  }

  // Messages from Codex

  /** Translates messages one after another, as fast as the reader reads the outputs. */
  async #pump(): Promise<void> {
    for await (const message of this.#inbox.messages()) await this.#take(message)
    if (!this.#closed && this.#inbox.exitDetails) this.#reportLost(this.#inbox.exitDetails)
  }

  async #take(message: NativeMessage): Promise<void> {
    await this.#queue.put({ type: 'native', message })
    if (this.#closed) return
    if ('id' in message) return this.#requests.take(message)
    const failure = hookFailure(message)
    if (failure && !this.#state.interrupting) return this.#endAfterHookFailure(failure)
    if (message.method === 'serverRequest/resolved') {
      this.#requests.resolved((message.params as { requestId: JsonRpcId }).requestId)
    }
    const { state, outputs } = translate(this.#state, message)
    const known = this.#state.subagents
    this.#state = state
    if (state.turn?.nativeId !== undefined) this.#turn.resolve(state.turn.nativeId)
    for (const output of outputs) await this.#queue.put(output)
    this.#offer?.callsRecorded(state.calls)
    this.#requests.callsOpen(state.calls)
    for (const threadId of state.subagents.keys()) {
      if (!known.has(threadId)) this.#follow(threadId)
    }
  }

  /**
   * Interrupts the turn of a call for which our hook failed, before the next message is read: the call may already be
   * running.
   */
  #stopUnchecked(message: NativeMessage): void {
    const { threadId, turnId = null } = hookFailure(message) ?? {}
    if (turnId !== null) void this.#call('turn/interrupt', { threadId, turnId }).catch(() => undefined)
  }

  #endAfterHookFailure({ why }: HookFailure): void {
    const message = `Codex was stopped, because its hook could not ask Parley about a call: ${why}.`
    this.#closed ??= this.#shut({ reason: 'crashed', error: { code: 'agent_failed', message } })
  }

  #reportLost(words: ExitDetails): void {
    this.#requests.close()
    this.#lease.server.hookServer.leave(this.#check)
    const how = this.#lease.server.stalled ? 'stopped answering and was ended' : 'ended'
    const message = `Codex ${how} while the session was open. The next prompt starts it again.`
    const error = { code: 'agent_failed' as const, message }
    void this.#queue.put({ type: 'agent.disconnected', reason: 'crashed', error, ...words })
    this.#queue.end()
    void this.#offer?.close()
    void this.#lease.release()
  }

  #deny(toolCallId: string): void {
    this.#state = withDenied(this.#state, toolCallId)
  }

  async #explain(threadId: string, reason: string): Promise<void> {
    const { turn, subagents } = this.#state
    const expectedTurnId = subagents.get(threadId)?.nativeTurn ?? turn?.nativeId
    const input = userInput([{ type: 'text', text: `This call is refused: ${reason}` }])
    await this.#call('turn/steer', { threadId, expectedTurnId, input }).catch(() => undefined)
  }

  /** Reports a failed request to Codex, unless the program is ending, which may be the cause of the failure. */
  #notice(what: string, error: unknown): void {
    if (this.#over) return
    const text = `${what}: ${messageOf(error)}`
    void this.#queue.put({ type: 'agent.noticed', level: 'warning', code: 'not_done', text })
  }
}
