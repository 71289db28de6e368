import { routes } from '@parley/protocol'
import { linkLifetimeMs } from '../access.ts'
import type { App, AppParts, RequestContext } from '../app.ts'
import type { CommandLine } from '../command-line.ts'
import { html, htmlResponse, page } from '../html.ts'
import { mount } from '../mount.ts'

export function mountLinks(app: App, parts: AppParts): void {
  const { access } = parts
  const spent = spentPage(parts.commandLine)
  mount(app, parts, routes.createLink, () => {
    const { code, expiresAt } = access.codes.issue(linkLifetimeMs)
    return { url: `${parts.url()}/open/${code}`, expiresAt }
  })

  mount(
    app,
    parts,
    routes.signOut,
    () => new Response(null, { status: 204, headers: { 'Set-Cookie': access.clearCookie() } }),
  )

  app.get('/open/:code', (context) => {
    if (!isOpenedByPerson(context)) return new Response(null, { status: 204 })
    const redeemed = access.codes.redeem(context.req.param('code'))
    if (redeemed) return htmlResponse(welcomePage, 200, { 'Set-Cookie': access.setCookie() })
    return access.isSignedIn(context.env.incoming) ? htmlResponse(welcomePage, 200) : htmlResponse(spent, 401)
  })
}

/** A browser that looks ahead, or a chat that previews a link, must not use it up. */
function isOpenedByPerson(context: RequestContext): boolean {
  const purpose = `${context.req.header('Sec-Purpose') ?? ''} ${context.req.header('Purpose') ?? ''}`
  return context.req.method === 'GET' && !/prefetch|prerender/i.test(purpose)
}

/**
 * A page that goes on by itself, not a redirect: a SameSite=Strict cookie is not sent along a redirect that began on
 * another site.
 */
const welcomePage = page({
  title: 'Parley',
  head: html`<meta http-equiv="refresh" content="0; url=/">`,
  body: html`<h1>Parley</h1><p>You are signed in. <a href="/">Go on</a></p>`,
})

function spentPage(commandLine: CommandLine): string {
  return page({
    title: 'Parley',
    body: html`<h1>This link does not work any more</h1>
      <p>A link signs in one browser, once, and expires. For a new one, run</p>
      <pre>${commandLine('token --link')}</pre>`,
  })
}
