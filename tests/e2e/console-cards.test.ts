import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { Script } from '../../packages/server/src/adapters/scripted/script.ts'
import { phone, seriousFindings } from './console-browser.ts'
import {
  agentChip,
  boxOf,
  card,
  conversation,
  eventually,
  openSession,
  prompt,
  shows,
} from './console-page.ts'
import { scriptedConsole } from './console-scripted.ts'

/** Tests the content of cards and marks, and the drafts of answers. */
const permission = (command: string): Script[number] => ({
  type: 'permission',
  name: 'Bash',
  kind: 'execute',
  title: command,
  input: { command },
  suggestions: [
    {
      decision: 'allow',
      scope: 'session',
      label: 'Allow npm',
      rule: { tool: 'Bash', match: { command: 'npm *' } },
    },
  ],
})
const options = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven']
const { server, openTab, openSessionTab, session, host } = scriptedConsole({
  'ask for a subagent': [{ type: 'subagent', title: 'Look around', steps: [permission('npm run inside')] }],
  'ask for a command': [permission('npm test')],
  'show a plan': [
    {
      type: 'plan-approval',
      plan: '# The plan\n\n1. First',
      reply: { allowed: 'Off I go.', denied: 'I wait.' },
    },
  ],
  'ask which': [
    {
      type: 'question',
      questions: [
        {
          id: 'q1',
          header: 'Layout',
          text: 'Which layout?',
          options: options.map((label) => ({ label, preview: `The layout of **${label}**` })),
          multiple: false,
          freeText: true,
        },
      ],
    },
  ],
  'ask two things': [
    {
      type: 'question',
      questions: ['Where', 'When'].map((header) => ({
        id: header,
        header,
        text: `${header} is it?`,
        options: [{ label: `${header} A` }, { label: `${header} B` }],
        multiple: false,
        freeText: true,
      })),
    },
  ],
  'ask to change a file': [
    {
      type: 'permission',
      name: 'Edit',
      kind: 'edit',
      title: 'poem.txt',
      input: { file_path: 'poem.txt', old_string: 'red', new_string: 'white\nas snow', line: 3 },
      diffs: [{ path: 'poem.txt', before: 'red', after: 'white\nas snow' }],
      reply: { allowed: 'It is changed.' },
    },
  ],
  'ask to read': [
    {
      type: 'permission',
      name: 'Read',
      kind: 'read',
      title: 'Read poem.txt',
      input: { file_path: 'poem.txt' },
      reply: { allowed: 'It is read.' },
    },
  ],
  'ask to change two files': [
    {
      type: 'permission',
      name: 'apply_patch',
      kind: 'edit',
      title: 'Change a.txt, b.txt',
      input: { patchText: 'x' },
      diffs: [
        { path: 'a.txt', patch: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A' },
        { path: 'b.txt', patch: '--- a/b.txt\n+++ b/b.txt\n@@ -1 +1,2 @@\n-b\n+B\n+C' },
      ],
    },
  ],
  'propose a plan without text': [
    { type: 'permission', name: 'ExitPlanMode', kind: 'plan', title: 'Propose the plan', input: {} },
  ],
  'fail to sign in': [
    {
      type: 'tool',
      name: 'Grep',
      kind: 'search',
      title: 'Search for "x"',
      input: { pattern: 'x', path: 'src' },
      outcome: 'failed',
      content: [{ type: 'text', text: 'No such folder.' }],
    },
    {
      type: 'end',
      outcome: 'failed',
      error: {
        code: 'agent_not_signed_in',
        message: 'Not signed in.',
        details: { command: 'claude auth login' },
      },
    },
  ],
  'stop at a limit': [
    { type: 'text', text: 'So far.' },
    { type: 'end', stopReason: 'max_tokens' },
  ],
  'say much': [{ type: 'text', text: `${'words and **more** words '.repeat(400)}\n\nThat was much.` }],
  'work on': [{ type: 'hang' }],
  'say it': [{ type: 'text', text: 'That was it.' }],
})

async function isVisible(page: Page, words: string): Promise<boolean> {
  return card(page)
    .getByText(words)
    .evaluate((element) => {
      const { left, top, width, height } = element.getBoundingClientRect()
      const shown = document.elementFromPoint(left + width / 2, top + height / 2)
      return shown !== null && (element.contains(shown) || shown.contains(element))
    })
}

describe('a card', () => {
  it('says that a subagent asks, in the session and in the inbox', async () => {
    const { page } = await openSessionTab(await session('ask for a subagent'))
    const words = 'A subagent of Scripted wants to run a command'
    const heading = card(page).getByRole('heading', { level: 3 })
    await eventually(() => heading.textContent()).toBe(words)
    await page.goto(`${server.url}/inbox`)
    await eventually(() => heading.textContent()).toBe(words)
  })

  it('says that a request is read-only', async () => {
    const { page } = await openSessionTab(await session('ask to read'))
    await card(page).getByText('Read-only', { exact: true }).waitFor()
    await openSession(page, server, await session('ask for a command'))
    await card(page).waitFor()
    expect(await card(page).getByText('Read-only', { exact: true }).count()).toBe(0)
  })

  it('shows the files of a patch separately, with the lines that each changes', async () => {
    const { page } = await openSessionTab(await session('ask to change two files'))
    await card(page).getByRole('heading', { name: 'Scripted wants to change 2 files' }).waitFor()
    const figures = card(page).locator('figure')
    await figures.nth(1).locator('tr.added').first().waitFor()
    expect(await figures.locator('figcaption').allTextContents()).toEqual(['a.txt+1 −1', 'b.txt+2 −1'])
  })

  it('of a plan without text shows no empty input', async () => {
    const { page } = await openSessionTab(await session('propose a plan without text'))
    await card(page).getByText('The plan is in the conversation above.').waitFor()
    expect(await card(page).getByText('{}').count()).toBe(0)
  })

  it('says what a lasting grant would cover, on a phone too', async () => {
    const { page } = await openSessionTab(await session('ask for a command'), phone)
    await card(page).getByText('“For this session” allows npm *').waitFor()
    expect(await isVisible(page, '“For this session” allows npm *')).toBe(true)
  })

  it('of a plan has one way to refuse, which asks for a reason; the outcome names a plan', async () => {
    const { page } = await openSessionTab(await session('show a plan'))
    await card(page).getByRole('heading', { name: 'The plan' }).waitFor()
    const buttons = await card(page).getByRole('button').allTextContents()
    expect(buttons.filter((name) => /Deny|Request changes/.test(name))).toHaveLength(1)
    await eventually(async () => {
      await page.keyboard.press('3')
      return page.getByLabel('Why not, and what to do instead').count()
    }).toBe(1)
    await page.getByLabel('Why not, and what to do instead').fill('Tests first')
    await page.keyboard.press('Enter')
    await shows(page, 'Not approved by you: Tests first')
    await shows(page, 'I wait.')

    await openSession(page, server, await session('show a plan'))
    await card(page)
      .getByRole('button', { name: /Approve the plan/ })
      .click()
    await shows(page, 'Approved by you')
    await shows(page, 'Off I go.')
  })

  it('shows the preview of an option as soon as it is chosen, however many options there are', async () => {
    const { page } = await openSessionTab(await session('ask which'))
    await card(page).getByLabel('one').check()
    await card(page).getByText('The layout of one').waitFor()
    await eventually(() => isVisible(page, 'The layout of one')).toBe(true)
    await card(page).getByLabel('nine').check()
    await card(page).getByText('The layout of nine').waitFor()
    await eventually(() => isVisible(page, 'The layout of nine')).toBe(true)
    expect(await card(page).getByTestId('preview').count()).toBe(1)
  })
})

describe('an answer draft', () => {
  it('to a question is kept after a visit to another session, and after a reload', async () => {
    const { page } = await openTab({ load: false })
    const [id, other] = [await session('ask which'), await session('say it')]
    await openSession(page, server, id)
    const words = card(page).getByLabel(/Your own answer/)
    await words.fill('A thirteenth')
    const list = page.getByRole('navigation', { name: 'Sessions' })
    await list.locator(`[data-session="${other}"] a`).click()
    await shows(page, 'That was it.')
    await list.locator(`[data-session="${id}"] a`).click()
    expect(await words.inputValue()).toBe('A thirteenth')
    await page.reload()
    await eventually(() => words.inputValue()).toBe('A thirteenth')
    await words.press('Enter')
    await shows(page, 'A thirteenth')
    await eventually(() => page.evaluate(() => localStorage.getItem('parley:answer-drafts'))).toBe('{}')
  })

  it('with a reason keeps the reason when the person goes back, and after a reload', async () => {
    const { page } = await openSessionTab(await session('ask for a command'))
    const open = () => card(page).getByRole('button', { name: 'Deny with reason' }).click()
    const reason = card(page).getByLabel('Why not, and what to do instead')
    await open()
    await reason.fill('Not today')
    await reason.press('Escape')
    await open()
    expect(await reason.inputValue()).toBe('Not today')
    await card(page).getByRole('button', { name: 'Back' }).click()
    await page.reload()
    await open()
    expect(await reason.inputValue()).toBe('Not today')
    await reason.press('Enter')
    await shows(page, 'Denied by you: Not today')
  })
})

/** The recorded resolution of the first request of a session. */
async function resolutionOf(id: string) {
  const { events } = await host().read(id, { after: 0, limit: 1000 })
  return events
    .map(({ json }) => JSON.parse(json) as { type: string; answers?: unknown; input?: unknown })
    .find(({ type }) => type.endsWith('.resolved'))
}

describe('an answer', () => {
  it('can let the agent decide the rest, if the question takes free text', async () => {
    const id = await session('ask two things')
    const { page, consoleErrors } = await openSessionTab(id)
    await card(page).getByLabel('Where B').check()
    expect(await seriousFindings(page)).toEqual([])
    await card(page).getByRole('button', { name: 'Let the agent decide' }).click()
    await card(page).waitFor({ state: 'detached' })
    await shows(page, 'You decide.')
    expect(await resolutionOf(id)).toMatchObject({ answers: { Where: 'Where B', When: 'You decide.' } })
    expect(consoleErrors).toEqual([])
  })

  it('to a permission edits its texts in fields and the rest as JSON, and shows all of it', async () => {
    const id = await session('ask to change a file')
    const { page, consoleErrors } = await openSessionTab(id)
    await card(page).getByRole('button', { name: 'Edit' }).click()
    const field = (name: string) => card(page).getByRole('textbox', { name, exact: true })
    await field('new_string').waitFor()
    expect(await card(page).getByRole('textbox').count()).toBe(4)
    await field('new_string').fill('black \u202eas coal')
    await card(page).getByText('black \\u{202e}as coal').waitFor()
    await field('new_string').fill('black\nas coal')
    const json = field('Other input, as JSON')
    await json.fill('{ "line": }')
    await card(page)
      .getByRole('alert')
      .filter({ hasText: /^This is not JSON: ./ })
      .waitFor()
    expect(await seriousFindings(page)).toEqual([])
    const allow = card(page).getByRole('button', { name: /Allow as edited/ })
    expect(await allow.isDisabled()).toBe(true)
    await json.fill('{ "line": 4 }')
    await allow.click()
    await shows(page, 'It is changed.')
    expect(await resolutionOf(id)).toMatchObject({
      input: { file_path: 'poem.txt', old_string: 'red', new_string: 'black\nas coal', line: 4 },
    })
    expect(consoleErrors).toEqual([])
  })
})

describe('a turn that failed', () => {
  it('names the error of a call, and offers a retry and the command to sign in', async () => {
    const { page } = await openSessionTab(await session('fail to sign in'))
    const call = conversation(page).getByRole('button', { name: /Search for "x"/ })
    await call.waitFor()
    expect(await call.textContent()).not.toContain('SearchSearch')
    if ((await call.getAttribute('aria-expanded')) === 'false') await call.click()
    await conversation(page).getByText('Error', { exact: true }).waitFor()
    await conversation(page).getByRole('button', { name: 'Copy command' }).waitFor()
    await conversation(page).getByRole('button', { name: 'Retry' }).click()
    await eventually(() => conversation(page).getByText('fail to sign in').count()).toBe(2)
    await eventually(() => conversation(page).getByRole('button', { name: 'Retry' }).count()).toBe(1)
  })

  it('at a limit of the model names the limit', async () => {
    const { page } = await openSessionTab(await session('stop at a limit'))
    await shows(page, /output limit \(max_tokens\)/)
  })
})

describe('a long paragraph', () => {
  it('has no line break in it', async () => {
    const { page } = await openSessionTab(await session('say much'))
    await shows(page, 'That was much.')
    const paragraphs = conversation(page).locator('.markdown > *')
    await eventually(() => paragraphs.evaluateAll((all) => all.map(({ tagName }) => tagName))).toEqual([
      'P',
      'P',
    ])
    const shown = await paragraphs.first().evaluate((element) => {
      const parts = [...element.querySelectorAll('*')]
      return {
        bold: parts.filter(({ tagName }) => tagName === 'STRONG').length,
        inline: parts.every((part) => getComputedStyle(part).display === 'inline'),
      }
    })
    expect(shown).toEqual({ bold: 400, inline: true })
  })
})

describe('the list', () => {
  it('distinguishes unread from working sessions without motion, until they are read', async () => {
    const { page } = await openTab({ reducedMotion: 'reduce' })
    await agentChip(page).waitFor()
    const row = (id: string) => page.locator(`[data-session="${id}"]`)
    const done = await session('say it')
    await row(done).getByText('unread').waitFor({ state: 'attached' })
    const working = await session('work on')
    await row(working).getByText('working', { exact: true }).waitFor({ state: 'attached' })
    const look = (id: string) =>
      row(id)
        .locator('.rounded-full')
        .first()
        .evaluate((mark) => {
          const { backgroundColor, borderTopWidth, animationIterationCount } = getComputedStyle(mark)
          return { backgroundColor, borderTopWidth, animationIterationCount }
        })
    const [quiet, busy] = [await look(done), await look(working)]
    expect(busy.backgroundColor).not.toBe(quiet.backgroundColor)
    expect([quiet.borderTopWidth, busy.borderTopWidth]).toEqual(['0px', '2px'])
    expect(busy.animationIterationCount).toBe('1')
    await row(done).getByRole('link').click()
    await conversation(page).waitFor()
    await page.goto(`${server.url}/inbox`)
    await row(done).waitFor()
    await row(done).getByText('unread').waitFor({ state: 'detached' })
  })
})

describe('on a phone', () => {
  it('a short card is directly above the composer', async () => {
    const { page } = await openSessionTab(await session('show a plan'), phone)
    await card(page).getByRole('heading', { name: 'The plan' }).waitFor()
    const composer = page.locator('main div.shadow-sm', { has: prompt(page) })
    const gap = async () => (await boxOf(composer)).top - (await boxOf(card(page))).bottom
    await eventually(gap).toBeLessThanOrEqual(10)
  })

  it('the header shows the whole name of the project beside everything else', async () => {
    const { page } = await openSessionTab(await session('say it'), phone)
    const header = page.locator('main header').first()
    const name = header.getByText(/^parley-scripted-/)
    const { width } = await boxOf(name)
    expect(await name.evaluate((element) => element.scrollWidth)).toBeLessThanOrEqual(Math.ceil(width))
    expect((await boxOf(name)).right).toBeLessThanOrEqual(390)
    await prompt(page).waitFor()
    await conversation(page).waitFor()
  })
})
