import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { withNamespaces } from '../../packages/server/src/testing/codex-environment.ts'
import { call, done } from '../../packages/server/src/testing/model-answers.ts'
import { answerByPrompt, modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import {
  type ModelAnswer,
  type ModelServer,
  startModelServer,
} from '../../packages/server/src/testing/model-server.ts'
import { type RealAgentName, realAgents } from '../../packages/server/src/testing/real-agents.ts'
import { phone } from './console-browser.ts'
import { allowOnce, card, conversation, eventually, openSession, shows } from './console-page.ts'
import { consoleWith } from './console-scripted.ts'

/** Every kind of card with the real agents in a real browser; only their models are scripted. */
const names: readonly RealAgentName[] = ['claude', 'codex', 'opencode', 'gemini', 'claude-acp']
let model: ModelServer
let agents: ReturnType<typeof realAgents>
afterAll(() => model?.stop())

const { server, openTab, create, folder } = consoleWith(async (home) => {
  model = await startModelServer()
  model.wire(withNamespaces)
  answerByPrompt(model, /Parley was restarted/)
  agents = realAgents({ url: model.url, home })
  return names.map((name) => agents[name].adapter())
})

/** With `PARLEY_PICTURES`, what a person sees is kept there, to be looked at. */
const pictures = process.env.PARLEY_PICTURES
async function picture(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return
  const size = page.viewportSize()?.width === phone.viewport.width ? 'phone' : 'wide'
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.screenshot({ path: join(pictures, `${name}-${size}-${colorScheme}.png`) })
  }
}

function project(name: string): string {
  const cwd = join(folder, name)
  mkdirSync(cwd, { recursive: true })
  writeFileSync(join(cwd, 'poem.txt'), poem('two'))
  return cwd
}
const poem = (second: string) => `# A poem\n\none\n${second}\nthree\nfour\nfive\nsix\n`

/** How each agent's model asks for the same change of the same file. */
function edits(cwd: string): Readonly<Record<RealAgentName, readonly ModelAnswer[]>> {
  const file_path = join(cwd, 'poem.txt')
  const [old_string, new_string] = ['two', '2']
  const claude = [call('Read', { file_path }), call('Edit', { file_path, old_string, new_string }, 'toolu_b')]
  const patch = ['*** Begin Patch', '*** Update File: poem.txt', '@@', '-two', '+2', '*** End Patch']
  const oldAndNew = { oldString: old_string, newString: new_string }
  const instruction = 'Use a digit.'
  return {
    claude,
    'claude-acp': claude,
    codex: [agents.codex.command(["apply_patch <<'EOF'", ...patch, 'EOF', ''].join('\n'))],
    opencode: [
      call('read', { filePath: file_path }),
      call('edit', { filePath: file_path, ...oldAndNew }, 'toolu_b'),
    ],
    gemini: [call('replace', { file_path, old_string, new_string, instruction })],
  }
}

const lines = (page: Page, type: 'added' | 'removed') =>
  card(page).locator(`tr.${type} td.words`).allTextContents()

