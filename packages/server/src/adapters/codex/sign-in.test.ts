import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { onBench } from '../../testing/adapter-contract/bench.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { codexEnvironment, withNamespaces } from '../../testing/codex-environment.ts'
import { answerByPrompt } from '../../testing/model-by-prompt.ts'
import { startModelServer } from '../../testing/model-server.ts'
import { hello } from './codex-under-test.ts'
import { createCodexAdapter } from './index.ts'

const home = mkdtempSync(join(tmpdir(), 'parley-codex-key-'))
afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))

it('a key in the environment alone signs in, and is written to no file', async () => {
  const server = await startModelServer()
  server.wire(withNamespaces)
  answerByPrompt(server, /Parley was restarted/)
  const { OPENAI_API_KEY: _, ...env } = codexEnvironment({ url: server.url, home })
  writeFileSync(join(home, '.codex', 'config.toml'), providerOfOpenAi(server.url))
  const adapterWith = (more: object) =>
    createCodexAdapter({ env: { ...env, ...more }, agentsFolder: testAgentsFolder() })
  const probed = async (more: object) => (await adapterWith(more).probe(AbortSignal.timeout(30_000))).signedIn
  expect(await probed({})).toBe(false)
  expect(await probed({ OPENAI_API_KEY: 'placeholder' })).toBe(true)

  const adapter = () => adapterWith({ OPENAI_API_KEY: 'placeholder' })
  await onBench({ adapter, store: createMemoryStore }, adapter(), async (bench) => {
    const session = await bench.session()
    const turn = await session.prompt(hello)
    await turn.completed()
    expect(turn.said).toBe('Hello there.')
    expect((await bench.host.state(session.id)).connection?.credential).toBe('apiKey')
  })
  expect(existsSync(join(home, '.codex', 'auth.json'))).toBe(false)
  await server.stop()
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
