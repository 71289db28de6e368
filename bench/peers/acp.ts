import type { Hear } from './side.ts'

/** The messages of the Agent Client Protocol that a client needs for turns of text. */
export type AcpMessage = {
  readonly id?: number
  readonly method?: string
  readonly result?: unknown
  readonly error?: { readonly message?: string }
  readonly params?: {
    readonly sessionId?: string
    readonly update?: { readonly sessionUpdate?: string; readonly content?: { readonly text?: string } }
  }
}

/**
 * The client side of one connection, over any transport: `send` writes a message, and `take` is called with each message
 * that arrives.
 */
export class AcpClient {
  readonly #send: (message: object) => void
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #hearing = new Map<string, Hear>()
  #last = 0

  constructor(send: (message: object) => void) {
    this.#send = send
  }

  take({ id, method, params, result, error }: AcpMessage): void {
    const { sessionUpdate, content } = params?.update ?? {}
    if (sessionUpdate === 'agent_message_chunk' && content?.text !== undefined) {
      this.#hearing.get(params?.sessionId ?? '')?.(content.text)
    } else if (method === undefined && id !== undefined) {
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error) waiting?.reject(new Error(error.message ?? JSON.stringify(error)))
      else waiting?.resolve(result)
    }
  }

  request<T>(method: string, params: object): Promise<T> {
    const id = ++this.#last
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    this.#send({ jsonrpc: '2.0', id, method, params })
    return waiting.promise as Promise<T>
  }

  initialize(): Promise<unknown> {
    return this.request('initialize', {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false } },
    })
  }

  async newSession(cwd: string): Promise<string> {
    const { sessionId } = await this.request<{ sessionId: string }>('session/new', { cwd, mcpServers: [] })
    return sessionId
  }

  /** Replays the conversation to `hear`. */
  async load(sessionId: string, cwd: string, hear: Hear): Promise<void> {
    this.#hearing.set(sessionId, hear)
    await this.request('session/load', { sessionId, cwd, mcpServers: [] })
  }

  async prompt(sessionId: string, text: string, hear: Hear): Promise<void> {
    this.#hearing.set(sessionId, hear)
    await this.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })
  }

  fail(error: Error): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error)
    this.#waiting.clear()
  }
}
