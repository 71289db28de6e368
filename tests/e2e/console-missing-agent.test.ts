import type { AgentAdapter } from '@parley/adapter-kit'
import { installedVersion } from '@parley/adapter-kit/find-program'
import { ParleyError } from '@parley/protocol'
import { afterAll, expect, it, vi } from 'vitest'
import { startRegistry } from '../../packages/server/src/adapters/npm-registry-under-test.ts'
import { createScriptedAdapter } from '../../packages/server/src/adapters/scripted/index.ts'
import { phone, seriousFindings } from './console-browser.ts'
import { conversation, shows } from './console-page.ts'
import { consoleWith } from './console-scripted.ts'

/** A session whose agent is missing, as after an upgrade from a Parley that contained the agent. */
const registry = await startRegistry()
afterAll(() => registry[Symbol.asyncDispose]())
const name = `console-agent-${process.pid}`
const install = { package: name, version: '1.0.0' }
registry.publish({ name, version: '1.0.0' })

const isInstalled = () => installedVersion(`${work.folder}/data/agents`, 'scripted', name) !== undefined
const scripted = createScriptedAdapter({ script: () => [{ type: 'text', text: 'Here I am.' }] })
const missing: AgentAdapter = {
  ...scripted,
  install,
  probe: async () => ({ found: isInstalled(), signedIn: true }),
  async connect(input) {
    if (isInstalled()) return scripted.connect(input)
    throw new ParleyError('agent_not_found', 'Scripted was not found. Install it: parley agents install x')
  },
}
const work = consoleWith(async () => [missing])

it('a prompt to a missing agent says so and offers to install it, and then to send the prompt again', async () => {
  for (const [variable, value] of Object.entries(registry.env)) vi.stubEnv(variable, value)
  const id = await work.create({ agent: 'scripted', cwd: work.folder, prompt: 'Where are you?' })
  const { page, consoleErrors } = await work.openSessionTab(id, phone)
  await shows(page, /Install it: parley agents install x/)
  const installing = conversation(page).getByRole('button', { name: 'Install', exact: true })
  await installing.waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await installing.click()
  await installing.waitFor({ state: 'detached' })
  await conversation(page).getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
  await conversation(page).getByRole('button', { name: 'Retry' }).click()
  await shows(page, 'Here I am.')
  expect(isInstalled()).toBe(true)
  expect(consoleErrors).toEqual([])
})
