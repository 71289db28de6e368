import { expect, it } from 'vitest'
import type { Block } from './block.ts'
import { waitsOf } from './waited.ts'

let seq = 0
const asked = (at: number, resolvedAt?: number, toolCallId = 'c'): Block => ({
  id: `r${++seq}`,
  seq,
  turnId: 't',
  type: 'question',
  at,
  request: { requestId: `r${seq}`, toolCallId, questions: [] },
  ...(resolvedAt !== undefined && { resolvedAt }),
})
const call: Block = {
  id: 'c',
  seq: 0,
  at: 1000,
  turnId: 't',
  type: 'tool-call',
  name: 'Bash',
  kind: 'execute',
  title: 'ls',
  input: {},
  status: 'completed',
  content: [],
  endedAt: 9000,
}
const end: Block = {
  id: 'end:t',
  seq: 0,
  at: 10_000,
  turnId: 't',
  type: 'turn-end',
  end: { outcome: 'completed', stopReason: 'end', durationMs: 10_000 },
}
const waits = (...requests: Block[]) => {
  const found = waitsOf([call, ...requests, end])
  return [found.get(call), found.get(end)]
}

it('counts the time of overlapping requests only once', () => {
  expect(waits()).toEqual([0, 0])
  expect(waits(asked(2000, 3000), asked(4000, 5000))).toEqual([2000, 2000])
  expect(waits(asked(4000, 7000), asked(2000, 5000), asked(2500, 2600))).toEqual([5000, 5000])
  expect(waits(asked(2000, 5000), asked(3000, 8000, 'other'))).toEqual([3000, 6000])
})

it('counts neither requests that are still open nor time outside the call and the turn', () => {
  expect(waits(asked(2000))).toEqual([0, 0])
  expect(waits(asked(3000, 2000))).toEqual([0, 0])
  expect(waits(asked(-5000, 2000), asked(8500, 20_000))).toEqual([1500, 3500])
})
