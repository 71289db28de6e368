import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page, Route } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createGates } from '../../packages/server/src/adapters/scripted/gates.ts'
import { createScriptedAdapter } from '../../packages/server/src/adapters/scripted/index.ts'
import type { Script } from '../../packages/server/src/adapters/scripted/script.ts'
import { commit, git, phone, seriousFindings } from './console-browser.ts'
import { eventually, prompt } from './console-page.ts'
import { consoleWith } from './console-scripted.ts'

/** Rounds in a real browser: made on the page for a new session, compared, checked, and picked. */

const gates = createGates()
const words = 'Say hello in the file greeting.txt'
const write = (path: string, text: string) =>
  ({ type: 'tool', name: 'Write', kind: 'edit', effect: { writeFile: { path, text } } }) as const

/**
 * One agent is quick and reports its cost. One waits at the gate that the prompt names, and then requests permission. One
 * fails.
 */
const scripts: Readonly<Record<string, (prompt: string) => Script>> = {
  quick: () => [
    write('greeting.txt', 'hello\n'),
    { type: 'text', text: 'I wrote the file.\n\nIt says hello.' },
    { type: 'end', costUsd: 0.25, usage: { input: 1200, output: 300 } },
  ],
  careful: (gate) => [
    { type: 'wait', gate },
    write('greeting.txt', 'good morning\n'),
    write('notes.txt', 'one\ntwo\n'),
    { type: 'permission', name: 'Bash', kind: 'execute', title: 'greet', input: { command: 'greet' } },
    { type: 'text', text: 'It is polite.' },
  ],
  broken: () => [
    { type: 'end', outcome: 'failed', error: { code: 'agent_failed', message: 'The model is gone.' } },
  ],
}

const { openTab, server, host, folder } = consoleWith(async () =>
  Object.entries(scripts).map(([id, script]) =>
    createScriptedAdapter({
      id,
      name: id.charAt(0).toUpperCase() + id.slice(1),
      gates,
      script,
    }),
  ),
)

let made = 0

async function repository(): Promise<string> {
  const path = join(realpathSync(folder), `greeter-${++made}`)
  mkdirSync(path)
  git(path, 'init', '-q', '-b', 'main')
  writeFileSync(join(path, 'readme.md'), 'A greeter\n')
  commit(path, 'start')
  await host().trust(path)
  return path
}

async function setCheck(path: string, check: string): Promise<void> {
  const project = (await host().projects()).find(({ root }) => root === path)
  await host().patchProject(project?.id ?? '', { check })
}

async function round(agents = ['quick', 'careful', 'broken']) {
  const cwd = await repository()
  const task = `${words}, ${made}`
  const { id } = await host().createRound({
    cwd,
    prompt: task,
    attempts: agents.map((agent) => ({ agent })),
  })
  return { id, cwd, task, show: (page: Page) => page.goto(`${server.url}/rounds/${id}`) }
}

const column = (page: Page, number: number) =>
  page.getByRole('article', { name: new RegExp(`^Attempt ${number} ·`) })
const changes = (page: Page) => page.getByRole('region', { name: 'Changes of the attempts' })
const dialog = (page: Page) => page.getByRole('dialog')

