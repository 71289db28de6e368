import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import { expect, it, onTestFinished, vi } from 'vitest'
import { phone } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import { card, eventually, openSession, prompt, shows } from './console-page.ts'

const { server, browser, openTab, openSessionTab } = consoleFixture(undefined, { serviceWorkers: 'allow' })

type Request = { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string }

/** A server on another port, such as an agent could start. Its page tries to reach Parley in every way. */
async function hostileServer() {
  const requests: Request[] = []
  const http = createServer(async (incoming, outgoing) => {
    let body = ''
    for await (const piece of incoming) body += piece
    requests.push({ url: incoming.url ?? '', headers: incoming.headers, body })
    outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>evil</title>')
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  onTestFinished(() => void http.close())
  return { requests, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` }
}

/** Every token and code that the browser sends to Parley. */
function secretsOf(context: BrowserContext): Set<string> {
  const secrets = new Set<string>()
  context.on('request', (request) => {
    const bearer = /^Bearer (.+)$/.exec(request.headers().authorization ?? '')?.[1]
    if (bearer) secrets.add(bearer)
  })
  return secrets
}

const waitingIn = async (id: string) =>
  (await server.call<{ requests: { session: { id: string } }[] }>('/api/permissions')).requests.some(
    ({ session }) => session.id === id,
  )

async function tokenOf(page: Page): Promise<string> {
  const [request] = await Promise.all([
    page.waitForRequest((one) => one.headers().authorization !== undefined),
    page.reload(),
  ])
  return request.headers().authorization?.replace('Bearer ', '') ?? ''
}

const statusWith = async (token: string) =>
  (await fetch(`${server.url}/api/sessions`, { headers: { authorization: `Bearer ${token}` } })).status

it('a page on another port of this machine gets no credential, creates no session and decides nothing', async () => {
  const { page, context } = await openTab({ load: false })
  const secrets = secretsOf(context)
  const id = await server.session('show a permission')
  await openSession(page, server, id)
  await card(page).waitFor()
  const before = await server.call<{ sessions: unknown[] }>('/api/sessions')
  const { requests } = await server.call<{ requests: { request: { requestId: string } }[] }>(
    '/api/permissions',
  )
  const requestId = requests[0]?.request.requestId ?? ''
  expect(secrets.size).toBeGreaterThan(0)

  const evil = await hostileServer()
  const other = await context.newPage()
  await other.goto(evil.url)
  const outcomes = await other.evaluate(
    async ({ parley, sessionId, request, folder }) => {
      const attempts: [string, RequestInit][] = [
        ['/api/sessions', {}],
        [
          '/api/sessions',
          { method: 'POST', body: JSON.stringify({ agent: 'demo', cwd: folder, prompt: 'help' }) },
        ],
        [
          `/api/sessions/${sessionId}/commands`,
          {
            method: 'POST',
            body: JSON.stringify({
              commandId: 'evil',
              type: 'permission.decide',
              requestId: request,
              decision: 'allow',
            }),
          },
        ],
        ['/api/nonces', { method: 'POST' }],
        ['/api/links', { method: 'POST' }],
      ]
      const reported: string[] = []
      for (const [path, init] of attempts) {
        for (const mode of ['cors', 'no-cors'] as const) {
          const headers = { 'content-type': mode === 'cors' ? 'application/json' : 'text/plain' }
          const body = init.body === undefined ? {} : { headers }
          const attempt = fetch(parley + path, { ...init, ...body, mode, credentials: 'include' })
          reported.push(
            await attempt.then(
              (response) => String(response.status),
              () => 'failed',
            ),
          )
        }
      }
      const opened = await new Promise<string>((resolve) => {
        const socket = new WebSocket(`${parley.replace('http', 'ws')}/api/ws`, ['parley.v1'])
        socket.onopen = () => resolve('open')
        socket.onerror = () => resolve('failed')
      })
      const kept = (await indexedDB.databases()).map(({ name }) => name)
      return { reported, opened, kept, storage: Object.keys(localStorage), cookie: document.cookie }
    },
    { parley: server.url, sessionId: id, request: requestId, folder: server.project },
  )
  expect(outcomes.reported.filter((one) => one !== 'failed' && one !== '0')).toEqual([])
  expect(outcomes).toMatchObject({ opened: 'failed', kept: [], storage: [], cookie: '' })

  // Checks the requests that the hostile server received from the browser, and replays them without an Origin header.
  const received = JSON.stringify(evil.requests)
  for (const { headers } of evil.requests) {
    expect([headers.cookie, headers.authorization]).toEqual([undefined, undefined])
  }
  const replayed = await fetch(`${server.url}/api/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie: evil.requests[0]?.headers.cookie ?? 'x=1' },
    body: JSON.stringify({ agent: 'demo', cwd: server.project }),
  })
  expect(replayed.status).toBe(401)
  for (const secret of secrets) {
    expect(received).not.toContain(secret)
    expect(server.log).not.toContain(secret)
  }
  expect(await context.cookies()).toEqual([])
  expect(await server.call('/api/sessions')).toEqual(before)
  expect(await waitingIn(id)).toBe(true)
})

