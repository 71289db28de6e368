import type {
  AgentOutput,
  HostToolAnswer,
  HostTools,
  PermissionAnswer,
  PermissionAsk,
  Person,
} from '@parley/adapter-kit'
import { backgroundTaskOf, hostToolName, messageOf } from '@parley/protocol'
import type { Clock } from './clock.ts'
import { hashOf } from './hash.ts'
import { type HostTool, toolsFor } from './host-tool.ts'
import type { SessionContext } from './session-services.ts'
import { interruptByHost } from './turn-transactions.ts'

export type HostToolCalls = {
  /**
   * Like the `person` of the broker, but remembers each permission, so that the call that follows need not ask
   * again.
   */
  readonly person: Person
  /** The tools that the session's agent is offered at its start; undefined if there are none. */
  offered(): HostTools | undefined
  /**
   * If the output ends a call with the same outcome as the tool, returns the output with the result of the tool.
   * Returns any other output unchanged.
   */
  withResult<Output extends AgentOutput>(output: Output): Output
  /**
   * Aborts running tools and voids permissions that were given, because nobody waits for results any more. With
   * `turn`, this applies only to calls of the turn; calls of background tasks continue.
   */
  stop(what: 'turn' | 'all'): void
}

type Caller = Parameters<HostTools['call']>[2]

/**
 * The time between the withdrawal of a call and the withdrawal of its request. An agent that dies withdraws its calls
 * too; after this time it is known whether the agent has ended.
 */
const goneWaitMs = 200

/** Runs host tools for the agent of one session: checks the input, gets the permission, and executes the tool. */
export function createHostToolCalls(context: SessionContext, person: Person): HostToolCalls {
  return new ToolCalls(context, person)
}

class ToolCalls implements HostToolCalls {
  readonly person: Person
  readonly #context: SessionContext
  readonly #broker: Person
  #running = new AbortController()
  #inBackground = new AbortController()
  #allowed: { readonly hash: string; readonly ofTurn: boolean }[] = []
  readonly #results = new Map<string, { readonly answer: HostToolAnswer; readonly ofTurn: boolean }>()

  constructor(context: SessionContext, broker: Person) {
    this.#context = context
    this.#broker = broker
    this.person = { ...broker, permit: (ask, signal) => this.#permit(ask, signal) }
  }

  offered(): HostTools | undefined {
    const { hostTools, log } = this.#context
    const tools = toolsFor(hostTools, log.state.requested)
    if (tools.length === 0) return undefined
    return {
      tools,
      call: async (name, input, caller) => {
        const tool = tools.find((one) => one.name === name)
        const work = tool ? this.#call(tool, input, caller) : failed(`There is no tool ${name}.`)
        const answer = await Promise.resolve(work).catch((error: unknown) => broken(name, error))
        if (caller.toolCallId !== undefined)
          this.#results.set(caller.toolCallId, { answer, ofTurn: this.#isOfTurn(caller) })
        return answer
      },
    }
  }

  withResult<Output extends AgentOutput>(output: Output): Output {
    if (output.type !== 'tool-call.ended') return output
    const result = this.#results.get(output.toolCallId)?.answer
    this.#results.delete(output.toolCallId)
    const agreed = output.outcome === (result?.isError ? 'failed' : 'completed')
    return result && agreed ? { ...output, content: [...result.content] } : output
  }

  stop(what: 'turn' | 'all'): void {
    this.#running.abort()
    this.#running = new AbortController()
    this.#allowed = what === 'turn' ? this.#allowed.filter(({ ofTurn }) => !ofTurn) : []
    for (const [id, { ofTurn }] of this.#results) if (ofTurn || what === 'all') this.#results.delete(id)
    if (what === 'turn') return
    this.#inBackground.abort()
    this.#inBackground = new AbortController()
  }

  #isOfTurn(call: { parentToolCallId?: string }): boolean {
    return backgroundTaskOf(this.#context.log.state, call) === undefined
  }

  /**
   * Asks for the permission to run a call. If its input is invalid, allows it without asking: the tool does
   * not run, and `call` reports the problem.
   */
  async #permit(ask: PermissionAsk, signal?: AbortSignal): Promise<PermissionAnswer> {
    const tool = this.#context.hostTools.get(ask.tool)
    if (!tool) return this.#broker.permit(ask, signal)
    if ((await tool.prepare(ask.input)).problem !== undefined) return { outcome: 'allowed', requestId: '' }
    const answer = await this.#broker.permit(ask, signal)
    if (answer.outcome === 'allowed') {
      const hash = hashOf([ask.tool, answer.input ?? ask.input])
      this.#allowed.push({ hash, ofTurn: this.#isOfTurn(ask) })
    }
    return answer
  }

  #wasAllowed(tool: HostTool, input: unknown): boolean {
    const hash = hashOf([hostToolName(tool.name), input])
    const index = this.#allowed.findIndex((one) => one.hash === hash)
    if (index >= 0) this.#allowed.splice(index, 1)
    return index >= 0
  }

