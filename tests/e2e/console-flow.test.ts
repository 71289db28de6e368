import { newId } from '@parley/protocol'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { seriousFindings } from './console-browser.ts'
import { boxOf, conversation, eventually, prompt, shows } from './console-page.ts'
import { scriptedConsole } from './console-scripted.ts'

/** Tests queueing, stopping, searching and answering in several tabs. */
const talk = (name: string) =>
  Array.from({ length: 30 }, (_, at) => ({ type: 'text' as const, text: `${name}, piece ${at}` }))
const queued = Array.from({ length: 12 }, (_, at) => `queued ${at + 1}`)
const { openTab, openSessionTab, session, host, gates, folder } = scriptedConsole(
  {
    start: [{ type: 'wait', gate: 'start' }],
    ...Object.fromEntries(queued.map((words) => [words, talk(words)])),
    steered: [
      { type: 'text', text: 'Before the steer.' },
      { type: 'wait', gate: 'steered' },
      { type: 'text', text: 'Said before it was read.' },
      { type: 'hang' },
    ],
  },
  (words) => (words.startsWith('later') ? words : undefined),
)

describe('prompts that were queued long before their turns', () => {
  const order = (page: Page) =>
    conversation(page)
      .locator('article')
      .allTextContents()
      .then((rows) => rows.map((row) => /queued \d+(, piece 0(?!\d))?/.exec(row)?.[0]).filter(Boolean))

  it('are shown above their turns when the session is opened again', async () => {
    const id = await session('start')
    for (const text of queued)
      await host().command(id, { type: 'prompt.submit', commandId: newId('cmd'), text })
    gates.open('start')
    await eventually(async () => (await host().state(id)).turns).toBe(13)
    const { page, consoleErrors } = await openSessionTab(id)
    await conversation(page).getByText('queued 12, piece 29').waitFor()
    await page.keyboard.press('Escape')
    // Scrolls up by screen pages, but not to the top, so that nothing older is loaded.
    const timeline = page.getByTestId('timeline')
    const seen: string[] = []
    for (let screens = 0; screens < 60 && !seen.includes('queued 12'); screens++) {
      seen.push(...((await order(page)) as string[]))
      await timeline.evaluate((element) => element.scrollBy(0, -element.clientHeight / 2))
    }
    expect(seen).toContain('queued 12')
    const first = conversation(page).getByText('queued 12, piece 0', { exact: true })
    await first.waitFor()
    const [prompt, answer] = await Promise.all([
      conversation(page).getByText('queued 12', { exact: true }).boundingBox(),
      first.boundingBox(),
    ])
    expect(prompt?.y).toBeLessThan(answer?.y ?? 0)
    expect(consoleErrors).toEqual([])
  })
})

