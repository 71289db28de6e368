import { join } from 'node:path'

/**
 * What the real Claude Code needs to run against a model server on loopback: nothing of this machine's own, one
 * retry, no traffic of its own accord.
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
  }
}
