import type { AgentOutput } from '@parley/adapter-kit'
import { type Delta, type DraftOf, type EventDraft, newId, type SessionState } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { andThen, called, created, requested, running, stateAfter } from '../testing/state-after.ts'
import {
  deltaOf,
  draftsOf,
  freshProgress,
  isDelta,
  progressAfter,
  type TurnProgress,
} from './record-output.ts'

type Recorded = Parameters<typeof draftsOf>[0]

const idle = stateAfter(created)
const parked = andThen(running, requested, { type: 'turn.parked', turnId: 'trn_1', reason: 'waited-long' })
const interrupted = andThen(running, { type: 'turn.interrupted', turnId: 'trn_1', by: 'person' })

/** Records the outputs of an agent one by one. Returns the recorded drafts and the state after them. */
function speak(
  state: SessionState,
  outputs: readonly AgentOutput[],
  progress: TurnProgress = freshProgress(),
) {
  const drafts: EventDraft[] = []
  const deltas: Delta[] = []
  let now = state
  for (const output of outputs) {
    if (output.type === 'native') continue
    if (isDelta(output)) {
      const delta = deltaOf(output, now, progress)
      if (!delta) continue
      deltas.push(delta)
      now = andThen(now, delta)
    } else {
      const step = draftsOf(output as Recorded, now, progress, {
        now: 500,
        connectionId: 'con_7',
        ids: newId,
      })
      drafts.push(...step.drafts)
      now = andThen(now, ...step.drafts)
      step.commit()
    }
  }
  return { drafts, deltas, state: now }
}

const { turnId: _, ...call } = called
const text = { type: 'text.written', blockId: 'blk_1', text: 'Hello' } as const
const ended: AgentOutput = {
  type: 'tool-call.ended',
  toolCallId: 'call_1',
  outcome: 'completed',
  content: [],
}
const turnEnded = { type: 'turn.ended', outcome: 'completed', stopReason: 'end_turn' } as const
const typed = (words: string, blockId = 'blk_1') => ({ type: 'text.streamed', blockId, text: words }) as const
const unrecognised = (native: unknown, reason: unknown) => ({ type: 'agent.unrecognised', native, reason })

it('the reason why the host ended a task stays when a resumed agent reports that end with another text', () => {
  const task = {
    type: 'task.updated',
    taskId: 't',
    title: 'wait',
    status: 'running',
    background: true,
  } as const
  const lost = andThen(idle, task, { ...task, status: 'stopped', reason: 'agent-lost' })
  const reported = {
    type: 'task.updated',
    taskId: 't',
    title: 'Task t',
    status: 'stopped',
    summary: 'gone',
  } as const
  expect(speak(lost, [reported]).state.tasks).toMatchObject([
    { title: 'wait', status: 'stopped', reason: 'agent-lost', background: true, summary: 'gone' },
  ])
  const done = speak(lost, [{ ...reported, status: 'completed' }]).state.tasks[0]
  expect(done).toMatchObject({ title: 'wait', status: 'completed' })
  expect(done).not.toHaveProperty('reason')
})

it('the last text of a turn is not stored again as its result', () => {
  const written: AgentOutput = { type: 'text.written', blockId: 'blk_9', text: 'All done.' }
  const end = { type: 'turn.ended', outcome: 'completed', stopReason: 'end_turn' } as const
  const same = speak(running, [written, { ...end, result: 'All done.' }]).drafts.at(-1)
  expect(same).not.toHaveProperty('result')
  const other = speak(running, [written, { ...end, result: 'Something else.' }]).drafts.at(-1)
  expect(other).toMatchObject({ type: 'turn.ended', result: 'Something else.' })
})

