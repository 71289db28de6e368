import { writeFileSync } from 'node:fs'
import { hostname as machineName } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { defined, hasCode, ParleyError } from '@parley/protocol'
import type { Logger } from 'pino'
import { agentLeftovers } from '../adapters/marked-processes.ts'
import type { Host, HostOptions } from '../core/index.ts'
import { createNodes, type Nodes } from '../nodes/index.ts'
import { createNodeDirectory } from '../nodes/node-directory.ts'
import { createNodeMetrics, measuredAppends, nodeMetricsText } from '../nodes/node-metrics.ts'
import { shownDatabaseUrl } from '../stores/postgres/database-url.ts'
import { openPostgresNode, type PostgresStore } from '../stores/postgres/index.ts'
import type { Lease } from '../stores/postgres/ownership.ts'
import { openSqliteStore, type SqliteStore } from '../stores/sqlite.ts'
import { version } from '../version.ts'
import { type Configuration, databaseFile, nodeFile } from './configuration.ts'
import { placeOfMachine } from './place.ts'

/** How long a server waits at its start for PostgreSQL. */
const patienceMs = 15_000
const retryMs = 250

export type StoreOptions = Pick<Configuration, 'dataDir' | 'databaseUrl' | 'nodeUrl' | 'place'> & {
  readonly hostname: string
  /** The token that all nodes share. */
  readonly token: string
  readonly logger: Logger
  /** A lease other than the default one. All nodes of a database must use the same lease. */
  readonly lease?: Lease | undefined
}

export type OpenedStore = {
  readonly store: PostgresStore & Pick<SqliteStore, 'describeOwner'>
  /** Absent if only this process can write to the store. */
  readonly ownership?: HostOptions['ownership']
  readonly leftovers?: HostOptions['leftovers']
  readonly node?: OpenedNode
}

export type OpenedNode = Pick<Nodes, 'ownerFeed' | 'hostsOn' | 'close'> & {
  /**
   * Registers this server as a node on its database, and then recovers sessions. Before this call, the server owns
   * no session. Called with the host of this node and the URL at which the server listens.
   */
  join(host: Host, listening: string): Promise<void>
  readonly directory: ReturnType<typeof createNodeDirectory>
  /** The metrics of this node, in the text format of Prometheus. */
  metrics(): Promise<string>
}

/**
 * Opens the database of a node. The SQLite file of the data folder stays empty: it locks the folder, and the owner
 * record beside it contains the address of the server for commands on this machine.
 */
export async function openNode(
  options: StoreOptions & { readonly databaseUrl: string },
): Promise<OpenedStore> {
  const { dataDir, hostname, databaseUrl, nodeUrl, token, logger } = options
  if (nodeUrl === undefined && isUnspecified(hostname)) throw noNodeUrl(hostname)
  const folder = openSqliteStore({ file: databaseFile(dataDir) })
  try {
    const place = options.place ?? placeOfMachine(dataDir)
    const machine = options.place?.replace(/^machine:/, '') ?? machineName()
    const node = { place, machine, version, ...defined({ lease: options.lease }) }
    const { store, ownership } = await untilReached(logger, () =>
      openPostgresNode({ url: databaseUrl, node }),
    )
    const metrics = createNodeMetrics()
    try {
      await warnOfSessions(folder, store, options)
    } catch (thrown) {
      await store.close()
      throw thrown
    }
    writeFileSync(nodeFile(dataDir), `${shownDatabaseUrl(databaseUrl)}\n`, { mode: 0o600 })
    let url = nodeUrl ?? ''
    const nodes = createNodes({
      ownership,
      token,
      url: () => url,
      metrics,
      problem: (error, doing) => logger.error({ err: error }, `could not ${doing}`),
    })
    const close = async () => {
      await store.close()
      await folder.close()
    }
    return {
      store: { ...measuredAppends(store, metrics), describeOwner: folder.describeOwner, close },
      ownership,
      leftovers: agentLeftovers,
      node: {
        ...nodes,
        async join(host, listening) {
          url = nodeUrl ?? listening
          await untilReached(logger, () => ownership.start(url))
          await untilReached(logger, () => ownership.fenceExpired())
          await host.adopt()
          nodes.watch(host)
        },
        directory: createNodeDirectory({ ownership, credential: nodes.credential }),
        metrics: () => nodeMetricsText(metrics, ownership),
      },
    }
  } catch (thrown) {
    await folder.close()
    throw thrown
  }
}

/** Repeats work while PostgreSQL cannot be reached: it may start or restart at the same time as this server. */
async function untilReached<T>(logger: Logger, work: () => Promise<T>): Promise<T> {
  const until = performance.now() + patienceMs
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!hasCode(error, 'busy') || performance.now() > until) throw error
      if (attempt === 1)
        logger.warn(`PostgreSQL cannot be reached yet: trying again for ${patienceMs / 1_000} seconds`)
      await pause(retryMs)
    }
  }
}

/** Warns that sessions of the SQLite file are not served, unless they were copied to the database. */
async function warnOfSessions(
  folder: SqliteStore,
  store: PostgresStore,
  { dataDir, logger }: StoreOptions,
): Promise<void> {
  const [latest] = (await folder.list({ limit: 1 })).sessions
  if (latest && !(await store.load(latest.id)))
    logger.warn(
      `${databaseFile(dataDir)} has sessions that are not in the PostgreSQL database, and they are not served; parley migrate --to copies them`,
    )
}

function isUnspecified(hostname: string): boolean {
  return /^(0\.0\.0\.0|\[?::\]?)$/.test(hostname)
}

function noNodeUrl(hostname: string): ParleyError {
  return new ParleyError(
    'validation_error',
    `The server listens on every address (${hostname}), so other nodes cannot know which of them to use. Give one with PARLEY_NODE_URL or --node-url, as in http://10.0.0.1:4747.`,
  )
}
