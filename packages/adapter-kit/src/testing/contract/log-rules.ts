import type { Delta, SessionEvent } from '@parley/protocol'
import { expect } from '../expect.ts'
import type { RuleName } from '../rules.ts'

/** The events that come in pairs with the same id, and the rule that a missing partner breaks. */
const pairs = [
  ['turn.started', 'turn.ended', 'turnId', 'one-end-of-a-turn'],
  ['tool-call.called', 'tool-call.ended', 'toolCallId', 'tool-calls'],
  ['permission.requested', 'permission.resolved', 'requestId', 'requests'],
  ['question.asked', 'question.resolved', 'requestId', 'requests'],
] as const satisfies readonly (readonly [SessionEvent['type'], SessionEvent['type'], string, RuleName])[]

/** Checks the rules that every log must satisfy. Called at the end of every case. */
export function expectValidLog(events: readonly SessionEvent[], deltas: readonly Delta[]): void {
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1))
  for (const [start, end, field, rule] of pairs)
    expect(idsOf(events, end, field), `one ${end} for each ${start}`, rule).toEqual(
      idsOf(events, start, field),
    )
  expectNothingAfterTurnEnd(events)
  expectDeltasAddUp(events, deltas)
}

function idsOf(events: readonly SessionEvent[], type: SessionEvent['type'], field: string): unknown[] {
  return events
    .filter((event) => event.type === type)
    .map((event) => (event as Record<string, unknown>)[field])
    .sort()
}

function expectNothingAfterTurnEnd(events: readonly SessionEvent[]): void {
  const over = new Set<string>()
  for (const event of events) {
    if (event.turnId === undefined) continue
    // The snapshots of a turn may be recorded after its end.
    const isLate = over.has(event.turnId) && event.type !== 'snapshot.taken'
    expect(isLate, `${event.type} after the end of its turn`, 'nothing-after-the-end').toBe(false)
    if (event.type === 'turn.ended') over.add(event.turnId)
  }
}

/** Checks that the deltas of each streamed block add up to its text. */
export function expectDeltasAddUp(events: readonly SessionEvent[], deltas: readonly Delta[]): void {
  const streamed = new Map<string, string>()
  for (const delta of deltas) {
    if (delta.type !== 'text.streamed' && delta.type !== 'thinking.streamed') continue
    const before = delta.offset === 0 ? '' : (streamed.get(delta.blockId) ?? '')
    expect(delta.offset, `a gap in ${delta.blockId}`, 'blocks').toBe(before.length)
    streamed.set(delta.blockId, before + delta.text)
  }
  for (const event of events) {
    if (event.type !== 'text.written' && event.type !== 'thinking.written') continue
    const pieces = streamed.get(event.blockId)
    if (pieces !== undefined) expect(pieces, `the pieces of ${event.blockId}`, 'blocks').toBe(event.text)
  }
}
