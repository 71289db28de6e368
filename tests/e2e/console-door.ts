import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { signIn } from './browser-sign-in.ts'
import { Door } from './claude-at-work.ts'
import { consoleAtWork } from './console-at-work.ts'

export type BehindDoor = {
  readonly door: Door
  readonly page: Page
  readonly context: BrowserContext
  readonly url: string
}

/** A console behind a proxy. With the proxy closed, the server runs but is unreachable. */
export function consoleBehindDoor() {
  const work = consoleAtWork(({ folder }) => {
    const dataDir = join(folder, 'data')
    mkdirSync(dataDir)
    // Any port of this address, because the proxy has another port than the server.
    writeFileSync(join(dataDir, 'config.json'), JSON.stringify({ allowHosts: ['127.0.0.1'] }))
  })
  const { server, browser } = work
  return {
    ...work,
    async openThroughDoor(options: BrowserContextOptions = {}): Promise<BehindDoor> {
      const door = await Door.open(server.port)
      onTestFinished(() => door.shut())
      const context = await browser().newContext(options)
      onTestFinished(() => context.close())
      const page = await context.newPage()
      await signIn(page, { url: door.url, newLink: () => server.newLink() })
      await page.goto(door.url)
      await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
      return { door, page, context, url: door.url }
    },
  }
}

/** Closes the proxy and waits until the page shows that it is offline. */
export async function shut({ door, page, context }: Omit<BehindDoor, 'url'>): Promise<void> {
  await context.setOffline(true)
  await door.shut()
  await page.getByTestId('offline').filter({ visible: true }).first().waitFor()
}
