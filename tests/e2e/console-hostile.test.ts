import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { Script } from '../../packages/server/src/adapters/scripted/script.ts'
import {
  allowOnce,
  boxOf,
  card,
  conversation,
  eventually,
  openSession,
  panel,
  prompt,
  shows,
} from './console-page.ts'
import { scriptedConsole } from './console-scripted.ts'

/** Tests agent output that tries to break the page: it is shown, has no effect, and the page still works. */
const turned = '\u202eevil\u2066'
const bell = '\u0007\u0000\u001b]0;title\u0007'
const lines = (count: number, words: string) => Array.from({ length: count }, (_, at) => `${words} ${at}`)
const deep = (depth: number): unknown => {
  let value: unknown = 'the innermost'
  for (let level = 0; level < depth; level++) value = { inside: [value] }
  return value
}
const nested = (depth: number): Script =>
  depth === 0
    ? [{ type: 'text', text: 'as deep as it goes' }]
    : [{ type: 'subagent', title: `level ${depth}`, steps: nested(depth - 1), summary: 'back' }]

const scripts: Record<string, Script> = {
  'ten megabytes': [
    { type: 'flood', deltas: 1000, size: 10_000, of: 'tool-output' },
    {
      type: 'tool',
      name: 'Bash',
      kind: 'execute',
      title: 'make noise',
      input: { command: 'make noise' },
      content: [{ type: 'terminal', output: 'a long line of it\n'.repeat(600_000), exitCode: 1 }],
      outcome: 'failed',
    },
    { type: 'text', text: 'That was all of it.' },
  ],
  'a long diff': [
    {
      type: 'permission',
      name: 'Edit',
      kind: 'edit',
      title: 'Edit big.txt',
      input: { path: 'big.txt' },
      diffs: [
        {
          path: 'big.txt',
          before: lines(25_000, 'old').join('\n'),
          after: lines(25_000, 'new').join('\n'),
        },
      ],
      content: [
        {
          type: 'diff',
          path: 'big.txt',
          before: lines(25_000, 'old').join('\n'),
          after: lines(25_000, 'new').join('\n'),
        },
      ],
      reply: { allowed: 'It is changed.' },
    },
  ],
  'a long command': [
    {
      type: 'permission',
      name: 'Bash',
      kind: 'execute',
      title: `echo ${turned}`,
      input: {
        command: `echo ${'x'.repeat(3_000_000)}\n${lines(50_000, 'echo').join('\n')}\nrm -rf the-end`,
      },
      reply: { allowed: 'It ran.' },
    },
  ],
  'two in a row': ['echo harmless', 'rm -rf everything'].map((command) => ({
    type: 'permission',
    name: 'Bash',
    kind: 'execute',
    title: command,
    input: { command },
    reply: { allowed: `So be it: ${command}` },
  })),
  'hidden letters': [
    {
      type: 'text',
      text: `Some \`co${turned}de\` and a block:\n\n\`\`\`js\nconst a = '${turned}'\n\`\`\`\n\n![x](https://pictures.invalid/x.png)`,
    },
    {
      type: 'tool',
      name: 'Bash',
      kind: 'execute',
      title: `cat ${turned} ${bell}`,
      input: { command: `cat ${turned} ${bell}` },
      content: [{ type: 'terminal', output: `out ${turned} ${bell} put`, exitCode: 1 }],
      outcome: 'failed',
    },
    {
      type: 'tool',
      name: 'Edit',
      kind: 'edit',
      title: 'Edit a.txt',
      content: [{ type: 'diff', path: `a${turned}.txt`, before: 'a', after: `b ${turned} ${bell}` }],
      outcome: 'failed',
    },
    {
      type: 'tool',
      name: 'Look',
      kind: 'read',
      title: 'Look at a picture',
      content: [
        { type: 'image', mimeType: 'image/png', data: 'bm90IGEgcGljdHVyZQ==' },
        { type: 'image', mimeType: 'image/svg+xml', data: 'PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+' },
        { type: 'image', mimeType: 'text/html', data: 'PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==' },
      ],
      outcome: 'failed',
    },
    { type: 'text', text: 'Nothing of that was done.' },
  ],
  'deep nesting': [
    {
      type: 'text',
      text: `${'> '.repeat(3000)}quoted\n\n${lines(400, '')
        .map((_, at) => `${'  '.repeat(at)}- item`)
        .join('\n')}`,
    },
    { type: 'text', text: `${'['.repeat(20_000)}${'*'.repeat(20_000)}${'`'.repeat(9_999)}` },
    ...nested(40),
    {
      type: 'permission',
      name: 'Odd',
      title: 'something odd',
      input: deep(400),
      reply: { allowed: 'Odd it was.' },
    },
  ],
}

const { openTab, openSessionTab, server, session, folder } = scriptedConsole(scripts)

/** Checks that keys, clicks and the palette still work. */
async function stillWorks(page: Page): Promise<void> {
  await prompt(page).fill('')
  await prompt(page).pressSequentially('still here')
  await eventually(() => prompt(page).inputValue()).toBe('still here')
  await page.keyboard.press('Control+k')
  await page.getByPlaceholder('Search sessions, messages and commands').waitFor()
  await page.keyboard.press('Escape')
  await page.getByPlaceholder('Search sessions, messages and commands').waitFor({ state: 'detached' })
}

/** The number of elements on the page, which is limited however large the content is. */
const elements = (page: Page) => page.evaluate(() => document.querySelectorAll('*').length)

describe('the page stays usable with unbounded content', () => {
  it('ten megabytes of output, in one line and in many', async () => {
    const { page, context, consoleErrors } = await openSessionTab(await session('ten megabytes'))
    await shows(page, 'That was all of it.')
    await shows(page, /a long line of it/)
    await page.getByRole('button', { name: /Flood/ }).first().click()
    await shows(page, /flood flood/)
    await conversation(page).getByRole('button', { name: 'Show more' }).first().click()
    await stillWorks(page)
    expect(await elements(page)).toBeLessThan(5_000)
    await page.keyboard.press('Control+f')
    await page.getByRole('textbox', { name: 'Find in this session' }).fill('a long line of it')
    await page.getByText(/^1 of \d/).waitFor()
    await page.reload()
    await shows(page, 'That was all of it.')
    await stillWorks(page)
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('a diff of 50,000 lines, in a request and in a result', async () => {
    const { page, context, consoleErrors } = await openSessionTab(await session('a long diff'))
    await card(page).getByText('+25000').waitFor()
    await stillWorks(page)
    await prompt(page).fill('')
    await allowOnce(page).click()
    await shows(page, 'It is changed.')
    await page
      .getByRole('button', { name: /Edit big.txt/ })
      .first()
      .click()
    await conversation(page).getByText('old 0', { exact: true }).waitFor()
    await conversation(page)
      .getByRole('button', { name: /more lines/ })
      .click()
    await stillWorks(page)
    expect(await elements(page)).toBeLessThan(40_000)
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('a command of several megabytes, which can be read whole', async () => {
    const { page, context, consoleErrors } = await openSessionTab(await session('a long command'))
    await card(page).getByText('rm -rf the-end').waitFor()
    await stillWorks(page)
    await prompt(page).fill('')
    await allowOnce(page).click()
    await shows(page, 'It ran.')
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('50,000 changed lines in the folder', async () => {
    const repository = mkdtempSync(join(folder, 'repository-'))
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
        cwd: repository,
      })
    writeFileSync(join(repository, 'big.txt'), lines(25_000, 'old').join('\n'))
    git('init', '-q', '-b', 'main')
    git('add', '-A')
    git('commit', '-q', '-m', 'start')
    writeFileSync(join(repository, 'big.txt'), lines(25_000, `new${turned}`).join('\n'))
    const { page, context, consoleErrors } = await openSessionTab(await session('nothing', repository))
    await page.getByRole('button', { name: /^Changes/ }).click()
    const file = panel(page, 'Changes').getByRole('button', { name: /big.txt/ })
    await file.waitFor()
    expect(await file.getAttribute('aria-expanded')).toBe('false')
    await file.click()
    await panel(page, 'Changes').getByText('old 0', { exact: true }).waitFor()
    await panel(page, 'Changes')
      .getByRole('button', { name: /more lines/ })
      .click()
    await stillWorks(page)
    expect(await panel(page, 'Changes').textContent()).not.toContain('\u202e')
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})

describe('the page is not fooled by deceptive content', () => {
  it('hidden characters are shown, an invalid image shows a message, and nothing is fetched', async () => {
    const { page, context, consoleErrors } = await openTab({ load: false })
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await openSession(page, server, await session('hidden letters'))
    await shows(page, 'Nothing of that was done.')
    await shows(page, /co\\u\{202e\}evil/)
    await eventually(() =>
      conversation(page)
        .getByText(/This picture cannot be shown/)
        .count(),
    ).toBe(3)
    const text = (await page.locator('body').textContent()) ?? ''
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test is about control characters
    expect(text.match(/[\u0000-\u0008\u001b\u202a-\u202e\u2066-\u2069]/g)).toBeNull()
    expect(await page.title()).toBe('hidden letters · Parley')
    expect(
      asked.filter((address) => !address.startsWith(server.url) && !address.startsWith('data:')),
    ).toEqual([])
    expect(await conversation(page).locator('script, iframe, object, svg [onload]').count()).toBe(0)
    await stillWorks(page)
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('a click that was under way when the next request appeared does not answer it', async () => {
    const { page } = await openSessionTab(await session('two in a row'))
    await card(page).getByText('echo harmless').waitFor()
    // Clicks the button the moment it appears, with a pointer that has not moved.
    await page.evaluate(() => {
      new MutationObserver((_, observer) => {
        const next = [...document.querySelectorAll('[data-testid=request]')].find((one) =>
          one.textContent.includes('rm -rf everything'),
        )
        const button = [...(next?.querySelectorAll('button') ?? [])].find((one) =>
          one.textContent.startsWith('Allow once'),
        )
        if (!button) return
        observer.disconnect()
        const click = { bubbles: true, cancelable: true, detail: 1, pointerType: 'mouse' }
        button.dispatchEvent(new PointerEvent('click', click))
        document.body.dataset.pressed = 'true'
      }).observe(document.body, { childList: true, subtree: true })
    })
    await allowOnce(page).click()
    await page.locator('body[data-pressed=true]').waitFor()
    await stillWorks(page)
    await card(page).getByText('rm -rf everything').waitFor()
    expect(await conversation(page).getByText('So be it: rm -rf everything').count()).toBe(0)
    await allowOnce(page).click()
    await shows(page, 'So be it: rm -rf everything')
  })

  it('the second click of a double click does not answer the next request', async () => {
    const { page, consoleErrors } = await openSessionTab(await session('two in a row'))
    await card(page).getByText('echo harmless').waitFor()
    const { left, top, width, height } = await boxOf(allowOnce(page))
    await page.mouse.move(left + width / 2, top + height / 2)
    await page.mouse.down()
    await page.mouse.up()
    await card(page).getByText('rm -rf everything').waitFor()
    await page.mouse.down({ clickCount: 2 })
    await page.mouse.up({ clickCount: 2 })
    await allowOnce(page).click({ trial: true })
    expect(await allowOnce(page).isEnabled()).toBe(true)
    expect(await conversation(page).getByText('So be it: rm').count()).toBe(0)
    await allowOnce(page).click()
    await shows(page, 'So be it: rm -rf everything')
    expect(consoleErrors).toEqual([])
  })

  it('deep nesting is flat on screen, and the request is still readable', async () => {
    const { page, context, consoleErrors } = await openSessionTab(await session('deep nesting'))
    await card(page)
      .getByText(/the innermost/)
      .waitFor()
    await stillWorks(page)
    await prompt(page).fill('')
    await allowOnce(page).click()
    await shows(page, 'Odd it was.')
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})
