import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '@parley/protocol'
import { type ModelServer, startModelServer } from '../src/testing/model-server.ts'

/** The surroundings of one scenario: a temporary folder with a project and a home, and a scripted model. */
export type Place = {
  readonly path: string
  readonly cwd: string
  readonly home: string
  readonly server: ModelServer
}

type Scenario = { readonly files?: Readonly<Record<string, string | Buffer>> }

export type Recorder<S extends Scenario> = {
  /** The name of the adapter's folder, in which the recordings are stored. */
  readonly adapter: string
  readonly scenarios: Readonly<Record<string, S>>
  /** The id of the agent that plays a scenario, if several agents have the same adapter. */
  readonly agentOf?: (name: string) => string
  /** Plays the scenario and returns the lines of its recording. */
  record(scenario: S, place: Place, name: string): Promise<readonly string[]>
}

/**
 * Records the scenarios that the command line names, or all of them. `--agent ID`: only those of this agent. `--into
 * FOLDER`: writes the recordings into this folder. `--json`: prints one line of JSON for each scenario, and continues
 * if one of them cannot be recorded.
 */
export async function recordFixtures<S extends Scenario>(recorder: Recorder<S>): Promise<void> {
  const { adapter, scenarios, agentOf = () => adapter } = recorder
  const { values, positionals: wanted } = parseArgs({
    options: {
      agent: { type: 'string' },
      into: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  })
  const folder = values.into ?? join(import.meta.dirname, '../src/adapters', adapter, 'fixtures')
  mkdirSync(folder, { recursive: true })
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    if (values.agent !== undefined && agentOf(name) !== values.agent) continue
    try {
      const lines = await recordOne(recorder, name, scenario)
      writeFileSync(join(folder, `${name}.jsonl`), `${lines.join('\n')}\n`)
      console.log(values.json ? JSON.stringify({ scenario: name }) : `${name}: ${lines.length} lines`)
    } catch (thrown) {
      if (!values.json) throw thrown
      console.log(JSON.stringify({ scenario: name, error: messageOf(thrown) }))
    }
  }
  // A scenario that took too long can still be waiting for its agent.
  if (values.json) process.exit()
}

async function recordOne<S extends Scenario>(recorder: Recorder<S>, name: string, scenario: S) {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'parley-record-')))
  const cwd = join(path, 'project')
  const home = join(path, 'home')
  for (const made of [cwd, home]) mkdirSync(made)
  for (const [file, content] of Object.entries(scenario.files ?? {})) {
    mkdirSync(dirname(join(cwd, file)), { recursive: true })
    writeFileSync(join(cwd, file), content)
  }
  const server = await startModelServer()
  try {
    const lines = await recorder.record(scenario, { path, cwd, home, server }, name)
    const strays = server.calls.filter(({ status }) => status === 404)
    if (strays.length > 0) throw new Error(`${name}: ${strays.length} calls that no script answers`)
    return lines
  } finally {
    await server.stop()
    rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  }
}

export async function inTime(name: string, play: Promise<void>): Promise<void> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`${name} takes too long`)), 90_000).unref()
  })
  await Promise.race([play, late])
}

export const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
