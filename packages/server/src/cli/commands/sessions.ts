import type { Client } from '@parley/client'
import {
  defined,
  ParleyError,
  type SessionNode,
  SessionStatus,
  type SessionSummary,
  type WaitingRequest,
} from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { ageText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findProject } from '../project-reference.ts'
import { allSessions, shortIds } from '../session-reference.ts'
import { callLabel } from '../terminal/rows.ts'
import { printList } from '../terminal/table.ts'

export type SessionsOptions = Flags & {
  readonly all?: boolean
  readonly query?: string
  readonly agent?: string
  readonly project?: string
  readonly status?: string
  readonly limit?: string
  readonly json?: boolean
  readonly waiting?: boolean
}

const page = 500
const shortestId = 12
const columns = [
  { name: 'ID' },
  { name: 'STATUS' },
  { name: 'AGENT' },
  { name: 'AGE' },
  { name: 'TITLE', shrinks: true },
  { name: 'FOLDER', shrinks: true },
]

const waitingColumns = [
  { name: 'ID' },
  { name: 'AGENT' },
  { name: 'SINCE' },
  { name: 'ASKS FOR', shrinks: true },
  { name: 'TITLE', shrinks: true },
]

export async function sessions(options: SessionsOptions, context: Context): Promise<number> {
  const { commandLine } = context
  const limit = limitOf(options.limit)
  const status = statusOf(options.status)
  if (options.waiting && (options.query ?? options.status ?? options.project ?? options.all) !== undefined) {
    throw new ParleyError(
      'validation_error',
      '--waiting lists all open requests; only --agent can be combined with it.',
    )
  }
  await using server = await connect(existingConfigurationOf(context, options), context)
  if (options.waiting) return await listWaiting(server.client, options, context)
  const { client } = server
  const project =
    options.project === undefined ? undefined : await findProject(client, options.project, context)
  const listed = await listSessions(client, { ...options, limit, status, ...defined({ project }) })
  const found = options.json ? await withNodes(server.client, listed) : listed
  if (found.length === 0) await checkAgent(server.client, options, context)
  const name = await namesOf(server.client, options, context)
  const what = isNarrowed(options) ? 'matching sessions' : 'sessions yet'
  const empty = `No ${what}. Start one: ${commandLine('run demo "help"')}`
  const machine = options.json ? undefined : await machinesOf(server.client, found)
  const row = (session: SessionSummary) => [
    ...rowOf(session, name),
    ...(machine ? [machine(session.place)] : []),
  ]
  const list = { columns: machine ? [...columns, { name: 'MACHINE', shrinks: true }] : columns, row, empty }
  printList(found, list, { json: options.json, output: context.output })
  return 0
}

/** Adds to each session the machine that it is on and the node that owns it. On SQLite there is nothing to add. */
async function withNodes(
  client: Client,
  sessions: readonly SessionSummary[],
): Promise<(SessionSummary & Partial<SessionNode>)[]> {
  const found: (SessionSummary & Partial<SessionNode>)[] = []
  for (const session of sessions) {
    const params = { id: session.id }
    const isShared = session.place !== undefined
    found.push({ ...session, ...(isShared && (await client.call('getSessionNode', { params }))) })
  }
  return found
}

/** Returns a function from places to names of machines. Undefined if all sessions are on one machine. */
async function machinesOf(
  client: Client,
  sessions: readonly SessionSummary[],
): Promise<((place: string | undefined) => string) | undefined> {
  if (sessions.every(({ place }) => place === undefined)) return undefined
  const { nodes } = await client.call('listNodes')
  if (nodes.every(({ place }) => place === nodes[0]?.place)) return undefined
  return (place = '') => {
    const there = nodes.filter((node) => node.place === place)
    const name = there.at(-1)?.machine ?? place
    return there.some(({ state }) => state !== 'gone') ? name : `${name} (away)`
  }
}

