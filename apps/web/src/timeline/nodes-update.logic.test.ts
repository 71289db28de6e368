import type { Block } from '@parley/protocol'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Reading, readTimeline, segmentsOf } from './nodes.logic.ts'
import { listRows, type Opened, type RowList } from './rows.logic.ts'

const seed = Number(process.env.PARLEY_PROPERTY_SEED ?? Date.now() % 1_000_000)

const opened: Opened = { by: new Map(), all: false, turnsFrom: 0 }
const turn = fc.constantFrom('a', 'b', 'c')
const id = fc.integer({ min: 0, max: 12 })
const step = fc.oneof(
  fc.record({ do: fc.constant('text' as const), turn: fc.option(turn, { nil: undefined }), id }),
  fc.record({ do: fc.constant('prompt' as const), turn, queued: fc.boolean() }),
  fc.record({ do: fc.constant('withdrawn' as const), turn: fc.constant(undefined) }),
  fc.record({ do: fc.constant('steer' as const), turn }),
  fc.record({ do: fc.constant('call' as const), turn, running: fc.boolean(), id }),
  fc.record({ do: fc.constant('lost' as const), turn: fc.option(turn, { nil: undefined }) }),
  fc.record({ do: fc.constant('end' as const), turn, lost: fc.boolean() }),
  // Changes of existing blocks: a queued prompt is sent, a call ends, older pages are loaded.
  fc.record({ do: fc.constant('change' as const), at: fc.nat(30) }),
  fc.record({ do: fc.constant('older' as const), turn }),
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

let seq = 0
function blockOf(one: Exclude<Step, { do: 'change' }>): Block {
  const base = { seq: ++seq, at: seq, id: `${one.do}${seq}`, ...(one.turn && { turnId: one.turn }) }
  switch (one.do) {
    case 'text':
      return { ...base, id: `text${one.id}`, type: 'text', text: 'words' }
    case 'prompt': {
      const status = one.queued ? 'queued' : 'sent'
      return { ...base, type: 'prompt', parts: [{ type: 'text', text: 'go' }], delivery: 'queue', status }
    }
    case 'withdrawn':
    case 'steer': {
      const prompt = { type: 'prompt' as const, parts: [{ type: 'text' as const, text: 'go' }] }
      return one.do === 'steer'
        ? { ...base, ...prompt, delivery: 'steer', status: 'sent' }
        : { ...base, ...prompt, delivery: 'queue', status: 'withdrawn' }
    }
    case 'call': {
      const status = one.running ? 'running' : 'completed'
      const call = { name: 'Read', kind: 'read', title: 'Read', input: {} } as const
      return { ...base, id: `call${one.id}`, type: 'tool-call', status, content: [], ...call }
    }
    case 'lost':
      return { ...base, type: 'notice', level: 'error', code: 'agent_disconnected', text: 'It is gone' }
    case 'older':
      return { ...base, type: 'text', text: 'from before' }
    case 'end': {
      const error = { code: 'agent_failed', message: 'It is gone' } as const
      const end = { stopReason: 'end', durationMs: 1 } as const
      return one.lost
        ? { ...base, type: 'turn-end', end: { ...end, outcome: 'failed', error } }
        : { ...base, type: 'turn-end', end: { ...end, outcome: 'completed' } }
    }
  }
}

function changed(block: Block | undefined): Block | undefined {
  if (block?.type === 'prompt') return { ...block, status: 'sent' }
  if (block?.type === 'tool-call') return { ...block, status: 'completed' }
  return block && { ...block }
}

function next(timeline: readonly Block[], one: Step): readonly Block[] {
  if (one.do === 'older') return [blockOf(one), ...timeline]
  if (one.do !== 'change') return [...timeline, blockOf(one)]
  const block = changed(timeline[one.at])
  return block ? timeline.with(one.at, block) : timeline
}

it(`a changed timeline is read incrementally with the same result as from scratch (seed ${seed})`, () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(step, fc.option(turn, { nil: undefined })), { maxLength: 40 }), (steps) => {
      // A case does not depend on earlier ones, so its seed and path are enough to repeat it.
      seq = 0
      let timeline: readonly Block[] = []
      let read: Reading | undefined
      let listed: RowList | undefined
      for (const [one, openTurnId] of steps) {
        timeline = next(timeline, one)
        read = readTimeline(timeline, openTurnId, read)
        listed = listRows(read.segments, opened, listed)
        const anew = segmentsOf(timeline, openTurnId)
        expect(read.segments).toEqual(anew)
        expect(listed.rows).toEqual(listRows(anew, opened).rows)
        expect(new Set(listed.rows.map((row) => row.key)).size).toBe(listed.rows.length)
      }
    }),
    { seed, numRuns: Number(process.env.PARLEY_PROPERTY_RUNS ?? 500) },
  )
})

it('the last steps of a turn are grouped when the turn has ended, although its blocks have not changed', () => {
  const call = () => blockOf({ do: 'call', turn: 'b', running: false, id: seq })
  const timeline = [call(), call(), call(), blockOf({ do: 'prompt', turn: 'a', queued: false })]
  const running = readTimeline(timeline, 'b')
  const after = [...timeline, blockOf({ do: 'prompt', turn: 'a', queued: false })]
  const segments = readTimeline(after, undefined, running).segments
  expect(segments).toEqual(segmentsOf(after, undefined))
  expect(segments[0]?.nodes.map(({ type }) => type)).toEqual(['group'])
})

it('segments that did not change are reused', () => {
  const turns = ['a', 'b', 'c'] as const
  const timeline = turns.flatMap((of) => [
    blockOf({ do: 'prompt', turn: of, queued: false }),
    blockOf({ do: 'end', turn: of, lost: false }),
  ])
  const before = readTimeline(timeline, undefined)
  const after = readTimeline([...timeline, blockOf({ do: 'text', turn: 'd' as 'a', id: 1 })], 'd', before)
  expect(after.segments.slice(0, 3).every((segment, index) => segment === before.segments[index])).toBe(true)
  expect(after.segments).toHaveLength(4)
})
