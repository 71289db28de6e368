import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathWithNode } from '../src/adapters/find-program.ts'
import { testAgentsFolder } from '../src/testing/agents-folder.ts'
import { codexEnvironment, withNamespaces } from '../src/testing/codex-environment.ts'
import { startModelServer } from '../src/testing/model-server.ts'
import { normalised } from './codex/normalise.ts'
import { CodexRun, type Line } from './codex/run.ts'
import { scenarios } from './codex/scenarios.ts'
import type { Scenario } from './codex/stage.ts'

/**
 * Records what the real Codex says in each scenario, one message a line, without a trace of this machine.
 * `node --conditions=source packages/server/scripts/record-codex-fixtures.ts [name…]`
 */
const folder = join(import.meta.dirname, '../src/adapters/codex/fixtures')
const program = join(testAgentsFolder(), 'codex', 'node_modules', '.bin', 'codex')

async function record(name: string, { files = {}, setup, play, ...options }: Scenario): Promise<void> {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'parley-record-')))
  const cwd = join(place, 'project')
  const home = join(place, 'home')
  for (const path of [cwd, home]) mkdirSync(path)
  for (const [path, content] of Object.entries(files)) writeFileSync(join(cwd, path), content)
  const server = await startModelServer()
  server.wire(withNamespaces)
  const lines: Line[] = []
  try {
    const env = codexEnvironment({ url: server.url, home, ...setup })
    env.PATH = pathWithNode(env.PATH)
    const start = (more = {}) =>
      CodexRun.start({ program, env, cwd, ...options, ...more }, (line) => void lines.push(line))
    await inTime(name, play({ server, start, cwd }))
    const strays = server.calls.filter(({ status }) => status === 404)
    if (strays.length > 0) throw new Error(`${name}: ${strays.length} calls that no script answers`)
  } finally {
    await server.stop()
    rmSync(place, { recursive: true, force: true, maxRetries: 5 })
  }
  const text = normalised(lines, place)
  writeFileSync(join(folder, `${name}.jsonl`), `${text.join('\n')}\n`)
  console.log(`${name}: ${text.length} messages`)
}

async function inTime(name: string, play: Promise<void>): Promise<void> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`${name} takes too long`)), 60_000).unref()
  })
  await Promise.race([play, late])
}

const wanted = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
for (const [name, scenario] of Object.entries(scenarios)) {
  if (wanted.length === 0 || wanted.includes(name)) await record(name, scenario)
}
