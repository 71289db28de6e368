import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFailed } from 'vitest'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import { bash, call, done, scriptPlan } from './claude-fixture.ts'
import { listen, phone } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import {
  agentChip,
  allowOnce,
  boxOf,
  card,
  conversation,
  eventually,
  openSession,
  panel,
  prompt,
  settingsChip,
  shows,
} from './console-page.ts'

/**
 * Tests the console in a real browser, on the real server, with the real Claude Code; only its model is
 * scripted.
 */
const home = await AgentHome.forFile({
  prepare: (server) => scriptPlan(server, '# Two steps\n\n1. First this\n2. Then that'),
})
const { model } = home
const { server, openTab, browser } = consoleFixture(async (made) => {
  made.environment = home.env('claude')
})

async function session(page: Page, words: string, settings: { cwd?: string; mode?: string } = {}) {
  const { id } = await server.call<{ id: string }>('/api/sessions', {
    agent: 'claude',
    cwd: server.project,
    prompt: words,
    ...settings,
  })
  await openSession(page, server, id)
  return id
}

let shared: string | undefined

/**
 * One session for most tests, so that Claude Code is started once. After a failed test, the next test gets a new
 * session.
 */
async function sharedSession(page: Page, words: string): Promise<void> {
  onTestFailed(() => {
    shared = undefined
  })
  if (shared === undefined) {
    shared = await session(page, words)
    return
  }
  const command = { type: 'prompt.submit', commandId: randomUUID(), text: words }
  await server.call(`/api/sessions/${shared}/commands`, command)
  await openSession(page, server, shared)
}

/** Matches the whole text, because the prompts here contain everything that the model will say. */
async function says(page: Page, words: string): Promise<void> {
  await conversation(page).getByText(words, { exact: true }).last().waitFor()
}

describe('the first five minutes with Claude Code', () => {
  it('lead from the printed link to an approved edit that is shown in the diff', async () => {
    const folder = server.repository('greeting')
    const path = join(folder, 'src/greet.ts')
    const edit = { file_path: path, old_string: "'Hello'", new_string: "'Good morning'" }
    const context = await browser().newContext({ viewport: { width: 1440, height: 900 } })
    const page = await context.newPage()
    const consoleErrors: string[] = []
    listen(page, consoleErrors)
    await page.goto(server.link)

    await agentChip(page).click()
    await page.getByRole('menuitemradio', { name: /^Claude [\d.]+.*Ready/ }).click()
    await page.getByLabel('Folder', { exact: true }).fill(folder)
    const task = modelPrompt(
      'Greet politely.',
      call('Read', { file_path: path }),
      call('Edit', edit, 'toolu_b'),
      {
        content: 'It greets **politely** now.',
      },
    )
    const [announced] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith('/api/sessions/prepare')),
      page.getByRole('combobox', { name: 'Prompt' }).fill(task),
    ])
    expect(announced.status()).toBe(204)
    await page.getByRole('combobox', { name: 'Prompt' }).press('Enter')
    await page.waitForURL(/\/sessions\//)

    await card(page).getByText("'Good morning'").waitFor()
    await card(page).getByText('src/greet.ts').first().waitFor()
    expect(readFileSync(path, 'utf8')).toContain("'Hello'")
    await allowOnce(page).click()
    await says(page, 'politely')
    await shows(page, /1 file changed/)
    await page.getByTestId('working').waitFor({ state: 'detached' })
    expect(readFileSync(path, 'utf8')).toContain("'Good morning'")

    const row = page.getByRole('navigation', { name: 'Sessions' }).getByRole('treeitem', { level: 2 }).first()
    await eventually(() => row.getByTitle('1 file changed since the session began').textContent()).toBe(
      '+1 −1',
    )
    // On a wide screen the changes open by themselves.
    const changes = panel(page, 'Changes')
    await changes.getByRole('row', { name: /Good morning/ }).waitFor()
    await changes.getByText('1 file on main').waitFor()
    await changes.getByRole('button', { name: 'Close panel' }).click()
    await page.reload()
    await says(page, 'politely')
    await eventually(() => page.getByRole('button', { name: /^Changes/ }).textContent()).toBe('Changes 1')
    expect(await changes.count()).toBe(0)
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})

