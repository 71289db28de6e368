import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import { build } from 'vite'
import { expect, it, onTestFinished } from 'vitest'
import { createScriptedAdapter } from '../../packages/server/src/adapters/scripted/index.ts'
import { startParley } from '../../packages/server/src/cli/start.ts'
import { folderForTest } from '../../packages/server/src/testing/temporary-folder.ts'
import { launchBrowser } from './console-browser.ts'

const token = 'a-token+with/signs=(in)it'

/** Serves the page, built with an ordinary bundler, at its own origin. */
async function servePage(folder: string): Promise<string> {
  await build({
    configFile: false,
    root: join(import.meta.dirname, 'client-page'),
    logLevel: 'error',
    resolve: { conditions: ['source', 'module', 'browser'] },
    build: { outDir: folder, emptyOutDir: true, target: 'es2023' },
  })
  const server = createServer(({ url = '/' }, outgoing) => {
    const path = new URL(url, 'http://page').pathname
    const type = path.endsWith('.js') ? 'text/javascript' : 'text/html'
    outgoing.setHeader('content-type', type)
    outgoing.end(readFileSync(join(folder, path === '/' ? 'index.html' : path)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('a client in a browser connects with its token, and gets an error when its token or its origin is refused', async () => {
  const folder = folderForTest()
  const origin = await servePage(join(folder, 'page'))
  const start = async (name: string, allowedOrigins: string[]) => {
    const parley = await startParley({
      dataDir: join(folder, name),
      hostname: '127.0.0.1',
      port: 0,
      token,
      logger: pino({ level: 'silent' }),
      adapters: [createScriptedAdapter()],
      allowedOrigins,
    })
    onTestFinished(() => parley.close())
    return parley.http.url
  }
  const url = await start('data', [origin])
  const closed = await start('closed', [])
  const browser = await launchBrowser()
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  await page.goto(`${origin}/#${new URLSearchParams({ url, closed, token, cwd: folder })}`)
  await page.getByText('stranger refused').waitFor({ timeout: 60_000 })
  const said = await page.locator('#said').textContent()
  expect(said).toContain('socket open')
  expect(said).toContain('the turn ended')
  expect(said).toContain('stranger refused: unauthorized, socket stopped')
  expect(said).toContain(`outsider stopped, forbidden: Pages of ${origin} may not use this server.`)
  expect(said).toContain('stranger outside waiting, busy: No Parley server answers')
  expect(said).toContain(`allow pages of ${origin} with --allow-origin`)
})
