import { emptyState, type SessionEvent, type SessionState } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { type TurnListener, TurnWatch } from './watch-turns.ts'

const stateOf = (id: string): SessionState => ({ ...emptyState(id, 'epoch'), agent: 'demo' })
let seq = 0
const event = (sessionId: string, more: object) =>
  ({ seq: ++seq, at: seq, sessionId, turnId: 'turn', ...more }) as unknown as SessionEvent
const started = (id: string) => event(id, { type: 'turn.started', promptId: 'prompt' })
const ended = (id: string) =>
  event(id, { type: 'turn.ended', outcome: 'completed', stopReason: 'end_turn', durationMs: 5 })
const called = (id: string, toolCallId: string) =>
  event(id, { type: 'tool-call.called', toolCallId, name: 'Read', kind: 'read', title: '', input: {} })
const callEnded = (id: string, toolCallId: string) =>
  event(id, { type: 'tool-call.ended', toolCallId, outcome: 'completed', content: [] })
const fail = (error: unknown) => {
  throw error
}

describe('watching turns', () => {
  it('keeps a limited number of turns, and still reports every end', () => {
    let ends = 0
    const turns = new TurnWatch([{ turnEnded: () => ends++ }], fail)
    const ids = Array.from({ length: 10_500 }, (_, index) => `session ${index}`)
    for (const id of ids) turns.recorded([started(id)], stateOf(id))
    expect(turns.open).toBe(10_000)
    for (const id of ids) turns.recorded([ended(id)], stateOf(id))
    expect([turns.open, ends]).toEqual([0, 10_500])
  })

  it('keeps a limited number of calls in a turn, and still reports every end', () => {
    const reported = { began: 0, ended: 0, known: 0 }
    const listener: TurnListener = {
      callStarted: () => void reported.began++,
      callEnded(_agent, _end, call) {
        reported.ended++
        if (call) reported.known++
      },
    }
    const turns = new TurnWatch([listener], fail)
    const state = stateOf('one')
    const calls = Array.from({ length: 10_500 }, (_, index) => `call ${index}`)
    turns.recorded([started('one'), ...calls.map((id) => called('one', id))], state)
    turns.recorded([...calls.map((id) => callEnded('one', id)), ended('one')], state)
    expect(reported).toEqual({ began: 10_000, ended: 10_500, known: 10_000 })
  })

  it('takes over a turn that a restart left open, once, and reports its true duration', () => {
    const began: string[] = []
    const lengths: number[] = []
    const turns = new TurnWatch(
      [
        {
          turnStarted: ({ turnId, isFound }) => void began.push(`${turnId} ${isFound}`),
          callStarted: ({ name, parent }) => void began.push(parent ? `${parent.name}/${name}` : name),
          requestStarted: ({ tool, call }) => void began.push(`${tool} in ${call?.name}`),
          turnEnded: (turn, end) => void lengths.push(end.at - turn.at),
        },
      ],
      fail,
    )
    const block = { type: 'tool-call', turnId: 'turn', called: true, input: '', output: '' } as const
    const state = {
      ...stateOf('one'),
      turn: { turnId: 'turn', startedAt: 1_000, prompt: { parts: [] }, carried: [] },
      openBlocks: [
        { ...block, id: 'outer', name: 'Task' },
        { ...block, id: 'inner', name: 'Bash', parentToolCallId: 'outer' },
        { ...block, id: 'unmade', name: 'Read', called: false },
      ],
      requests: [{ type: 'permission', requestId: 'request', toolCallId: 'inner', tool: 'Bash', at: 1_500 }],
    } as unknown as SessionState
    turns.opened(state)
    turns.opened(state)
    expect(began).toEqual(['turn true', 'Task', 'Task/Bash', 'Bash in Bash'])
    turns.recorded([{ ...ended('one'), at: 61_000 }], stateOf('one'))
    expect(lengths).toEqual([60_000])
  })

  it('still calls the other listeners when one fails', () => {
    const problems: unknown[] = []
    let reported = 0
    const bad: TurnListener = { turnStarted: () => fail('bad') }
    const turns = new TurnWatch(
      [bad, { turnStarted: () => reported++ }],
      (problem) => void problems.push(problem),
    )
    turns.recorded([started('one')], stateOf('one'))
    expect([reported, problems]).toEqual([1, ['bad']])
  })
})
