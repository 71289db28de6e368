import type { SessionSummary } from '@parley/protocol'
import type { App, AppParts } from './app.ts'
import type { CommandLine } from './command-line.ts'
import { html, htmlResponse, page } from './html.ts'

const shown = 20

/** The front page. The web console will take its place; until then it says how to drive Parley without one. */
export function mountConsole(app: App, { host, access, version, url, commandLine }: AppParts): void {
  const signedOut = signedOutPage(commandLine)
  app.get('/', async (context) => {
    if (!access.isSignedIn(context.env.incoming)) return htmlResponse(signedOut, 401)
    const { sessions } = await host.list({ limit: shown, archived: false })
    return htmlResponse(frontPage({ sessions, version, url: url(), commandLine }), 200)
  })
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
      <p class="soft">Version ${version} at ${url}. The web console is not built yet; everything else is here.</p>
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
