import type { Block, SessionState } from '@parley/protocol'

/** A session as it was last seen here: its state and the end of its timeline. */
export type CachedSession = {
  readonly schema: number
  readonly id: string
  readonly savedAt: number
  readonly state: SessionState
  readonly timeline: readonly Block[]
  readonly atStart: boolean
}

/** Changes whenever the shape of what is kept does: a record of another schema is not read. */
export const cacheSchema = 1

const mostBlocks = 150
const mostCharacters = 1_500_000

export function recordOf(input: {
  readonly state: SessionState
  readonly timeline: readonly Block[]
  readonly atStart: boolean
  readonly now: number
}): CachedSession {
  const { state, timeline, atStart, now } = input
  const tail = tailWithin(timeline)
  return {
    schema: cacheSchema,
    id: state.id,
    savedAt: now,
    state,
    timeline: tail,
    atStart: atStart && tail.length === timeline.length,
  }
}

/** The last blocks that fit, whole: a block is kept as it is or not at all. */
function tailWithin(timeline: readonly Block[]): readonly Block[] {
  let left = mostCharacters
  let from = timeline.length
  while (from > 0 && timeline.length - from < mostBlocks) {
    left -= JSON.stringify(timeline[from - 1]).length
    if (left < 0) break
    from--
  }
  return timeline.slice(from)
}

export function isReadable(record: unknown): record is CachedSession {
  if (typeof record !== 'object' || record === null) return false
  const { schema, state, timeline } = record as Partial<CachedSession>
  return schema === cacheSchema && Array.isArray(timeline) && typeof state?.seq === 'number'
}
