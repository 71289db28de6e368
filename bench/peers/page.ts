import { mebibytes } from '../lib/figure.ts'
import { median } from '../lib/stats.ts'
import { type MetricName, metrics, type Sizes } from './metrics.ts'
import { lengthOf } from './model.ts'
import type { Results, SideResult } from './results.ts'
import type { AgentName, SideInfo } from './side.ts'
import { agentTitles, sides as allSides } from './sides.ts'

/** The page docs/performance.md, generated from the results of a run. */
export function performancePage(results: Results): string {
  const agents = Object.keys(agentTitles) as AgentName[]
  return [
    introduction(results),
    ...agents.flatMap((agent) => table(results, agent) ?? []),
    aheadSection(results),
    notMeasuredSection(results),
    meaningSection(results.sizes),
    fairnessSection(results),
    versionsSection(results),
    repeatSection(results),
  ].join('\n\n')
}

export type Ahead = {
  readonly agent: AgentName
  readonly metric: MetricName
  readonly side: string
  readonly theirs: number
  readonly ours: number
  /** True if the ranges of the rounds overlap, so that the difference may be chance. */
  readonly overlaps: boolean
}

/** Every metric in which the median of another side is better than that of Parley with the same agent. */
export function ahead(results: Results): Ahead[] {
  const measured = measuredSides(results)
  return measured
    .filter(({ info }) => info.isOurs)
    .flatMap((ours) =>
      metrics.flatMap(({ name }) =>
        measured
          .filter(({ info }) => !info.isOurs && info.agent === ours.info.agent)
          .flatMap((other) => aheadIn(name, ours, other) ?? []),
      ),
    )
}

function aheadIn(metric: MetricName, ours: MeasuredSide, other: MeasuredSide): Ahead | undefined {
  const own = samplesOf(ours.result, metric)
  const theirs = samplesOf(other.result, metric)
  if (!own || !theirs || median(theirs) >= median(own)) return undefined
  const { agent, title: side } = other.info
  const overlaps = Math.max(...theirs) >= Math.min(...own)
  return { agent, metric, side, theirs: median(theirs), ours: median(own), overlaps }
}

type MeasuredSide = { readonly info: SideInfo; readonly result: SideResult }

function measuredSides({ sides }: Results): MeasuredSide[] {
  return sides.flatMap((result) => {
    const info = allSides.find(({ name }) => name === result.name)
    return info ? [{ info, result }] : []
  })
}

/** The values of a metric; undefined if it was not measured, or if a reader did not get all of the text. */
function samplesOf({ samples, incomplete }: SideResult, metric: MetricName): readonly number[] | undefined {
  const values = samples[metric]
  return values && values.length > 0 && incomplete[metric] === undefined ? values : undefined
}

function introduction({ date, rounds, machine }: Results): string {
  const { system, processor, cores, memoryGiB, node, load } = machine
  const busy =
    load > 0.5
      ? ' Other programs ran at the same time, so the values are greater and vary more than on an idle machine.'
      : ''
  return `# Performance

Parley beside the Claude Agent SDK alone, and beside other programs and libraries that run the same agents and can be installed from npm. All of them were
measured in the same run, on the same machine, with the same scripted model on loopback.

This page is generated from [performance.json](performance.json), the results of a run on ${date}: ${cores} cores (${processor}), ${memoryGiB} GiB of memory,
${system}, Node ${node}, load average ${load.toFixed(1)} at the beginning. Less is better in every row. A cell has the median of ${rounds} ${rounds === 1 ? 'round' : 'rounds'} and, in parentheses, the least
and the greatest value; the bytes stored are measured once. Bold is the best median of a row. The absolute values are those of this machine: compare the
values of a row.${busy}

What a side does for its time differs. The SDK and the provider are libraries: they store nothing, serve one reader, and end with their process. A server that
records what it sends, such as Parley, does more per delta.`
}

function table(results: Results, agent: AgentName): string | undefined {
  const shown = measuredSides(results).filter(({ info }) => info.agent === agent)
  if (shown.length === 0) return undefined
  const head = ['', ...shown.map(({ info }) => info.title)]
  const rows = metrics.map(({ name, title, unit }) => {
    const medians = shown.map(({ result }) => medianOf(result, name))
    const best = Math.min(...medians.filter((value) => value !== undefined))
    const cells = shown.map(({ result }, index) => {
      const cell = cellOf(result, name, unit)
      return medians[index] === best && shown.length > 1 ? `**${cell.replace(/( \(.*|$)/, '**$1')}` : cell
    })
    return [withSizes(title, results.sizes), ...cells]
  })
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return `## ${agentTitles[agent]}\n\n${lines.join('\n')}`
}

function medianOf(result: SideResult, metric: MetricName): number | undefined {
  const values = samplesOf(result, metric)
  return values && median(values)
}

function cellOf(result: SideResult, metric: MetricName, unit: Unit): string {
  const share = result.incomplete[metric]
  if (share !== undefined) return `incomplete: ${percent(share)} of the text`
  const values = samplesOf(result, metric)
  if (!values) return '–'
  const spread = `${number(Math.min(...values), unit)}–${number(Math.max(...values), unit)}`
  return `${value(median(values), unit)}${values.length > 1 ? ` (${spread})` : ''}`
}

