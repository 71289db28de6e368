import { existsSync } from 'node:fs'
import { type Client, createClient } from '@parley/client'
import { hasCode, ParleyError, type SessionSummary, tokenPrefix } from '@parley/protocol'
import { isLocked } from '../stores/sqlite-failure.ts'
import { identityOf, ownerFile } from '../stores/sqlite-owner.ts'
import { createCommandLine } from './command-line.ts'
import { type Configuration, databaseFile, nodeFile } from './configuration.ts'
import type { Context } from './context.ts'
import { isAlive, isProvable, type Owner, readOwner } from './owner.ts'
import { createProvenClient, healthMs, provesRecord } from './proven-client.ts'
import type { Parley } from './start.ts'
import { machineTokenOf } from './token-file.ts'

/**
 * A connection to the sessions of a data folder: through its running server, or through an embedded server of this
 * process.
 */
export type Connected = {
  readonly client: Client
  /** The address that the client uses now. */
  readonly url: string
  /** Makes the client continue on another node of this machine if the server ends. `run` and `attach` use it. */
  useOtherNodes(): Promise<void>
  /** True if the server runs in this process and ends with it. */
  readonly embedded: boolean
  /** Marks a session as this command's own. Disconnecting does not wait for such sessions. */
  own(sessionId: string): void
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The time limit of the search for the server of another process that has locked the folder. On a busy machine that
 * server may still be starting.
 */
const lockedMs = 20_000
const retryMs = 100
/** The time that another command may take from creating a session to following it. */
const followMs = 10_000
/** The time that a temporary server waits for other commands to read the end of their turns. */
const lingerMs = 2_000

/**
 * Connects to the running server, or starts a temporary server if no server answers. With a PostgreSQL
 * database no server is started: it would be a node that ends with the command. If two commands start at
 * once, the command that finds the folder locked looks for the server of the other command.
 */
export async function connect(configuration: Configuration, context: Context): Promise<Connected> {
  const deadline = performance.now() + lockedMs
  for (;;) {
    const running = await findServer(configuration, { lock: 'free' })
    if (running) return running
    if (configuration.databaseUrl !== undefined) throw await noNode(configuration, context)
    try {
      return await embed(configuration, context)
    } catch (thrown) {
      if (!isInUse(thrown)) throw thrown
      const found = await findServer(configuration, { lock: 'held' })
      if (found) return found
      if (performance.now() > deadline) throw silent(configuration, thrown)
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}

/**
 * Whether the error means that another process holds the folder. That process writes its owner record a
 * moment after it has locked the folder, so the record may be missing.
 */
function isInUse(thrown: unknown): thrown is ParleyError {
  if (!hasCode(thrown, 'busy')) return false
  return thrown.details?.file !== undefined && thrown.details.sqlite === undefined
}

/**
 * The caller's knowledge of the lock of the folder. `held`: another process holds it, so the record is used even if its
 * pid seems to have ended. `free`: no process holds it, or the caller tries to take it next, so a record is ignored as
 * out of date if no server proves that it wrote the record.
 */
type Lock = 'held' | 'free' | 'unknown'

/**
 * The running server of this data folder, if it answers and proves that it wrote the owner record. Rejects if the
 * folder is a copy of the folder that the server uses, if the record names a running process but lacks the data for a
 * proof, or if the server runs but does not reach its PostgreSQL database.
 */
export async function findServer(
  configuration: Configuration,
  { lock = 'unknown' }: { readonly lock?: Lock } = {},
): Promise<Connected | undefined> {
  const owner = readOwner(configuration.dataDir)
  if (owner?.url === undefined) return undefined
  const isRunning = isAlive(owner.pid)
  if (!isProvable(owner)) {
    if (lock === 'free' || !isRunning) return undefined
    throw unprovable(configuration, owner)
  }
  if (lock !== 'held' && !isRunning) return undefined
  if (!(await provesRecord(owner, healthMs).catch(() => false))) return undefined
  if (owner.database !== identityOf(databaseFile(configuration.dataDir))) throw copied(configuration, owner)
  const server = await createProvenClient(owner, configuration)
  const { client } = server
  try {
    await client.call('listSessions', { query: { limit: 1 } }).catch(unlessForbidden)
  } catch (thrown) {
    server.close()
    if (hasCode(thrown, 'unauthorized')) throw wrongToken(owner, configuration, thrown)
    if (thrown instanceof ParleyError && thrown.details?.postgres !== undefined)
      throw withoutDatabase(owner, thrown)
    return undefined
  }
  return {
    client,
    get url() {
      return server.url
    },
    async useOtherNodes() {
      if (existsSync(nodeFile(configuration.dataDir))) await server.useOtherNodes()
    },
    embedded: false,
    own: () => {},
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}

/** Ignores `forbidden`: a token without the scope `read` may have the scope that the command needs. */
function unlessForbidden(thrown: unknown): void {
  if (!hasCode(thrown, 'forbidden')) throw thrown
}

/** The running server of this data folder. Rejects if there is none, because a temporary server would be of no use. */
export async function runningServer(
  configuration: Configuration,
  { commandLine }: Context,
): Promise<Connected> {
  const server = await findServer(configuration)
  if (server) return server
  if (await isFolderHeld(configuration.dataDir)) throw silent(configuration)
  throw new ParleyError(
    'not_found',
    `No server uses ${configuration.dataDir}. Start one, which prints a link: ${commandLine('serve')}`,
  )
}

/** Whether a process has locked the data folder. The owner record is not enough: it may be out of date. */
export async function isFolderHeld(dataDir: string): Promise<boolean> {
  const file = databaseFile(dataDir)
  if (!existsSync(file)) return false
  const { DatabaseSync } = await import('node:sqlite')
  try {
    using database = new DatabaseSync(file)
    database.prepare('PRAGMA user_version').get()
    return false
  } catch (thrown) {
    return isLocked(thrown)
  }
}

async function embed(configuration: Configuration, context: Context): Promise<Connected> {
  const [{ startParley }, { createLogger }] = await Promise.all([import('./start.ts'), import('./log.ts')])
  const { dataDir, limits, agents, adapterModules } = configuration
  const token = machineTokenOf(configuration)
  const parley = await startParley({
    dataDir,
    hostname: '127.0.0.1',
    port: 0,
    token,
    limits,
    ...{ agents, ...(adapterModules && { adapterModules }) },
    recover: 'on-use',
    commandLine: context.commandLine,
    publicCommandLine: createCommandLine({ invocation: context.invocation }),
    logger: createLogger(configuration.logLevel ?? 'error', context.output),
  })
  const { url } = parley.http
  const ours = new Set<string>()
  const createdAt = new Map<string, number>()
  parley.host.onSessionChanged(({ change, session }) => {
    if (change === 'created') createdAt.set(session, performance.now())
  })
  const client = createClient({ url, token, name: 'parley cli' })
  return {
    client,
    url,
    useOtherNodes: async () => {},
    embedded: true,
    own: (sessionId) => ours.add(sessionId),
    async [Symbol.asyncDispose]() {
      client.close()
      await othersDone({ parley, ours, createdAt }, context)
      await parley.close()
    },
  }
}

type Embedded = {
  readonly parley: Parley
  readonly ours: ReadonlySet<string>
  /** The time at which this process created each of its sessions, by the monotonic clock. */
  readonly createdAt: ReadonlyMap<string, number>
}

/** Waits until the turns that other commands run on this command's server have ended. */
async function othersDone(
  { parley, ours, createdAt }: Embedded,
  { output, commandLine }: Context,
): Promise<void> {
  const isNew = ({ id }: SessionSummary) =>
    performance.now() - (createdAt.get(id) ?? Number.NEGATIVE_INFINITY) < followMs
  let leaveAt: number | undefined
  for (let announced = false; ; ) {
    const lists = await Promise.all(
      (['working', 'waiting', 'background', 'idle'] as const).map((status) =>
        parley.host.list({ status, limit: 100, archived: false }),
      ),
    )
    const others = lists.flatMap(({ sessions }) => sessions).filter(({ id }) => !ours.has(id))
    const busy = others.filter(({ status }) => status !== 'idle')
    // A new, empty session may belong to a command that is about to send its prompt.
    const unused = others.filter((session) => session.status === 'idle' && isNew(session) && session.seq <= 1)
    const used = [...(parley.followers() > 0 ? busy : busy.filter(isNew)), ...unused]
    if (used.length === 0) {
      // A command may not have read the end of its turn yet. Commands that have read it disconnect.
      const isRead = parley.followers() === 0 || [...createdAt.keys()].every((id) => ours.has(id))
      leaveAt ??= performance.now() + lingerMs
      if (isRead || performance.now() > leaveAt) return
    } else if (!announced) {
      const ids = used.map(({ id }) => id).join(', ')
      const hint = `Ctrl-C stops this server. To keep a server running: ${commandLine('serve')}`
      output.err(
        `parley: another command uses this command's temporary server (${ids}); waiting for that command. ${hint}\n`,
      )
      announced = true
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}

async function noNode(configuration: Configuration, { commandLine }: Context): Promise<ParleyError> {
  const { dataDir } = configuration
  if (await isFolderHeld(dataDir)) return silent(configuration)
  return new ParleyError(
    'busy',
    `The sessions are in a PostgreSQL database, which commands reach through a server, but no server runs with the data folder ${dataDir}. Start one: ${commandLine('serve')}`,
    { details: { dataDir } },
  )
}

function withoutDatabase({ pid, url }: Owner, cause: ParleyError): ParleyError {
  return new ParleyError(
    'busy',
    `The server of this data folder runs (pid ${pid}, ${url}), but it does not reach its PostgreSQL database (${cause.details?.postgres}). Check that PostgreSQL runs and that this machine can reach it. The server needs no restart; it continues when the database is back.`,
    { details: { postgres: cause.details?.postgres }, cause },
  )
}

function copied({ dataDir }: Configuration, { pid, url }: Owner): ParleyError {
  const record = ownerFile(databaseFile(dataDir))
  return new ParleyError(
    'conflict',
    `${dataDir} is a copy of a data folder that a server was using: its record names that server (pid ${pid}, ${url}), which uses the original. Nothing was changed. To use the copy, delete ${record}; to use the server, give its folder with --data-dir.`,
    { details: { dataDir } },
  )
}

function unprovable({ dataDir }: Configuration, { pid, url, isExposed }: Owner): ParleyError {
  const record = ownerFile(databaseFile(dataDir))
  const server = `the server of this data folder (pid ${pid}, ${url})`
  const why = isExposed
    ? `Other users can read ${record}, or it belongs to one of them, so ${server} cannot be verified.`
    : `${record} was written by an older version of Parley, so ${server} cannot be verified.`
  return new ParleyError(
    'conflict',
    `${why} The token was not sent. Stop that server and start it again. If that server does not run, delete ${record}.`,
    { details: { dataDir } },
  )
}

function wrongToken({ pid, url }: Owner, { token }: Configuration, cause: unknown): ParleyError {
  if (token?.value.startsWith(tokenPrefix)) {
    const problem = `The named token of ${token.from} is not valid at ${url}: it was revoked, it has expired, its person is disabled, or it belongs to another server.`
    return new ParleyError('unauthorized', `${problem} Ask for a new one.`, { cause })
  }
  return new ParleyError(
    'unauthorized',
    `The server of this data folder (pid ${pid}, ${url}) was started with another token. Give that token with PARLEY_TOKEN or --token-file.`,
    { cause },
  )
}

/** The error for a process that holds the folder and does not answer. The process may be about to answer. */
export function silent({ dataDir }: Configuration, cause?: ParleyError): ParleyError {
  const owner = readOwner(dataDir)
  const who = owner ? `pid ${owner.pid}${owner.url ? `, ${owner.url}` : ''}` : 'pid unknown'
  return new ParleyError(
    'busy',
    `A server (${who}) uses the data folder ${dataDir} but does not answer. It may be starting, overloaded or paused: wait, and try again. If it never answers, end that process and start the server again.`,
    { details: { dataDir }, cause },
  )
}
