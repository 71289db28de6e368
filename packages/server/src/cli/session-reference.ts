import type { Client } from '@parley/client'
import { hasCode, ParleyError, type SessionSummary } from '@parley/protocol'
import type { Context } from './context.ts'

const page = 500
const shown = 5

/** The id of the session that a person names by its id, a prefix of its id, or `last`. */
export async function findSession(
  client: Client,
  reference: string,
  context: Pick<Context, 'commandLine'>,
): Promise<string> {
  const { commandLine } = context
  if (reference === 'last') return lastSession(client, context)
  if (await isSession(client, reference)) return reference
  const found: SessionSummary[] = []
  for await (const session of allSessions(client)) {
    if (session.id.startsWith(reference) || session.id.startsWith(`ses_${reference}`)) found.push(session)
  }
  const [only, ...others] = found
  if (only && others.length === 0) return only.id
  if (!only) {
    const list = commandLine('sessions')
    throw new ParleyError('not_found', `There is no session "${reference}". List them with: ${list}`)
  }
  const names = found.slice(0, shown).map(({ id, title }) => `${id} (${title || 'untitled'})`)
  const more = found.length > shown ? ' and more' : ''
  throw new ParleyError(
    'validation_error',
    `"${reference}" matches ${found.length} sessions: ${names.join(', ')}${more}. Give more of the id.`,
  )
}

/** Every session, including archived ones, page by page. */
export async function* allSessions(client: Client): AsyncGenerator<SessionSummary> {
  let cursor: string | undefined
  do {
    const query = { archived: 'all' as const, limit: page, ...(cursor !== undefined && { cursor }) }
    const reply = await client.call('listSessions', { query })
    yield* reply.sessions
    cursor = reply.cursor
  } while (cursor !== undefined)
}

const shortestShown = 12

/**
 * Returns a function that formats an id for a list: its shortest unique prefix on a terminal, otherwise the whole id.
 */
export function shownIds(
  ids: readonly string[],
  { isOutTerminal }: Pick<Context['output'], 'isOutTerminal'>,
): (id: string) => string {
  const short = isOutTerminal ? shortIds(ids, shortestShown) : undefined
  return (id) => short?.get(id) ?? id
}

/** The shortest unique prefix of each id, with at least `least` characters. */
export function shortIds(ids: readonly string[], least: number): Map<string, string> {
  const sorted = ids.toSorted()
  return new Map(
    sorted.map((id, index) => {
      const shared = Math.max(sharedLength(id, sorted[index - 1]), sharedLength(id, sorted[index + 1]))
      return [id, id.slice(0, Math.max(least, shared + 1))]
    }),
  )
}

function sharedLength(one: string, other = ''): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return length
}

async function lastSession(client: Client, { commandLine }: Pick<Context, 'commandLine'>): Promise<string> {
  let last: SessionSummary | undefined
  for await (const session of allSessions(client)) {
    if (!last || session.updatedAt > last.updatedAt) last = session
  }
  if (last) return last.id
  const begin = commandLine('run demo "help"')
  throw new ParleyError('not_found', `There are no sessions yet. Start one with: ${begin}`)
}

async function isSession(client: Client, id: string): Promise<boolean> {
  try {
    await client.call('getSession', { params: { id }, query: { tail: 0 } })
    return true
  } catch (thrown) {
    if (hasCode(thrown, 'not_found', 'validation_error')) return false
    throw thrown
  }
}
