import type { Browser, BrowserContext, Page } from 'playwright-core'
import { signIn } from '../../tests/e2e/browser-sign-in.ts'
import type { ParleyServer } from './servers.ts'

/** The object that the bench injects before the page's own scripts. It observes and counts, and changes nothing. */
declare global {
  interface Window {
    bench: {
      /**
       * Time since navigation start until the end of the conversation was on screen, and until it was formatted too.
       */
      readableMs?: number
      formattedMs?: number
      /**
       * Messages from the server with their times on the page's clock. A `performance.mark` for each would cost more.
       */
      appended: { readonly type: string; readonly at: number }[]
      keystrokes: Keystroke[]
      /** Milliseconds from now to the first frame in which the condition holds. */
      untilShown(holds: () => boolean): Promise<number>
    }
  }
}

/** Milliseconds from a key until its letter is in the page and laid out, and until its frame is painted. */
export type Keystroke = { readonly laidOut: number; readonly painted: number }

/** A signed-in browser that has loaded nothing, so the first page that it opens is completely cold. */
export async function newVisitor(browser: Browser, parley: ParleyServer): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  await context.addInitScript(watch)
  const page = await context.newPage()
  const newLink = async () => (await parley.request<{ url: string }>('POST', '/api/links', {})).url
  await signIn(page, { url: parley.url, newLink })
  await page.close()
  return context
}

export type Opened = { readonly readable: number; readonly formatted: number }

export async function openSession(page: Page, parley: ParleyServer, id: string): Promise<Opened> {
  await page.goto(`${parley.url}/sessions/${id}`, { waitUntil: 'commit' })
  await page
    .waitForFunction(() => window.bench?.formattedMs !== undefined)
    .catch(async () => {
      throw new Error(
        `Session ${id} never showed its end. The page shows: ${await page.locator('body').textContent()}`,
      )
    })
  return page.evaluate(() => ({ readable: window.bench.readableMs!, formatted: window.bench.formattedMs! }))
}

/** Waits until the browser has stored a copy of the session and of the page itself. */
export async function untilKept(page: Page, id: string): Promise<void> {
  await page.evaluate(() => navigator.serviceWorker.ready)
  while (!(await isKept(page, id))) await page.waitForTimeout(20)
}

function isKept(page: Page, id: string): Promise<boolean> {
  return page.evaluate(
    (sessionId) =>
      new Promise<boolean>((resolve) => {
        const opening = indexedDB.open('parley')
        opening.onsuccess = () => {
          const read = opening.result.transaction('sessions').objectStore('sessions').getKey(sessionId)
          read.onsuccess = () => {
            opening.result.close()
            resolve(read.result !== undefined)
          }
        }
      }),
    id,
  )
}

/** Scrolls up until every event of the session is in the page, then back to its end. */
export async function loadWhole(page: Page, id: string): Promise<void> {
  const scroller = page.getByTestId('timeline')
  const first = scroller.locator(`article[data-key="prm_${id}.1"]`)
  const up = setInterval(
    () => void scroller.evaluate((element) => element.scrollTo(0, 0)).catch(() => {}),
    50,
  )
  await first.waitFor().finally(() => clearInterval(up))
  const latest = page.getByRole('button', { name: 'Jump to latest' })
  if (await latest.isVisible()) await latest.click()
  await page.waitForFunction(
    () => document.querySelector<HTMLElement>('[data-testid=timeline]')?.dataset.atEnd === 'true',
  )
}

/** Runs in the page before its own scripts, and creates `window.bench`. */
export function watch(): void {
  const bench: Window['bench'] = {
    appended: [],
    keystrokes: [],
    untilShown: (holds) =>
      new Promise((resolve) => {
        const begun = performance.now()
        const look = () => (holds() ? resolve(performance.now() - begun) : requestAnimationFrame(look))
        requestAnimationFrame(look)
      }),
  }
  window.bench = bench
  const isOnScreen = (row: Element | undefined) => {
    const box = row?.getBoundingClientRect()
    return box !== undefined && box.height > 0 && box.bottom > 0 && box.top < innerHeight
  }
  /**
   * True if the row is the last of the list. Below it, the list has room for the line with the agent's
   * activity.
   */
  const isAtEndOfList = (row: Element) => {
    const list = row.parentElement?.getBoundingClientRect()
    return list !== undefined && list.bottom - row.getBoundingClientRect().bottom <= 48
  }
  const look = () => {
    const rows = [...document.querySelectorAll('[role=feed] article[aria-setsize]')]
    const last = rows.findLast(isAtEndOfList)
    const said = rows.findLast((row) => row.ariaLabel === 'Agent' && isOnScreen(row))
    if (said?.textContent && isOnScreen(last)) {
      bench.readableMs ??= performance.now()
      if (said.querySelector('.markdown')) bench.formattedMs = performance.now()
    }
    if (bench.formattedMs === undefined) requestAnimationFrame(look)
  }
  requestAnimationFrame(look)

  let pressed = 0
  const afterFrame = new MessageChannel()
  const press = (event: KeyboardEvent) => {
    pressed = event.timeStamp
  }
  let laidOut = 0
  afterFrame.port1.onmessage = () => {
    bench.keystrokes.push({ laidOut, painted: performance.now() - pressed })
  }
  // A listener of the window runs after those of the page's elements, so the page has already rendered the letter.
  // Reading the height forces the layout.
  const input = () => {
    if (document.activeElement && document.activeElement.scrollHeight > 0)
      laidOut = performance.now() - pressed
    requestAnimationFrame(() => afterFrame.port2.postMessage(0))
  }
  addEventListener('keydown', press, true)
  addEventListener('input', input)

  const appended = /^\{"type":"(event|delta)"/
  window.WebSocket = class extends WebSocket {
    constructor(...input: ConstructorParameters<typeof WebSocket>) {
      super(...input)
      this.addEventListener('message', ({ data }) => {
        const type = typeof data === 'string' && appended.exec(data)?.[1]
        if (type) bench.appended.push({ type, at: performance.now() })
      })
    }
  }
}