describe('a round', () => {
  it('is started from the menu of agents on the page for a new session, by keyboard', async () => {
    const cwd = await repository()
    const { page, consoleErrors } = await openTab()
    await page.getByRole('combobox', { name: 'Folder' }).fill(cwd)
    await page.getByRole('checkbox', { name: /Work in a new worktree/ }).waitFor()
    await page.getByRole('button', { name: /^Agent: / }).press('Enter')
    await page.getByRole('menuitem', { name: 'Try several agents…' }).press('Enter')
    const attempts = page.getByRole('region', { name: 'Attempts' })
    await attempts.getByRole('button', { name: 'Use one agent' }).press('Enter')
    await eventually(() => prompt(page).evaluate((field) => field === document.activeElement)).toBe(true)
    await page.getByRole('button', { name: /^Agent: / }).press('Enter')
    await page.getByRole('menuitem', { name: 'Try several agents…' }).press('Enter')
    await attempts.getByRole('button', { name: 'Add an attempt' }).press('Enter')
    expect(await attempts.getByRole('button', { name: /^Attempt \d/ }).allTextContents()).toEqual([
      expect.stringContaining('Quick'),
      expect.stringContaining('Careful'),
      expect.stringContaining('Broken'),
    ])
    await attempts.getByRole('button', { name: /^Attempt 3/ }).press('Enter')
    await page.getByRole('menuitemradio', { name: 'Scripted Small' }).press('Enter')
    await attempts.getByRole('button', { name: 'Attempt 3: Broken · Scripted Small' }).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await attempts.getByRole('button', { name: 'Remove attempt 2' }).press('Enter')
    await eventually(() => attempts.getByRole('listitem').count()).toBe(2)
    await prompt(page).fill(words)
    // The first reply is lost after the round was made. The same request again leads to the same round.
    const lost = Promise.withResolvers<void>()
    const loseReply = async (route: Route) => {
      await route.fetch()
      await route.abort()
      lost.resolve()
    }
    await page.route('**/api/rounds', loseReply, { times: 1 })
    await prompt(page).press('Enter')
    await lost.promise
    await page.getByRole('button', { name: /^Start/ }).click()
    await page.waitForURL(/\/rounds\/rnd_/)
    expect((await host().rounds({ limit: 10 })).rounds).toHaveLength(1)
    await column(page, 1).getByText('Done').waitFor()
    await column(page, 2).getByText('The model is gone.').waitFor()
    expect(await column(page, 2).getByRole('heading').textContent()).toContain('scripted-small')
    // The page for the next session offers a single agent again.
    await page.getByRole('link', { name: /^New session/ }).click()
    await page.getByRole('button', { name: /^Agent: Quick/ }).waitFor()
    expect(consoleErrors).toEqual([])
  })

  it('shows what each attempt does, changes and costs, and follows it', async () => {
    const { id, task, show } = await round()
    const { page, consoleErrors } = await openTab()
    await show(page)
    const [quick, careful, broken] = [column(page, 1), column(page, 2), column(page, 3)]
    await quick.getByText('Done').waitFor()
    await eventually(() => quick.textContent()).toMatch(/Files1 \+1.*1\.2k in, 300 out.*\$0\.25/s)
    await quick.getByText('It says hello.').waitFor()
    await broken.getByText('The model is gone.').waitFor()
    await careful.getByText('Working').waitFor()
    gates.open(task)
    await careful.getByText('Needs an answer').waitFor()
    await page.getByText('Attempt 2: Needs an answer').waitFor({ state: 'attached' })
    expect(await careful.textContent()).toContain('not reported')
    expect(await seriousFindings(page)).toEqual([])
    // The diff below is that of the chosen attempt, which can be compared with another one.
    await changes(page).getByRole('row', { name: /hello/ }).waitFor()
    await careful.getByRole('button', { name: 'Changes of attempt 2' }).press('Enter')
    await changes(page)
      .getByRole('row', { name: /good morning/ })
      .waitFor()
    await changes(page).getByRole('combobox', { name: 'compared with' }).selectOption('1')
    await changes(page).getByRole('region', { name: 'greeting.txt' }).getByText('hello').waitFor()
    expect(new URL(page.url()).search).toBe('?attempt=2&against=1')
    expect(await changes(page).getByRole('checkbox').count()).toBe(0)
    await page.reload()
    await changes(page).getByRole('region', { name: 'greeting.txt' }).getByText('hello').waitFor()
    // A request is answered in its session, and the session leads back.
    await careful.getByRole('link', { name: 'Answer 1 request' }).press('Enter')
    await page.getByText('Attempt 2 of 3 of a round').waitFor()
    await page.getByRole('button', { name: /Allow once/ }).click()
    await page.getByRole('link', { name: 'Compare the attempts' }).click()
    await page.waitForURL(new RegExp(`/rounds/${id}\\?attempt=2$`))
    await careful.getByText('It is polite.').waitFor()
    const rows = page.getByRole('navigation', { name: 'Sessions' }).getByRole('treeitem')
    await eventually(() => rows.filter({ hasText: 'attempt 2 of 3' }).count()).toBe(1)
    expect(consoleErrors).toEqual([])
  })

  it('checks its attempts, and its pick can be changed', async () => {
    const { cwd, show } = await round(['quick', 'broken'])
    await setCheck(cwd, 'echo counted; test -e greeting.txt')
    const { page, consoleErrors } = await openTab()
    await show(page)
    const [quick, broken] = [column(page, 1), column(page, 2)]
    await broken.getByText('Failed', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Run 2 checks' }).click()
    await quick.getByText('passed', { exact: true }).waitFor()
    await broken.getByText('failed with exit code 1').waitFor()
    await broken.getByRole('button', { name: 'Output of the check of attempt 2' }).press('Enter')
    await broken.getByText('counted').waitFor()
    await quick.getByRole('button', { name: 'Pick attempt 1' }).press('Enter')
    await dialog(page).getByText('The worktree of attempt 2 is removed.').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await dialog(page).getByRole('button', { name: 'Cancel' }).press('Enter')
    expect(await quick.getByText('Picked').count()).toBe(0)
    // The palette can pick an attempt, too.
    await page.keyboard.press('Control+k')
    await dialog(page).getByRole('combobox').fill('pick attempt 1')
    await page.getByRole('option', { name: 'Pick attempt 1, Quick' }).click()
    await dialog(page).getByRole('button', { name: 'Pick attempt 1' }).press('Enter')
    await quick.getByText('Picked', { exact: true }).waitFor()
    await broken.getByText('Passed over').waitFor()
    await changes(page).getByRole('row', { name: /hello/ }).waitFor()
    const instead = broken.getByRole('button', { name: 'Pick attempt 2 instead' })
    await eventually(() => instead.isEnabled()).toBe(true)
    await instead.press('Enter')
    await dialog(page).getByText('The worktree of this attempt is restored.').waitFor()
    await dialog(page).getByRole('button', { name: 'Pick attempt 2' }).press('Enter')
    await broken.getByText('Picked', { exact: true }).waitFor()
    await quick.getByText('Passed over').waitFor()
    // The changes of an attempt are shown even after its worktree was removed.
    await changes(page).getByRole('row', { name: /hello/ }).waitFor()
    expect(await quick.getByRole('button', { name: 'Merge attempt 1…' }).count()).toBe(0)
    await broken.getByRole('button', { name: 'Merge attempt 2…' }).press('Enter')
    await page.getByRole('region', { name: 'Branch', exact: true }).waitFor()
    expect(await page.getByRole('radio', { name: 'Branch' }).isChecked()).toBe(true)
    expect(consoleErrors).toEqual([])
  })

  it('is read on a phone by swiping, and does not exist without its sessions', async () => {
    const { show } = await round(['quick', 'broken'])
    const { page, consoleErrors } = await openTab(phone)
    await show(page)
    await column(page, 1).getByText('Done').waitFor()
    await column(page, 2).getByRole('button', { name: 'Changes of attempt 2' }).tap()
    await changes(page).getByText('This attempt has changed no files.').waitFor()
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    expect(wide).toBe(390)
    expect(await seriousFindings(page)).toEqual([])
    await page.goto(`${server.url}/rounds/rnd_none`)
    await page.getByRole('heading', { name: 'Round not found' }).waitFor()
    expect(consoleErrors.filter((text) => !text.includes('404'))).toEqual([])
  })
})
