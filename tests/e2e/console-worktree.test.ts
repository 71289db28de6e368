import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { commit, git, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import { chooseAgent, eventually, prompt } from './console-page.ts'

/** Worktrees in a real browser: chosen on the page for a new session, prepared, removed and restored. */
const { server, openTab } = consoleFixture((made) => {
  const settings = join(made.folder, 'settings')
  mkdirSync(join(settings, 'git'), { recursive: true })
  writeFileSync(join(settings, 'git/config'), '[protocol "file"]\n\tallow = always\n')
  made.environment = { XDG_CONFIG_HOME: settings }
})

function repository(name: string): string {
  const folder = mkdtempSync(join(realpathSync(server.folder), `${name}-`))
  git(folder, 'init', '-q', '-b', 'trunk')
  writeFileSync(join(folder, 'a.txt'), 'a\n')
  writeFileSync(join(folder, '.gitignore'), '.env\nout/\n')
  commit(folder, 'first')
  git(folder, 'branch', 'other')
  writeFileSync(join(folder, '.env'), 'KEY=1\n')
  return folder
}

async function setSetup(folder: string, setup: string | null): Promise<void> {
  const { projects } = await server.call<{ projects: { id: string; root: string }[] }>('/api/projects')
  const id = projects.find(({ root }) => root === folder)?.id
  await server.call(`/api/projects/${id}`, { setup }, 'PATCH')
}

const strip = (page: Page) => page.getByRole('region', { name: 'Worktree' })
const choice = (page: Page) => page.getByRole('checkbox', { name: /Work in a new worktree/ })
const idOf = (page: Page) => new URL(page.url()).pathname.split('/').at(-1) ?? ''
const stateOf = (page: Page) =>
  server.call<{ cwd: string; turns: number; worktree: { path: string; branch: string; phase: string } }>(
    `/api/sessions/${idOf(page)}?tail=0`,
  )

it('a worktree is chosen beside the folder, with its base and the ignored files, and the agent works there', async () => {
  const folder = repository('chosen')
  const { page, context, consoleErrors } = await openTab()
  await chooseAgent(page, 'Demo')
  await page.getByRole('combobox', { name: 'Folder' }).fill(server.folder)
  await eventually(() => choice(page).count()).toBe(0)
  await page.getByRole('combobox', { name: 'Folder' }).fill(folder)
  await choice(page).press('Space')
  const base = page.getByRole('combobox', { name: 'Start from' })
  await eventually(() => base.locator('option').allTextContents()).toEqual(['trunk (checked out)', 'other'])
  await base.selectOption('other')
  const env = page.getByRole('checkbox', { name: /\.env/ })
  expect(await env.isChecked()).toBe(false)
  await env.check()
  expect(await seriousFindings(page)).toEqual([])
  await prompt(page).fill('help')
  await prompt(page).press('Enter')
  await page.waitForURL(/\/sessions\//)
  await eventually(async () => (await stateOf(page)).turns).toBe(1)
  const { cwd, worktree } = await stateOf(page)
  expect(worktree).toMatchObject({ branch: 'parley/help', phase: 'ready' })
  expect([cwd, existsSync(join(cwd, '.env'))]).toEqual([worktree.path, true])
  await eventually(() => strip(page).count()).toBe(0)
  expect(consoleErrors).toEqual([])
  await context.close()
})

it('a failed setup shows its output and can be retried, and archiving offers to remove the worktree, which is restored', async () => {
  const folder = repository('kept')
  await server.call('/api/sessions', { agent: 'demo', cwd: folder })
  await setSetup(folder, 'echo "cannot find the compiler"; exit 3')
  const { page, context, consoleErrors } = await openTab()
  const { id } = await server.call<{ id: string }>('/api/sessions', {
    agent: 'demo',
    cwd: folder,
    prompt: 'help',
    worktree: { copy: ['.env'] },
  })
  await page.goto(`${server.url}/sessions/${id}`)
  await strip(page).getByText('cannot find the compiler').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await strip(page).getByRole('button', { name: 'Skip setup' }).click()
  await eventually(() => strip(page).count()).toBe(0)
  await eventually(async () => (await stateOf(page)).turns).toBe(1)
  const { path } = (await stateOf(page)).worktree
  writeFileSync(join(path, 'new.txt'), 'x\n')
  writeFileSync(join(path, '.env'), 'CHANGED=1\n')

  await page.getByRole('button', { name: 'Session menu' }).click()
  await page.getByRole('menuitem', { name: 'Archive' }).click()
  const dialog = page.getByRole('dialog', { name: 'Remove the worktree' })
  await dialog.waitFor()
  await dialog.getByText('1 file not committed').waitFor()
  await dialog.getByText('.env (ignored)').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Remove worktree' }).click()
  await page.getByText('Removed the worktree.', { exact: true }).waitFor()
  expect(await page.getByText('Removing the worktree.').count()).toBe(0)
  await strip(page).getByText('The worktree was removed.').waitFor()
  expect(existsSync(path)).toBe(false)
  await setSetup(folder, null)
  await strip(page).getByRole('button', { name: 'Restore worktree' }).press('Enter')
  await eventually(() => strip(page).count()).toBe(0)
  expect(existsSync(join(path, 'new.txt'))).toBe(true)
  rmSync(folder, { recursive: true })
  expect(consoleErrors).toEqual([])
  await context.close()
})

it('the empty submodules of a worktree are filled on request', async () => {
  const library = repository('library')
  const folder = repository('with-submodule')
  git(folder, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'lib')
  commit(folder, 'submodule')
  await server.call('/api/trust', { folder })
  const { page, context, consoleErrors } = await openTab()
  const { id } = await server.call<{ id: string }>('/api/sessions', {
    ...{ agent: 'demo', cwd: folder, worktree: {}, prompt: 'help' },
  })
  await page.goto(`${server.url}/sessions/${id}`)
  await strip(page).getByText('The folder of a submodule is empty.').waitFor()
  const { cwd } = await stateOf(page)
  expect(existsSync(join(cwd, 'lib/a.txt'))).toBe(false)
  expect(await seriousFindings(page)).toEqual([])
  await strip(page).getByRole('button', { name: 'Fill submodules' }).press('Enter')
  await eventually(() => strip(page).count()).toBe(0)
  expect(existsSync(join(cwd, 'lib/a.txt'))).toBe(true)
  expect(consoleErrors).toEqual([])
  await context.close()
})
