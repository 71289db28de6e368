import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SessionEvent } from '@parley/protocol'
import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ConsoleServer, listen, phone, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import { card, eventually } from './console-page.ts'
import { freePort } from './nginx.ts'

/** Tests decision links in browsers that are not signed in. */

const { server, browser, openSessionTab } = consoleFixture((one) => {
  one.environment = { PARLEY_DECIDE_BY_LINK: 'allow' }
})

type Request = { requestId: string; inputHash: string }

async function requestsOf(id: string, at = server): Promise<Request[]> {
  return (await at.call<{ requests: Request[] }>(`/api/sessions/${id}`)).requests
}

/** Creates a session with an open request, and a decision link for this request. */
async function linked(prompt: string, decisions = ['allow', 'deny'], at = server) {
  const id = await at.session(prompt)
  await eventually(async () => (await requestsOf(id, at)).length).toBe(1)
  const [request] = await requestsOf(id, at)
  const body = { requestId: request?.requestId, decisions, name: 'for Ana' }
  const made = await at.call<{ url: string; linkId: string }>(`/api/sessions/${id}/decision-links`, body)
  return { id, ...made }
}

/** Opens a page in a browser that was never signed in. */
async function stranger(options: object = {}): Promise<{ page: Page; errors: string[] }> {
  const context = await browser().newContext({ serviceWorkers: 'block', ...options })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const errors: string[] = []
  listen(page, errors)
  return { page, errors }
}

async function resolution(id: string) {
  const { events } = await server.call<{ events: SessionEvent[] }>(`/api/sessions/${id}/events?limit=500`)
  return events.find(({ type }) => type === 'permission.resolved')
}

const wide = { viewport: { width: 1280, height: 860 } }
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

describe.each([
  ['a wide light page', { ...wide, colorScheme: 'light' }],
  ['a dark phone', { ...phone, colorScheme: 'dark' }],
])('a link on %s', (_, options) => {
  it('shows the request with its whole input and its facts, and allows it once', async () => {
    const { id, url, linkId } = await linked('show a permission')
    const { page, errors } = await stranger(options)
    await page.goto(url)
    await page.getByRole('heading', { name: /demo wants to run a command/i }).waitFor()
    await page.getByText('rm -rf build').first().waitFor()
    await page.getByText(server.project).waitFor()
    await page.getByText(/link for Ana, created by .+; works for \d+ minutes/).waitFor()
    await page.getByText('Whole input of Bash').click()
    await page.getByText('"command": "rm -rf build"').waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    expect(await seriousFindings(page)).toEqual([])
    await button(page, 'Allow once').click()
    await page.getByRole('heading', { name: 'Allowed once' }).waitFor()
    expect(await resolution(id)).toMatchObject({
      outcome: 'allowed',
      scope: 'once',
      actor: { link: { id: linkId, name: 'link for Ana' } },
    })
    expect(errors).toEqual([])
    await page.reload()
    await page.getByText('This link was used. It works once.').waitFor()
  })

  it('shows a diff, and denies', async () => {
    const { id, url } = await linked('edit a file')
    const { page } = await stranger(options)
    await page.goto(url)
    await page.getByRole('heading', { name: /wants to change a file/ }).waitFor()
    await page.locator('figure').first().waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await button(page, 'Deny').click()
    await page.getByRole('heading', { name: 'Denied' }).waitFor()
    expect(await resolution(id)).toMatchObject({ outcome: 'denied' })
  })
})

it('the code leaves the address, survives a reload, and is in no other request, cookie or log line', async () => {
  const { url } = await linked('show a permission')
  const code = new URL(url).hash.slice(1)
  const { page } = await stranger(wide)
  const sent: string[] = []
  page.on('request', (one) => sent.push(`${one.url().split('#')[0]} ${JSON.stringify(one.headers())}`))
  await page.goto(url)
  await button(page, 'Allow once').waitFor()
  expect(page.url()).toBe(`${server.url}/decide`)
  await page.reload()
  await button(page, 'Allow once').waitFor()
  expect(sent.filter((one) => one.includes(code))).toEqual([])
  expect(await page.context().cookies()).toEqual([])
  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))
  expect(stored).not.toContain(code)
  expect(server.log).not.toContain(code)
  await button(page, 'Deny').click()
  await page.getByRole('heading', { name: 'Denied' }).waitFor()
})

it('a link that only denies has no button to allow, and says so', async () => {
  const { url } = await linked('show a permission', ['deny'])
  const { page } = await stranger(phone)
  await page.goto(url)
  await page.getByText('This link can only deny.').waitFor()
  expect(await page.getByRole('button').allTextContents()).toEqual(['Deny'])
})

it('a link whose request was answered elsewhere says so, even on a page that is already open', async () => {
  const { id, url } = await linked('show a permission')
  const { page } = await stranger(wide)
  await page.goto(url)
  await button(page, 'Allow once').waitFor()
  const [request] = await requestsOf(id)
  const command = { type: 'permission.decide', commandId: 'elsewhere', decision: 'deny', scope: 'once' }
  await server.call(`/api/sessions/${id}/commands`, { ...command, requestId: request?.requestId })
  await button(page, 'Allow once').click()
  await page.getByRole('heading', { name: 'This link cannot decide' }).waitFor()
  await page.getByText(/The request no longer waits for a decision/).waitFor()
})

it('an address with a wrong code says that the link is not known', async () => {
  const { page } = await stranger(wide)
  await page.goto(`${server.url}/decide#${'A'.repeat(43)}`)
  await page.getByText(/This link is not known here/).waitFor()
  // With another address in the same tab, the page reads the code again.
  await page.goto(`${server.url}/decide#cut-off`)
  await page.getByText('The link is not complete. Copy all of it.').waitFor()
  expect(await page.getByRole('button').count()).toBe(0)
})

it('the card of a request copies a link that decides it', async () => {
  const id = await server.session('show a permission')
  const permissions = ['clipboard-read', 'clipboard-write']
  const { page, consoleErrors } = await openSessionTab(id, { permissions })
  await card(page).getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Copy decision link' }).click()
  await page.getByText(/Link copied\. Whoever opens it can allow or deny this call/).waitFor()
  const url = await page.evaluate(() => navigator.clipboard.readText())
  expect(url).toMatch(new RegExp(`^${server.url}/decide#[\\w-]{43}$`))
  const { page: other } = await stranger(phone)
  await other.goto(url)
  await button(other, 'Allow once').tap()
  await other.getByRole('heading', { name: 'Allowed once' }).waitFor()
  await page
    .getByText(/created by you/)
    .first()
    .waitFor()
  expect(consoleErrors).toEqual([])
})

it('a link works under a path of another server', async () => {
  const behind = new ConsoleServer()
  const proxy = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const passed = request({ host: '127.0.0.1', port: behind.port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  }).listen(0, '127.0.0.1')
  onTestFinished(async () => {
    proxy.closeAllConnections()
    proxy.close()
    await behind.dispose()
  })
  await once(proxy, 'listening')
  const base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/tools/parley`
  const own = await freePort()
  behind.port = own
  behind.environment = { PARLEY_PUBLIC_URL: base, PARLEY_DECIDE_BY_LINK: 'allow' }
  await behind.start()
  behind.port = own
  const { url } = await linked('show a permission', undefined, behind)
  expect(url.startsWith(`${base}/decide#`)).toBe(true)
  const { page, errors } = await stranger(wide)
  await page.goto(url)
  await button(page, 'Deny').click()
  await page.getByRole('heading', { name: 'Denied' }).waitFor()
  expect(page.url()).toBe(`${base}/decide`)
  expect(errors).toEqual([])
})
