import { html, page } from '../../transcripts/documents/html.ts'
import type { CommandLine } from './command-line.ts'
import { consolePolicy, createConsoleFiles } from './console-files.ts'
import { type App, type AppParts, htmlResponse, type RequestContext } from './mount.ts'
import { problem, problemResponse } from './problem.ts'

/** The paths that serve the console page. The page itself reads the rest of the URL. */
const places = [
  '/',
  '/open',
  '/pair',
  '/decide',
  '/new',
  '/inbox',
  '/import',
  '/settings',
  '/settings/:section',
  '/sessions/:id',
  '/rounds/:id',
]

/** Files that must be at the root path: the service worker, and the files that the page's head names. */
const filesBeside = [
  '/first.js',
  '/sw.js',
  '/manifest.webmanifest',
  '/icon.svg',
  '/icon-waiting.svg',
  '/icon-working.svg',
  '/icon-192.png',
  '/icon-512.png',
  '/icon-maskable.png',
  '/icon-touch.png',
]

/**
 * Mounts the web console. The page is the same for everybody and contains no data; it fetches data with its access
 * token. If the console was not built, a plain page says how to use the server without it. Returns the response for a
 * browser at an unknown URL.
 */
export function mountConsole(app: App, parts: AppParts): () => Promise<Response> {
  const { address, commandLine, consoleFolder } = parts
  const files = consoleFolder === undefined ? undefined : createConsoleFiles(consoleFolder)

  async function built(status: number): Promise<Response | undefined> {
    const page = await files?.page()
    return page === undefined
      ? undefined
      : htmlResponse(withBase(page, address.basePath), status, { 'Content-Security-Policy': consolePolicy })
  }
  const show = async () =>
    (await built(200)) ?? htmlResponse(frontPage({ url: address.url, commandLine }), 200)
  for (const place of places) app.get(place, show)
  const unknownPage = async () => (await built(404)) ?? htmlResponse(noPage(address.basePath), 404)

  if (!files) return unknownPage
  for (const path of ['/assets/:name', ...filesBeside]) {
    app.get(path, async (context) => {
      const found = await files.file(context.req.path.slice(1), context.req.header('Accept-Encoding'))
      return (
        found ??
        problemResponse(problem({ code: 'not_found', message: 'The console does not have this file.' }))
      )
    })
  }
  return unknownPage
}

/** Whether the request is a browser navigation: it accepts HTML. */
export function wantsPage({ req }: RequestContext): boolean {
  if (req.method !== 'GET' && req.method !== 'HEAD') return false
  return !/^\/api(\/|$)/.test(req.path) && /\btext\/html\b/.test(req.header('Accept') ?? '')
}

/** All addresses in the page are relative to its base element, so that it works under any path. */
function withBase(text: string, basePath: string): string {
  return text.replace('<base href="/" />', () => `<base href="${basePath}" />`)
}

const noPage = (basePath: string) =>
  page({
    title: 'Parley',
    body: html`<h1>Page not found</h1>
    <p>The link may be old or mistyped. <a href="${basePath}">All sessions</a></p>`,
  })

/**
 * The page that is served if the console was not built. It is public, so it says how to use the server and
 * nothing about the server's content.
 */
function frontPage({ url, commandLine }: { url: string; commandLine: CommandLine }): string {
  const webSocketUrl = `${url.replace(/^http/, 'ws')}/api/ws`
  const bearer = `-H "Authorization: Bearer $(${commandLine('token', { quiet: true })})"`
  return page({
    title: 'Parley',
    body: html`<h1>Parley is running</h1>
      <p class="soft">The web console is not built. Everything else works.</p>
      <h2>In a terminal</h2>
      <pre>${commandLine('run demo "show a permission"')}</pre>
      <pre>${commandLine('sessions')}</pre>
      <h2>Over HTTP</h2>
      <pre>curl ${bearer} ${url}/api/sessions</pre>
      <pre>curl ${bearer} ${url}/api/openapi.json</pre>
      <p class="soft">Events as they happen:</p>
      <pre>curl -N ${bearer} -H "Accept: text/event-stream" ${url}/api/sessions/SESSION/events</pre>
      <h2>Over a WebSocket</h2>
      <pre>${webSocketUrl}</pre>`,
  })
}
