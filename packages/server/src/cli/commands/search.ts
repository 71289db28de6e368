import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from '@parley/client'
import { defined, ParleyError, type SearchHit, SearchKind, type SearchPage } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { ageText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'
import type { Output } from '../terminal/output.ts'
import { oneLine } from '../terminal/visible.ts'

export type SearchOptions = Flags & {
  readonly in?: string
  readonly agent?: string
  readonly session?: string
  readonly folder?: string
  readonly limit?: string
  readonly json?: boolean
}

const pageSize = 100
/** The time for which the command waits for sessions that are still being indexed. */
const patienceMs = 30_000
const retryMs = 250

/** Prints the events of all sessions that contain the words. */
export async function search(
  words: readonly string[],
  options: SearchOptions,
  context: Context,
): Promise<number> {
  const { output } = context
  const limit = limitOf(options.limit)
  const kinds = kindsOf(options.in)
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { client } = server
  const session =
    options.session === undefined ? undefined : await findSession(client, options.session, context)
  const { agent, folder } = options
  const query = { q: words.join(' '), ...defined({ in: kinds, agent, folder, session }) }
  const pending = await whenIndexed(client, query, output)
  const hits = await hitsOf(client, query, limit)
  for (const hit of hits) output.out(options.json ? `${JSON.stringify(hit)}\n` : `${hitText(hit, output)}\n`)
  if (pending > 0)
    output.err(`${pending} sessions are still being indexed; search again later to find everything.\n`)
  if (hits.length === 0 && !options.json) output.err('Nothing was found.\n')
  return 0
}

type Query = Readonly<Record<'q', string>> & Partial<Record<'in' | 'agent' | 'folder' | 'session', string>>

/** Waits while the server indexes sessions. Returns the number of sessions that are not indexed yet. */
async function whenIndexed(client: Client, query: Query, output: Output): Promise<number> {
  const until = performance.now() + patienceMs
  let wasTold = false
  for (;;) {
    const { pending = 0 } = await client.call('search', { query: { ...query, limit: 1 } })
    if (pending === 0 || performance.now() > until) return pending
    if (!wasTold && output.isErrTerminal) output.err(`Indexing ${pending} sessions…\n`)
    wasTold = true
    await pause(retryMs)
  }
}

async function hitsOf(client: Client, query: Query, limit: number): Promise<SearchHit[]> {
  const hits: SearchHit[] = []
  let cursor: string | undefined
  do {
    const page: SearchPage = await client.call('search', {
      query: { ...query, limit: Math.min(pageSize, limit - hits.length), ...defined({ cursor }) },
    })
    hits.push(...page.hits)
    cursor = page.cursor
  } while (cursor !== undefined && hits.length < limit)
  return hits
}

/** A line with the session, the event and the kind of the text, and then the text with the found words in bold. */
function hitText({ session, seq, at, kind, text, marks }: SearchHit, { outStyle: style }: Output): string {
  const where = [
    session.id,
    `event ${seq}`,
    kind,
    ageText(Date.now() - at),
    oneLine(session.title) || 'untitled',
  ]
  let shown = ''
  let end = 0
  for (const [from, to] of marks) {
    shown += oneLine(text.slice(end, from)) + style.bold(oneLine(text.slice(from, to)))
    end = to
  }
  return `${style.dim(where.join('  '))}\n  ${shown}${oneLine(text.slice(end))}`
}

function kindsOf(given: string | undefined): string | undefined {
  if (given === undefined) return undefined
  const kinds = given.split(',').map((kind) => kind.trim())
  const unknown = kinds.find((kind) => !SearchKind.safeParse(kind).success)
  if (unknown === undefined) return kinds.join(',')
  throw new ParleyError(
    'validation_error',
    `--in takes ${SearchKind.options.join(', ')}, separated by commas, not "${unknown}".`,
  )
}

function limitOf(given: string | undefined): number {
  if (given === undefined) return 20
  if (/^\d{1,5}$/.test(given) && Number(given) > 0) return Number(given)
  throw new ParleyError('validation_error', `--limit takes a number of at least 1, not "${given}".`)
}
