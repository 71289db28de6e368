import { plural } from '../base/format.logic.ts'
import type { TextSearch } from '../session-data/text-search.ts'

/** A note below the hits: why there may be more, or why there are none. */
export function searchNote({ problem, pending, hasMore }: TextSearch): string | undefined {
  if (problem !== undefined) return problem
  if (pending > 0) return `${plural(pending, 'session')} ${pending === 1 ? 'is' : 'are'} still being indexed.`
  return hasMore ? 'More messages match. Type more to narrow the search.' : undefined
}
