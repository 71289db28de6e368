import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ConsoleServer, launchBrowser, listen, openTab, phone, seriousFindings } from './console-browser.ts'

/** The console in a real browser, on the real server, with the demo agent. */
const server = new ConsoleServer()
let browser: Browser

beforeAll(async () => {
  ConsoleServer.build()
  await server.start()
  browser = await launchBrowser()
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await server.dispose()
})

const card = (page: Page) => page.getByTestId('request')
const prompt = (page: Page) => page.getByRole('combobox', { name: 'Prompt' })
const conversation = (page: Page) => page.getByRole('feed', { name: 'Conversation' })
async function shows(page: Page, text: string | RegExp): Promise<void> {
  const words = conversation(page).getByText(text).first()
  await words.waitFor().catch(async () => {
    const shown = (await page.locator('body').textContent())?.slice(0, 3000)
    throw new Error(`The conversation never showed ${text}. The page says:\n${shown}`)
  })
  expect(await words.isVisible()).toBe(true)
}

/** Waits for a fact as long as a busy machine may take. */
const eventually = <Value>(look: () => Value) => expect.poll(look, { timeout: 20_000 })

async function openSession(page: Page, id: string): Promise<void> {
  await page.goto(`${server.url}/sessions/${id}`)
  await conversation(page).waitFor()
}

