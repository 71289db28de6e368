import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { phone, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import { boxOf, eventually } from './console-page.ts'

/** The session list: groups by project, rows, folding, keys, and the settings of a project. */
const { server, openTab } = consoleFixture()

const list = (page: Page) => page.getByRole('navigation', { name: 'Sessions' })
const tree = (page: Page) => list(page).getByRole('tree', { name: 'Sessions' })
/** The heading of a project with its sessions. */
const group = (page: Page, name: string) =>
  tree(page)
    .locator('[data-group]')
    .filter({ has: page.getByRole('treeitem', { level: 1, name: new RegExp(`^${name}\\b`) }) })
const headingOf = (page: Page, name: string) => group(page, name).getByRole('treeitem', { level: 1 })
const focused = (page: Page) =>
  page.evaluate(() => {
    const item = document.activeElement
    const name = item?.getAttribute('aria-labelledby')
    return (name ? document.getElementById(name)?.textContent : item?.getAttribute('aria-label')) ?? ''
  })

async function session(cwd: string, title: string, prompt?: string): Promise<string> {
  const input = { agent: 'demo', cwd, title, ...(prompt !== undefined && { prompt }) }
  return (await server.call<{ id: string }>('/api/sessions', input)).id
}

describe('the session list', () => {
  it('groups sessions by project, with branch, open requests and worktrees, in rows of one line', async () => {
    const folder = server.repository('bakery')
    const worktree = join(server.folder, 'oven')
    // Forced, because a retried test makes the worktree again.
    execFileSync('git', ['worktree', 'add', '-qf', '-B', 'try-rye', worktree], { cwd: folder })
    await session(folder, 'Bake bread', 'show a permission')
    await session(worktree, 'Bake rye bread')
    await session(join(folder, 'src'), 'Knead')
    const { page, consoleErrors } = await openTab()
    const bakery = group(page, 'bakery')
    await bakery.getByText('main', { exact: true }).waitFor()
    await bakery.getByText('1 waiting for you').first().waitFor()
    const rows = bakery.locator('[data-session]')
    expect(await rows.count()).toBe(3)
    for (const row of await rows.all()) expect((await boxOf(row)).height).toBe(28)
    const pottery = server.repository('pottery')
    const long = 'Bake the pots of the whole village'
    await session(pottery, long)
    await server.call('/api/sessions', { agent: 'claude', cwd: pottery, title: `${long} (Claude)` })
    const alike = group(page, 'pottery').locator('[data-session]')
    await alike.filter({ hasText: 'Demo' }).waitFor()
    await alike.getByText('Claude', { exact: true }).waitFor()
    expect(await rows.filter({ hasText: 'Demo' }).count()).toBe(0)
    const inWorktree = bakery.locator('[data-session]', { hasText: 'in a worktree' })
    expect(await inWorktree.getByRole('link').textContent()).toContain('Bake rye bread')
    await inWorktree.getByTitle('Worktree of the branch try-rye').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    expect(consoleErrors).toEqual([])
  })

  it('folds and unfolds a project by keyboard, and remembers it', async () => {
    const folder = server.repository('dairy')
    const id = await session(folder, 'Churn butter')
    const { page } = await openTab()
    const [dairy, heading] = [group(page, 'dairy'), headingOf(page, 'dairy')]
    await dairy.locator(`[data-session="${id}"]`).waitFor()
    await heading.focus()
    await page.keyboard.press('ArrowDown')
    expect(await focused(page)).toMatch(/^Churn butter/)
    await page.keyboard.press('ArrowLeft')
    expect(await focused(page)).toMatch(/^dairy/)
    await page.keyboard.press('ArrowLeft')
    await eventually(() => heading.getAttribute('aria-expanded')).toBe('false')
    expect(await dairy.locator('[data-session]').count()).toBe(0)
    await page.reload()
    await heading.waitFor()
    expect(await heading.getAttribute('aria-expanded')).toBe('false')
    await heading.focus()
    await page.keyboard.press('ArrowRight')
    await dairy.locator(`[data-session="${id}"]`).waitFor()
    await page.keyboard.press('ArrowRight')
    expect(await focused(page)).toBe('Menu of the project dairy')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${server.url}/sessions/${id}`)
  })

  it('shows the latest sessions of a project with many, and the others on request', async () => {
    const folder = server.repository('mill')
    for (let count = 0; count < 12; count++) await session(folder, `Grind ${count}`)
    const { page } = await openTab()
    const mill = group(page, 'mill')
    await mill.getByText('Show 4 more sessions').waitFor()
    expect(await mill.locator('[data-session]').count()).toBe(8)
    await mill.getByText('Show 4 more sessions').focus()
    await page.keyboard.press('Enter')
    await eventually(() => mill.locator('[data-session]').count()).toBe(12)
    expect(await focused(page)).toMatch(/^Grind/)
  })

  it('collapses to a bar with the inbox, by button and key, and remembers it', async () => {
    await session(server.project, 'Wait for me', 'show a permission')
    const { page, consoleErrors } = await openTab()
    await tree(page).waitFor()
    await page.getByRole('button', { name: 'Collapse the session list (B)' }).click()
    const expand = page.getByRole('button', { name: 'Expand the session list (B)' })
    await eventually(() => expand.evaluate((button) => button === document.activeElement)).toBe(true)
    await list(page)
      .getByRole('link', { name: /^Inbox, \d+ waiting$/ })
      .waitFor()
    expect((await boxOf(list(page))).width).toBeLessThan(48)
    expect(await seriousFindings(page)).toEqual([])
    await page.reload()
    await expand.waitFor()
    await page.keyboard.press('Escape')
    await expand.focus()
    await page.keyboard.press('b')
    await tree(page).waitFor()
    expect(consoleErrors).toEqual([])
  })
})

describe('the menu of a project', () => {
  it('changes its settings, and starts a session in its folder', async () => {
    const folder = server.repository('brewery')
    await session(folder, 'Brew')
    const { page, consoleErrors } = await openTab()
    const menu = () => group(page, '(The )?brewery').getByRole('button', { name: /^Menu of the project/ })
    await headingOf(page, 'brewery').hover()
    await menu().click()
    await page.getByRole('menuitem', { name: 'Project settings' }).click()
    const dialog = page.getByRole('dialog', { name: /^Settings of the project/ })
    await dialog.getByLabel('Base branch').fill('no branch')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog
      .getByRole('alert')
      .getByText(/branch/)
      .waitFor()
    await dialog.getByLabel('Base branch').fill('main')
    await dialog.getByLabel('Name').fill('The brewery')
    await dialog.getByLabel(/^Ignored files/).fill('.env\nkeys/*')
    expect(await seriousFindings(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await group(page, 'The brewery').waitFor()
    type Projects = { projects: { root: string; settings: object }[] }
    const { projects } = await server.call<Projects>('/api/projects')
    expect(projects.find(({ root }) => root === folder)?.settings).toEqual({
      ...{ base: 'main', name: 'The brewery', copy: ['.env', 'keys/*'] },
    })
    await menu().click()
    await page.getByRole('menuitem', { name: 'New session here' }).click()
    await page.waitForURL(`${server.url}/new`)
    const field = page.getByRole('combobox', { name: 'Folder' })
    expect(await field.inputValue()).toBe(folder)
    await field.fill('/nowhere')
    await field.blur()
    await page.getByText(/does not exist/).waitFor()
    await menu().click()
    await page.getByRole('menuitem', { name: 'New session here' }).click()
    await eventually(() => field.inputValue()).toBe(folder)
    await page.getByText(/does not exist/).waitFor({ state: 'detached' })
    expect(consoleErrors).toEqual([])
  })

  it('is reached with a finger on a phone', async () => {
    await session(server.repository('cellar'), 'Store')
    const { page } = await openTab(phone)
    const button = group(page, 'cellar').getByRole('button', { name: 'Menu of the project cellar' })
    expect((await boxOf(button)).height).toBeGreaterThanOrEqual(44)
    await button.tap()
    await page.getByRole('menuitem', { name: 'Project settings' }).tap()
    const dialog = page.getByRole('dialog', { name: 'Settings of the project cellar' })
    await dialog.getByRole('button', { name: 'Cancel' }).tap()
    await dialog.waitFor({ state: 'detached' })
  })
})
