import type {
  Content,
  Finish,
  GenerateResult,
  ResponseMetadata,
  StreamPart,
  Warning,
} from './specification.ts'

type Written = Extract<Content, { type: 'text' | 'reasoning' }>

export class Reply {
  readonly content: Content[] = []
  readonly #open = new Map<string, Written>()
  #response: ResponseMetadata | undefined
  #finish: Finish | undefined
  #error: { readonly error: unknown } | undefined

  add(part: StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const { providerMetadata } = part
        const type = part.type === 'text-start' ? 'text' : 'reasoning'
        const block: Written = { type, text: '', ...(providerMetadata && { providerMetadata }) }
        this.#open.set(part.id, block)
        this.content.push(block)
        return
      }
      case 'text-delta':
      case 'reasoning-delta': {
        const block = this.#open.get(part.id)
        if (block) block.text += part.delta
        return
      }
      case 'tool-call':
      case 'tool-result':
      case 'file':
        this.content.push(part)
        return
      case 'response-metadata': {
        const { type, ...response } = part
        this.#response = response
        return
      }
      case 'error':
        this.#error ??= part
        return
      case 'finish': {
        const { type, ...finish } = part
        this.#finish = finish
      }
    }
  }

  /** The finished reply. Throws the error of a failed turn. */
  result(modelId: string, warnings: Warning[]): GenerateResult {
    if (this.#error) throw this.#error.error
    if (!this.#finish) throw new Error('a response did not end')
    const response = this.#response ?? { id: '', timestamp: new Date(), modelId }
    return { ...this.#finish, content: this.content, response, warnings }
  }
}
