import type { BrowserContext, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

/** Locators of the console's page, and helpers that wait for them. */
export const card = (page: Page) => page.getByTestId('request')
export const allowOnce = (page: Page) => card(page).getByRole('button', { name: /Allow once/ })
/** Taps a button of a card. A new card ignores taps for a moment, because they may have been meant for another card. */
export async function tapOnCard(button: Locator): Promise<void> {
  await button.waitFor()
  await button.page().locator('html:not([data-cards=paused])').waitFor({ state: 'attached' })
  await button.tap()
}
export const prompt = (page: Page) => page.getByRole('combobox', { name: 'Prompt' })
export const conversation = (page: Page) => page.getByRole('feed', { name: 'Conversation' })
export const panel = (page: Page, name: string) => page.getByRole('complementary', { name })

/** The buttons that open the menus of a new session: the agent; and the mode, the effort and the model. */
export const agentChip = (page: Page) => page.getByRole('button', { name: /^Agent: / })
export const settingsChip = (page: Page) => page.getByRole('button', { name: /^Mode: / })

export async function chooseAgent(page: Page, name: string): Promise<void> {
  await agentChip(page).click()
  await page
    .getByRole('menuitemradio', { name: new RegExp(`^${name}\\b`) })
    .first()
    .click()
}

export async function chooseSetting(page: Page, name: string): Promise<void> {
  await settingsChip(page).click()
  await page.getByRole('menuitemradio', { name: new RegExp(`^${name}\\b`) }).click()
}

export async function shows(page: Page, text: string | RegExp): Promise<void> {
  const words = conversation(page).getByText(text).first()
  await words.waitFor().catch(async () => {
    const shown = (await page.locator('body').textContent())?.slice(0, 3000)
    throw new Error(`The conversation never showed ${text}. The page says:\n${shown}`)
  })
  expect(await words.isVisible()).toBe(true)
}

export async function say(page: Page, words: string): Promise<void> {
  await prompt(page).fill(words)
  await page.getByRole('button', { name: /^(Send|Queue)$/ }).click()
}

/** Waits until a condition holds, with a timeout that is long enough for a busy machine. */
export const eventually = <Value>(look: () => Value) => expect.poll(look, { timeout: 20_000 })

export async function openSession(page: Page, server: { readonly url: string }, id: string): Promise<void> {
  await page.goto(`${server.url}/sessions/${id}`)
  await conversation(page).waitFor()
}

/** The position of an element on screen. Fails if the element is not on screen. */
export async function boxOf(element: Locator) {
  const box = await element.boundingBox()
  if (!box) throw new Error('The element is not on screen.')
  return { top: box.y, bottom: box.y + box.height, left: box.x, right: box.x + box.width, ...box }
}

/** The boxes of these elements, once they no longer move. */
export async function settledBoxes(
  page: Page,
  places: readonly Locator[],
): Promise<Awaited<ReturnType<typeof boxOf>>[]> {
  const measure = () => Promise.all(places.map(boxOf))
  let boxes = await measure()
  for (;;) {
    await page.evaluate(() => new Promise(requestAnimationFrame))
    const next = await measure()
    if (JSON.stringify(next) === JSON.stringify(boxes)) return next
    boxes = next
  }
}

/** The last seq of the browser's stored copy of a session. */
export function keptSeq(page: Page, id: string): Promise<number> {
  return page.evaluate(
    (sessionId) =>
      new Promise<number>((resolve, reject) => {
        const opening = indexedDB.open('parley')
        opening.onerror = () => reject(opening.error)
        opening.onsuccess = () => {
          const read = opening.result.transaction('sessions').objectStore('sessions').get(sessionId)
          read.onsuccess = () => {
            opening.result.close()
            resolve(read.result?.state.seq ?? 0)
          }
        }
      }),
    id,
  )
}

/** A value that the browser stores besides sessions. */
export const keptList = (page: Page, name: string) =>
  page.evaluate(
    (key) =>
      new Promise<unknown>((resolve, reject) => {
        const opening = indexedDB.open('parley')
        opening.onerror = () => reject(opening.error)
        opening.onsuccess = () => {
          const read = opening.result.transaction('lists').objectStore('lists').get(key)
          read.onsuccess = () => {
            opening.result.close()
            resolve(read.result)
          }
        }
      }),
    name,
  )

export type ShownNotification = { readonly title: string; readonly body: string }

/**
 * Records the browser's own notifications, which are not visible in a headless browser. Reports the permission as
 * granted, because the headless build of Chromium reports it as denied even if a test grants it.
 */
export async function recordNotifications(context: BrowserContext): Promise<ShownNotification[]> {
  const shown: ShownNotification[] = []
  await context.exposeFunction('recordNotification', (title: string, body: string) =>
    shown.push({ title, body }),
  )
  await context.addInitScript(() => {
    const { recordNotification } = window as unknown as {
      recordNotification(title: string, body: string): void
    }
    window.Notification = new Proxy(window.Notification, {
      get: (target, key) => (key === 'permission' ? 'granted' : Reflect.get(target, key)),
      construct(target, args: ConstructorParameters<typeof Notification>) {
        recordNotification(args[0], args[1]?.body ?? '')
        return new target(...args)
      },
    })
  })
  return shown
}
