import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { Script } from '../../packages/server/src/adapters/scripted/script.ts'
import { commit, phone, seriousFindings, type TabOptions } from './console-browser.ts'
import { card, conversation, eventually, openSession, panel } from './console-page.ts'
import { scriptedConsole } from './console-scripted.ts'

/** Tests the files of a session beside its conversation, and the paths that link to them. */
const scripts: Record<string, Script> = {
  'name a file': [{ type: 'text', text: 'See [the function](src/greet.ts#L3).' }],
  'name files': [
    { type: 'text', text: 'See [the function](src/greet.ts#L3), `src/deep/part.ts:2` and `npm test`.' },
    {
      type: 'tool',
      name: 'Grep',
      kind: 'search',
      title: 'Search greet',
      input: { pattern: 'greet' },
      content: [{ type: 'text', text: 'src/greet.ts:2:a line\n/etc/passwd:1:root' }],
    },
    {
      type: 'tool',
      name: 'Read',
      kind: 'read',
      title: 'Read src/greet.ts',
      input: {},
      locations: [{ path: 'src/greet.ts', line: 4 }],
    },
    {
      type: 'tool',
      name: 'Read',
      kind: 'read',
      title: 'Read /etc/hosts',
      input: {},
      locations: [{ path: '/etc/hosts' }],
    },
    {
      type: 'permission',
      name: 'Read',
      kind: 'read',
      title: 'Read src/deep/part.ts',
      input: {},
      reply: {},
    },
  ],
}
const { server, serverFor, openTab, session, folder: home } = scriptedConsole(scripts)

type Files = Readonly<Record<string, string | Buffer>>

function write(folder: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}

const greeting = "export const one = 1\n\nexport function greet() {\n  return 'Hello'\n}\n"

function repository(files: Files): string {
  const folder = mkdtempSync(join(home, 'app-'))
  write(folder, { 'src/greet.ts': greeting, 'src/deep/part.ts': 'first\nsecond\n', ...files })
  execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: folder })
  commit(folder, 'start')
  return folder
}

const files = (page: Page) => panel(page, 'Files')
const lines = (page: Page) => files(page).getByRole('group', { name: /^Lines of/ })
const entry = (page: Page, name: string | RegExp) => files(page).getByRole('treeitem', { name })
const current = (page: Page) => lines(page).locator('[data-current] code')
const hasFocus = (place: Locator) => place.evaluate((element) => element === document.activeElement)

async function openFiles(folder: string, options: TabOptions = {}, at = server) {
  const tab = await openTab({ ...options, load: false }, at)
  const id = await session('nothing', folder)
  await openSession(tab.page, server, id)
  await tab.page.getByRole('button', { name: 'Files', exact: true }).click()
  await files(tab.page).getByRole('tree').waitFor()
  return { ...tab, id, show: (query: string) => tab.page.goto(`${server.url}/sessions/${id}${query}`) }
}

describe('the tree', () => {
  it('opens folders and files by keyboard, and marks ignored files', async () => {
    const folder = repository({ '.gitignore': 'dist/\n', 'b.txt': 'two\n' })
    write(folder, { 'dist/x.js': 'built()' })
    symlinkSync('/etc', join(folder, 'outside'))
    const { page, consoleErrors } = await openFiles(folder)
    const tree = files(page).getByRole('tree')
    await eventually(() => hasFocus(tree)).toBe(true)
    await entry(page, 'dist ignored').waitFor()
    expect(await entry(page, 'outside').getAttribute('aria-disabled')).toBe('true')
    const active = () =>
      tree.evaluate(
        (element) =>
          document.getElementById(element.getAttribute('aria-activedescendant') ?? '')?.textContent,
      )
    await page.keyboard.press('s')
    await eventually(active).toBe('src')
    await page.keyboard.press('ArrowRight')
    await entry(page, 'deep').waitFor()
    await page.keyboard.press('ArrowRight')
    await eventually(active).toBe('deep')
    await page.keyboard.press('ArrowRight')
    await entry(page, 'part.ts').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.press('g')
    await page.keyboard.press('Enter')
    await lines(page).locator('.tok-keyword', { hasText: 'function' }).waitFor()
    await eventually(() => hasFocus(lines(page))).toBe(true)
    expect(page.url()).toMatch(/\?file=src%2Fgreet\.ts$/)
    expect(await seriousFindings(page)).toEqual([])

    await files(page).getByRole('button', { name: 'All files' }).click()
    await entry(page, 'greet.ts').waitFor()
    await files(page)
      .getByRole('combobox', { name: /Find a file/ })
      .fill('part')
    await files(page)
      .getByRole('option', { name: /part\.ts/ })
      .waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.press('Enter')
    await lines(page).getByText('second').waitFor()
    expect(consoleErrors).toEqual([])
  })

  it('says that the folder is gone', async () => {
    const folder = repository({})
    const { page } = await openFiles(folder)
    await entry(page, 'src').waitFor()
    rmSync(folder, { recursive: true })
    await files(page).getByText('The folder is gone').waitFor()
    write(folder, { 'back.txt': '' })
    await files(page).getByRole('button', { name: 'Try again' }).click()
    await entry(page, 'back.txt').waitFor()
    expect(await files(page).getByText('The folder is gone').count()).toBe(0)
  })
})