type Unit = (typeof metrics)[number]['unit']

function value(of: number, unit: Unit): string {
  if (unit === 'ms') return `${number(of, unit)} ms`
  return of < 2 ** 20 ? `${(of / 1024).toFixed(1)} KiB` : mebibytes(of)
}

function number(of: number, unit: Unit): string {
  if (unit === 'ms') return of.toFixed(of < 10 ? 2 : of < 100 ? 1 : 0)
  return (of < 2 ** 20 ? of / 1024 : of / 2 ** 20).toFixed(1)
}

const percent = (share: number) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)}%`

function aheadSection(results: Results): string {
  const found = ahead(results)
  const lines = found.map(({ agent, metric, side, theirs, ours, overlaps }) => {
    const { title, unit } = metrics.find(({ name }) => name === metric)!
    const difference = `${percent(1 - theirs / ours)} less than Parley`
    const chance = overlaps ? '; the ranges of the rounds overlap' : ''
    const what = `${agentTitles[agent]}, ${withSizes(title, results.sizes)}`
    return `- **${what}**: ${side} ${value(theirs, unit)}, ${difference} (${value(ours, unit)}${chance})`
  })
  return `## Where others are ahead\n\n${lines.length > 0 ? lines.join('\n') : 'In no row of this run.'}`
}

/** Sides that cannot have a metric, sides that lost text, and sides that failed, each with the reason. */
function notMeasuredSection(results: Results): string {
  const lines = measuredSides(results).flatMap(({ info, result }) => {
    const who = `${info.title} (${agentTitles[info.agent]})`
    const names = metrics.filter(({ name }) => info.cannot[name] !== undefined)
    const reasons = new Set(names.map(({ name }) => info.cannot[name]))
    const cannot = [...reasons].map((reason) => {
      const titles = names.filter(({ name }) => info.cannot[name] === reason).map(({ title }) => title)
      return `- **${who}**, ${withSizes(titles.join('; '), results.sizes)}: ${reason}`
    })
    const lost = metrics.flatMap(({ name, title }) => {
      const share = result.incomplete[name]
      if (share === undefined) return []
      const what = withSizes(title, results.sizes)
      return [`- **${who}**, ${what}: in the worst round, a reader got ${percent(share)} of the text.`]
    })
    return [...cannot, ...lost, ...result.failures.map((why) => `- **${who}** failed in a round: ${why}`)]
  })
  return `## What is not measured\n\n${lines.length > 0 ? lines.join('\n') : 'Every side has every row.'}`
}

function meaningSection(sizes: Sizes): string {
  const rows = metrics.map(
    ({ title, meaning }) => `| ${withSizes(title, sizes)} | ${withSizes(meaning, sizes)} |`,
  )
  return `## What the rows mean\n\n| Row | |\n| --- | --- |\n${rows.join('\n')}`
}

function withSizes(text: string, sizes: Sizes): string {
  const content = `${(lengthOf({ do: 'write', deltas: sizes.storedDeltas }) / 1024).toFixed(1)} KiB`
  const numbers: Record<string, string> = { content }
  for (const [name, size] of Object.entries(sizes)) numbers[name] = size.toLocaleString('en')
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => numbers[name] ?? whole)
}

function fairnessSection(results: Results): string {
  const ways = measuredSides(results).map(
    ({ info }) => `| ${info.title} (${agentTitles[info.agent]}) | ${info.how} |`,
  )
  return `## How each side was run

- All sides of an agent run the same program of the agent, at the same version. For Claude Code, a setting of each side names it.
- Each side has a home folder, a folder for temporary files and a work folder of its own, which it keeps between its starts. The work folder is a small git
  repository. The keys are placeholders, and the only network is loopback. Telemetry, checks for updates, and what an agent would ask the model beside the turns
  (titles, suggestions, memories) are off.
- A round starts each side once, in an order that changes with every round. Before the rounds, each side is started three times, so caches are warm.
- The client of a side is a process of its own, and parses every message that it gets. The client of a library is the process that loads it.
- The model answers from memory.

| Side | |
| --- | --- |
${ways.join('\n')}`
}

function versionsSection({ versions }: Results): string {
  const rows = versions.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`)
  return `## Versions

| | Version | Licence |
| --- | --- | --- |
${rows.join('\n')}

The peers are installed to be run here. Parley does not depend on them.`
}

function repeatSection({ seconds }: Results): string {
  return `## Repeat it

\`\`\`sh
npm run bench -- peers                                  # all sides; this run took ${Math.ceil(seconds / 60)} minutes
npm run bench -- peers --quick --only parley --only sdk # two sides, one round, smaller sizes: to try it
npm run bench -- peers --write docs/performance.md      # writes this page and performance.json
npm run bench -- peers --help
\`\`\`

The first run installs the peers into \`~/.cache/parley/peers\` (\`PARLEY_BENCH_PEERS\` names another folder) and builds Parley; that takes a few more minutes. The rows
about memory and processor time need Linux. Nothing else should run on the machine.
`
}
