import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { seriousFindings } from './console-browser.ts'
import { allowOnce, eventually, keptList, openSession, panel, say, shows } from './console-page.ts'
import { consoleBehindProxy, goOffline } from './console-proxy.ts'

/**
 * Tests the parts of the page while the server is unreachable: which parts work, and which message replaces
 * the others.
 */
const { server, openTab, openSessionTab, openThroughProxy } = consoleBehindProxy()

describe('parts of the page', () => {
  it('are all stored for when the server is unreachable, even those that were never opened', async () => {
    const { proxy, page, context, url } = await openThroughProxy()
    await openSession(page, { url }, await server.session('think'))
    await shows(page, /second way is better/)
    await goOffline({ proxy, page, context })
    await page.getByRole('button', { name: /^Changes/ }).click()
    await panel(page, 'Changes')
      .getByText(/does not answer/)
      .waitFor()
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search sessions, messages and commands').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    await page.goto(`${url}/import`)
    await page.getByRole('main').getByRole('heading').first().waitFor()
    expect(await page.getByText('could not be loaded').count()).toBe(0)
  })

  it('such as a menu can be closed before they have loaded, and the turn continues', async () => {
    const { page } = await openTab({ load: false })
    const id = await server.session('hang')
    const works = async () =>
      (await server.call<{ turn?: { interrupted: boolean } }>(`/api/sessions/${id}?tail=0`)).turn
    await openSession(page, server, id)
    await shows(page, /do nothing now/)
    const held = Promise.withResolvers<void>()
    const menu = /\/assets\/session-menu-/
    await page.route(menu, async (route) => {
      await held.promise
      await route.fulfill({ status: 404, body: 'not here' })
    })
    const button = page.getByRole('button', { name: 'Session menu' })
    await button.focus()
    for (const leave of ['Escape', 'Tab']) {
      await page.keyboard.press('Enter')
      expect(await button.getAttribute('aria-expanded')).toBe('true')
      await page.keyboard.press(leave)
      await eventually(() => button.getAttribute('aria-expanded')).toBe('false')
    }
    held.resolve()
    await button.click()
    const notice = page.getByText('This part could not be loaded')
    await notice.waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await notice.waitFor({ state: 'detached' })
    await button.click()
    await notice.waitFor()
    await page.unroute(menu)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('menuitem', { name: 'Rename' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('menuitem', { name: 'Rename' }).waitFor({ state: 'detached' })
    expect(await works()).toMatchObject({ interrupted: false })
  })

  it('that cannot be loaded show an error in their place, and can be loaded again', async () => {
    const { page } = await openSessionTab(await server.session('think'))
    await shows(page, /second way is better/)
    const missing = /\/assets\/(settings-page|palette|changes-panel)-/
    await page.route(missing, (route) => route.fulfill({ status: 404, body: 'not here' }))
    const notice = page.getByText('This part could not be loaded')
    const again = page.getByRole('button', { name: 'Try again' })

    await page.getByRole('button', { name: /^Changes/ }).click()
    await panel(page, 'Changes').getByText('This part could not be loaded').waitFor()
    await shows(page, /second way is better/)
    expect(await seriousFindings(page)).toEqual([])
    await again.click()
    await notice.waitFor()
    await page.unroute(missing)
    await again.click()
    await panel(page, 'Changes').getByText('No changes since the session began').waitFor()
    await page.route(missing, (route) => route.fulfill({ status: 404, body: 'not here' }))

    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByText('This part could not be loaded').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('main').getByText('This part could not be loaded').waitFor()
    await page.getByRole('navigation', { name: 'Sessions' }).waitFor()
    await page.unroute(missing)
    await again.click()
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
  })
})

describe('open requests', () => {
  const icon = (page: Page) => page.locator('link[rel=icon]').getAttribute('href')

  it('are still shown when the page is opened without the server', async () => {
    const { proxy, page, context, url } = await openThroughProxy()
    const id = await server.session('show a permission, later')
    await page.goto(`${url}/inbox`)
    const entry = page.getByRole('main').getByRole('listitem').filter({ hasText: 'show a permission, later' })
    await entry.waitFor()
    const kept = async () => ((await keptList(page, 'waiting')) as { requests?: [] })?.requests?.length
    const count = (await server.call<{ requests: unknown[] }>('/api/permissions')).requests.length
    await eventually(kept).toBe(count)
    await goOffline({ proxy, page, context })
    await page.reload()
    await page.getByText('These requests were open when the server last answered').waitFor()
    await entry.waitFor()
    expect(await page.getByTestId('inbox-count').textContent()).toBe(`${count} waiting for you`)
    await eventually(() => page.title()).toMatch(new RegExp(`^\\(${count}\\) `))
    expect(await icon(page)).toBe('icon-waiting.svg')

    await entry.getByRole('button', { name: /Allow once/ }).click()
    await entry.getByText('Not sent yet: Allow once').waitFor()
    await proxy.open()
    await context.setOffline(false)
    await entry.waitFor({ state: 'detached' })
    const { events } = await server.call<{ events: { type: string; outcome?: string }[] }>(
      `/api/sessions/${id}/events?limit=200`,
    )
    expect(events.filter(({ type }) => type === 'permission.resolved')).toMatchObject([
      { outcome: 'allowed' },
    ])
  })

  it('are unknown without the server if the browser has no copy, and the page says so', async () => {
    const { proxy, page, context, url } = await openThroughProxy()
    await page.evaluate(
      () =>
        new Promise((resolve) => {
          const forgetting = indexedDB.deleteDatabase('parley')
          forgetting.onsuccess = resolve
          forgetting.onblocked = resolve
        }),
    )
    await goOffline({ proxy, page, context })
    await page.goto(`${url}/inbox`)
    await page.getByText('Offline. Open requests are shown when the server is reachable again.').waitFor()
    await page.goto(`${url}/sessions/ses_never_seen`)
    await page.getByText('this browser has no saved copy of this session').waitFor()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Session')
  })

  it('show in the title and the icon of the tab until they are answered', async () => {
    const { page } = await openTab({ load: false })
    const asking = new Set<string>()
    const { requests } = await server.call<{ requests: { session: { id: string } }[] }>('/api/permissions')
    for (const { session } of requests) asking.add(session.id)
    for (const id of asking)
      await server.call(`/api/sessions/${id}/commands`, { type: 'turn.cancel', commandId: `cmd_${id}` })
    const id = await server.session()
    await openSession(page, server, id)
    await eventually(() => page.title()).toMatch(/^[^(]*Parley$/)
    await say(page, 'show a permission')
    await eventually(() => page.title()).toBe('(1) show a permission · Parley')
    expect(await icon(page)).toBe('icon-waiting.svg')
    await page.getByRole('link', { name: /^Inbox/ }).click()
    await eventually(() => page.title()).toMatch(/^\(1\) /)
    await allowOnce(page).click()
    await eventually(() => page.title()).not.toMatch(/^\(/)
    await eventually(() => icon(page)).not.toBe('icon-waiting.svg')
  })
})
