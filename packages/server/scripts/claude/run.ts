import { randomUUID } from 'node:crypto'
import type { Options, Query, SDKMessage, SDKUserMessage } from '@anthropic-ai/claude-agent-sdk'
import { createInput } from '../../src/adapters/claude/program.ts'
import { SeenMessages } from '../model-answers.ts'
import { sdk } from './sdk.ts'

/** One process of Claude Code whose input stays open, for a recording. */
export class ClaudeRun implements AsyncDisposable {
  readonly query: Query
  sessionId = ''
  readonly #prompts = createInput<SDKUserMessage>()
  readonly #seen = new SeenMessages<SDKMessage>()
  readonly #ended: Promise<void>

  constructor(options: Options, take: (message: SDKMessage) => void) {
    this.query = sdk.query({
      prompt: this.#prompts.messages,
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
    this.#prompts.push({
      type: 'user',
      uuid: randomUUID(),
      message: { role: 'user', content },
      parent_tool_use_id: null,
    })
  }

  /** Sends a prompt and waits for its result. */
  async turn(content: SDKUserMessage['message']['content']): Promise<void> {
    const results = this.#results()
    this.say(content)
    await this.until(() => this.#results() > results)
  }

  until(holds: (messages: readonly SDKMessage[]) => boolean): Promise<void> {
    return this.#seen.until(holds)
  }

  ended(): Promise<void> {
    return this.#ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#prompts.end()
    this.query.close()
    await this.#ended
  }

  #results(): number {
    return this.#seen.count(({ type }) => type === 'result')
  }

  async #read(take: (message: SDKMessage) => void): Promise<void> {
    try {
      for await (const message of this.query) {
        take(message)
        if (message.session_id) this.sessionId = message.session_id
        this.#seen.add(message)
      }
    } catch {
      // The error is ignored: after an error result, the iterator throws the same error.
    }
    this.#seen.end()
  }
}
