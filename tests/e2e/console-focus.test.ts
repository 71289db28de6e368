import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { Script } from '../../packages/server/src/adapters/scripted/script.ts'
import { card, conversation, eventually, openSession, panel, prompt, shows } from './console-page.ts'
import { scriptedConsole } from './console-scripted.ts'

/**
 * Tests keys and the focus: the keys that answer a card, the keys that must not, and the element that gets the focus.
 */
const permission = (command: string): Script[number] => ({
  type: 'permission',
  name: 'Bash',
  kind: 'execute',
  title: command,
  input: { command },
  reply: { allowed: `So be it: ${command}`, denied: `Not then: ${command}` },
})
const which = (id: string): Script[number] => ({
  type: 'question',
  questions: [
    {
      id,
      header: 'Colour',
      text: 'Which colour?',
      options: [{ label: 'red' }, { label: 'blue' }],
      multiple: false,
      freeText: true,
    },
  ],
})
const { server, openTab, openSessionTab, session, host } = scriptedConsole({
  'ask once': [permission('echo once')],
  'ask twice': [permission('echo harmless'), permission('rm -rf everything')],
  'ask at once': [
    { type: 'parallel', calls: [permission('echo first'), permission('echo second')] as never },
  ],
  'ask which': [which('q1')],
  'work on': [{ type: 'text', text: 'I am at it.' }, { type: 'hang' }],
  'say it': [{ type: 'text', text: 'That was it.' }],
})

const focused = (page: Page) =>
  page.evaluate(
    () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.tagName ?? '',
  )
const request = (page: Page) => page.locator('[data-testid=request]:focus')

/** Presses the key in every frame until the page uses it once. */
async function pressUntilUsed(page: Page, key: string): Promise<void> {
  await page.waitForFunction(
    (pressed) =>
      !(document.activeElement ?? document.body).dispatchEvent(
        new KeyboardEvent('keydown', { key: pressed, bubbles: true, cancelable: true }),
      ),
    key,
  )
}

/** True if the page used the key. */
const pressed = (page: Page, key: string, more: { repeat?: boolean } = {}) =>
  page.evaluate(
    ([name, init]) =>
      !(document.activeElement ?? document.body).dispatchEvent(
        new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true, ...init }),
      ),
    [key, more] as const,
  )

/** Types the text at once, without a focused field. True if the page used the last key. */
const typed = (page: Page, words: string) =>
  page.evaluate(
    (letters) =>
      [...letters]
        .map(
          (key) =>
            !(document.activeElement ?? document.body).dispatchEvent(
              new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }),
            ),
        )
        .at(-1),
    words,
  )

/** Cancels the turns whose requests other tests left open. */
async function settleAll(page: Page): Promise<void> {
  const waiting = await host().waiting()
  for (const id of new Set(waiting.map(({ session }) => session.id)))
    await host().command(id, { type: 'turn.cancel', commandId: `cmd_${id}` })
  await page.getByTestId('inbox-count').waitFor({ state: 'detached' })
}