describe('the first five minutes', () => {
  it('lead from the printed link to an answered permission', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    const complaints: string[] = []
    listen(page, complaints)
    await page.goto(server.link)
    await page.getByRole('heading', { name: 'What should be done?' }).waitFor()
    const demo = page.getByRole('radio', { name: /^Demo/ })
    await demo.check()
    await page.getByLabel('Folder', { exact: true }).fill(server.project)
    await page.getByRole('textbox', { name: 'Prompt' }).fill('show a permission')
    await page.getByRole('textbox', { name: 'Prompt' }).press('Enter')
    await page.waitForURL(/\/sessions\//)
    await card(page).getByText('rm -rf build').waitFor()
    await card(page).getByText('It deletes files.').waitFor()
    await eventually(() => page.title()).toBe('(1) show a permission · Parley')
    await card(page)
      .getByRole('button', { name: /Allow once/ })
      .click()
    await shows(page, /Thank you/)
    await shows(page, 'Allowed once by you')
    await card(page).waitFor({ state: 'detached' })
    await eventually(() => page.title()).toBe('show a permission · Parley')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('cost at most 170 KB of script before the first message', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    const scripts = new Map<string, Promise<Buffer>>()
    page.on('response', (response) => {
      if (response.url().endsWith('.js')) scripts.set(response.url(), response.body())
    })
    await page.goto(await server.newLink())
    await page.getByRole('radio', { name: /^Demo/ }).waitFor()
    await page.getByRole('textbox', { name: 'Prompt' }).fill('ready to be sent')
    const bodies = await Promise.all(scripts.values())
    const bytes = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0)
    expect(scripts.size).toBeGreaterThan(1)
    expect(bytes).toBeLessThan(170 * 1024)
    await context.close()
  })

  it('show the diff before and after it is approved', async () => {
    const { page, context, complaints } = await openTab(browser, server)
    await openSession(page, await server.session('edit a file'))
    await card(page).getByText("'Hello, ' + name").waitFor()
    await card(page)
      .getByRole('button', { name: /Allow once/ })
      .click()
    await shows(page, /takes a name now/)
    await shows(page, /1 file changed/)
    await page.getByRole('button', { name: /^Edit src\/greet.ts/ }).click()
    await conversation(page).getByText("export const greet = (name: string) => 'Hello, ' + name").waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('requests', () => {
  it('are answered by keys, with a reason where one is given', async () => {
    const { page, context } = await openTab(browser, server)
    await openSession(page, await server.session('show a permission'))
    await card(page).getByRole('button', { name: 'Deny, and say why' }).click()
    await page.getByLabel('Why not, and what to do instead').fill('Keep it')
    await page.keyboard.press('Enter')
    await shows(page, 'Denied by you: Keep it')
    await shows(page, /I leave it alone/)
    await context.close()
  })

  it('are questions too: options, several, words of one’s own', async () => {
    const { page, context, complaints } = await openTab(browser, server)
    await openSession(page, await server.session('ask me'))
    await card(page).getByText('Where should the data live?').waitFor()
    const answer = card(page).getByRole('button', { name: 'Answer' })
    expect(await answer.isDisabled()).toBe(true)
    await card(page)
      .getByLabel(/Your own answer/)
      .fill('On paper')
    await card(page).getByLabel('Tests').check()
    await card(page).getByLabel('Linting').check()
    await answer.click()
    await shows(page, 'On paper')
    await shows(page, 'Tests, Linting')
    await shows(page, 'With that I could start.')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('are plans, approved and then ticked off beside the conversation', async () => {
    const { page, context } = await openTab(browser, server)
    await openSession(page, await server.session('make a plan'))
    await card(page).getByText('Write a failing test').waitFor()
    await card(page)
      .getByRole('button', { name: /Approve the plan/ })
      .click()
    await shows(page, /stops half way/)
    await page.getByRole('button', { name: 'Plan', exact: true }).click()
    const panel = page.getByRole('complementary', { name: 'Plan' })
    await panel.getByText('1 of 3 done').waitFor()
    await context.close()
  })

  it('come from subagents, whose work is nested under them', async () => {
    const { page, context } = await openTab(browser, server)
    await openSession(page, await server.session('use a subagent'))
    await card(page).getByText('npx knip').waitFor()
    await conversation(page)
      .getByRole('article', { name: /export const/ })
      .waitFor()
    await card(page)
      .getByRole('button', { name: /Allow once/ })
      .click()
    await shows(page, /back with its result/)
    await conversation(page)
      .getByRole('article', { name: /npx knip/ })
      .waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /Subagent Find unused exports/ }).click()
    await conversation(page)
      .getByRole('article', { name: /npx knip/ })
      .waitFor()
    await context.close()
  })

  it('are in the inbox, and an answer in one tab shows in the other', async () => {
    const { page, context } = await openTab(browser, server)
    const id = await server.session('run a command')
    await openSession(page, id)
    await card(page).waitFor()
    const other = await context.newPage()
    await other.goto(`${server.url}/inbox`)
    const entry = other.getByRole('main').getByRole('listitem').filter({ hasText: 'run a command' })
    await entry.getByText('npm test').waitFor()
    await entry.getByRole('button', { name: 'Allow for this session' }).click()
    await entry.waitFor({ state: 'detached' })
    await card(page).waitFor({ state: 'detached' })
    await shows(page, 'Allowed for this session by you')
    await other.goto(`${server.url}/settings/permissions`)
    await other.getByRole('button', { name: 'Revoke: Bash npm test' }).click()
    await other.getByText('There are none').waitFor()
    await context.close()
  })
})

describe('prompts', () => {
  it('wait their turn, can be taken back and written anew', async () => {
    const { page, context } = await openTab(browser, server)
    await openSession(page, await server.session('hang'))
    await shows(page, /do nothing now/)
    await prompt(page).fill('think about it')
    await prompt(page).press('Enter')
    await prompt(page).fill('and a second one')
    await prompt(page).press('Enter')
    const queue = page.getByRole('list', { name: 'Queue' })
    await queue.getByText('and a second one').waitFor()
    await page.getByRole('button', { name: 'Edit queued prompt 2' }).click()
    await eventually(() => prompt(page).inputValue()).toBe('and a second one')
    await prompt(page).press('Escape')
    await shows(page, 'Stopped')
    await shows(page, /second way is better/)
    await context.close()
  })

  it('can steer the turn that runs', async () => {
    const { page, context } = await openTab(browser, server)
    await openSession(page, await server.session('hang'))
    await shows(page, /do nothing now/)
    await prompt(page).fill('look here')
    await page.getByRole('button', { name: 'Steer' }).click()
    await shows(page, 'Into the running turn')
    await page.getByRole('button', { name: 'Stop (Esc)' }).click()
    await shows(page, 'Stopped')
    await context.close()
  })

  it('survive a reload while they are being written', async () => {
    const { page, context } = await openTab(browser, server)
    await openSession(page, await server.session())
    await prompt(page).fill('half a tho')
    await page.reload()
    await eventually(() => prompt(page).inputValue()).toBe('half a tho')
    await context.close()
  })

  it('complete commands of the agent, and bring the last one back', async () => {
    const { page, context } = await openTab(browser, server)
    await openSession(page, await server.session('think'))
    await shows(page, /second way is better/)
    await prompt(page).pressSequentially('/usa')
    await page.getByRole('option', { name: /usage/ }).waitFor()
    await prompt(page).press('Enter')
    await eventually(() => prompt(page).inputValue()).toBe('/usage ')
    await prompt(page).press('Enter')
    await eventually(() => page.getByTestId('meter').textContent()).toMatch(/24%[\s\S]*\$0\.12/)
    await prompt(page).press('ArrowUp')
    await eventually(() => prompt(page).inputValue()).toBe('/usage')
    await context.close()
  })

  it('take pictures along', async () => {
    const { page, context } = await openTab(browser, server)
    await openSession(page, await server.session())
    const bytes = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
      'base64',
    )
    await page
      .getByLabel('Files to attach')
      .setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: bytes })
    await page.getByRole('list', { name: 'Attached' }).getByText('dot.png').waitFor()
    await prompt(page).fill('think about this')
    await prompt(page).press('Enter')
    const picture = conversation(page).getByRole('img', { name: 'dot.png' })
    await eventually(() => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBe(1)
    await context.close()
  })
})

describe('nothing is lost', () => {
  it('by a reload in the middle of a turn', async () => {
    const { page, context } = await openTab(browser, server)
    await openSession(page, await server.session())
    await prompt(page).fill('flood')
    await prompt(page).press('Enter')
    await shows(page, /flood flood/)
    await page.reload()
    await shows(page, 'That was 240,000 characters.')
    await context.close()
  })

  it('by a server that is killed in the middle of a turn, nor what was sent meanwhile', async () => {
    const mortal = new ConsoleServer()
    onTestFinished(() => mortal.dispose())
    await mortal.start()
    const { page, context } = await openTab(browser, mortal)
    const id = await mortal.session('show a permission')
    await page.goto(`${mortal.url}/sessions/${id}`)
    await card(page).waitFor()
    await mortal.kill()
    await page.getByTestId('offline').first().waitFor()
    await prompt(page).fill('think afterwards')
    await prompt(page).press('Enter')
    await page.getByTestId('outgoing').waitFor()

    await page.reload()
    await shows(page, /would like to remove it/)
    await page.getByTestId('outgoing').waitFor()

    await mortal.start()
    await page.getByTestId('offline').first().waitFor({ state: 'detached' })
    await card(page)
      .getByRole('button', { name: /Allow once/ })
      .click()
    await shows(page, /Thank you/)
    await shows(page, /second way is better/)
    const { blocks } = await mortal.call<{ blocks: { type: string }[] }>(`/api/sessions/${id}?tail=500`)
    expect(blocks.filter(({ type }) => type === 'prompt')).toHaveLength(2)
    await context.close()
  })
})

describe('finding one’s way', () => {
  it('to a message by its link, and to words by looking for them', async () => {
    const { page, context } = await openTab(browser, server)
    const id = await server.session('run a command')
    await openSession(page, id)
    await card(page)
      .getByRole('button', { name: /Allow once/ })
      .click()
    await shows(page, /All 42 pass/)
    await page.keyboard.press('Control+f')
    await page.getByRole('textbox', { name: 'Find in this session' }).fill('42 tests passed')
    await page.getByText('1 of 1').waitFor()
    await conversation(page).getByText('42 tests passed').waitFor()
    await page.keyboard.press('Escape')
    const { blocks } = await server.call<{ blocks: { type: string; seq: number }[] }>(
      `/api/sessions/${id}?tail=500`,
    )
    const call = blocks.find(({ type }) => type === 'tool-call')
    await page.goto(`${server.url}/sessions/${id}#e${call?.seq}`)
    await page.locator('article.bg-mark-wash\\/70').waitFor()
    await context.close()
  })

  it('through the list: rename, pin, archive, delete and undo', async () => {
    const { page, context } = await openTab(browser, server)
    const id = await server.session()
    await page.goto(`${server.url}/sessions/${id}`)
    const list = page.getByRole('navigation', { name: 'Sessions' })
    const more = () => page.getByRole('button', { name: 'More for this session' }).click()
    await more()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByRole('textbox', { name: 'Title' }).fill('A name of its own')
    await page.keyboard.press('Enter')
    await list.getByText('A name of its own').waitFor()
    await more()
    await page.getByRole('menuitem', { name: 'Pin' }).click()
    await list.getByRole('region', { name: 'Pinned' }).getByText('A name of its own').waitFor()
    await more()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await list.getByText('A name of its own').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await list.getByText('A name of its own').waitFor()
    await list.getByLabel('Search sessions').fill('of its own')
    await eventually(() => list.getByRole('link').filter({ hasText: 'A name of its own' }).count()).toBe(1)
    await context.close()
  })

  it('by keyboard alone', async () => {
    const { page, context, complaints } = await openTab(browser, server)
    await page.getByRole('radio', { name: /^Demo/ }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Go to a session').waitFor()
    await page.keyboard.type('new session')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Prompt' }).waitFor()
    await eventually(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe(
      'Prompt',
    )
    await page.keyboard.type('show a permission')
    await page.keyboard.press('Tab')
    await page.keyboard.type(server.project)
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    await card(page).waitFor()
    await eventually(() => page.evaluate(() => document.activeElement?.getAttribute('data-testid'))).toBe(
      'request',
    )
    await eventually(async () => {
      await page.keyboard.press('1')
      return card(page).count()
    }).toBe(0)
    await shows(page, /Thank you/)
    await page.keyboard.press('Escape')
    await page.getByRole('region', { name: 'Conversation' }).focus()
    await page.keyboard.press('k')
    await eventually(() => page.evaluate(() => document.activeElement?.tagName)).toBe('ARTICLE')
    await page.keyboard.press('i')
    await page.getByRole('heading', { name: 'Waiting for you' }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('the folder', () => {
  it('is trusted by choice, completes its files, and shows what differs', async () => {
    const folder = join(server.folder, 'repository')
    mkdirSync(join(folder, 'src'), { recursive: true })
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { cwd: folder })
    writeFileSync(join(folder, 'src/greet.ts'), "export const greet = () => 'Hello'\n")
    git('init', '-q', '-b', 'main')
    git('add', '-A')
    git('commit', '-q', '-m', 'start')
    writeFileSync(join(folder, 'src/greet.ts'), "export const greet = (name: string) => 'Hello, ' + name\n")

    const { page, context, complaints } = await openTab(browser, server)
    await page.getByRole('radio', { name: /^Demo/ }).check()
    await page.getByLabel('Folder', { exact: true }).fill(folder)
    await page.getByLabel('I trust this folder’s own settings').check()
    await page.getByRole('button', { name: 'Start' }).click()
    await page.waitForURL(/\/sessions\//)
    await prompt(page).pressSequentially('look at @gre')
    await page.getByRole('option', { name: 'src/greet.ts' }).click()
    await eventually(() => prompt(page).inputValue()).toBe('look at @src/greet.ts ')
    await prompt(page).fill('')

    await page.getByRole('button', { name: 'Changes' }).click()
    const changes = page.getByRole('complementary', { name: 'Changes' })
    const line = changes.getByRole('row', { name: /name: string/ })
    await line.hover()
    await line.getByRole('button', { name: 'Remark on line 1 of src/greet.ts' }).click()
    await changes.getByRole('textbox', { name: 'Remark' }).fill('Could this be a template?')
    await changes.getByRole('button', { name: 'Keep' }).click()
    await changes.getByRole('button', { name: 'Send as one prompt' }).click()
    await shows(page, /src\/greet.ts:1/)
    expect(await seriousFindings(page)).toEqual([])

    await page.goto(`${server.url}/settings/permissions`)
    await page.getByRole('button', { name: /^Revoke trust of .*repository/ }).click()
    await page.getByText('Agents load only your own settings.').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('a terminal', () => {
  it('is a real shell in the folder, and is still there after a reload', async () => {
    const { page, context, complaints } = await openTab(browser, server)
    await openSession(page, await server.session())
    await page.getByRole('button', { name: 'Terminals' }).click()
    const panel = page.getByRole('complementary', { name: 'Terminals' })
    await panel.getByRole('button', { name: 'Open a terminal' }).click()
    const screen = panel.locator('.xterm-rows')
    await panel.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type('echo here-$((40+2)); pwd')
    await page.keyboard.press('Enter')
    await eventually(() => screen.textContent()).toContain('here-42')
    await eventually(() => screen.textContent()).toContain('/project')
    await page.reload()
    await eventually(() => screen.textContent()).toContain('here-42')
    await panel
      .getByRole('button', { name: /^Close / })
      .first()
      .waitFor()
    expect(await seriousFindings(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('a phone', () => {
  it('approves, answers and queues', async () => {
    const { page, context, complaints } = await openTab(browser, server, phone)
    await page.getByRole('link', { name: 'New session' }).tap()
    await page.getByRole('radio', { name: /^Demo/ }).check()
    await page.getByLabel('Folder', { exact: true }).fill(server.project)
    await page.getByRole('textbox', { name: 'Prompt' }).fill('show a permission')
    await page.getByRole('button', { name: 'Start' }).tap()
    const allow = card(page).getByRole('button', { name: /Allow once/ })
    const deny = card(page).getByRole('button', { name: /^Deny$|^Deny \d$/ })
    const [one, other] = [await allow.boundingBox(), await deny.boundingBox()]
    expect(Math.min(one!.height, other!.height)).toBeGreaterThanOrEqual(44)
    expect(Math.hypot(one!.x - other!.x, one!.y - other!.y)).toBeGreaterThan(60)
    await prompt(page).fill('ask me')
    await page.getByRole('button', { name: 'Queue' }).tap()
    await page.getByRole('list', { name: 'Queue' }).getByText('ask me').waitFor()
    await allow.tap()
    await card(page).getByText('SQLite').tap()
    await card(page).getByText('Tests').tap()
    await card(page).getByRole('button', { name: 'Answer' }).tap()
    await shows(page, 'With that I could start.')
    await page.getByRole('link', { name: 'All sessions' }).tap()
    await page.getByRole('navigation', { name: 'Sessions' }).getByText('show a permission').first().waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('what an agent writes', () => {
  it('stays words, whatever it is', async () => {
    const { page, context, complaints } = await openTab(browser, server)
    const hostile =
      '<img src=x onerror=alert(1)> <script>alert(2)</script> [x](javascript:alert(3)) <b>bold</b>'
    await openSession(page, await server.session(hostile))
    await shows(page, /You said/)
    await page.getByTestId('working').waitFor({ state: 'detached' })
    expect(await conversation(page).locator('script, img, b, iframe, a[href^="javascript"]').count()).toBe(0)
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('everyone can use it', () => {
  const looks = [
    { name: 'wide and light', options: { colorScheme: 'light' as const } },
    { name: 'on a phone and dark', options: { ...phone, colorScheme: 'dark' as const } },
  ]
  it.each(looks)('axe finds nothing serious, $name', async ({ options }) => {
    const { page, context } = await openTab(browser, server, options)
    const found: Record<string, string[]> = {}
    const look = async (name: string) => {
      const findings = await seriousFindings(page)
      if (findings.length > 0) found[name] = findings
    }
    const goTo = async (path: string, ready: string) => {
      await page.goto(server.url + path)
      await page.getByText(ready).filter({ visible: true }).first().waitFor()
    }
    await goTo('/new', 'Demo')
    await look('new session')
    const permission = await server.session('edit a file')
    await goTo(`/sessions/${permission}`, 'Allow once')
    await look('permission')
    await goTo(`/sessions/${await server.session('ask me')}`, 'Where should the data live?')
    await look('question')
    await goTo(`/sessions/${await server.session('markdown')}`, 'And a quotation')
    await look('markdown')
    await goTo(`/sessions/${await server.session('fail')}`, 'refused to go on')
    await look('failure')
    await goTo('/inbox', 'Waiting for you')
    await look('inbox')
    for (const [section, ready] of [
      ['agents', 'Found by looking'],
      ['permissions', 'A refusal beats'],
      ['appearance', 'Theme'],
      ['keys', 'Anywhere'],
    ] as const) {
      await goTo(`/settings/${section}`, ready)
      await look(section)
    }
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Go to a session').waitFor()
    await look('palette')
    await page.goto(server.url)
    await page
      .getByRole('heading', { name: 'Today' })
      .or(page.getByText('What should be done'))
      .first()
      .waitFor()
    await look('home')
    expect(found).toEqual({})
    await context.close()
  })
})
