import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { ParleyError, routes } from '@parley/protocol'
import type { StoredEvent } from '../../../core/session-store.ts'
import { type App, type AppParts, json, mount, type RequestContext, wantsStream } from '../mount.ts'

export function mountEvents(app: App, parts: AppParts): void {
  mount(app, parts, routes.events, async ({ params, query, context, host }) => {
    const { before, limit, epoch } = query
    const after = lastEventId(context) ?? query.after
    if (after !== undefined && before !== undefined) {
      throw new ParleyError('validation_error', 'Give either "after" or "before", not both.')
    }
    const from = { ...(after !== undefined && { after }), ...(epoch !== undefined && { epoch }) }
    if (!wantsStream(context)) {
      const prompts = query.prompts === 'true'
      const range = { ...from, ...(before !== undefined && { before }), limit, prompts }
      return json(pageText(await host.read(params.id, range)))
    }
    if (before !== undefined) {
      throw new ParleyError('validation_error', 'A stream of events accepts "after", not "before".')
    }
    const { outgoing } = context.env
    await parts.streams.follow({ sessionId: params.id, ...from, native: query.native === 'true', outgoing })
    return RESPONSE_ALREADY_SENT
  })
}

/**
 * The cursor that a reader of server-sent events sends in a header when it reconnects. It is newer than the cursor in
 * the URL.
 */
function lastEventId(context: RequestContext): number | undefined {
  const text = context.req.header('Last-Event-ID')
  if (!text) return undefined
  if (!/^\d{1,15}$/.test(text)) {
    throw new ParleyError('validation_error', 'Last-Event-ID must be the seq of an event.')
  }
  return Number(text)
}

/** A page of events as JSON. Joins the stored JSON texts without parsing them. */
function pageText(page: {
  events: StoredEvent[]
  head: number
  epoch: string
  prompts?: StoredEvent[]
}): string {
  const prompts = page.prompts ? `"prompts":[${texts(page.prompts)}],` : ''
  return `{"events":[${texts(page.events)}],${prompts}"head":${page.head},"epoch":${JSON.stringify(page.epoch)}}`
}

function texts(events: readonly StoredEvent[]): string {
  return events.map((event) => event.json).join(',')
}
