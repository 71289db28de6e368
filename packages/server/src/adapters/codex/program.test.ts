import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onBench } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { hello } from './codex-under-test.ts'
import { createCodexAdapter } from './index.ts'

it('a key in the environment alone signs in, and is written to no file', async () => {
  await using home = await AgentHome.open()
  const { OPENAI_API_KEY: _, ...env } = home.env('codex')
  writeFileSync(join(home.path, '.codex', 'config.toml'), providerOfOpenAi(home.model.url))
  const adapterWith = (more: object) =>
    createCodexAdapter({ env: { ...env, ...more }, agentsFolder: testAgentsFolder() })
  const probed = async (more: object) => (await adapterWith(more).probe(AbortSignal.timeout(30_000))).signedIn
  expect(await probed({})).toBe(false)
  expect(await probed({ OPENAI_API_KEY: 'placeholder' })).toBe(true)

  const adapter = () => adapterWith({ OPENAI_API_KEY: 'placeholder' })
  await onBench({ adapter, host: contractHost }, adapter(), async (bench) => {
    const session = await bench.session()
    const turn = await session.prompt(hello)
    await turn.completed()
    expect(turn.said).toBe('Hello there.')
    expect((await bench.host.state(session.id)).connection?.credential).toBe('apiKey')
  })
  expect(existsSync(join(home.path, '.codex', 'auth.json'))).toBe(false)
})

/** A provider that uses the person's sign-in. */
function providerOfOpenAi(url: string): string {
  return `model = "gpt-4o-mock"
model_provider = "mock"
[features]
hooks = true
[model_providers.mock]
name = "mock"
base_url = "${url}/v1"
requires_openai_auth = true
wire_api = "responses"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
`
}
