import { homedir } from 'node:os'
import { join } from 'node:path'

/** The agents that Parley installs and that tests drive with the real program. */
export const testAgents: readonly string[] = [
  'codex',
  'opencode',
  'gemini',
  'claude-acp',
  'codex-acp',
  'qwen',
]

/** The folder in which the agents for tests are installed, once per machine and outside the checkout. */
export function testAgentsFolder(): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
  return process.env.PARLEY_TEST_AGENTS ?? join(cache, 'parley', 'agents')
}
