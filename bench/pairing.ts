import type { Browser } from 'playwright-core'
import { ConsoleServer, launchBrowser, openTab } from '../tests/e2e/console-browser.ts'
import { type Figure, milliseconds, type Row } from './lib/figure.ts'
import { compare, type Pair } from './lib/stats.ts'

const aimMs = 3_000

/**
 * The time from opening the link of a QR code, in a browser with an empty profile, to the signed-in console.
 * The baseline is the first load of the console in a browser that is already signed in.
 */
export const pairing: Figure = {
  name: 'pairing',
  async measure({ quick }) {
    ConsoleServer.build()
    const server = new ConsoleServer()
    await server.start()
    const browser = await launchBrowser()
    try {
      const pairs: Pair[] = []
      for (let round = 0; round < (quick ? 2 : 15); round++)
        pairs.push({ ours: await pairedAfter(browser, server), bare: await loadedAfter(browser, server) })
      return [row(compare(pairs))]
    } finally {
      await browser.close()
      await server.dispose()
    }
  },
}

async function pairedAfter(browser: Browser, server: ConsoleServer): Promise<number> {
  const { url } = await server.call<{ url: string }>('/api/pairings', {})
  const context = await browser.newContext()
  const page = await context.newPage()
  const start = performance.now()
  await page.goto(url, { waitUntil: 'commit' })
  await page.getByRole('heading', { name: 'What do you want to build?' }).waitFor()
  const ms = performance.now() - start
  await context.close()
  return ms
}

async function loadedAfter(browser: Browser, server: ConsoleServer): Promise<number> {
  const { page, context } = await openTab(browser, server, { load: false, serviceWorkers: 'allow' })
  const start = performance.now()
  await page.goto(server.url, { waitUntil: 'commit' })
  await page.getByRole('heading', { name: 'What do you want to build?' }).waitFor()
  const ms = performance.now() - start
  await context.close()
  return ms
}

function row(result: ReturnType<typeof compare>): Row {
  return {
    figure: 'from a scanned link to the signed-in console, against a load while signed in',
    value: milliseconds(result.ours),
    baseline: milliseconds(result.bare),
    ratio: result.ratio,
    aim: '< 3 s',
    met: result.ours < aimMs,
    data: result,
  }
}
