import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { ParleyError, routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountChat(app: App, parts: AppParts): void {
  const chat = () => {
    if (!parts.chat) throw new ParleyError('not_supported', 'The chat face is not enabled on this server.')
    return parts.chat
  }
  const sdkOf = ({ sdk }: { sdk: '6' | '7' }) => (sdk === '7' ? 7 : 6)

  mount(app, parts, routes.chat, async ({ body, query, context, host }) => {
    await chat().send(body, { outgoing: context.env.outgoing, sdk: sdkOf(query), host })
    return RESPONSE_ALREADY_SENT
  })
  mount(app, parts, routes.resumeChat, async ({ params, query, context, host }) => {
    if (context.req.method === 'HEAD') return new Response(null, { status: 204 })
    const reader = { outgoing: context.env.outgoing, sdk: sdkOf(query), host } as const
    const resumed = await chat().resume(params.id, reader)
    return resumed ? RESPONSE_ALREADY_SENT : new Response(null, { status: 204 })
  })
  mount(app, parts, routes.stopChat, ({ params, host }) => chat().stop(params.id, host))
  mount(app, parts, routes.chatMessages, ({ params, host }) => chat().messages(params.id, host))
}