it('the code of a link stays neither in the URL nor in the history, and works once', async () => {
  const link = await server.newLink()
  const context = await browser().newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.goto(link)
  await page.waitForURL(`${server.url}/`)
  await page.goBack().catch(() => null)
  expect(page.url()).not.toContain(new URL(link).hash)
  const { page: late } = await openTab({ load: false })
  await late.evaluate(() => localStorage.clear())
  await late.goto(link)
  await late.getByText('This link was used or has expired').waitFor()
  expect(late.url()).toBe(`${server.url}/open`)
})

it('a paired phone leaves no credential in a cookie, a URL or the log, and a page on another port gets none', async () => {
  const { page: elsewhere } = await openTab({ load: false })
  await elsewhere.goto(`${server.url}/settings/browser`)
  await elsewhere.getByRole('button', { name: 'Pair a phone' }).click()
  await elsewhere.getByLabel('Name of the device (optional)').fill('Phone of Ana')
  await elsewhere.getByRole('button', { name: 'Show the code' }).click()
  const code = ((await elsewhere.getByTestId('pairing-code').textContent()) ?? '').replaceAll('-', '')
  await elsewhere.getByRole('img', { name: 'QR code of the link' }).waitFor()

  const context = await browser().newContext({ ...phone })
  onTestFinished(() => context.close())
  const secrets = secretsOf(context)
  const seen: string[] = []
  context.on('request', (request) => seen.push(request.url(), request.headers().cookie ?? ''))
  const page = await context.newPage()
  await page.goto(`${server.url}/pair#${code}`)
  await page.locator('#place').waitFor({ state: 'attached' })
  expect(page.url()).toBe(`${server.url}/`)
  await elsewhere.getByRole('status').getByText('Phone of Ana is signed in.').waitFor()
  await elsewhere.getByRole('button', { name: 'Done' }).click()
  await elsewhere.getByText('New device signed in: Phone of Ana').waitFor()
  await elsewhere.getByRole('region', { name: 'Signed-in browsers' }).getByText('Phone of Ana').waitFor()

  const evil = await hostileServer()
  await page.goto(evil.url)
  await page.evaluate(
    (parley) => fetch(`${parley}/api/me`, { credentials: 'include' }).catch(() => null),
    server.url,
  )
  expect(await context.cookies()).toEqual([])
  expect(secrets.size).toBeGreaterThan(0)
  // A browser reports the fragment of a page that it opens, but sends it to no server.
  const sent = seen.map((one) => one.split('#')[0]).join('\n')
  for (const secret of [...secrets, code]) {
    expect(sent).not.toContain(secret)
    expect(server.log).not.toContain(secret)
    expect(JSON.stringify(evil.requests)).not.toContain(secret)
  }
  await page.goBack()
  expect(page.url()).not.toContain(code)
})

