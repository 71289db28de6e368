import type { Page } from 'playwright-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { PostgresServer } from '../../packages/server/src/stores/postgres/postgres-under-test.ts'
import { afterAll } from '../../packages/server/src/testing/peers.ts'
import { ConsoleServer, phone, seriousFindings } from './console-browser.ts'
import { browserFixture } from './console-fixture.ts'
import { conversation, eventually, panel, prompt } from './console-page.ts'

/** Tests the console with several nodes: two servers of different machines on one PostgreSQL. */
const desk = new ConsoleServer()
const laptop = new ConsoleServer()
let postgres: PostgresServer | undefined

afterAll(async () => {
  await Promise.all([desk.dispose(), laptop.dispose()])
  await postgres?.[Symbol.asyncDispose]()
})

const { openTab } = browserFixture(desk, async () => {
  postgres = await PostgresServer.open()
  const PARLEY_DATABASE_URL = await postgres.database()
  desk.environment = { PARLEY_DATABASE_URL, PARLEY_PLACE: 'desk' }
  laptop.environment = { PARLEY_DATABASE_URL, PARLEY_PLACE: 'laptop' }
  await desk.start()
  await laptop.start()
})

// A failed test can leave the node stopped.
beforeEach(() => laptop.startIfEnded())

const nodes = (page: Page) => page.getByRole('region', { name: 'Nodes' })
/** The heading of the project of the session in the session list. */
const headingOf = (page: Page, id: string) =>
  page
    .locator('[data-group]', { has: page.locator(`[data-session="${id}"]`) })
    .getByRole('treeitem', { level: 1 })

