import { hasCode, messageOf, type NodeInfo, type NodeList, type NodeProblem } from '@parley/protocol'
import { oldestVersion } from '../stores/postgres/database.ts'
import { type DatabaseInspection, inspectDatabase } from '../stores/postgres/inspect.ts'
import { postgresMigrations } from '../stores/postgres/schema.ts'
import { type Check, fail, ok, warn } from './checks.ts'
import { durationText, millisecondsText } from './durations.ts'

/**
 * This file contains the checks of `parley doctor` for a server on PostgreSQL. No check contains the URL of the
 * database.
 */

const slowMs = 50
const skewWarnMs = 1_000
/** Lower than the limit at which nodes refuse each other's requests, which is five minutes. */
const skewFailMs = 60_000

export async function databaseChecks(url: string): Promise<Check[]> {
  try {
    return inspectionChecks(await inspectDatabase({ url }))
  } catch (thrown) {
    // The messages of other errors already say what to do.
    const todo = hasCode(thrown, 'busy')
      ? ' Check that PostgreSQL runs, that this machine can reach it, and that PARLEY_DATABASE_URL is correct.'
      : ''
    return [fail('database', `${messageOf(thrown)}${todo}`)]
  }
}

export function inspectionChecks(found: DatabaseInspection): Check[] {
  return [versionCheck(found), latencyCheck(found), clockCheck(found)]
}

function versionCheck({ version, majorVersion, schemaVersion, mayCreate }: DatabaseInspection): Check {
  const name = 'database'
  const known = postgresMigrations.at(-1)?.version ?? 0
  const what = `PostgreSQL ${version}`
  if (majorVersion < oldestVersion)
    return fail(name, `${what} is too old: use PostgreSQL ${oldestVersion} or newer`)
  if (schemaVersion > known)
    return fail(
      name,
      `${what} has schema version ${schemaVersion}, but this version of Parley supports ${known}: update Parley`,
    )
  if (schemaVersion === known) return ok(name, `${what}, schema ${schemaVersion}`)
  if (schemaVersion > 0) return ok(name, `${what}, schema ${schemaVersion}, will be migrated to ${known}`)
  if (mayCreate) return ok(name, `${what}, no tables yet; they are created at the first start`)
  return fail(
    name,
    `${what} has no tables, and the user of PARLEY_DATABASE_URL cannot create them: run GRANT CREATE ON DATABASE, or make that user the owner of the database`,
  )
}

function latencyCheck({ latencyMs }: DatabaseInspection): Check {
  const name = 'database latency'
  const text = millisecondsText(latencyMs)
  if (latencyMs <= slowMs) return ok(name, text)
  return warn(
    name,
    `${text}: each recorded step of an agent waits that long. Run the nodes nearer to the database`,
  )
}

function clockCheck({ clockSkewMs }: DatabaseInspection): Check {
  const name = 'database clock'
  const skew = Math.abs(clockSkewMs)
  const direction = clockSkewMs > 0 ? 'behind' : 'ahead of'
  const text = `this machine is ${durationText(skew)} ${direction} the database`
  if (skew <= skewWarnMs) return ok(name, text)
  const todo = 'synchronise the clocks of all machines with NTP'
  if (skew <= skewFailMs) return warn(name, `${text}: ${todo}`)
  return fail(name, `${text}, and nodes whose clocks differ that much refuse each other: ${todo}`)
}

export function nodeChecks({ nodes }: NodeList): Check[] {
  const present = nodes.filter(({ state }) => state !== 'gone')
  const self = nodes.find(({ isSelf }) => isSelf)
  if (!self)
    return [
      fail(
        'nodes',
        'the running server has no lease, so it owns no session: check that it reaches its database',
      ),
    ]
  return [
    countCheck(nodes),
    versionsCheck(present),
    selfCheck(self),
    ...present.filter(({ isSelf }) => !isSelf).map((node) => peerCheck(node, self, nodes)),
  ]
}

function countCheck(nodes: readonly NodeInfo[]): Check {
  const alive = nodes.filter(({ state }) => state === 'alive')
  const expired = nodes.filter(({ state }) => state === 'expired').map(({ url }) => url)
  const here = new Set(nodes.filter(({ state }) => state !== 'gone').map(({ place }) => place))
  const away = new Set(nodes.filter(({ place }) => !here.has(place)).map(({ machine }) => machine))
  const text = `${alive.length} alive${away.size > 0 ? `; none on ${[...away].join(', ')}` : ''}`
  if (expired.length === 0) return ok('nodes', text)
  return warn(
    'nodes',
    `${text}; the lease of ${expired.join(', ')} has ended: check that its machine runs and reaches the database`,
  )
}

function versionsCheck(nodes: readonly NodeInfo[]): Check {
  const versions = Map.groupBy(nodes, ({ version }) => version)
  const [[only] = ['unknown']] = versions
  if (versions.size <= 1) return ok('versions', `all nodes run ${only}`)
  const each = [...versions].map(([version, on]) => `${version} on ${on.map(({ url }) => url).join(', ')}`)
  return warn(
    'versions',
    `${each.join('; ')}: fine during an upgrade, otherwise update all nodes to one version`,
  )
}

function selfCheck({ url, reachable, problem }: NodeInfo): Check {
  const name = 'node URL'
  if (reachable) return ok(name, `${url} leads to the running server`)
  return fail(name, `${url} ${problem ? ownProblems[problem] : 'was not checked'}`)
}

const setUrl = 'set PARLEY_NODE_URL to an address of this machine that other nodes can reach'
const ownProblems: Readonly<Record<NodeProblem, string>> = {
  unreachable: `cannot be reached from this machine: ${setUrl}`,
  'no-answer': `does not answer: ${setUrl}, and allow its port in the firewall`,
  'other-token': `leads to a server with another token: ${setUrl}`,
  'other-node':
    'leads to another node: give each node a PARLEY_NODE_URL of its own, not the address of a load balancer',
  'not-a-node': `leads to another program: ${setUrl}`,
}

const peerProblems: Readonly<Record<NodeProblem, string>> = {
  unreachable: 'cannot be reached: check that it runs, its PARLEY_NODE_URL, and the firewall of its machine',
  'no-answer': 'does not answer: check the network between the machines, and whether it is overloaded',
  'other-token':
    'refuses the token: start all nodes with the same PARLEY_TOKEN (clocks that differ by minutes have the same effect)',
  'other-node': 'leads to another node: give each node a PARLEY_NODE_URL of its own',
  'not-a-node': 'leads to another program: correct its PARLEY_NODE_URL',
}

/** Checks whether the running server reaches a node, and whether that node reaches all others. */
function peerCheck(node: NodeInfo, self: NodeInfo, nodes: readonly NodeInfo[]): Check {
  const name = 'other node'
  const { url, machine, problem, cannotReach = [] } = node
  const what = `${url} (${machine})`
  if (problem) return fail(name, `${what} ${peerProblems[problem]}`)
  const others = cannotReach.filter(({ id }) => id !== node.id)
  const toSelf = others.find(({ id }) => id === self.id)
  if (toSelf) return fail(name, `from ${what}, ${self.url} ${peerProblems[toSelf.problem]}`)
  const [first] = others
  if (!first) return ok(name, `${what} answers, and reaches the other nodes`)
  const target = nodes.find(({ id }) => id === first.id)?.url ?? `node ${first.id}`
  return fail(name, `from ${what}, ${target} ${peerProblems[first.problem]}`)
}