/** Lists all open requests. The request that has waited longest comes first. */
async function listWaiting(client: Client, options: SessionsOptions, context: Context): Promise<number> {
  const { json, agent } = options
  const { output, commandLine } = context
  const { requests } = await client.call('listPermissions')
  const found = requests
    .filter(({ session }) => agent === undefined || session.agent === agent)
    .toSorted((a, b) => a.request.at - b.request.at)
  if (found.length === 0) await checkAgent(client, options, context)
  const name = await namesOf(client, options, context)
  const row = (waiting: WaitingRequest) => waitingRow(waiting, name)
  const list = { columns: waitingColumns, row, empty: 'No open requests.' }
  if (printList(found, list, { json, output }))
    output.err(`${output.errStyle.dim(`Answer: ${commandLine('attach <id>')}`)}\n`)
  return 0
}

/**
 * Throws if the agent is unknown. Called only if no session was found: the name may be mistyped, but a
 * removed agent may still have sessions.
 */
async function checkAgent(client: Client, flags: SessionsOptions, context: Context): Promise<void> {
  if (flags.agent === undefined) return
  const { expectAgent } = await import('../known-agent.ts')
  const served = async () => (await client.call('listAgents')).agents
  await expectAgent(flags.agent, { flags, context, served })
}

function waitingRow({ session, request }: WaitingRequest, name: (id: string) => string): string[] {
  const callText = (call: Parameters<typeof callLabel>[0]) => {
    const label = callLabel(call)
    return label.kind + label.title
  }
  const asks =
    request.type === 'permission' ? callText(request) : request.questions.map(({ text }) => text).join(' / ')
  const { id, agent, title } = session
  return [name(id), agent, ageText(Date.now() - request.at), asks, title || 'untitled']
}

/**
 * Returns a function that names a session. On a terminal the name is the shortest unique prefix of the id, for
 * programs the whole id.
 */
async function namesOf(client: Client, { json }: SessionsOptions, { output }: Context) {
  if (json || !output.isOutTerminal) return (id: string) => id
  const ids: string[] = []
  for await (const { id } of allSessions(client)) ids.push(id)
  const short = shortIds(ids, shortestId)
  return (id: string) => short.get(id) ?? id
}

async function listSessions(
  client: Client,
  wanted: Omit<SessionsOptions, 'limit' | 'status'> & { limit: number; status: SessionStatus | undefined },
): Promise<SessionSummary[]> {
  const found: SessionSummary[] = []
  let cursor: string | undefined
  do {
    const reply = await client.call('listSessions', {
      query: {
        ...defined({ q: wanted.query, agent: wanted.agent, project: wanted.project, status: wanted.status }),
        archived: wanted.all ? 'all' : 'false',
        limit: Math.min(page, wanted.limit - found.length),
        ...(cursor !== undefined && { cursor }),
      },
    })
    found.push(...reply.sessions)
    cursor = reply.cursor
  } while (cursor !== undefined && found.length < wanted.limit)
  return found
}

function rowOf(session: SessionSummary, name: (id: string) => string): string[] {
  const { id, agent, title, updatedAt, cwd, waiting, tasks = 0, paused = 0, archived, failure } = session
  const status = session.status === 'idle' && failure ? failure.outcome : session.status
  const state = `${status}${waiting > 0 ? ` (${waiting})` : ''}${tasks > 0 ? `, ${tasks} in background` : ''}${paused > 0 ? `, ${paused} paused` : ''}${archived ? ', archived' : ''}`
  return [name(id), state, agent, ageText(Date.now() - updatedAt), title || 'untitled', cwd]
}

function limitOf(given: string | undefined): number {
  if (given === undefined) return 50
  if (/^\d{1,6}$/.test(given) && Number(given) > 0) return Number(given)
  throw new ParleyError('validation_error', `--limit takes a number of at least 1, not "${given}".`)
}

function statusOf(given: string | undefined): SessionStatus | undefined {
  if (given === undefined) return undefined
  const status = SessionStatus.safeParse(given)
  if (status.success) return status.data
  const known = SessionStatus.options.join(', ')
  throw new ParleyError('validation_error', `--status takes one of ${known}, not "${given}".`)
}

function isNarrowed({ query, agent, project, status }: SessionsOptions): boolean {
  return [query, agent, project, status].some((one) => one !== undefined)
}
