import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { Browser, Receiver } from '../../packages/server/src/alerts/receivers-under-test.ts'
import { phone, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'

/** The browser whose push subscription the tabs use, because headless Chromium has no push service. */
const subscribed = new Browser()
let service: Receiver
let hook: Receiver
let secret = ''

const { server, openTab } = consoleFixture(async ({ folder }) => {
  service = await Receiver.push([subscribed])
  hook = await Receiver.webhook(() => secret)
  mkdirSync(join(folder, 'data'), { recursive: true, mode: 0o700 })
  const alerts = { privateTargets: true, pushServices: [service.origin], waitMs: 300 }
  writeFileSync(join(folder, 'data', 'config.json'), JSON.stringify({ alerts }))
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await hook[Symbol.asyncDispose]()
})

const withWorker = { serviceWorkers: 'allow' } as const
const section = (page: Page, name: string) => page.getByRole('region', { name })

/**
 * Replaces the functions that headless Chromium lacks: a push service, and notifications that can be permitted. Counts
 * the page's requests for the permission.
 */
async function pretendPushService(page: Page): Promise<void> {
  const subscription = { endpoint: service.origin + subscribed.path, keys: subscribed.keys }
  await page.addInitScript((given) => {
    const kept = Object.assign(globalThis, { asked: 0, subscribedWith: '' })
    const has = (what: string) => sessionStorage.getItem(what) !== null
    const made = {
      endpoint: given.endpoint,
      toJSON: () => given,
      unsubscribe: async () => {
        sessionStorage.removeItem('subscribed')
        return true
      },
    } as unknown as PushSubscription
    PushManager.prototype.subscribe = async (options) => {
      kept.subscribedWith = String(options?.applicationServerKey)
      sessionStorage.setItem('subscribed', '1')
      return made
    }
    PushManager.prototype.getSubscription = async () => (has('subscribed') ? made : null)
    Object.defineProperty(Notification, 'permission', {
      get: () => (has('permitted') ? 'granted' : 'default'),
    })
    Notification.requestPermission = async () => {
      kept.asked++
      sessionStorage.setItem('permitted', '1')
      return 'granted'
    }
  }, subscription)
}

describe('the section Notifications', () => {
  it('turns pushes on with a press, tests them, and turns them off', async () => {
    const { page, consoleErrors } = await openTab({ ...withWorker, load: false })
    await pretendPushService(page)
    await page.goto(`${server.url}/settings/notifications`)
    const button = page.getByRole('button', { name: 'Turn on for this browser' })
    await button.waitFor()
    expect(await page.evaluate('asked')).toBe(0)
    await button.click()
    await page.getByRole('button', { name: 'Turn off on this browser' }).waitFor()
    expect(await page.evaluate('asked')).toBe(1)
    const { pushKey } = await server.call<{ pushKey: string }>('/api/targets')
    expect(await page.evaluate('subscribedWith')).toBe(pushKey)
    const list = section(page, 'Alert targets')
    await list.getByText('(this browser)').waitFor()
    await list.getByRole('button', { name: /^Test/ }).click()
    await list.getByText(/^Last sent/).waitFor()
    expect(service.received.at(-1)?.json.notification).toMatchObject({ title: 'A test alert of Parley' })
    await page.reload()
    await page.getByRole('button', { name: 'Turn off on this browser' }).click()
    await list.getByText('No targets yet.').waitFor()
    expect(consoleErrors).toEqual([])
  })

  it('adds a webhook, shows its secret once, and shows the last error', async () => {
    const { page, consoleErrors } = await openTab()
    await page.goto(`${server.url}/settings/notifications`)
    await page.getByRole('button', { name: 'Add a webhook or an ntfy topic' }).click()
    const form = page.getByRole('form', { name: 'New target' })
    await form.getByLabel('Name (optional)').fill('ops')
    await form.getByLabel('Address').fill('nowhere')
    await form.getByRole('button', { name: 'Add' }).click()
    await form.getByText('Enter an address').waitFor()
    await form.getByLabel('Address').fill(`${hook.origin}/in`)
    await form.getByRole('button', { name: 'Add' }).click()
    const shown = page.getByText(/^whsec_/)
    secret = (await shown.textContent()) ?? ''
    const row = section(page, 'Alert targets').getByRole('listitem')
    await row.getByRole('button', { name: 'Test ops' }).click()
    await row.getByText(/^Last sent/).waitFor()
    hook.replies = [{ status: 500 }]
    await row.getByRole('button', { name: 'Test ops' }).click()
    await row.getByText(/^Failed .*The target answered with status 500\.$/).waitFor()
    await row.getByLabel('Content').selectOption('full')
    await row.getByLabel('Alerts about').selectOption('requests')
    await row.getByRole('button', { name: 'Pause ops' }).click()
    await row.getByText('Paused.').waitFor()
    const { targets } = await server.call<{ targets: object[] }>('/api/targets')
    expect(targets).toMatchObject([
      { detail: 'full', alerts: ['request.waiting', 'request.resolved'], disabledAt: expect.any(Number) },
    ])
    expect(await seriousFindings(page)).toEqual([])
    await page.reload()
    await row.getByRole('button', { name: 'Resume ops' }).waitFor()
    expect(await page.getByText(/whsec_/).count()).toBe(0)
    await row.getByRole('button', { name: 'Remove ops' }).click()
    await page.getByText('No targets yet.').waitFor()
    expect(consoleErrors).toEqual([])
  })

  it('fits on a phone', async () => {
    const { page } = await openTab(phone)
    await page.goto(`${server.url}/settings/notifications`)
    await section(page, 'Alert targets').waitFor()
    const width = await page.evaluate('document.documentElement.scrollWidth')
    expect(width).toBe(phone.viewport.width)
    expect(await seriousFindings(page)).toEqual([])
  })
})

type Shown = {
  readonly title: string
  readonly body?: string
  readonly tag?: string
  readonly silent?: boolean
}

/** A tab, and functions that deliver pushes to its worker. Stores the notifications that the worker shows. */
async function openWithWorker() {
  const { page, context } = await openTab(withWorker)
  const cdp = await context.newCDPSession(page)
  const registered = new Promise<string>((resolve) => {
    cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: [own] }) => {
      if (own) resolve(own.registrationId)
    })
  })
  await cdp.send('ServiceWorker.enable')
  const registrationId = await registered
  await page.evaluate(async () => void (await navigator.serviceWorker.ready))
  const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent('serviceworker'))
  await worker.evaluate(() => {
    const scope = globalThis as unknown as { shown: object[]; registration: ServiceWorkerRegistration }
    scope.shown = []
    scope.registration.showNotification = async (title, options = {}) => {
      scope.shown = scope.shown.filter((one) => (one as { tag?: string }).tag !== options.tag)
      scope.shown.push({ title, ...options })
    }
  })
  return {
    page,
    push: (notification: object) =>
      cdp.send('ServiceWorker.deliverPushMessage', {
        origin: server.url,
        registrationId,
        data: JSON.stringify({ web_push: 8030, notification }),
      }),
    shown: () => worker.evaluate('shown') as Promise<Shown[]>,
    /** Clicks the first notification. Returns whether the worker has closed it. */
    click: () =>
      worker.evaluate(async () => {
        const { shown } = globalThis as unknown as { shown: { data: unknown }[] }
        let isClosed = false
        let done: Promise<unknown> | undefined
        const close = () => {
          isClosed = true
        }
        const event = Object.assign(new Event('notificationclick'), {
          notification: { ...shown[0], close },
          waitUntil: (work: Promise<unknown>) => {
            done = work
          },
        })
        dispatchEvent(event)
        await done
        return isClosed
      }),
  }
}

