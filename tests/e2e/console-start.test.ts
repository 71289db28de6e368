import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { phone, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import { boxOf, conversation, eventually, prompt, settingsChip } from './console-page.ts'

/** The page for a new session, and the menu for mode, effort and model. */
const { server, openTab, openSessionTab } = consoleFixture()

type State = { requested: { mode?: string; options?: { effort?: string } } }
const modeOf = async (id: string) => (await server.call<State>(`/api/sessions/${id}?tail=0`)).requested.mode

describe('the page for a new session', () => {
  it('offers the projects and sessions that were used last, and example prompts', async () => {
    const folder = server.repository('orchard')
    const input = { agent: 'demo', cwd: folder, title: 'Prune the trees' }
    const { id } = await server.call<{ id: string }>('/api/sessions', input)
    const { page, consoleErrors } = await openTab()
    const project = page
      .getByRole('region', { name: 'Recent projects' })
      .getByRole('button', { name: /^orchard/ })
    await project.getByText('main').waitFor()
    await project.click()
    expect(await page.getByRole('combobox', { name: 'Folder' }).inputValue()).toBe(folder)
    await page.getByRole('list', { name: 'Examples' }).getByRole('button', { name: 'help' }).click()
    expect(await prompt(page).inputValue()).toBe('help')
    await page.keyboard.type(' me')
    expect(await prompt(page).inputValue()).toBe('help me')
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('region', { name: 'Recent sessions' }).getByText('Prune the trees').click()
    await page.waitForURL(`${server.url}/sessions/${id}`)
    expect(consoleErrors).toEqual([])
  })
})

describe('the menu for mode, effort and model', () => {
  it('is used by keyboard: letters and arrows move, Space chooses and Enter chooses and closes', async () => {
    const id = await server.session()
    const { page } = await openSessionTab(id)
    const menu = page.getByRole('menu', { name: 'Mode, model and effort' })
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
    await settingsChip(page).focus()
    await page.keyboard.press('Enter')
    await eventually(focused).toMatch(/^AskAsks before it changes/)
    expect(await menu.getByRole('menuitemradio', { checked: true }).first().textContent()).toMatch(/^Ask/)
    await page.keyboard.type('pl')
    expect(await focused()).toMatch(/^PlanWrites a plan/)
    await page.keyboard.press('Space')
    await eventually(() => modeOf(id)).toBe('plan')
    expect(await menu.isVisible()).toBe(true)
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.type('high')
    await page.keyboard.press('Enter')
    await menu.waitFor({ state: 'detached' })
    await eventually(() => settingsChip(page).textContent()).toMatch(/^Mode: Plan · Effort: High effort/)
    expect(await settingsChip(page).evaluate((chip) => chip === document.activeElement)).toBe(true)
  })

  it('is a sheet at the bottom of a phone', async () => {
    const { page } = await openSessionTab(await server.session(), phone)
    await settingsChip(page).tap()
    const menu = page.getByRole('menu', { name: 'Mode, model and effort' })
    await menu.getByRole('menuitemradio').first().waitFor()
    const { left, right, bottom } = await boxOf(menu)
    expect([left, right, bottom]).toEqual([0, phone.viewport.width, phone.viewport.height])
    for (const item of await menu.getByRole('menuitemradio').all())
      expect((await boxOf(item)).height).toBeGreaterThanOrEqual(44)
    await menu.getByRole('menuitemradio', { name: /^Read-only/ }).tap()
    await eventually(() => settingsChip(page).textContent()).toMatch(/^Mode: Read-only/)
  })
})

describe('the mode', () => {
  it('Bypass is named above the composer until it is left; Accept edits is not', async () => {
    const input = { agent: 'demo', cwd: join(server.project), mode: 'bypass', prompt: 'help' }
    const { id } = await server.call<{ id: string }>('/api/sessions', input)
    const { page } = await openSessionTab(id)
    const strip = page.getByRole('region', { name: 'Bypass mode' })
    await strip.getByText('without asking').waitFor()
    await conversation(page).getByText('I am the demo agent').waitFor()
    expect((await boxOf(strip)).bottom).toBeLessThanOrEqual((await boxOf(prompt(page))).top)
    expect(await seriousFindings(page)).toEqual([])
    await strip.getByRole('button', { name: 'Back to Ask' }).click()
    await strip.waitFor({ state: 'detached' })
    expect(await modeOf(id)).toBe('ask')
    await settingsChip(page).click()
    await page.getByRole('menuitemradio', { name: /^Accept edits/ }).click()
    await eventually(() => settingsChip(page).textContent()).toMatch(/^Mode: Accept edits/)
    expect(await strip.count()).toBe(0)
  })
})
