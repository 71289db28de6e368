import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { consoleAtWork } from './console-at-work.ts'
import { phone, seriousFindings } from './console-browser.ts'

/** Setting up agents in the settings: one of one's own, a key, a test. */
const { server, openTab } = consoleAtWork()
const secret = 'sk-parsley-0123456789'
const agent = join(import.meta.dirname, '../../packages/server/src/adapters/acp/odd-agent-under-test.ts')
const config = () => readFileSync(join(server.folder, 'data', 'config.json'), 'utf8')

it('an agent of one’s own is added, tested and taken away', async () => {
  const { page } = await openTab()
  await page.goto(`${server.url}/settings/agents`)
  await page.getByRole('button', { name: 'Add an agent' }).click()
  const form = page.getByRole('form', { name: 'A new agent' })
  await form.getByText('It runs on the machine of the server, as you').waitFor()
  await form.getByRole('button', { name: 'Add' }).click()
  await form.getByText('Give it an id of small letters, digits and dashes.').waitFor()
  await form.getByLabel(/^Id/).fill('mine')
  await form.getByLabel(/^Name/).fill('My agent')
  await form.getByLabel(/^Command/).fill('no-such-program')
  await form.getByRole('button', { name: 'Add' }).click()
  await form.getByText('There is no program "no-such-program"').waitFor()
  await form.getByLabel(/^Command/).fill(process.execPath)
  await form.getByLabel(/^Arguments/).fill(`--conditions=source ${agent}`)
  await form.getByRole('button', { name: 'Add' }).click()
  const card = page.getByRole('article', { name: 'My agent' })
  await card.getByRole('button', { name: 'Test' }).click()
  await card.getByText('ended when it was told to').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await card.getByRole('button', { name: 'Forget' }).click()
  await card.waitFor({ state: 'detached' })
  expect(config()).not.toContain('mine')
})

it('a key is pasted, works at once, is not shown again, and can be removed', async () => {
  const { page } = await openTab(phone)
  await page.goto(`${server.url}/settings/agents`)
  const card = page.getByRole('article', { name: 'Claude', exact: true })
  await card.getByText('Not signed in').waitFor()
  await card.getByRole('button', { name: 'Key', exact: true }).click()
  const form = card.getByRole('form', { name: 'Key of Claude' })
  await form.getByLabel(/^Key\./).fill(secret)
  expect(await form.getByLabel(/^Key\./).getAttribute('type')).toBe('password')
  expect(await seriousFindings(page)).toEqual([])
  await form.getByRole('button', { name: 'Save' }).click()
  await card.getByText('Set in config.json: ANTHROPIC_API_KEY').waitFor()
  await card.getByText('Ready').waitFor()
  expect(config()).toContain(secret)
  expect(await page.content()).not.toContain(secret)
  await card.getByRole('button', { name: 'Key', exact: true }).click()
  await form.getByRole('button', { name: 'Remove' }).click()
  await card.getByText('Not signed in').waitFor()
  expect(config()).not.toContain(secret)
})
