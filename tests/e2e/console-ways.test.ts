import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { phone, rememberConversation, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import {
  agentChip,
  allowOnce,
  boxOf,
  card,
  chooseAgent,
  conversation,
  eventually,
  openSession,
  panel,
  say,
  settledBoxes,
  shows,
} from './console-page.ts'

/** Tests navigation and search in the console. */
const { server, openTab, openSessionTab } = consoleFixture()

describe('navigation', () => {
  it('opens a message by its link, and finds text by a search', async () => {
    const id = await server.session('run a command')
    const { page, context } = await openSessionTab(id)
    await allowOnce(page).click()
    await shows(page, /All 42 pass/)
    await page.keyboard.press('Control+f')
    await page.getByRole('textbox', { name: 'Find in this session' }).fill('42 tests passed')
    await page.getByText('1 of 1').waitFor()
    await conversation(page).getByText('42 tests passed').waitFor()
    await page.keyboard.press('Escape')
    const { blocks } = await server.call<{ blocks: { type: string; seq: number }[] }>(
      `/api/sessions/${id}?tail=500`,
    )
    const call = blocks.find(({ type }) => type === 'tool-call')
    await page.goto(`${server.url}/sessions/${id}#e${call?.seq}`)
    await page.locator('article.bg-mark-wash\\/70').waitFor()
    await context.close()
  })

  it('through the list can rename, pin, archive, delete and undo', async () => {
    const { page, context } = await openTab({ load: false })
    const id = await server.session()
    await page.clock.install()
    await page.goto(`${server.url}/sessions/${id}`)
    const list = page.getByRole('navigation', { name: 'Sessions' })
    const more = () => page.getByRole('button', { name: 'Session menu' }).click()
    await more()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByRole('textbox', { name: 'Title' }).fill('A name of its own')
    await page.keyboard.press('Enter')
    await list.getByText('A name of its own').waitFor()
    await more()
    await page.getByRole('menuitem', { name: 'Pin' }).click()
    await list.locator('[data-group=pinned]').getByText('A name of its own').waitFor()
    await more()
    const places = [page.locator('main header'), page.getByRole('combobox', { name: 'Prompt' })]
    const before = await settledBoxes(page, places)
    await page.getByRole('menuitem', { name: 'Archive', exact: true }).click()
    await list.getByText('A name of its own').waitFor({ state: 'detached' })
    await page.getByText('· archived').waitFor()
    await page.getByRole('status').getByText('Archived “A name of its own”').waitFor()
    expect(await settledBoxes(page, places)).toEqual(before)
    // A toast stays while it has the focus. Without the focus, it disappears after 6 seconds.
    await page.getByRole('button', { name: 'Undo' }).focus()
    await page.clock.fastForward(60_000)
    await page.getByRole('button', { name: 'Undo' }).press('Enter')
    await list.getByText('A name of its own').waitFor()
    await more()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await list.getByText('A name of its own').waitFor({ state: 'detached' })
    // A toast can be used above a dialog that was opened later.
    await page.keyboard.press('Control+k')
    const dialog = page.getByRole('dialog', { name: 'Command palette' })
    await dialog.getByRole('status').getByText('Deleted “A name of its own”').waitFor()
    expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(1)
    await dialog.getByRole('button', { name: 'Undo' }).click()
    await page.keyboard.press('Escape')
    await list.getByText('A name of its own').waitFor()
    await list.getByLabel('Search sessions').fill('of its own')
    await eventually(() => list.getByRole('link').filter({ hasText: 'A name of its own' }).count()).toBe(1)
    await context.close()
  })

  it('shows a failed session in the list with a word and a mark', async () => {
    const { page } = await openTab()
    const id = await server.session('fail, please')
    const row = page
      .getByRole('navigation', { name: 'Sessions' })
      .getByRole('link')
      .filter({ hasText: 'fail, please' })
    await row.getByText('Failed').filter({ visible: true }).last().waitFor()
    await row.locator('svg').waitFor()
    await eventually(() => row.ariaSnapshot()).toMatch(/^- link "fail, please Failed/)
    expect(await row.getByTitle(/The model stopped/).count()).toBeGreaterThan(0)
    expect(await seriousFindings(page)).toEqual([])
    await openSession(page, server, id)
    await say(page, 'help')
    await eventually(() => row.getByText('Failed').count()).toBe(0)
  })

  it('shows "Page not found" at an unknown URL', async () => {
    const { page, context } = await openTab({ load: false })
    for (const path of ['/nope', '/nope/at/all', '/settings/nothing']) {
      const answer = await page.goto(server.url + path)
      expect(answer?.headers()['content-type']).toMatch(/^text\/html/)
      await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    }
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('main').getByRole('link', { name: 'All sessions' }).click()
    await page.getByRole('heading', { name: 'What do you want to build?' }).waitFor()
    await context.close()
  })

  it("opens conversations from an agent's own history, which continue here", async () => {
    rememberConversation(server.folder, { title: 'Water the herbs', reply: 'They are watered.' })
    const { page, context, consoleErrors } = await openTab()
    const refused: string[] = []
    page.on('response', (answer) => answer.status() >= 400 && refused.push(answer.url()))
    await page.getByRole('link', { name: 'Continue a Claude or Codex session' }).click()
    const row = page.getByRole('button', { name: /Water the herbs/ })
    await row.waitFor()
    await page.getByText('Loading conversations').waitFor({ state: 'detached' })
    expect(refused).toEqual([])
    await page.getByLabel('Search conversations').fill('nothing like it')
    await page.getByText('No results for “nothing like it”').waitFor()
    await page.getByLabel('Search conversations').fill('herbs claude')
    expect(await seriousFindings(page)).toEqual([])
    await row.click()
    await page.waitForURL(/\/sessions\//)
    await shows(page, 'They are watered.')
    const here = page.url()
    await page.goto(`${server.url}/import`)
    await page.getByRole('button', { name: /Water the herbs.*Already imported/ }).click()
    await page.waitForURL(here)
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('works by keyboard alone', async () => {
    const { page, context, consoleErrors } = await openTab()
    await agentChip(page).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search sessions, messages and commands').waitFor()
    await page.keyboard.type('new session')
    await page.keyboard.press('Enter')
    await page.getByRole('combobox', { name: 'Prompt' }).waitFor()
    await eventually(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe(
      'Prompt',
    )
    await page.keyboard.type('show a permission')
    await page.keyboard.press('Tab')
    await page.keyboard.type(server.project)
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    await card(page).waitFor()
    await eventually(() => page.evaluate(() => document.activeElement?.getAttribute('data-testid'))).toBe(
      'request',
    )
    await eventually(async () => {
      await page.keyboard.press('1')
      return card(page).count()
    }).toBe(0)
    await shows(page, /Thank you/)
    await page.keyboard.press('Escape')
    await page.getByRole('region', { name: 'Conversation' }).focus()
    await page.keyboard.press('k')
    await eventually(() => page.evaluate(() => document.activeElement?.tagName)).toBe('ARTICLE')
    await page.keyboard.press('i')
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('shows open requests on a phone, even if a panel was left open in another session', async () => {
    const { page, context } = await openSessionTab(await server.session('help'), phone)
    await page.getByRole('button', { name: /^Changes/ }).click()
    await panel(page, 'Changes').waitFor()
    await openSession(page, server, await server.session('show a permission'))
    await allowOnce(page).click()
    await shows(page, 'Thank you.')
    expect(await panel(page, 'Changes').count()).toBe(0)
    await context.close()
  })
})

describe('a new session', () => {
  type Agent = { id: string; name: string; found: boolean; signedIn?: boolean; hint?: string }
  const agentsHere = async () => (await server.call<{ agents: Agent[] }>('/api/agents')).agents
  const notice = (page: Page) => page.getByTestId('agent-notice')

  it('says what to do about an agent that is not signed in, before anything is written', async () => {
    const agent = (await agentsHere()).find(({ found, signedIn }) => found && signedIn === false)
    if (!agent) throw new Error('Every agent is signed in, though this server has a home of its own.')
    const { page, consoleErrors } = await openTab()
    await chooseAgent(page, agent.name)
    await notice(page).getByText(`${agent.name} is not signed in.`).waitFor()
    expect(await notice(page).textContent()).toContain(agent.hint)
    const field = page.getByRole('combobox', { name: 'Prompt' })
    expect((await boxOf(notice(page))).bottom).toBeLessThanOrEqual((await boxOf(field)).top)
    const described = await field.evaluate(
      (element) => document.getElementById(element.getAttribute('aria-describedby') ?? '')?.textContent,
    )
    expect(described).toBe(`${agent.name} is not signed in.`)
    expect(await seriousFindings(page)).toEqual([])
    await chooseAgent(page, 'Demo')
    await notice(page).waitFor({ state: 'detached' })
    expect(consoleErrors).toEqual([])
  })

  it('says that the last used agent is missing, and which one is chosen instead', async () => {
    const agent = (await agentsHere()).find(({ found }) => !found)
    if (!agent) throw new Error('Every agent is installed on this machine.')
    const { page } = await openTab({ load: false })
    await page.evaluate(
      (id) => localStorage.setItem('parley:preferences', JSON.stringify({ agent: id })),
      agent.id,
    )
    await page.goto(`${server.url}/new`)
    await notice(page).getByText(`${agent.name} is not installed. Demo is selected instead.`).waitFor()
    expect(await agentChip(page).textContent()).toBe('Agent: Demo')
    expect(await seriousFindings(page)).toEqual([])
  })

  it('has a folder field that looks like a field', async () => {
    const { page } = await openTab()
    const label = page.locator('label', { has: page.getByRole('combobox', { name: 'Folder' }) })
    await label.getByText('Folder', { exact: true }).waitFor()
    const edge = await label.evaluate((element) => getComputedStyle(element).borderTopWidth)
    expect(Number.parseFloat(edge)).toBeGreaterThanOrEqual(1)
  })
})

describe('an export', () => {
  it('exists in every format of the server', async () => {
    const id = await server.session('help')
    const { page, context, consoleErrors } = await openSessionTab(id)
    const choose = async (name: string) => {
      await page.getByRole('button', { name: 'Session menu' }).click()
      await page.getByRole('menuitem', { name: 'Export' }).click()
      await page.getByRole('menuitem', { name }).click()
    }
    for (const [name, ending] of [
      ['Markdown', '.md'],
      ['Event log (JSONL)', '.jsonl'],
      ['AI SDK UI messages', '.ui-messages.json'],
      ['Messages for IPC clients', '.incoming-messages.json'],
      ['Events of each run', '.run-events.json'],
    ] as const) {
      const [saved] = await Promise.all([page.waitForEvent('download'), choose(name)])
      expect(saved.suggestedFilename().slice(-ending.length)).toBe(ending)
      expect(await saved.failure()).toBeNull()
    }
    const [exported] = await Promise.all([context.waitForEvent('page'), choose('Web page (HTML)')])
    await exported.getByText('help').first().waitFor()

    await page.getByRole('button', { name: 'Session menu' }).click()
    await page.getByRole('menuitem', { name: 'Export' }).press('ArrowRight')
    await page.getByRole('menu', { name: 'Export' }).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.press('ArrowLeft')
    await page.getByRole('menuitem', { name: 'Rename' }).waitFor()
    const here = () => page.evaluate(() => document.activeElement?.textContent)
    await eventually(here).toBe('Export')
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
    await page.keyboard.press('ArrowDown')
    await eventually(here).toBe('Rename')
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
    expect(consoleErrors).toEqual([])
  })
})

describe('the palette', () => {
  it('names pages as the settings do', async () => {
    const { page } = await openTab()
    await agentChip(page).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search sessions, messages and commands').waitFor()
    await page.keyboard.type('rules and trust')
    await page.keyboard.press('Enter')
    const here = page.getByRole('navigation', { name: 'Settings' }).locator('[aria-current=page]')
    await eventually(() => here.textContent()).toBe('Rules and trust')
  })

  it('takes typed text, and returns the focus', async () => {
    const { page } = await openTab()
    await agentChip(page).waitFor()
    await page.keyboard.press('Control+k')
    const field = page.getByPlaceholder('Search sessions, messages and commands')
    await field.waitFor()
    await page.keyboard.type('theme')
    expect(await field.inputValue()).toBe('theme')
    await page.keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
    await page.keyboard.type('and back')
    expect(await page.getByRole('combobox', { name: 'Prompt' }).inputValue()).toBe('and back')
  })
})

describe('a shortcut', () => {
  it('is recorded in the settings, replaces another one after a question, and is restored', async () => {
    const { page, consoleErrors } = await openTab({ load: false })
    await page.goto(`${server.url}/settings/keys`)
    const row = (name: string) => page.getByRole('listitem').filter({ hasText: name })
    const record = async (name: string, key: string) => {
      await row(name)
        .getByRole('button', { name: `Change: ${name}` })
        .press('Enter')
      await row(name).getByText('Press keys…').waitFor()
      await page.keyboard.press(key)
    }
    await record('Inbox', '3')
    await row('Inbox').getByText('Digits answer requests.').waitFor()
    await page.keyboard.press('n')
    await row('Inbox').getByText('N is the shortcut of “New session”.').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await row('Inbox').getByRole('button', { name: 'Use it here' }).press('Enter')
    await eventually(() => row('Inbox').locator('kbd').allTextContents()).toEqual(['N'])
    await row('New session').getByText('None').waitFor()
    await record('New session', 'Alt+n')
    await eventually(() => row('New session').locator('kbd').allTextContents()).toEqual(['Alt', 'N'])
    await page.reload()
    await row('Inbox').waitFor()
    await page.keyboard.press('n')
    await page.waitForURL(`${server.url}/inbox`)
    await page.keyboard.press('Alt+n')
    await page.waitForURL(`${server.url}/new`)
    await page.goto(`${server.url}/settings/keys`)
    await page.getByRole('button', { name: 'Reset all' }).click()
    await eventually(() => row('Inbox').locator('kbd').allTextContents()).toEqual(['I'])
    expect(consoleErrors).toEqual([])
  })

  it('of a single key does nothing after single keys are switched off, but a digit answers the focused card', async () => {
    const { page } = await openSessionTab(await server.session('show a permission'))
    await page.evaluate(() => localStorage.setItem('parley:preferences', '{"singleKeys":false}'))
    await page.reload()
    await card(page).waitFor()
    await page.locator('html:not([data-cards=paused])').waitFor({ state: 'attached' })
    await page.locator('main').focus()
    for (const key of ['n', '?', '1']) await page.keyboard.press(key)
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Command palette' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(page.url()).toContain('/sessions/')
    expect(await card(page).count()).toBe(1)
    await card(page)
      .getByRole('button', { name: /Allow once/ })
      .focus()
    await page.keyboard.press('1')
    await card(page).waitFor({ state: 'detached' })
  })
})
