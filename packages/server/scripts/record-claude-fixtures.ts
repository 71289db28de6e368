import { claudeEnvironment } from '../src/testing/claude-environment.ts'
import { background } from './claude/background.ts'
import { conversation } from './claude/conversation.ts'
import { faults } from './claude/faults.ts'
import { normalised } from './claude/normalise.ts'
import { ClaudeRun } from './claude/run.ts'
import type { Scenario } from './claude/stage.ts'
import { tools } from './claude/tools.ts'
import { inTime, recordFixtures } from './recorder.ts'

/**
 * Records the messages that the real Claude Code sends in each scenario, one per line, without names or paths of this
 * machine.
 * `node --conditions=source packages/server/scripts/record-claude-fixtures.ts [name…]`
 */
await recordFixtures<Scenario>({
  adapter: 'claude',
  scenarios: { ...background, ...conversation, ...tools, ...faults },
  async record(scenario, { path, cwd, home, server }, name) {
    const messages: unknown[] = []
    const env = { ...claudeEnvironment({ url: server.url, home }), ...scenario.env }
    const start = (more = {}) => {
      const options = { env, cwd, ...scenario.options, ...more }
      return new ClaudeRun(options, (message) => messages.push(message))
    }
    await inTime(name, scenario.play({ server, start, cwd }))
    return normalised(messages, path)
  },
})
