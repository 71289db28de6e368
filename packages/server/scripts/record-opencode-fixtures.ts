import { execFileSync } from 'node:child_process'
import { opencodeConfig, opencodeEnvironment } from '../src/testing/opencode-environment.ts'
import { conversation } from './opencode/conversation.ts'
import { faults } from './opencode/faults.ts'
import { normalised } from './opencode/normalise.ts'
import { OpenCodeRun } from './opencode/run.ts'
import type { Scenario } from './opencode/stage.ts'
import { tools } from './opencode/tools.ts'
import { inTime, recordFixtures } from './recorder.ts'

/**
 * Records the events that the real OpenCode sends in each scenario, one per line, without names or paths of this
 * machine.
 * `node --conditions=source packages/server/scripts/record-opencode-fixtures.ts [name…]`
 */
await recordFixtures<Scenario>({
  adapter: 'opencode',
  scenarios: { ...conversation, ...tools, ...faults },
  async record(scenario, { path, cwd, home, server }, name) {
    if (scenario.git) execFileSync('git', ['init', '--quiet', cwd])
    const lines: unknown[] = []
    const run = new OpenCodeRun((line) => lines.push(line))
    const config = { ...opencodeConfig(server.url), ...scenario.config }
    const env = {
      ...opencodeEnvironment({ url: server.url, home }),
      OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
    }
    try {
      await inTime(name, run.start(env, cwd))
      await inTime(name, scenario.play({ server, run, cwd }))
    } finally {
      await run.stop()
    }
    return normalised(lines, path)
  },
})
process.exit()
