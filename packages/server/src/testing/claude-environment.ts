import { join } from 'node:path'
import { bunSettings } from './bun-settings.ts'
import { compileCache } from './compile-cache.ts'

/**
 * The environment for the real Claude Code against a model server on loopback, isolated from this machine, with one
 * retry and no other network traffic.
 */
export function claudeEnvironment({ url, home }: { url: string; home: string }): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    TMPDIR: home,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'placeholder',
    CLAUDE_CONFIG_DIR: join(home, '.claude'),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_MAX_RETRIES: '1',
    CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: '1',
    IS_SANDBOX: '1',
    ...compileCache(),
    ...bunSettings,
  }
}
