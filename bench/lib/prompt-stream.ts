import type { SDKUserMessage } from '@anthropic-ai/claude-agent-sdk'

/** The prompts of a live query of the SDK: a stream that stays open between them. */
export class PromptStream {
  readonly #prompts: SDKUserMessage[] = []
  #wake: () => void = () => undefined
  #over = false

  say(text: string): void {
    this.#prompts.push({ type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null })
    this.#wake()
  }

  end(): void {
    this.#over = true
    this.#wake()
  }

  async *messages(): AsyncGenerator<SDKUserMessage> {
    while (!this.#over) {
      const next = this.#prompts.shift()
      if (next) yield next
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }
}
