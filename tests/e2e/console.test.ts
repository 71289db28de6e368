import { existsSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ConsoleServer, listen, phone, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import {
  agentChip,
  allowOnce,
  card,
  chooseAgent,
  conversation,
  eventually,
  keptSeq,
  openSession,
  prompt,
  shows,
  tapOnCard,
} from './console-page.ts'

/** Tests the console in a real browser, on the real server, with the demo agent. */
const { server, openTab, openSessionTab, browser } = consoleFixture()

describe('the first five minutes', () => {
  it('lead from the printed link to an answered permission', async () => {
    const context = await browser().newContext()
    const page = await context.newPage()
    const consoleErrors: string[] = []
    listen(page, consoleErrors)
    await page.goto(server.link)
    await page.getByRole('heading', { name: 'What do you want to build?' }).waitFor()
    await chooseAgent(page, 'Demo')
    await page.getByLabel('Folder', { exact: true }).fill(server.project)
    await page.getByRole('combobox', { name: 'Prompt' }).fill('show a permission')
    await page.getByRole('combobox', { name: 'Prompt' }).press('Enter')
    await page.waitForURL(/\/sessions\//)
    await card(page).getByText('rm -rf build').waitFor()
    await card(page).getByText('It deletes files.').waitFor()
    await eventually(() => page.title()).toBe('(1) show a permission · Parley')
    await allowOnce(page).click()
    await shows(page, /Thank you/)
    await shows(page, 'Allowed once by you')
    await card(page).waitFor({ state: 'detached' })
    await eventually(() => page.title()).toBe('show a permission · Parley')
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('cost at most 170 KB of script before the first message', async () => {
    const { context } = await openTab({ load: false })
    const page = await context.newPage()
    const scripts = new Map<string, Promise<Buffer>>()
    page.on('response', (response) => {
      if (response.url().endsWith('.js')) scripts.set(response.url(), response.body())
    })
    await page.goto(server.url)
    await agentChip(page).waitFor()
    await page.getByRole('combobox', { name: 'Prompt' }).fill('ready to be sent')
    const bodies = await Promise.all(scripts.values())
    const bytes = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0)
    expect(scripts.size).toBeGreaterThan(1)
    expect(bytes).toBeLessThan(170_000)
    await context.close()
  })

  it('show the diff before and after it is approved', async () => {
    const { page, context, consoleErrors } = await openSessionTab(await server.session('edit a file'))
    await card(page).getByText("'Hello, ' + name").waitFor()
    await allowOnce(page).click()
    await shows(page, /takes a name now/)
    await shows(page, /1 file changed/)
    await page.getByRole('button', { name: /^Edit src\/greet.ts/ }).click()
    await conversation(page).getByText("export const greet = (name: string) => 'Hello, ' + name").waitFor()
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})

describe('requests', () => {
  it('are answered by keys, with an optional reason', async () => {
    const { page, context } = await openSessionTab(await server.session('show a permission'))
    await card(page).getByRole('button', { name: 'Deny with reason' }).click()
    await page.getByLabel('Why not, and what to do instead').fill('Keep it')
    await page.keyboard.press('Enter')
    await shows(page, 'Denied by you: Keep it')
    await shows(page, /I leave it alone/)
    await context.close()
  })

  it('are questions too: one option, several options, free text', async () => {
    const { page, context, consoleErrors } = await openSessionTab(await server.session('ask me'))
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
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('are plans too, approved and then ticked off beside the conversation', async () => {
    const { page, context } = await openSessionTab(await server.session('make a plan'))
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

  it('may come from subagents, whose work is nested under them', async () => {
    const { page, context } = await openSessionTab(await server.session('use a subagent'))
    await card(page).getByText('npx knip').waitFor()
    await conversation(page)
      .getByRole('article', { name: /export const/ })
      .waitFor()
    await allowOnce(page).click()
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
    const id = await server.session('run a command')
    const { page, context } = await openSessionTab(id)
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
    await other.getByText('No rules.').waitFor()
    await context.close()
  })

  it('are not shown if a rule from the settings denies them', async () => {
    const { page, context, consoleErrors } = await openTab({ load: false })
    await page.goto(`${server.url}/settings/permissions`)
    await page.getByRole('button', { name: 'Add a rule' }).click()
    await page.keyboard.press('Enter')
    await page.getByText('Enter a tool name, or * for every tool.').waitFor()
    await page.keyboard.type('Bash')
    await page.getByLabel(/^Pattern/).fill('npm *')
    const folder = page.getByLabel(/^Folder \(empty/)
    await folder.fill(`${server.project}/nowhere`)
    await folder.press('Enter')
    await page
      .getByRole('alert')
      .getByText(/nowhere cannot be used/)
      .waitFor()
    await folder.fill(server.project)
    expect(await seriousFindings(page)).toEqual([])
    await folder.press('Enter')
    const revoke = page.getByRole('button', { name: 'Revoke: Bash npm *' })
    await revoke.waitFor()
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Add a rule')
    await openSession(page, server, await server.session('run a command'))
    await shows(page, /Denied by a rule: A rule refuses Bash where command is npm \*/)
    expect(await card(page).count()).toBe(0)
    await openSession(page, server, await server.session('show a permission'))
    await card(page).getByRole('button', { name: 'Edit' }).click()
    const command = card(page).getByLabel('command')
    await command.fill('')
    await card(page).getByText('Enter a command').waitFor()
    await command.fill('npm publish')
    await command.press('Control+Enter')
    await page.getByText(/revoke the rule first/).waitFor()
    await card(page).waitFor()
    await page.goto(`${server.url}/settings/permissions`)
    await revoke.click()
    await page.getByText('No rules.').waitFor()
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})

describe('prompts', () => {
  it('are queued, and can be withdrawn and edited', async () => {
    const { page, context } = await openSessionTab(await server.session('hang'))
    await shows(page, /do nothing now/)
    await prompt(page).fill('think about it')
    await prompt(page).press('Enter')
    await prompt(page).fill('and a second one')
    await prompt(page).press('Enter')
    const queue = page.getByRole('list', { name: 'Queue' })
    await queue.getByText('and a second one').waitFor()
    await page.getByRole('button', { name: 'Move queued prompt 2 up' }).click()
    await eventually(() => queue.getByRole('listitem').allTextContents()).toEqual([
      'Nextand a second one',
      '2.think about it',
    ])
    await page.getByRole('button', { name: 'Edit queued prompt 1' }).click()
    await eventually(() => prompt(page).inputValue()).toBe('and a second one')
    await prompt(page).press('Escape')
    await shows(page, 'Stopped')
    await queue.getByRole('button', { name: 'Resume' }).click()
    await shows(page, /second way is better/)
    await context.close()
  })

  it('can steer the running turn', async () => {
    const { page, context } = await openSessionTab(await server.session('hang'))
    await shows(page, /do nothing now/)
    await prompt(page).fill('look here')
    await page.getByRole('button', { name: 'Steer' }).click()
    await shows(page, 'Sent into the running turn')
    await page.getByRole('button', { name: 'Stop (Esc)' }).click()
    await shows(page, 'Stopped')
    await context.close()
  })

  it('survive a reload while they are being written', async () => {
    const { page, context } = await openSessionTab(await server.session())
    await prompt(page).fill('half a tho')
    await page.reload()
    await eventually(() => prompt(page).inputValue()).toBe('half a tho')
    await context.close()
  })

  it('complete commands of the agent, and recall the last one', async () => {
    const { page, context } = await openSessionTab(await server.session('think'))
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

  it('take images', async () => {
    const { page, context } = await openSessionTab(await server.session())
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
    const { page, context } = await openSessionTab(await server.session())
    await prompt(page).fill('flood')
    await prompt(page).press('Enter')
    await shows(page, /flood flood/)
    await page.reload()
    await shows(page, 'That was 240,000 characters.')
    await context.close()
  })

  it('when the server is killed in the middle of a turn, including prompts that were sent meanwhile', async () => {
    const killable = new ConsoleServer()
    onTestFinished(() => killable.dispose())
    await killable.start()
    const { page, context } = await openTab({ load: false, serviceWorkers: 'allow' }, killable)
    const id = await killable.session('show a permission')
    await page.goto(`${killable.url}/sessions/${id}`)
    await card(page).waitFor()
    const { seq } = await killable.call<{ seq: number }>(`/api/sessions/${id}?tail=0`)
    await eventually(() => keptSeq(page, id)).toBe(seq)
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
    await killable.kill()
    await page.getByTestId('offline').first().waitFor()
    await prompt(page).fill('think afterwards')
    await prompt(page).press('Enter')
    await page.getByTestId('outgoing').waitFor()

    await page.reload()
    await shows(page, /would like to remove it/)
    await page.getByTestId('outgoing').waitFor()

    await killable.start()
    await page.getByTestId('offline').first().waitFor({ state: 'detached' })
    await allowOnce(page).click()
    await shows(page, /Thank you/)
    await shows(page, /second way is better/)
    const { blocks } = await killable.call<{ blocks: { type: string }[] }>(`/api/sessions/${id}?tail=500`)
    expect(blocks.filter(({ type }) => type === 'prompt')).toHaveLength(2)
    await context.close()
    await killable.dispose()
    expect(existsSync(killable.folder)).toBe(false)
  })
})

describe('a phone', () => {
  it('approves, answers and queues', async () => {
    const { page, context, consoleErrors } = await openTab(phone)
    await page.getByRole('link', { name: 'New session' }).tap()
    await chooseAgent(page, 'Demo')
    await page.getByLabel('Folder', { exact: true }).fill(server.project)
    await page.getByRole('combobox', { name: 'Prompt' }).fill('show a permission')
    await page.getByRole('button', { name: 'Start' }).tap()
    const allow = card(page).getByRole('button', { name: /Allow once/ })
    const deny = card(page).getByRole('button', { name: /^Deny$|^Deny \d$/ })
    const [one, other] = [await allow.boundingBox(), await deny.boundingBox()]
    expect(Math.min(one!.height, other!.height)).toBeGreaterThanOrEqual(44)
    expect(Math.hypot(one!.x - other!.x, one!.y - other!.y)).toBeGreaterThan(60)
    await prompt(page).fill('ask me')
    await page.getByRole('button', { name: 'Queue' }).tap()
    await page.getByRole('list', { name: 'Queue' }).getByText('ask me').waitFor()
    await tapOnCard(allow)
    await card(page).getByText('SQLite').tap()
    await card(page).getByText('Tests').tap()
    await tapOnCard(card(page).getByRole('button', { name: 'Answer' }))
    await shows(page, 'With that I could start.')
    await page.getByRole('link', { name: 'All sessions' }).tap()
    await page.getByRole('navigation', { name: 'Sessions' }).getByText('show a permission').first().waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})

describe('text of an agent', () => {
  it('is shown as text, whatever it contains', async () => {
    const { page, context, consoleErrors } = await openTab({ load: false })
    const hostile =
      '<img src=x onerror=alert(1)> <script>alert(2)</script> [x](javascript:alert(3)) <b>bold</b>'
    await openSession(page, server, await server.session(hostile))
    await shows(page, /You said/)
    await page.getByTestId('working').waitFor({ state: 'detached' })
    expect(await conversation(page).locator('script, img, b, iframe, a[href^="javascript"]').count()).toBe(0)
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})

describe('the console is accessible', () => {
  const looks = [
    { name: 'wide and light', options: { colorScheme: 'light' as const } },
    { name: 'on a phone and dark', options: { ...phone, colorScheme: 'dark' as const } },
  ]
  it.each(looks)('axe finds nothing serious, $name', async ({ options }) => {
    const { page, context } = await openTab({ ...options, load: false })
    const found: string[] = []
    const look = async (name: string) => {
      found.push(...(await seriousFindings(page)).map((finding) => `${name}: ${finding}`))
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
    await goTo(`/sessions/${await server.session('fail')}`, 'The model stopped')
    await look('failure')
    await goTo('/inbox', 'Inbox')
    await look('inbox')
    for (const [section, ready] of [
      ['agents', 'The coding agents on'],
      ['permissions', 'Deny overrides allow'],
      ['appearance', 'Theme'],
      ['keys', 'Anywhere'],
    ] as const) {
      await goTo(`/settings/${section}`, ready)
      await look(section)
    }
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search sessions, messages and commands').waitFor()
    await look('palette')
    await page.goto(server.url)
    await page
      .getByRole('treeitem', { level: 1 })
      .or(page.getByText('What do you want to build'))
      .first()
      .waitFor()
    await look('home')
    expect(found).toEqual([])
    await context.close()
  })
})
