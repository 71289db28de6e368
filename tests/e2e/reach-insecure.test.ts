import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ConsoleServer, launchBrowser, listen } from './console-browser.ts'
import { shows } from './console-page.ts'

/** A browser that reaches the server over plain HTTP at another name than localhost: its pages have no WebCrypto. */
const servers = { strict: new ConsoleServer(), insecure: new ConsoleServer() }
let browser: Browser

beforeAll(async () => {
  ConsoleServer.build()
  for (const [name, server] of Object.entries(servers)) {
    mkdirSync(join(server.folder, 'data'))
    const config = { allowHosts: ['parley.test'], allowInsecure: name === 'insecure' }
    writeFileSync(join(server.folder, 'data', 'config.json'), JSON.stringify(config))
    await server.start()
  }
  browser = await launchBrowser(['--host-resolver-rules=MAP parley.test 127.0.0.1'])
}, 180_000)
afterAll(async () => {
  await browser?.close()
  for (const server of Object.values(servers)) await server.dispose()
})

async function openPair(server: ConsoleServer) {
  const { code } = await server.call<{ code: string }>('/api/pairings', { name: 'Tablet' })
  const page = await (await browser.newContext()).newPage()
  const problems: string[] = []
  listen(page, problems)
  const url = `http://parley.test:${server.port}`
  await page.goto(`${url}/pair#${code.replaceAll('-', '')}`)
  return { page, url, problems }
}

it('cannot sign in, and the page says what to do', async () => {
  const { page } = await openPair(servers.strict)
  await page.getByRole('alert').filter({ hasText: '--allow-insecure' }).waitFor()
  const { devices } = await servers.strict.call<{ devices: unknown[] }>('/api/devices')
  expect(devices).toEqual([])
})

it('signs in where the server allows it, works, and is marked as weak', async () => {
  const server = servers.insecure
  const id = await server.session('show markdown')
  const { page, url, problems } = await openPair(server)
  await page.waitForURL(`${url}/`)
  expect(await page.evaluate(() => isSecureContext)).toBe(false)
  await page.goto(`${url}/sessions/${id}`)
  await shows(page, /quotation/)
  const { devices } = await server.call<{ devices: unknown[] }>('/api/devices')
  expect(devices).toMatchObject([{ name: 'Tablet (weak)', weak: true }])
  expect(problems).toEqual([])
})
