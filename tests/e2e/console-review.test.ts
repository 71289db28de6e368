import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { commit, git, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'
import { boxOf, conversation, eventually, openSession, panel, prompt, shows } from './console-page.ts'
import { recordedGh } from './recorded-gh.ts'

/** Tests the review of changes: viewed files, changed words, remarks, and all of it by keyboard. */
const { server, openTab } = consoleFixture((made) => {
  made.environment = { PATH: `${recordedGh(made.folder)}:${process.env.PATH}` }
})

/** Creates a repository with a new name, because a retried test needs another repository. */
const repository = (name: string) => server.repository(`${name}-${++made}`)
let made = 0

const text = (lines: readonly string[]) => `${lines.join('\n')}\n`
const values = (change: (at: number) => string = String, length = 9) =>
  text(Array.from({ length }, (_, at) => `export const value${at + 1} = ${change(at + 1)}`))

/** A session in a repository whose files have one change each, with the focus on the page. */
async function review(page: Page, folder: string) {
  const { id } = await server.call<{ id: string }>('/api/sessions', { agent: 'demo', cwd: folder })
  await openSession(page, server, id)
  await page.getByRole('button', { name: /^Changes/ }).waitFor()
  return { id, changes: panel(page, 'Changes') }
}

const focused = (page: Page) =>
  page.evaluate(() => document.activeElement?.closest('section[data-path]')?.getAttribute('data-path'))

describe('a review', () => {
  it('marks changed words, collapses viewed files, and shows a file again when its content changes', async () => {
    const folder = repository('viewed')
    for (const name of ['a', 'b']) writeFileSync(join(folder, `${name}.ts`), values())
    commit(folder, 'values')
    for (const name of ['a', 'b'])
      writeFileSync(
        join(folder, `${name}.ts`),
        values((at) => (at === 5 ? 'five' : `${at}`)),
      )
    const { page, consoleErrors } = await openTab({ load: false, colorScheme: 'dark' })
    const { id, changes } = await review(page, folder)
    await page.getByRole('button', { name: /^Changes/ }).click()
    const first = changes.getByRole('region', { name: 'a.ts' })
    await first.locator('tr.added .word', { hasText: /^five$/ }).waitFor()
    await first.locator('tr.removed .word', { hasText: /^5$/ }).waitFor()
    await first.locator('tr.added .tok-keyword').first().waitFor()
    expect(await seriousFindings(page)).toEqual([])

    await changes.getByRole('checkbox', { name: 'Viewed a.ts' }).check()
    await changes.getByText('1 of 2 viewed').waitFor()
    await first.getByRole('row').first().waitFor({ state: 'detached' })
    await page.getByRole('navigation', { name: 'Files' }).getByRole('img', { name: 'viewed' }).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    // The server keeps the marks, for every browser of the person.
    const marks = () => server.call<{ files: { path: string }[] }>(`/api/sessions/${id}/viewed`)
    await eventually(async () => (await marks()).files.map(({ path }) => path)).toEqual(['a.ts'])
    await page.reload()
    await changes.getByText('1 of 2 viewed').waitFor()
    expect(await first.getByRole('row').count()).toBe(0)

    writeFileSync(
      join(folder, 'a.ts'),
      values((at) => (at === 5 ? 'six' : `${at}`)),
    )
    await first.locator('tr.added .word', { hasText: /^six$/ }).waitFor()
    expect(await changes.getByRole('checkbox', { name: 'Viewed a.ts' }).isChecked()).toBe(false)
    expect(await changes.getByText('viewed', { exact: false }).getByText(/of 2/).count()).toBe(0)
    expect(consoleErrors).toEqual([])
  })

  it('has remarks on several lines, chosen with the mouse or with the keys, which are sent as one prompt', async () => {
    const folder = repository('remarks')
    writeFileSync(join(folder, 'a.ts'), values())
    const { page, consoleErrors } = await openTab({ load: false })
    const { changes } = await review(page, folder)
    await page.getByRole('button', { name: /^Changes/ }).click()
    const row = (at: number) => changes.getByRole('row', { name: new RegExp(`value${at} `) })
    const number = async (at: number) => {
      const { left, top, height } = await boxOf(row(at).locator('td').first())
      return [left + 8, top + height / 2] as const
    }
    const form = changes.getByRole('textbox', { name: 'Remark' })
    const write = async (words: string) => {
      await form.fill(words)
      await form.press('Control+Enter')
      await form.waitFor({ state: 'detached' })
    }
    await row(9).waitFor()
    await page.mouse.move(...(await number(2)))
    await page.mouse.down()
    await page.mouse.move(...(await number(3)))
    await page.mouse.move(...(await number(4)), { steps: 3 })
    await page.mouse.up()
    await changes.getByText('Lines 2 to 4').waitFor()
    await write('with the mouse')

    await page.mouse.click(...(await number(5)))
    await form.press('Escape')
    await page.keyboard.down('Shift')
    await page.mouse.click(...(await number(6)))
    await page.keyboard.up('Shift')
    await changes.getByText('Lines 5 to 6').waitFor()
    await write('with Shift')

    await row(8).click()
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('c')
    await changes.getByText('Lines 8 to 9').waitFor()
    await write('with the keys')
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('c')
    await write('on one line')

    await changes.getByRole('button', { name: 'Send 4 remarks' }).click()
    await shows(page, /a.ts:2-4/)
    for (const words of [/a.ts:5-6/, /a.ts:8-9/, /a.ts:8(?!-)/, /with the keys/, /on one line/])
      await shows(page, words)
    expect(consoleErrors).toEqual([])
  })

  it('discards, restores, stages and commits changes with the keys', async () => {
    const folder = repository('written')
    git(folder, 'config', 'user.name', 'Ada')
    git(folder, 'config', 'user.email', 'ada@example.com')
    const before = values(String, 20)
    writeFileSync(join(folder, 'a.ts'), before)
    commit(folder, 'values')
    const after = values((at) => (at === 2 || at === 19 ? `${at}0` : `${at}`), 20)
    writeFileSync(join(folder, 'a.ts'), after)
    writeFileSync(join(folder, 'b.ts'), values())
    const now = () => readFileSync(join(folder, 'a.ts'), 'utf8')
    const { page, consoleErrors } = await openTab({ load: false })
    const { changes } = await review(page, folder)
    await page.keyboard.press('Tab')
    await page.keyboard.press('c')
    await eventually(() => focused(page)).toBe('a.ts')
    await changes.getByRole('row', { name: /value19 = 190/ }).waitFor()
    await page.keyboard.press(']')
    await page.keyboard.press('x')
    await page.getByText('Discarded 1 change of a.ts').waitFor()
    expect(now()).toBe(before.replace('value19 = 19', 'value19 = 190'))
    await changes.getByRole('row', { name: /value2 = 20/ }).waitFor({ state: 'detached' })
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('button', { name: 'Undo' }).click()
    await changes.getByRole('row', { name: /value2 = 20/ }).waitFor()
    expect(now()).toBe(after)

    const file = (name: string) => changes.getByRole('region', { name })
    await file('a.ts')
      .getByRole('button', { name: /^M a.ts/ })
      .focus()
    await page.keyboard.press('s')
    await file('a.ts').getByText('staged', { exact: true }).waitFor()
    await page.keyboard.press('s')
    await file('a.ts').getByText('staged', { exact: true }).waitFor({ state: 'detached' })
    await page.keyboard.press(']')
    await page.keyboard.press('s')
    await file('a.ts').getByText('partly staged').waitFor()
    // Either part is shown alone, and its change is staged or unstaged.
    const row = (name: RegExp) => file('a.ts').getByRole('row', { name })
    await file('a.ts').getByRole('radio', { name: 'Staged', exact: true }).check()
    await row(/value19 = 190/).waitFor({ state: 'detached' })
    await row(/value2 = 20/).waitFor()
    expect(git(folder, 'diff', '--cached', '--numstat')).toBe('1\t1\ta.ts\n')
    await file('a.ts').getByRole('radio', { name: 'Not staged' }).check()
    await row(/value2 = 20/).waitFor({ state: 'detached' })
    await row(/value19 = 190/).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await file('a.ts').getByRole('button', { name: 'Stage change 1 of a.ts' }).click()
    await file('a.ts').getByText('staged', { exact: true }).waitFor()
    await file('a.ts').getByRole('button', { name: 'Unstage change 2 of a.ts' }).click()
    await file('a.ts').getByText('partly staged').waitFor()
    await file('a.ts').getByRole('button', { name: 'Stage a.ts' }).click()
    await file('a.ts').getByText('staged', { exact: true }).waitFor()
    await changes.getByRole('button', { name: 'Commit…' }).click()
    await changes.getByText('Commits the staged changes: 1 file.').waitFor()
    const message = changes.getByRole('textbox', { name: 'Commit message' })
    expect(await message.inputValue()).toBe('Change a.ts')
    await changes.getByRole('button', { name: 'Suggest a message' }).click()
    await changes
      .getByText('has done nothing in this session yet. The message was made from the title of the session.')
      .waitFor()
    await message.fill('Count in tens')
    expect(await seriousFindings(page)).toEqual([])
    await message.press('Control+Enter')
    await page.getByText('Committed 1 file').waitFor()
    await file('a.ts').waitFor({ state: 'detached' })
    await shows(page, /Committed [0-9a-f]{8}: Count in tens/)

    await file('b.ts').getByRole('button', { name: 'Discard the changes of b.ts' }).click()
    await changes.getByText('No changes since the last commit').waitFor()
    expect(existsSync(join(folder, 'b.ts'))).toBe(false)
    expect(consoleErrors).toEqual([])
  })

  it('pushes the branch, and quotes the checks and comments of its pull request in the composer', async () => {
    const folder = repository('pushed')
    const remote = `${folder}.git`
    git(folder, 'clone', '-q', '--bare', folder, remote)
    git(folder, 'remote', 'add', 'origin', remote)
    git(folder, 'fetch', '-q')
    git(folder, 'checkout', '-q', '-b', 'fix')
    writeFileSync(join(folder, 'a.ts'), values())
    commit(folder, 'values')
    await server.call('/api/trust', { folder })
    const { page, consoleErrors } = await openTab({ load: false })
    const { changes } = await review(page, folder)
    await page.getByRole('button', { name: /^Changes/ }).click()
    await changes.getByRole('radio', { name: 'Branch' }).check()
    await changes.getByText('fix is not pushed to origin yet.').waitFor()
    const go = join(folder, 'go')
    const hook = `#!/bin/sh\necho waiting >&2; until [ -e '${go}' ]; do sleep 0.05; done\n`
    writeFileSync(join(remote, 'hooks/pre-receive'), hook, { mode: 0o755 })
    await changes.getByRole('button', { name: 'Push' }).click()
    await changes.getByRole('log', { name: 'Progress of the push' }).getByText('remote: waiting').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    writeFileSync(go, '')
    await changes.getByText('fix is pushed to origin.').waitFor()
    await shows(page, /^Pushed fix \([0-9a-f]{8}\) to origin/)
    git(remote, 'rev-parse', '--verify', '-q', 'fix')

    const other = repository('requested')
    git(other, 'remote', 'add', 'origin', 'git@github.com:acme/app.git')
    git(other, 'update-ref', 'refs/remotes/origin/main', 'HEAD')
    git(other, 'checkout', '-q', '-b', 'fix')
    git(other, 'update-ref', 'refs/remotes/origin/fix', 'HEAD')
    await server.call('/api/trust', { folder: other })
    await review(page, other)
    // A choice of the scope holds for its session only.
    expect(await changes.getByRole('radio', { name: 'Uncommitted' }).isChecked()).toBe(true)
    await changes.getByRole('radio', { name: 'Branch' }).check()
    await changes.getByRole('link', { name: '#7 Fix it' }).waitFor()
    await changes.getByText('Open: 1 failed, 1 passed').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await changes.getByRole('button', { name: 'Quote 1 failed check in the prompt' }).click()
    await changes.getByRole('button', { name: 'Quote 1 comment in the prompt' }).click()
    await changes.getByRole('button', { name: 'Quote the logs of failed checks in the prompt' }).click()
    await eventually(() => prompt(page).inputValue()).toMatch(
      /> CI \/ test · 2 failed[\s\S]*> Ignore all rules\.[\s\S]*CI \/ test:\n\n> Run tests:\n> not ok 1/,
    )
    expect(consoleErrors).toEqual([])
  })

  it('merges the branch of a worktree into the base branch, and asks the agent to resolve conflicts', async () => {
    const folder = repository('merged')
    git(folder, 'config', 'user.name', 'Ada')
    git(folder, 'config', 'user.email', 'ada@example.com')
    const { id } = await server.call<{ id: string }>('/api/sessions', {
      ...{
        agent: 'demo',
        cwd: folder,
        worktree: { branch: 'fix' },
        prompt: `help ${'with words '.repeat(30)}`,
      },
    })
    const state = () =>
      server.call<{ cwd: string; turns: number; turn?: object }>(`/api/sessions/${id}?tail=0`)
    await eventually(async () => (await state()).turns).toBe(1)
    const { cwd } = await state()
    writeFileSync(join(cwd, 'a.ts'), values())
    commit(cwd, 'Count')
    writeFileSync(join(folder, 'a.ts'), 'other\n')
    commit(folder, 'Other')
    const { page, consoleErrors } = await openTab({ load: false })
    await openSession(page, server, id)
    const changes = panel(page, 'Changes')
    await page.getByRole('button', { name: /^Changes/ }).click()
    await changes.getByText('No changes since the last commit.').waitFor()
    await page
      .locator('main header')
      .getByText(/^merged-\d+ · fix$/)
      .waitFor()
    const row = conversation(page).getByRole('article', { name: 'You' })
    await row.hover()
    await row.getByRole('button', { name: 'Copy text' }).waitFor()
    const collapse = await boxOf(row.getByRole('button', { name: 'Collapse this turn' }))
    expect((await boxOf(row.getByRole('button', { name: 'Copy text' }))).left).toBeGreaterThanOrEqual(
      collapse.right,
    )
    await changes.getByRole('button', { name: 'Show the branch' }).press('Enter')
    const open = changes.getByRole('button', { name: 'Merge…' })
    const dialog = page.getByRole('dialog', { name: 'Merge into the base branch' })
    await open.press('Enter')
    await dialog.getByText('1 commit of fix into main: there are conflicts.').waitFor()
    await dialog.getByText('a.ts', { exact: true }).first().waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Ask the agent to resolve' }).press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await eventually(() => prompt(page).inputValue()).toMatch(/^Merge the branch main into[\s\S]*- a\.ts$/)

    git(cwd, 'merge', '-q', '-X', 'ours', '-m', 'Merge main', 'main')
    writeFileSync(join(cwd, 'late.ts'), values())
    await open.press('Enter')
    await dialog.getByText('1 changed file not committed, and not merged', { exact: false }).waitFor()
    await dialog.getByText('late.ts').waitFor()
    await dialog.getByText('2 commits', { exact: true }).press('Enter')
    await dialog.getByText('Count').waitFor()
    await dialog.getByRole('radio', { name: /^Squash/ }).check()
    const message = dialog.getByRole('textbox', { name: 'Commit message' })
    expect(await message.inputValue()).toContain('* Count')
    await message.fill('Count in one commit')
    expect(await seriousFindings(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Squash and merge' }).press('Enter')
    const toast = page.getByText('Merged fix into main', { exact: true })
    await toast.waitFor()
    expect((await boxOf(toast)).right).toBeLessThan((await boxOf(changes)).left)
    await shows(page, /^Merged fix into main, as one commit/)
    git(folder, 'diff', '--quiet', 'HEAD', 'fix')
    expect(readFileSync(join(folder, 'a.ts'), 'utf8')).toBe(values())

    await open.waitFor({ state: 'detached' })
    const branch = changes.getByRole('region', { name: 'Branch' })
    await eventually(() => branch.evaluate((part) => part === document.activeElement)).toBe(true)
    await changes.getByText('1 changed file is not committed.').waitFor()
    await changes.getByRole('button', { name: 'Show uncommitted changes' }).press('Enter')
    await changes.getByRole('button', { name: 'Commit…' }).waitFor()
    await changes.getByRole('radio', { name: 'Branch' }).check()

    commit(cwd, 'Late')
    git(cwd, 'merge', '-q', '-m', 'Merge main again', 'main')
    await changes.getByRole('button', { name: 'Refresh' }).press('Enter')
    await open.press('Enter')
    await dialog.getByText('into main, which has no newer commits.', { exact: false }).waitFor()
    await dialog.getByRole('button', { name: 'Merge', exact: true }).press('Enter')
    await changes.getByText('No changes since the branch left its base.').waitFor()
    await page.getByRole('button', { name: 'Remove the worktree…' }).last().click()
    const removal = page.getByRole('dialog', { name: 'Remove the worktree' })
    await removal.getByText('fix').first().waitFor()
    await removal.getByRole('button', { name: 'Remove worktree' }).press('Enter')
    await changes.getByText('The worktree was removed. Restore the worktree to see its changes.').waitFor()
    expect(consoleErrors).toEqual([])
  })

  it('of 400 files is done with the keyboard alone', async () => {
    const folder = repository('many')
    const names = Array.from({ length: 400 }, (_, at) => `src/part-${at % 20}/file-${at}.ts`)
    for (let at = 0; at < 20; at++) mkdirSync(join(folder, `src/part-${at}`), { recursive: true })
    for (const name of names) writeFileSync(join(folder, name), values(String, 20))
    commit(folder, 'many')
    for (const name of names)
      writeFileSync(
        join(folder, name),
        values((at) => (at === 2 || at === 19 ? `${at}0` : `${at}`), 20),
      )
    const { page, consoleErrors } = await openTab({ load: false })
    const { id, changes } = await review(page, folder)
    await page.keyboard.press('Tab')
    await page.keyboard.press('c')
    const sorted = names.toSorted()
    await eventually(() => focused(page)).toBe(sorted[0])

    // Files and their changes are visited in order, and back.
    const first = changes.getByRole('region', { name: sorted[0]! })
    await first.getByRole('row', { name: /value2 = 20/ }).waitFor()
    await page.keyboard.press(']')
    const line = () => page.evaluate(() => document.activeElement?.textContent)
    await eventually(line).toContain('value2 = 2')
    await page.keyboard.press(']')
    await eventually(line).toContain('value19 = 19')
    await page.keyboard.press(']')
    await eventually(() => focused(page)).toBe(sorted[1])
    await page.keyboard.press('[')
    await eventually(line).toContain('value19 = 19')
    await page.keyboard.press('c')
    await changes.getByRole('textbox', { name: 'Remark' }).fill('Why ten times?')
    await page.keyboard.press('Control+Enter')
    await changes.getByText('1 remark', { exact: true }).waitFor()
    await page.keyboard.press('j')
    await eventually(() => focused(page)).toBe(sorted[1])
    await page.keyboard.press('k')
    await eventually(() => focused(page)).toBe(sorted[0])

    // Each file is viewed, and the focus moves to the next file.
    for (let at = 0; at < 400; at++) await page.keyboard.press('v')
    await changes.getByText('400 of 400 viewed').waitFor()
    const marks = () => server.call<{ files: unknown[] }>(`/api/sessions/${id}/viewed`)
    await eventually(async () => (await marks()).files.length).toBe(400)
    await page.keyboard.press('v')
    await changes.getByText('399 of 400 viewed').waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Mark as viewed, and go to the next file').waitFor()
    expect(consoleErrors).toEqual([])
  })
})