describe('an output', () => {
  it('is recorded for the running turn', () => {
    expect(speak(running, [text, call, ended]).drafts).toEqual([
      { ...text, turnId: 'trn_1' },
      called,
      { ...ended, turnId: 'trn_1' },
    ])
  })

  it('without a turn is kept as unrecognised, with the reason', () => {
    const outputs: AgentOutput[] = [
      text,
      { ...text, type: 'thinking.written' },
      call,
      { type: 'tool-call.updated', toolCallId: 'call_1', title: 'x' },
      ended,
      { type: 'block.retracted', blockId: 'blk_1' },
      turnEnded,
    ]
    for (const state of [idle, parked]) {
      for (const output of outputs) {
        const { drafts } = speak(state, [output])
        expect(drafts).toEqual([unrecognised(output, 'outside a turn')])
      }
    }
  })

  it('that needs no turn is recorded outside one', () => {
    const outputs = [
      { type: 'agent.noticed', level: 'info', code: 'note', text: 'x' },
      { type: 'session.configured', effective: { mode: 'ask' } },
      { type: 'usage.measured', context: { used: 1 }, total: { input: 1, output: 1 } },
      { type: 'plan.updated', entries: [] },
    ] as const satisfies AgentOutput[]
    expect(speak(idle, outputs as unknown as AgentOutput[]).drafts).toEqual(outputs)
  })

  it('of a wrong shape is recorded as unrecognised, with the error', () => {
    const wrong = { type: 'text.written', blockId: 'blk_1', text: 5 } as never
    expect(speak(running, [wrong]).drafts).toEqual([unrecognised(wrong, expect.stringContaining('at text'))])
  })

  it('of a type that is not an event is recorded as unrecognised', () => {
    const wrong = { type: 'weather.changed', wind: 3 } as never
    expect(speak(running, [wrong]).drafts).toEqual([
      unrecognised(wrong, expect.stringContaining('weather.changed')),
    ])
  })

  it('that reports the connection gets the id of its connection, and no turn', () => {
    expect(speak(running, [{ type: 'agent.connected', model: 'large' }]).drafts).toEqual([
      { type: 'agent.connected', model: 'large', connectionId: 'con_7' },
    ])
  })
})

describe('a block', () => {
  it.each([
    ['subscription', true],
    ['api-key', undefined],
    [undefined, undefined],
  ] as const)(
    'of a session that is billed by %s has its cost marked as notional: %s',
    (billing, notionalCost) => {
      const connected: AgentOutput = { type: 'agent.connected', ...(billing && { billing }) }
      const usage = { context: { used: 1 }, total: { input: 1, output: 1 }, costUsd: 0.5 }
      const { drafts, state } = speak(running, [
        connected,
        { type: 'usage.measured', ...usage },
        { ...turnEnded, costUsd: 0.5 },
      ])
      const marks = drafts.map((draft) => ('notionalCost' in draft ? draft.notionalCost : undefined))
      expect(marks).toEqual([undefined, notionalCost, notionalCost])
      expect([state.usage?.notionalCost, state.lastTurn?.notionalCost]).toEqual([notionalCost, notionalCost])
    },
  )

  it('is written once', () => {
    const again = { ...text, text: 'Hello again' }
    expect(speak(running, [text, again]).drafts[1]).toEqual(
      unrecognised(again, 'a block that was already written'),
    )
  })

  it('that was retracted is not written again', () => {
    const { drafts } = speak(running, [{ type: 'block.retracted', blockId: 'blk_1' }, text])
    expect(drafts.map((draft) => draft.type)).toEqual(['block.retracted', 'agent.unrecognised'])
  })

  it('can be written again if the first attempt was not recorded', () => {
    const progress = freshProgress()
    draftsOf(text, running, progress, { now: 1, connectionId: 'con_1', ids: newId })
    expect(speak(running, [text], progress).drafts).toMatchObject([{ type: 'text.written' }])
  })
})

