export type DeferredFate = 'again' | 'dismissed'

/**
 * The call that an earlier process of the conversation deferred. The resumed process asks about it by itself, as soon as it
 * runs; what becomes of it is known with the host's first message.
 */
export class DeferredCall {
  readonly nativeId: string
  readonly #announce: (name: string, input: unknown) => Promise<void>
  readonly #fate = Promise.withResolvers<DeferredFate>()
  #asked: Promise<DeferredFate> | undefined
  #isDecided = false

  constructor(nativeId: string, announce: (name: string, input: unknown) => Promise<void>) {
    this.nativeId = nativeId
    this.#announce = announce
  }

  get isDecided(): boolean {
    return this.#isDecided
  }

  /** Its turn goes on with it, or is over. */
  decide(fate: DeferredFate): void {
    this.#isDecided = true
    this.#fate.resolve(fate)
  }

  /** However often the program asks, it is announced once. */
  ask(name: string, input: unknown): Promise<DeferredFate> {
    this.#asked ??= this.#fate.promise.then(async (fate) => {
      if (fate === 'again') await this.#announce(name, input)
      return fate
    })
    return this.#asked
  }
}
