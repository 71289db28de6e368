import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { phone, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import {
  agentChip,
  allowOnce,
  boxOf,
  card,
  conversation,
  eventually,
  openSession,
  panel,
  shows,
  tapOnCard,
} from './console-page.ts'

const { server, openTab, openSessionTab } = consoleFixture()

/** Elements that can be pressed and are too small for a finger. Links inside running text are not included. */
function tooSmall(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('button, summary, a[href], select')]
      .filter((one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
      .filter((one) => !one.closest('.markdown, .diff, .terminal, .sr-only'))
      .map((one) => ({ one, box: one.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 1 && box.height > 1 && box.height < 43.5)
      .map(({ one, box }) => `${one.ariaLabel ?? one.textContent?.slice(0, 40)}: ${box.height}`),
  )
}

async function fits(page: Page): Promise<void> {
  await eventually(() => tooSmall(page)).toEqual([])
}

/** Holds a finger on the number of the first line, and taps the number of the last one. */
async function chooseLinesByTouch(page: Page): Promise<void> {
  const changes = panel(page, 'Changes')
  const numbers = changes.getByRole('region', { name: 'src/greet.ts' }).locator('td.number[data-at]')
  const { left, top, height } = await boxOf(numbers.first())
  const devtools = await page.context().newCDPSession(page)
  const touchPoints = [{ x: left + 8, y: top + height / 2 }]
  await devtools.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints })
  await changes.getByText('Tap the number of the last line.').waitFor()
  await devtools.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  await fits(page)
  expect(await changes.getByRole('textbox', { name: 'Remark' }).count()).toBe(0)
  await numbers.nth(1).getByRole('button').tap()
  await changes.getByRole('textbox', { name: 'Remark' }).fill('Why both?')
  await changes.getByRole('button', { name: 'Add remark' }).tap()
  await changes.getByText('1 remark', { exact: true }).waitFor()
  await changes.getByRole('button', { name: 'Delete' }).tap()
}

describe('on a phone', () => {
  it('a session that does not exist has a way back', async () => {
    const { page } = await openTab({ ...phone, load: false })
    await page.goto(`${server.url}/sessions/ses_nope`)
    await page.getByRole('heading', { name: 'Session not found' }).waitFor()
    await fits(page)
    await page.getByRole('link', { name: 'All sessions' }).tap()
    await page.waitForURL(`${server.url}/`)
  })

  it('the list of shortcuts shows the keys', async () => {
    const { page } = await openTab({ ...phone, load: false })
    await page.goto(`${server.url}/settings/keys`)
    const section = page.getByRole('region', { name: 'In a terminal' })
    await section.getByText('Find in the terminal').waitFor()
    expect(await section.locator('kbd:visible').allTextContents()).toEqual([
      'F6',
      ...['Ctrl', 'Shift', 'F'],
      ...['Ctrl', 'K'],
    ])
    expect(await seriousFindings(page)).toEqual([])
  })

  it('everything that can be pressed is tall enough for a finger: lists, settings, new session, inbox', async () => {
    const waiting = await server.session('show a permission')
    const { page } = await openTab(phone)
    await page
      .getByRole('link', { name: /show a permission/i })
      .first()
      .waitFor()
    await fits(page)
    const settings = ['agents', 'permissions', 'appearance', 'browser'].map((name) => `settings/${name}`)
    for (const place of ['new', ...settings, 'import']) {
      await page.goto(`${server.url}/${place}`)
      await page.getByRole('heading').first().waitFor()
      await fits(page)
    }
    await page.goto(`${server.url}/new`)
    await agentChip(page).waitFor()
    await fits(page)
    await page.goto(`${server.url}/inbox`)
    await card(page).first().waitFor()
    await fits(page)
    await openSession(page, server, waiting)
    await card(page).waitFor()
    await fits(page)
  })

  it('everything that can be pressed is tall enough for a finger: rows, code, diffs, panels', async () => {
    const folder = server.repository(`touched-${Date.now()}`)
    writeFileSync(join(folder, 'src/greet.ts'), "export const greet = () => 'Good morning'\n")
    writeFileSync(join(folder, 'src/part.ts'), "export const part = () => 'Goodbye'\n")
    const { id } = await server.call<{ id: string }>('/api/sessions', {
      agent: 'demo',
      cwd: folder,
      prompt: `edit the greeting ${'very much '.repeat(300)}`,
    })
    const { page } = await openSessionTab(id, phone)
    await tapOnCard(allowOnce(page))
    await page.getByTestId('working').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Session menu' }).tap()
    await page.getByRole('menuitem', { name: 'Expand all' }).waitFor()
    await fits(page)
    await page.getByRole('menuitem', { name: 'Expand all' }).tap()
    await conversation(page).getByRole('button', { name: 'Copy path' }).waitFor()
    await fits(page)

    await page.getByRole('button', { name: /^Changes/ }).tap()
    await panel(page, 'Changes')
      .getByRole('row', { name: /Good morning/ })
      .waitFor()
    await fits(page)
    await chooseLinesByTouch(page)
    await page.getByRole('button', { name: 'Close panel' }).tap()
    await openSession(page, server, await server.session('show markdown'))
    await shows(page, /./)
    await page.getByTestId('working').waitFor({ state: 'detached' })
    await conversation(page).getByRole('button', { name: 'Copy code' }).first().waitFor()
    await fits(page)
  })
})
