import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { phone } from './console-browser.ts'
import { conversation, eventually, openSession, prompt, shows } from './console-page.ts'
import { scriptedConsole } from './console-scripted.ts'

/** Tests finding and reading parts of a conversation. */
const paragraphs = Array.from({ length: 60 }, (_, at) => `Paragraph ${at} says nothing in particular.`)
const output = Array.from({ length: 300 }, (_, at) => (at === 20 ? 'here is the heron' : `line ${at}`))
const { openTab, server, session } = scriptedConsole({
  'three in one': [
    {
      type: 'text',
      text: [...paragraphs.with(3, 'An otter.').with(30, 'Another otter.').with(58, 'The last otter.')].join(
        '\n\n',
      ),
    },
    { type: 'text', text: 'That was it.' },
  ],
  'a long output': [
    {
      type: 'tool',
      name: 'Bash',
      kind: 'execute',
      title: 'for f in a b c; do',
      input: { command: 'for f in a b c; do\n  cat "$f"\ndone' },
      content: [{ type: 'terminal', output: output.join('\n'), exitCode: 0 }],
    },
    { type: 'text', text: 'That was it.' },
  ],
  'search in vain': [
    {
      type: 'tool',
      name: 'Grep',
      kind: 'search',
      title: 'herbs',
      input: { pattern: 'herbs', path: '/none' },
      outcome: 'failed',
      content: [{ type: 'text', text: 'There is no folder /none.' }],
    },
  ],
  'a crash': [
    { type: 'text', text: 'I shall fall.' },
    { type: 'crash', exitCode: 139, stderrTail: 'Segmentation fault (core dumped)' },
  ],
  'a short memory': [
    { type: 'compaction', before: 160_000, after: 12_000, summary: 'You spoke of **otters**.' },
    { type: 'text', text: 'That was it.' },
  ],
  'a table': [
    {
      type: 'text',
      text: `| Package | Current | Wanted | Where it is used |\n|---|---|---|---|\n| something | 3.14.26 | 4.0.0-beta.12 | everywhere-in-the-console |`,
    },
  ],
})

async function open(page: Page, words: string): Promise<void> {
  await openSession(page, server, await session(words))
  await page.getByTestId('working').waitFor({ state: 'detached' })
}

const field = (page: Page) => page.getByRole('textbox', { name: 'Find in this session' })

/** The text of the current match, if it is visible in the conversation. */
const visibleMatch = (page: Page) =>
  page.evaluate(() => {
    const range = [...(CSS.highlights.get('find-now') ?? [])][0] as Range | undefined
    const frame = document.querySelector('[data-testid=timeline]')?.getBoundingClientRect()
    const words = range?.getBoundingClientRect()
    if (!range || !frame || !words || words.top < frame.top || words.bottom > frame.bottom) return undefined
    return range.startContainer.nodeValue
  })

describe('find', () => {
  it('moves from match to match within an answer, and returns the focus', async () => {
    const { page } = await openTab({ load: false, viewport: { width: 1280, height: 600 } })
    await open(page, 'three in one')
    await prompt(page).focus()
    await page.keyboard.press('Control+f')
    await field(page).fill('OTTER')
    await page.getByText('1 of 3').waitFor()
    await eventually(() => visibleMatch(page)).toBe('An otter.')
    await page.keyboard.press('Enter')
    await eventually(() => visibleMatch(page)).toBe('Another otter.')
    await page.keyboard.press('Enter')
    await page.getByText('3 of 3').waitFor()
    await eventually(() => visibleMatch(page)).toBe('The last otter.')
    await page.keyboard.press('Shift+Enter')
    await eventually(() => visibleMatch(page)).toBe('Another otter.')
    await page.keyboard.press('Escape')
    await eventually(() => prompt(page).evaluate((one) => one === document.activeElement)).toBe(true)
  })

  it('shows a match above the visible part of an output', async () => {
    const { page } = await openTab({ load: false, viewport: { width: 1280, height: 600 } })
    await open(page, 'a long output')
    await page.keyboard.press('Control+f')
    await field(page).fill('heron')
    await page.getByText('1 of 1').waitFor()
    await eventually(() => visibleMatch(page)).toContain('here is the heron')
  })
})

describe('a row that is opened', () => {
  it('shows the whole command and how it ended', async () => {
    const { page } = await openTab({ load: false })
    await open(page, 'a long output')
    await conversation(page)
      .getByRole('button', { name: /for f in a b c/ })
      .click()
    await conversation(page).locator('pre', { hasText: 'cat "$f"' }).waitFor()
    await shows(page, 'Exit code 0')
  })
})

describe('an event of the agent', () => {
  it('shows why the agent crashed', async () => {
    const { page } = await openTab({ load: false })
    await open(page, 'a crash')
    await shows(page, 'exit code 139')
    await shows(page, 'Segmentation fault (core dumped)')
  })

  it('shows that the conversation was compacted', async () => {
    const { page } = await openTab({ load: false })
    await open(page, 'a short memory')
    await shows(page, 'The conversation was compacted from 160k to 12k tokens.')
    await conversation(page).getByText('Show the summary').click()
    await conversation(page).locator('strong', { hasText: 'otters' }).waitFor()
  })
})

describe('a phone', () => {
  it('scrolls a table instead of breaking its words', async () => {
    const { page } = await openTab({ ...phone, load: false })
    await open(page, 'a table')
    const cell = conversation(page).getByRole('cell', { name: '3.14.26' })
    await cell.waitFor()
    const lines = await cell.evaluate((one) => {
      const range = document.createRange()
      range.selectNodeContents(one)
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size
    })
    expect(lines).toBe(1)
  })

  it('offers buttons to copy a message, and a link to it, when it is tapped', async () => {
    const { page } = await openTab({ ...phone, load: false })
    await open(page, 'three in one')
    const copy = page.getByRole('button', { name: 'Copy link' })
    expect(await copy.count()).toBe(0)
    await conversation(page).getByText('That was it.').tap()
    await copy.waitFor()
    const box = await copy.boundingBox()
    expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(44)
  })
})

it('the input of a failed step is expanded by a triangle and copied by a button of its own', async () => {
  const { page } = await openTab({ load: false })
  await open(page, 'search in vain')
  const input = conversation(page).locator('summary', { hasText: 'Input' })
  // Only a summary that is a list item has a triangle.
  expect(await input.evaluate((element) => getComputedStyle(element).display)).toBe('list-item')
  await input.click()
  for (const name of ['Copy input', 'Copy error'])
    await conversation(page).getByRole('button', { name, exact: true }).waitFor()
})
