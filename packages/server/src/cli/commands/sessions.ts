import type { Client } from '@parley/client'
import { ParleyError, SessionStatus, type SessionSummary } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { ageWords } from '../durations.ts'
import { tableLines } from '../terminal/table.ts'

export type SessionsOptions = Flags & {
  readonly all?: boolean
  readonly query?: string
  readonly agent?: string
  readonly status?: string
  readonly limit?: string
  readonly json?: boolean
}

const page = 500
const columns = [
  { name: 'ID' },
  { name: 'STATUS' },
  { name: 'AGENT' },
  { name: 'AGE' },
  { name: 'TITLE', shrinks: true },
  { name: 'FOLDER', shrinks: true },
]

export async function sessions(options: SessionsOptions, context: Context): Promise<number> {
  const { output, invocation } = context
  const limit = limitOf(options.limit)
  const status = statusOf(options.status)
  await using server = await connect(configurationOf(context, options), context)
  const found = await listSessions(server.client, { ...options, limit, status })
  if (options.json) {
    for (const session of found) output.out(`${JSON.stringify(session)}\n`)
    return 0
  }
  if (found.length === 0) {
    output.err(
      `No sessions${isNarrowed(options) ? ' fit' : ' yet'}. Begin one: ${invocation} run demo "help"\n`,
    )
    return 0
  }
  const width = output.isOutTerminal ? output.columns() : undefined
  const [head = '', ...lines] = tableLines(columns, found.map(rowOf), width)
  output.out([output.outStyle.dim(head), ...lines, ''].join('\n'))
  return 0
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
        ...(wanted.query !== undefined && { q: wanted.query }),
        ...(wanted.agent !== undefined && { agent: wanted.agent }),
        ...(wanted.status && { status: wanted.status }),
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

function rowOf(session: SessionSummary): string[] {
  const { id, status, agent, title, updatedAt, cwd, waiting, archived } = session
  const state = `${status}${waiting > 0 ? ` (${waiting})` : ''}${archived ? ', archived' : ''}`
  return [id, state, agent, ageWords(Date.now() - updatedAt), title || 'untitled', cwd]
}

function limitOf(given: string | undefined): number {
  if (given === undefined) return 50
  if (/^\d{1,6}$/.test(given) && Number(given) > 0) return Number(given)
  throw new ParleyError('validation_error', `--limit takes a number from 1, not "${given}".`)
}

function statusOf(given: string | undefined): SessionStatus | undefined {
  if (given === undefined) return undefined
  const status = SessionStatus.safeParse(given)
  if (status.success) return status.data
  const known = SessionStatus.options.join(', ')
  throw new ParleyError('validation_error', `--status takes one of ${known}, not "${given}".`)
}

function isNarrowed({ query, agent, status }: SessionsOptions): boolean {
  return query !== undefined || agent !== undefined || status !== undefined
}