describe.each(names)('%s', { timeout: 180_000 }, (name) => {
  it('shows a change of a file as a diff, on the card and in the row, wide and on a phone', async () => {
    const cwd = project(`${name}-edit`)
    const prompt = modelPrompt('Use digits.', ...edits(cwd)[name], done)
    const id = await create({ agent: name, cwd, prompt })
    for (const options of [{}, phone]) {
      const { page, complaints } = await openTab(options)
      await openSession(page, server, id)
      await card(page).locator('tr.added').waitFor()
      expect([await lines(page, 'removed'), await lines(page, 'added')]).toEqual([['two'], ['2']])
      expect(await card(page).getByText('poem.txt').count()).toBeGreaterThan(0)
      expect(
        await card(page)
          .getByText(/old_string|oldString|\\n/)
          .count(),
      ).toBe(0)
      await picture(page, `${name}-edit`)
      expect(complaints).toEqual([])
    }
    const { page } = await openTab()
    await openSession(page, server, id)
    await allowOnce(page).click()
    await shows(page, 'done')
    const row = conversation(page)
      .getByRole('button', { name: /poem\.txt/ })
      .last()
    await row.click()
    await conversation(page).locator('tr.added').waitFor()
    await picture(page, `${name}-edited`)
    expect(readFileSync(join(cwd, 'poem.txt'), 'utf8')).toBe(poem('2'))
  })

  it('shows a command as a command', async () => {
    const cwd = project(`${name}-command`)
    const line = 'printf "a\\nb\\n" > made.txt'
    const id = await create({
      agent: name,
      cwd,
      prompt: modelPrompt('Run it.', agents[name].command(line), done),
    })
    for (const options of [{}, phone]) {
      const { page } = await openTab(options)
      await openSession(page, server, id)
      await card(page)
        .getByRole('region', { name: 'Command' })
        .or(card(page).getByText(line))
        .first()
        .waitFor()
      expect(await card(page).getByText(line).count()).toBeGreaterThan(0)
      expect(await card(page).getByText('"command"').count()).toBe(0)
      await picture(page, `${name}-command`)
    }
    const { page } = await openTab()
    await openSession(page, server, id)
    await allowOnce(page).click()
    await shows(page, 'done')
    await picture(page, `${name}-ran`)
  })
})

describe('the choices of a session', { timeout: 120_000 }, () => {
  it('has the models and efforts of Claude before its first session, under names that stay', async () => {
    const cwd = project('models')
    const { page, complaints } = await openTab()
    await page.goto(`${server.url}/new`)
    await page.getByRole('radio', { name: /^Claude [\d.]/ }).check()
    await page.getByLabel('Folder', { exact: true }).fill(cwd)
    const selected = (label: string) =>
      page
        .getByRole('combobox', { name: label })
        .evaluate((one: HTMLSelectElement) => one.selectedOptions[0]?.label)
    const effort = page.getByRole('combobox', { name: 'Effort' })
    await effort.selectOption('high')
    const name = await selected('Model')
    expect(name).toMatch(/^Default/)
    await picture(page, 'new-session')
    await page.getByRole('combobox', { name: 'Prompt' }).fill(modelPrompt('Hello.', { content: 'Good day.' }))
    await page.getByRole('button', { name: 'Start' }).click()
    await shows(page, 'Good day.')
    await page.getByTestId('working').waitFor({ state: 'detached' })
    await eventually(() => selected('Model')).toBe(name)
    expect(await selected('Effort')).toBe('High effort')
    await picture(page, 'after-a-turn')
    expect(complaints).toEqual([])
  })
})

describe('restoring files', { timeout: 120_000 }, () => {
  it('lists the files first, restores them once that is confirmed, and is undone', async () => {
    const cwd = project('rewind')
    const prompt = modelPrompt('Use digits.', ...edits(cwd).claude, done)
    const id = await create({ agent: 'claude', cwd, prompt, mode: 'accept-edits' })
    const text = () => readFileSync(join(cwd, 'poem.txt'), 'utf8')
    const { page, complaints } = await openTab()
    await openSession(page, server, id)
    await shows(page, 'done')
    await page.getByTestId('working').waitFor({ state: 'detached' })
    expect(text()).toBe(poem('2'))
    const restore = page.getByRole('button', { name: 'Restore files to before this prompt…' })
    const open = async () => {
      await conversation(page).getByText('Use digits.').first().hover()
      await restore.first().click()
      await page.getByRole('dialog').getByText('poem.txt').waitFor()
    }
    await open()
    await page.getByRole('dialog').getByText('Changes made by shell commands are not undone.').waitFor()
    await picture(page, 'rewind-dialog')
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(text()).toBe(poem('2'))

    await open()
    await page.getByRole('button', { name: 'Restore 1 file' }).click()
    await shows(page, /Files restored to before that prompt: .*poem\.txt/)
    expect(text()).toBe(poem('two'))
    await picture(page, 'rewound')
    await conversation(page).getByRole('button', { name: 'Undo', exact: true }).click()
    await shows(page, /^Undone\./)
    await eventually(text).toBe(poem('2'))
    expect(complaints).toEqual([])
  })
})
