import {
  activityOf,
  type CommandInput,
  type Delta,
  defined,
  hasCode,
  newId,
  type OpenRequest,
  ParleyError,
  type PromptPart,
  pausedPrompts,
  type Receipt,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import { type FeedBatch, type FeedReader, type Host, hashOf } from '../../core/index.ts'
import type { AgentAbilities, TaskStatus } from './agent-calls.ts'
import type { CheckedConfig, CheckedResponse } from './check-call.ts'
import { joined, type PageMessage, PageMessages } from './page-messages.ts'

export type TaskParts = {
  readonly host: Host
  /** The agent id for a type that a page names. */
  readonly agentFor: (type: string) => string
  readonly send: (sessionId: string, message: PageMessage) => void
  /** Whether a page is also sent its own prompts. */
  readonly echoPrompts: boolean
}

/** A session of the task: the cursor up to which its messages were sent, and the state of its open blocks. */
type Followed = {
  cursor: number
  readonly messages: PageMessages
  /** Prompts that the page sent and shows already, until their events arrive. */
  readonly own: Set<string>
}

type WithoutId<Input> = Input extends unknown ? Omit<Input, 'commandId'> : never

/** One task of the page: an agent, its sessions, and the active session. */
export class Task {
  readonly #parts: TaskParts
  readonly #config: CheckedConfig
  readonly #sessions = new Map<string, Followed>()
  #active: string | undefined
  #leaving = new AbortController()
  #lastError: string | undefined

  constructor(parts: TaskParts, config: CheckedConfig) {
    this.#parts = parts
    this.#config = config
  }

  isConfiguredLike(config: CheckedConfig): boolean {
    return hashOf(config) === hashOf(this.#config)
  }

  get active(): string | undefined {
    return this.#active
  }

  async create(): Promise<string> {
    const { type, payload } = this.#config
    const agent = this.#parts.agentFor(type)
    const { id } = await this.#parts.host.create({ ...payload, agent, commandId: newId('cmd') })
    await this.#follow(id, this.#fresh(0))
    return id
  }

  /** Follows the session from its beginning and sends all of its prompts, including those of other clients. */
  async load(sessionId: string): Promise<string> {
    const { seq } = await this.#parts.host.state(sessionId)
    await this.#follow(sessionId, this.#fresh(0, seq))
    return sessionId
  }

  /** Follows the session from now on. Open requests are sent again. */
  async resume(sessionId: string): Promise<string> {
    const state = await this.#parts.host.state(sessionId)
    const followed = this.#fresh(state.seq)
    await this.#follow(sessionId, followed, state.requests.map(asEvent(state)))
    return sessionId
  }

  async activate(sessionId: string): Promise<string> {
    const followed = this.#sessions.get(sessionId)
    if (!followed) {
      const message = `This task does not know the session ${sessionId}. Load or resume it first.`
      throw new ParleyError('not_found', message, { details: { sessions: [...this.#sessions.keys()] } })
    }
    if (sessionId !== this.#active) await this.#follow(sessionId, followed)
    return sessionId
  }

  async send(text: string, images: readonly PromptPart[]): Promise<string> {
    const messageId = newId('prm')
    const { own } = this.#sessions.get(this.#session()) ?? {}
    if (!this.#parts.echoPrompts) own?.add(messageId)
    const words: PromptPart[] = text === '' && images.length > 0 ? [] : [{ type: 'text', text }]
    const parts = [...words, ...images]
    try {
      const { promptId } = await this.#command({ type: 'prompt.submit', parts, messageId })
      return promptId ?? messageId
    } catch (error) {
      own?.delete(messageId)
      throw error
    }
  }

  async stop(): Promise<void> {
    const { turn } = await this.#state()
    if (!turn) return
    await this.#command({ type: 'turn.cancel', turnId: turn.turnId }).catch((error) => {
      if (!hasCode(error, 'conflict', 'not_found')) throw error
    })
  }

  async resumeQueue(): Promise<void> {
    await this.#command({ type: 'queue.resume' })
  }

  async respond(requestId: string, response: CheckedResponse): Promise<void> {
    const { requests } = await this.#state()
    const request = requests.find((one) => one.requestId === requestId)
    if (request?.type === 'question') {
      const answers = answersFrom(request, response)
      await this.#command({ type: 'question.answer', requestId, answers })
    } else {
      await this.#command({ type: 'permission.decide', requestId, ...decisionFrom(response) })
    }
  }

  async setModel(model: string): Promise<void> {
    await this.#command({ type: 'session.configure', model })
  }

  async abilities(): Promise<AgentAbilities> {
    const state = this.#active === undefined ? undefined : await this.#state()
    const agent = this.#agentOf(state)
    const info = (await this.#parts.host.agents()).find(({ id }) => id === agent)
    if (!info) throw new ParleyError('agent_not_found', `There is no agent "${agent}".`)
    const { name, capabilities } = info
    const connection = state?.connection
    return {
      agent,
      name,
      capabilities,
      modes: connection?.modes ?? info.modes,
      models: connection?.models ?? info.models ?? [],
      commands: connection?.commands ?? [],
    }
  }

  async status(): Promise<TaskStatus> {
    const state = this.#active === undefined ? undefined : await this.#state().catch(() => undefined)
    return {
      connected: true,
      agent: this.#agentOf(state),
      sessionId: this.#active ?? null,
      sessions: [...this.#sessions.keys()],
      activity: activityOf(state?.status ?? 'idle'),
      paused: state ? pausedPrompts(state) : 0,
      lastError: this.#lastError ?? null,
    }
  }

  failed(message: string): void {
    this.#lastError = message
  }

  leave(): void {
    this.#leaving.abort()
  }

  /** Stops following the active session and shuts down the idle agents of the task; busy agents continue. */
  async disconnect(): Promise<void> {
    this.leave()
    for (const sessionId of this.#sessions.keys()) {
      const command = { type: 'session.close' as const, commandId: newId('cmd') }
      await this.#parts.host.command(sessionId, command).catch(() => undefined)
    }
  }

  /**
   * The agent of the session or, without a session, of the task. They may differ, because a loaded session
   * may belong to another agent.
   */
  #agentOf(state: SessionState | undefined): string {
    return state?.agent ?? this.#parts.agentFor(this.#config.type)
  }

  #fresh(cursor: number, promptsUpTo = 0): Followed {
    const own = new Set<string>()
    const isOwn = (messageId: string) => own.delete(messageId)
    return { cursor, messages: new PageMessages({ isOwn, promptsUpTo }), own }
  }

  /**
   * Resolves when all messages so far were sent to the page. The previous session remains active until the new session
   * is found.
   */
  async #follow(sessionId: string, followed: Followed, first: readonly SessionEvent[] = []): Promise<void> {
    await this.#parts.host.state(sessionId)
    this.#leaving.abort()
    this.#leaving = new AbortController()
    this.#active = sessionId
    this.#sessions.set(sessionId, followed)
    this.#send(sessionId, [
      ...first.flatMap((event) => followed.messages.take(event)),
      ...followed.messages.settle(),
    ])
    const from = { after: followed.cursor, signal: this.#leaving.signal }
    await this.#parts.host.follow(sessionId, from, this.#reader(sessionId, followed))
  }

  #reader(sessionId: string, followed: Followed): FeedReader {
    let live = false
    return {
      following: () => undefined,
      deliver: (batch) => {
        const messages = this.#messagesOf(batch, followed)
        this.#send(sessionId, live ? [...messages, ...followed.messages.settle()] : messages)
      },
      caughtUp: () => {
        live = true
        this.#send(sessionId, followed.messages.settle())
      },
      ended: (reason) => this.#ended(sessionId, reason),
    }
  }

  #messagesOf(batch: FeedBatch, followed: Followed): PageMessage[] {
    return batch.flatMap((item): PageMessage[] => {
      if (item.kind === 'native') return []
      if (item.kind === 'delta') return followed.messages.stream(JSON.parse(item.json) as Delta)
      followed.cursor = item.seq
      const event = JSON.parse(item.json) as SessionEvent | UnknownEvent
      return followed.messages.take(event)
    })
  }

  #send(sessionId: string, messages: readonly PageMessage[]): void {
    for (const message of joined(messages)) {
      if (message.type === 'system' && message.level === 'error') this.#lastError = message.text
      this.#parts.send(sessionId, message)
    }
  }

  #ended(sessionId: string, reason: 'deleted' | 'closed'): void {
    if (reason === 'closed') return
    this.#sessions.delete(sessionId)
    if (this.#active === sessionId) this.#active = undefined
    const text = 'This session was deleted.'
    this.#send(sessionId, [{ type: 'system', at: Date.now(), level: 'warning', text }])
  }

  #state(): Promise<SessionState> {
    return this.#parts.host.state(this.#session())
  }

  #command(command: WithoutId<CommandInput>): Promise<Receipt> {
    return this.#parts.host.command(this.#session(), { ...command, commandId: newId('cmd') } as CommandInput)
  }

  #session(): string {
    if (this.#active !== undefined) return this.#active
    throw new ParleyError('conflict', 'This task has no session. Create one with agent:new-session.')
  }
}

