import type { DraftOf, EventDraft } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { called } from '../testing/state-after.ts'
import { emptyOrder, flushHeld, inOrder, type ToolOrder } from './tool-order.ts'

type CallDraft = Parameters<typeof inOrder>[1]

const updated: DraftOf<'tool-call.updated'> = {
  type: 'tool-call.updated',
  toolCallId: 'call_1',
  title: 'more',
}
const ended: DraftOf<'tool-call.ended'> = {
  type: 'tool-call.ended',
  toolCallId: 'call_1',
  outcome: 'completed',
  content: [],
}
const other = { ...called, toolCallId: 'call_2' }

/** Records these drafts one after the other and returns the recorded drafts. */
function record(order: ToolOrder, ...drafts: CallDraft[]): EventDraft[] {
  return drafts.flatMap((draft) => {
    const step = inOrder(order, draft)
    step.commit()
    return step.drafts
  })
}

const typesOf = (drafts: readonly EventDraft[]) => drafts.map((draft) => draft.type)

describe('a call and its result', () => {
  it('in order are recorded unchanged', () => {
    expect(record(emptyOrder(), called, updated, ended)).toEqual([called, updated, ended])
  })

  it('may be interleaved with those of another call', () => {
    const otherEnded = { ...ended, toolCallId: 'call_2' }
    const drafts = [called, other, otherEnded, ended]
    expect(record(emptyOrder(), ...drafts)).toEqual(drafts)
  })
})

describe('a result before its call', () => {
  it('waits for its call and follows it', () => {
    const order = emptyOrder()
    expect(record(order, updated, ended)).toEqual([])
    expect(record(order, called)).toEqual([called, updated, ended])
    expect(flushHeld(order)).toEqual([])
  })

  it('does not wait for another call', () => {
    const order = emptyOrder()
    record(order, ended)
    expect(record(order, other)).toEqual([other])
    expect(record(order, called)).toEqual([called, ended])
  })

  it('counts as the result: a later one is a second result', () => {
    const order = emptyOrder()
    record(order, ended, called)
    expect(typesOf(record(order, ended))).toEqual(['agent.unrecognised'])
  })

  it('is recorded once although it came twice', () => {
    const again = { ...ended, outcome: 'failed' as const }
    const drafts = record(emptyOrder(), ended, again, called)
    expect(drafts.filter((draft) => draft.type === 'tool-call.ended')).toEqual([ended])
    expect(drafts).toContainEqual(expect.objectContaining({ type: 'agent.unrecognised', native: again }))
  })
})

describe('results that wait for their calls', () => {
  const waiting = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ ...ended, toolCallId: `waiting_${index}` }))

  it('are limited in number: the oldest is recorded as unrecognised', () => {
    const order = emptyOrder()
    const drafts = waiting(1002)
    expect(record(order, ...drafts)).toMatchObject(
      drafts.slice(0, 2).map((native) => ({ type: 'agent.unrecognised', native })),
    )
    expect(flushHeld(order).filter(({ type }) => type === 'tool-call.ended')).toEqual(drafts.slice(2))
  })

  it('are limited even for a single call', () => {
    const order = emptyOrder()
    const count = 1500
    const recorded = record(order, ...Array.from({ length: count }, () => updated))
    const flushed = flushHeld(order).filter(({ type }) => type === 'tool-call.updated')
    expect(flushed.length).toBeLessThanOrEqual(1000)
    expect(recorded.length + flushed.length).toBe(count)
  })

  it('wait up to a total size: the oldest are kept as unrecognised messages', () => {
    const order = emptyOrder()
    const large = (toolCallId: string): CallDraft => ({
      ...ended,
      toolCallId,
      content: [{ type: 'text', text: 'x'.repeat(7 * 2 ** 20) }],
    })
    const recorded = record(order, ...['call_1', 'call_2', 'call_3', 'call_4'].map(large))
    expect(recorded).toMatchObject([
      { type: 'agent.unrecognised', native: { toolCallId: 'call_1' } },
      { type: 'agent.unrecognised', native: { toolCallId: 'call_2' } },
    ])
    expect([...order.held.keys()]).toEqual(['call_3', 'call_4'])
  })
})