  async #call(tool: HostTool, input: unknown, caller: Caller): Promise<HostToolAnswer> {
    const { services, log } = this.#context
    const scope = this.#isOfTurn(caller) ? this.#running : this.#inBackground
    const signal = AbortSignal.any([caller.signal, scope.signal])
    let prepared = await tool.prepare(input)
    if (prepared.problem !== undefined) return failed(prepared.problem)
    if (!this.#wasAllowed(tool, input)) {
      const withdrawn = withdrawnWith(caller.signal, services.clock)
      const answer = await this.#broker.permit(askFor(tool, input, caller), withdrawn)
      if (answer.outcome !== 'allowed') return this.#refused(answer)
      if (answer.input !== undefined) prepared = await tool.prepare(answer.input)
      if (prepared.problem !== undefined) return failed(prepared.problem)
    }
    if (signal.aborted) return cancelled
    const { id: sessionId, cwd } = log.state
    const { toolCallId } = caller
    const work = tool.run(prepared.input, {
      sessionId,
      cwd,
      env: services.toolEnv({ sessionId, cwd }),
      signal,
      temporaryFolder: () => services.temporaryFolders.of(sessionId),
      ...(toolCallId !== undefined && { toolCallId }),
    })
    return Promise.race([work, aborted(signal)])
  }

  async #refused(answer: PermissionAnswer): Promise<HostToolAnswer> {
    if (answer.outcome !== 'denied') return cancelled
    if (answer.endTurn) await this.#context.persist(interruptByHost)
    return { ...failed(answer.message ?? 'The person denied this.'), denied: true }
  }
}

/**
 * Returns a signal that withdraws a request after the agent has withdrawn its call. The signal aborts after a delay:
 * if the agent died, the request is stale by then and remains open.
 */
function withdrawnWith(signal: AbortSignal, clock: Clock): AbortSignal {
  const withdrawn = new AbortController()
  const later = () => clock.after(goneWaitMs, () => withdrawn.abort(), { background: true })
  if (signal.aborted) later()
  else signal.addEventListener('abort', later, { once: true })
  return withdrawn.signal
}

function askFor(tool: HostTool, input: unknown, { toolCallId, parentToolCallId }: Caller): PermissionAsk {
  const { kind, title } = tool.annotations
  return {
    tool: hostToolName(tool.name),
    kind,
    title,
    input,
    ...(toolCallId && { toolCallId }),
    ...(parentToolCallId && { parentToolCallId }),
  }
}

function failed(text: string): HostToolAnswer {
  return { content: [{ type: 'text', text }], isError: true }
}

/**
 * The answer to a call whose tool rejected, which breaks its contract. A tool that is made with `defineTool`
 * never rejects.
 */
function broken(name: string, error: unknown): HostToolAnswer {
  return failed(`The tool ${name} failed: ${messageOf(error)}`)
}

const cancelled = failed('Cancelled.')

/**
 * Resolves with `cancelled` when the signal aborts, so that a tool that ignores its signal is not waited for.
 */
function aborted(signal: AbortSignal): Promise<HostToolAnswer> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(cancelled)
    else signal.addEventListener('abort', () => resolve(cancelled), { once: true })
  })
}
