import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { consoleFixture } from './console-fixture.ts'
import { eventually, keptSeq, openSession, prompt, shows } from './console-page.ts'

const { server, openTab } = consoleFixture()

/** Everything that the browser has stored, as one text. */
const kept = (page: Page) =>
  page.evaluate(async () => {
    const db = await new Promise<IDBDatabase>((resolve, reject) => {
      const opening = indexedDB.open('parley')
      opening.onsuccess = () => resolve(opening.result)
      opening.onerror = () => reject(opening.error)
    })
    const records = await Promise.all(
      [...db.objectStoreNames].map(
        (name) =>
          new Promise<unknown>((resolve) => {
            const reading = db.transaction(name).objectStore(name).getAll()
            reading.onsuccess = () => resolve(reading.result)
          }),
      ),
    )
    db.close()
    return JSON.stringify([records, { ...localStorage }, { ...sessionStorage }])
  })

it('signing out leaves nothing stored, in any tab', async () => {
  const { page, context } = await openTab()
  const id = await server.session('show markdown')
  const other = await context.newPage()
  await openSession(other, server, id)
  await shows(other, /quotation/)
  await prompt(other).fill('words that are mine')
  await eventually(() => keptSeq(other, id)).toBeGreaterThan(0)
  const mine = [id, server.project, 'words that are mine', 'quotation']
  const known = async () => {
    const text = await kept(page)
    return mine.filter((words) => text.includes(words))
  }
  expect(await known()).toContain('words that are mine')

  await page.goto(`${server.url}/settings/browser`)
  await page.getByRole('button', { name: 'Sign this browser out' }).click()
  const asksForLink = (tab: Page) => tab.getByText(/sign in|link/i).first()
  await asksForLink(page).waitFor()
  await asksForLink(other).waitFor()
  await eventually(() => other.getByText('words that are mine').count()).toBe(0)
  await eventually(known).toEqual([])
  expect((await context.request.get(`${server.url}/api/sessions`)).status()).toBe(401)
})