describe('a digit', () => {
  it('answers the card that is shown, wherever the focus is', async () => {
    const { page } = await openSessionTab(await session('ask once'))
    await card(page).waitFor()
    await conversation(page).getByText('ask once').first().click()
    expect(await request(page).count()).toBe(0)
    await pressUntilUsed(page, '3')
    await shows(page, 'Not then: echo once')
  })

  it('that was meant for one card never answers the next', async () => {
    const { page } = await openSessionTab(await session('ask twice'))
    await card(page).getByText('echo harmless').waitFor()
    // Presses the key repeatedly after the next card appears, for less than the time in which that card ignores keys.
    await page.evaluate(() => {
      const late = { used: 0, tried: 0 }
      Object.assign(window, { late })
      const watch = new MutationObserver(() => {
        if (!document.querySelector('[data-testid=request]')?.textContent?.includes('rm -rf everything'))
          return
        watch.disconnect()
        const since = performance.now()
        const press = () => {
          if (performance.now() - since > 350) return
          const event = new KeyboardEvent('keydown', { key: '1', bubbles: true, cancelable: true })
          late.tried++
          if (!(document.activeElement ?? document.body).dispatchEvent(event)) late.used++
          setTimeout(press, 10)
        }
        press()
      })
      watch.observe(document.body, { subtree: true, childList: true, characterData: true })
    })
    await pressUntilUsed(page, '1')
    await card(page).getByText('rm -rf everything').waitFor()
    await request(page).waitFor()
    const late = () =>
      page.evaluate(() => (window as unknown as { late: { used: number; tried: number } }).late)
    await eventually(async () => (await late()).tried).toBeGreaterThan(0)
    await pressUntilUsed(page, '3')
    await shows(page, 'Not then: rm -rf everything')
    expect((await late()).used).toBe(0)
    expect(await conversation(page).getByText('So be it: rm').count()).toBe(0)
  })

  it('that is held down or typed in a field answers nothing', async () => {
    const { page } = await openSessionTab(await session('ask which'))
    await card(page).waitFor()
    await pressUntilUsed(page, '1')
    expect(await card(page).getByLabel('red').isChecked()).toBe(true)
    expect(await pressed(page, '2', { repeat: true })).toBe(false)
    expect(await typed(page, 'use 2')).toBe(false)
    await prompt(page).focus()
    await page.keyboard.press('2')
    expect(await prompt(page).inputValue()).toBe('2')
    expect(await card(page).getByLabel('red').isChecked()).toBe(true)
    await conversation(page).getByText('ask which').first().click()
    await page.keyboard.press('2')
    await eventually(() => card(page).getByLabel('blue').isChecked()).toBe(true)
    await page.keyboard.press('Enter')
    await card(page).waitFor({ state: 'detached' })
  })

  it('answers the first card of the inbox, if that card is visible', async () => {
    const { page } = await openTab({ viewport: { width: 1280, height: 500 } })
    await settleAll(page)
    const first = await session('ask which')
    await openSession(page, server, first)
    await card(page).waitFor()
    for (let count = 0; count < 4; count++) await session('ask once')
    await page.keyboard.press('i')
    await eventually(() => card(page).count()).toBe(5)
    await request(page).waitFor()
    const at = (index: number) => card(page).nth(index)
    await pressUntilUsed(page, '1')
    expect(await at(0).getByLabel('red').isChecked()).toBe(true)
    await at(4).scrollIntoViewIfNeeded()
    await page.evaluate(() => (document.activeElement as HTMLElement).blur())
    expect(await pressed(page, '2')).toBe(false)
    expect(await at(0).getByLabel('red').isChecked()).toBe(true)
    await at(0).scrollIntoViewIfNeeded()
    expect(await pressed(page, '2')).toBe(true)
    await eventually(() => at(0).getByLabel('blue').isChecked()).toBe(true)
    await page.keyboard.press('Enter')
    await eventually(() => card(page).count()).toBe(4)
    await eventually(() => focused(page)).toMatch(/echo once/)
    for (let left = 3; left >= 0; left--) {
      await pressUntilUsed(page, '3')
      await eventually(() => card(page).count()).toBe(left)
    }
    await eventually(() => focused(page)).toBe('MAIN')
  })
})

describe('the focus', () => {
  it('moves to the prompt when the last card is answered, in this tab or elsewhere', async () => {
    const { page, context } = await openSessionTab(await session('ask once'))
    await request(page).waitFor()
    await pressUntilUsed(page, '1')
    await shows(page, 'So be it: echo once')
    await eventually(() => focused(page)).toBe('Prompt')

    const id = await session('ask once')
    await openSession(page, server, id)
    await request(page).waitFor()
    const other = await context.newPage()
    await openSession(other, server, id)
    await card(other).getByRole('button', { name: 'Deny 3' }).click()
    await card(page).waitFor({ state: 'detached' })
    await eventually(() => focused(page)).toBe('Prompt')
  })

  it('is not taken from a person who is typing when another card replaces theirs', async () => {
    const id = await session('ask at once')
    const { page, context } = await openSessionTab(id)
    await card(page).getByText('echo first').waitFor()
    await card(page).getByRole('button', { name: 'Deny with reason' }).click()
    await page.keyboard.type('It has ')
    const other = await context.newPage()
    await openSession(other, server, id)
    await card(other).getByRole('button', { name: 'Deny 3' }).click()
    await card(page).getByText('echo second').waitFor()
    await eventually(() => focused(page)).toBe('Prompt')
    await page.keyboard.type('1 or 3')
    expect(await prompt(page).inputValue()).toBe('1 or 3')
    expect(await card(page).getByText('echo second').count()).toBe(1)
  })

  it('returns to where a panel, a menu or a title was opened', async () => {
    const { page } = await openSessionTab(await session('say it'))
    await shows(page, 'That was it.')
    await page.getByRole('button', { name: /^Changes/ }).click()
    await panel(page, 'Changes').getByRole('button', { name: 'Close panel' }).click()
    await eventually(() => focused(page)).toMatch(/^Changes/)
    const more = page.getByRole('button', { name: 'Session menu' })
    await more.click()
    await page.getByRole('menuitem', { name: 'Event log' }).click()
    await panel(page, 'Event log').getByRole('button', { name: 'Close panel' }).click()
    await eventually(() => focused(page)).toBe('Session menu')
    await more.click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByRole('textbox', { name: 'Title' }).press('Escape')
    await eventually(() => focused(page)).toBe('Session menu')
    await more.click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByRole('textbox', { name: 'Title' }).fill('Another name')
    await page.getByRole('textbox', { name: 'Title' }).press('Enter')
    await page.getByRole('heading', { name: 'Another name' }).waitFor()
    expect(await focused(page)).toBe('Session menu')
    expect(await page.getByRole('menu').count()).toBe(0)

    const row = page.locator('[data-session]').first()
    await row.focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await row.getByRole('textbox', { name: 'Title' }).press('Escape')
    await eventually(() => row.evaluate((item) => item === document.activeElement)).toBe(true)
  })
})

