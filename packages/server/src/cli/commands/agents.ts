import { homedir } from 'node:os'
import { type AgentInfo, capabilityNames, PermissionMode } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { printTable, tableLines, tableWidth } from '../terminal/table.ts'
import { oneLine } from '../terminal/visible.ts'

export type AgentsOptions = Flags & { readonly json?: boolean; readonly capabilities?: boolean }

const columns = [
  { name: 'ID' },
  { name: 'FOUND' },
  { name: 'VERSION' },
  { name: 'SIGNED IN' },
  { name: 'WHERE', shrinks: true },
  { name: 'WHAT TO DO' },
]

export async function agents(options: AgentsOptions, context: Context): Promise<number> {
  const { output } = context
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { agents: found, failures = [] } = await server.client.call('listAgents')
  if (options.json) {
    for (const one of [...found, ...failures]) output.out(`${JSON.stringify(one)}\n`)
    return 0
  }
  const rows = found.map((agent) => rowOf(agent, context))
  printTable(options.capabilities ? matrixLines(found) : agentLines(rows, tableWidth(output)), output)
  for (const { error } of failures) output.err(`${output.errStyle.red(oneLine(error.message))}\n`)
  return 0
}

/** The capabilities and the modes of the agents that were found, in the order of docs/agents.md. */
function matrixLines(agents: readonly AgentInfo[]): string[] {
  const shown = agents.filter(({ found }) => found)
  const row = (name: string, has: (agent: AgentInfo) => boolean) => [
    name,
    ...shown.map((agent) => (has(agent) ? 'yes' : '-')),
  ]
  const rows = [
    ...capabilityNames.map((name) => row(name, ({ capabilities }) => capabilities[name])),
    ...PermissionMode.options.map((mode) => row(`mode ${mode}`, ({ modes }) => modes.includes(mode))),
  ]
  return tableLines(
    ['CAPABILITY', ...shown.map(({ id }) => id)].map((name) => ({ name })),
    rows,
  )
}

/**
 * The table of agents as lines. If the table is too wide, the hint is printed whole on its own line below
 * each agent.
 */
export function agentLines(rows: readonly string[][], width: number | undefined): string[] {
  const whole = tableLines(columns, rows, width)
  if (width === undefined || whole.every((line) => line.length <= width)) return whole
  const [head = '', ...lines] = tableLines(
    columns.slice(0, -1),
    rows.map((row) => row.slice(0, -1)),
    width,
  )
  return [head, ...lines.flatMap((line, index) => [line, `  ${oneLine(rows[index]?.at(-1) ?? '')}`])]
}

function rowOf(agent: AgentInfo, context: Context): string[] {
  const { id, found, usable, version, signedIn, path } = agent
  const isUsable = found && usable !== false
  return [
    id,
    found ? (isUsable ? 'yes' : 'unusable') : 'no',
    version ?? '-',
    !isUsable ? '-' : signedIn === undefined ? 'unknown' : signedIn ? 'yes' : 'no',
    path === undefined ? '-' : shortPath(path),
    whatToDo(agent, context),
  ]
}

function whatToDo(agent: AgentInfo, { commandLine }: Context): string {
  const { id, found, usable, signedIn, hint, install, installing, installError } = agent
  if (installing) return `wait: it is being installed (${installing.line})`
  if (installError) return `${installError.message} Then: ${commandLine(`agents install ${id}`)}`
  if (!found && install) return commandLine(`agents install ${id}`)
  if (!found || usable === false || signedIn === false) return hint ?? 'see its documentation'
  if (install?.installed !== undefined && install.installed !== install.version)
    return commandLine(`agents update ${id}`)
  return hint ?? commandLine(`run ${id} "…"`)
}

function shortPath(path: string): string {
  const home = homedir()
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
