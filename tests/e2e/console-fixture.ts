import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { SignInServer } from './browser-sign-in.ts'
import {
  ConsoleServer,
  closeContexts,
  openTab,
  sharedBrowser,
  type Tab,
  type TabOptions,
} from './console-browser.ts'
import { conversation } from './console-page.ts'

/** The browser of the worker for all tests of a file. Everything that a test opens is closed when the test ends, even if it fails. */
export function browserFixture(
  server: SignInServer,
  prepare?: () => Promise<void>,
  defaults: TabOptions = {},
) {
  let launched: Browser | undefined
  const browser = () => {
    if (launched) return launched
    throw new Error('There is no browser before the tests begin.')
  }
  beforeAll(async () => {
    ConsoleServer.build()
    await prepare?.()
    launched = await sharedBrowser()
  }, 180_000)
  afterAll(() => closeContexts(launched))
  const open = async (path: string, options: TabOptions, at: SignInServer): Promise<Tab> => {
    const tab = await openTab(browser(), at, { ...defaults, ...options }, path)
    onTestFinished(() => tab.context.close())
    return tab
  }
  return {
    browser,
    /** A signed-in tab in a separate context, on the start page. */
    openTab: (options: TabOptions = {}, at = server) => open('/', options, at),
    /** Like `openTab`, on the page of a session. */
    async openSessionTab(id: string, options: TabOptions = {}): Promise<Tab> {
      const tab = await open(`/sessions/${id}`, options, server)
      await conversation(tab.page).waitFor()
      return tab
    },
  }
}

/**
 * Like `browserFixture`, with the real server. `prepare` runs before its start; `defaults` are the options of
 * its tabs.
 */
export function consoleFixture(
  prepare?: (server: ConsoleServer) => void | Promise<void>,
  defaults: TabOptions = {},
) {
  const server = new ConsoleServer()
  afterAll(() => server.dispose())
  const work = browserFixture(
    server,
    async () => {
      await prepare?.(server)
      await server.start()
    },
    defaults,
  )
  return { server, ...work }
}
