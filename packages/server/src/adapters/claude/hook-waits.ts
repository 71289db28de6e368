import type { PermissionResult } from '@anthropic-ai/claude-agent-sdk'

/** Calls about which a person is asked inside the hook. Only there can a call be deferred. */
export class HookWaits {
  readonly #deferrals = new Map<string, () => void>()
  readonly #answers = new Map<string, PermissionResult>()

  /** Resolves when the answer arrives or the call is deferred. */
  async wait(nativeId: string, answer: Promise<PermissionResult>): Promise<'answered' | 'deferred'> {
    const deferred = new Promise<'deferred'>((resolve) => {
      this.#deferrals.set(nativeId, () => resolve('deferred'))
    })
    const answered = answer.then((result) => {
      this.#answers.set(nativeId, result)
      return 'answered' as const
    })
    try {
      return await Promise.race([deferred, answered])
    } finally {
      this.#deferrals.delete(nativeId)
    }
  }

  /** Removes and returns the answer that the hook received for a call. */
  take(nativeId: string): PermissionResult | undefined {
    const answer = this.#answers.get(nativeId)
    this.#answers.delete(nativeId)
    return answer
  }

  get waiting(): string[] {
    return [...this.#deferrals.keys()]
  }

  defer(nativeId: string): void {
    this.#deferrals.get(nativeId)?.()
  }
}
