import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { Door } from './claude-at-work.ts'
import { consoleAtWork } from './console-at-work.ts'

export type BehindDoor = {
  readonly door: Door
  readonly page: Page
  readonly context: BrowserContext
  readonly url: string
}

/** A console that is reached through a door, which can be shut: the server goes on, and nobody hears of it. */
export function consoleBehindDoor() {
  const work = consoleAtWork(({ folder }) => {
    const dataDir = join(folder, 'data')
    mkdirSync(dataDir)
    // Any port of this address: the door has another one than the server.
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
      await page.goto((await server.newLink()).replace(server.url, door.url))
      await page.waitForURL(`${door.url}/`)
      await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
      return { door, page, context, url: door.url }
    },
  }
}

/** Waits until the page says so. */
export async function shut({ door, page, context }: Omit<BehindDoor, 'url'>): Promise<void> {
  await context.setOffline(true)
  await door.shut()
  await page.getByTestId('offline').filter({ visible: true }).first().waitFor()
}
