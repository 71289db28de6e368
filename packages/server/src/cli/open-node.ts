import { writeFileSync } from 'node:fs'
import { hostname as machineName } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { agentLeftovers } from '@parley/adapter-kit/marked-processes'
import { defined, hasCode, ParleyError } from '@parley/protocol'
import type { Logger } from 'pino'
import type { Host, HostObserver, HostOptions } from '../core/index.ts'
import { type CommandLine, plainCommandLine } from '../faces/http/command-line.ts'
import { createNodes, type Nodes } from '../nodes/index.ts'
import { createNodeDirectory } from '../nodes/node-directory.ts'
import { NodeLog } from '../nodes/node-log.ts'
import { createNodeMetrics, measuredAppends, nodeMetricsText } from '../nodes/node-metrics.ts'
import { shownDatabaseUrl } from '../stores/postgres/database-url.ts'
import { openPostgresNode, type PostgresNode, type PostgresStore } from '../stores/postgres/index.ts'
import { defaultLease, type Lease } from '../stores/postgres/ownership.ts'
import { openSqliteStore, type SqliteStore } from '../stores/sqlite.ts'
import { version } from '../version.ts'
import { type Configuration, databaseFile, nodeFile } from './configuration.ts'
import { placeOfMachine } from './place.ts'

/** The time that a server waits for PostgreSQL at its start. */
const patienceMs = 15_000
const retryMs = 250

export type StoreOptions = Pick<Configuration, 'dataDir' | 'databaseUrl' | 'nodeUrl' | 'place'> & {
  readonly hostname: string
  /** The token that all nodes share. */
  readonly token: string
  readonly logger: Logger
  /** Formats a command for a hint. */
  readonly commandLine?: CommandLine
  /** A lease that replaces the default. All nodes of a database must use the same lease. */
  readonly lease?: Lease | undefined
}

type NodeStoreOptions = StoreOptions & { readonly databaseUrl: string }

export type OpenedStore = {
  readonly store: PostgresStore & Pick<SqliteStore, 'describeOwner' | 'copyTo'>
  /** Absent if only this process can write to the store. */
  readonly ownership?: HostOptions['ownership']
  readonly leftovers?: HostOptions['leftovers']
  readonly searchIndex: PostgresNode['searchIndex']
  readonly node?: OpenedNode
}

export type OpenedNode = Pick<Nodes, 'commandAnywhere' | 'ownerFeed' | 'hostsOn' | 'close'> & {
  /**
   * Registers this server as a node on its database, and then recovers sessions. Before this call, the server owns
   * no session. Called with the host of this node and the URL at which the server listens.
   */
  join(host: Host, listening: string): Promise<void>
  /** Counts the sessions that are open in this process. */
  readonly observer: HostObserver
  readonly directory: ReturnType<typeof createNodeDirectory>
  /** The metrics of this node, in the text format of Prometheus. */
  metrics(): Promise<string>
}

/**
 * Opens the database of a node. The SQLite file of the data folder stays empty: it locks the folder, and the owner
 * record beside it contains the address of the server for commands on this machine.
 */
export async function openNode(options: NodeStoreOptions): Promise<OpenedStore> {
  const { dataDir, hostname, nodeUrl, token, logger } = options
  if (nodeUrl === undefined && isUnspecified(hostname)) throw noNodeUrl(hostname)
  const folder = openSqliteStore({ file: databaseFile(dataDir) })
  try {
    const { store, ownership, searchIndex } = await openDatabase(folder, options)
    const metrics = createNodeMetrics()
    const log = new NodeLog(logger)
    // This listener is registered before the host exists, so that lost sessions are logged before the host drops them.
    ownership.onLost(() => log.lost())
    let url = nodeUrl ?? ''
    const nodes = createNodes({
      ownership,
      token,
      url: () => url,
      metrics,
      log,
      problem: (error, doing) => logger.error({ err: error }, `could not ${doing}`),
    })
    const directory = createNodeDirectory({ ownership, credential: nodes.credential })
    const close = async () => {
      await store.close()
      log.stopped()
      await folder.close()
    }
    return {
      store: {
        ...measuredAppends(store, metrics),
        describeOwner: folder.describeOwner,
        copyTo: folder.copyTo,
        close,
      },
      ownership,
      searchIndex,
      leftovers: agentLeftovers,
      node: {
        ...nodes,
        async join(host, listening) {
          url = nodeUrl ?? listening
          await refuseOtherToken(options, () => directory.otherToken(url))
          await untilReached(options, () => ownership.start(url))
          log.joined(ownership.node, url, ownership.place)
          await untilReached(options, () => ownership.fenceExpired())
          log.tookOver(await host.adopt())
          nodes.watch(host)
        },
        observer: log.observer,
        close() {
          log.stopping()
          return nodes.close()
        },
        directory,
        metrics: () => nodeMetricsText(metrics, ownership),
      },
    }
  } catch (thrown) {
    await folder.close()
    throw thrown
  }
}

