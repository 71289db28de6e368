import type { RequestContext } from './app.ts'

/** Whether the request asks for server-sent events instead of one answer. */
export function wantsStream({ req }: RequestContext): boolean {
  return req.method === 'GET' && /\btext\/event-stream\b/i.test(req.header('Accept') ?? '')
}
