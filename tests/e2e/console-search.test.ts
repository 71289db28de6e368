import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { phone, seriousFindings } from './console-browser.ts'
import { boxOf, conversation, eventually } from './console-page.ts'
import { scriptedConsole } from './console-scripted.ts'

/** Tests finding a message of any session, and opening it. */
const lines = Array.from({ length: 60 }, (_, at) => (at === 12 ? 'a zebrafinch sang' : `line ${at}`))
const read = (title: string, output: string) => ({
  type: 'tool' as const,
  name: 'Read',
  kind: 'read' as const,
  title,
  input: { path: title },
  content: [{ type: 'text' as const, text: output }],
})
/** More events than the page loads at first. */
const talk = Array.from({ length: 400 }, (_, at) => ({ type: 'text' as const, text: `Remark number ${at}.` }))
const { openTab, openSessionTab, session, host } = scriptedConsole({
  'Watch the birds': [
    { type: 'text', text: 'I shall look.' },
    read('first.txt', 'nothing'),
    read('second.txt', lines.join('\n')),
    read('third.txt', 'nothing'),
    { type: 'text', text: 'The **capercaillie** was silent.' },
    ...talk,
  ],
  'Count the hens': [{ type: 'text', text: 'There are four hens.' }],
  'Ask for a name': [
    {
      type: 'question',
      questions: [
        {
          id: 'q1',
          header: 'Name',
          text: 'Which name?',
          multiple: false,
          freeText: false,
          options: [{ label: 'Wagtail' }, { label: 'Bunting' }],
        },
      ],
    },
    { type: 'text', text: 'So be it.' },
  ],
})

const field = (page: Page) => page.getByPlaceholder('Search sessions, messages and commands')
const found = (page: Page) => page.getByRole('dialog').getByRole('group', { name: 'In conversations' })
const inSidebar = (page: Page) => page.getByRole('region', { name: 'In conversations' })

/** Creates a session, and waits until the search finds this word in it. */
async function searchable(prompt: string, word: string): Promise<string> {
  const id = await session(prompt)
  await untilFound(id, word)
  return id
}

async function untilFound(id: string, q: string): Promise<number> {
  const find = async () => (await host().search({ q, session: id, limit: 1 })).hits[0]?.seq ?? 0
  await eventually(find).toBeGreaterThan(0)
  return find()
}

/** The marked match, if it is in sight. */
const matchInSight = (page: Page) =>
  page.evaluate(() => {
    const range = [...(CSS.highlights.get('find-now') ?? [])][0] as Range | undefined
    const frame = document.querySelector('[data-testid=timeline]')?.getBoundingClientRect()
    const words = range?.getBoundingClientRect()
    if (!range || !frame || !words || words.top < frame.top || words.bottom > frame.bottom) return undefined
    return range.startContainer.nodeValue
  })

describe('the palette', () => {
  it('opens a session at an output that is inside two collapsed rows and not loaded yet', async () => {
    const id = await searchable('Watch the birds', 'remark 399')
    const { page, consoleErrors } = await openTab()
    await page.keyboard.press('Control+k')
    await field(page).fill('zebrafi')
    await found(page).getByText('a zebrafinch sang').waitFor()
    await found(page).locator('mark', { hasText: 'zebrafi' }).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.press('Enter')
    await eventually(() => new URL(page.url()).pathname).toBe(`/sessions/${id}`)
    expect(new URL(page.url()).hash).toMatch(/^#e\d+$/)
    await eventually(() => matchInSight(page)).toContain('a zebrafinch sang')
    expect(consoleErrors).toEqual([])
  })

  it('shows the same message again when it is chosen again', async () => {
    const id = await searchable('Watch the birds', 'remark 399')
    const { page } = await openSessionTab(id)
    const choose = async () => {
      await page.keyboard.press('Control+k')
      await field(page).fill('capercaillie')
      await found(page).getByText('capercaillie').first().waitFor()
      await page.keyboard.press('Enter')
      await eventually(() => matchInSight(page)).toBe('capercaillie')
    }
    await choose()
    await page.getByRole('button', { name: 'Jump to latest' }).click()
    await eventually(() => matchInSight(page)).toBeUndefined()
    await choose()
  })

  it('restricts the search to an agent, by keyboard', async () => {
    await searchable('Count the hens', 'four hens')
    const { page } = await openTab()
    await page.keyboard.press('Control+k')
    await field(page).fill('four hens')
    await found(page).getByText('four hens').first().waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('menu').getByRole('menuitem', { name: 'scripted' }).waitFor()
    await page.keyboard.press('ArrowDown')
    const asked = page.waitForRequest(/api\/search\?.*agent=scripted/)
    await page.keyboard.press('Enter')
    await asked
    await found(page).getByText('four hens').first().waitFor()
    expect(await page.getByRole('dialog').isVisible()).toBe(true)
  })

  it('finds the answer of a person to a question, and shows the question', async () => {
    const id = await session('Ask for a name')
    await eventually(async () => (await host().state(id)).requests.length).toBe(1)
    const [request] = (await host().state(id)).requests
    await host().command(id, {
      type: 'question.answer',
      commandId: `answer-${id}`,
      requestId: request!.requestId,
      answers: { q1: ['Bunting'] },
    })
    const seq = await untilFound(id, 'bunting ')
    expect((await host().search({ q: 'bunting', session: id, in: ['prompt'], limit: 1 })).hits).toHaveLength(
      1,
    )
    const { page } = await openSessionTab(`${id}#e${seq}`)
    await conversation(page).locator('article.bg-mark-wash\\/70', { hasText: 'Bunting' }).waitFor()
  })
})

describe('the search field of the list', () => {
  it('shows messages below the sessions, and the arrow keys reach them', async () => {
    await searchable('Count the hens', 'four hens')
    const { page, consoleErrors } = await openTab()
    const search = page.getByRole('searchbox', { name: 'Search sessions' })
    await search.fill('four hens')
    await inSidebar(page).getByText('four hens').first().waitFor()
    await search.press('ArrowDown')
    await page.keyboard.press('Enter')
    await eventually(() => matchInSight(page)).toContain('four')
    expect(await seriousFindings(page)).toEqual([])
    expect(consoleErrors).toEqual([])
  })

  it('opens a message on a phone', async () => {
    await searchable('Watch the birds', 'remark 399')
    const { page } = await openTab(phone)
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('capercaillie')
    const hit = inSidebar(page).getByRole('link').first()
    await hit.waitFor()
    expect((await boxOf(hit)).height).toBeGreaterThanOrEqual(44)
    await hit.tap()
    await eventually(() => matchInSight(page)).toBe('capercaillie')
  })
})
