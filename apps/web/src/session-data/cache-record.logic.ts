import type { SessionTail } from '@parley/client'

/** A session as this browser last saw it: its state and the end of its log. */
export type CachedSession = SessionTail & {
  readonly schema: number
  readonly id: string
  readonly savedAt: number
}

/** Must be raised with every change of the cached shape. Records of another schema are ignored. */
export const cacheSchema = 2

export const maxCached = { events: 400, characters: 1_500_000 }

export function recordOf(tail: SessionTail, now: number): CachedSession {
  return { schema: cacheSchema, id: tail.state.id, savedAt: now, ...tail }
}

export function isReadable(record: unknown): record is CachedSession {
  if (typeof record !== 'object' || record === null) return false
  const { schema, state, events, firstSeq } = record as Partial<CachedSession>
  return (
    schema === cacheSchema &&
    Array.isArray(events) &&
    typeof firstSeq === 'number' &&
    typeof state?.seq === 'number'
  )
}
