import { type Block, emptyState } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { cacheSchema, isReadable, recordOf } from './record.logic.ts'

const text = (seq: number, length = 1): Block => ({
  id: `b${seq}`,
  seq,
  at: 0,
  type: 'text',
  text: 'x'.repeat(length),
})
const record = (timeline: Block[]) =>
  recordOf({ state: { ...emptyState('s', 'e'), seq: 9 }, timeline, atStart: true, now: 5 })

describe('a cached session', () => {
  it('is the end of the timeline, and says whether that is all', () => {
    expect(record([text(1), text(2)])).toMatchObject({ atStart: true, id: 's' })
    const long = record(Array.from({ length: 400 }, (_, index) => text(index)))
    expect(long.timeline.map((block) => block.seq).at(-1)).toBe(399)
    expect(long.timeline).toHaveLength(150)
    expect(long.atStart).toBe(false)
  })

  it('is bounded in size, and its blocks are whole', () => {
    const { timeline } = record([text(1, 1_400_000), text(2, 1_400_000)])
    expect(timeline.map((block) => block.seq)).toEqual([2])
    expect(record([text(1, 9_000_000)]).timeline).toEqual([])
  })

  it('is read only in its own schema', () => {
    expect(isReadable(record([text(1)]))).toBe(true)
    expect(isReadable({ ...record([]), schema: cacheSchema + 1 })).toBe(false)
    for (const bad of [undefined, null, 3, {}, { schema: cacheSchema }]) expect(isReadable(bad)).toBe(false)
  })
})
