import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { messageOf, visible } from '@parley/protocol'
import { builtInAdapters } from '../packages/server/src/adapters/index.ts'
import { version as parleyVersion } from '../packages/server/src/version.ts'
import { type AgentFiles, testedAgentFiles } from './drift/agent-files.ts'
import { examine } from './drift/examine.ts'
import { type AgentReport, exitCodes, reportOf, reportText } from './drift/report.ts'
import { folderFor, realSteps } from './drift/steps.ts'

const help = `npm run drift -- [options]

Compares the newest release of each agent with the release that this version of Parley is tested with: runs the
contract suite and the recorded scenarios with it, and prints what changed. See docs/drift.md.

  --agent ID     only this agent; repeat it for several (default: all agents that the contract suite tests)
  --version X    this version instead of the newest one; needs exactly one --agent
  --json FILE    write the report to this file, as JSON
  --keep         keep the installed releases and the recordings, and print their folder
  --help         print this help

Exit code: 0 no drift, 1 drift, 2 an agent could not be examined.
`

type Options = ReturnType<typeof optionsIn>

function optionsIn(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      agent: { type: 'string', multiple: true },
      version: { type: 'string' },
      json: { type: 'string' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const { agent: ids = [], ...rest } = values
  if (rest.version !== undefined && ids.length !== 1) throw new Error('--version needs exactly one --agent.')
  return { ids: [...new Set(ids)], ...rest }
}

/** The agents to examine, in the order of the list of agents. */
function agentsFor(ids: readonly string[]) {
  const files = testedAgentFiles()
  const known = builtInAdapters().flatMap(({ id, install }) => {
    const own = files.get(id)
    return own && install ? [{ id, install, files: own }] : []
  })
  const unknown = ids.find((id) => known.every((one) => one.id !== id))
  if (unknown !== undefined)
    throw new Error(`There is no agent "${unknown}". Agents: ${known.map(({ id }) => id).join(', ')}.`)
  return ids.length === 0 ? known : known.filter(({ id }) => ids.includes(id))
}

const say = (text: string) => process.stderr.write(`${text.split('\n').map(visible).join('\n')}\n`)

async function main({ options, agents }: NonNullable<ReturnType<typeof chosen>>): Promise<number> {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  const at = Date.now()
  const reports: AgentReport[] = []
  for (const agent of agents) {
    stop.signal.throwIfAborted()
    reports.push(await examineOne(agent, options, stop.signal))
  }
  const { version: node, platform } = process
  const report = reportOf(reports, { at, parley: parleyVersion, node, platform })
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`)
  process.stdout.write(`${reportText(report)}\n`)
  return exitCodes[report.result]
}

type Agent = ReturnType<typeof agentsFor>[number] & { readonly files: AgentFiles }

async function examineOne({ id, install, files }: Agent, { version, keep }: Options, signal: AbortSignal) {
  const folder = folderFor(id)
  const agent = { id, package: install.package, version: install.version }
  try {
    const steps = realSteps(folder, { files, install, say, signal })
    return await examine(agent, version ?? 'latest', steps)
  } finally {
    if (keep && readdirSync(folder).length > 0) say(`${id}: kept in ${folder}`)
    else rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** The options and the agents that they name. If the options are wrong, prints the mistake and returns undefined. */
function chosen(args: readonly string[]) {
  try {
    const options = optionsIn(args)
    return { options, agents: agentsFor(options.ids) }
  } catch (thrown) {
    say(`${messageOf(thrown)}\n\n${help}`)
    return undefined
  }
}

const given = chosen(process.argv.slice(2))
if (given?.options.help) process.stdout.write(help)
else process.exitCode = given ? await main(given).catch(failed) : exitCodes.failed

function failed(thrown: unknown): number {
  say(messageOf(thrown))
  return exitCodes.failed
}
