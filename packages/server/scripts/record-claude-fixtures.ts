import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { claudeEnvironment } from '../src/testing/claude-environment.ts'
import { startModelServer } from '../src/testing/model-server.ts'
import { background } from './claude/background.ts'
import { conversation } from './claude/conversation.ts'
import { faults } from './claude/faults.ts'
import { normalised } from './claude/normalise.ts'
import { ClaudeRun } from './claude/run.ts'
import type { Scenario } from './claude/stage.ts'
import { tools } from './claude/tools.ts'

/**
 * Records what the real Claude Code says in each scenario, one message a line, without a trace of this machine.
 * `node --conditions=source packages/server/scripts/record-claude-fixtures.ts [name…]`
 */
const folder = join(import.meta.dirname, '../src/adapters/claude/fixtures')

async function record(name: string, scenario: Scenario): Promise<void> {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'parley-claude-')))
  const cwd = join(place, 'project')
  const home = join(place, 'home')
  mkdirSync(cwd)
  mkdirSync(home)
  for (const [path, content] of Object.entries(scenario.files ?? {})) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), content)
  }
  const server = await startModelServer()
  const messages: unknown[] = []
  try {
    const env = { ...claudeEnvironment({ url: server.url, home }), ...scenario.env }
    const start = (more = {}) => {
      const options = { env, cwd, ...scenario.options, ...more }
      return new ClaudeRun(options, (message) => messages.push(message))
    }
    await inTime(name, scenario.play({ server, start, cwd }))
    const strays = server.calls.filter(({ status }) => status === 404)
    if (strays.length > 0) throw new Error(`${name}: ${strays.length} calls that no script answers`)
  } finally {
    await server.stop()
    rmSync(place, { recursive: true, force: true, maxRetries: 5 })
  }
  const lines = normalised(messages, place)
  writeFileSync(join(folder, `${name}.jsonl`), `${lines.join('\n')}\n`)
  console.log(`${name}: ${lines.length} messages`)
}

async function inTime(name: string, play: Promise<void>): Promise<void> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`${name} takes too long`)), 60_000).unref()
  })
  await Promise.race([play, late])
}

const wanted = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
for (const [name, scenario] of Object.entries({ ...background, ...conversation, ...tools, ...faults })) {
  if (wanted.length === 0 || wanted.includes(name)) await record(name, scenario)
}
