import { type HostTools, hostToolServer } from '@parley/adapter-kit'
import { type RunningHostToolServer, startHostToolServer } from '@parley/adapter-kit/host-tool-server'
import type { NativeConfig } from './settings.ts'

/** A timeout longer than any wait, in seconds: only the host ends a call of a host tool. */
const timeoutS = 30 * 24 * 60 * 60

export type HostToolCalls = {
  parentOf(threadId: string): { parentToolCallId?: string }
  /** Marks a call that did not run: its end is a refusal, not a failure. */
  denied(toolCallId: string): void
}

/**
 * The host tools of one conversation, as an MCP server on loopback. It is started before the conversation and closed
 * after it.
 */
export class HostToolOffer {
  #recorded: ReadonlyMap<string, unknown> = new Map()
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>()
  #server: RunningHostToolServer | undefined
  #calls: HostToolCalls | undefined
  #over = false

  static async open(hostTools: HostTools | undefined): Promise<HostToolOffer | undefined> {
    if (!hostTools) return undefined
    const offer = new HostToolOffer()
    offer.#server = await startHostToolServer(hostTools, {
      callOf: (meta) => offer.#callOf(meta),
      answered: (answer, toolCallId) => {
        if (answer.denied && toolCallId !== undefined) offer.#calls?.denied(toolCallId)
      },
    })
    return offer
  }

  /**
   * The server in the form of Codex's settings. Its tools are offered to every model at once, under their own names.
   */
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

  callsRecorded(calls: ReadonlyMap<string, unknown>): void {
    this.#recorded = calls
    for (const [callId, { resolve }] of this.#waiting) {
      if (calls.has(callId)) resolve()
    }
  }

  /** Stops the server and aborts running calls. Idempotent. */
  async close(): Promise<void> {
    this.#over = true
    for (const { reject } of this.#waiting.values()) reject(gone())
    this.#waiting.clear()
    await this.#server?.close()
  }

  /** Finds the call of a request by the id that Codex sends, and waits until the host has recorded that call. */
  async #callOf({ callId, threadId }: Readonly<Record<string, unknown>>) {
    if (typeof callId !== 'string') return {}
    if (!this.#recorded.has(callId)) await this.#untilRecorded(callId)
    const parent = typeof threadId === 'string' ? this.#calls?.parentOf(threadId) : undefined
    return { toolCallId: callId, ...parent }
  }

  async #untilRecorded(callId: string): Promise<void> {
    if (this.#over) throw gone()
    const waiting = Promise.withResolvers<void>()
    this.#waiting.set(callId, waiting)
    await waiting.promise
    this.#waiting.delete(callId)
  }
}

function gone(): Error {
  return new Error('The connection is closed.')
}
