import type { DatabaseInfo, NodeInfo } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { durationText, millisecondsText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { printList } from '../terminal/table.ts'

const columns = [
  { name: 'NODE' },
  { name: 'MACHINE', shrinks: true },
  { name: 'PLACE', shrinks: true },
  { name: 'STATE' },
  { name: 'SESSIONS' },
  { name: 'WORKING' },
  { name: 'LEASE' },
  { name: 'POSTGRES' },
  { name: 'VERSION' },
]

export async function nodes(options: Flags & { readonly json?: boolean }, context: Context): Promise<number> {
  const { output } = context
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { nodes: found, database } = await server.client.call('listNodes')
  const list = {
    columns,
    row: rowOf,
    empty: 'This server has lost its lease and is registering again.',
  }
  printList(found.toSorted(byState), list, { json: options.json, output })
  if (!options.json) output.err(`${output.errStyle.dim(databaseText(database))}\n`)
  return 0
}

const states = ['alive', 'expired', 'gone'] satisfies NodeInfo['state'][]

/** Sorts living nodes first, and keeps the nodes of a machine together. */
function byState(one: NodeInfo, other: NodeInfo): number {
  return (
    states.indexOf(one.state) - states.indexOf(other.state) ||
    one.machine.localeCompare(other.machine) ||
    one.url.localeCompare(other.url)
  )
}

function rowOf(node: NodeInfo): string[] {
  const { url, machine, place, state, isSelf, sessions, working, leaseAgeMs, databaseLatencyMs, version } =
    node
  return [
    url,
    machine,
    place ?? '-',
    isSelf ? `${state} (this one)` : state,
    sessions === undefined ? '-' : String(sessions),
    working === undefined ? '-' : String(working),
    leaseAgeMs === undefined ? '-' : durationText(leaseAgeMs),
    databaseLatencyMs === undefined ? '-' : millisecondsText(databaseLatencyMs),
    version,
  ]
}

function databaseText(database: DatabaseInfo | undefined): string {
  if (!database) return 'This server uses SQLite, so it is the only node.'
  const { version, latencyMs, clockSkewMs } = database
  const skew = Math.round(clockSkewMs)
  const clock =
    skew === 0
      ? 'its clock agrees with the clock of this server'
      : `its clock is ${Math.abs(skew)} ms ${skew > 0 ? 'ahead of' : 'behind'} the clock of this server`
  return `PostgreSQL ${version}: answers in ${millisecondsText(latencyMs)}, ${clock}`
}
