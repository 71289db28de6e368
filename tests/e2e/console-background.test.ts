import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { claudeScenarios } from '../../packages/server/src/testing/model-scenarios.ts'
import { consoleFixture } from './console-fixture.ts'
import { allowOnce, card, conversation, openSession } from './console-page.ts'

/** Tests background tasks of the real Claude Code in the console; only its model is scripted. */
const agents = await AgentHome.forFile()
const home = agents.path
const { server, openTab } = consoleFixture(async (made) => {
  made.environment = agents.env('claude')
})

const begin = (prompt: unknown, settings: object = {}) =>
  server.call<{ id: string }>('/api/sessions', { agent: 'claude', cwd: server.project, prompt, ...settings })

describe('a background task', () => {
  it('is shown after its turn, asks on a card, and reports in a turn of its own', async () => {
    const { page, context, consoleErrors } = await openTab({ load: false })
    const go = join(home, 'go-card')
    const { prompt, says } = claudeScenarios(home).background.asks(go)
    const { id } = await begin(prompt)
    await openSession(page, server, id)
    await page.getByTestId('background').getByText('Working in the background: write late').waitFor()
    await page.getByText('1 background task').waitFor()
    writeFileSync(go, '')
    await card(page).waitFor()
    await allowOnce(page).click()
    await conversation(page).getByText(says, { exact: true }).waitFor()
    await conversation(page)
      .getByText('The agent continued by itself after the background task “write late”.')
      .waitFor()
    await page.getByTestId('background').waitFor({ state: 'detached' })
    expect(consoleErrors).toEqual([])
    await context.close()
  })

  it('can be stopped where it is shown', async () => {
    const { page, context, consoleErrors } = await openTab({ load: false })
    const { prompt, session } = claudeScenarios(home).background.runs(join(home, 'never'))
    const { id } = await begin(prompt, session)
    await openSession(page, server, id)
    await page.getByRole('button', { name: 'Stop task' }).click()
    await page.getByTestId('background').waitFor({ state: 'detached' })
    const { tasks } = await server.call<{ tasks: { status: string }[] }>(`/api/sessions/${id}`)
    expect(tasks).toMatchObject([{ status: 'stopped' }])
    expect(consoleErrors).toEqual([])
    await context.close()
  })
})
