import { createCounter, createHistogram, gaugeLines } from '../telemetry/metrics.ts'
import { type NodeDirectoryParts, storedNodes } from './node-directory.ts'

/** The time limit for the database to list the nodes. A scraper does not wait much longer. */
const listMs = 2_000

/**
 * Values that are read when the metrics are requested. The values from the database are absent while it is unreachable.
 */
export type NodeMetricsNow = {
  /** The time since this node last extended its lease; undefined while it has none. */
  readonly leaseAgeMs: number | undefined
  readonly nodes?: readonly {
    readonly isSelf: boolean
    readonly sessions?: number | undefined
    readonly state: string
  }[]
}

export type NodeMetrics = {
  /** Counts sessions that this node has claimed from a node that is gone. */
  tookOver(sessions: number): void
  /** Counts a command that was sent to the owner of its session. `outcome` is `accepted` or an error code. */
  forwarded(outcome: string): void
  /** Records the time that it took to store a batch of events. */
  appended(ms: number): void
  /** The metrics in the text format of Prometheus. */
  text(now: NodeMetricsNow): string
}

const appendSeconds = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1, 2.5, 5, 10]

/** The metrics of a node on PostgreSQL. Labels are outcomes and states, never a session, an address or a place. */
export function createNodeMetrics(): NodeMetrics {
  let takeovers = 0
  const forwards = createCounter({
    name: 'parley_commands_forwarded_total',
    help: 'Commands that this node has sent to the owner of their session, by result: accepted, or the error code.',
    labels: ['outcome'],
  })
  const appends = createHistogram({
    name: 'parley_append_seconds',
    help: 'Time until a batch of events was stored.',
    labels: [],
    buckets: appendSeconds,
  })
  return {
    tookOver(sessions) {
      takeovers += sessions
    },
    forwarded: (outcome) => forwards.add([outcome]),
    appended: (ms) => appends.observe([], ms / 1_000),
    text(now) {
      const lines = [...gauges(now), ...takeoverLines(takeovers), ...forwards.lines(), ...appends.lines()]
      return `${lines.join('\n')}\n`
    },
  }
}

function takeoverLines(takeovers: number): string[] {
  const help = 'Sessions that this node has taken over from nodes that are gone.'
  return gaugeLines({ name: 'parley_session_takeovers_total', help, labels: [], type: 'counter' }, [
    [[], takeovers],
  ])
}

function gauges({ leaseAgeMs, nodes }: NodeMetricsNow): string[] {
  const states = Map.groupBy(nodes ?? [], ({ state }) => state)
  const own = nodes?.filter(({ isSelf }) => isSelf) ?? []
  return [
    ...gaugeLines(
      {
        name: 'parley_node_lease_age_seconds',
        help: 'Time since this node last extended its lease. Absent while it has no lease.',
        labels: [],
      },
      leaseAgeMs === undefined ? [] : [[[], leaseAgeMs / 1_000]],
    ),
    ...gaugeLines(
      {
        name: 'parley_nodes',
        help: 'Nodes on the database by state. Absent while the database is unreachable.',
        labels: ['state'],
      },
      nodes ? ['alive', 'expired'].map((state) => [[state], states.get(state)?.length ?? 0] as const) : [],
    ),
    ...gaugeLines(
      {
        name: 'parley_sessions_owned',
        help: 'Sessions that this node owns. Absent while the database is unreachable.',
        labels: [],
      },
      own.map(({ sessions = 0 }) => [[], sessions] as const),
    ),
  ]
}

export function measuredAppends<Store extends { append(...given: never[]): Promise<unknown> }>(
  store: Store,
  metrics: Pick<NodeMetrics, 'appended'>,
): Store {
  const append = async (...given: Parameters<Store['append']>) => {
    const start = performance.now()
    try {
      return await store.append(...given)
    } finally {
      metrics.appended(performance.now() - start)
    }
  }
  return { ...store, append }
}

/** The metrics of a node. They need no database, except for the number of nodes and sessions. */
export async function nodeMetricsText(
  metrics: NodeMetrics,
  ownership: Pick<NodeDirectoryParts['ownership'], 'nodes'> & Pick<NodeMetricsNow, 'leaseAgeMs'>,
): Promise<string> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), listMs)
  })
  const nodes = await Promise.race([storedNodes(ownership).catch(() => undefined), late])
  clearTimeout(timer)
  return metrics.text({ leaseAgeMs: ownership.leaseAgeMs, ...(nodes && { nodes }) })
}
