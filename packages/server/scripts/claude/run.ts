import { randomUUID } from 'node:crypto'
import {
  type Options,
  type Query,
  query,
  type SDKMessage,
  type SDKUserMessage,
} from '@anthropic-ai/claude-agent-sdk'

/** One process of Claude Code whose input stays open, for a recording. */
export class ClaudeRun implements AsyncDisposable {
  readonly query: Query
  sessionId = ''
  readonly #queue: SDKUserMessage[] = []
  readonly #seen: SDKMessage[] = []
  readonly #ended: Promise<void>
  #wake: () => void = () => undefined
  #notify: () => void = () => undefined
  #open = true

  constructor(options: Options, take: (message: SDKMessage) => void) {
    this.query = query({
      prompt: this.#input(),
      options: {
        settingSources: [],
        includePartialMessages: true,
        model: 'claude-sonnet-4-5',
        permissionMode: 'default',
        canUseTool: async (_name, input) => ({ behavior: 'allow', updatedInput: input }),
        ...options,
      },
    })
    this.#ended = this.#read(take)
  }

  say(content: SDKUserMessage['message']['content']): void {
    this.#queue.push({
      type: 'user',
      uuid: randomUUID(),
      message: { role: 'user', content },
      parent_tool_use_id: null,
    })
    this.#wake()
  }

  /** Sends a prompt and waits for its result. */
  async turn(content: SDKUserMessage['message']['content']): Promise<void> {
    const results = this.#results()
    this.say(content)
    await this.until(() => this.#results() > results)
  }

  async until(holds: (messages: readonly SDKMessage[]) => boolean): Promise<void> {
    while (this.#open && !holds(this.#seen)) {
      await new Promise<void>((resolve) => {
        this.#notify = resolve
      })
    }
  }

  /** Resolves when the process has ended. */
  ended(): Promise<void> {
    return this.#ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#open = false
    this.#wake()
    this.query.close()
    await this.#ended
  }

  #results(): number {
    return this.#seen.filter(({ type }) => type === 'result').length
  }

  async #read(take: (message: SDKMessage) => void): Promise<void> {
    try {
      for await (const message of this.query) {
        take(message)
        this.#seen.push(message)
        if (message.session_id) this.sessionId = message.session_id
        this.#notify()
      }
    } catch {
      // After an error result, the iterator throws the same error.
    }
    this.#open = false
    this.#notify()
  }

  async *#input(): AsyncGenerator<SDKUserMessage> {
    while (this.#open) {
      const next = this.#queue.shift()
      if (next) yield next
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
  }
}
