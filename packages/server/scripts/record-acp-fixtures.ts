import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { claudeAcp, createAcpAdapter, gemini as geminiAgent } from '../src/adapters/acp/index.ts'
import { testAgentsFolder } from '../src/testing/agents-folder.ts'
import { claudeEnvironment } from '../src/testing/claude-environment.ts'
import { geminiEnvironment } from '../src/testing/gemini-environment.ts'
import { startModelServer } from '../src/testing/model-server.ts'
import { connectInput } from '../src/testing/read-connection.ts'
import { claude } from './acp/claude.ts'
import { gemini } from './acp/gemini.ts'
import { normalised } from './acp/normalise.ts'
import type { Scenario } from './acp/stage.ts'

/**
 * Records what Parley and real ACP agents say to each other in each scenario, one message a line, without a trace of
 * this machine. `node --conditions=source packages/server/scripts/record-acp-fixtures.ts [name…]`
 */
const folder = join(import.meta.dirname, '../src/adapters/acp/fixtures')
const tee = join(import.meta.dirname, 'acp/tee.ts')
const agents = {
  gemini: { preset: geminiAgent, environment: geminiEnvironment, args: ['--acp'] },
  'claude-acp': { preset: claudeAcp, environment: claudeEnvironment, args: [] },
}

async function record(name: string, scenario: Scenario, id: keyof typeof agents): Promise<void> {
  const { preset, environment, args } = agents[id]
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'parley-acp-')))
  const cwd = join(place, 'project')
  const home = join(place, 'home')
  const file = join(place, 'frames.jsonl')
  mkdirSync(cwd)
  mkdirSync(home)
  for (const [path, content] of Object.entries(scenario.files ?? {})) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), content)
  }
  const server = await startModelServer()
  const program = join(testAgentsFolder(), id, 'node_modules', '.bin', preset.command)
  const adapter = createAcpAdapter(preset, {
    env: environment({ url: server.url, home }),
    ...(scenario.env && { add: scenario.env }),
    executable: process.execPath,
    args: ['--conditions=source', tee, file, program, ...args],
  })
  try {
    const connect: Parameters<Scenario['play']>[0]['connect'] = (changes) => {
      rmSync(file, { force: true })
      return adapter.connect(connectInput({ connectionId: 'con_recorded', cwd, ...changes }))
    }
    await inTime(name, scenario.play({ server, cwd, connect }))
    const strays = server.calls.filter(({ status }) => status === 404)
    if (strays.length > 0) throw new Error(`${name}: ${strays.length} calls that no script answers`)
    const lines = normalised(readFileSync(file, 'utf8').trim().split('\n'), place)
    writeFileSync(join(folder, `${name}.jsonl`), `${lines.join('\n')}\n`)
    console.log(`${name}: ${lines.length} messages`)
  } finally {
    await server.stop()
    rmSync(place, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function inTime(name: string, play: Promise<void>): Promise<void> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`${name} takes too long`)), 60_000).unref()
  })
  await Promise.race([play, late])
}

const wanted = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
for (const [name, scenario] of Object.entries({ ...gemini, ...claude })) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  await record(name, scenario, name in gemini ? 'gemini' : 'claude-acp')
}
