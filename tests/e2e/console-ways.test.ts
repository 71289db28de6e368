import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ConsoleServer,
  launchBrowser,
  openTab,
  phone,
  rememberConversation,
  seriousFindings,
} from './console-browser.ts'
import { allowOnce, card, conversation, eventually, openSession, panel, shows } from './console-page.ts'

/** How people find what they look for in the console. */
const server = new ConsoleServer()
let browser: Browser

beforeAll(async () => {
  ConsoleServer.build()
  await server.start()
  browser = await launchBrowser()
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await server.dispose()
})

describe('finding one’s way', () => {
  it('to a message by its link, and to words by looking for them', async () => {
    const { page, context } = await openTab(browser, server)
    const id = await server.session('run a command')
    await openSession(page, server, id)
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

  it('through the list: rename, pin, archive, delete and undo', async () => {
    const { page, context } = await openTab(browser, server)
    const id = await server.session()
    await page.goto(`${server.url}/sessions/${id}`)
    const list = page.getByRole('navigation', { name: 'Sessions' })
    const more = () => page.getByRole('button', { name: 'More for this session' }).click()
    await more()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByRole('textbox', { name: 'Title' }).fill('A name of its own')
    await page.keyboard.press('Enter')
    await list.getByText('A name of its own').waitFor()
    await more()
    await page.getByRole('menuitem', { name: 'Pin' }).click()
    await list.getByRole('region', { name: 'Pinned' }).getByText('A name of its own').waitFor()
    await more()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await list.getByText('A name of its own').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await list.getByText('A name of its own').waitFor()
    await list.getByLabel('Search sessions').fill('of its own')
    await eventually(() => list.getByRole('link').filter({ hasText: 'A name of its own' }).count()).toBe(1)
    await context.close()
  })

  it('where an address leads nowhere', async () => {
    const { page, context } = await openTab(browser, server)
    await page.goto(`${server.url}/settings/nothing`)
    await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('main').getByRole('link', { name: 'All sessions' }).click()
    await page.getByRole('heading', { name: 'What should be done?' }).waitFor()
    await context.close()
  })

  it('to conversations that an agent keeps by itself, which go on here', async () => {
    rememberConversation(server.folder, { title: 'Water the herbs', reply: 'They are watered.' })
    const { page, context, complaints } = await openTab(browser, server)
    await page.getByRole('link', { name: 'Go on with a conversation that an agent keeps' }).click()
    const row = page.getByRole('button', { name: /Water the herbs/ })
    await row.waitFor()
    await page.getByLabel('Search conversations').fill('nothing like it')
    await page.getByText('has “nothing like it” in it').waitFor()
    await page.getByLabel('Search conversations').fill('herbs claude')
    expect(await seriousFindings(page)).toEqual([])
    await row.click()
    await page.waitForURL(/\/sessions\//)
    await shows(page, 'They are watered.')
    const here = page.url()
    await page.goto(`${server.url}/import`)
    await page.getByRole('button', { name: /Water the herbs.*is here already/ }).click()
    await page.waitForURL(here)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('by keyboard alone', async () => {
    const { page, context, complaints } = await openTab(browser, server)
    await page.getByRole('radio', { name: /^Demo/ }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Go to a session').waitFor()
    await page.keyboard.type('new session')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Prompt' }).waitFor()
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
    await page.getByRole('heading', { name: 'Waiting for you' }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('to what waits, on a phone where a panel was left open in another session', async () => {
    const { page, context } = await openTab(browser, server, phone)
    await openSession(page, server, await server.session('help'))
    await page.getByRole('button', { name: 'Changes' }).click()
    await panel(page, 'Changes').waitFor()
    await openSession(page, server, await server.session('show a permission'))
    await allowOnce(page).click()
    await shows(page, 'Thank you.')
    expect(await panel(page, 'Changes').count()).toBe(0)
    await context.close()
  })
})
