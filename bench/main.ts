import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { access } from './access.ts'
import { agents } from './agents.ts'
import { alerts } from './alerts.ts'
import { appends } from './appends.ts'
import { backup } from './backup.ts'
import { chat } from './chat.ts'
import { claudeFlood } from './claude-flood.ts'
import { claudeLatency } from './claude-latency.ts'
import { claudeMemory } from './claude-memory.ts'
import { claudeStart } from './claude-start.ts'
import { claudeTurns } from './claude-turns.ts'
import { consoleInBrowser } from './console.ts'
import { deltas } from './deltas.ts'
import { fanOut } from './fan-out.ts'
import { fold } from './fold.ts'
import { folders } from './folders.ts'
import { handOff } from './hand-off.ts'
import { install } from './install.ts'
import { latency } from './latency.ts'
import type { Figure, Row } from './lib/figure.ts'
import { printTable } from './lib/table.ts'
import { memory } from './memory.ts'
import { nodes } from './nodes.ts'
import { opening } from './opening.ts'
import { pairing } from './pairing.ts'
import { replay } from './replay.ts'
import { seals } from './seals.ts'
import { search } from './search.ts'
import { start } from './start.ts'
import { storedBytes } from './stored-bytes.ts'
import { telemetry } from './telemetry.ts'
import { worktrees } from './worktrees.ts'

/** Every figure, in the order of the table. To add one, write a file that exports a Figure, and add it here. */
const figures: readonly Figure[] = [
  deltas,
  latency,
  fanOut,
  chat,
  appends,
  seals,
  replay,
  backup,
  search,
  opening,
  fold,
  handOff,
  folders,
  worktrees,
  storedBytes,
  memory,
  start,
  install,
  telemetry,
  access,
  alerts,
  nodes,
  claudeTurns,
  claudeStart,
  claudeFlood,
  claudeLatency,
  claudeMemory,
  agents,
  consoleInBrowser,
  pairing,
]

// The comparison with other projects has options and output of its own, and is not part of a run of all figures.
if (process.argv[2] === 'peers') {
  const { comparePeers } = await import('./peers.ts')
  process.exit(await comparePeers(process.argv.slice(3)))
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
})
const unknown = positionals.filter((name) => !figures.some((figure) => figure.name === name))
if (unknown.length > 0) {
  console.error(
    `Unknown figure: ${unknown.join(', ')}. Known figures: ${figures.map(({ name }) => name).join(', ')}, peers.`,
  )
  process.exit(2)
}

const chosen = figures.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const load = loadavg()[0] ?? 0
const rows: (Row & { readonly of: string })[] = []
const failures: { of: string; error: string }[] = []
for (const { name, measure } of chosen) {
  const begun = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  try {
    for (const row of await measure({ quick: values.quick, folder })) rows.push({ ...row, of: name })
  } catch (error) {
    failures.push({ of: name, error: String(error) })
  }
  rmSync(folder, { recursive: true, force: true })
  console.error(`${name}: ${((performance.now() - begun) / 1000).toFixed(0)} s`)
}

const machine = {
  date: new Date().toISOString(),
  node: process.version,
  cores: cpus().length,
  processor: cpus()[0]?.model,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  load,
  quick: values.quick,
}
printTable(rows)
if (load > 0.5) console.error(`The machine was busy (load ${load.toFixed(1)}): quote ratios, not values.`)
writeFileSync(
  new URL('./results.json', import.meta.url),
  `${JSON.stringify({ machine, rows, failures }, null, 2)}\n`,
)
for (const { of, error } of failures) console.error(`FAILED ${of}: ${error}`)
// Exits explicitly, because a failed figure may have left timers or sockets that keep this process alive.
process.exit(failures.length > 0 ? 1 : 0)
