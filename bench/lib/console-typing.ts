import type { Browser, Locator, Page } from 'playwright-core'
import { type Keystroke, watch } from './console-page.ts'

const restMs = 100

export async function typedInto(page: Page, field: Locator, count: number): Promise<Keystroke[]> {
  await field.click()
  await page.evaluate(() => window.bench.keystrokes.splice(0))
  const text = 'please look at the second test as well '.repeat(Math.ceil(count / 39)).slice(0, count)
  await page.keyboard.type(text, { delay: restMs })
  const keystrokes = await page.evaluate(() => window.bench.keystrokes)
  await field.fill('')
  if (keystrokes.length < count * 0.9) throw new Error(`${keystrokes.length} of ${count} keys were painted.`)
  return keystrokes
}

/** Types into a page that contains only a text field, to measure the time that the browser and the display take. */
export async function typedAlone(browser: Browser, count: number): Promise<Keystroke[]> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  await context.addInitScript(watch)
  const page = await context.newPage()
  await page.goto('data:text/html,<textarea rows=1></textarea>')
  const keystrokes = await typedInto(page, page.locator('textarea'), count)
  await context.close()
  return keystrokes
}
