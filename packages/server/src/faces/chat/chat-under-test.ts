import type { ChatRequest } from '@parley/protocol'
import { pino } from 'pino'
import {
  type HostUnderTest,
  type HostUnderTestOptions,
  hostUnderTest,
  SessionUnderTest,
} from '../../core/host-under-test.ts'
import { sessionIdFrom } from '../../core/index.ts'
import type { Sdk } from '../../transcripts/ai-sdk-under-test.ts'
import type { UiMessage } from '../../transcripts/ui-message.ts'
import type { ServeSettings } from '../http/serve.ts'
import { type ServerUnderTest, serverUnderTest, testToken } from '../http/server-under-test.ts'
import { type ChatFaceOptions, createChatFace } from './index.ts'
import { Page, type PageOptions } from './page-under-test.ts'

export { Page } from './page-under-test.ts'

export type ChatUnderTest = AsyncDisposable & {
  readonly under: HostUnderTest
  readonly server: ServerUnderTest
  /** A page with a stock `Chat`, a stock transport and the two stock rules for sending automatically. */
  page(sdk: Sdk, options?: PageOptions): Page
  session(chatId: string): SessionUnderTest
  messages(chatId: string): Promise<UiMessage[]>
  /** Sends a request that a stock page would not send, and returns the answer of the chat face. */
  send(body: Partial<ChatRequest> | object): Promise<{ status: number; text: string }>
}

export async function chatUnderTest(
  options: Omit<HostUnderTestOptions, 'limits'> &
    Pick<ChatFaceOptions, 'limits'> &
    Pick<ServeSettings, 'allowedOrigins'> = {},
): Promise<ChatUnderTest> {
  const { limits, allowedOrigins = [], ...hosting } = options
  const under = await hostUnderTest(hosting)
  const defaults = { agent: 'scripted', cwd: under.cwd }
  const logger = pino({ level: 'silent' })
  const chat = createChatFace({ logger, defaults, ...(limits && { limits }) })
  const server = await serverUnderTest(under.host, { chat, allowedOrigins })
  let pages = 0
  const sessionOf = (chatId: string) =>
    new SessionUnderTest(
      () => under.host,
      chatId.startsWith('ses_') ? chatId : sessionIdFrom(`chat:${chatId}`),
    )
  return {
    under,
    server,
    page: (sdk, { id = `chat ${++pages}/x`, ...given } = {}) =>
      new Page({ url: server.url, token: testToken }, sdk, { id, ...given }),
    session: sessionOf,
    async messages(chatId) {
      const { text } = await server.ask(`/api/chat/${encodeURIComponent(chatId)}/messages`)
      return JSON.parse(text)
    },
    async send(body) {
      const { status, text } = await server.ask('/api/chat', { body })
      return { status, text }
    },
    async [Symbol.asyncDispose]() {
      chat.close()
      await server.close()
      await under[Symbol.asyncDispose]()
    },
  }
}