describe('a call', () => {
  it('is recorded before its result, even if the result came first', () => {
    expect(speak(running, [ended, call]).drafts.map((draft) => draft.type)).toEqual([
      'tool-call.called',
      'tool-call.ended',
    ])
  })

  it('that is retracted is ended first', () => {
    const { drafts, state } = speak(running, [call, { type: 'block.retracted', blockId: 'call_1' }])
    expect(drafts.slice(1)).toEqual([
      { type: 'tool-call.ended', turnId: 'trn_1', toolCallId: 'call_1', outcome: 'cancelled', content: [] },
      { type: 'block.retracted', turnId: 'trn_1', blockId: 'call_1' },
    ])
    expect(state.openBlocks).toEqual([])
  })

  it('that was retracted has only one end', () => {
    const { drafts } = speak(running, [call, { type: 'block.retracted', blockId: 'call_1' }, ended])
    expect(drafts.filter((draft) => draft.type === 'tool-call.ended')).toHaveLength(1)
  })

  it('that was retracted does not stream any more', () => {
    const { deltas } = speak(running, [
      call,
      { type: 'block.retracted', blockId: 'call_1' },
      { type: 'tool-call.output-streamed', toolCallId: 'call_1', text: 'late' },
    ])
    expect(deltas).toEqual([])
  })
})

describe('a call id that is used again in a later turn', () => {
  const other: AgentOutput = { ...ended, content: [{ type: 'text', text: 'another result' }] }

  /**
   * Records the outputs of two turns, one after the other. Returns the types of the events of the second turn. For
   * the end of a call, returns its content instead.
   */
  function inNextTurn(first: readonly AgentOutput[], second: readonly AgentOutput[]) {
    const progress = freshProgress()
    const { state } = speak(running, [...first, turnEnded], progress)
    const next = andThen(state, { type: 'turn.started', turnId: 'trn_2', cause: { by: 'agent' } })
    const { drafts } = speak(next, [...second, turnEnded], progressAfter(progress, next, freshProgress()))
    return drafts.map((draft) => (draft.type === 'tool-call.ended' ? draft.content : draft.type))
  }
  const result = [{ type: 'text', text: 'another result' }]

  it('gets its result, even if the result comes before the call', () => {
    const recorded = ['tool-call.called', result, 'turn.ended']
    expect(inNextTurn([call, ended], [call, other])).toEqual(recorded)
    expect(inNextTurn([call, ended], [other, call])).toEqual(recorded)
    expect(inNextTurn([call, ended], [ended, other, call])).toEqual(recorded)
  })

  it('gets its result after the late result of the earlier call', () => {
    const recorded = ['agent.noticed', 'tool-call.called', result, 'turn.ended']
    expect(inNextTurn([call], [ended, call, other])).toEqual(recorded)
    expect(inNextTurn([call], [ended, other, call])).toEqual(recorded)
  })

  it('ends once', () => {
    const recorded = ['tool-call.called', result, 'agent.unrecognised', 'turn.ended']
    expect(inNextTurn([call, ended], [other, call, ended])).toEqual(recorded)
  })

  it('gets no earlier result if later results of other calls are too large to keep both', () => {
    const large = { ...other, content: [{ type: 'text', text: 'x'.repeat(9 * 2 ** 20) }] } as AgentOutput
    const second = { toolCallId: 'call_2' }
    const drafts = inNextTurn(
      [call, ended, { ...call, ...second }, { ...ended, ...second }],
      [large, { ...large, ...second } as AgentOutput, call],
    )
    expect(drafts).toEqual(['tool-call.called', [expect.objectContaining({ type: 'text' })], 'turn.ended'])
    expect(JSON.stringify(drafts)).not.toContain('xxx')
  })

  it('gets no result that was reported outside turns before its turn', () => {
    const turnless = freshProgress()
    turnless.repeated.set('call_1', ended as DraftOf<'tool-call.ended'>)
    progressAfter(freshProgress(), running, turnless)
    expect(turnless.repeated.size).toBe(0)
  })
})