describe('a repeated draft', () => {
  it('of a call becomes an update', () => {
    const again = { ...called, title: 'ls -l', locations: [{ path: 'a' }], parentToolCallId: 'call_0' }
    expect(record(emptyOrder(), called, again)[1]).toEqual({
      type: 'tool-call.updated',
      toolCallId: 'call_1',
      title: 'ls -l',
      kind: 'execute',
      input: { command: 'ls' },
      locations: [{ path: 'a' }],
      parentToolCallId: 'call_0',
    })
  })

  it('of a result is recorded as unrecognised, with the reason', () => {
    const again = { ...ended, outcome: 'failed' as const }
    expect(record(emptyOrder(), called, ended, again)[2]).toEqual({
      type: 'agent.unrecognised',
      native: again,
      reason: 'comes after the end of its call',
    })
  })
})

describe('a step that is not committed', () => {
  it('does not change the order', () => {
    const order = emptyOrder()
    inOrder(order, called)
    inOrder(order, ended)
    expect(order).toEqual(emptyOrder())
    record(order, called)
    inOrder(order, ended)
    expect(record(order, ended)).toEqual([ended])
  })
})

describe('flushHeld', () => {
  it('records nothing for a complete turn', () => {
    const order = emptyOrder()
    record(order, called, ended)
    expect(flushHeld(order)).toEqual([])
  })

  it('adds a call, marked as inferred, to a result without a call', () => {
    const order = emptyOrder()
    record(order, updated, ended)
    const [first, ...rest] = flushHeld(order)
    expect(first).toMatchObject({ type: 'tool-call.called', toolCallId: 'call_1', inferred: true })
    expect(rest).toEqual([updated, ended])
  })

  it('invents no call if the result may belong to a call of an earlier turn', () => {
    const order = emptyOrder()
    record(order, updated, ended)
    expect(flushHeld(order, true)).toEqual(
      [updated, ended].map((native) => ({
        type: 'agent.unrecognised',
        native,
        reason: 'the result of an unknown call',
      })),
    )
  })

  it('ends a call of which only updates were seen', () => {
    const order = emptyOrder()
    record(order, updated)
    expect(flushHeld(order)).toMatchObject([
      { type: 'tool-call.called', inferred: true },
      { type: 'tool-call.updated' },
      { type: 'tool-call.ended', toolCallId: 'call_1', outcome: 'failed' },
    ])
  })

  it('gives the inferred call its parent', () => {
    const order = emptyOrder()
    record(order, { ...ended, parentToolCallId: 'call_0' })
    expect(flushHeld(order)).toMatchObject([{ parentToolCallId: 'call_0' }, { parentToolCallId: 'call_0' }])
  })
})

describe('any order of drafts', () => {
  const draft = fc
    .tuple(fc.constantFrom<CallDraft>(called, updated, ended), fc.constantFrom('call_1', 'call_2'))
    .map(([one, toolCallId]): CallDraft => ({ ...one, toolCallId }))

  it('records each call once, each result once and after its call, and drops nothing', () => {
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 12, size: 'max' }), (drafts) => {
        const order = emptyOrder()
        const recorded = [...record(order, ...drafts), ...flushHeld(order)]
        const open = new Set<string>()
        const over = new Set<string>()
        for (const one of recorded) {
          if (one.type === 'agent.unrecognised') continue
          const { toolCallId } = one as CallDraft
          if (one.type === 'tool-call.called') {
            expect(open.has(toolCallId)).toBe(false)
            open.add(toolCallId)
          } else expect(open.has(toolCallId)).toBe(true)
          if (one.type === 'tool-call.ended') {
            expect(over.has(toolCallId)).toBe(false)
            over.add(toolCallId)
          }
        }
        expect(recorded.length).toBeGreaterThanOrEqual(drafts.length)
      }),
    )
  })
})
