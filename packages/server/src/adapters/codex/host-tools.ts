import { hostToolName } from '@parley/protocol'
import { type AgentOutput, type HostTools, hostToolServer } from '../../core/agent-adapter.ts'
import { type RunningHostToolServer, startHostToolServer } from '../host-tool-server.ts'
import type { HostToolNames } from './describe-call.ts'
import type { NativeConfig } from './settings.ts'

export function hostToolNames(hostTools: HostTools | undefined): HostToolNames {
  const tools = hostTools?.tools ?? []
  return new Map(
    tools.map(({ name, annotations: { title, kind, readOnly } }) => [
      `mcp__${hostToolServer}__${name}`,
      { name: hostToolName(name), title, kind, readOnly },
    ]),
  )
}

/** Longer than anyone waits: only the host ends a call of its own tools. */
const timeoutS = 30 * 24 * 60 * 60

export type HostToolCalls = {
  parentOf(threadId: string): { parentToolCallId?: string }
  /** The call did not run: its end is a refusal, not a failure. */
  denied(toolCallId: string): void
}

/** The host's tools for one conversation: an MCP server on loopback, from before its start until after its end. */
export class HostToolOffer {
  readonly #hostTools: HostTools
  readonly #told = new Set<string>()
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>()
  #server: RunningHostToolServer | undefined
  #calls: HostToolCalls | undefined
  #leaving = false

  private constructor(hostTools: HostTools) {
    this.#hostTools = hostTools
  }

  static async open(hostTools: HostTools | undefined): Promise<HostToolOffer | undefined> {
    if (!hostTools) return undefined
    const offer = new HostToolOffer(hostTools)
    const { tools } = hostTools
    offer.#server = await startHostToolServer(
      { tools, call: (name, input, context) => offer.#call(name, input, context) },
      {
        callOf: (meta) => offer.#callOf(meta),
        answered: (answer, toolCallId) => {
          if (answer.denied && toolCallId !== undefined) offer.#calls?.denied(toolCallId)
        },
      },
    )
    return offer
  }

  /** The server as Codex's settings have it. Its tools are told to every model at once, by their own names. */
  get config(): NativeConfig {
    const server = this.#server && {
      url: this.#server.url,
      http_headers: this.#server.headers,
      default_tools_approval_mode: 'prompt',
      omit_tools_from: ['code_mode', 'deferred'],
      tool_timeout_sec: timeoutS,
    }
    return { [hostToolServer]: server }
  }

  join(calls: HostToolCalls): void {
    this.#calls = calls
  }

  /** The host has taken this output. */
  heard(output: AgentOutput): void {
    if (output.type === 'tool-call.ended') this.#told.delete(output.toolCallId)
    if (output.type !== 'tool-call.called') return
    this.#told.add(output.toolCallId)
    this.#waiting.get(output.toolCallId)?.resolve()
    this.#waiting.delete(output.toolCallId)
  }

  /** From now on calls are broken off because the connection is let go, not because the agent took them back. */
  leave(): void {
    this.#leaving = true
    for (const { reject } of this.#waiting.values()) reject(new Error('The connection is being closed.'))
    this.#waiting.clear()
  }

  async close(): Promise<void> {
    this.leave()
    await this.#server?.close()
  }

  #call(...[name, input, context]: Parameters<HostTools['call']>): ReturnType<HostTools['call']> {
    const takenBack = new AbortController()
    const abort = () => {
      if (!this.#leaving) takenBack.abort()
    }
    if (context.signal.aborted) abort()
    else context.signal.addEventListener('abort', abort, { once: true })
    return this.#hostTools.call(name, input, { ...context, signal: takenBack.signal })
  }

  /** Codex says with each call which of its own it is. Its tool runs when the host knows of it. */
  async #callOf({ callId, threadId }: Readonly<Record<string, unknown>>) {
    if (typeof callId !== 'string') return {}
    if (!this.#told.has(callId)) await this.#untilTold(callId)
    const parent = typeof threadId === 'string' ? this.#calls?.parentOf(threadId) : undefined
    return { toolCallId: callId, ...parent }
  }

  #untilTold(callId: string): Promise<void> {
    if (this.#leaving) return Promise.reject(new Error('The connection is being closed.'))
    const waiting = this.#waiting.get(callId) ?? Promise.withResolvers<void>()
    this.#waiting.set(callId, waiting)
    return waiting.promise
  }
}
