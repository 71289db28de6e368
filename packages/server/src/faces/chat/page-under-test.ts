import { systemClock } from '../../system-clock.ts'
import { ai6, ai7, react6, react7 } from '../../transcripts/ai-sdk-modules-under-test.ts'
import { plain, type Sdk } from '../../transcripts/ai-sdk-under-test.ts'
import type { UiMessage } from '../../transcripts/ui-message.ts'

export type PageOptions = {
  readonly id?: string
  readonly messages?: UiMessage[]
  readonly body?: object
  /** If set, answers are sent only when the test sends them. Otherwise the page sends them automatically. */
  readonly byHand?: true
}

type StockChat = {
  readonly id: string
  messages: UiMessage[]
  readonly status: 'submitted' | 'streaming' | 'ready' | 'error'
  readonly error: Error | undefined
  sendMessage(message: object, options?: object): Promise<void>
  regenerate(): Promise<void>
  resumeStream(): Promise<void>
  stop(): Promise<void>
  addToolApprovalResponse(answer: object): Promise<void>
  addToolOutput(answer: object): Promise<void>
}
type ToolPart = UiMessage['parts'][number] & {
  readonly toolCallId: string
  readonly state: string
  readonly approval?: { readonly id: string }
}

const patienceMs = 30_000

/** A page with a stock `Chat`, a stock transport and the two stock rules for sending automatically. */
export class Page {
  readonly id: string
  readonly chat: StockChat
  readonly errors: string[] = []

  constructor(
    { url, token }: { url: string; token: string },
    sdk: Sdk,
    { id, messages = [], body = {}, byHand }: PageOptions & { id: string },
  ) {
    this.id = id
    const ai = sdk === 6 ? ai6 : ai7
    const transport = newTransport(ai, {
      api: `${url}/api/chat?sdk=${sdk}`,
      headers: { authorization: `Bearer ${token}` },
      body,
    })
    type Given = Parameters<typeof ai.lastAssistantMessageIsCompleteWithToolCalls>[0]
    const options = {
      id,
      messages,
      transport,
      onError: (error: Error) => void this.errors.push(error.message),
      ...(!byHand && {
        sendAutomaticallyWhen: (given: Given) =>
          ai.lastAssistantMessageIsCompleteWithApprovalResponses(given as never) ||
          ai.lastAssistantMessageIsCompleteWithToolCalls(given as never),
      }),
    }
    this.chat = newChat(sdk, options)
  }

  /** The messages as plain JSON values. */
  get messages(): UiMessage[] {
    return plain(this.chat.messages)
  }

  get last(): UiMessage {
    const last = this.messages.at(-1)
    if (!last) throw new Error('the page has no message')
    return last
  }

  get text(): string {
    return this.last.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  }

  tools(state?: string): ToolPart[] {
    const tools = this.last.parts.filter((part): part is ToolPart => 'toolCallId' in part)
    return state === undefined ? tools : tools.filter((part) => part.state === state)
  }

  /** Sends a text or a script as a user message; resolves when the response has ended. */
  say(words: string | readonly object[]): Promise<void> {
    return this.chat.sendMessage({ text: typeof words === 'string' ? words : JSON.stringify(words) })
  }

  decide(part: ToolPart | undefined, approved: boolean, more: object = {}): Promise<void> {
    return this.chat.addToolApprovalResponse({ id: part?.approval?.id, approved, ...more })
  }

  /** Resolves with the page once the condition holds. */
  async when(what: string, holds: (page: Page) => boolean): Promise<this> {
    for (const deadline = Date.now() + patienceMs; !holds(this); ) {
      if (Date.now() > deadline) {
        throw new Error(
          `not ${what}: ${this.chat.status} ${this.chat.error} ${JSON.stringify(this.messages)}`,
        )
      }
      await systemClock.yieldToIo()
    }
    return this
  }

  asked(count = 1): Promise<this> {
    return this.when(
      'asked',
      ({ chat }) => chat.status === 'ready' && this.tools('approval-requested').length === count,
    )
  }

  /** Resolves at the end of the turn, which may be later than the end of a response. */
  ended(outcome = 'completed'): Promise<this> {
    return this.when(`ended (${outcome})`, ({ chat }) => {
      const settled = chat.status === 'ready' || chat.status === 'error'
      const metadata = chat.messages.at(-1)?.metadata as { outcome?: string } | undefined
      return settled && metadata?.outcome === outcome
    })
  }
}

type Made = new (options: object) => unknown

/**
 * Creates a `Chat` of one major version. The types are cast, because each version has its own types for the
 * same things.
 */
function newChat(sdk: Sdk, options: object): StockChat {
  const { Chat } = sdk === 6 ? react6 : react7
  return new (Chat as unknown as Made)(options) as StockChat
}

function newTransport(ai: { DefaultChatTransport: unknown }, options: object): unknown {
  return new (ai.DefaultChatTransport as Made)(options)
}
