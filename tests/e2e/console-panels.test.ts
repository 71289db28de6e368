import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page, Request } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { phone, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import {
  agentChip,
  allowOnce,
  boxOf,
  conversation,
  eventually,
  openSession,
  panel,
  prompt,
  say,
  shows,
} from './console-page.ts'

/** Tests the panels beside a conversation: its changes and its events. */
const { server, openTab, openSessionTab } = consoleFixture()

/** Creates a repository with a new name, because a retried test needs another repository. */
const repository = (name: string) => server.repository(`${name}-${++made}`)
let made = 0

async function sessionIn(folder: string): Promise<string> {
  return (await server.call<{ id: string }>('/api/sessions', { agent: 'demo', cwd: folder })).id
}

async function openChanges(page: Page, folder: string) {
  await openSession(page, server, await sessionIn(folder))
  await page.getByRole('button', { name: /^Changes/ }).click()
  return panel(page, 'Changes')
}

const isWatch = (request: Request) =>
  request.url().includes('/changes') && /event-stream/.test(request.headers().accept ?? '')

const greeting = (words: string) => `export const greet = () => '${words}'\n`

describe('changes', () => {
  it('appear by themselves when files are written, and are watched only while they are visible', async () => {
    const folder = repository('watched')
    const { page, consoleErrors } = await openTab({ load: false })
    const ended: Request[] = []
    page.on('requestfailed', (request) => isWatch(request) && ended.push(request))
    const [changes] = await Promise.all([openChanges(page, folder), page.waitForRequest(isWatch)])
    await changes.getByText('No changes since').waitFor()
    writeFileSync(join(folder, 'src/greet.ts'), greeting('Good morning'))
    await changes.getByRole('row', { name: /Good morning/ }).waitFor()
    // A change that does not change the number of lines, so the list of files alone does not show it.
    writeFileSync(join(folder, 'src/greet.ts'), greeting('Good evening'))
    await changes.getByRole('row', { name: /Good evening/ }).waitFor()
    writeFileSync(join(folder, 'src/new.ts'), greeting('Hello there'))
    await changes.getByRole('button', { name: 'A src/new.ts +1', expanded: true }).waitFor()
    rmSync(join(folder, 'src/new.ts'))
    await changes.getByText('1 file on main').waitFor()
    expect(ended).toEqual([])
    await page.getByRole('button', { name: 'Close panel' }).click()
    await eventually(() => ended.length).toBe(1)
    expect(consoleErrors).toEqual([])
  })

  it('are polled if they cannot be watched', async () => {
    const folder = repository('unwatched')
    const { page, consoleErrors } = await openTab({ load: false })
    await page.route(/\/changes(\?|$)/, (route) =>
      isWatch(route.request()) ? route.abort() : route.continue(),
    )
    const changes = await openChanges(page, folder)
    await changes.getByText('No changes since').waitFor()
    writeFileSync(join(folder, 'src/greet.ts'), greeting('Good night'))
    await changes.getByRole('row', { name: /Good night/ }).waitFor()
    expect(consoleErrors).toEqual([])
  })

  it('start with the list of files, which links to each file; generated files stay collapsed until they are opened', async () => {
    const folder = repository('listed')
    for (let at = 1; at <= 30; at++) writeFileSync(join(folder, `src/part-${at}.ts`), greeting(`Part ${at}`))
    const locked = Array.from({ length: 40 }, (_, at) => `  "locked-${at}": {}`).join(',\n')
    writeFileSync(join(folder, 'package-lock.json'), `{\n${locked}\n}\n`)
    const { page, consoleErrors } = await openTab({ load: false })
    const changes = await openChanges(page, folder)
    const list = changes.getByRole('navigation', { name: 'Files' })
    await list.getByRole('button').nth(30).waitFor()
    const lock = changes.getByRole('region', { name: 'package-lock.json' })
    await lock.getByRole('button', { name: /generated/, expanded: false }).waitFor()
    await list.getByRole('button', { name: /package-lock.json/ }).click()
    await lock.getByRole('row', { name: /locked-0/ }).waitFor()

    await list.getByRole('button', { name: /part-9.ts/ }).click()
    const last = changes.getByRole('region', { name: 'src/part-9.ts' })
    await last.getByRole('row', { name: /Part 9/ }).waitFor()
    const isShown = async () => {
      const [heading, whole] = [await boxOf(last.getByRole('button').first()), await boxOf(changes)]
      return heading.top > whole.top && heading.bottom < whole.bottom
    }
    await eventually(isShown).toBe(true)
    await eventually(() => page.evaluate(() => document.activeElement?.textContent)).toContain('part-9.ts')
    expect(await seriousFindings(page)).toEqual([])

    const button = changes.getByRole('button', { name: 'File list' })
    await button.click()
    await eventually(async () => (await boxOf(list)).top > (await boxOf(changes)).top).toBe(true)
    await button.click()
    await list.waitFor({ state: 'detached' })
    await page.reload()
    await changes.getByRole('region', { name: 'src/part-9.ts' }).waitFor({ state: 'attached' })
    expect(await list.count()).toBe(0)
    expect(consoleErrors).toEqual([])
  })

  it('are highlighted like code, in one column and in two, and the choice is remembered', async () => {
    const folder = repository('coloured')
    writeFileSync(join(folder, 'src/greet.ts'), greeting('Good morning'))
    const { page, consoleErrors } = await openTab({ load: false, viewport: { width: 1440, height: 900 } })
    const changes = await openChanges(page, folder)
    const added = changes.getByRole('row', { name: /Good morning/ })
    await added.locator('.tok-keyword', { hasText: 'export' }).waitFor()
    await changes.getByRole('row', { name: /Hello/ }).locator('.tok-keyword').first().waitFor()
    expect(await changes.getByRole('row').count()).toBe(2)

    await changes.getByRole('button', { name: 'Two columns' }).click()
    const both = changes.getByRole('row', { name: /Hello.*Good morning/ })
    await both.waitFor()
    await both.locator('.tok-keyword').nth(3).waitFor()
    const [before, after] = [both.getByText("'Hello'"), both.getByText("'Good morning'")]
    expect((await boxOf(before)).right).toBeLessThan((await boxOf(after)).left)
    expect(await seriousFindings(page)).toEqual([])
    await page.reload()
    await both.waitFor()
    await changes.getByRole('button', { name: 'One column' }).click()
    await eventually(() => changes.getByRole('row').count()).toBe(2)

    rmSync(join(folder, 'src/greet.ts'))
    const gone = changes.getByRole('region', { name: 'src/greet.ts' })
    await gone.getByRole('button', { expanded: false }).click()
    await gone.getByRole('row', { name: /Hello/ }).locator('.tok-keyword').first().waitFor()
    expect(consoleErrors).toEqual([])
  })

  it("open from a turn's list of changed files", async () => {
    const { page, consoleErrors } = await openTab({ load: false })
    const folder = repository('said')
    await openSession(page, server, await sessionIn(folder))
    await say(page, 'edit the greeting')
    await allowOnce(page).click()
    const said = conversation(page).getByRole('button', { name: /^1 file changed/ })
    await said.click()
    const changes = panel(page, 'Changes')
    // The demo agent only reports that it wrote the file.
    await changes.getByText('No changes in this turn').waitFor()
    await changes.getByText(/^What the turn changed from /).waitFor()
    const note = changes.getByRole('status').getByText('src/greet.ts')
    await note.waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await changes.getByText('Uncommitted', { exact: true }).click()

    for (let at = 1; at <= 30; at++) writeFileSync(join(folder, `src/a-${at}.ts`), greeting(`Part ${at}`))
    writeFileSync(join(folder, 'src/greet.ts'), greeting('Good morning'))
    await note.waitFor({ state: 'detached' })
    const header = page.getByRole('button', { name: /^Changes/ })
    await eventually(() => header.textContent()).toBe('Changes 31')
    // After the panel was closed and opened again, it shows no note about a file.
    await page.getByRole('button', { name: 'Close panel' }).click()
    rmSync(join(folder, 'src/greet.ts'))
    writeFileSync(join(folder, 'src/greet.ts'), greeting('Hello'))
    await page.getByRole('button', { name: /^Changes/ }).click()
    await changes.getByText('30 files on main').waitFor()
    expect(await note.count()).toBe(0)
    expect(consoleErrors).toEqual([])
  })

  it('show the number of a wrapped line at its start', async () => {
    const folder = repository('broken')
    writeFileSync(join(folder, 'src/greet.ts'), greeting('many words that do not fit '.repeat(20)))
    const { page } = await openTab({ load: false, viewport: { width: 1440, height: 900 } })
    const changes = await openChanges(page, folder)
    const row = changes.getByRole('row', { name: /many words/ })
    const tops = () =>
      row.evaluate((element) => {
        const cells = [...element.querySelectorAll('td')].slice(-3)
        return cells.map((cell) => {
          const words = document.createRange()
          words.selectNodeContents(cell)
          return Math.round(words.getClientRects()[0]?.top ?? 0)
        })
      })
    await changes.getByRole('button', { name: 'Two columns' }).click()
    await eventually(async () => (await boxOf(row)).height).toBeGreaterThan(60)
    const [number, sign, words] = await tops()
    expect([number, sign]).toEqual([words, words])
  })
})

describe('a panel', () => {
  it('is beside the conversation on a small screen too, and hides the session list', async () => {
    const { page, consoleErrors } = await openTab({ load: false, viewport: { width: 900, height: 700 } })
    const changes = await openChanges(page, repository('beside'))
    await changes.getByText('No changes since').waitFor()
    const [side, talk] = [await boxOf(changes), await boxOf(prompt(page))]
    expect(side.left).toBeGreaterThanOrEqual(talk.right)
    expect(side.right).toBeLessThanOrEqual(900)
    expect(talk.left).toBeGreaterThanOrEqual(0)
    expect(talk.width).toBeGreaterThan(300)
    expect(await page.getByRole('navigation', { name: 'Sessions' }).isVisible()).toBe(false)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(900)
    expect(await seriousFindings(page)).toEqual([])
    await page.reload()
    await changes.getByText('No changes since').waitFor()
    await page.getByRole('button', { name: 'Close panel' }).click()
    await page.getByRole('navigation', { name: 'Sessions' }).waitFor()
    expect(consoleErrors).toEqual([])
  })

  it('covers the screen of a phone', async () => {
    const { page } = await openTab({ ...phone, load: false })
    const changes = await openChanges(page, repository('covering'))
    await changes.getByText('No changes since').waitFor()
    expect(await boxOf(changes)).toMatchObject({ left: 0, width: 390 })
  })

  it('is closed by going back on a phone, which stays in the session', async () => {
    const { page, consoleErrors } = await openTab({ ...phone, load: false })
    const changes = await openChanges(page, repository('going-back'))
    await changes.getByText('No changes since').waitFor()
    const address = page.url()
    await page.goBack()
    await changes.waitFor({ state: 'detached' })
    expect(page.url()).toBe(address)
    await prompt(page).waitFor()
    // A panel that is closed by its button leaves no entry in the history.
    await page.getByRole('button', { name: /^Changes/ }).tap()
    await changes.waitFor()
    await page.getByRole('button', { name: 'Close panel' }).tap()
    await changes.waitFor({ state: 'detached' })
    await page.goBack()
    await eventually(() => page.url()).not.toBe(address)
    expect(consoleErrors).toEqual([])
  })

  it('keeps the field of a remark visible beside a long line', async () => {
    const { page } = await openTab({ load: false, viewport: { width: 1280, height: 800 } })
    const folder = repository('long-line')
    writeFileSync(join(folder, 'src/greet.ts'), `export const long = '${'x'.repeat(4000)}'\n`)
    const changes = await openChanges(page, folder)
    const line = changes.getByRole('row', { name: /export const long/ })
    await line.hover()
    await line.getByRole('button', { name: /^Remark on line 1/ }).click()
    const field = changes.getByRole('textbox', { name: 'Remark' })
    const within = async () => {
      const [box, frame] = [await boxOf(field), await boxOf(changes)]
      expect(box.left).toBeGreaterThanOrEqual(frame.left)
      expect(box.right).toBeLessThanOrEqual(frame.right)
    }
    await within()
    await changes.locator('.diff').evaluate((element) => element.scrollBy(2000, 0))
    await within()
  })

  it('shows the recorded events, the newest first, each in full', async () => {
    const { page, context, consoleErrors } = await openTab({ load: false })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const id = await server.session('help')
    await openSession(page, server, id)
    await page.getByTestId('working').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Session menu' }).click()
    await page.getByRole('menuitem', { name: 'Event log' }).click()
    const events = panel(page, 'Event log')
    type Recorded = { seq: number; type: string }
    const recorded = async () =>
      (await server.call<{ events: Recorded[] }>(`/api/sessions/${id}/events`)).events.toReversed()
    const listed = (all: Recorded[]) => all.map(({ seq, type }) => `${seq}${type}`)
    const rows = () =>
      events.locator('summary').evaluateAll((all) =>
        all.map((row) =>
          [...row.children]
            .slice(0, 2)
            .map((one) => one.textContent)
            .join(''),
        ),
      )
    // The snapshot after a turn is recorded some time after the turn.
    const isComplete = async () => `${await rows()}` === `${listed(await recorded())}`
    await eventually(isComplete).toBe(true)
    const first = events.getByRole('listitem').last()
    await first.locator('summary').click()
    await first.getByText('"type": "session.created"').waitFor()
    await events
      .getByRole('status')
      .getByText(/^Verified to event \d+\.$/)
      .waitFor()
    await first.getByRole('button', { name: 'Copy event' }).click()
    await eventually(() => page.evaluate(() => navigator.clipboard.readText())).toContain('session.created')
    expect(await seriousFindings(page)).toEqual([])

    const known = (await recorded()).length
    await say(page, 'help')
    await eventually(async () => (await recorded()).length).toBeGreaterThan(known)
    await page.getByTestId('working').waitFor({ state: 'detached' })
    await eventually(isComplete).toBe(true)
    expect(consoleErrors).toEqual([])
  })
})

describe('collapsed rows', () => {
  it('are all expanded at once, and the choice is remembered', async () => {
    const { page, consoleErrors } = await openSessionTab(await server.session('run a command'))
    await allowOnce(page).click()
    await page.getByTestId('working').waitFor({ state: 'detached' })
    const closed = conversation(page).locator('[aria-expanded=false]:not([aria-haspopup])')
    await closed.first().waitFor()
    const choose = async (name: string) => {
      await page.getByRole('button', { name: 'Session menu' }).click()
      await page.getByRole('menuitem', { name }).click()
    }
    await choose('Expand all')
    await eventually(() => closed.count()).toBe(0)
    expect(
      await conversation(page).locator('[aria-expanded=true]:not([aria-haspopup])').count(),
    ).toBeGreaterThan(0)
    await page.reload()
    await shows(page, 'run a command')
    await conversation(page).locator('[aria-expanded=true]:not([aria-haspopup])').first().waitFor()
    expect(await closed.count()).toBe(0)
    await choose('Collapse all')
    await closed.first().waitFor()
    expect(consoleErrors).toEqual([])
  })
})

describe('the page', () => {
  it('is fetched on every load, while assets with a hashed name are cached for good', async () => {
    const { page } = await openTab({ load: false })
    const kept = new Map<string, string>()
    page.on('response', (response) => {
      const { pathname } = new URL(response.url())
      kept.set(pathname, response.headers()['cache-control'] ?? '')
    })
    const fetched: string[] = []
    page.on('request', (request) => fetched.push(new URL(request.url()).pathname))
    await page.goto(`${server.url}/new`)
    await agentChip(page).waitFor()
    expect(kept.get('/new')).toBe('no-store')
    expect(kept.get('/first.js')).toBe('no-cache')
    const assets = [...kept].filter(([path]) => path.startsWith('/assets/'))
    expect(assets.length).toBeGreaterThan(2)
    for (const [path, caching] of assets)
      expect([path, caching]).toEqual([path, 'public, max-age=31536000, immutable'])
    for (const [path, caching] of kept) if (path.startsWith('/api/')) expect(caching).toBe('no-store')
    expect(fetched).toContain('/first.js')
  })
})
