import type { OpencodeClient, PermissionRequest } from '@opencode-ai/sdk/v2/client'
import type { AgentOutput, ConnectInput, PermissionAsk, Person } from '@parley/adapter-kit'
import { reachOf } from '@parley/adapter-kit/inside-folder'
import { pathsIn } from '@parley/adapter-kit/paths-in-input'
import { isHarmless, type NativeAgent, ownDecision, unaskedBy } from './rules.ts'
import { callKey } from './translate-state.ts'
import { diffsIn } from './translate-tool-result.ts'

export type RecordedCall = Extract<AgentOutput, { type: 'tool-call.called' }>

export type PermissionContext = {
  readonly person: Person
  readonly client: OpencodeClient
  /** Resolves when the host has recorded the call with this key, or to undefined if the host will not record it. */
  recordedCall(key: string): Promise<RecordedCall | undefined>
  /** The session. Its folders determine which changes are outside. */
  readonly session: Pick<ConnectInput, 'cwd' | 'settings'>
  /** The current agent of a session, and any agent by name. */
  agentIn(sessionID: string): NativeAgent | undefined
  agent(name: string): NativeAgent | undefined
  /** Marks a call that will not run: its result is a refusal, not a failure. */
  denied(toolCallId: string): void
  /** Called when the person wants this refusal to end the turn. */
  endTurn(): void
  /** True if a turn of the host is open. OpenCode may also ask outside a turn. */
  hasTurn(): boolean
  /** True if the turn is being stopped or the connection is over: no answer is sent then. */
  isOver(): boolean
  /** Reports that OpenCode has failed to do `what`. */
  problem(what: string, error: unknown): void
}

type Request = {
  readonly native: PermissionRequest
  readonly withdrawn: AbortController
  /**
   * Set when the request was refused here. The refusal is sent to OpenCode once no other request of the session waits.
   */
  refusal?: string
}

type Answer = { readonly reply: 'once' | 'reject'; readonly message?: string }

const notAsked = 'Nobody can be asked: the turn has ended.'

/**
 * Passes OpenCode's permission requests to the host and the answers back. An answer applies once: the host stores
 * wider decisions.
 * - harmless calls that OpenCode would allow are allowed here, unless the host forbids them;
 * - several permissions that OpenCode requests for one call become one request to the person;
 * - OpenCode applies a refusal to all waiting requests of the session, so a refusal waits for all other requests.
 */
export class PermissionRequests {
  readonly #context: PermissionContext
  readonly #requests = new Map<string, Request>()
  readonly #permitted = new Set<string>()
  /** Answers that were sent. If OpenCode asks again, the same answer is sent again. */
  readonly #answers = new Map<string, Answer>()

  constructor(context: PermissionContext) {
    this.#context = context
  }

