import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileCache } from './compile-cache.ts'

/** Settings of Qwen Code: no network traffic except to the model, and no calls of the model beside the turns. */
const settings = (baseUrl: string) => ({
  security: { auth: { selectedType: 'openai' } },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  ui: { enableFollowupSuggestions: false },
  memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
  model: { name: 'gpt-4o-mock', generationConfig: { maxRetries: 0 } },
  modelProviders: {
    openai: ['gpt-4o-mock', 'gpt-4o-other'].map((id) => ({
      id,
      name: id,
      baseUrl,
      envKey: 'OPENAI_API_KEY',
    })),
  },
})

/** The environment for the real Qwen Code against a model server on loopback, isolated from this machine. */
export function qwenEnvironment({ url, home }: { url: string; home: string }): Record<string, string> {
  mkdirSync(join(home, '.qwen'), { recursive: true })
  writeFileSync(join(home, '.qwen', 'settings.json'), JSON.stringify(settings(`${url}/v1`)))
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    TMPDIR: home,
    OPENAI_API_KEY: 'placeholder',
    QWEN_CODE_NO_RELAUNCH: 'true',
    QWEN_DISABLE_AUTO_TITLE: '1',
    ...compileCache(),
  }
}
