import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import {
  type RegistryUnderTest,
  startRegistry,
} from '../../packages/server/src/adapters/npm-registry-under-test.ts'
import { consoleAtWork } from './console-at-work.ts'
import { allowOnce, card, conversation, eventually, openSession, shows } from './console-page.ts'

/** What the page says by small signs, and what it helps with: titles, marks, copying, installing, going places. */
let registry: RegistryUnderTest
const { server, openTab } = consoleAtWork(async (one) => {
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
    if (!agent?.command) throw new Error('Of none that is not signed in it is known what to type.')
    const { page } = await openTab(copying)
    await page.getByRole('radio', { name: new RegExp(`^${agent.name}`) }).check()
    await page
      .getByTestId('agent-notice')
      .getByRole('button', { name: `Copy ${agent.command}` })
      .click()
    await eventually(() => clipboard(page)).toBe(agent.command)
  })

  it('that is missing is installed by its button, which tells how it goes', async () => {
    const agent = (await agentsHere()).find(({ found, install }) => !found && install)
    if (!agent?.install) throw new Error('There is none to install.')
    const { package: name, version } = agent.install
    registry.publish({ name, version })
    const held = registry.hold(`${name}/-/`)
    const { page } = await openTab()
    await page.getByText(/^Not on this machine/).click()
    const option = page.locator('fieldset div', { has: page.locator(`input[value="${agent.id}"]`) }).last()
    await option.getByRole('button', { name: 'Install' }).click()
    await held.waits
    await option.getByRole('button', { name: 'Stop' }).waitFor()
    held.release()
    await page.goto(`${server.url}/settings/agents`)
    await eventually(async () => {
      const installed = (await agentsHere()).find(({ id }) => id === agent.id)?.install
      return (installed as { installed?: string } | undefined)?.installed
    }).toBe(version)
    await eventually(() => page.getByRole('button', { name: 'Remove' }).count()).toBe(1)
  })
})

describe('a tab', () => {
  it('is called by the place it shows', async () => {
    const { page } = await openTab()
    for (const [address, title] of [
      ['/inbox', 'Inbox · Parley'],
      ['/new', 'New session · Parley'],
      ['/settings/keys', 'Settings · Parley'],
      ['/import', 'Go on with a conversation · Parley'],
      ['/', 'Parley'],
    ] as const) {
      await page.goto(server.url + address)
      await eventually(async () => (await page.title()).replace(/^\(\d+\) /, '')).toBe(title)
    }
  })
})

describe('the list', () => {
  it('gives a deleted session back, and brings one back to it', async () => {
    const { page } = await openTab()
    const id = await server.session('help')
    await openSession(page, server, id)
    await page.getByRole('button', { name: 'More for this session' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.waitForURL(`${server.url}/`)
    await page.getByRole('button', { name: 'Undo' }).click()
    await conversation(page).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/sessions/${id}`)
  })
})

it('a message has a link, which leads to it', async () => {
  const { page } = await openTab(copying)
  const id = await server.session('help')
  await openSession(page, server, id)
  const message = conversation(page).getByRole('article').filter({ hasText: 'help' }).first()
  await message.hover()
  await message.getByRole('button', { name: 'Copy link' }).click()
  await page.getByText('Copied a link to this message.').waitFor()
  const link = await clipboard(page)
  expect(link).toMatch(new RegExp(`^${server.url}/sessions/${id}#e\\d+$`))
  await page.goto('about:blank')
  await page.goto(link)
  await page.locator('article.bg-mark-wash\\/70').getByText('help').first().waitFor()
})

it('a turn that failed is called out as one', async () => {
  const { page, context } = await openTab({ permissions: ['notifications'] })
  const noted = await noteNotifications(context)
  await page.goto(`${server.url}/inbox`)
  await list(page).waitFor()
  const before = await server.session()
  await row(page, before).waitFor()
  const parts = [{ type: 'text', text: 'fail' }]
  const submit = { type: 'prompt.submit', commandId: 'cmd_fail', parts }
  await server.call(`/api/sessions/${before}/commands`, submit)
  await eventually(() => noted.join()).toMatch(/Failed/)
})

/** The browser's own, noted as they are made: headless, nobody could see them. */
async function noteNotifications(context: BrowserContext): Promise<string[]> {
  const noted: string[] = []
  await context.exposeFunction('noteNotification', (body: string) => noted.push(body))
  await context.addInitScript(() => {
    const note = (window as unknown as { noteNotification(body: string): void }).noteNotification
    window.Notification = new Proxy(window.Notification, {
      construct(target, args: ConstructorParameters<typeof Notification>) {
        note(args[1]?.body ?? '')
        return new target(...args)
      },
    })
  })
  return noted
}

describe('the palette', () => {
  const open = async (page: Page) => {
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Go to a session').waitFor()
  }
  const entries = (page: Page) => page.getByRole('dialog').getByRole('option')

  it('begins with sessions, and knows what can be done with the one that is open', async () => {
    const { page } = await openTab()
    const [id, other] = [await server.session('show a permission'), await server.session('help')]
    await openSession(page, server, id)
    await allowOnce(page).click()
    await card(page).waitFor({ state: 'detached' })
    await open(page)
    await entries(page).filter({ hasText: 'help' }).first().waitFor()
    expect(await entries(page).first().getAttribute('data-selected')).toBe('true')
    expect(await entries(page).first().textContent()).not.toMatch(/New session/)
    expect(await page.getByRole('dialog').getByText('This session').count()).toBe(1)
    await page.keyboard.type('rename')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Title' }).fill('Called anew')
    await page.keyboard.press('Enter')
    await row(page, id).getByText('Called anew').waitFor()
    await open(page)
    await page.keyboard.type('find in it')
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
    await page.keyboard.type('this browser')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/settings\/appearance/)
    await page.goto(`${server.url}/sessions/${other}`)
    await shows(page, 'help')
  })
})

it('keys are called as on the keyboard at hand', async () => {
  const { page, context } = await openTab()
  await page.goto(`${server.url}/settings/keys`)
  const first = page.getByRole('region', { name: 'Anywhere' }).locator('kbd').first()
  await eventually(() => first.textContent()).toBe('Ctrl')
  await context.addInitScript(() => Object.defineProperty(navigator, 'platform', { get: () => 'MacIntel' }))
  await page.reload()
  await eventually(() => first.textContent()).toBe('⌘')
  await openSession(page, server, await server.session('help'))
  await page.getByRole('button', { name: 'Find in this session (⌘F)' }).waitFor()
})
