import type { Client } from '@parley/client'
import { ParleyError, type Round } from '@parley/protocol'
import type { Context } from './context.ts'
import { oneLine } from './terminal/visible.ts'

/** The round that a person names by its id, a prefix of the id, or `last`. */
export async function findRound(
  client: Client,
  reference: string,
  { commandLine }: Pick<Context, 'commandLine'>,
): Promise<Round> {
  const found: Round[] = []
  let cursor: string | undefined
  do {
    const page = await client.call('listRounds', {
      query: { limit: 100, ...(cursor !== undefined && { cursor }) },
    })
    const [latest] = page.rounds
    if (reference === 'last' && latest) return latest
    found.push(
      ...page.rounds.filter(({ id }) => id.startsWith(reference) || id.startsWith(`rnd_${reference}`)),
    )
    cursor = page.cursor
  } while (cursor !== undefined)
  const [round] = found
  if (round && found.length === 1) return round
  const list = commandLine('rounds')
  if (!round)
    throw new ParleyError('not_found', `There is no round "${oneLine(reference)}". List them with: ${list}`)
  throw new ParleyError(
    'validation_error',
    `"${oneLine(reference)}" matches ${found.length} rounds. Give more of the id.`,
  )
}
