import { applyToTimeline, type SessionEvent } from '@parley/protocol'
import { expect, it } from 'vitest'
import { timelineLines } from './block-lines.ts'
import { createStyle } from './style.ts'

type Fields = { type: SessionEvent['type'] } & Record<string, unknown>
const lines = (...all: Fields[]) => {
  const events = all.map(
    (fields, index) => ({ seq: index + 1, at: 0, sessionId: 's', turnId: 'a', ...fields }) as SessionEvent,
  )
  return timelineLines(applyToTimeline([], events), { style: createStyle(false), columns: 100 }).filter(
    Boolean,
  )
}
const submitted = (promptId: string, more = {}): Fields => ({
  type: 'prompt.submitted',
  promptId,
  turnId: undefined,
  parts: [{ type: 'text', text: promptId }],
  delivery: 'queue',
  ...more,
})
const said = (turnId: string, text: string): Fields => ({ type: 'text.written', turnId, blockId: text, text })
const ended = (more = {}): Fields => ({
  type: 'turn.ended',
  outcome: 'cancelled',
  stopReason: 'cancelled',
  durationMs: 5,
  ...more,
})

it('a queued prompt is shown above its turn, and a steered one is marked', () => {
  const shown = lines(
    submitted('one', { turnId: 'a' }),
    submitted('withdrawn'),
    submitted('next'),
    { type: 'prompt.withdrawn', promptId: 'withdrawn' },
    submitted('more', { delivery: 'steer', turnId: 'a' }),
    said('a', 'first'),
    ended(),
    { type: 'turn.started', turnId: 'b', promptId: 'next' },
    said('b', 'second'),
  )
  expect(shown).toEqual([
    '› one',
    '› withdrawn',
    '  (withdrawn)',
    '› more',
    '  (steered)',
    'first',
    'cancelled · 5 ms',
    '› next',
    'second',
  ])
})

it('a changed command is shown in its changed form, and the wait for an answer does not count as work', () => {
  const call = { toolCallId: 'c', kind: 'execute', title: 'rm -rf build', input: { command: 'rm -rf build' } }
  const input = { command: 'ls build' }
  const shown = lines(
    { type: 'tool-call.called', ...call, name: 'Bash' },
    { type: 'permission.requested', ...call, requestId: 'r', tool: 'Bash', options: [], at: 1000 },
    { type: 'permission.resolved', requestId: 'r', outcome: 'allowed', by: 'person', input, at: 421_000 },
    { type: 'tool-call.ended', toolCallId: 'c', outcome: 'completed', content: [], at: 424_000 },
    ended({ outcome: 'completed', durationMs: 425_000, at: 425_000 }),
  )
  expect(shown).toEqual([
    '✓ execute ls build · completed, 4.0 s',
    '· allowed with changes: ls build (by a person, instead of rm -rf build)',
    'completed · 5.0 s, 7 min waiting for you',
  ])
})
