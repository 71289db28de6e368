import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectInput, readUntil } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { opencodeProgram, quietEnvironment } from '../../testing/opencode-environment.ts'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { createOpenCodeAdapter } from './index.ts'
import { billingOf } from './server-info.ts'

const far = 99_999_999_999_999

it('reports the billing of the provider of its model, and reports it again when another model is billed differently', async () => {
  const home = folderForTest()
  const kept = {
    openai: { type: 'oauth', refresh: 'r', access: 'a', expires: far, accountId: 'x' },
    groq: { type: 'api', key: 'placeholder' },
  }
  const folder = join(home, '.local', 'share', 'opencode')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'auth.json'), JSON.stringify(kept))
  // Enables the plugins that come with OpenCode, which sign in with an account.
  const { OPENCODE_DISABLE_DEFAULT_PLUGINS: _, ...quiet } = quietEnvironment(home)
  const env = { ...quiet, XAI_API_KEY: 'placeholder' }
  const adapter = createOpenCodeAdapter({ env, executable: opencodeProgram() })
  const connection = await adapter.connect(
    connectInput({ cwd: home, settings: { model: 'openai/gpt-5.1-codex' } }),
  )
  const expectReported = async (billing: string) => {
    const outputs = await readUntil(connection, (output) => output.type === 'agent.connected')
    expect(outputs.at(-1)).toMatchObject({ type: 'agent.connected', billing })
  }
  await expectReported('subscription')
  await connection.configure({ model: 'groq/llama-3.3-70b-versatile' })
  await expectReported('api-key')
  await connection.configure({ model: 'xai/grok-4' })
  await connection.configure({ model: 'openai/gpt-5.1-codex' })
  await expectReported('subscription')
  await connection.close()
})

it.each([
  [{ id: 'xai', source: 'env', key: 'placeholder', options: {} }, 'api-key'],
  [{ id: 'groq', source: 'api', key: 'placeholder', options: {} }, 'api-key'],
  [{ id: 'mine', source: 'config', options: { apiKey: 'placeholder' } }, 'api-key'],
  [{ id: 'local', source: 'config', options: { baseURL: 'http://127.0.0.1:1' } }, undefined],
  [{ id: 'amazon-bedrock', source: 'env', options: { region: 'us-east-1' } }, 'cloud'],
  [{ id: 'github-copilot', source: 'custom', options: { apiKey: '' } }, 'subscription'],
  [{ id: 'opencode', source: 'custom', options: { apiKey: 'public' } }, undefined],
] as const)('provider %j is billed as %s', (provider, billing) => {
  expect(billingOf(provider)).toBe(billing)
})
