import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { testAgentsFolder } from './agents-folder.ts'
import { bunSettings } from './bun-settings.ts'

/** A model of the scripted server. It has a price, so that turns have a cost, and a choice of efforts. */
const model = {
  tool_call: true,
  reasoning: true,
  interleaved: { field: 'reasoning_content' },
  attachment: true,
  modalities: { input: ['text', 'image'], output: ['text'] },
  cost: { input: 1, output: 2 },
  limit: { context: 100_000, output: 4_096 },
  variants: { high: { reasoningEffort: 'high' } },
}

export function opencodeConfig(url: string): Record<string, unknown> {
  return {
    model: 'mock/m1',
    small_model: 'mock/m1',
    share: 'disabled',
    agent: { title: { disable: true } },
    provider: {
      mock: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Mock',
        options: { baseURL: `${url}/v1`, apiKey: 'placeholder', chunkTimeout: 20_000 },
        models: { m1: { name: 'M1', ...model }, m2: { name: 'M2', ...model } },
      },
    },
  }
}

/**
 * The environment for the real OpenCode against a model server on loopback, isolated from this machine. Its own
 * downloads (packages, programs, lists of models) fail, because they use a proxy that does not exist. It does not
 * read its built-in list of all models either, which would take a second for each folder.
 */
export function opencodeEnvironment({ url, home }: { url: string; home: string }): Record<string, string> {
  const quiet = quietEnvironment(home)
  const models = join(home, 'models.json')
  writeFileSync(models, '{}')
  return {
    ...quiet,
    OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(url)),
    OPENCODE_MODELS_PATH: models,
  }
}

/** Like `opencodeEnvironment`, but without a provider, and with the built-in list of models. */
export function quietEnvironment(home: string): Record<string, string> {
  pretendInstalled(join(home, '.config', 'opencode'))
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    TMPDIR: home,
    HTTP_PROXY: 'http://127.0.0.1:9',
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1,localhost',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    ...bunSettings,
  }
}

/**
 * Writes files that make OpenCode treat its plugin package as installed in this folder. Otherwise OpenCode installs
 * the package wherever it finds settings, and waits for the installation if there are tools.
 */
function pretendInstalled(folder: string): void {
  const dependencies = { '@opencode-ai/plugin': '*' }
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ dependencies }))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: { '': { dependencies } } }))
}

/** The path of the OpenCode program; throws if it is not installed. */
export function opencodeProgram(): string {
  const program = join(testAgentsFolder(), 'opencode', 'node_modules', '.bin', 'opencode')
  if (!existsSync(program)) throw new Error(`OpenCode is not installed for tests: ${program} is missing.`)
  return program
}
