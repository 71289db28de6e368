import type { AgentOutput } from '../../core/agent-adapter.ts'

export type Called = Extract<AgentOutput, { type: 'tool-call.called' }>

/** The calls that the host has recorded, by the agent's own keys: a request must not precede its call. */
export class AnnouncedCalls {
  readonly #calls = new Map<string, PromiseWithResolvers<Called | undefined>>()

  /** Resolves when the host has recorded the call; with undefined if the call will not come. */
  wait(key: string): Promise<Called | undefined> {
    return this.#call(key).promise
  }

  announce(key: string, call: Called): void {
    this.#call(key).resolve(call)
  }

  /** Resolves all pending waits with undefined. */
  clear(): void {
    for (const call of this.#calls.values()) call.resolve(undefined)
    this.#calls.clear()
  }

  #call(key: string): PromiseWithResolvers<Called | undefined> {
    const call = this.#calls.get(key) ?? Promise.withResolvers<Called | undefined>()
    this.#calls.set(key, call)
    return call
  }
}
