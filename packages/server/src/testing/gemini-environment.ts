import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileCache } from './compile-cache.ts'

/**
 * Settings of Gemini CLI: one attempt for each model call, no other network traffic, and the key from the
 * environment.
 */
const settings = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  general: { enableAutoUpdate: false, maxAttempts: 1 },
  privacy: { usageStatisticsEnabled: false },
}

/**
 * The environment for the real Gemini CLI against a model server on loopback, isolated from this machine. The model is
 * set explicitly, because otherwise Gemini CLI calls a model before every prompt to choose one.
 */
export function geminiEnvironment({ url, home }: { url: string; home: string }): Record<string, string> {
  mkdirSync(join(home, '.gemini'), { recursive: true })
  writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify(settings))
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    TMPDIR: home,
    GEMINI_API_KEY: 'placeholder',
    GEMINI_MODEL: 'gemini-2.5-flash',
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_CLI_NO_RELAUNCH: 'true',
    ...compileCache(),
  }
}
