import type { EventDraft, TurnEnd } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { andThen, asked, called, created, requested, running, stateAfter } from '../testing/state-after.ts'
import { cancelRequests, endCalls, endTurn, writeText } from './end-turn.ts'

const completed = { outcome: 'completed', stopReason: 'end_turn' } as const
const typing = {
  type: 'text.streamed',
  turnId: 'trn_1',
  blockId: 'blk_1',
  offset: 0,
  text: 'Half a sen',
} as const
const musing = { ...typing, type: 'thinking.streamed', blockId: 'blk_2', parentToolCallId: 'call_0' } as const
const talking = { type: 'tool-call.output-streamed', toolCallId: 'call_1', offset: 0, text: 'a.t' } as const
const drafting = { type: 'tool-call.drafted', toolCallId: 'call_2', name: 'Bash' } as const
const busy = andThen(running, called, talking, drafting, typing, musing, requested, asked)

describe('endTurn', () => {
  it('records only the end when nothing is open', () => {
    expect(endTurn(running, { ...completed, result: 'ok' }, 504)).toEqual([
      { type: 'turn.ended', turnId: 'trn_1', ...completed, result: 'ok', durationMs: 400 },
    ])
  })

  it('closes everything in the turn, and records its end last', () => {
    const drafts = endTurn(busy, completed, 504)
    expect(drafts.map((draft) => draft.type)).toEqual([
      'text.written',
      'thinking.written',
      'tool-call.ended',
      'permission.resolved',
      'question.resolved',
      'turn.ended',
    ])
    expect(drafts.every((draft) => draft.turnId === 'trn_1')).toBe(true)
    expect(andThen(busy, ...drafts)).toMatchObject({ status: 'idle', requests: [], openBlocks: [] })
  })

  it('records held results before the end', () => {
    const held: EventDraft[] = [{ ...called, toolCallId: 'call_9', inferred: true }]
    const drafts = endTurn(running, completed, 504, held)
    expect(drafts.map((draft) => draft.type)).toEqual(['tool-call.called', 'turn.ended'])
  })

  it.each<[TurnEnd['outcome'], string, RegExp]>([
    ['completed', 'failed', /ended before this call had a result/],
    ['cancelled', 'cancelled', /cancelled/],
    ['failed', 'failed', /failed/],
    ['unknown', 'failed', /unknown/],
  ])('with outcome %s ends an open call as %s, with a reason', (outcome, callOutcome, why) => {
    const [ended] = endTurn(andThen(running, called), { ...completed, outcome }, 504)
    expect(ended).toMatchObject({ type: 'tool-call.ended', outcome: callOutcome })
    expect(JSON.stringify(ended)).toMatch(why)
  })

  it('records nothing when there is no turn', () => {
    expect(endTurn(stateAfter(created), completed, 504)).toEqual([])
  })

  it('never has a negative duration, even if the clock went back', () => {
    expect(endTurn(running, completed, 0)).toMatchObject([{ durationMs: 0 }])
  })
})

describe('writeText', () => {
  it('writes open blocks as far as they were streamed, marked as cut off', () => {
    expect(writeText(busy.openBlocks)).toEqual([
      { type: 'text.written', turnId: 'trn_1', blockId: 'blk_1', text: 'Half a sen', interrupted: true },
      {
        type: 'thinking.written',
        turnId: 'trn_1',
        blockId: 'blk_2',
        text: 'Half a sen',
        interrupted: true,
        parentToolCallId: 'call_0',
      },
    ])
  })

  it('writes no empty block', () => {
    expect(writeText(andThen(running, { ...typing, text: '' }).openBlocks)).toEqual([])
  })
})

describe('endCalls', () => {
  it('keeps the output so far, and the parent of the call', () => {
    const state = andThen(running, { ...called, parentToolCallId: 'call_0' }, talking)
    expect(endCalls(state.openBlocks, 'cancelled', 'Why.')).toEqual([
      {
        type: 'tool-call.ended',
        turnId: 'trn_1',
        toolCallId: 'call_1',
        outcome: 'cancelled',
        content: [
          { type: 'text', text: 'a.t' },
          { type: 'text', text: 'Why.' },
        ],
        parentToolCallId: 'call_0',
      },
    ])
  })

  it('leaves out a call that was only drafted', () => {
    expect(endCalls(andThen(running, drafting).openBlocks, 'failed', 'Why.')).toEqual([])
  })
})

describe('cancelRequests', () => {
  it('resolves each request by its type', () => {
    const cancelled = { turnId: 'trn_1', outcome: 'cancelled', by: 'turn-end' }
    expect(cancelRequests(busy.requests)).toEqual([
      { type: 'permission.resolved', requestId: 'req_1', ...cancelled },
      { type: 'question.resolved', requestId: 'req_2', ...cancelled },
    ])
  })
})