/** Opens the database, and writes its URL without the password into the data folder. */
async function openDatabase(folder: SqliteStore, options: NodeStoreOptions): Promise<PostgresNode> {
  const { dataDir, databaseUrl } = options
  const place = options.place ?? placeOfMachine(dataDir)
  const machine = options.place?.replace(/^machine:/, '') ?? machineName()
  const node = { place, machine, version, ...defined({ lease: options.lease }) }
  const opened = await untilReached(options, () => openPostgresNode({ url: databaseUrl, node }))
  try {
    await warnOfSessions(folder, opened.store, options)
  } catch (thrown) {
    await opened.store.close()
    throw thrown
  }
  writeFileSync(nodeFile(dataDir), `${shownDatabaseUrl(databaseUrl)}\n`, { mode: 0o600 })
  return opened
}

/** Repeats work while PostgreSQL cannot be reached: it may start or restart at the same time as this server. */
async function untilReached<T>(
  { logger, databaseUrl }: NodeStoreOptions,
  work: () => Promise<T>,
): Promise<T> {
  const until = performance.now() + patienceMs
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!hasCode(error, 'busy')) throw error
      if (performance.now() > until) throw notReached(databaseUrl, error)
      if (attempt === 1)
        logger.warn(`PostgreSQL cannot be reached yet: trying again for ${patienceMs / 1_000} seconds`)
      await pause(retryMs)
    }
  }
}

/**
 * Rejects if a living node has another token, because the two nodes could not reach each other. A node that was just
 * killed and restarted refuses every request until its former lease has ended, so a short refusal is ignored.
 */
async function refuseOtherToken(
  options: NodeStoreOptions,
  find: () => Promise<string | undefined>,
): Promise<void> {
  const { lease = defaultLease } = options
  const until = performance.now() + lease.leaseMs + 1_000
  for (;;) {
    const peer = await untilReached(options, find)
    if (peer === undefined) return
    if (performance.now() > until)
      throw new ParleyError(
        'conflict',
        `The node at ${peer} refuses this server: its PARLEY_TOKEN is another one, or its clock differs by more than five minutes. All nodes on a database need the same token: \`parley token\` prints it on the machine of that node.`,
      )
    await pause(retryMs)
  }
}

/** The error for a failed start. The message of `cause` is not used, because its advice applies only to requests. */
function notReached(databaseUrl: string, cause: ParleyError): ParleyError {
  const code = cause.details?.postgres
  if (code === undefined || code === '53300') return cause
  const message = `PostgreSQL cannot be reached (${code}): ${shownDatabaseUrl(databaseUrl)} did not answer for ${patienceMs / 1_000} seconds. Check that it runs, that this machine can reach it, and that PARLEY_DATABASE_URL is correct.`
  return new ParleyError('busy', message, { details: { ...cause.details }, cause })
}

/** Warns that sessions of the SQLite file are not served, unless they were copied to the database. */
async function warnOfSessions(
  folder: SqliteStore,
  store: PostgresStore,
  { dataDir, logger, commandLine = plainCommandLine }: StoreOptions,
): Promise<void> {
  const [latest] = (await folder.list({ limit: 1 })).sessions
  if (latest && !(await store.load(latest.id)))
    logger.warn(
      `${databaseFile(dataDir)} has sessions that are not in the PostgreSQL database, and they are not served. To copy them: ${commandLine('migrate --to')}`,
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
