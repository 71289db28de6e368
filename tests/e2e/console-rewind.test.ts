import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionState, TurnSnapshots } from '@parley/protocol'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import { bash, done } from './claude-fixture.ts'
import { seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import { conversation, eventually, openSession, prompt, say } from './console-page.ts'

/** Forks and rewinds in a real browser, with the real Claude Code; only its model is scripted. */
const home = await AgentHome.forFile()
const { server, openTab } = consoleFixture(async (made) => {
  made.environment = home.env('claude')
})

const fact = (herb: string) => modelPrompt(`The herb is ${herb}.`, done)
const recall = modelPrompt('What did I say?', { say: 'history' })

/** Sends the second prompt when the first turn has ended: a queued prompt would be withdrawn in a fork. */
async function sendSecond(id: string, text: string): Promise<void> {
  const turns = async () => (await server.call<SessionState>(`/api/sessions/${id}?tail=0`)).turns
  await eventually(turns).toBe(1)
  await server.call(`/api/sessions/${id}/commands`, { type: 'prompt.submit', commandId: 'second', text })
}

/** A session with two prompts, each of which states a fact. */
async function told(page: Page): Promise<string> {
  const { id } = await server.call<{ id: string }>('/api/sessions', {
    agent: 'claude',
    cwd: server.project,
    prompt: fact('dill'),
  })
  await sendSecond(id, fact('mint'))
  await openSession(page, server, id)
  await eventually(() => conversation(page).getByText('That is done.', { exact: true }).count()).toBe(2)
  return id
}

const promptRow = (page: Page, words: string) =>
  conversation(page).getByRole('article', { name: 'You' }).filter({ hasText: words })

async function openMenu(page: Page, words: string): Promise<void> {
  const row = promptRow(page, words)
  await row.hover()
  await row.getByRole('button', { name: 'Go back to this prompt' }).click()
  await page.getByRole('menuitem').first().waitFor()
}

/** Asks the agent what it remembers, and returns the answer of the model. */
async function remembered(page: Page): Promise<string> {
  await say(page, recall)
  const path = `/api${new URL(page.url()).pathname}?tail=2`
  const said = async () => {
    const { blocks } = await server.call<{ blocks: { type: string; text?: string }[] }>(path)
    return blocks.at(-1)?.type === 'turn-end' ? blocks.at(-2)?.text : undefined
  }
  await eventually(said).toContain('What did I say?')
  return (await said()) ?? ''
}

it('a prompt is forked from its menu, and the new session opens with the prompt, unsent', async () => {
  const { page, consoleErrors } = await openTab({ load: false })
  const id = await told(page)
  await openMenu(page, 'mint')
  await page.getByRole('menuitem', { name: 'Fork from here' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Fork from here' })
  await dialog.getByText('This session does not change.').waitFor()
  await dialog.getByRole('button', { name: 'Fork' }).click()
  await page.waitForURL((url) => url.pathname.startsWith('/sessions/') && !url.pathname.endsWith(id))
  await eventually(() => prompt(page).inputValue()).toContain('The herb is mint.')
  await eventually(() => promptRow(page, 'mint').count()).toBe(0)
  const said = await remembered(page)
  expect(said).toContain('dill')
  expect(said).not.toContain('mint')
  expect(consoleErrors).toEqual([])
})

const files = (page: Page) =>
  page.getByRole('dialog', { name: 'Go back to here' }).getByRole('group', { name: 'Files' })

/** A session in which a command of the agent wrote files. */
async function written(page: Page, cwd = server.project): Promise<string> {
  const { id } = await server.call<{ id: string }>('/api/sessions', {
    ...{ agent: 'claude', cwd },
    mode: 'bypass',
    prompt: fact('dill'),
  })
  const text = modelPrompt('Write files.', bash('printf "mint\n" > herb.txt; printf "x\n" > other.txt'), done)
  const state = () => server.call<SessionState>(`/api/sessions/${id}?tail=0`)
  const second = async () => (await state()).snapshots?.turns[1]
  // The model answers only after the snapshot before the turn was taken: otherwise the files could be written
  // first.
  await eventually(async () => (await state()).turns).toBe(1)
  const hold = home.model.hold(0)
  await sendSecond(id, text)
  await eventually(second).toMatchObject({ before: {} })
  hold.release()
  await openSession(page, server, id)
  const isComplete = (turn: TurnSnapshots) => turn.before !== undefined && turn.after !== undefined
  await eventually(async () => (await state()).snapshots?.turns.filter(isComplete).length).toBe(2)
  return id
}

it('a fork in a worktree has the files of that moment, and the agent there remembers what was said before', async () => {
  const folder = server.repository('forked')
  writeFileSync(join(folder, 'mine.txt'), 'not committed\n')
  const { page, consoleErrors } = await openTab({ load: false })
  const id = await written(page, folder)
  await openMenu(page, 'Write files.')
  await page.getByRole('menuitem', { name: 'Fork from here' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Fork from here' })
  await dialog
    .getByRole('checkbox', { name: 'In a worktree, with the files as they were before this prompt' })
    .press('Space')
  await dialog.getByRole('listitem').filter({ hasText: 'The new session works in a new worktree' }).waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Fork' }).click()
  await page.waitForURL((url) => url.pathname.startsWith('/sessions/') && !url.pathname.endsWith(id))
  const said = await remembered(page)
  expect(said).toContain('dill')
  expect(said).not.toContain('Write files.')
  const path = `/api${new URL(page.url()).pathname}?tail=0`
  const { cwd } = await server.call<SessionState>(path)
  expect(readFileSync(join(cwd, 'mine.txt'), 'utf8')).toBe('not committed\n')
  expect([folder, cwd].map((place) => existsSync(join(place, 'herb.txt')))).toEqual([true, false])
  expect(consoleErrors).toEqual([])
})

const goBack = async (page: Page, words: string) => {
  await openMenu(page, words)
  await page.getByRole('menuitem', { name: 'Go back to here' }).click()
  const dialog = page.getByRole('dialog', { name: 'Go back to here' })
  await dialog.waitFor()
  return dialog
}

it('files that a command wrote are rewound together with the conversation, and Undo restores both', async () => {
  const { page, consoleErrors } = await openTab({ load: false })
  await written(page)
  const [herb, other] = [join(server.project, 'herb.txt'), join(server.project, 'other.txt')]
  writeFileSync(other, 'changed by a person\n')
  const dialog = await goBack(page, 'Write files.')
  const ticks = files(page).getByRole('checkbox')
  await eventually(() => ticks.count()).toBe(2)
  expect(await Promise.all([0, 1].map((index) => ticks.nth(index).isChecked()))).toEqual([true, false])
  await files(page).getByText('changed by somebody else').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await dialog.getByText('forgets this prompt and everything after it: 1 turn.').waitFor()
  await dialog.getByRole('button', { name: 'Go back' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect([existsSync(herb), readFileSync(other, 'utf8')]).toEqual([false, 'changed by a person\n'])
  await conversation(page).getByText('1 file was restored to its state before the prompt.').waitFor()
  await page.getByRole('status').getByRole('button', { name: 'Undo' }).click()
  await promptRow(page, 'Write files.').waitFor()
  expect(readFileSync(herb, 'utf8')).toBe('mint\n')

  await prompt(page).fill('')
  const again = await goBack(page, 'Write files.')
  await again.getByRole('checkbox', { name: 'Conversation' }).uncheck()
  await files(page).getByRole('checkbox', { name: 'other.txt' }).check()
  await again.getByRole('button', { name: 'Go back' }).click()
  await conversation(page).getByText('2 files were restored').waitFor()
  expect([existsSync(herb), existsSync(other)]).toEqual([false, false])
  expect(await promptRow(page, 'Write files.').count()).toBe(1)
  await conversation(page).getByRole('button', { name: 'Undo' }).click()
  await conversation(page).getByText('2 files were restored').waitFor({ state: 'detached' })
  expect(readFileSync(other, 'utf8')).toBe('changed by a person\n')
  expect(consoleErrors).toEqual([])
})

it('the conversation is rewound from the menu of a prompt, the turns are collapsed, and Undo restores them', async () => {
  const { page, consoleErrors } = await openTab({ load: false })
  await told(page)
  const rewind = async () => {
    await openMenu(page, 'mint')
    await page.getByRole('menuitem', { name: 'Go back to here' }).click()
    const dialog = page.getByRole('dialog', { name: 'Go back to here' })
    await dialog.getByText('forgets this prompt and everything after it: 1 turn.').waitFor()
    await dialog.getByRole('button', { name: 'Go back' }).click()
    await conversation(page)
      .getByRole('button', { name: /^Taken back/ })
      .waitFor()
  }
  await rewind()
  expect(await promptRow(page, 'mint').count()).toBe(0)
  await eventually(() => prompt(page).inputValue()).toContain('The herb is mint.')
  await page.getByRole('status').getByRole('button', { name: 'Undo' }).click()
  await promptRow(page, 'mint').waitFor()
  await prompt(page).fill('')
  await rewind()
  await conversation(page).getByRole('button', { name: 'Undo' }).click()
  await promptRow(page, 'mint').waitFor()
  await prompt(page).fill('')
  await rewind()
  const takenBack = conversation(page).getByRole('button', { name: /^Taken back/ })
  await takenBack.click()
  await promptRow(page, 'mint').waitFor()
  await takenBack.click()
  await promptRow(page, 'mint').waitFor({ state: 'detached' })
  await prompt(page).fill('')
  const said = await remembered(page)
  expect(said).toContain('dill')
  expect(said).not.toContain('mint')
  expect(await conversation(page).getByRole('button', { name: 'Undo' }).count()).toBe(0)
  expect(consoleErrors).toEqual([])
})
