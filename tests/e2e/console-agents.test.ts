import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { phone, seriousFindings } from './console-browser.ts'
import { consoleFixture } from './console-fixture.ts'

/** Tests setting up agents in the settings: a custom agent, a key, a test of an agent. */
const { server, openTab } = consoleFixture(({ folder }) => {
  const data = join(folder, 'data')
  mkdirSync(data, { recursive: true, mode: 0o700 })
  writeFileSync(join(data, 'walnut.mjs'), walnut)
  writeFileSync(join(data, 'config.json'), JSON.stringify({ adapters: ['./walnut.mjs', './absent.mjs'] }))
})
const walnut = `export const createAdapter = () => ({
  id: 'walnut',
  name: 'Walnut',
  capabilities: {},
  modes: ['ask'],
  probe: async () => ({ found: true }),
  connect: async () => { throw new Error('not used') },
})`
const secret = 'sk-parsley-0123456789'
const agent = join(import.meta.dirname, '../../packages/server/src/adapters/acp/faulty-agent-under-test.ts')
const config = () => readFileSync(join(server.folder, 'data', 'config.json'), 'utf8')

it('a custom agent is added, tested and removed', async () => {
  const { page } = await openTab({ load: false })
  await page.goto(`${server.url}/settings/agents`)
  await page.getByRole('button', { name: 'Add an agent' }).click()
  const form = page.getByRole('form', { name: 'New agent' })
  await form.getByText('It runs on the server’s machine with your rights').waitFor()
  await form.getByRole('button', { name: 'Add' }).click()
  await form.getByText('Enter an id of lowercase letters, digits and dashes.').waitFor()
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
  await card.getByText('ended when asked to').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await card.getByRole('button', { name: 'Forget' }).click()
  await card.waitFor({ state: 'detached' })
  expect(config()).not.toContain('mine')
})

it('the adapters of config.json are listed with their module, or with the reason why they were not loaded', async () => {
  const { page } = await openTab({ load: false })
  await page.goto(`${server.url}/settings/agents`)
  const card = page.getByRole('article', { name: 'Walnut' })
  await card.getByText('Adapter from config.json: ./walnut.mjs').waitFor()
  expect(await card.getByRole('button', { name: 'Forget' }).count()).toBe(0)
  await page
    .getByText(/^The adapter "\.\/absent\.mjs" of config\.json was not loaded: there is no file/)
    .waitFor()
  expect(await seriousFindings(page)).toEqual([])
})

it('the card of an agent shows which of its messages were not understood', async () => {
  const { page } = await openTab({ ...phone, load: false })
  const id = await server.session('unknown')
  const state = () => server.call<{ status: string }>(`/api/sessions/${id}`)
  await expect.poll(async () => (await state()).status).toBe('idle')
  await page.goto(`${server.url}/settings/agents`)
  const card = page.getByRole('article', { name: 'Demo' })
  await card.getByText(/^1 message of this agent was not understood since \d/).click()
  await card.getByText('1 × from_the_future: no such native message is known').waitFor()
  expect(await seriousFindings(page)).toEqual([])
})

it('a key is pasted, works at once, is not shown again, and can be removed', async () => {
  const { page } = await openTab({ ...phone, load: false })
  await page.goto(`${server.url}/settings/agents`)
  const card = page.getByRole('article', { name: 'Claude', exact: true })
  await card.getByText('Not signed in').waitFor()
  await card.getByRole('button', { name: 'API key', exact: true }).click()
  const form = card.getByRole('form', { name: 'Key of Claude' })
  await form.getByLabel(/^Key \(/).fill(secret)
  expect(await form.getByLabel(/^Key \(/).getAttribute('type')).toBe('password')
  expect(await seriousFindings(page)).toEqual([])
  await form.getByRole('button', { name: 'Save' }).click()
  await card.getByText('Set in config.json: ANTHROPIC_API_KEY').waitFor()
  await card.getByText('Ready').waitFor()
  expect(config()).toContain(secret)
  expect(await page.content()).not.toContain(secret)
  await card.getByRole('button', { name: 'API key', exact: true }).click()
  await form.getByRole('button', { name: 'Remove' }).click()
  await card.getByText('Not signed in').waitFor()
  expect(config()).not.toContain(secret)
})

it('a variable is set for a folder, listed by its name only, and removed', async () => {
  const { page, consoleErrors } = await openTab({ load: false })
  await page.goto(`${server.url}/settings/agents`)
  const section = page.getByRole('region', { name: 'Environment variables' })
  await section.getByText('No variables.').waitFor()
  await section.getByRole('button', { name: 'Add a variable' }).click()
  const form = section.getByRole('form', { name: 'New variable' })
  await page.keyboard.type(server.project)
  await form.getByLabel('Name').fill('LD_PRELOAD')
  await form.getByLabel('Value').fill(secret)
  expect(await form.getByLabel('Value').getAttribute('type')).toBe('password')
  await page.keyboard.press('Enter')
  await form
    .getByRole('alert')
    .getByText(/LD_PRELOAD/)
    .waitFor()
  await form.getByLabel('Name').fill('SHOP_TOKEN')
  expect(await seriousFindings(page)).toEqual([])
  await page.keyboard.press('Enter')
  await section.getByText('SHOP_TOKEN').waitFor()
  await section.getByText(`All sessions in ${server.project}`).waitFor()
  const listed = () => server.call<{ environments: unknown[] }>('/api/environment')
  expect((await listed()).environments).toEqual([{ folder: server.project, names: ['SHOP_TOKEN'] }])
  expect(await page.content()).not.toContain(secret)
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Add a variable')

  await section.getByRole('button', { name: 'Remove SHOP_TOKEN' }).click()
  await section.getByText('The value cannot be restored.').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await section.getByRole('button', { name: 'Remove SHOP_TOKEN for good' }).click()
  await section.getByText('No variables.').waitFor()
  expect((await listed()).environments).toEqual([])
  expect(consoleErrors).toEqual([])
})

it('a variable for a session whose agent takes none is refused with the reason', async () => {
  const { page } = await openTab({ load: false })
  const id = await server.session('help')
  await page.goto(`${server.url}/settings/agents`)
  await page.getByRole('button', { name: 'Add a variable' }).click()
  const form = page.getByRole('form', { name: 'New variable' })
  await form.getByLabel('For').selectOption(id)
  await form.getByLabel('Name').fill('SHOP_TOKEN')
  await form.getByLabel('Value').fill(secret)
  await page.keyboard.press('Enter')
  await form.getByRole('alert').getByText(/Demo/).waitFor()
  expect((await server.call<{ environments: unknown[] }>('/api/environment')).environments).toEqual([])
})
