import { newId } from '@parley/protocol'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { conversation, eventually, openSession } from './console-page.ts'
import { scriptedConsole } from './console-scripted.ts'

/** What a person meets who queues, stops, searches and answers in several tabs. */
const talk = (name: string) =>
  Array.from({ length: 30 }, (_, at) => ({ type: 'text' as const, text: `${name}, piece ${at}` }))
const queued = Array.from({ length: 12 }, (_, at) => `queued ${at + 1}`)
const { server, openTab, session, host, gates } = scriptedConsole({
  start: [{ type: 'wait', gate: 'start' }],
  ...Object.fromEntries(queued.map((words) => [words, talk(words)])),
})

describe('prompts that were queued long before their turns', () => {
  const order = (page: Page) =>
    conversation(page)
      .locator('article')
      .allTextContents()
      .then((rows) => rows.map((row) => /queued \d+(, piece 0(?!\d))?/.exec(row)?.[0]).filter(Boolean))

  it('stand above them when the session is opened again', async () => {
    const id = await session('start')
    for (const text of queued)
      await host().command(id, { type: 'prompt.submit', commandId: newId('cmd'), text })
    gates.open('start')
    await eventually(async () => (await host().state(id)).turns).toBe(13)
    const { page, complaints } = await openTab()
    await openSession(page, server, id)
    await conversation(page).getByText('queued 12, piece 29').waitFor()
    await page.keyboard.press('Escape')
    // Up by pages of the screen, but not to the top: nothing older is loaded.
    const timeline = page.getByTestId('timeline')
    const seen: string[] = []
    for (let screens = 0; screens < 60 && !seen.includes('queued 12'); screens++) {
      seen.push(...((await order(page)) as string[]))
      await timeline.evaluate((element) => element.scrollBy(0, -element.clientHeight / 2))
    }
    expect(seen).toContain('queued 12')
    const first = conversation(page).getByText('queued 12, piece 0', { exact: true })
    await first.waitFor()
    const [prompt, answer] = await Promise.all([
      conversation(page).getByText('queued 12', { exact: true }).boundingBox(),
      first.boundingBox(),
    ])
    expect(prompt?.y).toBeLessThan(answer?.y ?? 0)
    expect(complaints).toEqual([])
  })
})
