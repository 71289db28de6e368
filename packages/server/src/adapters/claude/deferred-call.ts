export type DeferredFate = 'again' | 'dismissed'

/**
 * A call that an earlier process of the conversation deferred. The resumed process asks about it as soon as it runs;
 * the host's first message decides what becomes of it.
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

  /** Decides whether the turn of the call continues with it or is over. */
  decide(fate: DeferredFate): void {
    this.#isDecided = true
    this.#fate.resolve(fate)
  }

  /** Announces the call once, however often the program asks. */
  ask(name: string, input: unknown): Promise<DeferredFate> {
    this.#asked ??= this.#fate.promise.then(async (fate) => {
      if (fate === 'again') await this.#announce(name, input)
      return fate
    })
    return this.#asked
  }
}
