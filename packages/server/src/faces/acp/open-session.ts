import type { PromptResponse, SessionUpdate } from '@agentclientprotocol/sdk/unstable'
import {
  type AgentInfo,
  type EventOf,
  emptyState,
  isKnown,
  newId,
  type OpenRequest,
  ParleyError,
  type PromptPart,
  type SessionEvent,
  type SessionSettings,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import type { Access, AccessItem } from './access.ts'
import { askEditor } from './ask-editor.ts'
import type { Editor } from './editor.ts'
import { createPending, createStopping, isRequestCancelled, type PendingPrompt } from './pending-prompt.ts'
import { SessionUpdates } from './session-updates.ts'
import { promptResponse } from './stop-reason.ts'

export type OpenSessionOptions = {
  readonly access: Access
  readonly editor: Editor
  readonly agent: AgentInfo
  readonly state: SessionState
  /** The command that opens the session in another client. */
  readonly elsewhere: string | undefined
  /** Called when the session can no longer be followed: it was deleted, or the server is gone for good. */
  ended(thrown: unknown): void
  problem(thrown: unknown, doing: string): void
}

/** The interval between updates with output. Output is collected, because each update repeats the output of a call. */
const outputMs = 100
/** The time that a pending prompt waits for a lost server before it fails. */
const lostMs = 60_000

/**
 * One session open in an editor. It sends the log to the editor as updates, asks the editor for answers to requests,
 * and runs the editor's commands.
 */
export class OpenSession {
  readonly id: string
  readonly #options: OpenSessionOptions
  readonly #closing = new AbortController()
  readonly #asking = new Map<string, AbortController>()
  readonly #caughtUp = Promise.withResolvers<void>()
  /**
   * Resolves when the current title, mode, options and so on were sent. A prompt waits for this, so that the editor
   * gets them first.
   */
  readonly #ready = Promise.withResolvers<void>()
  /** Prompts that this editor sent and therefore shows already. */
  readonly #own = new Set<string>()
  readonly #stopping: ReturnType<typeof createStopping>
  #updates: SessionUpdates
  #live = false
  /**
   * True from a reset of the feed until it has caught up. Nothing is sent meanwhile, because the editor already shows
   * this session.
   */
  #silent = false
  #pending: PendingPrompt | undefined
  #turnOver: PromiseWithResolvers<void> | undefined
  #outputTimer: NodeJS.Timeout | undefined
  #lostTimer: NodeJS.Timeout | undefined

  constructor(options: OpenSessionOptions) {
    this.id = options.state.id
    this.#options = options
    this.#stopping = createStopping(options)
    this.#updates = this.#updatesFrom(options.state)
    this.#caughtUp.promise.catch(() => undefined)
  }

  get state(): SessionState {
    return this.#updates.state
  }

  get agent(): AgentInfo {
    return this.#options.agent
  }

  async configure(settings: SessionSettings): Promise<void> {
    const command = { type: 'session.configure', commandId: newId('cmd'), ...settings } as const
    await this.#options.access.command(this.id, command)
    this.#updates.choose(settings)
  }

  /** Returns the settings for an answer to the editor, and marks them as sent. */
  settings() {
    this.#updates.answered()
    const { modes, configOptions } = this.#updates
    return { modes, configOptions }
  }

  /** Sends the whole log, then live updates. Resolves when the log was sent. */
  async replay(): Promise<void> {
    const { epoch, id } = this.#options.state
    this.#updates = this.#updatesFrom(emptyState(id, epoch))
    void this.#follow(0)
    await this.#caughtUp.promise
  }

  /** Starts sending updates, but only after the answer that names the session. */
  startUpdates(): void {
    setImmediate(() => {
      void this.#follow(this.#options.state.seq)
    })
  }

  async prompt(parts: PromptPart[], signal: AbortSignal): Promise<PromptResponse> {
    if (this.#pending) {
      const message = 'A prompt is running in this session. Wait until it ends, or cancel it.'
      throw new ParleyError('conflict', message)
    }
    const pending = createPending()
    this.#pending = pending
    const cancel = () => {
      if (isRequestCancelled(signal.reason)) void this.cancel()
    }
    signal.addEventListener('abort', cancel, { once: true })
    try {
      await Promise.race([this.#ready.promise, pending.response.promise])
      if (pending.cancelled) return { stopReason: 'cancelled' }
      pending.submitted = true
      const delivered = this.#submit(parts, pending.messageId, 'queue').then(() => {
        pending.delivered = true
      })
      await Promise.race([delivered, pending.response.promise])
      return await pending.response.promise
    } finally {
      this.#pending = undefined
      signal.removeEventListener('abort', cancel)
    }
  }

  async steer(parts: PromptPart[]): Promise<void> {
    await this.#submit(parts, newId('cmd'), 'steer')
  }

  async #submit(parts: PromptPart[], messageId: string, delivery: 'queue' | 'steer'): Promise<void> {
    this.#own.add(messageId)
    const command = { type: 'prompt.submit', commandId: messageId, messageId, parts, delivery } as const
    try {
      await this.#options.access.command(this.id, command)
    } catch (thrown) {
      this.#own.delete(messageId)
      throw thrown
    }
  }

  /** Cancels the editor's pending prompt, or else the running turn. */
  async cancel(): Promise<void> {
    const pending = this.#pending
    if (!pending) return this.#stopping.cancelTurn(undefined)
    pending.cancelled = true
    if (pending.submitted) await this.#stopping.stop(pending)
    else pending.response.resolve({ stopReason: 'cancelled' })
  }

  get busy(): boolean {
    return this.#pending !== undefined
  }

  /** Resolves when no turn runs, or when the session is closed in this editor. */
  async idle(): Promise<void> {
    while (this.state.turn && !this.#closing.signal.aborted) {
      this.#turnOver ??= Promise.withResolvers()
      await this.#turnOver.promise
    }
  }

  /** Stops all updates and requests to the editor. The session itself continues. */
  close(): void {
    if (this.#closing.signal.aborted) return
    this.#closing.abort()
    clearTimeout(this.#outputTimer)
    clearTimeout(this.#lostTimer)
    for (const asking of this.#asking.values()) asking.abort()
    this.#asking.clear()
    const closed = new ParleyError('cancelled', 'The session was closed.')
    this.#caughtUp.reject(closed)
    this.#pending?.response.reject(closed)
    this.#turnOver?.resolve()
  }

  #updatesFrom(state: SessionState): SessionUpdates {
    const { agent, editor } = this.#options
    return new SessionUpdates({
      agent,
      state,
      knows: editor.knows,
      isOwn: (messageId) => messageId !== undefined && this.#own.delete(messageId),
    })
  }

  async #follow(after: number): Promise<void> {
    const { access, state, ended } = this.#options
    const { signal } = this.#closing
    try {
      if (after > 0) await this.#send(this.#updates.openCalls())
      for await (const item of access.feed(this.id, { after, epoch: state.epoch, signal })) {
        await this.#take(item)
      }
      if (signal.aborted) return
      throw new ParleyError('not_found', 'The session was deleted, or its server was stopped.')
    } catch (thrown) {
      if (signal.aborted) return
      this.#pending?.response.reject(thrown)
      this.#caughtUp.reject(thrown)
      this.close()
      ended(thrown)
    }
  }

  async #take(item: AccessItem): Promise<void> {
    switch (item.type) {
      case 'event':
        return this.#event(item.event)
      case 'delta':
        await this.#send(this.#updates.delta(item.delta))
        if (item.delta.type === 'tool-call.output-streamed') this.#outputSoon()
        return
      case 'reset':
        this.#updates = this.#updatesFrom(emptyState(this.id, item.epoch))
        this.#silent = true
        this.#live = false
        return
      case 'caught-up':
        return this.#nowLive()
      case 'status':
        return this.#serverStatusChanged(item.status)
      case 'native':
        return
    }
  }

  async #event(event: SessionEvent | UnknownEvent): Promise<void> {
    await this.#send(this.#updates.event(event))
    if (!isKnown(event)) return
    if (this.#live) await this.#send(this.#updates.news())
    if (event.type === 'permission.resolved' || event.type === 'question.resolved') {
      this.#asking.get(event.requestId)?.abort()
      this.#asking.delete(event.requestId)
    }
    if (this.#live && (event.type === 'permission.requested' || event.type === 'question.asked'))
      void this.#ask(event.requestId)
    await this.#followPrompt(event)
  }

  /**
   * Switches from the replay to live updates. The current settings and the open requests must be sent after
   * the answer to `session/load`, so they are deferred with `setImmediate`.
   */
  #nowLive(): void {
    if (this.#live) return
    this.#live = true
    this.#silent = false
    this.#caughtUp.resolve()
    setImmediate(() => {
      const sent = this.#send(this.#updates.news()).catch(() => undefined)
      void sent.then(() => this.#ready.resolve())
      for (const { requestId } of this.state.requests) void this.#ask(requestId)
    })
  }

  async #send(updates: readonly SessionUpdate[]): Promise<void> {
    if (this.#silent) return
    for (const update of updates) await this.#options.editor.update(this.id, update)
  }

  #outputSoon(): void {
    this.#outputTimer ??= setTimeout(() => {
      this.#outputTimer = undefined
      void this.#send(this.#updates.outputs()).catch(() => undefined)
    }, outputMs)
  }

  /**
   * Asks the editor for the answer to a request. Checks the server's state first, because a rule or the mode
   * may have answered meanwhile.
   */
  async #ask(requestId: string): Promise<void> {
    const { access, editor, agent, elsewhere, problem } = this.#options
    if (this.#asking.has(requestId)) return
    const asking = new AbortController()
    this.#asking.set(requestId, asking)
    try {
      const { requests, cwd } = await access.state(this.id)
      const request = requests.find((open: OpenRequest) => open.requestId === requestId)
      if (!request || asking.signal.aborted) return
      const where = elsewhere && `Answer it in another client: ${elsewhere}`
      const cannotAsk = (why: string) => this.#send(this.#updates.aside('warning', why, where))
      const isOwnTurn = (turnId: string | undefined) =>
        turnId !== undefined && turnId === this.#pending?.turnId
      const context = { access, editor, sessionId: this.id, cwd, agentName: agent.name, isOwnTurn, cannotAsk }
      await askEditor(context, request, asking.signal)
    } catch (thrown) {
      if (!asking.signal.aborted) problem(thrown, 'ask the editor')
    }
  }

  async #followPrompt(event: SessionEvent): Promise<void> {
    const pending = this.#pending
    switch (event.type) {
      case 'prompt.submitted':
        if (!pending || event.messageId !== pending.messageId) return
        pending.promptId = event.promptId
        pending.delivered = true
        return
      case 'prompt.queued':
      case 'turn.started':
        if (!pending || event.promptId !== pending.promptId) return
        if (event.type === 'turn.started' && event.turnId) pending.turnId = event.turnId
        if (pending.cancelled) void this.#stopping.stop(pending)
        return
      case 'queue.paused':
        if (pending?.promptId !== undefined && pending.turnId === undefined) await this.#sendPaused()
        return
      case 'prompt.withdrawn':
        if (pending && event.promptId === pending.promptId)
          pending.response.resolve({ stopReason: 'cancelled' })
        return
      case 'turn.ended':
        return this.#turnEnded(event)
    }
  }

  async #sendPaused(): Promise<void> {
    const { elsewhere } = this.#options
    const why = 'The turn before this prompt was stopped, so the queue is paused.'
    const where = elsewhere && `Resume it in another client: ${elsewhere}`
    await this.#send(this.#updates.aside('warning', why, where))
  }

  async #turnEnded(event: EventOf<'turn.ended'>): Promise<void> {
    const pending = this.#pending
    const isOwn = pending !== undefined && event.turnId === pending.turnId
    this.#turnOver?.resolve()
    this.#turnOver = undefined
    try {
      const response = promptResponse(event)
      if (isOwn) pending.response.resolve(response)
    } catch (thrown) {
      if (isOwn && pending.cancelled) pending.response.resolve({ stopReason: 'cancelled' })
      else if (isOwn) pending.response.reject(thrown)
      else if (thrown instanceof ParleyError)
        await this.#send(this.#updates.aside('error', 'The turn failed.', thrown.message))
    }
  }

  #serverStatusChanged(status: Extract<AccessItem, { type: 'status' }>['status']): void {
    clearTimeout(this.#lostTimer)
    const lost = () => {
      const { elsewhere } = this.#options
      const where = elsewhere ? ` To see what the agent did: ${elsewhere}` : ''
      const message = `The connection to the server was lost; the outcome is unknown.${where}`
      this.#pending?.response.reject(new ParleyError('busy', message, { details: { reason: 'lost' } }))
    }
    if (status === 'lost' && this.#pending?.delivered) lost()
    if (status === 'connecting' || status === 'reconnecting') this.#lostTimer = setTimeout(lost, lostMs)
  }
}
