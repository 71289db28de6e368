import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { phone, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import {
  allowOnce,
  boxOf,
  card,
  conversation,
  eventually,
  openSession,
  say,
  settingsChip,
  shows,
} from './console-page.ts'

/** Tests the positions of a conversation's rows on screen, in a real browser. */
const { server, openTab, openSessionTab } = consoleFixture()

/** Opens a new session whose conversation is longer than the screen. */
async function longSession(page: Page): Promise<string> {
  const id = await server.session('markdown')
  await openSession(page, server, id)
  await page.getByTestId('working').waitFor({ state: 'detached' })
  await say(page, 'show markdown again')
  await eventually(() => turnsEnded(id)).toBe(2)
  return id
}

const turnsEnded = async (id: string) =>
  (await server.call<{ turns: number }>(`/api/sessions/${id}?tail=0`)).turns

const timeline = (page: Page) => page.getByTestId('timeline')

/** True if the row is inside the visible part of the timeline, and not covered by the card. */
async function isInSight(page: Page, words: RegExp): Promise<boolean> {
  const row = conversation(page).getByRole('article').filter({ hasText: words }).last()
  if ((await row.count()) === 0) return false
  const [box, frame] = [await boxOf(row), await boxOf(timeline(page))]
  return box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1
}

describe('an open request', () => {
  const screens = [
    { name: 'a wide screen', options: { viewport: { width: 1280, height: 700 } } },
    { name: 'a phone', options: phone },
  ]
  it.each(screens)(
    'takes space from the conversation and covers none of it, on $name',
    async ({ options }) => {
      const { page, context, consoleErrors } = await openTab(options)
      await longSession(page)
      const before = await boxOf(timeline(page))
      await say(page, 'show a permission')
      await card(page).getByText('rm -rf build').waitFor()
      await eventually(() => isInSight(page, /would like to remove it/)).toBe(true)
      const [asked, frame] = [await boxOf(card(page)), await boxOf(timeline(page))]
      expect(frame.bottom).toBeLessThanOrEqual(asked.top)
      expect(frame.height).toBeLessThan(before.height)
      await eventually(() => timeline(page).getAttribute('data-at-end')).toBe('true')

      await allowOnce(page).click()
      await shows(page, /Thank you/)
      await eventually(() => isInSight(page, /Thank you/)).toBe(true)
      await say(page, 'show markdown once more')
      await page.getByTestId('working').waitFor()
      await page.getByTestId('working').waitFor({ state: 'detached' })
      await eventually(() => isInSight(page, /And a quotation/)).toBe(true)
      await eventually(() => timeline(page).getAttribute('data-at-end')).toBe('true')
      expect(consoleErrors).toEqual([])
      await context.close()
    },
  )

  it('does not move a reader who has scrolled up', async () => {
    const { page, context } = await openTab({ viewport: { width: 1280, height: 700 } })
    const id = await longSession(page)
    await timeline(page).hover()
    await page.mouse.wheel(0, -400)
    await eventually(() => timeline(page).getAttribute('data-at-end')).toBe('false')
    const first = conversation(page).getByRole('article').first()
    const key = await first.getAttribute('data-key')
    const top = () =>
      page.locator(`article[data-key="${key}"]`).evaluate((row) => row.getBoundingClientRect().top)
    const before = await top()
    await server.call(`/api/sessions/${id}/commands`, {
      type: 'prompt.submit',
      commandId: 'cmd_permission',
      text: 'show a permission',
    })
    await card(page).waitFor()
    expect(Math.abs((await top()) - before)).toBeLessThan(2)
    await page.getByRole('button', { name: 'Jump to latest' }).click()
    await eventually(() => isInSight(page, /would like to remove it/)).toBe(true)
    await context.close()
  })
})

describe('a turn', () => {
  const line = (page: Page) => page.getByRole('group', { name: 'Current turn' })
  const firstTextOf = async (id: string) => {
    const path = `/api/sessions/${id}/events?limit=50`
    const { events } = await server.call<{ events: { type: string; seq: number }[] }>(path)
    return events.find(({ type }) => type === 'text.written')?.seq
  }
  const collapsed = (page: Page) => conversation(page).getByRole('article', { name: 'Collapsed turn' })

  it('has a line above the conversation while its prompt is scrolled out, with buttons that show its start and collapse it', async () => {
    const { page, context, consoleErrors } = await openTab({ viewport: { width: 1280, height: 480 } })
    const id = await longSession(page)
    await line(page).getByText('show markdown again').waitFor()
    await line(page).getByText('Completed').waitFor()
    await line(page).getByRole('button', { name: 'show markdown again' }).click()
    await line(page).getByRole('group', { name: 'Prompt of this turn' }).waitFor()
    await line(page).getByRole('button', { name: 'Go to the start of this turn' }).click()
    await line(page).waitFor({ state: 'detached' })
    await eventually(() => isInSight(page, /^show markdown again$/)).toBe(true)
    const collapse = conversation(page).getByRole('button', { name: 'Collapse this turn' })
    await eventually(() => collapse.last().evaluate((button) => button === document.activeElement)).toBe(true)

    await page.getByRole('button', { name: 'Jump to latest' }).click()
    await line(page).getByRole('button', { name: 'Collapse this turn' }).press('Enter')
    const expand = conversation(page).getByRole('button', { name: 'show markdown again' })
    await eventually(() => expand.evaluate((button) => button === document.activeElement)).toBe(true)
    expect(await expand.getAttribute('aria-expanded')).toBe('false')
    expect(await seriousFindings(page)).toEqual([])

    await page.reload()
    await eventually(() => collapsed(page).count()).toBe(1)
    await expand.press('Enter')
    await eventually(() => collapsed(page).count()).toBe(0)
    await eventually(() => collapse.last().evaluate((button) => button === document.activeElement)).toBe(true)

    await say(page, 'show markdown a third time')
    await eventually(() => turnsEnded(id)).toBe(3)
    await page.getByRole('button', { name: 'Session menu' }).click()
    await page.getByRole('menuitem', { name: 'Collapse old turns' }).click()
    await eventually(() => collapsed(page).count()).toBe(1)
    await page.goto(`${server.url}/sessions/${id}#e${await firstTextOf(id)}`)
    await eventually(() => collapsed(page).count()).toBe(0)
    const linked = conversation(page).getByRole('article').filter({ hasText: 'What markdown looks like' })
    await eventually(async () => {
      const [row, frame] = [await boxOf(linked.first()), await boxOf(timeline(page))]
      const middle = (frame.top + frame.bottom) / 2
      return row.top < middle && middle < row.bottom
    }).toBe(true)
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})

describe('a phone', () => {
  it('shows the whole mode, model and effort above the buttons', async () => {
    const { page, context } = await openSessionTab(await server.session('hang'), phone)
    await page.getByRole('button', { name: /^Stop/ }).waitFor()
    const send = await boxOf(page.getByRole('button', { name: 'Queue' }))
    const chip = settingsChip(page)
    const box = await boxOf(chip)
    expect(box.left).toBeGreaterThanOrEqual(0)
    expect(box.right).toBeLessThanOrEqual(phone.viewport.width)
    expect(box.bottom).toBeLessThanOrEqual(send.top)
    const text = chip.locator('.truncate')
    expect(await text.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0)
    await context.close()
  })
})
