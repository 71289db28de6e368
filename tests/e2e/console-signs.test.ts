import type { Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import {
  type RegistryUnderTest,
  startRegistry,
} from '../../packages/server/src/adapters/npm-registry-under-test.ts'
import { phone, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import {
  agentChip,
  allowOnce,
  card,
  chooseAgent,
  conversation,
  eventually,
  openSession,
  prompt,
  recordNotifications,
  shows,
} from './console-page.ts'

/** Tests small parts of the page: titles, marks, copying, installing, navigation. */
let registry: RegistryUnderTest
const { server, openTab, openSessionTab } = consoleFixture(async (one) => {
  registry = await startRegistry()
  one.environment = registry.env
})
afterAll(() => registry?.[Symbol.asyncDispose]())

type Agent = {
  id: string
  name: string
  found: boolean
  signedIn?: boolean
  command?: string
  install?: { package: string; version: string }
}
const agentsHere = async () => (await server.call<{ agents: Agent[] }>('/api/agents')).agents
const list = (page: Page) => page.getByRole('navigation', { name: 'Sessions' })
const row = (page: Page, id: string) => list(page).locator(`[data-session="${id}"]`)
const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText())
const copying = { permissions: ['clipboard-read', 'clipboard-write'] }

describe('an agent', () => {
  it('that is not signed in offers the command to copy', async () => {
    const agent = (await agentsHere()).find(({ found, signedIn }) => found && signedIn === false)
    if (!agent?.command) throw new Error('No agent that is not signed in has a sign-in command.')
    const { page } = await openTab(copying)
    await chooseAgent(page, agent.name)
    await page
      .getByTestId('agent-notice')
      .getByRole('button', { name: `Copy ${agent.command}` })
      .click()
    await eventually(() => clipboard(page)).toBe(agent.command)
  })

  it('has its whole description on a phone', async () => {
    const { page } = await openTab({ ...phone, load: false })
    await page.goto(`${server.url}/new`)
    await agentChip(page).click()
    const description = page.getByText('Runs nothing, writes nothing, needs no account.')
    await description.waitFor()
    const cut = await description.evaluate((element) => element.scrollWidth - element.clientWidth)
    expect(cut).toBeLessThanOrEqual(0)
  })

  it('that is not installed is installed by its button, which shows the progress', async () => {
    const agent = (await agentsHere()).find(({ found, install }) => !found && install)
    if (!agent?.install) throw new Error('There is no agent to install.')
    const { package: name, version } = agent.install
    registry.publish({ name, version })
    const held = registry.hold(`${name}/-/`)
    const { page } = await openTab()
    await chooseAgent(page, agent.name)
    const notice = page.getByTestId('agent-notice')
    await notice.getByRole('button', { name: 'Install' }).click()
    await held.waits
    await notice.getByRole('button', { name: 'Stop' }).waitFor()
    held.release()
    await page.goto(`${server.url}/settings/agents`)
    await eventually(async () => {
      const installed = (await agentsHere()).find(({ id }) => id === agent.id)?.install
      return (installed as { installed?: string } | undefined)?.installed
    }).toBe(version)
    await eventually(() => page.getByRole('button', { name: 'Remove' }).count()).toBe(1)
  })
})

describe('agents', () => {
  it('have the same word for their readiness everywhere, and missing ones have a next step', async () => {
    const agents = await agentsHere()
    const { page } = await openTab()
    await agentChip(page).click()
    const state = /^(Ready|Installed, sign-in unknown|Not signed in|Cannot be used|Not installed)$/
    const onNew = new Map<string, string | null>()
    for (const { name } of agents) {
      const label = page.getByText(name, { exact: true })
      const option = page.getByRole('menuitemradio').filter({ has: label })
      onNew.set(name, await option.getByText(state).textContent())
    }
    await page.goto(`${server.url}/settings/agents`)
    for (const { name, found, install } of agents) {
      const one = page.getByRole('article', { name, exact: true })
      expect([name, await one.getByText(state).textContent()]).toEqual([name, onNew.get(name)])
      const step = install
        ? one.getByRole('button', { name: 'Install' })
        : one.getByText(/To install it, see https/)
      if (!found) await step.first().waitFor()
    }
    expect([...onNew.values()]).toContain('Not signed in')
  })
})

describe('a tab', () => {
  it('has the title of the page it shows', async () => {
    const { page } = await openTab({ load: false })
    for (const [address, title] of [
      ['/inbox', 'Inbox · Parley'],
      ['/new', 'New session · Parley'],
      ['/settings/keys', 'Settings · Parley'],
      ['/import', 'Import a session · Parley'],
      ['/', 'Parley'],
    ] as const) {
      await page.goto(server.url + address)
      await eventually(async () => (await page.title()).replace(/^\(\d+\) /, '')).toBe(title)
    }
  })
})

it('the settings describe each section in a sentence', async () => {
  const { page } = await openTab({ load: false })
  await page.goto(`${server.url}/settings`)
  const places = page.getByRole('navigation', { name: 'Settings' }).getByRole('link')
  await eventually(() => places.allTextContents()).toEqual([
    'Agents',
    'Rules and trust',
    'Appearance',
    'Keyboard',
    'Browsers',
    'Notifications',
    'Tokens',
    'People',
  ])
  for (const place of await places.all()) {
    await place.click()
    await eventually(() => place.getAttribute('aria-current')).toBe('page')
    const headings = page.getByRole('main').getByRole('heading', { level: 2 })
    await headings.first().waitFor()
    for (const heading of await headings.all()) {
      expect(await heading.locator('+ p').textContent()).toMatch(/\w{3}.*\.$/)
    }
    expect(await seriousFindings(page)).toEqual([])
  }
})

describe('the list', () => {
  it('restores a deleted session with Undo, and opens it', async () => {
    const id = await server.session('help')
    const { page } = await openSessionTab(id)
    await page.getByRole('button', { name: 'Session menu' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.waitForURL(`${server.url}/`)
    await page.getByRole('button', { name: 'Undo' }).click()
    await conversation(page).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/sessions/${id}`)
  })

  it('has no deleted session any more after a reload', async () => {
    const id = await server.session('help')
    const { page } = await openSessionTab(id)
    await page.getByRole('button', { name: 'Session menu' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await page.reload()
    const list = page.getByRole('navigation', { name: 'Sessions' })
    await list.getByRole('link', { name: 'New session' }).waitFor()
    expect(await list.locator(`[data-session=${id}]`).count()).toBe(0)
    const isThere = () =>
      server.call(`/api/sessions/${id}?tail=0`).then(
        () => true,
        () => false,
      )
    await eventually(isThere).toBe(false)
    expect(await list.locator(`[data-session=${id}]`).count()).toBe(0)
  })
})

describe('the link "All sessions"', () => {
  const allSessions = (page: Page) => page.getByRole('main').getByRole('link', { name: 'All sessions' })

  it('opens the session list and focuses its search field', async () => {
    const { page } = await openTab({ load: false })
    for (const nowhere of ['/nope', '/sessions/ses_nope']) {
      await page.goto(server.url + nowhere)
      await allSessions(page).click()
      await page.getByRole('heading', { name: 'What do you want to build?' }).waitFor()
      await eventually(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe(
        'Search sessions',
      )
    }
  })

  it('opens the session list as a page on a phone', async () => {
    const { page } = await openTab({ ...phone, load: false })
    await page.goto(`${server.url}/nope`)
    await allSessions(page).tap()
    await page.waitForURL(`${server.url}/`)
    await list(page).waitFor()
    expect(await page.getByRole('heading', { name: 'What do you want to build?' }).count()).toBe(0)
  })
})

it('a message has a link that opens the session at the message', async () => {
  const id = await server.session('help')
  const { page } = await openSessionTab(id, copying)
  const message = conversation(page).getByRole('article').filter({ hasText: 'help' }).first()
  const reply = conversation(page).getByRole('article', { name: 'Agent' }).first()
  await reply.hover()
  await reply.getByRole('button', { name: 'Copy text' }).waitFor()
  const copy = message.getByRole('button', { name: 'Copy link' })
  expect(await copy.count()).toBe(0)
  await message.focus()
  await copy.waitFor()
  const names: (string | null | undefined)[] = []
  for (let stop = 0; stop < 3; stop++) {
    await page.keyboard.press('Tab')
    names.push(await page.evaluate(() => document.activeElement?.getAttribute('aria-label')))
  }
  expect(names).toEqual(['Collapse this turn', 'Copy text', 'Copy link'])
  await page.keyboard.press('Enter')
  await page.getByText('Copied a link to this message.').waitFor()
  const link = await clipboard(page)
  expect(link).toMatch(new RegExp(`^${server.url}/sessions/${id}#e\\d+$`))
  await page.goto('about:blank')
  await page.goto(link)
  await page.locator('article.bg-mark-wash\\/70').getByText('help').first().waitFor()
})

it('a failed turn has a notification that says so', async () => {
  const { page, context } = await openTab({ load: false, permissions: ['notifications'] })
  const shown = await recordNotifications(context)
  await page.goto(`${server.url}/inbox`)
  await list(page).waitFor()
  const before = await server.session()
  await row(page, before).waitFor()
  const parts = [{ type: 'text', text: 'fail' }]
  const submit = { type: 'prompt.submit', commandId: 'cmd_fail', parts }
  await server.call(`/api/sessions/${before}/commands`, submit)
  await eventually(() => shown.map(({ body }) => body)).toContainEqual(expect.stringContaining('Failed'))
})

describe('the palette', () => {
  const open = async (page: Page) => {
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search sessions, messages and commands').waitFor()
  }
  const entries = (page: Page) => page.getByRole('dialog').getByRole('option')

  it('starts with sessions, and has the actions of the open one', async () => {
    const { page } = await openTab({ load: false })
    const [id, other] = [await server.session('show a permission'), await server.session('help')]
    await openSession(page, server, id)
    await allowOnce(page).click()
    await card(page).waitFor({ state: 'detached' })
    await open(page)
    await entries(page).filter({ hasText: 'help' }).first().waitFor()
    expect(await entries(page).first().getAttribute('data-selected')).toBe('true')
    expect(await entries(page).first().textContent()).not.toMatch(/New session/)
    expect(await page.getByRole('dialog').getByText('This session', { exact: true }).count()).toBe(1)
    await page.keyboard.type('rename')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Title' }).fill('Called anew')
    await page.keyboard.press('Enter')
    await row(page, id).getByText('Called anew').waitFor()
    await open(page)
    await page.keyboard.type('find in session')
    await page.keyboard.press('Enter')
    await page.getByLabel('Find in this session').last().waitFor()
    await eventually(() => page.evaluate(() => document.activeElement?.getAttribute('placeholder'))).toBe(
      'Find',
    )
    await page.keyboard.press('Escape')
    await open(page)
    await page.keyboard.type('terminals')
    await page.keyboard.press('Enter')
    await page.getByRole('complementary', { name: 'Terminals' }).waitFor()
    await page.getByRole('button', { name: 'Close panel' }).click()
    await open(page)
    await page.keyboard.type('browsers')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/settings\/browser/)
    await page.goto(`${server.url}/sessions/${other}`)
    await shows(page, 'help')
  })

  it('has one entry for exports, which opens a list of the formats', async () => {
    const { page } = await openSessionTab(await server.session('help'))
    await open(page)
    await page.keyboard.type('export')
    await eventually(() => entries(page).allTextContents()).toEqual(['Export this session…'])
    await page.keyboard.press('Enter')
    const formats = entries(page).filter({ hasText: 'Markdown' })
    await formats.waitFor()
    expect(await page.getByRole('dialog').getByRole('combobox').inputValue()).toBe('')
    expect(await entries(page).filter({ hasText: 'New session' }).count()).toBe(0)
    expect(await seriousFindings(page)).toEqual([])
    for (const key of ['Backspace', 'Escape']) {
      await page.keyboard.press(key)
      await entries(page).filter({ hasText: 'Export this session…' }).click()
      await formats.waitFor()
    }
    await page.getByRole('dialog').getByRole('button', { name: 'Back' }).press('Enter')
    await entries(page).filter({ hasText: 'New session' }).waitFor()
    await page.keyboard.type('markdown')
    await eventually(() => entries(page).allTextContents()).toEqual(['Export this session…'])
    await page.keyboard.press('Enter')
    await formats.waitFor()
    await page.keyboard.type('mark')
    const [saved] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
    expect(saved.suggestedFilename()).toMatch(/\.md$/)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('shows the shortcuts of its entries', async () => {
    const { page } = await openSessionTab(await server.session('help'))
    await open(page)
    const keysOf = (label: string) =>
      entries(page).filter({ hasText: label }).first().locator('kbd').allTextContents()
    await eventually(() => keysOf('Find in session')).toEqual(['Ctrl', 'F'])
    expect(await keysOf('New session')).toEqual(['N'])
    expect(await keysOf('Keyboard shortcuts')).toEqual(['?'])
    expect(await keysOf('Rename')).toEqual([])
  })
})

it('keys are named as on the keyboard of the platform', async () => {
  const { page, context } = await openTab({ load: false })
  await page.goto(`${server.url}/settings/keys`)
  const first = page.getByRole('region', { name: 'Anywhere' }).locator('kbd').first()
  await eventually(() => first.textContent()).toBe('Ctrl')
  await context.addInitScript(() => Object.defineProperty(navigator, 'platform', { get: () => 'MacIntel' }))
  await page.reload()
  await eventually(() => first.textContent()).toBe('⌘')
  await openSession(page, server, await server.session('help'))
  await page.getByRole('button', { name: 'Find in this session (⌘F)' }).waitFor()
})

it('keyboard shortcuts are listed over the current page, which does not change', async () => {
  const id = await server.session('help')
  const { page, consoleErrors } = await openSessionTab(id)
  await prompt(page).fill('half a sentence')
  await page.locator('main').focus()
  await page.keyboard.press('?')
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await dialog.getByText('Jump to latest').waitFor()
  expect(await page.evaluate(() => location.pathname)).toBe(`/sessions/${id}`)
  expect(await seriousFindings(page)).toEqual([])
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await prompt(page).inputValue()).toBe('half a sentence')
  expect(consoleErrors).toEqual([])
})