describe('a request of Claude Code', () => {
  it('for a permission is denied with a reason, which the model receives', async () => {
    const { page, context, consoleErrors } = await openTab({ load: false })
    await sharedSession(page, modelPrompt('Write.', bash('printf x > denied'), { say: 'history' }))
    await card(page).getByText('printf x > denied').waitFor()
    await card(page).getByRole('button', { name: 'Deny with reason' }).click()
    await page.getByLabel('Why not, and what to do instead').fill('Not in this folder')
    await page.keyboard.press('Enter')
    await shows(page, 'Denied by you: Not in this folder')
    await page.getByTestId('working').waitFor({ state: 'detached' })
    expect(existsSync(join(server.project, 'denied'))).toBe(false)
    expect(JSON.stringify(model.calls.at(-1)?.body)).toContain('Not in this folder')
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('for a permission is allowed with another command', async () => {
    const { page, context } = await openTab({ load: false })
    const changed = { content: 'The changed command ran.' }
    await sharedSession(page, modelPrompt('Write it.', bash('printf a > asked'), changed))
    await card(page).getByRole('button', { name: /^Edit/ }).click()
    await card(page).getByRole('textbox', { name: 'command' }).fill('printf b > edited')
    await card(page)
      .getByRole('button', { name: /^Allow/ })
      .first()
      .click()
    await says(page, changed.content)
    expect(existsSync(join(server.project, 'asked'))).toBe(false)
    expect(readFileSync(join(server.project, 'edited'), 'utf8')).toBe('b')
    await context.close()
  })

  it('that is a question is answered, and the answer reaches the model', async () => {
    const { page, context, consoleErrors } = await openTab({ load: false })
    const options = [
      { label: 'red', description: 'warm' },
      { label: 'blue', description: 'cold' },
    ]
    const question = { question: 'Which colour?', header: 'Colour', multiSelect: false, options }
    const chosen = { content: 'The colour is chosen.' }
    await sharedSession(page, modelPrompt('Ask.', call('AskUserQuestion', { questions: [question] }), chosen))
    await card(page).getByText('Which colour?').waitFor()
    await card(page).getByLabel('blue').check()
    await card(page).getByRole('button', { name: 'Answer' }).click()
    await says(page, chosen.content)
    await says(page, 'blue')
    expect(JSON.stringify(model.calls.at(-1)?.body)).toContain(String.raw`\"Which colour?\"=\"blue\"`)
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('for a plan is approved; then the work starts and asks as usual', async () => {
    const { page, context, consoleErrors } = await openTab({ load: false })
    const words = modelPrompt('Plan it.', done, call('ExitPlanMode', {}), bash('printf p > planned'), done)
    await session(page, words, { mode: 'plan' })
    await card(page).getByRole('heading', { name: 'Two steps' }).waitFor()
    await card(page).getByText('Then that').waitFor()
    await card(page)
      .getByRole('button', { name: /Approve the plan/ })
      .click()
    await card(page).getByText('printf p > planned').waitFor()
    await eventually(() => settingsChip(page).textContent()).toMatch(/^Mode: Ask/)
    await allowOnce(page).click()
    await says(page, 'That is done.')
    expect(existsSync(join(server.project, 'planned'))).toBe(true)
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('for a subagent has the steps of the subagent nested under it', async () => {
    const { page, context, consoleErrors } = await openTab({ load: false })
    const write = call('Bash', { command: 'printf s > by-subagent', description: 'Write the file' })
    const inside = modelPrompt('Write it down.', write, { content: 'It is written.' })
    const delegate = call('Agent', {
      description: 'Write a note',
      subagent_type: 'general-purpose',
      run_in_background: false,
      prompt: inside,
    })
    const delegated = { content: 'The note is there.' }
    await sharedSession(page, modelPrompt('Delegate.', delegate, delegated))
    await card(page).getByText('printf s > by-subagent').waitFor()
    const step = conversation(page).getByRole('article', { name: /Write the file|printf s/ })
    await step.waitFor()
    await allowOnce(page).click()
    await says(page, delegated.content)
    await step.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /Subagent Write a note/ }).click()
    await step.waitFor()
    expect(existsSync(join(server.project, 'by-subagent'))).toBe(true)
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})

it('a steered prompt is withdrawn or edited before Claude Code reads it, and only the rest reaches the model', async () => {
  const { page, consoleErrors } = await openTab({ load: false })
  const chip = page.getByTestId('pending-steer')
  const steer = async (words: string) => {
    await prompt(page).fill(words)
    await page.getByRole('button', { name: 'Steer', exact: true }).click()
    await chip.getByText(words).waitFor()
  }
  const wait = bash('while [ ! -e steered ]; do sleep 0.05; done')
  await session(page, modelPrompt('Wait for me.', wait, { say: 'history' }), { mode: 'bypass' })
  await conversation(page).getByRole('article', { name: /Step/ }).waitFor()
  await steer('Mention the parsley.')
  await page.getByRole('button', { name: 'Withdraw steered prompt' }).click()
  await chip.waitFor({ state: 'detached' })
  await steer('Mention the rosemary.')
  await page.getByRole('button', { name: 'Edit steered prompt' }).click()
  await chip.waitFor({ state: 'detached' })
  await eventually(() => prompt(page).inputValue()).toBe('Mention the rosemary.')
  await steer('Mention the thyme.')
  writeFileSync(join(server.project, 'steered'), '')
  await chip.waitFor({ state: 'detached' })
  await shows(page, /Mention the thyme\./)
  await page.getByTestId('working').waitFor({ state: 'detached' })
  const received = JSON.stringify(model.calls.at(-1)?.body)
  expect(received).toContain('thyme')
  expect(received).not.toMatch(/parsley|rosemary/)
  expect(await page.getByText(/went wrong|cannot be withdrawn/).count()).toBe(0)
  expect(consoleErrors).toEqual([])
})

it('a phone shows who pays, and which project it is', async () => {
  const { page } = await openTab({ ...phone, load: false })
  await sharedSession(page, modelPrompt('Say it.', done))
  await says(page, 'That is done.')
  const header = page.locator('main header').first()
  for (const words of [/paid by \S/, /^project$/]) {
    const { top, right, bottom } = await boxOf(header.getByText(words))
    expect(bottom).toBeGreaterThan(top)
    expect(right).toBeLessThanOrEqual(phone.viewport.width)
  }
})

it('Parley recognises every message that Claude Code sent in these sessions', async () => {
  const { sessions } = await server.call<{ sessions: { id: string }[] }>('/api/sessions?limit=100')
  expect(sessions.length).toBeGreaterThan(0)
  const unknown: unknown[] = []
  for (const { id } of sessions) {
    const { events } = await server.call<{ events: { type: string }[] }>(
      `/api/sessions/${id}/events?limit=1000`,
    )
    unknown.push(...events.filter(({ type }) => type === 'agent.unrecognised'))
  }
  expect(unknown).toEqual([])
})
