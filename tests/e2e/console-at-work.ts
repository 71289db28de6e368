import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { ConsoleServer, launchBrowser, openTab, type Tab } from './console-browser.ts'

type TabOptions = Parameters<typeof openTab>[2]
type Served = { readonly url: string; newLink(): Promise<string> }

/** A browser for all tests of a file. What a test opens is closed when the test ends, however it ends. */
export function browserAtWork(server: Served, prepare?: () => Promise<void>, defaults: TabOptions = {}) {
  let launched: Browser | undefined
  const browser = () => {
    if (launched) return launched
    throw new Error('There is no browser before the tests begin.')
  }
  beforeAll(async () => {
    ConsoleServer.build()
    await prepare?.()
    launched = await launchBrowser()
  }, 180_000)
  afterAll(() => launched?.close())
  return {
    browser,
    /** A signed-in tab in a separate context. */
    async openTab(options?: TabOptions, at = server): Promise<Tab> {
      const tab = await openTab(browser(), at, { ...defaults, ...options })
      onTestFinished(() => tab.context.close())
      return tab
    },
  }
}

/** Like `browserAtWork`, with the real server. `prepare` runs before its start; `defaults` are options of its tabs. */
export function consoleAtWork(
  prepare?: (server: ConsoleServer) => void | Promise<void>,
  defaults: TabOptions = {},
) {
  const server = new ConsoleServer()
  afterAll(() => server.dispose())
  const work = browserAtWork(
    server,
    async () => {
      await prepare?.(server)
      await server.start()
    },
    defaults,
  )
  return { server, ...work }
}
