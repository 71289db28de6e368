import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { TcpProxy } from '../../packages/server/src/testing/tcp-proxy.ts'
import { signIn } from './browser-sign-in.ts'
import { consoleFixture } from './console-fixture.ts'

export type ProxiedTab = {
  readonly proxy: TcpProxy
  readonly page: Page
  readonly context: BrowserContext
  readonly url: string
}

/** A console behind a proxy. With the proxy closed, the server runs but is unreachable. */
export function consoleBehindProxy() {
  const work = consoleFixture(({ folder }) => {
    const dataDir = join(folder, 'data')
    mkdirSync(dataDir)
    // The entry without a port allows any port of this address. The proxy has another port than the server.
    writeFileSync(join(dataDir, 'config.json'), JSON.stringify({ allowHosts: ['127.0.0.1'] }))
  })
  const { server, browser } = work
  return {
    ...work,
    async openThroughProxy(options: BrowserContextOptions = {}): Promise<ProxiedTab> {
      const proxy = await TcpProxy.open(server.port)
      onTestFinished(() => proxy.close())
      const context = await browser().newContext(options)
      onTestFinished(() => context.close())
      const page = await context.newPage()
      await signIn(page, { url: proxy.url, newLink: () => server.newLink() })
      await page.goto(proxy.url)
      await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
      return { proxy, page, context, url: proxy.url }
    },
  }
}

/** Closes the proxy and waits until the page shows that it is offline. */
export async function goOffline({ proxy, page, context }: Omit<ProxiedTab, 'url'>): Promise<void> {
  await context.setOffline(true)
  await proxy.close()
  await page.getByTestId('offline').filter({ visible: true }).first().waitFor()
}