describe('the palette', () => {
  const options = (page: Page) => page.getByRole('dialog').getByRole('option')
  const field = (page: Page) => page.getByPlaceholder('Search sessions, messages and commands')

  it('finds each of 210 sessions by title, folder and agent, and cancels outdated searches', async () => {
    const titles = Array.from({ length: 210 }, (_, at) => `Errand number ${String(at + 1).padStart(3, '0')}`)
    const { sessions: made } = await host().list({ limit: 1, q: 'Errand' })
    for (const title of made.length > 0 ? [] : titles)
      await host().create({ agent: 'scripted', cwd: folder, title })
    const { page, consoleErrors } = await openTab()
    await page.getByRole('link', { name: 'Errand number 210' }).first().waitFor()
    expect(await page.getByRole('link', { name: 'Errand number 001' }).count()).toBe(0)

    await page.keyboard.press('Control+k')
    await field(page).fill('errand 001')
    await eventually(() => options(page).allTextContents()).toEqual([
      expect.stringContaining('Errand number 001'),
    ])
    await field(page).fill(`scripted ${folder.split('/').at(-1)} number 002`)
    await eventually(() => options(page).allTextContents()).toEqual([
      expect.stringContaining('Errand number 002'),
    ])
    const { sessions } = await host().list({ limit: 1, q: 'errand 002' })
    await field(page).fill(sessions[0]?.id ?? '')
    await page.getByRole('dialog').getByText('No results').waitFor()
    await field(page).fill('scripted errand')
    await page.getByRole('status').getByText('More sessions match.').waitFor()
    await field(page).fill('no such errand')
    await page.getByRole('dialog').getByText('No results').waitFor()

    // A late reply to an earlier query must not change the list.
    const late = Promise.withResolvers<void>()
    await page.route(/sessions\?.*q=errand\+002/, async (route) => {
      await late.promise
      await route.continue().catch(() => undefined)
    })
    await Promise.all([page.waitForRequest(/q=errand\+002/), field(page).fill('errand 002')])
    await field(page).fill('errand 003')
    await eventually(() => options(page).allTextContents()).toEqual([
      expect.stringContaining('Errand number 003'),
    ])
    late.resolve()
    await field(page).press('Enter')
    await page.getByRole('heading', { name: 'Errand number 003' }).waitFor()
    expect(consoleErrors).toEqual([])
  })

  it('says when the server cannot be reached', async () => {
    const { page } = await openTab()
    await page.getByRole('link', { name: /^New session/ }).waitFor()
    await page.keyboard.press('Control+k')
    await field(page).waitFor()
    await page.route(/api\/sessions\?.*q=/, (route) => route.abort())
    await field(page).fill('errand 005')
    const note = page
      .getByRole('dialog')
      .getByRole('status')
      .filter({ hasText: /server/i })
    await eventually(() => note.count()).toBe(1)
  })
})

describe('a steered prompt', () => {
  const chip = (page: Page) => page.getByTestId('pending-steer')
  const steer = async (page: Page, words: string) => {
    await prompt(page).fill(words)
    await page.getByRole('button', { name: 'Steer', exact: true }).click()
    await chip(page).getByText(words).waitFor()
  }

  it('waits beside the composer until the agent takes it, then is shown where it took effect', async () => {
    const { page, consoleErrors } = await openSessionTab(await session('steered'))
    await shows(page, 'Before the steer.')
    await steer(page, 'later one')
    expect(await conversation(page).getByText('later one').count()).toBe(0)
    expect(await seriousFindings(page)).toEqual([])
    gates.open('steered')
    await shows(page, 'Said before it was read.')
    gates.open('later one')
    await chip(page).waitFor({ state: 'detached' })
    await shows(page, 'While I am at it: later one')
    const top = async (words: string) =>
      (await boxOf(conversation(page).getByText(words, { exact: true }))).top
    const inOrder = async () => {
      const [said, steered, answer] = [
        await top('Said before it was read.'),
        await top('later one'),
        await top('While I am at it: later one'),
      ]
      expect(said).toBeLessThan(steered)
      expect(steered).toBeLessThan(answer)
    }
    await inOrder()
    await page.reload()
    await shows(page, 'While I am at it: later one')
    await inOrder()
    expect(consoleErrors).toEqual([])
  })

  it('can be withdrawn and edited until the agent takes it up', async () => {
    const id = await session('steered')
    const { page, consoleErrors } = await openSessionTab(id)
    await shows(page, 'Before the steer.')
    await steer(page, 'later two')
    await page.getByRole('button', { name: 'Withdraw steered prompt' }).click()
    await chip(page).waitFor({ state: 'detached' })
    await steer(page, 'later three')
    await page.getByRole('button', { name: 'Edit steered prompt' }).click()
    await chip(page).waitFor({ state: 'detached' })
    await eventually(() => prompt(page).inputValue()).toBe('later three')
    gates.open('later two')
    gates.open('later three')
    expect((await host().state(id)).turn?.steers ?? []).toEqual([])
    expect(await conversation(page).getByText('While I am at it').count()).toBe(0)
    expect(consoleErrors).toEqual([])
  })
})
