import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type ExportFormat, routes } from '@parley/protocol'
import { html, page, pagePolicy } from '../../../transcripts/documents/html.ts'
import { cutWhenRevoked, downloadLifetimeMs } from '../authentication.ts'
import type { ExportFile, ProofOf } from '../export.ts'
import { type App, type AppParts, htmlResponse, mount, type RequestContext } from '../mount.ts'
import { problem, problemResponse } from '../problem.ts'

export function mountExport(app: App, parts: AppParts): void {
  const { authentication } = parts
  mount(app, parts, routes.exportSession, ({ params, query, context, host }) =>
    send({ ...parts, host }, { sessionId: params.id, as: query.as, proof: query.proof === 'true' }, context),
  )
  mount(app, parts, routes.createDownload, async ({ params, body, context, host }) => {
    const { id } = await host.state(params.id)
    const download = { sessionId: id, as: body.as, caller: context.get('caller') }
    const code = authentication.downloads.issue(download, downloadLifetimeMs)
    return { path: `/api/downloads/${code}`, expiresInMs: downloadLifetimeMs }
  })
  mount(app, parts, routes.download, async ({ params, context }) => {
    // HEAD must not use the code up.
    if (context.req.method === 'HEAD') return new Response(null, { status: 204 })
    const download = authentication.downloads.redeem(params.code)
    if (!download || (await download.caller.isSignedOut())) return spent(context)
    cutWhenRevoked(download.caller, context.env.outgoing)
    return send(parts, download, context)
  })
}

async function send(
  parts: AppParts,
  { sessionId, as, proof }: { sessionId: string; as: ExportFormat; proof?: boolean },
  context: RequestContext,
): Promise<Response> {
  const { exportSession } = await import('../export.ts')
  const file = await exportSession(parts.host, sessionId, as, proof ? proofOf(parts) : undefined)
  const headers = headersOf(file)
  if (context.req.method === 'HEAD') return new Response(null, { headers })
  const { outgoing } = context.env
  outgoing.writeHead(200, headers)
  try {
    await pipeline(Readable.from(file.chunks), outgoing)
  } catch (error) {
    if (!isGone(error)) parts.logger.error({ err: error, session: sessionId }, 'an export was interrupted')
  }
  return RESPONSE_ALREADY_SENT
}

/** The proof of an export: the public keys of this server, and those of the browsers that signed answers. */
function proofOf({ host, authentication }: AppParts): ProofOf {
  return async (sessionId, deviceKeyIds) => ({
    type: 'parley.proof',
    version: 1,
    sessionId,
    exportedAt: Date.now(),
    keys: await host.sealKeys(),
    devices: await authentication.devices().withKeys(deviceKeyIds),
  })
}

/** The answer for a used or expired download: a person may have reloaded the page of an export. */
function spent({ req }: RequestContext): Response {
  const message = 'This download link was used or has expired. Export the session again.'
  if (!/\btext\/html\b/.test(req.header('Accept') ?? '')) {
    return problemResponse(problem({ code: 'not_found', message }))
  }
  return htmlResponse(
    page({ title: 'Parley', body: html`<h1>Download link expired</h1><p>${message}</p>` }),
    404,
  )
}

/** The headers of an export. HTML is shown in the browser; other formats are downloads. */
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
