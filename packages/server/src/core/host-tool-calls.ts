import { backgroundTaskOf, hostToolName, messageOf } from '@parley/protocol'
import type {
  AgentOutput,
  HostToolAnswer,
  HostTools,
  PermissionAnswer,
  PermissionAsk,
  Person,
} from './agent-adapter.ts'
import { hashOf } from './hash.ts'
import { type HostTool, toolsFor } from './host-tool.ts'
import type { SessionContext } from './session-services.ts'
import { interruptByHost } from './turn-transactions.ts'

export type HostToolCalls = {
  /**
   * Like the `person` of the broker, but remembers what was allowed, so that the call that follows need not ask
   * again.
   */
  readonly person: Person
  /** The tools that the session's agent is offered at its start; undefined if there are none. */
  offered(): HostTools | undefined
  /** The end of a call with the result that its tool returned, if the agent reports the same outcome. */
  withResult<Output extends AgentOutput>(output: Output): Output
  /**
   * Nobody waits for results any more: running tools are aborted, and permissions that were given are void. With
   * `turn` this applies to the calls of the turn; those of background tasks continue.
   */
  stop(what: 'turn' | 'all'): void
}

type Caller = Parameters<HostTools['call']>[2]

/** An agent that dies withdraws its calls too; after this time its end is known. */
const goneWaitMs = 200

/** Runs host tools for the agent of one session: input, permission, execution, in this order. */
export function createHostToolCalls(context: SessionContext, person: Person): HostToolCalls {
  const { services, hostTools: tools, log, persist } = context
  let running = new AbortController()
  let inBackground = new AbortController()
  let allowed: { readonly hash: string; readonly ofTurn: boolean }[] = []
  const results = new Map<string, { readonly answer: HostToolAnswer; readonly ofTurn: boolean }>()

  const isOfTurn = (call: { parentToolCallId?: string }) => backgroundTaskOf(log.state, call) === undefined

  /** A call that cannot run needs no permission: `call` reports what is wrong with it. */
  async function permit(ask: PermissionAsk, signal?: AbortSignal): Promise<PermissionAnswer> {
    const tool = tools.get(ask.tool)
    if (!tool) return person.permit(ask, signal)
    if ((await tool.prepare(ask.input)).problem !== undefined) return { outcome: 'allowed', requestId: '' }
    const answer = await person.permit(ask, signal)
    if (answer.outcome === 'allowed')
      allowed.push({ hash: hashOf([ask.tool, answer.input ?? ask.input]), ofTurn: isOfTurn(ask) })
    return answer
  }

  function wasAllowed(tool: HostTool, input: unknown): boolean {
    const hash = hashOf([hostToolName(tool.name), input])
    const index = allowed.findIndex((one) => one.hash === hash)
    if (index >= 0) allowed.splice(index, 1)
    return index >= 0
  }

  /**
   * Withdraws the request when the agent withdraws the call. If the agent died, the request is stale by then and
   * stays open.
   */
  function withdrawnWith(signal: AbortSignal): AbortSignal {
    const withdrawn = new AbortController()
    const later = () => services.clock.after(goneWaitMs, () => withdrawn.abort(), { background: true })
    if (signal.aborted) later()
    else signal.addEventListener('abort', later, { once: true })
    return withdrawn.signal
  }

  async function call(tool: HostTool, input: unknown, caller: Caller): Promise<HostToolAnswer> {
    const scope = isOfTurn(caller) ? running : inBackground
    const signal = AbortSignal.any([caller.signal, scope.signal])
    let prepared = await tool.prepare(input)
    if (prepared.problem !== undefined) return failed(prepared.problem)
    if (!wasAllowed(tool, input)) {
      const answer = await person.permit(askFor(tool, input, caller), withdrawnWith(caller.signal))
      if (answer.outcome !== 'allowed') return refused(answer)
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

  async function refused(answer: PermissionAnswer): Promise<HostToolAnswer> {
    if (answer.outcome !== 'denied') return cancelled
    if (answer.endTurn) await persist(interruptByHost)
    return { ...failed(answer.message ?? 'The person said no.'), denied: true }
  }

  return {
    person: { ...person, permit },
    offered() {
      const listed = toolsFor(tools, log.state.requested)
      if (listed.length === 0) return undefined
      return {
        tools: listed,
        async call(name, input, caller) {
          const tool = listed.find((one) => one.name === name)
          const work = tool ? call(tool, input, caller) : failed(`There is no tool ${name}.`)
          const answer = await Promise.resolve(work).catch((error: unknown) => broken(name, error))
          if (caller.toolCallId !== undefined)
            results.set(caller.toolCallId, { answer, ofTurn: isOfTurn(caller) })
          return answer
        },
      }
    },
    withResult(output) {
      if (output.type !== 'tool-call.ended') return output
      const result = results.get(output.toolCallId)?.answer
      results.delete(output.toolCallId)
      const agreed = output.outcome === (result?.isError ? 'failed' : 'completed')
      return result && agreed ? { ...output, content: [...result.content] } : output
    },
    stop(what) {
      running.abort()
      running = new AbortController()
      allowed = what === 'turn' ? allowed.filter(({ ofTurn }) => !ofTurn) : []
      for (const [id, { ofTurn }] of results) if (ofTurn || what === 'all') results.delete(id)
      if (what === 'turn') return
      inBackground.abort()
      inBackground = new AbortController()
    },
  }
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

/** The tool broke its contract, which a tool made with `defineTool` does not. */
function broken(name: string, error: unknown): HostToolAnswer {
  return failed(`The tool ${name} failed: ${messageOf(error)}`)
}

const cancelled = failed('Cancelled.')

/** A tool that ignores its signal is not waited for. */
function aborted(signal: AbortSignal): Promise<HostToolAnswer> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(cancelled)
    else signal.addEventListener('abort', () => resolve(cancelled), { once: true })
  })
}
