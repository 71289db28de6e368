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

/** The web console for those who are signed in. Where it was not built, a page that says how to do without. */
export function mountConsole(app: App, parts: AppParts): void {
  const { host, access, version, url, commandLine, consoleFolder } = parts
  const signedOut = signedOutPage(commandLine)
  const files = consoleFolder === undefined ? undefined : createConsoleFiles(consoleFolder)

  async function show(context: RequestContext): Promise<Response> {
    if (!access.isSignedIn(context.env.incoming)) return htmlResponse(signedOut, 401)
    const built = await files?.page()
    if (built !== undefined) return htmlResponse(built, 200, { 'Content-Security-Policy': consolePolicy })
    const { sessions } = await host.list({ limit: shown, archived: false })
    return htmlResponse(frontPage({ sessions, version, url: url(), commandLine }), 200)
  }
  for (const place of places) app.get(place, show)

  if (!files) return
  for (const path of ['/assets/:name', ...filesBeside]) {
    app.get(path, async (context) => {
      const found = await files.file(context.req.path.slice(1), context.req.header('Accept-Encoding'))
      return (
        found ?? problemResponse(problem({ code: 'not_found', message: 'The console has no such file.' }))
      )
    })
  }
}

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