describe('the end of a turn', () => {
  it('closes open blocks and records held results', () => {
    const { drafts, state } = speak(running, [typed('Hel'), ended, turnEnded])
    expect(drafts).toMatchObject([
      { type: 'text.written', text: 'Hel', interrupted: true },
      { type: 'tool-call.called', toolCallId: 'call_1', inferred: true },
      { type: 'tool-call.ended', toolCallId: 'call_1' },
      { type: 'turn.ended', outcome: 'completed', turnId: 'trn_1', durationMs: 396 },
    ])
    expect(state.status).toBe('idle')
  })

  it('is recorded once', () => {
    const { drafts } = speak(running, [turnEnded, turnEnded])
    expect(drafts[1]).toEqual(unrecognised(turnEnded, 'outside a turn'))
  })

  it.each<[DraftOf<'turn.ended'>['outcome'], SessionState, string]>([
    ['failed', running, 'failed'],
    ['failed', interrupted, 'cancelled'],
    ['completed', interrupted, 'completed'],
    ['unknown', interrupted, 'unknown'],
  ])('reported as %s is recorded as the state requires', (outcome, state, recorded) => {
    expect(speak(state, [{ ...turnEnded, outcome }]).drafts).toMatchObject([{ outcome: recorded }])
  })
})

describe('a delta', () => {
  it('gets its turn and the length of its block so far', () => {
    const { deltas } = speak(running, [typed('Hel'), typed('lo'), typed('x', 'blk_2'), typed('!')])
    expect(deltas).toEqual([
      { ...typed('Hel'), turnId: 'trn_1', offset: 0 },
      { ...typed('lo'), turnId: 'trn_1', offset: 3 },
      { ...typed('x', 'blk_2'), turnId: 'trn_1', offset: 0 },
      { ...typed('!'), turnId: 'trn_1', offset: 5 },
    ])
  })

  it('of a call counts the offsets of input and output separately', () => {
    const input = { type: 'tool-call.input-streamed', toolCallId: 'call_1', text: '{}' } as const
    const output = { ...input, type: 'tool-call.output-streamed', text: 'abc' } as const
    const { deltas } = speak(running, [
      { type: 'tool-call.drafted', toolCallId: 'call_1', name: 'Bash' },
      input,
      input,
      call,
      output,
      output,
    ])
    expect(deltas.map((delta) => ('offset' in delta ? delta.offset : delta.type))).toEqual([
      'tool-call.drafted',
      0,
      2,
      0,
      3,
    ])
  })

  const activity = { type: 'activity.changed', activity: 'active' } as const
  it('is dropped without a turn', () => {
    for (const state of [idle, parked]) expect(speak(state, [typed('x'), activity]).deltas).toEqual([])
  })

  it.each<[string, AgentOutput[], AgentOutput]>([
    ['text that was written', [text], typed('late')],
    ['text that was retracted', [{ type: 'block.retracted', blockId: 'blk_1' }], typed('late')],
    [
      'the input of a call that was called',
      [call],
      { type: 'tool-call.input-streamed', toolCallId: 'call_1', text: 'x' },
    ],
    [
      'the draft of a call that was called',
      [call],
      { type: 'tool-call.drafted', toolCallId: 'call_1', name: 'Bash' },
    ],
    [
      'the output of a call that ended',
      [call, ended],
      { type: 'tool-call.output-streamed', toolCallId: 'call_1', text: 'x' },
    ],
    [
      'the input of a call that ended',
      [call, ended],
      { type: 'tool-call.input-streamed', toolCallId: 'call_1', text: 'x' },
    ],
  ])('is dropped if it comes too late, for %s', (_, before, late) => {
    expect(speak(running, [...before, late]).deltas).toEqual([])
  })

  it('reports activity in the turn', () => {
    expect(speak(running, [activity]).deltas).toEqual([{ ...activity, turnId: 'trn_1' }])
  })
})

describe('isDelta', () => {
  it('distinguishes deltas from recorded outputs', () => {
    expect(isDelta(typed('x'))).toBe(true)
    expect(isDelta(text)).toBe(false)
    expect(isDelta({ type: 'native', message: {} })).toBe(false)
  })
})
