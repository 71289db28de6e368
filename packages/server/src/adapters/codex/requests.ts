import type { AgentOutput, Person } from '@parley/adapter-kit'
import type { JsonRpcId } from '@parley/adapter-kit/json-rpc'
import { messageOf } from '@parley/protocol'
import type { AppServer } from './app-server.ts'
import {
  type NativeCommandApproval,
  type NativeElicitation,
  type NativeFileApproval,
  type NativePermissionsApproval,
  type NativeRequest,
  type NativeUserInputRequest,
  refusedRequests,
} from './native.ts'
import {
  type Approval,
  commandApproval,
  fileApproval,
  isToolApproval,
  permissionsApproval,
  toolApproval,
} from './permission.ts'
import { elicitationInquiry, type Inquiry, userInputInquiry } from './question.ts'
import type { TranslateState } from './translate-state.ts'

export type RequestContext = {
  readonly server: Pick<AppServer, 'respond' | 'refuse'>
  readonly person: Person
  state(): TranslateState
  /** Marks a call that will not run: its end is a refusal, not a failure. */
  denied(toolCallId: string): void
  /** Sends the reason to the model before the refusal itself, so that the model receives both together. */
  explain(threadId: string, words: string): Promise<void>
  put(output: AgentOutput): void
}

type Prepared = { readonly approval: Approval } | { readonly inquiry: Inquiry } | { readonly answer: unknown }
type Prepare = (state: TranslateState, params: never, asked: ReadonlySet<string>) => Prepared

/** One entry for every request that is not refused. */
export const requestKinds = {
  'item/commandExecution/requestApproval': (state: TranslateState, params: NativeCommandApproval) => ({
    approval: commandApproval(state, params),
  }),
  'item/fileChange/requestApproval': (state: TranslateState, params: NativeFileApproval) => ({
    approval: fileApproval(state, params),
  }),
  'item/permissions/requestApproval': (state: TranslateState, params: NativePermissionsApproval) => ({
    approval: permissionsApproval(state, params),
  }),
  'item/tool/requestUserInput': (state: TranslateState, params: NativeUserInputRequest) => ({
    inquiry: userInputInquiry(state, params),
  }),
  'mcpServer/elicitation/request': (
    state: TranslateState,
    params: NativeElicitation,
    asked: ReadonlySet<string>,
  ): Prepared => {
    if (isToolApproval(params)) {
      const approval = toolApproval(state, params, asked)
      return approval ? { approval } : { answer: { action: 'accept', content: {}, _meta: null } }
    }
    const inquiry = elicitationInquiry(state, params)
    return inquiry ? { inquiry } : { answer: { action: 'decline', content: null, _meta: null } }
  },
} as const satisfies Record<string, Prepare>

type Open = { readonly withdrawal: AbortController; readonly toolCallId: string | undefined }

/**
 * Passes Codex's requests to the host and the answers back. Requests are handled in the order of the messages, so that
 * the call of a request is already known.
 */
export class Requests {
  readonly #context: RequestContext
  readonly #open = new Map<JsonRpcId, Open>()
  /** The ids of open calls for which permission was requested. */
  readonly #asked = new Set<string>()

  constructor(context: RequestContext) {
    this.#context = context
  }

  take(request: NativeRequest): void {
    const { server, put } = this.#context
    const { id, method } = request
    const refusal = Object.hasOwn(refusedRequests, method) ? refusedRequests[method] : undefined
    if (refusal !== undefined) return server.refuse(id, `Parley does not answer this request: ${refusal}.`)
    try {
      this.#serve(id, this.#prepare(request))
    } catch (error) {
      const reason = messageOf(error)
      put({ type: 'agent.unrecognised', native: request, reason })
      server.refuse(id, `Parley cannot read this request: ${reason}`)
    }
  }

  #prepare({ method, params }: NativeRequest): Prepared {
    if (!Object.hasOwn(requestKinds, method)) throw new Error(`the request ${method}`)
    const prepare = requestKinds[method as keyof typeof requestKinds] as Prepare
    const pending = [...this.#open.values()].flatMap(({ toolCallId }) => toolCallId ?? [])
    return prepare(this.#context.state(), params as never, new Set([...this.#asked, ...pending]))
  }

  #serve(id: JsonRpcId, prepared: Prepared): void {
    if ('approval' in prepared) void this.#permit(id, prepared.approval)
    else if ('inquiry' in prepared) void this.#answer(id, prepared.inquiry)
    else this.#context.server.respond(id, prepared.answer)
  }

  /** Forgets the calls that are no longer open, because no more requests about them can arrive. */
  callsOpen(calls: ReadonlyMap<string, unknown>): void {
    for (const id of this.#asked) if (!calls.has(id)) this.#asked.delete(id)
  }

  /**
   * Called when Codex no longer waits for an answer, because it cancelled the request or the turn has ended.
   * Withdraws the request.
   */
  resolved(id: JsonRpcId): void {
    const open = this.#open.get(id)
    this.#open.delete(id)
    open?.withdrawal.abort()
  }

  /** Stops answering. Open requests remain open in the log. */
  close(): void {
    this.#open.clear()
  }

  async #permit(id: JsonRpcId, { ask, respond }: Approval): Promise<void> {
    const { server, person, denied, explain, state } = this.#context
    if (ask.toolCallId !== undefined) this.#asked.add(ask.toolCallId)
    const answer = await person.permit(ask, this.#begin(id, ask.toolCallId))
    if (!this.#open.has(id)) return
    if (answer.outcome === 'denied') {
      if (ask.toolCallId !== undefined) denied(ask.toolCallId)
      const threadId = state().calls.get(ask.toolCallId ?? '')?.threadId
      if (answer.message !== undefined && !answer.endTurn && threadId !== undefined)
        await explain(threadId, answer.message)
    }
    if (this.#open.delete(id)) server.respond(id, respond(answer))
  }

  async #answer(id: JsonRpcId, { ask, respond }: Inquiry): Promise<void> {
    const { server, person } = this.#context
    const answer = await person.answer(ask, this.#begin(id, ask.toolCallId))
    if (this.#open.delete(id)) server.respond(id, respond(answer))
  }

  #begin(id: JsonRpcId, toolCallId: string | undefined): AbortSignal {
    const withdrawal = new AbortController()
    this.#open.set(id, { withdrawal, toolCallId })
    return withdrawal.signal
  }
}
