import { join } from 'node:path'
import { pathWithNode } from '@parley/adapter-kit/find-program'
import { testAgentsFolder } from '../src/testing/agents-folder.ts'
import { codexEnvironment, withNamespaces } from '../src/testing/codex-environment.ts'
import { normalised } from './codex/normalise.ts'
import { CodexRun, type Line } from './codex/run.ts'
import { scenarios } from './codex/scenarios.ts'
import type { Scenario } from './codex/stage.ts'
import { inTime, recordFixtures } from './recorder.ts'

const program = join(testAgentsFolder(), 'codex', 'node_modules', '.bin', 'codex')

/**
 * Records the messages that the real Codex sends in each scenario, one per line, without names or paths of this
 * machine.
 * `node --conditions=source packages/server/scripts/record-codex-fixtures.ts [name…]`
 */
await recordFixtures<Scenario>({
  adapter: 'codex',
  scenarios,
  async record({ files: _, setup, play, ...options }, { path, cwd, home, server }, name) {
    server.wire(withNamespaces)
    const lines: Line[] = []
    const env = codexEnvironment({ url: server.url, home, ...setup })
    env.PATH = pathWithNode(env.PATH)
    const start = (more = {}) =>
      CodexRun.start({ program, env, cwd, ...options, ...more }, (line) => void lines.push(line))
    await inTime(name, play({ server, start, cwd }))
    return normalised(lines, path)
  },
})
