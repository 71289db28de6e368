import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { routes } from '@parley/protocol'
import type { App, AppParts } from '../app.ts'
import { type ExportFile, exportSession } from '../export.ts'
import { pagePolicy } from '../html.ts'
import { mount } from '../mount.ts'

export function mountExport(app: App, parts: AppParts): void {
  mount(app, parts, routes.exportSession, async ({ params, query, context }) => {
    const file = await exportSession(parts.host, params.id, query.as)
    const headers = headersOf(file)
    if (context.req.method === 'HEAD') return new Response(null, { headers })
    const { outgoing } = context.env
    outgoing.writeHead(200, headers)
    try {
      await pipeline(Readable.from(file.chunks), outgoing)
    } catch (error) {
      if (!isGone(error)) parts.logger.error({ err: error, session: params.id }, 'an export broke off')
    }
    return RESPONSE_ALREADY_SENT
  })
}

/** A page is shown, the rest is saved. */
function headersOf({ mediaType, filename }: ExportFile): Record<string, string> {
  const isPage = mediaType === 'text/html'
  return {
    'Content-Type': `${mediaType}; charset=UTF-8`,
    'Content-Disposition': `${isPage ? 'inline' : 'attachment'}; filename="${filename}"`,
    ...(isPage && { 'Content-Security-Policy': `${pagePolicy}; frame-ancestors 'none'; sandbox` }),
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}
