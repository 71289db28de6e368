import type { SessionDetail } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import {
  allowOnce,
  card,
  conversation,
  eventually,
  keptSeq,
  openSession,
  prompt,
  recordNotifications,
  say,
  shows,
} from './console-page.ts'
import { consoleBehindProxy, goOffline } from './console-proxy.ts'

/** Tests the console on a failing network: its cache, its outbox and its notifications. */
const { server, openTab, openSessionTab, openThroughProxy } = consoleBehindProxy()

const submit = (id: string, text: string) =>
  server.call(`/api/sessions/${id}/commands`, { type: 'prompt.submit', commandId: `cmd_${text}`, text })

const stateOf = (id: string) => server.call<SessionDetail>(`/api/sessions/${id}?tail=500`)

/** Waits for the end of a turn and for the snapshot after it, which is the last event of the turn. */
async function ended(id: string, turns: number): Promise<void> {
  await eventually(async () => (await stateOf(id)).snapshots?.turns[turns - 1]?.after).toBeDefined()
}

describe("the browser's copy of a session", () => {
  it('is shown first, and only newer events are fetched', async () => {
    const id = await server.session('markdown')
    const { page, context, consoleErrors } = await openSessionTab(id)
    await shows(page, /And a quotation/)
    await ended(id, 1)
    await page.getByTestId('working').waitFor({ state: 'detached' })
    const { seq } = await stateOf(id)
    await eventually(() => keptSeq(page, id)).toBe(seq)
    await page.goto(`${server.url}/inbox`)
    await submit(id, 'think about it')
    await ended(id, 2)

    const asked: URL[] = []
    page.on('request', (request) => asked.push(new URL(request.url())))
    await openSession(page, server, id)
    await shows(page, /second way is better/)
    await shows(page, /And a quotation/)
    const reads = asked.filter(({ pathname }) => pathname === `/api/sessions/${id}/events`)
    const { seq: now } = await stateOf(id)
    expect(reads.map(({ searchParams }) => searchParams.get('limit'))).toEqual([`${now - seq}`])
    await eventually(() => conversation(page).getByText('And a quotation').count()).toBe(1)
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})

describe('offline and back', () => {
  it('loses nothing: reading continues, prompts wait, and events from meanwhile are shown', async () => {
    const { proxy, page, context } = await openThroughProxy()
    const id = await server.session('markdown')
    await openSession(page, { url: proxy.url }, id)
    await shows(page, /And a quotation/)
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
    await eventually(() => page.evaluate(async () => (await caches.keys()).length)).toBe(1)
    await ended(id, 1)
    const { seq } = await stateOf(id)
    await eventually(() => keptSeq(page, id)).toBe(seq)

    await goOffline({ proxy, page, context })
    await submit(id, 'think meanwhile')
    await eventually(async () => (await stateOf(id)).turns).toBe(2)
    await say(page, 'ask me')
    await page.getByTestId('outgoing').waitFor()
    await page.reload()
    await shows(page, /And a quotation/)
    await page.getByTestId('outgoing').waitFor()
    expect(
      await conversation(page)
        .getByText(/second way is better/)
        .count(),
    ).toBe(0)

    await proxy.open()
    await context.setOffline(false)
    await card(page).getByText('Where should the data live?').waitFor()
    await shows(page, /second way is better/)
    await page.getByTestId('offline').first().waitFor({ state: 'detached' })
    await eventually(() => page.getByTestId('outgoing').count()).toBe(0)
    const { blocks } = await stateOf(id)
    expect(blocks.filter(({ type }) => type === 'prompt')).toHaveLength(3)
    await context.close()
  })

  it('continues by itself when only the connection was cut in mid-turn', async () => {
    const { proxy, page, context } = await openThroughProxy()
    const id = await server.session()
    await openSession(page, { url: proxy.url }, id)
    await say(page, 'flood')
    await shows(page, /flood flood/)
    for (let cut = 0; cut < 3; cut++) proxy.cut()
    await shows(page, 'That was 240,000 characters.')
    await prompt(page).fill('still here')
    expect((await stateOf(id)).blocks.filter(({ type }) => type === 'prompt')).toHaveLength(1)
    await context.close()
  })
})

describe('notifications', () => {
  it('come once for all tabs, and never for old requests or the session in view', async () => {
    const old = await server.session('show a permission, long ago')
    await eventually(async () => (await waitingIn(old)).length).toBe(1)
    const { page, context, consoleErrors } = await openTab({ load: false, permissions: ['notifications'] })
    const shown = await recordNotifications(context)
    const titles = () => shown.map(({ title }) => title)
    await page.goto(`${server.url}/inbox`)
    const other = await context.newPage()
    await other.goto(`${server.url}/inbox`)
    for (const tab of [page, other]) await tab.getByText('long ago').first().waitFor()

    const asking = await server.session('show a permission, now')
    for (const tab of [page, other])
      await tab.getByRole('main').getByText('show a permission, now').first().waitFor()
    await eventually(titles).toEqual(['show a permission, now needs your answer'])

    await page.reload()
    await page.getByRole('main').getByText('show a permission, now').first().waitFor()
    await other.close()
    await page.bringToFront()
    await openSession(page, server, asking)
    await allowOnce(page).click()
    await shows(page, /Thank you/)
    await page.getByTestId('working').waitFor({ state: 'detached' })

    await page.goto(`${server.url}/inbox`)
    await page.getByText('long ago').first().waitFor()
    const ending = await server.session('think, and be done')
    await eventually(async () => (await stateOf(ending)).turns).toBe(1)
    await eventually(titles).toEqual(['show a permission, now needs your answer', 'think, and be done'])
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  const waitingIn = async (id: string) =>
    (await server.call<{ requests: { session: { id: string } }[] }>('/api/permissions')).requests.filter(
      ({ session }) => session.id === id,
    )
})
