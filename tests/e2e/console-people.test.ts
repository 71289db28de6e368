import type { Person } from '@parley/protocol'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { phone, seriousFindings, type TabOptions } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import {
  allowOnce,
  card,
  chooseSetting,
  conversation,
  eventually,
  openSession,
  prompt,
  say,
  settingsChip,
  shows,
} from './console-page.ts'

const { server, browser, openTab } = consoleFixture()

/** Opens a tab of a new person. The invitation has the person's name, because the tab sends no name. */
async function openTabAs(role: Person['role'], name: string, path = '/', options: TabOptions = {}) {
  const invited = {
    url: server.url,
    newLink: async () => (await server.call<{ url: string }>('/api/invites', { role, name })).url,
  }
  const tab = await openTab({ ...options, load: false }, invited)
  await tab.page.goto(`${server.url}${path}`)
  await tab.page.locator('#place').waitFor({ state: 'attached' })
  return tab
}

async function personNamed(name: string): Promise<Person> {
  const { people } = await server.call<{ people: Person[] }>('/api/people')
  const found = people.find((person) => person.name === name)
  if (!found) throw new Error(`There is no person ${name}.`)
  return found
}

async function patchPerson(name: string, patch: object): Promise<void> {
  const { personId } = await personNamed(name)
  const response = await fetch(`${server.url}/api/people/${personId}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(patch),
  })
  expect(response.status).toBe(200)
}

const openRequests = async (id: string) =>
  (await server.call<{ requests: { session: { id: string } }[] }>('/api/permissions')).requests.filter(
    ({ session }) => session.id === id,
  ).length

const settings = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const secretIn = (shown: Locator) => shown.locator('code').evaluate((code) => code.textContent ?? '')
const noScope = (page: Page, scope: string) => page.getByText(new RegExp(`needs the scope “${scope}”`))

describe('a viewer', () => {
  it('reads a session and its open request, and has no controls', async () => {
    const id = await server.session('show a permission')
    const { page, consoleErrors } = await openTabAs('viewer', 'Vera', `/sessions/${id}`)
    await card(page).getByText('rm -rf build').waitFor()
    await card(page)
      .getByText(/Answering this request needs the scope “decide”/)
      .waitFor()
    expect(await card(page).getByRole('button').count()).toBe(0)
    await conversation(page).getByText('Needs an approval').waitFor()
    await page.getByText(/You can read this session\. Sending prompts needs the scope “prompt”/).waitFor()
    expect(await prompt(page).count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Terminals' }).count()).toBe(0)
    await page.getByTestId('inbox-count').getByText('waiting for others').waitFor()
    expect(await page.title()).toBe('show a permission · Parley')
    expect(await page.getByRole('link', { name: /New session/ }).count()).toBe(0)

    for (const key of ['1', '3', 'Enter', 'Escape', 'n']) await page.keyboard.press(key)
    await page.getByRole('button', { name: 'Session menu' }).click()
    const entries = page.getByRole('menuitem')
    await eventually(() => entries.allTextContents()).toEqual([
      'Find',
      'Expand all steps',
      'Collapse old turns',
      'Copy folder path',
      'Event log',
      'Export',
    ])
    await page.keyboard.press('Escape')
    expect(await openRequests(id)).toBe(1)
    expect(page.url()).toContain(id)
    expect(consoleErrors).toEqual([])
  })

  it('gets a note on each page that needs another scope, and no broken page', async () => {
    const { page, consoleErrors } = await openTabAs('viewer', 'Vito', '/new')
    await noScope(page, 'prompt').waitFor()
    await page.goto(`${server.url}/import`)
    await noScope(page, 'prompt').waitFor()
    await page.goto(`${server.url}/settings/people`)
    await noScope(page, 'admin').waitFor()
    await page.goto(`${server.url}/settings/permissions`)
    await page.getByText(/Changing rules needs the scope “admin”/).waitFor()
    expect(await page.getByRole('button', { name: 'Add a rule' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'People' }).count()).toBe(0)
    await page.goto(`${server.url}/settings/agents`)
    await page.getByRole('article', { name: /^Demo/ }).waitFor()
    expect(await page.getByRole('button', { name: /Add an agent|Add a variable|Install|Test/ }).count()).toBe(
      0,
    )
    await page.goto(`${server.url}/settings/browser`)
    await settings(page, 'Signed-in browsers').getByText('Scopes: read').waitFor()
    expect(await settings(page, 'Signed-in browsers').getByRole('listitem').count()).toBe(1)
    await page.goto(`${server.url}/settings/notifications`)
    await page.getByText('None of your browsers gets alerts.').waitFor()
    await server.session()
    await page.goto(server.url)
    await page.getByRole('treeitem', { level: 1 }).first().hover()
    const menu = page.getByRole('button', { name: /^Menu of the project/ })
    await menu.first().click()
    await page.getByRole('menuitem', { name: 'Project settings' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Close' }).waitFor()
    expect(await dialog.getByText('Changing it needs the scope “prompt”.').count()).toBe(6)
    expect(await dialog.locator('button, input:enabled, textarea:enabled').count()).toBe(1)
    expect(consoleErrors).toEqual([])
  })

  it('gets the controls of a new role without a reload', async () => {
    const id = await server.session('help')
    const { page } = await openTabAs('viewer', 'Rosa', `/sessions/${id}`)
    await noScope(page, 'prompt').waitFor()
    await patchPerson('Rosa', { role: 'member' })
    await prompt(page).waitFor()
    await say(page, 'show markdown')
    await shows(page, /quotation/)
    await patchPerson('Rosa', { role: 'viewer' })
    await noScope(page, 'prompt').waitFor()
    expect(await prompt(page).count()).toBe(0)
  })

  it.each([
    ['wide and light', {}],
    ['on a phone and dark', { ...phone, colorScheme: 'dark' as const }],
  ])('has pages in which axe finds nothing serious, %s', async (name, options) => {
    const id = await server.session('show a permission')
    const { page } = await openTabAs('viewer', `Axel ${name}`, `/sessions/${id}`, options)
    await card(page)
      .getByText(/needs the scope “decide”/)
      .waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.goto(`${server.url}/new`)
    await noScope(page, 'prompt').waitFor()
    expect(await seriousFindings(page)).toEqual([])
  })
})

describe('several people', () => {
  it('see whose prompt it is and who allowed a call; the only person of a server sees no names', async () => {
    const id = await server.session()
    const { page: owner } = await openTab({ load: false })
    await openSession(owner, server, id)
    await say(owner, 'help')
    await shows(owner, /I am the demo agent/)

    const { page: member } = await openTabAs('member', 'Mia', `/sessions/${id}`)
    await conversation(member)
      .getByText(/^owner|· Chrome on Linux$/)
      .first()
      .waitFor()
    await say(member, 'show a permission')
    await card(member)
      .getByText(/needs the scope “decide”/)
      .waitFor()
    await shows(owner, 'Mia · Chrome on Linux')
    expect(await conversation(owner).getByText('· Chrome on Linux').count()).toBe(1)
    await settingsChip(member).click()
    const modes = member.getByRole('group', { name: 'Mode', exact: true }).getByRole('menuitemradio')
    const name = (text: string) => /^(Ask|Accept edits|Read-only|Plan|Bypass)/.exec(text)?.[1]
    const names = async () => (await modes.allTextContents()).map(name)
    await eventually(names).toEqual(['Ask', 'Read-only', 'Plan'])
    await member.keyboard.press('Escape')

    const { page: approver } = await openTabAs('approver', 'Bo', `/sessions/${id}`)
    await allowOnce(approver).click()
    for (const page of [owner, member]) await shows(page, 'Allowed once by Bo · Chrome on Linux')
    await shows(approver, 'Allowed once by you')
    expect(await conversation(approver).getByText('by you ·').count()).toBe(0)

    await owner.getByRole('button', { name: 'Session menu' }).click()
    await owner.getByRole('menuitem', { name: 'Event log' }).click()
    const log = owner.getByRole('complementary', { name: 'Event log' })
    await log.getByText('permission.resolved Bo · Chrome on Linux').click()
    await log.getByText('By Bo · Chrome on Linux, through websocket').waitFor()
  })

  it('an approver answers in the inbox, and is offered no grant beyond the session', async () => {
    const id = await server.session('show a permission')
    const { page } = await openTabAs('approver', 'Ivo', '/inbox')
    const entry = page.getByRole('listitem').filter({ has: page.locator(`a[href*="${id}"]`) })
    await allowOnce(page).first().waitFor()
    expect(await entry.getByRole('button', { name: 'More allow options' }).count()).toBe(0)
    await entry.getByRole('button', { name: /^Deny/ }).last().click()
    await eventually(() => openRequests(id)).toBe(0)
  })

  it('a member whose role was wider starts a session in a mode that the role permits', async () => {
    const { page } = await openTabAs('approver', 'Mona', '/new')
    await chooseSetting(page, 'Bypass')
    await patchPerson('Mona', { role: 'member' })
    await eventually(() => settingsChip(page).textContent()).toMatch(/^Mode: Ask/)
    await prompt(page).fill('help')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.waitForURL(/\/sessions\//)
    await shows(page, /I am the demo agent/)
  })

  it('an answer of the same person in another browser names that browser', async () => {
    const id = await server.session('show a permission')
    const [{ page }, { page: second }] = [await openTab({ load: false }), await openTab({ load: false })]
    for (const one of [page, second]) await openSession(one, server, id)
    await allowOnce(second).click()
    await shows(page, 'Allowed once by you · Chrome on Linux')
  })

  it('the lists of rules and trusted folders name another person who wrote them', async () => {
    await openTabAs('admin', 'Ada', '/settings/permissions').then(async ({ page }) => {
      await page.getByRole('button', { name: 'Add a rule' }).click()
      await page.getByLabel(/^Tool/).fill('WebFetch')
      await page.getByRole('button', { name: 'Add', exact: true }).click()
      await settings(page, 'Rules and grants').getByText('WebFetch').waitFor()
      expect(await page.getByText('by Ada').count()).toBe(0)
    })
    const { page } = await openTab({ load: false })
    await page.goto(`${server.url}/settings/permissions`)
    await settings(page, 'Rules and grants').getByText('added just now by Ada · Chrome on Linux').waitFor()
  })
})

describe('access that ends', () => {
  it('a browser that an administrator signs out leaves at once, and says why', async () => {
    const { page } = await openTabAs('viewer', 'Gus', '/inbox')
    await page.getByText('No open requests').or(card(page)).first().waitFor()
    const { page: owner } = await openTab({ load: false })
    await owner.goto(`${server.url}/settings/browser`)
    const gus = settings(owner, 'Signed-in browsers').getByRole('listitem').filter({ hasText: 'Gus' }).last()
    await gus.getByRole('button', { name: /^Sign out/ }).click()
    await page.getByRole('heading', { name: 'This browser was signed out' }).waitFor()
    await page.getByText(/open a new link/).waitFor()
    expect(await page.evaluate(() => localStorage.getItem('parley:device'))).toBeNull()
    expect(await seriousFindings(page)).toEqual([])
  })

  it('disabling a person signs out all their browsers', async () => {
    const { page } = await openTabAs('member', 'Dora')
    const { page: owner } = await openTab({ load: false })
    await owner.goto(`${server.url}/settings/people`)
    await owner.getByRole('button', { name: 'Disable Dora' }).last().click()
    await page.getByRole('heading', { name: 'This browser was signed out' }).waitFor()
    expect(await owner.getByRole('button', { name: 'Enable Dora' }).count()).toBeGreaterThan(0)
  })
})

describe('an invitation', () => {
  it('is created, its link signs a new person in once, and the person appears in the list', async () => {
    const { page: owner, consoleErrors } = await openTab({ load: false })
    await owner.goto(`${server.url}/settings/people`)
    await owner.getByRole('button', { name: 'Invite a person' }).click()
    await owner.getByLabel('Role').last().selectOption('viewer')
    await owner.getByRole('button', { name: 'Add', exact: true }).click()
    const shown = owner.getByRole('region', { name: 'Invitation for a new person' })
    const link = await secretIn(shown)
    expect(link).toMatch(/\/open#invite-/)
    await settings(owner, 'Invitations')
      .getByText(/^Viewer · Expires/)
      .waitFor()

    const context = await browser().newContext()
    onTestFinished(() => context.close())
    const page = await context.newPage()
    await page.goto(link)
    await page.getByRole('heading', { name: 'You are invited to Parley' }).waitFor()
    expect(page.url()).toBe(`${server.url}/open`)
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Enter your name.').waitFor()
    await page.getByLabel('Your name').fill('Nina')
    expect(await page.getByLabel('Name of this device').inputValue()).toBe('Chrome on Linux')
    await page.getByLabel('Name of this device').fill('Nina’s laptop')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Choose a session' }).waitFor()

    const { devices } = await server.call<{ devices: { name: string }[] }>('/api/devices')
    expect(devices.map(({ name }) => name)).toContain('Nina’s laptop')
    await owner.reload()
    const nina = settings(owner, 'People').getByRole('listitem', { name: 'Nina' }).last()
    await nina.getByLabel('Role of Nina').selectOption('approver')
    await page.getByRole('heading', { name: 'What do you want to build?' }).waitFor()
    await nina.getByRole('button', { name: 'Rename Nina' }).click()
    await owner.getByLabel('Name', { exact: true }).fill('Nina B.')
    await owner.keyboard.press('Enter')
    await settings(owner, 'People').getByRole('listitem', { name: 'Nina B.' }).last().waitFor()
    expect(await shown.count()).toBe(0)

    await page.goto(link)
    await page.getByText('This browser is already signed in').waitFor()
    const late = await (await browser().newContext()).newPage()
    onTestFinished(() => late.context().close())
    await late.goto(link)
    await late.getByLabel('Your name').fill('Late')
    await late.getByRole('button', { name: 'Sign in' }).click()
    await late.getByText(/used or has expired/).waitFor()
    expect(consoleErrors).toEqual([])
  })

  it('can be withdrawn, and its link then fails', async () => {
    const { page } = await openTab({ load: false })
    await page.goto(`${server.url}/settings/people`)
    await page.getByRole('button', { name: 'Invite a person' }).click()
    await page.getByLabel(/^Name/).fill('Wanda')
    await page.keyboard.press('Enter')
    const link = await secretIn(page.getByRole('region', { name: 'Invitation for Wanda' }))
    await page.getByRole('button', { name: 'Withdraw the invitation of Wanda' }).click()
    await page.getByRole('button', { name: 'Withdraw the invitation of Wanda for good' }).click()
    await page.getByText('The invitation is withdrawn.').waitFor()
    const response = await fetch(`${server.url}/api/devices`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: new URL(link).hash.slice(1), publicKey: 'A'.repeat(120) }),
    })
    expect(response.status).toBeGreaterThanOrEqual(400)
    await eventually(() => page.getByRole('listitem', { name: 'Wanda' }).count()).toBe(0)
  })
})

describe('a token', () => {
  const statusWith = async (token: string, path: string) =>
    (await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${token}` } })).status

  it('is created with the keyboard alone, shown once, used within its scopes, and revoked', async () => {
    const { page, context, consoleErrors } = await openTab({
      load: false,
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await page.goto(`${server.url}/settings/tokens`)
    await page.getByRole('button', { name: 'Create a token' }).focus()
    await page.keyboard.press('Enter')
    await page.keyboard.type('robot')
    await page.getByLabel(/^Only sessions in these folders/).focus()
    await page.keyboard.type(server.project)
    await page.keyboard.press('Tab')
    const form = page.getByRole('form', { name: 'New token' })
    expect(await form.getByRole('checkbox').count()).toBeGreaterThan(5)
    expect(await seriousFindings(page)).toEqual([])
    await page.getByLabel('Name').focus()
    await page.keyboard.press('Enter')
    const shown = page.getByRole('region', { name: 'Token robot' })
    await shown.waitFor()
    await eventually(() => shown.evaluate((element) => element === document.activeElement)).toBe(true)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    const token = await page.evaluate(() => navigator.clipboard.readText())
    expect(token).toMatch(/^prly_/)
    expect(await seriousFindings(page)).toEqual([])

    expect(await statusWith(token, '/api/sessions')).toBe(200)
    expect(await statusWith(token, '/api/people')).toBe(403)
    await page.reload()
    const row = settings(page, 'Tokens').getByRole('listitem', { name: 'robot' })
    await row.getByText(/Scopes: read · Only in .*project · Expires .* · Last used just now/).waitFor()
    expect(await page.content()).not.toContain(token)
    await row.getByRole('button', { name: 'Revoke robot' }).click()
    await row.getByRole('button', { name: 'Revoke robot for good' }).click()
    await page.getByText('robot is revoked.').waitFor()
    expect(await statusWith(token, '/api/sessions')).toBe(401)
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('has at most the scopes of the person who creates it', async () => {
    const { page } = await openTabAs('member', 'Tom', '/settings/tokens')
    await page.getByRole('button', { name: 'Create a token' }).click()
    const scopes = page.getByRole('group', { name: 'Scopes' }).getByRole('checkbox')
    expect(await scopes.count()).toBe(2)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('Enter a name by which you recognise the token.').waitFor()
  })
})

it.each([
  ['wide and light', {}],
  ['on a phone and dark', { ...phone, colorScheme: 'dark' as const }],
])('axe finds nothing serious on the pages for people, tokens and browsers, %s', async (name, options) => {
  await openTabAs('viewer', `Page ${name}`)
  const { page } = await openTab({ ...options, load: false })
  for (const path of ['people', 'tokens', 'browser']) {
    await page.goto(`${server.url}/settings/${path}`)
    await page.getByRole('region').first().waitFor()
    if (path !== 'tokens') await page.getByRole('region').getByRole('listitem').first().waitFor()
    expect(await seriousFindings(page)).toEqual([])
  }
})
