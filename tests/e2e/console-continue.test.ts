import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import { consoleFixture } from './console-fixture.ts'
import { conversation, eventually, openSession, panel } from './console-page.ts'

/**
 * Tests that a conversation continues from the console in the real Claude Code's own program; only its model
 * is scripted.
 */
const home = await AgentHome.forFile()
const { server, openTab } = consoleFixture(async (made) => {
  usedBefore(join(home.path, '.claude'), made.project)
  made.environment = home.env('claude')
})

/**
 * Writes the settings of a program that was used before in this folder and with this key, so that it asks no
 * questions first and sends no other requests.
 */
function usedBefore(config: string, project: string): void {
  mkdirSync(config, { recursive: true })
  const known = {
    hasCompletedOnboarding: true,
    theme: 'dark',
    customApiKeyResponses: { approved: ['placeholder'], rejected: [] },
    projects: { [project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  }
  writeFileSync(join(config, '.claude.json'), JSON.stringify(known))
}

it("a session is released to the agent's own program, which has the conversation", async () => {
  const { page, consoleErrors } = await openTab({ viewport: { width: 1600, height: 900 } })
  const { id } = await server.call<{ id: string }>('/api/sessions', {
    agent: 'claude',
    cwd: server.project,
    prompt: modelPrompt('Remember the parsley.', { content: 'The parsley is remembered.' }),
  })
  await openSession(page, server, id)
  await conversation(page).getByText('The parsley is remembered.', { exact: true }).waitFor()
  await page.getByTestId('working').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Terminals' }).click()
  const terminals = panel(page, 'Terminals')
  await terminals.getByRole('button', { name: 'Open in Claude CLI' }).click()
  const screen = terminals.locator('.xterm-rows')
  await eventually(() => screen.textContent()).toContain('The parsley is remembered.')
  const { connected, released } = await server.call<{ connected: boolean; released?: number }>(
    `/api/sessions/${id}`,
  )
  expect({ connected, released }).toEqual({ connected: false, released: expect.any(Number) })
  expect(consoleErrors).toEqual([])
})
