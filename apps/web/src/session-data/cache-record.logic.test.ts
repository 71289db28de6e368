import { emptyState } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { cacheSchema, isReadable, recordOf } from './cache-record.logic.ts'

const record = recordOf({ state: { ...emptyState('s', 'e'), seq: 9 }, events: [], firstSeq: 3 }, 5)

describe('a cached session', () => {
  it('has the session tail, its id, the time and the schema', () => {
    expect(record).toMatchObject({ id: 's', savedAt: 5, firstSeq: 3, schema: cacheSchema })
  })

  it('is readable only in the current schema', () => {
    expect(isReadable(record)).toBe(true)
    expect(isReadable({ ...record, schema: cacheSchema - 1 })).toBe(false)
    for (const bad of [undefined, null, 3, {}, { schema: cacheSchema }]) expect(isReadable(bad)).toBe(false)
  })
})
