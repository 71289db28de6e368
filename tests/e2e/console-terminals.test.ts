import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { phone, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import { boxOf, eventually, openSession, panel, prompt } from './console-page.ts'

/** Tests terminals: searching in them, their size, their names, and their end. */
const { server, openTab } = consoleFixture()

async function openTerminal(page: Page) {
  await openSession(page, server, await server.session())
  await page.getByRole('button', { name: 'Terminals' }).click()
  const terminals = panel(page, 'Terminals')
  await terminals.getByRole('button', { name: 'Open a terminal' }).click()
  await terminals.locator('.xterm-helper-textarea').waitFor({ state: 'attached' })
  // Waits for the shell's prompt. Input before the shell reads may be lost, as in any terminal.
  await screenSays(page, /[$#]/)
  return terminals
}

const screenOf = (page: Page) => panel(page, 'Terminals').locator('.xterm-rows')

async function type(page: Page, words: string): Promise<void> {
  await panel(page, 'Terminals').locator('.xterm-helper-textarea').focus()
  await page.keyboard.type(words)
  await page.keyboard.press('Enter')
}

async function screenSays(page: Page, words: string | RegExp): Promise<void> {
  await eventually(() => screenOf(page).textContent()).toMatch(words)
}

it('a terminal is left with F6, because Tab belongs to the shell', async () => {
  const { page } = await openTab({ load: false })
  const terminals = await openTerminal(page)
  const typing = terminals.locator('.xterm-helper-textarea')
  await typing.focus()
  await page.keyboard.press('Tab')
  const hasFocus = (element: Element) => element === document.activeElement
  expect(await typing.evaluate(hasFocus)).toBe(true)
  await page.keyboard.press('F6')
  const prompt = page.getByRole('combobox', { name: 'Prompt' })
  await eventually(() => prompt.evaluate(hasFocus)).toBe(true)
})

describe('keyboard input', () => {
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))
  const inShell = (page: Page) =>
    eventually(() => page.evaluate(() => document.activeElement?.className)).toBe('xterm-helper-textarea')

  it('is sent to the prompt after a page load or a choice of session, whatever panel is open', async () => {
    const { page, context, consoleErrors } = await openTab({ load: false })
    const other = await server.session('show markdown for the other session')
    const terminals = await openTerminal(page)
    const here = new URL(page.url()).pathname
    await inShell(page)
    await page.reload()
    await screenSays(page, /[$#]/)
    expect(await focused(page)).toBe('Prompt')
    await page.keyboard.type('once')
    expect(await prompt(page).inputValue()).toBe('once')

    const list = page.getByRole('navigation', { name: 'Sessions' })
    await list.locator(`a[href$="sessions/${other}"]`).click()
    await terminals.getByRole('button', { name: 'Open a terminal' }).waitFor()
    expect(await focused(page)).toBe('Prompt')
    await list.locator(`a[href$="${here.slice(1)}"]`).click()
    await screenSays(page, /[$#]/)
    expect(await focused(page)).toBe('Prompt')
    await page.keyboard.type(' more')
    expect(await prompt(page).inputValue()).toBe('once more')

    // One click anywhere in the terminal, even beside its text, focuses it.
    for (const [x, y] of [
      [40, 20],
      [6, 200],
    ] as const) {
      await prompt(page).focus()
      await terminals.locator('[data-terminal]').click({ position: { x, y } })
      await inShell(page)
    }

    // Opens the same terminal in a second tab. Terminals are shown in all tabs of a browser.
    await page.getByRole('button', { name: 'Close panel' }).click()
    await prompt(page).focus()
    const tab = await context.newPage()
    await tab.goto(page.url())
    await tab.getByRole('button', { name: 'Terminals' }).click()
    await inShell(tab)
    await screenSays(page, /[$#]/)
    expect(await focused(page)).toBe('Prompt')
    expect(consoleErrors).toEqual([])
  })

  it('is sent to the shell that was chosen: by its tab, by the button of the panel, by the palette', async () => {
    const { page, consoleErrors } = await openTab({ load: false })
    const terminals = await openTerminal(page)
    await inShell(page)
    await terminals.getByRole('button', { name: 'New terminal' }).click()
    await terminals.getByRole('button', { name: /^\w+ 2$/, pressed: true }).waitFor()
    await inShell(page)
    await terminals.getByRole('button', { name: /^\w+ 1$/ }).click()
    await inShell(page)
    await page.getByRole('button', { name: 'Terminals' }).click()
    await terminals.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Terminals' }).click()
    await inShell(page)
    await page.getByRole('button', { name: 'Close panel' }).click()
    await prompt(page).focus()
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search sessions, messages and commands').waitFor()
    await page.keyboard.type('terminals')
    await page.keyboard.press('Enter')
    await inShell(page)
    expect(consoleErrors).toEqual([])
  })

  it('is sent to the prompt when its terminal is closed, and not to the next terminal', async () => {
    const { page } = await openTab({ load: false })
    const terminals = await openTerminal(page)
    await terminals.getByRole('button', { name: 'New terminal' }).click()
    await terminals.getByRole('button', { name: /^Close \w+ 2/ }).click()
    await eventually(() => terminals.getByRole('button', { name: /^Close (?!panel)/ }).count()).toBe(1)
    await screenSays(page, /[$#]/)
    await eventually(() => focused(page)).toBe('Prompt')
  })
})

describe('finding in a terminal', () => {
  it('counts the matches, moves through them, and returns the focus to the shell', async () => {
    const { page, consoleErrors } = await openTab({ load: false })
    const terminals = await openTerminal(page)
    await type(page, 'for n in $(seq 120); do echo "line-$n $((n % 40))needle"; done; echo end-$((1+1))')
    await screenSays(page, 'end-2')
    expect(await screenOf(page).textContent()).not.toContain('line-40 ')
    await terminals.getByRole('button', { name: /^Find in the terminal/ }).click()
    const field = terminals.getByRole('textbox', { name: 'Find in the terminal' })
    await field.fill(' 0needle')
    const count = terminals.getByRole('search').getByRole('status')
    await eventually(() => count.textContent()).toMatch(/^\d of 3$/)
    await field.press('Shift+Enter')
    const seen = new Set([await count.textContent()])
    for (let step = 0; step < 2; step++) {
      const before = await count.textContent()
      await terminals.getByRole('button', { name: 'Next match' }).click()
      await eventually(() => count.textContent()).not.toBe(before)
      seen.add(await count.textContent())
    }
    expect([...seen].toSorted()).toEqual(['1 of 3', '2 of 3', '3 of 3'])
    while ((await count.textContent()) !== '1 of 3') {
      const before = await count.textContent()
      await field.press('Enter')
      await eventually(() => count.textContent()).not.toBe(before)
    }
    await screenSays(page, 'line-40 0needle')
    expect(await seriousFindings(page)).toEqual([])
    await field.fill('not anywhere here')
    await eventually(() => count.textContent()).toBe('No results')
    await field.press('Escape')
    await field.waitFor({ state: 'detached' })
    await page.keyboard.type('echo typed-$((2+2))')
    await page.keyboard.press('Enter')
    await screenSays(page, 'typed-4')
    await page.keyboard.press('Control+Shift+F')
    await field.waitFor()
    expect(consoleErrors).toEqual([])
  })

  it('works on a phone, where tabs can be closed by touch', async () => {
    const { page } = await openTab(phone)
    const terminals = await openTerminal(page)
    await terminals.getByRole('button', { name: /^Find in the terminal/ }).tap()
    const find = terminals.getByRole('search')
    const whole = await boxOf(find)
    expect(whole.left).toBeGreaterThanOrEqual(0)
    expect(whole.right).toBeLessThanOrEqual(390)
    await find.getByRole('button', { name: 'Close find' }).tap()
    const close = await boxOf(terminals.getByRole('button', { name: /^Close (?!panel)/ }))
    expect([close.width, close.height]).toEqual([44, 44])
  })
})

describe('a terminal', () => {
  it('is as wide as the panel, before and after the panel is made wider', async () => {
    const { page, consoleErrors } = await openTab({ viewport: { width: 1600, height: 900 } })
    const terminals = await openTerminal(page)
    const columns = async (mark: string) => {
      await type(page, `echo ${mark}-$(stty size | cut -d' ' -f2)-${mark}`)
      const shown = new RegExp(`${mark}-(\\d+)-${mark}`)
      await screenSays(page, shown)
      return Number(shown.exec((await screenOf(page).textContent()) ?? '')?.[1])
    }
    const before = await columns('first')
    const { width } = await boxOf(screenOf(page))
    const edge = terminals.getByRole('separator', { name: 'Width of Terminals' })
    await edge.focus()
    for (let step = 0; step < 4; step++) await page.keyboard.press('ArrowLeft')
    await eventually(async () => (await boxOf(screenOf(page))).width).toBeGreaterThan(width + 100)
    const after = await columns('second')
    const wanted = ((await boxOf(screenOf(page))).width * before) / width
    expect(Math.abs(after - wanted)).toBeLessThanOrEqual(1)
    expect(consoleErrors).toEqual([])
  })

  it('shows any colour that a program chooses', async () => {
    const { page, consoleErrors } = await openTab({ load: false })
    await openTerminal(page)
    await type(page, "printf '\\033[38;2;10;200;30mgre''en\\033[0m\\n'")
    const words = screenOf(page).locator('span', { hasText: /^green$/ })
    await eventually(() => words.evaluate((one) => getComputedStyle(one).color)).toBe('rgb(10, 200, 30)')
    expect(consoleErrors).toEqual([])
  })

  it('is identified by its name and the running program, and asks before it ends that program', async () => {
    const { page, consoleErrors } = await openTab({ load: false })
    const terminals = await openTerminal(page)
    const tabs = async () => (await terminals.getByRole('button', { name: /^Close (?!panel)/ }).all()).length
    await terminals.getByRole('button', { name: 'New terminal' }).click()
    await terminals.getByRole('button', { name: /^\w+ 2/, pressed: true }).waitFor()
    await type(page, 'sleep 500')
    const [one, other] = [/^(\w+) 1$/, /^(\w+) 2 · sleep$/]
    await terminals.getByRole('button', { name: one }).waitFor()
    await terminals.getByRole('button', { name: other }).waitFor()

    await terminals.getByRole('button', { name: /^Close .* · sleep/ }).click()
    const question = terminals.getByRole('alertdialog')
    await question.getByText('sleep is still running').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    expect(await tabs()).toBe(2)
    await terminals.getByRole('button', { name: /^Close .* · sleep/ }).click()
    await question.getByRole('button', { name: 'End' }).click()
    await eventually(tabs).toBe(1)
    await terminals.getByRole('button', { name: /^Close (?!panel)/ }).click()
    await terminals.getByRole('button', { name: 'Open a terminal' }).waitFor()
    expect(consoleErrors).toEqual([])
  })

  it('that is closed in another window keeps its tab, and no other shell takes its place', async () => {
    const { page, context, consoleErrors } = await openTab({ load: false })
    const terminals = await openTerminal(page)
    await terminals.getByRole('button', { name: 'New terminal' }).click()
    await terminals.getByRole('button', { name: /^\w+ 2$/, pressed: true }).waitFor()
    await screenSays(page, /[$#]/)
    const tab = await context.newPage()
    await tab.goto(page.url())
    await tab.getByRole('button', { name: 'Close panel' }).waitFor()
    await panel(tab, 'Terminals')
      .getByRole('button', { name: /^Close \w+ 2/ })
      .click()
    await terminals.getByText('This terminal was closed in another window.').waitFor()
    await terminals.getByRole('button', { name: /^\w+ 2 \(ended\)$/, pressed: true }).waitFor()
    await type(page, 'echo stray-$((3+3))')
    await terminals.getByRole('button', { name: /^\w+ 1$/ }).click()
    await type(page, 'echo first-$((3+4))')
    await screenSays(page, 'first-7')
    expect(await screenOf(page).textContent()).not.toContain('stray')
    await terminals.getByRole('button', { name: /^Close \w+ 2/ }).click()
    await eventually(() => terminals.getByRole('button', { name: /^Close (?!panel)/ }).count()).toBe(1)
    expect(consoleErrors).toEqual([])
  })

  it('is opened once, however often the button is pressed meanwhile', async () => {
    const { page } = await openTab({ load: false })
    await openSession(page, server, await server.session())
    await page.getByRole('button', { name: 'Terminals' }).click()
    const terminals = panel(page, 'Terminals')
    const opened = Promise.withResolvers<void>()
    await page.route('**/terminals', async (route) => {
      if (route.request().method() === 'POST') await opened.promise
      await route.continue()
    })
    await terminals.getByRole('button', { name: 'Open a terminal' }).focus()
    await page.keyboard.press('Space')
    const opening = terminals.getByRole('button', { name: 'Opening…' })
    await opening.waitFor()
    expect(await opening.isDisabled()).toBe(true)
    for (let press = 0; press < 3; press++) await page.keyboard.press('Space')
    opened.resolve()
    await screenSays(page, /[$#]/)
    expect(await terminals.getByRole('button', { name: /^Close (?!panel)/ }).count()).toBe(1)
    const typing = terminals.locator('.xterm-helper-textarea')
    expect(await typing.evaluate((element) => element === document.activeElement)).toBe(true)
  })
})
