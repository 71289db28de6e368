import type { Delta, SessionEvent } from '@parley/protocol'
import { expect } from '../peers.ts'

/** Checks the rules that every log must satisfy. Called at the end of every case. */
export function expectValidLog(events: readonly SessionEvent[], deltas: readonly Delta[]): void {
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1))
  const started = idsOf(events, 'turn.started', 'turnId')
  const open = started.filter((turnId) => !idsOf(events, 'turn.ended', 'turnId').includes(turnId))
  expect(open, 'turns without an end').toEqual([])
  expect(idsOf(events, 'tool-call.ended', 'toolCallId').sort(), 'one end for each call').toEqual(
    idsOf(events, 'tool-call.called', 'toolCallId').sort(),
  )
  expect(idsOf(events, 'permission.resolved', 'requestId').sort(), 'one resolution for each request').toEqual(
    idsOf(events, 'permission.requested', 'requestId').sort(),
  )
  expect(idsOf(events, 'question.resolved', 'requestId').sort(), 'one resolution for each question').toEqual(
    idsOf(events, 'question.asked', 'requestId').sort(),
  )
  expectNothingAfterTurnEnd(events)
  expectDeltasAddUp(events, deltas)
}

function idsOf(events: readonly SessionEvent[], type: SessionEvent['type'], field: string): unknown[] {
  return events
    .filter((event) => event.type === type)
    .map((event) => (event as Record<string, unknown>)[field])
}

function expectNothingAfterTurnEnd(events: readonly SessionEvent[]): void {
  const over = new Set<string>()
  for (const event of events) {
    if (event.turnId === undefined) continue
    // The snapshots of a turn may be recorded after its end.
    const isLate = over.has(event.turnId) && event.type !== 'snapshot.taken'
    expect(isLate, `${event.type} after the end of its turn`).toBe(false)
    if (event.type === 'turn.ended') over.add(event.turnId)
  }
}

/** Checks that the deltas of each streamed block add up to its text. */
export function expectDeltasAddUp(events: readonly SessionEvent[], deltas: readonly Delta[]): void {
  const streamed = new Map<string, string>()
  for (const delta of deltas) {
    if (delta.type !== 'text.streamed' && delta.type !== 'thinking.streamed') continue
    const before = delta.offset === 0 ? '' : (streamed.get(delta.blockId) ?? '')
    expect(delta.offset, `a gap in ${delta.blockId}`).toBe(before.length)
    streamed.set(delta.blockId, before + delta.text)
  }
  for (const event of events) {
    if (event.type !== 'text.written' && event.type !== 'thinking.written') continue
    const pieces = streamed.get(event.blockId)
    if (pieces !== undefined) expect(pieces, `the pieces of ${event.blockId}`).toBe(event.text)
  }
}