describe('a file', () => {
  it('is searched, and its lines have addresses', async () => {
    const { page, show, consoleErrors } = await openFiles(repository({}))
    await show('?file=src/greet.ts#L4')
    await eventually(() => current(page).textContent()).toBe("  return 'Hello'")
    await lines(page).focus()
    await page.keyboard.press('Control+f')
    await page.keyboard.type('EXPORT')
    await files(page).getByText('1 of 2').waitFor()
    await page.keyboard.press('Enter')
    await files(page).getByText('2 of 2').waitFor()
    const marked = () =>
      page.evaluate(() => [...(CSS.highlights.get('file-find-now') ?? [])].map((range) => String(range)))
    await eventually(marked).toEqual(['export'])
    await page.getByRole('textbox', { name: /Find in the file/ }).fill(':1')
    await page.keyboard.press('Enter')
    await eventually(() => current(page).textContent()).toBe('export const one = 1')
    expect(page.url()).toMatch(/#L1$/)
    await lines(page).getByRole('link', { name: 'Line 3' }).click()
    await eventually(() => current(page).textContent()).toMatch(/function greet/)
    expect(consoleErrors).toEqual([])
  })

  it('has remarks on its lines, which are sent as one prompt', async () => {
    const { page, show, consoleErrors } = await openFiles(repository({}))
    await show('?file=src/greet.ts#L3')
    await eventually(() => current(page).textContent()).toMatch(/function greet/)
    await lines(page)
      .getByRole('link', { name: 'Line 5' })
      .click({ modifiers: ['Shift'] })
    await files(page).getByText('Lines 3 to 5', { exact: false }).waitFor()
    expect(await current(page).count()).toBe(3)
    const form = files(page).getByRole('textbox', { name: 'Remark' })
    await form.fill('Say good morning')
    await form.press('Control+Enter')
    await eventually(() => hasFocus(lines(page))).toBe(true)
    await lines(page).getByRole('link', { name: 'Line 1' }).click()
    await lines(page).focus()
    await page.keyboard.press('Shift+ArrowDown')
    await files(page).getByText('Lines 1 to 2').waitFor()
    await page.keyboard.press('Shift+ArrowUp')
    await page.keyboard.press('c')
    await form.fill('Why one?')
    await form.press('Control+Enter')
    const written = files(page).getByRole('list', { name: 'Remarks on this file' })
    await eventually(() => written.getByRole('button').count()).toBe(2)
    expect(await seriousFindings(page)).toEqual([])
    await files(page).getByRole('button', { name: 'Send 2 remarks' }).click()
    await conversation(page).getByText('src/greet.ts:3-5').first().waitFor()
    await conversation(page).getByText('Why one?').first().waitFor()
    await written.waitFor({ state: 'detached' })
    expect(consoleErrors).toEqual([])
  })

  it('is updated when it changes, and remains when it is deleted', async () => {
    const folder = repository({})
    const { page, show } = await openFiles(folder)
    await Promise.all([page.waitForRequest(/\/changes$/), show('?file=src/greet.ts')])
    await lines(page).getByText('Hello').waitFor()
    write(folder, { 'src/greet.ts': 'another text\n' })
    await lines(page).getByText('another text').waitFor()
    await files(page).getByRole('combobox', { name: 'Version' }).selectOption('In the last commit')
    await lines(page).getByText('Hello').waitFor()
    await files(page).getByRole('combobox', { name: 'Version' }).selectOption('As it is now')
    await lines(page).getByText('another text').waitFor()
    rmSync(join(folder, 'src/greet.ts'))
    await files(page).getByText('No such file').waitFor()
    expect(await lines(page).getByText('another text').count()).toBe(1)
  })

  it('of megabytes renders only what is in view, and runs nothing', async () => {
    const turned = 'evil\u202egnp.<img src=x onerror=alert(1)>.md'
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="alert(1)"><script>alert(2)</script></svg>'
    const folder = repository({
      [turned]: '<script>alert(3)</script>\n\n[link](javascript:alert(4)) ![x](http://127.0.0.1:9/x.png)\n',
      [`${'long-'.repeat(48)}.txt`]: 'x\n',
      'logo.svg': svg,
      'page.html': '<script>alert(5)</script>',
      'minified.js': `var x = "${'y'.repeat(1_900_000)}"`,
      'big.ts': `${'export const a = 1 // \u202e\n'.repeat(70_000)}`,
      'data.bin': Buffer.from([0, 1, 2]),
    })
    const { page, show, consoleErrors } = await openFiles(folder)
    await entry(page, /^evil\\u\{202e\}gnp/).click()
    await files(page).getByText('<script>alert(3)</script>').waitFor()
    await show('?file=logo.svg')
    await files(page).getByText('9 × 9').waitFor()
    await files(page).getByRole('button', { name: 'Show the source' }).click()
    await lines(page).getByText('alert(2)').waitFor()
    const rows = lines(page).locator('.row')
    for (const [file, text] of [
      ['page.html', '<script>alert(5)'],
      ['minified.js', 'var x = "yyy'],
      ['big.ts#L69000', '1 // \\u{202e}'],
    ] as const) {
      await show(`?file=${file}`)
      await rows.filter({ hasText: text }).first().waitFor()
      expect(await rows.count()).toBeLessThan(150)
    }
    expect(await current(page).evaluate((row) => row.getBoundingClientRect().top)).toBeGreaterThan(0)
    await show('?file=data.bin')
    await files(page).getByText('A binary file of 3 bytes').waitFor()
    expect(consoleErrors).toEqual([])
  })

  it('that git does not list needs the scope terminal, and one outside is refused', async () => {
    const folder = repository({ '.gitignore': '.env\n' })
    write(folder, { '.env': 'SECRET=1\n' })
    const { show, page, id } = await openFiles(folder)
    await show('?file=.env')
    await lines(page).getByText('SECRET=1').waitFor()
    const viewer = await openTab({ load: false }, serverFor('viewer', 'Vera'))
    const look = (file: string) => viewer.page.goto(`${server.url}/sessions/${id}?file=${file}`)
    await look('.env')
    await files(viewer.page).getByText('git ignores this file.').waitFor()
    await files(viewer.page).getByText('needs the scope “terminal”').waitFor()
    await look('../../etc/passwd')
    await files(viewer.page).getByText('Outside the session’s folders').waitFor()
    await look('greet.ts')
    await files(viewer.page).getByRole('link', { name: 'src/greet.ts' }).click()
    await lines(viewer.page).getByText('Hello').waitFor()
    expect(await seriousFindings(viewer.page)).toEqual([])
  })
})

describe('a path', () => {
  it('links to its line in messages, calls, results and requests', async () => {
    const folder = repository({})
    const { page, consoleErrors } = await openTab({ load: false })
    await openSession(page, server, await session('name files', folder))
    await card(page).waitFor()
    const leadsTo = async (link: Locator, text: string) => {
      await link.click()
      await eventually(() => current(page).textContent()).toBe(text)
    }
    const talk = conversation(page)
    await leadsTo(talk.getByRole('link', { name: 'the function' }), 'export function greet() {')
    await leadsTo(talk.getByRole('link', { name: 'src/deep/part.ts:2' }), 'second')
    expect(await talk.getByRole('link', { name: 'npm test' }).count()).toBe(0)
    await talk.getByRole('button', { name: /3 steps/ }).click()
    await talk.getByRole('button', { name: /^Search greet/ }).click()
    const result = talk.locator('[data-result]')
    await leadsTo(result.getByRole('link', { name: 'src/greet.ts:2' }), '')
    expect(await result.getByRole('link', { name: /passwd/ }).count()).toBe(0)
    await leadsTo(talk.getByRole('link', { name: 'Show src/greet.ts, line 4' }), "  return 'Hello'")
    await talk.getByRole('link', { name: 'Show /etc/hosts' }).click()
    await files(page).getByText('Outside the session’s folders').waitFor()
    await card(page).getByRole('link', { name: 'src/deep/part.ts' }).click()
    await lines(page).getByText('first').waitFor()
    await page.getByRole('button', { name: 'Close panel' }).click()
    await files(page).waitFor({ state: 'detached' })
    await eventually(() => new URL(page.url()).search).toBe('')
    expect(consoleErrors).toEqual([])
  })

  it('opens a panel on a phone, which Back closes', async () => {
    const { page } = await openTab({ ...phone, load: false })
    const id = await session('name a file', repository({}))
    await openSession(page, server, id)
    // Waits for the end of the turn, which is the last row that is added.
    await page.getByRole('button', { name: 'Send' }).waitFor()
    const link = conversation(page).getByRole('link', { name: 'the function' })
    await link.tap()
    await lines(page).getByText('Hello').waitFor()
    await page.goBack()
    await files(page).waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('')
    await link.tap()
    await lines(page).getByText('Hello').waitFor()
    await page.getByRole('button', { name: 'Close panel' }).tap()
    await files(page).waitFor({ state: 'detached' })
    await eventually(() => new URL(page.url()).search).toBe('')

    await page.getByRole('button', { name: 'Session menu' }).tap()
    await page.getByRole('menuitem', { name: 'Files' }).tap()
    await entry(page, 'greet.ts').tap()
    await lines(page).getByText('Hello').waitFor()
    await page.goBack()
    await entry(page, 'greet.ts').waitFor()
    await page.goBack()
    await files(page).waitFor({ state: 'detached' })
    // A link with a file also shows the conversation.
    await page.goto(`${server.url}/sessions/${id}?file=src/greet.ts#L4`)
    await eventually(() => current(page).textContent()).toBe("  return 'Hello'")
    await page.goBack()
    await files(page).waitFor({ state: 'detached' })
    expect(page.url()).toMatch(new RegExp(`/sessions/${id}$`))
  })
})
