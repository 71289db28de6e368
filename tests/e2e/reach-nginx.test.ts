import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConsoleServer, launchBrowser, listen } from './console-browser.ts'
import { eventually, panel, prompt, shows } from './console-page.ts'
import { documentedNginx, freePort, Nginx } from './nginx.ts'

/** Tests the console behind nginx, with the configurations that docs/operations.md shows. */

const { location } = documentedNginx()
const ways: [string, string, string | undefined][] = [
  ['at a host of its own', '', undefined],
  ['under a path', '/tools', location],
  ['under a path that the proxy removes', '/tools', location.replace(':4747;', ':4747/;')],
]

describe.each(ways)('behind nginx with TLS, %s', (_, prefix, replaced) => {
  const nginx = new Nginx()
  const server = new ConsoleServer()
  let browser: Browser
  let publicUrl = ''

  beforeAll(async () => {
    ConsoleServer.build()
    await nginx.prepare()
    publicUrl = nginx.url + prefix
    server.environment = { PARLEY_PUBLIC_URL: publicUrl, PARLEY_TRUST_PROXY: '127.0.0.1' }
    const port = await freePort()
    server.port = port
    await server.start()
    // The printed link names the public address.
    server.port = port
    await nginx.start(port, replaced)
    browser = await launchBrowser([
      '--host-resolver-rules=MAP parley.example 127.0.0.1',
      `--ignore-certificate-errors-spki-list=${nginx.authority.keyHash('site')}`,
    ])
  }, 180_000)
  afterAll(async () => {
    await browser?.close()
    await nginx.stop()
    await server.dispose()
  })

  async function ask(path: string, headers: Record<string, string>) {
    const asked = request({
      host: '127.0.0.1',
      port: nginx.port,
      servername: 'parley.example',
      ca: nginx.authority.text('ca.crt'),
      path: prefix + path,
      headers: {
        host: `parley.example:${nginx.port}`,
        authorization: `Bearer ${server.token}`,
        ...headers,
      },
      agent: false,
    }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    return [asked, answer] as const
  }

  async function statusFor(headers: Record<string, string>): Promise<number | undefined> {
    const [, answer] = await ask('/api/agents', headers)
    answer.resume()
    return answer.statusCode
  }

  async function openPage(): Promise<{ page: Page; problems: string[] }> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 } })
    const page = await context.newPage()
    const problems: string[] = []
    listen(page, problems)
    return { page, problems }
  }

  it('a link signs a browser in, and a session, its terminal and its export work', async () => {
    expect(server.link).toMatch(`${publicUrl}/open#`)
    const { page, problems } = await openPage()
    const sockets: string[] = []
    page.on('websocket', (socket) => sockets.push(socket.url()))
    await page.goto(server.link)
    await page.waitForURL(`${publicUrl}/`)
    const id = await server.session()
    await page.goto(`${publicUrl}/sessions/${id}`)
    await prompt(page).fill('show markdown')
    await page.keyboard.press('Enter')
    await shows(page, /quotation/)
    expect(sockets).toContain(`${publicUrl.replace('https', 'wss')}/api/ws`)

    await page.getByRole('button', { name: 'Terminals' }).click()
    const terminals = panel(page, 'Terminals')
    await terminals.getByRole('button', { name: 'Open a terminal' }).click()
    const screen = () => terminals.locator('.xterm-rows').textContent()
    await eventually(screen).toMatch(/[$#]/)
    await terminals.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type('echo reached $((40 + 2))')
    await page.keyboard.press('Enter')
    await eventually(screen).toMatch('reached 42')

    await page.getByRole('button', { name: 'Session menu' }).click()
    await page.getByRole('menuitem', { name: 'Export' }).click()
    const [exported] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('menuitem', { name: 'Web page (HTML)' }).click(),
    ])
    await exported.getByText('quotation').first().waitFor()
    expect(exported.url()).toMatch(`${publicUrl}/api/downloads/`)
    await exported.close()
    expect(problems).toEqual([])
  })

  it('a phone is paired with a typed code, and its page opens while the server is down', async () => {
    const pairing = await server.call<{ code: string; url: string }>('/api/pairings', { name: 'Phone' })
    expect(pairing.url).toMatch(`${publicUrl}/pair#`)
    const { page, problems } = await openPage()
    await page.goto(`${publicUrl}/pair`)
    await page.getByLabel('Code').fill(pairing.code)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${publicUrl}/`)
    const kept = () =>
      page.evaluate(async () => {
        await navigator.serviceWorker.ready
        const [name = ''] = await caches.keys()
        return (await (await caches.open(name)).keys()).length
      })
    await eventually(kept).toBeGreaterThan(3)
    const scopes = () =>
      page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).map(({ scope }) => scope))
    expect(await scopes()).toEqual([`${publicUrl}/`])
    await page.context().setOffline(true)
    await page.reload()
    await page.getByTestId('offline').filter({ visible: true }).first().waitFor()
    expect(problems).toEqual([])
  })

  it('server-sent events arrive one by one', async () => {
    const id = await server.session()
    const [asked, answer] = await ask(`/api/sessions/${id}/events`, { accept: 'text/event-stream' })
    let text = ''
    answer.on('data', (piece) => {
      text += piece
    })
    await eventually(() => text).toMatch('session.created')
    await server.call(`/api/sessions/${id}/commands`, {
      commandId: 'one',
      type: 'prompt.submit',
      text: 'show markdown',
    })
    await eventually(() => text).toMatch('turn.ended')
    asked.destroy()
  })

  it('a foreign Host and a foreign Origin are refused, and the log of nginx has no code and no token', async () => {
    const own = { host: `parley.example:${nginx.port}`, origin: nginx.url }
    expect(await statusFor(own)).toBe(200)
    expect(await statusFor({ ...own, host: 'evil.example' })).toBe(403)
    expect(await statusFor({ ...own, origin: 'https://evil.example' })).toBe(403)
    const { requests } = nginx
    expect(requests).toMatch(`${prefix}/api/devices`)
    expect(requests).not.toMatch(new URL(server.link).hash.slice(1))
    expect(requests).not.toMatch(server.token)
    expect(requests).not.toMatch(/bearer/i)
  })
})