  async ask(native: PermissionRequest): Promise<void> {
    if (this.#requests.has(native.id)) return
    const answered = this.#answers.get(native.id)
    if (answered) return this.#reply(native.id, answered)
    const request: Request = { native, withdrawn: new AbortController() }
    this.#requests.set(native.id, request)
    const call = native.tool && (await this.#context.recordedCall(callKey(native.tool)))
    const isOpen = () => this.#requests.get(native.id) === request
    if (!isOpen()) return
    if (native.tool && !call) return this.#context.isOver() ? undefined : this.#refuse(request, notAsked)
    if (this.#mayRunUnasked(native, call)) return this.#allow(request)
    const answer = await this.#context.person.permit(this.#askOf(native, call), request.withdrawn.signal)
    if (!isOpen()) return
    if (answer.outcome === 'allowed') {
      if (call) this.#permitted.add(call.toolCallId)
      return this.#allow(request)
    }
    if (answer.outcome === 'cancelled') {
      return this.#context.isOver() ? undefined : this.#refuse(request, notAsked)
    }
    if (call) this.#context.denied(call.toolCallId)
    if (answer.endTurn && this.#context.hasTurn()) return this.#context.endTurn()
    this.#refuse(request, answer.message ?? 'The person denied this.')
  }

  /** Called when a request was answered, by us or another client: nobody needs to be asked any more. */
  settle(requestId: string): void {
    const request = this.#requests.get(requestId)
    if (!request) return
    this.#requests.delete(requestId)
    if (request.refusal === undefined) request.withdrawn.abort()
    this.#flush(request.native.sessionID)
  }

  /**
   * Called after events were missed, with the requests that wait in OpenCode now. Settles the requests that no longer
   * wait, and asks about new ones.
   */
  reconcile(waiting: readonly PermissionRequest[]): void {
    const ids = new Set(waiting.map(({ id }) => id))
    for (const id of this.#requests.keys()) if (!ids.has(id)) this.settle(id)
    for (const native of waiting) void this.ask(native)
  }

  /**
   * Refuses all requests of a stopped turn. They stay open in OpenCode until they are answered, and an approval would
   * still have an effect.
   */
  async refuseAll(): Promise<void> {
    const open = [...this.#requests.values()]
    this.#requests.clear()
    const answer = { reply: 'reject', message: 'The turn was stopped.' } as const
    await Promise.all(open.map(({ native }) => this.#reply(native.id, answer)))
  }

  /**
   * Called when another turn begins. Refuses the requests that arrived while the last turn was being stopped, since
   * they would block refusals in the new turn.
   */
  async clear(): Promise<void> {
    this.#permitted.clear()
    this.#answers.clear()
    for (const { withdrawn } of this.#requests.values()) withdrawn.abort()
    await this.refuseAll()
  }

  #mayRunUnasked(native: PermissionRequest, call: RecordedCall | undefined): boolean {
    const { person, agentIn } = this.#context
    if (call && this.#permitted.has(call.toolCallId)) return true
    if (!call || !isHarmless(native.permission)) return false
    if (native.permission === 'task' && this.#unasked(native).length > 0) return false
    if (ownDecision(agentIn(native.sessionID), native) !== 'allow') return false
    const ask = this.#askOf(native, call)
    // The calls of a subagent are asked about one by one, so only a rule on the tool can forbid starting a subagent.
    return !person.forbids(call.kind === 'subagent' ? { ...ask, kind: 'think' } : ask)
  }

  #unasked({ patterns: [name = ''] }: PermissionRequest): string[] {
    return unaskedBy(this.#context.agent(name))
  }

  #askOf(native: PermissionRequest, call: RecordedCall | undefined): PermissionAsk {
    const { permission, patterns, metadata } = native
    const reason = this.#reasonOf(native)
    if (!call) return askWithoutCall(permission, patterns, metadata)
    const { toolCallId, parentToolCallId, name, kind, title, input, locations = [] } = call
    const paths = [...locations.map(({ path }) => path), ...pathsIn(input)]
    return {
      toolCallId,
      ...(parentToolCallId !== undefined && { parentToolCallId }),
      tool: name,
      kind,
      title,
      input,
      ...(reason !== undefined && { reason }),
      // `reachOf` checks the paths again, because OpenCode only checks whether a file is outside the repository, and
      // follows no links.
      ...reachOf(kind, paths, this.#context.session),
      ...(permission === 'external_directory' && { outside: true }),
      ...diffsIn(metadata),
    }
  }

  #reasonOf(native: PermissionRequest): string | undefined {
    const { permission, patterns } = native
    if (permission === 'external_directory')
      return `This call uses files outside the folder: ${patterns.join(', ')}`
    if (permission === 'task') {
      const names = this.#unasked(native)
      if (names.length > 0) return `This subagent may use these tools without asking: ${names.join(', ')}`
    }
    return isHarmless(permission) ? `OpenCode asks before it does this: ${patterns.join(', ')}` : undefined
  }

  #allow({ native: { id, sessionID } }: Request): void {
    this.#requests.delete(id)
    void this.#reply(id, { reply: 'once' }).then(() => this.#flush(sessionID))
  }

  #refuse(request: Request, message: string): void {
    request.refusal = message
    this.#flush(request.native.sessionID)
  }

  #flush(sessionID: string): void {
    const waiting = [...this.#requests.values()].filter(({ native }) => native.sessionID === sessionID)
    if (waiting.some(({ refusal }) => refusal === undefined)) return
    for (const { native, refusal: message } of waiting) {
      this.#requests.delete(native.id)
      void this.#reply(native.id, { reply: 'reject', ...(message !== undefined && { message }) })
    }
  }

  /** Sends an answer to OpenCode. A request that OpenCode no longer knows (404) needs no answer. */
  async #reply(requestID: string, answer: Answer): Promise<void> {
    const { client, problem } = this.#context
    this.#answers.set(requestID, answer)
    try {
      const { error, response } = await client.permission.reply({ requestID, ...answer })
      if (error && response?.status !== 404) problem('accept an answer', error)
    } catch (error) {
      problem('accept an answer', error)
    }
  }
}

/** A request without a call: OpenCode asks whether to continue although the model repeats itself. */
function askWithoutCall(
  permission: string,
  patterns: readonly string[],
  input: Readonly<Record<string, unknown>>,
): PermissionAsk {
  const repeats = permission === 'doom_loop'
  return {
    tool: permission,
    kind: repeats ? 'think' : 'other',
    title: repeats ? `Continue, although the same call is repeated: ${patterns.join(', ')}` : permission,
    input,
  }
}
