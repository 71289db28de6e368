import type { ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type ChatRequest, ParleyError, routes, type UiMessage } from '@parley/protocol'
import type { App, AppParts } from '../app.ts'
import { mount } from '../mount.ts'

type Reader = { readonly outgoing: ServerResponse; readonly sdk: 6 | 7 }

/** The part of the chat face that these routes use. */
export type ChatDoor = {
  send(body: ChatRequest, reader: Reader): Promise<void>
  resume(chatId: string, reader: Reader): Promise<boolean>
  stop(chatId: string): Promise<void>
  messages(chatId: string): Promise<UiMessage[]>
}

export function mountChat(app: App, parts: AppParts): void {
  const door = (): ChatDoor => {
    if (!parts.chat) throw new ParleyError('not_supported', 'This server runs without the chat face.')
    return parts.chat
  }
  const sdkOf = ({ sdk }: { sdk: '6' | '7' }) => (sdk === '7' ? 7 : 6)

  mount(app, parts, routes.chat, async ({ body, query, context }) => {
    await door().send(body, { outgoing: context.env.outgoing, sdk: sdkOf(query) })
    return RESPONSE_ALREADY_SENT
  })
  mount(app, parts, routes.resumeChat, async ({ params, query, context }) => {
    if (context.req.method === 'HEAD') return new Response(null, { status: 204 })
    const reader = { outgoing: context.env.outgoing, sdk: sdkOf(query) } as const
    const resumed = await door().resume(params.id, reader)
    return resumed ? RESPONSE_ALREADY_SENT : new Response(null, { status: 204 })
  })
  mount(app, parts, routes.stopChat, async ({ params }) => {
    await door().stop(params.id)
    return null
  })
  mount(app, parts, routes.chatMessages, ({ params }) => door().messages(params.id))
}
