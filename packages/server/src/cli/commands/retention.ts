import type { Client } from '@parley/client'
import { defined, ParleyError, type SessionSummary } from '@parley/protocol'
import type { Flags, RetentionTimes } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { ageText, parseAge } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { type Due, dueFor, firstDueCursor } from '../retention.ts'
import { printList } from '../terminal/table.ts'

type RetentionOptions = Flags & {
  readonly archiveAfter?: string
  readonly deleteAfter?: string
  readonly json?: boolean
}

const columns = [
  { name: 'ID' },
  { name: 'DUE' },
  { name: 'UNUSED' },
  { name: 'AGENT' },
  { name: 'TITLE', shrinks: true },
]

/** Lists the sessions that retention would archive or delete now. Changes nothing. */
export async function retention(options: RetentionOptions, context: Context): Promise<number> {
  const { output } = context
  const configuration = existingConfigurationOf(context, options)
  const times = timesOf(options) ?? configuration.retention
  if (!times)
    throw new ParleyError(
      'validation_error',
      'Retention is off: sessions are kept. Give --archive-after or --delete-after to see what they would do, or set "retention" in config.json.',
    )
  await using server = await connect(configuration, context)
  const now = Date.now()
  const due = await dueSessions(server.client, times, now)
  const row = ({ id, due: what, agent, title, updatedAt }: DueSession) => [
    id,
    what,
    ageText(now - updatedAt),
    agent,
    title || 'untitled',
  ]
  const empty = 'No session is due to be archived or deleted.'
  const isTable = printList(due, { columns, row, empty }, { json: options.json, output })
  if (isTable && timesOf(options))
    output.err(
      'Nothing was changed. To archive and delete sessions every hour, set "retention" in config.json.\n',
    )
  else if (isTable)
    output.err('Nothing was changed. A running server archives and deletes due sessions every hour.\n')
  return 0
}

type DueSession = SessionSummary & { readonly due: Due }

function timesOf({ archiveAfter, deleteAfter }: RetentionOptions): RetentionTimes | undefined {
  if (archiveAfter === undefined && deleteAfter === undefined) return undefined
  return defined({
    archiveAfter: archiveAfter === undefined ? undefined : parseAge(archiveAfter, '--archive-after'),
    deleteAfter: deleteAfter === undefined ? undefined : parseAge(deleteAfter, '--delete-after'),
  })
}

async function dueSessions(client: Client, times: RetentionTimes, now: number): Promise<DueSession[]> {
  const found: DueSession[] = []
  let cursor: string | undefined = firstDueCursor(times, now)
  while (cursor !== undefined) {
    const query = { cursor, limit: 500, archived: 'all' as const }
    const page: Awaited<ReturnType<typeof client.call<'listSessions'>>> = await client.call('listSessions', {
      query,
    })
    for (const session of page.sessions) {
      const due = dueFor(session, times, now)
      if (due !== undefined) found.push({ ...session, due })
    }
    cursor = page.cursor
  }
  return found
}
