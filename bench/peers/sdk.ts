import { getSessionMessages, query, type SDKMessage } from '@anthropic-ai/claude-agent-sdk'
import { PromptStream } from '../lib/prompt-stream.ts'
import type { Hear, Place, Side, SideSession } from './side.ts'

/**
 * The Claude Agent SDK alone, used as well as possible: one live query for each session, which takes its prompts from a
 * stream.
 */
export const sdk: Side = {
  async start(place) {
    const open: LiveQuery[] = []
    return {
      async newSession(prompt, hear) {
        const live = new LiveQuery(place)
        open.push(live)
        await live.prompt(prompt, hear)
        return live
      },
      async stop() {
        for (const live of open) live.close()
      },
    }
  },
}

class LiveQuery implements SideSession {
  readonly #place: Place
  readonly #query
  readonly #prompts = new PromptStream()
  #turn = Promise.withResolvers<void>()
  #hear: Hear = () => undefined
  #id = ''

  constructor(place: Place) {
    this.#place = place
    this.#query = query({
      prompt: this.#prompts.messages(),
      options: {
        cwd: place.work,
        env: { ...place.env },
        pathToClaudeCodeExecutable: place.programs.claude,
        settingSources: ['user'],
        includePartialMessages: true,
        systemPrompt: { type: 'preset', preset: 'claude_code' },
      },
    })
    void this.#listen().catch((error) => this.#turn.reject(error))
  }

  prompt(text: string, hear: Hear): Promise<void> {
    this.#hear = hear
    this.#turn = Promise.withResolvers()
    this.#prompts.say(text)
    return this.#turn.promise
  }

  async read(hear: Hear): Promise<void> {
    for (const { type, message } of await getSessionMessages(this.#id, { dir: this.#place.work })) {
      const { content } = message as { content?: unknown }
      if (type !== 'assistant' || !Array.isArray(content)) continue
      for (const { text } of content as { text?: string }[]) if (text !== undefined) hear(text)
    }
  }

  close(): void {
    this.#prompts.end()
    this.#query.close()
  }

  async #listen(): Promise<void> {
    for await (const message of this.#query) this.#take(message)
  }

  #take(message: SDKMessage): void {
    if (message.type === 'stream_event') {
      const { event } = message
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta')
        this.#hear(event.delta.text)
    } else if (message.type === 'result') {
      this.#id = message.session_id
      if (message.subtype === 'success' && !message.is_error) this.#turn.resolve()
      else this.#turn.reject(new Error(JSON.stringify(message)))
    }
  }
}