describe('the service worker', () => {
  it('shows a push, and replaces it when the request was answered elsewhere', async () => {
    const { push, shown } = await openWithWorker()
    const navigate = `${server.url}/sessions/ses_1`
    await push({ title: 'Tidy up needs your approval', body: 'Write', navigate, tag: 'a' })
    await expect
      .poll(shown)
      .toMatchObject([{ title: 'Tidy up needs your approval', body: 'Write', tag: 'a' }])
    await push({ title: 'Tidy up was answered by Ada', navigate, tag: 'a', silent: true })
    await expect
      .poll(async () => (await shown()).map(({ title, silent }) => [title, silent]))
      .toEqual([['Tidy up was answered by Ada', true]])
  })

  it.each([
    ['of this address', (url: string) => url],
    ['of another address of the same server', () => 'https://parley.example'],
  ])('opens the session of a notification with a link %s', async (_, origin) => {
    const { page, push, shown, click } = await openWithWorker()
    const id = await server.session('help')
    await push({ title: 'x', navigate: `${origin(server.url)}/sessions/${id}`, tag: 'b' })
    await expect.poll(shown).toHaveLength(1)
    expect(await click()).toBe(true)
    await page.waitForURL(`${server.url}/sessions/${id}`)
  })
})

it('the page can be installed: its manifest and icons are served, and no cookie or token is needed', async () => {
  const manifest = await (await fetch(`${server.url}/manifest.webmanifest`)).json()
  expect(manifest).toMatchObject({ display: 'standalone', start_url: './', scope: './' })
  for (const { src, sizes } of manifest.icons as { src: string; sizes: string }[]) {
    const icon = await fetch(`${server.url}/${src}`)
    expect(icon.headers.get('content-type')).toBe('image/png')
    const bytes = Buffer.from(await icon.arrayBuffer())
    expect(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`).toBe(sizes)
  }
  const { page, context, consoleErrors } = await openTab(withWorker)
  const cdp = await context.newCDPSession(page)
  const { errors, url } = await cdp.send('Page.getAppManifest')
  expect([errors, url]).toEqual([[], `${server.url}/manifest.webmanifest`])
  expect(consoleErrors).toEqual([])
})

it('an open page reports that it is visible, so a push waits until the page is hidden', async () => {
  const { page } = await openTab({ ...withWorker, load: false })
  await pretendPushService(page)
  await page.goto(`${server.url}/settings/notifications`)
  await page.getByRole('button', { name: 'Turn on for this browser' }).click()
  await page.getByRole('button', { name: 'Turn off on this browser' }).waitFor()
  const before = service.received.length
  const id = await server.session('show a permission')
  await page.goto(`${server.url}/sessions/${id}`)
  await page.getByRole('button', { name: 'Allow once' }).waitFor()
  await page.close()
  await service.count(before + 1)
  expect(JSON.stringify(service.received[before]?.json)).toContain(`/sessions/${id}`)
  expect(service.problems).toEqual([])
})
