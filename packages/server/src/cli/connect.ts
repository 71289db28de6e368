import { readFileSync } from 'node:fs'
import { type Client, createClient } from '@parley/client'
import { hasCode, ParleyError, type SessionSummary } from '@parley/protocol'
import { identityOf } from '../stores/sqlite-owner.ts'
import { createCommandLine } from './command-line.ts'
import { type Configuration, databaseFile } from './configuration.ts'
import type { Context } from './context.ts'
import type { Parley } from './start.ts'
import { tokenOf } from './token-file.ts'

/**
 * A connection to the sessions of a data folder: through its running server, or through an embedded server of this
 * process.
 */
export type Connected = {
  readonly client: Client
  readonly url: string
  /** True if the server runs in this process and ends with it. */
  readonly embedded: boolean
  /** Marks a session as this command's own. Disconnecting does not wait for such sessions. */
  own(sessionId: string): void
  [Symbol.asyncDispose](): Promise<void>
}

/** The process that holds the data folder, as the store recorded it. It may have ended long ago. */
export type Owner = {
  readonly pid: number
  readonly url?: string
  /** Identifies the run of the server that wrote the record. The health of that server has the same value. */
  readonly instance?: string
  /** The identity of the database file that the process holds. */
  readonly database?: string
}

const healthMs = 2_000
/**
 * How long to look for the server of another process that has locked the folder. On a busy machine that server may
 * still be starting.
 */
const lockedMs = 20_000
const retryMs = 100
/** How long another command may take from creating a session to following it. */
const followMs = 10_000

/**
 * Uses the running server if one answers, else starts one. If two commands start at once, the one that finds the folder
 * locked looks for the server of the other.
 */
export async function connect(configuration: Configuration, context: Context): Promise<Connected> {
  const deadline = performance.now() + lockedMs
  for (;;) {
    const running = await findServer(configuration)
    if (running) return running
    try {
      return await embed(configuration, context)
    } catch (thrown) {
      if (!isInUse(thrown)) throw thrown
      const found = await findServer(configuration, { evenIfGone: true })
      if (found) return found
      if (performance.now() > deadline) throw lockedBySilent(configuration, thrown)
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

/** The server of this data folder, if one answers. Rejects if the folder is a copy of the one that the server uses. */
export async function findServer(
  configuration: Configuration,
  { evenIfGone = false } = {},
): Promise<Connected | undefined> {
  const owner = readOwner(configuration.dataDir)
  if (owner?.url === undefined || !(evenIfGone || isAlive(owner.pid))) return undefined
  const { url } = owner
  if (!(await isServerOf(owner, url))) return undefined
  if (owner.database !== identityOf(databaseFile(configuration.dataDir))) throw copied(configuration, owner)
  const client = createClient({ url, token: tokenOf(configuration), name: 'parley cli' })
  try {
    await client.call('listSessions', { query: { limit: 1 } })
  } catch (thrown) {
    client.close()
    if (hasCode(thrown, 'unauthorized')) throw wrongToken(owner, thrown)
    return undefined
  }
  return {
    client,
    url,
    embedded: false,
    own: () => {},
    async [Symbol.asyncDispose]() {
      client.close()
    },
  }
}

/**
 * Whether the server at this URL is the one of the owner record. Another program may listen on that port by
 * now, so the token is sent only after this check.
 */
async function isServerOf({ instance }: Owner, url: string): Promise<boolean> {
  using stranger = createClient({ url, name: 'parley cli' })
  const health = await stranger.call('health', { timeoutMs: healthMs }).catch(() => undefined)
  return health?.instance !== undefined && health.instance === instance
}

export function readOwner(dataDir: string): Owner | undefined {
  try {
    const owner = JSON.parse(readFileSync(`${databaseFile(dataDir)}.owner.json`, 'utf8')) as Partial<Owner>
    if (typeof owner.pid !== 'number') return undefined
    const texts = Object.entries(owner).filter(([, value]) => typeof value === 'string')
    return { ...Object.fromEntries(texts), pid: owner.pid }
  } catch {
    return undefined
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function embed(configuration: Configuration, context: Context): Promise<Connected> {
  const [{ startParley }, { createLogger }] = await Promise.all([import('./start.ts'), import('./log.ts')])
  const { dataDir, limits, agents } = configuration
  const startedAt = Date.now()
  const token = tokenOf(configuration)
  const parley = await startParley({
    dataDir,
    hostname: '127.0.0.1',
    port: 0,
    token,
    limits,
    agents,
    recover: 'on-use',
    commandLine: context.commandLine,
    publicCommandLine: createCommandLine({ invocation: context.invocation }),
    logger: createLogger(configuration.logLevel ?? 'error', context.output),
  })
  const { url } = parley.http
  const ours = new Set<string>()
  const client = createClient({ url, token, name: 'parley cli' })
  return {
    client,
    url,
    embedded: true,
    own: (sessionId) => ours.add(sessionId),
    async [Symbol.asyncDispose]() {
      client.close()
      await othersDone({ parley, ours, startedAt }, context)
      await parley.close()
    },
  }
}

/**
 * Waits until the turns of other commands have ended: another command may use this command's server in the middle of
 * a turn.
 */
async function othersDone(
  { parley, ours, startedAt }: { parley: Parley; ours: ReadonlySet<string>; startedAt: number },
  { output, commandLine }: Context,
): Promise<void> {
  const isNew = ({ createdAt }: SessionSummary) => createdAt >= startedAt && Date.now() - createdAt < followMs
  for (let announced = false; ; ) {
    const lists = await Promise.all(
      (['working', 'waiting', 'background', 'idle'] as const).map((status) =>
        parley.host.list({ status, limit: 100, archived: false }),
      ),
    )
    const others = lists.flatMap(({ sessions }) => sessions).filter(({ id }) => !ours.has(id))
    const busy = others.filter(({ status }) => status !== 'idle')
    // A command first creates its session and then sends the prompt.
    const unused = others.filter((session) => session.status === 'idle' && isNew(session) && session.seq <= 1)
    const used = [...(parley.followers() > 0 ? busy : busy.filter(isNew)), ...unused]
    if (used.length === 0) return
    if (!announced) {
      const ids = used.map(({ id }) => id).join(', ')
      const hint = `Ctrl-C stops it. To keep a server running: ${commandLine('serve')}`
      output.err(
        `parley: another command uses this command's temporary server (${ids}); waiting for it. ${hint}\n`,
      )
      announced = true
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}

function copied({ dataDir }: Configuration, { pid, url }: Owner): ParleyError {
  const record = `${databaseFile(dataDir)}.owner.json`
  return new ParleyError(
    'conflict',
    `${dataDir} is a copy of a data folder that a server was using: its record names that server (pid ${pid}, ${url}), which uses the original. Nothing was changed. To use the copy, delete ${record}; to use the server, give its folder with --data-dir.`,
    { details: { dataDir } },
  )
}

function wrongToken({ pid, url }: Owner, cause: unknown): ParleyError {
  return new ParleyError(
    'unauthorized',
    `The server of this data folder (pid ${pid}, ${url}) was started with another token. Give the same one with PARLEY_TOKEN or --token-file.`,
    { cause },
  )
}

function lockedBySilent({ dataDir }: Configuration, cause: ParleyError): ParleyError {
  const owner = readOwner(dataDir)
  const who = owner ? `pid ${owner.pid}${owner.url ? `, ${owner.url}` : ''}` : 'unknown'
  return new ParleyError(
    'busy',
    `Another Parley (${who}) holds ${dataDir} but does not answer. Stop it and try again, or choose another folder with --data-dir.`,
    { cause },
  )
}
