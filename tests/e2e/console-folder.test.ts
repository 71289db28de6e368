import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commit, git, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import {
  agentChip,
  boxOf,
  chooseAgent,
  eventually,
  openSession,
  panel,
  prompt,
  shows,
} from './console-page.ts'

/** Tests the folder of a session in the console: choosing it, its files, its changes, its terminals. */
const { server, openTab, openSessionTab } = consoleFixture()

type Agent = { readonly name: string; readonly found: boolean; readonly signedIn?: boolean }

describe('the folder', () => {
  it('is completed while it is typed, by keys and by the pointer', async () => {
    const place = join(server.folder, 'places')
    for (const name of ['alpha/one', 'alpha/two', 'Alps', '.hidden'])
      mkdirSync(join(place, name), { recursive: true })
    const { page, context, consoleErrors } = await openTab()
    await chooseAgent(page, 'Demo')
    const folder = page.getByRole('combobox', { name: 'Folder' })
    const options = page.getByRole('listbox', { name: 'Folders' }).getByRole('option')
    await folder.fill(`${place}/al`)
    await eventually(() => options.allTextContents()).toEqual([`${place}/alpha`, `${place}/Alps`])
    expect(await seriousFindings(page)).toEqual([])
    await folder.press('ArrowDown')
    await folder.press('Enter')
    await eventually(() => folder.inputValue()).toBe(`${place}/alpha/`)
    await options.filter({ hasText: 'two' }).click()
    await eventually(() => folder.inputValue()).toBe(`${place}/alpha/two/`)
    await folder.fill(`${place}/.h`)
    await options.filter({ hasText: '.hidden' }).waitFor()
    await folder.press('Escape')
    await options.first().waitFor({ state: 'detached' })
    await folder.fill(`${place}/alpha/one`)
    await folder.press('Enter')
    await page.waitForURL(/\/sessions\//)
    const id = page.url().split('/').at(-1)
    const { cwd } = await server.call<{ cwd: string }>(`/api/sessions/${id}?tail=0`)
    expect(cwd).toBe(realpathSync(join(place, 'alpha/one')))

    const next = await context.newPage()
    await next.goto(`${server.url}/new`)
    await next.getByRole('combobox', { name: 'Folder' }).fill('alpha/o')
    await next.getByRole('option', { name: /alpha\/one.*recent/ }).waitFor()
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('that does not exist or is a file is reported at its field', async () => {
    writeFileSync(join(server.folder, 'a-file'), '')
    const { page, context, consoleErrors } = await openTab()
    await chooseAgent(page, 'Demo')
    const folder = page.getByRole('combobox', { name: 'Folder' })
    const said = () =>
      folder.evaluate((field) => {
        const ids = field.getAttribute('aria-describedby')
        return ids && document.getElementById(ids)?.textContent
      })
    for (const [name, words] of [
      ['nowhere', /does not exist/],
      ['a-file', /is not a folder/],
    ] as const) {
      await folder.fill(join(server.folder, name))
      await folder.press('Escape')
      // The problem is shown when the field loses the focus, and does not take the focus back.
      await prompt(page).focus()
      await eventually(said).toMatch(words)
      expect(await prompt(page).evaluate((field) => field === document.activeElement)).toBe(true)
      await page.getByRole('button', { name: 'Start' }).click()
      await eventually(() => folder.evaluate((field) => field === document.activeElement)).toBe(true)
      expect(await said()).toContain(join(server.folder, name))
      expect(await folder.getAttribute('aria-invalid')).toBe('true')
      const { top } = await boxOf(page.getByText(words))
      const { bottom } = await boxOf(folder)
      expect(top - bottom).toBeLessThan(24)
      expect(await page.getByText(words).count()).toBe(1)
      expect(await seriousFindings(page)).toEqual([])
    }
    await folder.fill(server.project)
    expect([await said(), await folder.getAttribute('aria-invalid')]).toEqual([null, 'false'])
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('and the other fields of a new session do not move while agents load and notices appear', async () => {
    const { page, context } = await openTab({ load: false, viewport: { width: 1440, height: 900 } })
    const out = (await server.call<{ agents: Agent[] }>('/api/agents')).agents.find(
      ({ found, signedIn }) => found && signedIn === false,
    )
    if (!out) throw new Error('Every agent is signed in, though this server has a home of its own.')
    const held = Promise.withResolvers<void>()
    await context.route('**/api/agents', async (route) => {
      await held.promise
      await route.continue()
    })
    await page.goto(`${server.url}/new`)
    const places = async () => [
      (await boxOf(page.getByRole('heading', { name: 'What do you want to build?' }))).top,
      (await boxOf(page.getByRole('combobox', { name: 'Prompt' }))).top,
      (await boxOf(page.getByRole('combobox', { name: 'Folder' }))).top,
    ]
    await page.getByText('Looking for agents').waitFor()
    const before = await places()
    held.resolve()
    await chooseAgent(page, 'Demo')
    expect(await places()).toEqual(before)
    const { top } = await boxOf(agentChip(page))
    await chooseAgent(page, out.name)
    await page.getByTestId('agent-notice').waitFor()
    expect(await places()).toEqual(before)
    expect((await boxOf(agentChip(page))).top).toBe(top)
    await context.close()
  })

  it('is compared with a commit, with its state before the session or a turn, or with the base branch', async () => {
    const folder = server.repository(`committed-${Date.now()}`)
    git(folder, 'checkout', '-q', '-b', 'topic')
    const { page, context, consoleErrors } = await openTab({
      load: false,
      viewport: { width: 1440, height: 900 },
    })
    const session = await server.call<{ id: string }>('/api/sessions', {
      agent: 'demo',
      cwd: folder,
      prompt: 'help',
    })
    await openSession(page, server, session.id)
    // Files that are written before the snapshot after a turn is complete count as changed in the turn.
    type Events = { events: { type: string }[] }
    const events = async () => (await server.call<Events>(`/api/sessions/${session.id}/events`)).events
    await eventually(
      async () => (await events()).filter(({ type }) => type === 'snapshot.taken').length,
    ).toBe(2)
    writeFileSync(join(folder, 'src/greet.ts'), "export const greet = () => 'Good morning'\n")
    commit(folder, 'politer')
    writeFileSync(join(folder, 'src/part.ts'), "export const part = () => 'Goodbye'\n")
    await page.getByRole('button', { name: /^Changes/ }).click()
    const changes = panel(page, 'Changes')
    await changes.getByRole('row', { name: /Goodbye/ }).waitFor()
    await changes.getByText(/^Everything that is not committed since [0-9a-f]{8} on topic/).waitFor()
    expect(await changes.getByText('src/greet.ts').count()).toBe(0)
    const scope = (name: string) => changes.getByRole('radio', { name })
    await scope('Uncommitted').press('ArrowRight')
    await changes.getByText(/^Everything since topic left main/).waitFor()
    await changes.getByRole('row', { name: /Good morning/ }).waitFor()
    await changes.getByText('2 files on topic').waitFor()
    await scope('Turn').check()
    await changes.getByText('No changes in this turn').waitFor()
    await scope('Session').check()
    await changes.getByText(/^Everything that changed since the session began/).waitFor()
    await changes.getByRole('row', { name: /Good morning/ }).waitFor()
    await changes.getByText('2 files', { exact: true }).waitFor()
    const listed = changes.getByRole('button', { name: 'A src/part.ts +1' })
    // A letter that is typed in the panel is not a shortcut of the page.
    await listed.press('n')
    await listed.press('i')
    expect(await page.evaluate(() => location.pathname)).toBe(`/sessions/${session.id}`)
    await changes.getByText('+2', { exact: true }).waitFor()
    expect(await seriousFindings(page)).toEqual([])

    await page.reload()
    await scope('Session').check()
    await changes.getByRole('row', { name: /Good morning/ }).waitFor()
    const { width } = await boxOf(changes)
    await changes.getByRole('separator', { name: 'Width of Changes' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await eventually(async () => (await boxOf(changes)).width).toBe(Math.round(width - 64))
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('is trusted on request, completes its files, and shows its changes', async () => {
    const folder = server.repository('repository')
    writeFileSync(join(folder, 'src/greet.ts'), "export const greet = (name: string) => 'Hello, ' + name\n")

    const { page, context, consoleErrors } = await openTab()
    await chooseAgent(page, 'Demo')
    await page.getByLabel('Folder', { exact: true }).fill(folder)
    await page.getByLabel('Load this project’s settings, hooks and MCP servers').check()
    await page.getByRole('button', { name: 'Start' }).click()
    await page.waitForURL(/\/sessions\//)
    await prompt(page).pressSequentially('look at @gre')
    await page.getByRole('option', { name: 'src/greet.ts' }).click()
    await eventually(() => prompt(page).inputValue()).toBe('look at @src/greet.ts ')
    await prompt(page).fill('')

    await page.getByRole('button', { name: /^Changes/ }).click()
    const changes = page.getByRole('complementary', { name: 'Changes' })
    const line = changes.getByRole('row', { name: /name: string/ })
    await line.hover()
    await line.getByRole('button', { name: 'Remark on line 1 of src/greet.ts' }).click()
    await changes.getByRole('textbox', { name: 'Remark' }).fill('Could this be a template?')
    await changes.getByRole('button', { name: 'Add remark' }).click()
    await changes.getByRole('button', { name: 'Send 1 remark' }).click()
    await shows(page, /src\/greet.ts:1/)
    expect(await seriousFindings(page)).toEqual([])

    await page.goto(`${server.url}/settings/permissions`)
    await page.getByRole('button', { name: /^Revoke trust of .*repository/ }).click()
    await page.getByText('Agents load only your own settings.').waitFor()
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})

describe('a terminal', () => {
  it('is a real shell in the folder, and is still there after a reload', async () => {
    const { page, context, consoleErrors } = await openSessionTab(await server.session())
    await page.getByRole('button', { name: 'Terminals' }).click()
    const panel = page.getByRole('complementary', { name: 'Terminals' })
    await panel.getByRole('button', { name: 'Open a terminal' }).click()
    const screen = panel.locator('.xterm-rows')
    // Waits for the shell's prompt. Input before the shell reads may be lost, as in any terminal.
    await eventually(() => screen.textContent()).toMatch(/[$#]/)
    await panel.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type('echo here-$((40+2)); pwd')
    await page.keyboard.press('Enter')
    await eventually(() => screen.textContent()).toContain('here-42')
    await eventually(() => screen.textContent()).toContain('/project')
    await page.reload()
    await eventually(() => screen.textContent()).toContain('here-42')
    await panel
      .getByRole('button', { name: /^Close / })
      .first()
      .waitFor()
    expect(await seriousFindings(page)).toEqual([])
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})
