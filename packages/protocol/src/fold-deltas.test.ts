import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deepFreeze } from '../testing/deep-freeze.ts'
import { blankView, logOf, sample } from '../testing/sample-events.ts'
import type { Delta } from './delta.ts'
import type { EventDraft } from './event.ts'
import { applyDeltaToState } from './fold-deltas.ts'
import { applyToState } from './fold-state.ts'
import type { SessionState } from './session-state.ts'

const then = (state: SessionState, ...drafts: EventDraft[]): SessionState =>
  logOf(drafts, state.seq + 1).reduce(applyToState, deepFreeze(state))
const streamed = (state: SessionState, ...deltas: Delta[]): SessionState =>
  deltas.reduce((now, delta) => applyDeltaToState(deepFreeze(now), delta), state)

const running = then(
  blankView.state,
  sample('session.created'),
  sample('prompt.submitted'),
  sample('turn.started'),
)

describe('an open block', () => {
  const piece = (offset: number, text: string): Delta => ({
    type: 'text.streamed',
    turnId: 'trn_1',
    blockId: 'blk_1',
    offset,
    text,
  })

  it('grows by its deltas and closes when it is written', () => {
    const open = streamed(running, piece(0, 'Hel'), piece(3, 'lo'))
    expect(open.openBlocks).toEqual([{ type: 'text', id: 'blk_1', turnId: 'trn_1', text: 'Hello' }])
    expect(then(open, sample('text.written', { text: 'Hello' })).openBlocks).toEqual([])
  })

  it('closes when it is retracted', () => {
    expect(then(streamed(running, piece(0, 'Hel')), sample('block.retracted')).openBlocks).toEqual([])
  })

  it('drops the part of a piece that it already has and appends the rest', () => {
    expect(streamed(running, piece(0, 'Hello'), piece(2, 'llo, you')).openBlocks).toMatchObject([
      { text: 'Hello, you' },
    ])
  })

  it('is the same object when a piece contains nothing new', () => {
    const open = streamed(running, piece(0, 'Hello'))
    expect(streamed(open, piece(0, 'Hello'), piece(1, 'el'), piece(5, ''))).toBe(open)
  })

  it('marks a gap and appends nothing beyond it', () => {
    const open = streamed(running, piece(0, 'Hel'), piece(5, ', you'))
    expect(open.openBlocks).toMatchObject([{ text: 'Hel', gap: true }])
    expect(streamed(open, piece(10, '!'))).toBe(open)
  })

  it('that a reader joins in the middle starts with its whole text, at offset 0', () => {
    const open = streamed(running, piece(0, 'Hello, y'), piece(8, 'ou'))
    expect(open.openBlocks).toMatchObject([{ text: 'Hello, you' }])
    expect(open.openBlocks[0]).not.toHaveProperty('gap')
  })

  it('that a reader joins in the middle without its start has a gap', () => {
    expect(streamed(running, piece(4, 'o')).openBlocks).toMatchObject([{ text: '', gap: true }])
  })

  it('has no gap once the whole block was sent', () => {
    const healed = streamed(running, piece(0, 'Hel'), piece(5, ', you'), piece(0, 'Hello, you'))
    expect(healed.openBlocks).toEqual([{ type: 'text', id: 'blk_1', turnId: 'trn_1', text: 'Hello, you' }])
  })

  it('counts offsets in UTF-16 code units', () => {
    expect(streamed(running, piece(0, '🚀'), piece(2, '!')).openBlocks).toMatchObject([{ text: '🚀!' }])
  })

  it('of a subagent names the call that started the subagent', () => {
    const state = streamed(running, {
      ...piece(0, 'x'),
      type: 'thinking.streamed',
      parentToolCallId: 'call_1',
    } as Delta)
    expect(state.openBlocks).toMatchObject([{ type: 'thinking', parentToolCallId: 'call_1' }])
  })

  it('has the whole text, however its pieces were cut and repeated', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 30 })
    const cuts = fc.array(fc.record({ back: fc.nat(8), length: fc.nat(8) }), { maxLength: 20 })
    fc.assert(
      fc.property(text, cuts, (text, cuts) => {
        let state = running
        let end = 0
        for (const { back, length } of [...cuts, { back: 0, length: text.length }]) {
          const start = Math.max(0, end - back)
          end = Math.max(end, Math.min(text.length, start + length))
          state = streamed(state, piece(start, text.slice(start, start + length)))
        }
        expect(state.openBlocks).toEqual([{ type: 'text', id: 'blk_1', turnId: 'trn_1', text }])
      }),
    )
  })
})

describe('an open call', () => {
  const drafted: Delta = { type: 'tool-call.drafted', turnId: 'trn_1', toolCallId: 'call_1', name: 'Bash' }
  const input = (offset: number, text: string): Delta => ({
    type: 'tool-call.input-streamed',
    turnId: 'trn_1',
    toolCallId: 'call_1',
    offset,
    text,
  })
  const output = (offset: number, text: string): Delta => ({
    type: 'tool-call.output-streamed',
    turnId: 'trn_1',
    toolCallId: 'call_1',
    offset,
    text,
  })

  it('shows its input while it is written, then its output, and closes when it ends', () => {
    const writing = streamed(running, drafted, input(0, '{"com'), input(5, 'mand'))
    expect(writing.openBlocks).toMatchObject([
      { name: 'Bash', called: false, input: '{"command', output: '' },
    ])
    const called = then(writing, sample('tool-call.called'))
    expect(called.openBlocks).toMatchObject([{ called: true, kind: 'execute', title: 'ls', input: '' }])
    const talking = streamed(called, output(0, 'a.'), output(2, 'txt'))
    expect(talking.openBlocks).toMatchObject([{ called: true, output: 'a.txt' }])
    expect(then(talking, sample('tool-call.ended')).openBlocks).toEqual([])
  })

  it('is open from its call on when nothing streams', () => {
    expect(then(running, sample('tool-call.called')).openBlocks).toMatchObject([
      { id: 'call_1', called: true },
    ])
  })

  it('is drafted only once', () => {
    const once = streamed(running, drafted, input(0, 'x'))
    expect(streamed(once, drafted)).toBe(once)
  })

  it('keeps its place among other open calls', () => {
    const two = streamed(running, drafted, { ...drafted, toolCallId: 'call_2' } as Delta)
    expect(then(two, sample('tool-call.called')).openBlocks.map((block) => block.id)).toEqual([
      'call_1',
      'call_2',
    ])
  })

  it('marks a gap in its input', () => {
    expect(streamed(running, drafted, input(3, 'x')).openBlocks).toMatchObject([{ input: '', gap: true }])
  })
})
