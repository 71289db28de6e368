import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg, tmpdir, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { startProcess } from './lib/processes.ts'
import { built } from './lib/program.ts'
import { installPeer, versionsIn } from './peers/install.ts'
import { quickSizes, sizes } from './peers/metrics.ts'
import type { ModelCalls } from './peers/model-process.ts'
import { performancePage } from './peers/page.ts'
import type { Machine, Results, Version } from './peers/results.ts'
import { runSides } from './peers/run.ts'
import type { Programs, SideInfo } from './peers/side.ts'
import { type PackageSet, packageSets, sides } from './peers/sides.ts'

const usage = `Usage: npm run bench -- peers [options]

Measures Parley beside the Claude Agent SDK and other programs that run the same agents, and prints the
page docs/performance.md. The first run installs these programs into a cache folder.

  --only NAME    measure only this side; may be repeated
                 (${sides.map(({ name }) => name).join(', ')})
  --quick        one round with smaller sizes, to check that it works
  --rounds N     the number of rounds; 4 by default
  --write PAGE   write the page to this file, and the results beside it as JSON; needs all sides
  --from JSON    measure nothing: generate the page from these results
  --help         print this text
`

/** Runs `npm run bench -- peers` with these arguments. Returns the exit code. */
export async function comparePeers(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      write: { type: 'string' },
      from: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const unknown = values.only.filter((name) => !sides.some((side) => side.name === name))
  const isPart = values.quick || values.only.length > 0
  if (values.help || unknown.length > 0 || (values.write !== undefined && isPart)) {
    for (const name of unknown) console.error(`There is no side ${name}.`)
    if (values.write !== undefined && isPart) console.error('--write needs a whole run of all sides.')
    console.error(usage)
    return values.help ? 0 : 2
  }
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 4))
  if (!(Number.isInteger(rounds) && rounds > 0)) {
    console.error(`--rounds ${values.rounds} is not a number of rounds.`)
    return 2
  }
  const chosen = sides.filter(({ name }) => values.only.length === 0 || values.only.includes(name))
  const measured =
    values.from === undefined ? await measure(chosen, { quick: values.quick, rounds }) : read(values.from)
  // The page is generated from the content of the file.
  const json = `${JSON.stringify(measured, rounded, 2)}\n`
  const results = JSON.parse(json) as Results
  const page = performancePage(results)
  if (values.write === undefined) console.log(page)
  else {
    writeFileSync(values.write, page)
    const file = values.write.replace(/\.md$/, '.json')
    if (file !== values.write) writeFileSync(file, json)
  }
  return results.sides.some(({ failures }) => failures.length > 0) ? 1 : 0
}

const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Results

const rounded = (_: string, value: unknown) =>
  typeof value === 'number' ? Math.round(value * 1000) / 1000 : value

const say = (line: string) => console.error(line)

type RunOptions = { readonly quick: boolean; readonly rounds: number }

async function measure(chosen: readonly SideInfo[], { quick, rounds }: RunOptions): Promise<Results> {
  // Before the installation and the build, which are work of their own.
  const load = loadavg()[0] ?? 0
  const sets = packageSets.filter(({ name }) => chosen.some((side) => needs(side).includes(name)))
  const packages: Record<string, string> = {}
  for (const set of sets) packages[set.name] = await installPeer(set, (line) => say(`${set.name}: ${line}`))
  const programs: Programs = { claude: claudeProgram(), packages }
  built()
  const begun = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'parley-peers-'))
  const model = startProcess<ModelCalls>('../peers/model-process.ts')
  try {
    const { url: modelUrl } = await model.call('address')
    const sizesOfRun = quick ? quickSizes : sizes
    const measured = await runSides(chosen, { folder, modelUrl, programs, sizes: sizesOfRun, rounds, say })
    return {
      date: new Date().toISOString().slice(0, 10),
      seconds: Math.round((performance.now() - begun) / 1000),
      rounds,
      sizes: sizesOfRun,
      machine: machine(load),
      versions: versions(chosen, sets, programs),
      sides: measured,
    }
  } finally {
    await model.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** The package sets that a side runs: its own, and those of its agent. */
function needs({ agent, packages }: SideInfo): readonly (string | undefined)[] {
  if (packages === 'sandbox-agent') return [packages, 'claude-agent-acp']
  return agent === 'claude' ? [packages] : [agent]
}

const require = createRequire(import.meta.url)
const sdkFolder = () => dirname(require.resolve('@anthropic-ai/claude-agent-sdk'))

/** The program of the Agent SDK with which Parley is tested. All sides run it. */
function claudeProgram(): string {
  const program = ['', '-musl']
    .map((suffix) => join(`${sdkFolder()}-${process.platform}-${process.arch}${suffix}`, 'claude'))
    .find((path) => existsSync(path))
  if (program === undefined) throw new Error('Claude Code is not installed beside its Agent SDK: npm install')
  return program
}

function versions(
  chosen: readonly SideInfo[],
  sets: readonly PackageSet[],
  { claude, packages }: Programs,
): Version[] {
  const commit = execFileSync('git', ['rev-parse', '--short=10', 'HEAD'], { encoding: 'utf8' }).trim()
  const own: Version[] = [{ name: 'Parley', version: `commit ${commit}`, licence: 'Apache-2.0' }]
  if (chosen.some(({ agent }) => agent === 'claude')) {
    const { version } = read(join(sdkFolder(), 'package.json')) as unknown as { version: string }
    const program = execFileSync(claude, ['--version'], { encoding: 'utf8' }).split(' ')[0] ?? ''
    const licence = 'proprietary; see its LICENSE.md'
    own.push({ name: 'Claude Code', version: program, licence })
    own.push({ name: '@anthropic-ai/claude-agent-sdk', version, licence })
  }
  return [...own, ...sets.flatMap((set) => versionsIn(packages[set.name] ?? '', set))]
}

function machine(load: number): Machine {
  return {
    system: `${systemName()} ${process.arch}`,
    processor: cpus()[0]?.model ?? '',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    load,
  }
}

function systemName(): string {
  try {
    return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? process.platform
  } catch {
    return process.platform
  }
}
