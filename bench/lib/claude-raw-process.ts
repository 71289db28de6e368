import { spawn } from 'node:child_process'
import { type Options, type Query, query, type SDKMessage } from '@anthropic-ai/claude-agent-sdk'
import { type ClaudeSide, Listening, ownCost, type Received } from './claude-side.ts'
import { answer, given } from './processes.ts'
import { PromptStream } from './prompt-stream.ts'

/**
 * The SDK alone: one live query with a stream of prompts, or a new query for each turn, which resumes the conversation.
 * As in Parley, the program runs in its own process session: Linux shares processor time between sessions, and that
 * must not affect the measurement.
 */
const { env, folder } = given<ClaudeSide>()

const options: Options = {
  cwd: folder,
  env,
  settingSources: ['user'],
  permissionMode: 'default',
  includePartialMessages: true,
  systemPrompt: { type: 'preset', preset: 'claude_code' },
  spawnClaudeCodeProcess: ({ command, args, ...rest }) => spawn(command, args, { ...rest, detached: true }),
}

class Live {
  readonly query: Query
  readonly #prompts = new PromptStream()
  #listening: Listening | undefined

  constructor() {
    this.query = query({ prompt: this.#prompts.messages(), options })
    void this.#read().catch((error) => this.#listening?.end(String(error)))
  }

  async #read(): Promise<void> {
    for await (const message of this.query) if (this.#listening) take(message, this.#listening)
  }

  say(text: string): Promise<Received> {
    this.#listening = new Listening()
    this.#prompts.say(text)
    return this.#listening.received
  }

  close(): void {
    this.#prompts.end()
    this.query.close()
  }
}

function take(message: SDKMessage, listening: Listening): void {
  if (message.type === 'stream_event') {
    const { event } = message
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta')
      listening.hear(event.delta.text)
  } else if (message.type === 'result') {
    listening.end(message.subtype === 'success' && !message.is_error ? undefined : JSON.stringify(message))
  }
}

/** The id of the conversation that the next `turnByResume` resumes. */
let conversation = ''
let live: Live
const kept: Live[] = []

const calls = {
  open() {
    live = new Live()
    kept.push(live)
  },
  turn: (text: string) => live.say(text),
  /** Starts a new process and sends its first prompt at once. */
  cold(text: string): Promise<Received> {
    calls.open()
    return live.say(text)
  },
  /** Starts a new process for this turn, which resumes the conversation of the previous turn. */
  async turnByResume(text: string): Promise<Received> {
    const listening = new Listening()
    const one = query({
      prompt: text,
      options: { ...options, ...(conversation && { resume: conversation }) },
    })
    for await (const message of one) {
      if (message.type === 'result') conversation = message.session_id
      take(message, listening)
    }
    return listening.received
  },
  close: () => live.close(),
  ...ownCost,
}
export type ClaudeRawCalls = typeof calls

answer(calls, () => {
  for (const one of kept) one.close()
})
