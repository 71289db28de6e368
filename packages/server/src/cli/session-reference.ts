import type { Client } from '@parley/client'
import { ParleyError, type SessionSummary } from '@parley/protocol'

const page = 500
const shown = 5

/** The id of the session that a person means by its id, the start of its id, or `last`. */
export async function findSession(client: Client, reference: string): Promise<string> {
  if (reference === 'last') return lastSession(client)
  if (await isSession(client, reference)) return reference
  const found: SessionSummary[] = []
  for await (const session of allSessions(client)) {
    if (session.id.startsWith(reference) || session.id.startsWith(`ses_${reference}`)) found.push(session)
  }
  const [only, ...others] = found
  if (only && others.length === 0) return only.id
  if (!only) {
    throw new ParleyError('not_found', `There is no session "${reference}". List them with: parley sessions`)
  }
  const names = found.slice(0, shown).map(({ id, title }) => `${id} (${title || 'untitled'})`)
  const more = found.length > shown ? ' and more' : ''
  throw new ParleyError(
    'validation_error',
    `"${reference}" fits ${found.length} sessions: ${names.join(', ')}${more}. Write more of the id.`,
  )
}

/** Every session, archived ones too, page by page. */
export async function* allSessions(client: Client): AsyncGenerator<SessionSummary> {
  let cursor: string | undefined
  do {
    const query = { archived: 'all' as const, limit: page, ...(cursor !== undefined && { cursor }) }
    const reply = await client.call('listSessions', { query })
    yield* reply.sessions
    cursor = reply.cursor
  } while (cursor !== undefined)
}

async function lastSession(client: Client): Promise<string> {
  let last: SessionSummary | undefined
  for await (const session of allSessions(client)) {
    if (!last || session.updatedAt > last.updatedAt) last = session
  }
  if (last) return last.id
  throw new ParleyError('not_found', 'There are no sessions yet. Begin one with: parley run demo "help"')
}

async function isSession(client: Client, id: string): Promise<boolean> {
  try {
    await client.call('getSession', { params: { id }, query: { tail: 0 } })
    return true
  } catch (thrown) {
    if (
      thrown instanceof ParleyError &&
      (thrown.code === 'not_found' || thrown.code === 'validation_error')
    ) {
      return false
    }
    throw thrown
  }
}
