import type { PermissionResult } from '@anthropic-ai/claude-agent-sdk'

/** Calls that a person is asked about in the hook: there, and only there, one can be deferred. */
export class HookWaits {
  readonly #deferrals = new Map<string, () => void>()
  readonly #answers = new Map<string, PermissionResult>()

  /** Until there is an answer, or the call is deferred. */
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

  /** The answer of a call whose hook has had it, once. */
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
