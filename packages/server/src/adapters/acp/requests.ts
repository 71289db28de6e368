import { RequestError } from '@agentclientprotocol/sdk/unstable'
import type { AgentOutput, ConnectInput, PermissionAsk } from '@parley/adapter-kit'
import { reachOf } from '@parley/adapter-kit/inside-folder'
import type { KnownAgent } from './agent.ts'
import type { FileMethods } from './files.ts'
import { answerPermission } from './permission.ts'
import { answerElicitation } from './question.ts'
import { answerQuestionCall, isQuestion } from './question-call.ts'
import type { TranslateState } from './translate-state.ts'
import { askFor, diffsFor, pathsFor } from './translate-tool-call.ts'

export type RequestContext = {
  readonly agent: KnownAgent
  readonly input: ConnectInput
  readonly files: FileMethods
  state(): TranslateState
  isClosing(): boolean
  /** Called when the person has approved a plan. */
  leavePlan(): void
  interrupt(): Promise<void>
  put(output: AgentOutput): Promise<void>
}

/** JSON-RPC error code of a request that its sender has cancelled. */
const requestCancelled = -32_800

export class AcpRequests {
  readonly #context: RequestContext
  #open = 0

  constructor(context: RequestContext) {
    this.#context = context
  }

  /** True if a request waits for its answer. */
  get isAsking(): boolean {
    return this.#open > 0
  }

  async answer(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const withdrawn = this.#withdrawn(signal)
    const { agent, input, files, state } = this.#context
    const { person } = input
    const callId = (nativeId: string) => state().calls.get(nativeId)?.id
    switch (method) {
      case 'session/request_permission':
        if (isQuestion(agent.dialect, params, state()))
          return this.#whileAsking(() => answerQuestionCall({ person, callId }, params, withdrawn))
        return this.#whileAsking(() =>
          answerPermission(
            {
              person,
              dialect: agent.dialect,
              askFor: (nativeId) => this.#askFor(nativeId),
              allowed: async (ask, changes) => {
                if (ask.kind === 'plan') this.#context.leavePlan()
                await files.allow(ask, changes)
              },
              endTurn: () => void this.#context.interrupt(),
            },
            params,
            withdrawn,
          ),
        )
      case 'elicitation/create': {
        const { customAnswer } = agent.dialect
        const context = { person, agent: agent.name, customAnswer, callId }
        return this.#whileAsking(() => answerElicitation(context, params, withdrawn))
      }
      case 'fs/read_text_file':
        return this.#whileAsking(() => files.read(params, withdrawn))
      case 'fs/write_text_file':
        return this.#whileAsking(() => files.write(params, withdrawn))
      default:
        throw RequestError.methodNotFound(method)
    }
  }

  /** The permission request for a call, with its diffs, and whether it is outside or protected. */
  async #askFor(nativeId: string): Promise<PermissionAsk | undefined> {
    const { input, state } = this.#context
    const ask = askFor(state(), nativeId)
    if (!ask) return undefined
    const reach = reachOf(ask.kind, pathsFor(state(), nativeId), input)
    return { ...ask, ...reach, ...(await diffsFor(state(), nativeId, input)) }
  }

  async #whileAsking<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    this.#open++
    try {
      return await ask()
    } finally {
      this.#open--
    }
  }

  /** A signal that aborts when the agent withdraws its request, but not when the agent dies or is being closed. */
  #withdrawn(signal: AbortSignal): AbortSignal {
    const withdrawn = new AbortController()
    const check = () => {
      const { reason } = signal
      if (!this.#context.isClosing() && reason instanceof RequestError && reason.code === requestCancelled)
        withdrawn.abort()
    }
    signal.addEventListener('abort', check, { once: true })
    return withdrawn.signal
  }

  /**
   * Handles a call that the agent started without asking. A denial comes too late to prevent the call: the denial is
   * recorded, and the turn is stopped before the agent does more.
   */
  async checkUnasked(ask: PermissionAsk): Promise<void> {
    const { agent, input, put, interrupt } = this.#context
    const { person } = input
    if (!person.forbids(ask.kind === 'plan' ? { ...ask, kind: 'think' } : ask)) return
    const answer = await person.permit(ask)
    if (answer.outcome === 'allowed') return
    const text = `${agent.name} started a denied call without asking: ${ask.title}. The turn was stopped.`
    await put({ type: 'agent.noticed', level: 'error', code: 'unasked', text })
    await interrupt()
  }
}