/** An open request as the event that opened it. */
function asEvent(state: SessionState) {
  return ({ stale, type, ...request }: OpenRequest): SessionEvent =>
    ({
      seq: state.seq,
      sessionId: state.id,
      ...request,
      type: type === 'permission' ? 'permission.requested' : 'question.asked',
    }) as SessionEvent
}

type Decision = Omit<Extract<CommandInput, { type: 'permission.decide' }>, 'type' | 'commandId' | 'requestId'>

function decisionFrom(response: CheckedResponse): Decision {
  if (response === 'allow' || response === 'deny') return { decision: response }
  if (typeof response === 'object' && 'decision' in response) return defined(response)
  const message = 'A permission is answered with "allow", "deny", or one of its options.'
  throw new ParleyError('validation_error', message)
}

function answersFrom({ questions }: Extract<OpenRequest, { type: 'question' }>, response: CheckedResponse) {
  if (typeof response === 'object' && 'answers' in response) return response.answers
  const label = typeof response === 'string' ? response : 'label' in response ? response.label : undefined
  const [question, ...others] = questions
  if (label !== undefined && question && others.length === 0) return { [question.id]: label }
  const message =
    'Answer with { answers }, keyed by question id. A single question can also be answered with a string.'
  throw new ParleyError('validation_error', message)
}
