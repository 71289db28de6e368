import type { SessionSummary } from '@parley/protocol'
import type { App, AppParts, RequestContext } from './app.ts'
import type { CommandLine } from './command-line.ts'
import { consolePolicy, createConsoleFiles } from './console-files.ts'
import { html, htmlResponse, page } from './html.ts'
import { problem, problemResponse } from './problem.ts'

const shown = 20

/** Every address of the console's own. The page reads the rest of it. */
const places = ['/', '/new', '/inbox', '/import', '/settings', '/settings/:section', '/sessions/:id']

/** What must lie at the root: a worker for the whole page, and what its head names. */
const filesBeside = ['/first.js', '/sw.js', '/icon.svg', '/icon-waiting.svg', '/icon-working.svg']

/**
 * The web console for those who are signed in. Where it was not built, a page that says how to do without. Gives back
 * what to show a browser at an address that there is not.
 */
export function mountConsole(app: App, parts: AppParts): (context: RequestContext) => Promise<Response> {
  const { host, access, version, url, commandLine, consoleFolder } = parts
  const signedOut = signedOutPage(commandLine)
  const files = consoleFolder === undefined ? undefined : createConsoleFiles(consoleFolder)

  async function show(context: RequestContext): Promise<Response> {
    return (await built(context, 200)) ?? plain()
  }
  /** The built page; undefined where there is none. */
  async function built(context: RequestContext, status: number): Promise<Response | undefined> {
    if (!access.isSignedIn(context.env.incoming)) return htmlResponse(signedOut, 401)
    const page = await files?.page()
    return page === undefined
      ? undefined
      : htmlResponse(page, status, { 'Content-Security-Policy': consolePolicy })
  }
  async function plain(): Promise<Response> {
    const { sessions } = await host.list({ limit: shown, archived: false })
    return htmlResponse(frontPage({ sessions, version, url: url(), commandLine }), 200)
  }
  for (const place of places) app.get(place, show)
  const nowhere = async (context: RequestContext) => (await built(context, 404)) ?? htmlResponse(noPage, 404)

  if (!files) return nowhere
  for (const path of ['/assets/:name', ...filesBeside]) {
    app.get(path, async (context) => {
      const found = await files.file(context.req.path.slice(1), context.req.header('Accept-Encoding'))
      return (
        found ?? problemResponse(problem({ code: 'not_found', message: 'The console has no such file.' }))
      )
    })
  }
  return nowhere
}

/** Whoever asks is a browser that goes somewhere, not a program: it says that it wants a page. */
export function wantsPage({ req }: RequestContext): boolean {
  if (req.method !== 'GET' && req.method !== 'HEAD') return false
  return !/^\/api(\/|$)/.test(req.path) && /\btext\/html\b/.test(req.header('Accept') ?? '')
}

const noPage = page({
  title: 'Parley',
  body: html`<h1>There is nothing at this address</h1>
    <p>The link may be old, or mistyped. <a href="/">All sessions</a></p>`,
})

function signedOutPage(commandLine: CommandLine): string {
  return page({
    title: 'Parley',
    body: html`<h1>Parley</h1>
      <p>This browser is not signed in. Open the link that the server printed when it started, or get a new one with</p>
      <pre>${commandLine('token --link')}</pre>`,
  })
}

export function frontPage(facts: {
  sessions: readonly SessionSummary[]
  version: string
  url: string
  commandLine: CommandLine
}): string {
  const { sessions, version, url, commandLine } = facts
  const webSocketUrl = `${url.replace(/^http/, 'ws')}/api/ws`
  const bearer = `-H "Authorization: Bearer $(${commandLine('token', { quiet: true })})"`
  return page({
    title: 'Parley',
    body: html`<h1>Parley runs</h1>
      <p class="soft">Version ${version} at ${url}. The web console is not built; everything else is here.</p>
      <h2>In a terminal</h2>
      <pre>${commandLine('run demo "show a permission"')}</pre>
      <h2>Over HTTP</h2>
      <pre>curl ${bearer} ${url}/api/sessions</pre>
      <p class="soft"><a href="/api/openapi.json">All routes</a>. Events as they happen:</p>
      <pre>curl -N ${bearer} -H "Accept: text/event-stream" ${url}/api/sessions/SESSION/events</pre>
      <h2>Over a WebSocket</h2>
      <pre>${webSocketUrl}</pre>
      <h2>Sessions</h2>
      ${
        sessions.length === 0
          ? html`<p class="soft">None yet: the first line above makes one.</p>`
          : html`<ul class="rows">${sessions.map(sessionRow)}</ul>`
      }`,
  })
}

function sessionRow({ id, title, status, agent, waiting, cwd }: SessionSummary) {
  const asks = waiting > 0 && html` · <strong>${waiting} waiting for you</strong>`
  return html`<li><a href="/api/sessions/${encodeURIComponent(id)}/export?as=html">${title || 'Untitled'}</a><br>
    <span class="soft">${agent} · ${status} · ${cwd}${asks}</span></li>`
}