describe('in the list of sessions the focus', () => {
  const rowOf = (page: Page, id: string) => page.locator(`[data-session="${id}"]`)
  const onSession = (page: Page) =>
    page.evaluate(
      () => document.activeElement?.closest('[data-session]')?.getAttribute('data-session') ?? null,
    )
  const listed = (page: Page) =>
    page
      .locator('[data-session]')
      .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-session') ?? ''))
  /** Chooses a menu entry by keyboard. Returns the session below this session in the list. */
  const choose = async (page: Page, id: string, entry: string) => {
    await rowOf(page, id).focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: entry, exact: true }).focus()
    const order = await listed(page)
    await page.keyboard.press('Enter')
    return order[order.indexOf(id) + 1]
  }

  it('moves to the next session when one is deleted or archived, and follows one that is moved', async () => {
    const { page } = await openTab({ load: false })
    const ids: string[] = []
    for (let count = 0; count < 4; count++) ids.push(await session('say it'))
    await openSession(page, server, ids[2] as string)
    for (const id of ids) await rowOf(page, id).waitFor()
    await eventually(() => page.locator('[data-session] .breathe').count()).toBe(0)
    const [first, second, third] = await listed(page)
    if (!first || !second || !third) throw new Error('There are no sessions to go through.')
    const next = await choose(page, first, 'Archive')
    await rowOf(page, first).waitFor({ state: 'detached' })
    await eventually(() => onSession(page)).toBe(next)
    await rowOf(page, second).getByRole('link').click()
    await page.waitForURL(new RegExp(second))
    const below = await choose(page, second, 'Delete')
    await page.waitForURL(`${server.url}/`)
    await page.getByRole('heading', { name: 'What do you want to build?' }).waitFor()
    await eventually(() => onSession(page)).toBe(below)
    await choose(page, third, 'Pin')
    await page
      .locator('[data-group=pinned]')
      .and(page.locator(`:has([data-session="${third}"])`))
      .waitFor()
    await eventually(() => onSession(page)).toBe(third)
  })

  it('moves to the search when no session is left', async () => {
    const { page } = await openTab()
    const id = await session('the only one of its name')
    await rowOf(page, id).waitFor()
    await page.getByLabel('Search sessions').fill('the only one of its name')
    await eventually(() => listed(page)).toEqual([id])
    await choose(page, id, 'Delete')
    await eventually(() => listed(page)).toEqual([])
    await eventually(() => focused(page)).toBe('Search sessions')
  })
})

describe('Escape', () => {
  it('stops the turn if the focus is in the conversation, but not in a panel, and closes the find bar first', async () => {
    const { page } = await openSessionTab(await session('work on'))
    await shows(page, 'I am at it.')
    const working = page.getByTestId('working')
    await working.waitFor()
    await page.getByRole('button', { name: /^Changes/ }).click()
    await panel(page, 'Changes').getByRole('button', { name: 'Close panel' }).press('Escape')
    await conversation(page).getByText('I am at it.').click()
    await page.keyboard.press('Control+f')
    const find = page.getByRole('search')
    await find.waitFor()
    await conversation(page).getByText('I am at it.').click()
    await page.keyboard.press('Escape')
    await find.waitFor({ state: 'detached' })
    expect(await page.getByRole('button', { name: 'Stop (Esc)' }).isEnabled()).toBe(true)
    await conversation(page).getByText('I am at it.').click()
    await page.keyboard.press('Escape')
    await working.waitFor({ state: 'detached' })
    await shows(page, /[Ss]topped/)
  })
})

describe('by keyboard', () => {
  it('the list of sessions is one tab stop, and can be skipped', async () => {
    const { page } = await openTab()
    for (let count = 0; count < 3; count++) await session('say it')
    const list = page.getByRole('navigation', { name: 'Sessions' })
    const items = list.getByRole('treeitem')
    await eventually(() => items.count()).toBeGreaterThan(4)
    await list.getByRole('link', { name: 'Parley', exact: true }).focus()
    await page.keyboard.press('Shift+Tab')
    const skip = page.getByRole('button', { name: 'Skip to content' })
    expect(await skip.evaluate((element) => element === document.activeElement)).toBe(true)
    await page.keyboard.press('Enter')
    expect(await focused(page)).toBe('MAIN')

    await items.first().focus()
    await page.keyboard.press('ArrowDown')
    const on = (index: number) => items.nth(index).evaluate((element) => element === document.activeElement)
    expect(await on(1)).toBe(true)
    await page.keyboard.press('ArrowRight')
    expect(await focused(page)).toMatch(/^Menu of/)
    await page.keyboard.press('ArrowLeft')
    expect(await on(1)).toBe(true)
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.closest('[data-session]') === null)).toBe(true)
    await page.keyboard.press('Shift+Tab')
    expect(await on(1)).toBe(true)
    await page.keyboard.press('Home')
    expect(await on(0)).toBe(true)
  })
})
