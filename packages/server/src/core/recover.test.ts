import type { SessionState } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import {
  andThen,
  called,
  connected,
  created,
  requested,
  running,
  started,
  stateAfter,
  submitted,
} from '../testing/state-after.ts'
import { recovery } from './recover.ts'

const gone = { type: 'agent.disconnected', reason: 'server-killed' }
const interrupted = { type: 'turn.interrupted', turnId: 'trn_1', by: 'person' } as const
const typing = { type: 'text.streamed', turnId: 'trn_1', blockId: 'blk_1', offset: 0, text: 'Half' } as const
const parkedNow = { type: 'turn.parked', turnId: 'trn_1', reason: 'server-killed' } as const
const undelivered = stateAfter(created, submitted, started)

const planFor = (state: SessionState) => recovery(state, 5_000, { canResume: true }).drafts

describe('after a restart', () => {
  it('an idle session needs nothing', () => {
    expect(planFor(stateAfter(created))).toEqual([])
  })

  it('an agent that was connected is disconnected', () => {
    expect(planFor(stateAfter(created, connected))).toEqual([gone])
  })

  it('a turn that waits for a person stays open, parked', () => {
    const waiting = andThen(running, called, typing, requested)
    expect(planFor(waiting)).toEqual([
      gone,
      { type: 'text.written', turnId: 'trn_1', blockId: 'blk_1', text: 'Half', interrupted: true },
      parkedNow,
    ])
    const after = andThen(waiting, ...planFor(waiting))
    expect(after).toMatchObject({ status: 'parked', connected: false, requests: [{ stale: true }] })
    expect(after.openBlocks.map((block) => block.id)).toEqual(['call_1'])
  })

  it.each(['node', 'caretaker'] as const)(
    'a %s records that the node of the session was lost',
    (recordedBy) => {
      const { drafts } = recovery(andThen(running, requested), 5_000, { canResume: true, recordedBy })
      expect(drafts).toEqual([
        { ...gone, recordedBy },
        { ...parkedNow, recordedBy },
      ])
    },
  )

  it('a turn that was parked stays unchanged', () => {
    const parked = andThen(running, requested, { ...parkedNow, reason: 'waited-long' })
    expect(planFor(parked)).toEqual([gone])
    expect(planFor(andThen(parked, { type: 'agent.disconnected', reason: 'parked' }))).toEqual([])
  })

  it('a turn whose prompt never reached the agent stays open, so that the prompt can be delivered', () => {
    expect(planFor(undelivered)).toEqual([])
  })

  it('a turn that was delivered ends as unknown', () => {
    const working = andThen(running, called)
    expect(planFor(working)).toMatchObject([
      gone,
      { type: 'tool-call.ended', toolCallId: 'call_1', outcome: 'failed' },
      { type: 'turn.ended', turnId: 'trn_1', outcome: 'unknown', stopReason: 'server_killed' },
    ])
  })

  it('a turn that was delivered ends as unknown even if its agent had ended before', () => {
    const alone = andThen(running, { type: 'agent.disconnected', reason: 'crashed' })
    expect(planFor(alone)).toMatchObject([{ type: 'turn.ended', outcome: 'unknown' }])
  })

  it('a turn that was being cancelled ends: unknown if it was delivered, cancelled if not', () => {
    expect(planFor(andThen(running, interrupted))).toMatchObject([gone, { outcome: 'unknown' }])
    expect(planFor(andThen(undelivered, interrupted))).toMatchObject([
      { type: 'turn.ended', outcome: 'cancelled' },
    ])
  })

  it('a turn that was being cancelled has its requests resolved', () => {
    const state = andThen(running, requested, interrupted)
    expect(planFor(state)).toMatchObject([
      gone,
      { type: 'permission.resolved', outcome: 'cancelled', by: 'turn-end' },
      { type: 'turn.ended' },
    ])
  })

  it('a second restart has nothing left to do', () => {
    const states = [running, andThen(running, requested), undelivered, andThen(running, called, interrupted)]
    for (const state of states) {
      const after = andThen(state, ...planFor(state))
      expect(planFor(after)).toEqual([])
    }
  })
})
