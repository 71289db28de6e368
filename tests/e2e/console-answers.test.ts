import type { BrowserContext, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { TcpProxy } from '../../packages/server/src/testing/tcp-proxy.ts'
import { phone, seriousFindings } from './console-browser.ts'
import {
  allowOnce,
  boxOf,
  card,
  chooseAgent,
  eventually,
  keptSeq,
  openSession,
  prompt,
  settledBoxes,
  shows,
  tapOnCard,
} from './console-page.ts'
import { consoleBehindProxy, goOffline } from './console-proxy.ts'

/**
 * Tests answers to requests: answers given while the server is unreachable, edited answers, and the places where
 * unsent answers are shown.
 */
const { server, openTab, openSessionTab, openThroughProxy } = consoleBehindProxy()

const unsent = (page: Page) => page.getByTestId('unsent')

/** Opens a session with an open request, on a page that the browser has stored and can reload without the server. */
async function asked(words: string, page: Page, proxy: TcpProxy): Promise<string> {
  const id = await server.session(words)
  await openSession(page, { url: proxy.url }, id)
  await card(page).waitFor()
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
  await eventually(() => page.evaluate(async () => (await caches.keys()).length)).toBe(1)
  const { seq } = await server.call<{ seq: number }>(`/api/sessions/${id}?tail=0`)
  await eventually(() => keptSeq(page, id)).toBe(seq)
  return id
}

async function restore(proxy: TcpProxy, page: Page, context: BrowserContext): Promise<void> {
  await proxy.open()
  await context.setOffline(false)
  await page.getByTestId('offline').first().waitFor({ state: 'detached' })
}

type Logged = { type: string; outcome?: string; requestId: string; signature?: unknown }
const eventsOf = async (id: string) =>
  (await server.call<{ events: Logged[] }>(`/api/sessions/${id}/events?limit=1000`)).events
const outcomesOf = async (id: string) =>
  (await eventsOf(id)).filter(({ type }) => type.endsWith('.resolved')).map(({ outcome }) => outcome)
const requestOf = async (id: string) =>
  (await eventsOf(id)).find(({ type }) => type.endsWith('.requested'))?.requestId

describe('an answer that is given while the server is unreachable', () => {
  const kinds = [
    {
      name: 'a permission',
      words: 'show a permission',
      give: (page: Page) => allowOnce(page).click(),
      said: 'Allow once',
      next: 'Thank you',
      outcome: 'allowed',
    },
    {
      name: 'a question',
      words: 'ask me',
      async give(page: Page) {
        await card(page).getByText('SQLite').click()
        await card(page).getByLabel('Tests').check()
        await card(page).getByRole('button', { name: 'Answer' }).click()
      },
      said: 'SQLite, Tests',
      next: 'With that I could start.',
      outcome: 'answered',
    },
    {
      name: 'a plan',
      words: 'make a plan',
      give: (page: Page) =>
        card(page)
          .getByRole('button', { name: /Approve the plan/ })
          .click(),
      said: 'Approve the plan',
      next: 'stops half way',
      outcome: 'allowed',
    },
  ]
  it.each(kinds)('is kept, shown, and sent once: $name', async ({ words, give, said, next, outcome }) => {
    const { proxy, page, context } = await openThroughProxy()
    const id = await asked(words, page, proxy)
    await goOffline({ proxy, page, context })
    await give(page)
    await unsent(page).getByText(`Not sent yet: ${said}`).waitFor()
    await eventually(() => page.getByTestId('announcer').textContent()).toBe(`Not sent yet: ${said}`)
    expect(await card(page).count()).toBe(0)
    expect(await seriousFindings(page)).toEqual([])
    await page.reload()
    await unsent(page).getByText(`Not sent yet: ${said}`).waitFor()
    expect(await outcomesOf(id)).toEqual([])

    await restore(proxy, page, context)
    await shows(page, new RegExp(next))
    await unsent(page).waitFor({ state: 'detached' })
    expect(await outcomesOf(id)).toEqual([outcome])
    const resolved = (await eventsOf(id)).find(({ type }) => type.endsWith('.resolved'))
    expect(resolved).toHaveProperty('signature')
  })

  it('can be withdrawn, and is then not sent', async () => {
    const { proxy, page, context } = await openThroughProxy(phone)
    const id = await asked('show a permission', page, proxy)
    await goOffline({ proxy, page, context })
    await tapOnCard(allowOnce(page))
    await unsent(page).getByRole('button', { name: 'Withdraw' }).tap()
    await allowOnce(page).waitFor()
    await restore(proxy, page, context)
    await tapOnCard(card(page).getByRole('button', { name: 'Deny', exact: true }))
    await shows(page, /I leave it alone/)
    expect(await outcomesOf(id)).toEqual(['denied'])
  })

  it('can be withdrawn in another tab', async () => {
    const { proxy, page, context } = await openThroughProxy()
    const id = await asked('show a permission', page, proxy)
    const other = await context.newPage()
    await openSession(other, { url: proxy.url }, id)
    await card(other).waitFor()
    await goOffline({ proxy, page, context })
    await allowOnce(page).click()
    await unsent(other).getByText('Not sent yet: Allow once').waitFor()
    await unsent(other).getByRole('button', { name: 'Withdraw' }).click()
    for (const tab of [page, other]) await allowOnce(tab).waitFor()
    await restore(proxy, page, context)
    await card(other).getByRole('button', { name: 'Deny 3' }).click()
    await shows(page, /I leave it alone/)
    expect(await outcomesOf(id)).toEqual(['denied'])
  })

  it('is reported and changes nothing if the request was answered elsewhere meanwhile', async () => {
    const { proxy, page, context } = await openThroughProxy()
    const id = await asked('show a permission', page, proxy)
    await goOffline({ proxy, page, context })
    await allowOnce(page).click()
    await unsent(page).waitFor()
    const decide = { type: 'permission.decide', commandId: `cmd_${id}`, decision: 'deny' }
    await server.call(`/api/sessions/${id}/commands`, { ...decide, requestId: await requestOf(id) })
    await restore(proxy, page, context)
    const reported = page
      .getByRole('status')
      .getByText(/\(Allow once\) was not used: it was denied elsewhere\./)
    await reported.waitFor()
    await shows(page, /Denied by you/)
    await shows(page, /I leave it alone/)
    expect(await unsent(page).count()).toBe(0)
    expect(await outcomesOf(id)).toEqual(['denied'])
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await reported.waitFor({ state: 'detached' })
  })

  it('is neither sent automatically nor lost when its tab is closed', async () => {
    const { proxy, page, context } = await openThroughProxy()
    const id = await asked('show a permission', page, proxy)
    await goOffline({ proxy, page, context })
    await allowOnce(page).click()
    await unsent(page).waitFor()
    await page.close()

    const later = await context.newPage()
    await proxy.open()
    await context.setOffline(false)
    await later.goto(`${proxy.url}/`)
    await later.getByRole('status').getByText('“Allow once” was not sent').waitFor()
    await later.getByRole('status').getByRole('button', { name: 'Show' }).click()
    const entry = later.getByRole('main').getByRole('listitem').filter({ hasText: 'show a permission' })
    await entry.getByText('Not sent: Allow once').waitFor()
    expect(await outcomesOf(id)).toEqual([])
    expect(await seriousFindings(later)).toEqual([])
    await unsent(later).getByRole('button', { name: 'Send' }).click()
    await eventually(() => outcomesOf(id)).toEqual(['allowed'])
    await unsent(later).waitFor({ state: 'detached' })
    expect(await later.getByText('was not sent').count()).toBe(0)
  })

  it('that was never sent is discarded with a message if the request is no longer open', async () => {
    const { proxy, page, context } = await openThroughProxy()
    const id = await asked('show a permission', page, proxy)
    await goOffline({ proxy, page, context })
    await allowOnce(page).click()
    await unsent(page).waitFor()
    await page.close()
    await server.call(`/api/sessions/${id}/commands`, { type: 'turn.cancel', commandId: `cmd_${id}` })
    await eventually(() => outcomesOf(id)).toEqual(['cancelled'])

    const later = await context.newPage()
    await proxy.open()
    await context.setOffline(false)
    await later.goto(`${proxy.url}/`)
    await later
      .getByRole('status')
      .getByText(/was not sent, and the request is no longer open/)
      .waitFor()
    expect(await later.evaluate(() => Object.keys(localStorage).filter((key) => /answer/.test(key)))).toEqual(
      [],
    )
  })
})

describe('two tabs of one browser', () => {
  it('both answer: the first answer at the server counts, and the other tab shows that its answer was not used', async () => {
    const { page, context, consoleErrors } = await openTab()
    const other = await context.newPage()
    // Delays the requests of this tab, as on a slow network, and disables the page's timer for slow answers.
    await other.addInitScript(() => {
      const real = window.setTimeout
      Object.assign(window, {
        setTimeout: (work: () => void, ms?: number) => (ms === 700 ? 0 : real(work, ms)),
      })
      // The first tab gets the answer before the sending tab holds the lock of the answer, as on a busy machine.
      const reported = new Promise((resolve) => {
        new BroadcastChannel('answer-lock').addEventListener('message', resolve, { once: true })
      })
      const request = navigator.locks.request.bind(navigator.locks) as (...given: unknown[]) => unknown
      const late = async (...given: unknown[]) => {
        if (String(given[0]).startsWith('parley-answer-')) await reported
        return request(...given)
      }
      Object.assign(navigator.locks, { request: late })
    })
    // Sets a mark once this tab has checked whether the other tab still sends the answer, and has acted on
    // the result.
    await page.addInitScript(() => {
      const request = navigator.locks.request.bind(navigator.locks) as (
        ...given: unknown[]
      ) => Promise<unknown>
      const channel = new BroadcastChannel('answer-lock')
      const noted = (name: string, options: { ifAvailable?: boolean }, ...more: unknown[]) => {
        const answer = request(name, options, ...more)
        const looked = () => Object.assign(document.documentElement.dataset, { looked: 'yes' })
        if (!name.startsWith('parley-answer-')) return answer
        if (options.ifAvailable) void answer.then(() => setTimeout(looked))
        else void answer.then(() => channel.postMessage('the lock was free'))
        return answer
      }
      Object.assign(navigator.locks, { request: noted })
    })
    const held = Promise.withResolvers<void>()
    await other.routeWebSocket(/\/api\/ws/, (socket) => {
      const peer = socket.connectToServer()
      socket.onMessage(async (message) => {
        if (String(message).includes('permission.decide')) await held.promise
        peer.send(message)
      })
    })
    const id = await server.session('show a permission')
    for (const one of [page, other]) {
      await openSession(one, server, id)
      await allowOnce(one).waitFor()
    }
    await eventually(() => other.locator('html[data-cards=paused]').count()).toBe(0)
    await card(other)
      .getByRole('button', { name: /^Deny( \d)?$/ })
      .click()
    await eventually(() => allowOnce(other).isEnabled()).toBe(false)
    // The first tab has the other tab's answer, does not treat that tab as closed, and can still answer.
    await page.locator('html[data-looked=yes]').waitFor()
    expect(await allowOnce(page).isEnabled()).toBe(true)
    await allowOnce(page).click()
    await shows(page, /Thank you/)
    held.resolve()
    const reported = other.getByRole('status').getByText(/was not used: it was allowed elsewhere\./)
    await reported.waitFor()
    expect(await page.getByRole('status').getByText('was not used').count()).toBe(0)
    expect(consoleErrors).toEqual([])
  })
})

describe('an error message', () => {
  const withoutExpiry = (context: BrowserContext) =>
    context.addInitScript(() => {
      const real = window.setTimeout
      const patient = (work: () => void, ms?: number) => (ms === 9000 ? 0 : real(work, ms))
      Object.assign(window, { setTimeout: patient })
    })

  it.each([
    { name: 'a wide screen', options: {} },
    { name: 'a phone', options: phone },
  ])(
    'does not move the page, does not cover the answer, and is removed when the server is back, on $name',
    async ({ options }) => {
      const { proxy, page, context } = await openThroughProxy(options)
      await withoutExpiry(context)
      await asked('show a permission', page, proxy)
      await goOffline({ proxy, page, context })
      const header = page.getByRole('banner').or(page.locator('header')).first()
      const places = [header, page.getByTestId('timeline'), card(page), prompt(page)]
      const before = await settledBoxes(page, places)
      await page.getByRole('button', { name: 'Session menu' }).click()
      await page.getByRole('menuitem', { name: 'Pin' }).click()
      const words = page.getByRole('status').getByText('It may have stopped, or the network is down')
      await words.waitFor()
      expect(await Promise.all(places.map(boxOf))).toEqual(before)
      const said = await boxOf(words)
      expect(said.top).toBeGreaterThanOrEqual((await boxOf(header)).bottom)
      for (const place of [card(page), prompt(page)]) {
        expect((await boxOf(place)).top).toBeGreaterThanOrEqual(said.bottom)
      }
      await restore(proxy, page, context)
      await words.waitFor({ state: 'detached' })
    },
  )

  it('is removed when the next attempt succeeds', async () => {
    const { page, context } = await openTab({ load: false })
    await withoutExpiry(context)
    await page.goto(`${server.url}/new`)
    await chooseAgent(page, 'Demo')
    await page.getByLabel('Folder', { exact: true }).fill(server.project)
    await page.route(/\/api\/sessions$/, (route) =>
      route.request().method() === 'POST' ? route.abort() : route.continue(),
    )
    await page.getByRole('button', { name: 'Start' }).click()
    const words = page.getByRole('status').getByText('It may have stopped')
    await words.waitFor()
    await page.unroute(/\/api\/sessions$/)
    await page.getByRole('button', { name: 'Start' }).click()
    await page.waitForURL(/\/sessions\//)
    await eventually(() => words.count()).toBe(0)

    const id = await server.session('another')
    await page.goto(`${server.url}/sessions/${id}`)
    await page.route(/\/api\/sessions\/[^/]+$/, (route) =>
      route.request().method() === 'PATCH' ? route.abort() : route.continue(),
    )
    const pin = async () => {
      await page.getByRole('button', { name: 'Session menu' }).click()
      await page.getByRole('menuitem', { name: 'Pin' }).click()
    }
    await pin()
    const refused = page.getByRole('status').getByText('It may have stopped')
    await refused.waitFor()
    await page.unroute(/\/api\/sessions\/[^/]+$/)
    await pin()
    await eventually(() => refused.count()).toBe(0)
  })
})

describe('a permission that is edited', () => {
  it('is left by Escape: the card and its keys work again, and the turn continues', async () => {
    const id = await server.session('show a permission')
    const { page, consoleErrors } = await openSessionTab(id)
    await card(page).getByRole('button', { name: 'Edit' }).click()
    const field = card(page).getByRole('textbox', { name: 'command' })
    await field.fill('rm -rf dist')
    await field.press('Escape')
    await field.waitFor({ state: 'detached' })
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-testid'))
    expect(await focused()).toBe('request')
    await card(page).getByRole('button', { name: 'Edit' }).click()
    expect(await field.inputValue()).toBe('rm -rf dist')
    await field.press('Escape')

    await card(page).getByRole('button', { name: 'Deny with reason' }).click()
    await page.getByLabel('Why not, and what to do instead').press('Escape')
    expect(await focused()).toBe('request')
    expect((await eventsOf(id)).filter(({ type }) => type === 'turn.interrupted')).toEqual([])

    // A new card ignores keys for a moment.
    await eventually(async () => {
      await page.keyboard.press('1')
      return card(page).count()
    }).toBe(0)
    await shows(page, 'Allowed once by you')
    expect(await page.getByText('with changes').count()).toBe(0)
    expect(consoleErrors).toEqual([])
  })
})

describe('the inbox', () => {
  it('shows a plan as the agent wrote it: headings, lists, code', async () => {
    const { page, consoleErrors } = await openTab({ load: false })
    await server.session('make a plan')
    await page.goto(`${server.url}/inbox`)
    const entry = page.getByRole('main').getByRole('listitem').filter({ hasText: 'make a plan' })
    await eventually(() => entry.locator('ol > li').allTextContents()).toEqual([
      'Read the code',
      'Write a failing test',
      'Fix it',
    ])
    await entry.getByRole('button', { name: /Approve the plan/ }).click()
    await entry.waitFor({ state: 'detached' })
    expect(consoleErrors).toEqual([])
  })
})