it('a stolen access token fails as soon as its browser is signed out elsewhere, and all tabs of that browser sign out', async () => {
  const id = await server.session('show markdown')
  const { page, context } = await openSessionTab(id)
  await shows(page, /quotation/)
  const second = await context.newPage()
  await openSession(second, server, id)
  const token = await tokenOf(page)
  expect(await statusWith(token)).toBe(200)

  const { page: elsewhere } = await openTab({ load: false })
  await elsewhere.goto(`${server.url}/settings/browser`)
  const list = elsewhere.getByRole('region', { name: 'Signed-in browsers' })
  const entries = list.getByRole('listitem').filter({ hasNotText: 'this browser' })
  await entries
    .last()
    .getByRole('button', { name: /^Sign out Chrome/ })
    .click()
  await eventually(() => statusWith(token)).toBe(401)
  for (const tab of [page, second]) await tab.getByText('This browser was signed out').waitFor()
  expect(await page.evaluate(() => localStorage.getItem('parley:device'))).toBeNull()
  await list.getByText('this browser').waitFor()
})

it('a browser that is not signed in can copy the command for a link, and does not learn the data folder', async () => {
  const context = await browser().newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.goto(server.url)
  await page.getByText(/If the server was started with --data-dir, add the same option/).waitFor()
  await page.getByRole('button', { name: 'Copy command' }).click()
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText())
  await eventually(clipboard).toBe('npm start -- token --link')
  expect(await page.content()).not.toContain(server.folder)
})

it('after signing out, the old token fails at once', async () => {
  const { page } = await openTab({ load: false })
  await page.goto(`${server.url}/settings/browser`)
  const token = await tokenOf(page)
  expect(await statusWith(token)).toBe(200)
  await page.getByRole('button', { name: 'Sign this browser out', exact: true }).first().click()
  await page.getByText('This browser is not signed in').waitFor()
  expect(await statusWith(token)).toBe(401)
})

it('after a restart of the server the page signs in again by itself', async () => {
  const id = await server.session('show markdown')
  const { page } = await openSessionTab(id)
  await shows(page, /quotation/)
  const token = await tokenOf(page)
  await server.kill()
  await server.start()
  expect(await statusWith(token)).toBe(401)
  await prompt(page).fill('help')
  await page.getByRole('button', { name: /^(Send|Queue)$/ }).click()
  await shows(page, /I am the demo agent/)
  expect(await page.getByText(/not signed in/).count()).toBe(0)
})

it('the page of a one-time link sends no request without a credential, except to sign in', async () => {
  const context = await browser().newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const requests: string[] = []
  let isSignedIn = false
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (request.headers().authorization) isSignedIn = true
    else if (pathname.startsWith('/api/')) requests.push(`${request.method()} ${pathname}`)
  })
  await page.goto(await server.newLink())
  await page.getByRole('heading', { name: 'What do you want to build?' }).waitFor()
  await vi.waitUntil(() => isSignedIn, 30_000)
  expect(requests).toEqual(['POST /api/devices', 'POST /api/nonces', 'POST /api/access-tokens'])
})

it('a session is exported through a URL that works once', async () => {
  const id = await server.session('show markdown')
  const { page, context } = await openSessionTab(id)
  await shows(page, /quotation/)
  await page.getByRole('button', { name: 'Session menu' }).click()
  await page.getByRole('menuitem', { name: 'Export' }).click()
  const [exported] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('menuitem', { name: 'Web page (HTML)' }).click(),
  ])
  await exported.getByText('quotation').first().waitFor()
  expect(exported.url()).toMatch(/\/api\/downloads\/[\w-]{43}$/)
  await exported.reload()
  await exported.getByText('Export the session again').waitFor()
})

it('a client in a page connects with a token, and gets an error with another token', async () => {
  const { page } = await openTab()
  const outcome = await page.evaluate(
    ({ token }) =>
      Promise.all(
        [token, 'wrong-token-of-sixteen'].map(
          (given) =>
            new Promise<string>((resolve) => {
              const address = `${location.origin.replace('http', 'ws')}/api/ws`
              const socket = new WebSocket(address, ['parley.v1', `bearer.${given}`])
              socket.onopen = () => resolve(`open ${socket.protocol}`)
              socket.onerror = () => resolve('refused')
            }),
        ),
      ),
    { token: server.token },
  )
  expect(outcome).toEqual(['open parley.v1', 'refused'])
})