describe('the console of a server with other nodes', () => {
  it('lists the nodes, keeps the list current, and checks their connections', async () => {
    const { page, consoleErrors } = await openTab({ load: false })
    await page.goto(`${desk.url}/settings/agents`)
    const agents = page.getByRole('region', { name: 'Agents', exact: true })
    await agents.getByText(`The coding agents on desk, as the node ${desk.url} lists them.`).waitFor()
    await agents.getByText(/API keys belong to this node; a sign-in belongs to desk/).waitFor()
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Nodes' }).click()
    const cards = nodes(page).getByRole('listitem')
    await cards.nth(1).waitFor()
    expect(await cards.count()).toBe(2)
    const [here, there] = [cards.filter({ hasText: desk.url }), cards.filter({ hasText: laptop.url })]
    await here.getByText('this page’s server').waitFor()
    await there.getByText('Running').waitFor()
    await nodes(page)
      .getByText(/^PostgreSQL \d/)
      .waitFor()
    const sessions = () => there.getByRole('definition').first().textContent()
    expect(await sessions()).toBe('0')
    await laptop.session('help')
    await eventually(sessions).toBe('1')
    await page.getByRole('button', { name: 'Check connections' }).click()
    await eventually(() =>
      nodes(page).getByText('The node answers and reaches all other nodes.').count(),
    ).toBe(2)
    expect(await seriousFindings(page)).toEqual([])
    expect(await page.locator('body').textContent()).not.toContain('postgres://')
    expect(consoleErrors).toEqual([])
  })

  it('shows the nodes on a phone, without scrolling the page sideways', async () => {
    const { page } = await openTab({ ...phone, load: false })
    await page.goto(`${desk.url}/settings`)
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Nodes' }).click()
    await nodes(page).getByRole('listitem').first().waitFor()
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    expect(width).toBeLessThanOrEqual(phone.viewport.width)
    expect(await seriousFindings(page)).toEqual([])
  })

  it('names the machine of each session in the list and in the header', async () => {
    const own = await desk.session('on this machine')
    const other = await laptop.session('on the other machine')
    const { page } = await openTab()
    const row = (id: string) => page.locator(`[data-session="${id}"]`)
    await headingOf(page, own).getByText('on desk').waitFor()
    await headingOf(page, other).getByText('on laptop').waitFor()
    await row(other).getByRole('link').click()
    await conversation(page).waitFor()
    const fact = page.locator('header').getByText('on laptop')
    await fact.waitFor()
    expect(await fact.getAttribute('title')).toBe(`Node ${laptop.url}`)
    expect(await seriousFindings(page)).toEqual([])
  })

  it('says which machine a session waits for, and when that machine is back', async () => {
    const id = await laptop.session('show a permission')
    const { page } = await openTab({ load: false })
    await page.goto(`${desk.url}/sessions/${id}`)
    const header = page.locator('header')
    await header.getByText('on laptop').waitFor()
    await page.getByRole('button', { name: /^Allow once/ }).waitFor()
    await laptop.kill()
    await header.getByText('waits for laptop').waitFor()
    await headingOf(page, id).getByText('waits for laptop').waitFor()
    await page.getByText('Your answer is kept, and carried out when laptop is back.').waitFor()
    expect(await prompt(page).getAttribute('placeholder')).toContain('when laptop is back')
    expect(await page.getByRole('button', { name: /^Stop/ }).count()).toBe(0)
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('button', { name: /^Allow once/ }).click()
    await conversation(page).getByText('Answered; continues when laptop is back').waitFor()
    expect(await conversation(page).getByText('running', { exact: true }).count()).toBe(0)
    expect(
      await conversation(page)
        .getByText(/The node that ran this session stopped/)
        .count(),
    ).toBe(1)
    expect(
      await conversation(page)
        .getByText(/continues? when/)
        .count(),
    ).toBe(1)
    expect(await seriousFindings(page)).toEqual([])
    await page.goto(`${desk.url}/settings/nodes`)
    const away = nodes(page).getByRole('listitem').filter({ hasText: 'No server runs on laptop now' })
    await away.waitFor()
    await laptop.start()
    await away.waitFor({ state: 'detached' })
    await page.goto(`${desk.url}/sessions/${id}`)
    await header.getByText('on laptop').waitFor()
    await conversation(page)
      .getByText(/^Answered;/)
      .waitFor({ state: 'detached' })
  })

  it('keeps the tab of a terminal whose node has stopped, and says so', async () => {
    const id = await laptop.session('help')
    const { page } = await openTab({ load: false })
    await page.goto(`${desk.url}/sessions/${id}`)
    await page.getByRole('button', { name: 'Terminals' }).click()
    const terminals = panel(page, 'Terminals')
    await terminals.getByRole('button', { name: 'Open a terminal' }).click()
    await eventually(() => terminals.locator('.xterm-rows').textContent()).toMatch(/[$#]/)
    await laptop.kill()
    await terminals.getByText('This terminal ended: its server stopped.').waitFor()
    await terminals.getByRole('button', { name: /\(ended\)$/, pressed: true }).waitFor()
    await laptop.start()
    expect(await seriousFindings(page)).toEqual([])
    await terminals.getByRole('button', { name: /^Close (?!panel)/ }).click()
    await terminals.getByRole('button', { name: 'Open a terminal' }).waitFor()
  })

  it('counts no time while the machine of a working session is away, and queues its prompts', async () => {
    const id = await laptop.session('hang')
    const { page } = await openTab({ load: false })
    await page.goto(`${desk.url}/sessions/${id}`)
    await page.getByTestId('working').waitFor()
    await laptop.kill()
    await conversation(page).getByText('Waits for laptop').waitFor()
    expect(await page.getByTestId('working').count()).toBe(0)
    await prompt(page).fill('next')
    await page.getByRole('button', { name: 'Queue', exact: true }).click()
    await page.getByRole('list', { name: 'Queue' }).getByText('next').waitFor()
    await laptop.start()
    await conversation(page).getByText('Waits for laptop').waitFor({ state: 'detached' })
  })

  it('says in the inbox that an answer waits for its machine', async () => {
    const id = await laptop.session('show a permission')
    const { page } = await openTab({ load: false })
    await page.goto(`${desk.url}/inbox`)
    const entry = page.getByRole('listitem').filter({ has: page.locator(`a[href$="sessions/${id}"]`) })
    await entry.getByRole('button', { name: /^Allow once/ }).waitFor()
    await laptop.kill()
    await entry.getByText('Your answer is kept, and carried out when laptop is back.').waitFor()
    await laptop.start()
    await entry.getByText('Your answer is kept').waitFor({ state: 'detached' })
    expect(await entry.getByRole('button', { name: /^Allow once/ }).count()).toBe(1)
  })

  it('shows the whole name of the machine that the sessions of a project wait for', async () => {
    const id = await laptop.session('hang')
    const { page } = await openTab()
    const row = page.locator(`[data-session="${id}"]`)
    await row.getByText('working', { exact: true }).waitFor({ state: 'attached' })
    await laptop.kill()
    const machine = headingOf(page, id).getByText('waits for laptop')
    await machine.waitFor()
    const cut = (element: Element) => {
      const text = document.createRange()
      text.selectNodeContents(element)
      return text.getBoundingClientRect().width - element.getBoundingClientRect().width
    }
    expect(await machine.evaluate(cut)).toBeLessThan(0.1)
    await laptop.start()
  })
})
