import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startModelServer } from '../src/testing/model-server.ts'
import { opencodeConfig, opencodeEnvironment } from '../src/testing/opencode-environment.ts'
import { conversation } from './opencode/conversation.ts'
import { faults } from './opencode/faults.ts'
import { normalised } from './opencode/normalise.ts'
import { OpenCodeRun } from './opencode/run.ts'
import type { Scenario } from './opencode/stage.ts'
import { tools } from './opencode/tools.ts'

/**
 * Records what the real OpenCode says in each scenario, one event a line, without a trace of this machine.
 * `node --conditions=source packages/server/scripts/record-opencode-fixtures.ts [name…]`
 */
const folder = join(import.meta.dirname, '../src/adapters/opencode/fixtures')

async function record(name: string, scenario: Scenario): Promise<void> {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'parley-opencode-')))
  const cwd = join(place, 'project')
  const home = join(place, 'home')
  mkdirSync(cwd)
  mkdirSync(home)
  for (const [path, content] of Object.entries(scenario.files ?? {})) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), content)
  }
  if (scenario.git) execFileSync('git', ['init', '--quiet', cwd])
  const server = await startModelServer()
  const lines: unknown[] = []
  const run = new OpenCodeRun((line) => lines.push(line))
  try {
    const config = { ...opencodeConfig(server.url), ...scenario.config }
    const env = {
      ...opencodeEnvironment({ url: server.url, home }),
      OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
    }
    await inTime(name, run.start(env, cwd))
    await inTime(name, scenario.play({ server, run, cwd }))
    const strays = server.calls.filter(({ status }) => status === 404)
    if (strays.length > 0) throw new Error(`${name}: ${strays.length} calls that no script answers`)
  } finally {
    await run.stop()
    await server.stop()
    rmSync(place, { recursive: true, force: true, maxRetries: 5 })
  }
  const recorded = normalised(lines, place)
  writeFileSync(join(folder, `${name}.jsonl`), `${recorded.join('\n')}\n`)
  console.log(`${name}: ${recorded.length} lines`)
}

async function inTime(name: string, play: Promise<void>): Promise<void> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`${name} takes too long`)), 90_000).unref()
  })
  await Promise.race([play, late])
}

const wanted = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
for (const [name, scenario] of Object.entries({ ...conversation, ...tools, ...faults })) {
  if (wanted.length === 0 || wanted.includes(name)) await record(name, scenario)
}
process.exit()
