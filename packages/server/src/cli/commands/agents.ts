import type { AgentInfo } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { tableLines } from '../terminal/table.ts'

export type AgentsOptions = Flags & { readonly json?: boolean }

const columns = [
  { name: 'ID' },
  { name: 'FOUND' },
  { name: 'VERSION' },
  { name: 'SIGNED IN' },
  { name: 'WHAT TO DO', shrinks: true },
]

export async function agents(options: AgentsOptions, context: Context): Promise<number> {
  const { output } = context
  await using server = await connect(configurationOf(context, options), context)
  const { agents: found } = await server.client.call('listAgents')
  if (options.json) {
    for (const agent of found) output.out(`${JSON.stringify(agent)}\n`)
    return 0
  }
  const rows = found.map((agent) => rowOf(agent, context))
  const [head = '', ...lines] = tableLines(columns, rows, output.isOutTerminal ? output.columns() : undefined)
  output.out([output.outStyle.dim(head), ...lines, ''].join('\n'))
  return 0
}

function rowOf(agent: AgentInfo, { commandLine }: Context): string[] {
  const { id, found, version, signedIn, hint } = agent
  const isReady = found && signedIn !== false
  return [
    id,
    found ? 'yes' : 'no',
    version ?? '-',
    !found ? '-' : signedIn === undefined ? 'unknown' : signedIn ? 'yes' : 'no',
    hint ?? (isReady ? commandLine(`run ${id} "…"`) : 'see its documentation'),
  ]
}
