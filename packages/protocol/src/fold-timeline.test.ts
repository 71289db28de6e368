import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deepFreeze } from '../testing/deep-freeze.ts'
import { randomLog } from '../testing/random-log.ts'
import { blankView, logOf, numbered, sample, samples } from '../testing/sample-events.ts'
import type { Actor } from './actor.ts'
import { Block, showsEvent } from './block.ts'
import { type EventDraft, type EventType, isKnown } from './event.ts'
import { applyToTimeline, touchesTimeline } from './fold-timeline.ts'
import { applyEvents } from './session-view.ts'

const timelineOf = (...drafts: EventDraft[]) => applyToTimeline([], deepFreeze(logOf(drafts)))
const submitted = sample('prompt.submitted')
const called = sample('tool-call.called')
const actor: Actor = {
  person: { id: 'per_ana', name: 'Ana' },
  device: { id: 'dev_1', name: 'Chrome on Linux' },
  via: 'websocket',
}

describe('a prompt', () => {
  it('is placed where it was submitted', () => {
    expect(timelineOf(submitted)).toEqual([
      {
        id: 'prm_1',
        seq: 1,
        at: 10,
        type: 'prompt',
        parts: submitted.parts,
        delivery: 'queue',
        status: 'sent',
      },
    ])
  })

  it('names who submitted it', () => {
    expect(timelineOf({ ...submitted, actor })).toMatchObject([{ type: 'prompt', actor }])
  })

  it('is queued, then sent when its turn starts', () => {
    const queued = timelineOf(submitted, sample('prompt.queued'))
    expect(queued).toMatchObject([{ status: 'queued' }])
    const sent = applyToTimeline(queued, [numbered(sample('turn.started'), 3)])
    expect(sent).toMatchObject([{ status: 'sent', turnId: 'trn_1', seq: 1 }])
  })

  it('stays, marked as withdrawn, when it is withdrawn', () => {
    expect(timelineOf(submitted, sample('prompt.queued'), sample('prompt.withdrawn'))).toMatchObject([
      { status: 'withdrawn' },
    ])
  })
})

describe('text and thinking', () => {
  it('are placed as they were written', () => {
    expect(timelineOf(sample('thinking.written'), sample('text.written'))).toEqual([
      { id: 'blk_2', seq: 1, at: 10, turnId: 'trn_1', type: 'thinking', text: 'Hm.' },
      { id: 'blk_1', seq: 2, at: 20, turnId: 'trn_1', type: 'text', text: 'Done.' },
    ])
  })

  it('are marked when they were cut off, and name the subagent they belong to', () => {
    expect(
      timelineOf(sample('text.written', { interrupted: true, parentToolCallId: 'call_1' })),
    ).toMatchObject([{ interrupted: true, parentToolCallId: 'call_1' }])
  })

  it('are removed when they are retracted', () => {
    const left = timelineOf(sample('thinking.written'), sample('text.written'), sample('block.retracted'))
    expect(left.map((block) => block.id)).toEqual(['blk_2'])
  })
})

describe('a tool call', () => {
  it('runs until it ends, with the title and input of its last update', () => {
    const running = timelineOf(called, sample('tool-call.updated', { input: { command: 'ls -l' } }))
    expect(running).toEqual([
      {
        id: 'call_1',
        seq: 1,
        at: 10,
        turnId: 'trn_1',
        type: 'tool-call',
        name: 'Bash',
        kind: 'execute',
        title: 'ls in /somewhere',
        input: { command: 'ls -l' },
        status: 'running',
        content: [],
      },
    ])
    const ended = applyToTimeline(running, [numbered(sample('tool-call.ended', { outcome: 'failed' }), 3)])
    expect(ended).toMatchObject([
      {
        status: 'failed',
        content: [{ type: 'text', text: 'a.txt' }],
        endedAt: 30,
        title: 'ls in /somewhere',
      },
    ])
  })

  it('shows content before its end when an update contains some', () => {
    const content = [{ type: 'terminal' as const, output: 'a' }]
    expect(timelineOf(called, sample('tool-call.updated', { content }))).toMatchObject([
      { status: 'running', content },
    ])
  })

  it('is marked when it was inferred, and names the subagent it belongs to', () => {
    expect(timelineOf({ ...called, inferred: true, parentToolCallId: 'call_0' })).toMatchObject([
      { inferred: true, parentToolCallId: 'call_0' },
    ])
  })

  it('can have a falsy input', () => {
    expect(timelineOf(called, sample('tool-call.updated', { input: 0 }))).toMatchObject([{ input: 0 }])
  })
})

describe('a request', () => {
  it('is shown with its resolution', () => {
    const open = timelineOf(sample('permission.requested'), sample('question.asked'))
    expect(open).toMatchObject([
      { type: 'permission', id: 'req_1', request: { tool: 'Bash', inputHash: 'hash-1' } },
      { type: 'question', id: 'req_2', request: { questions: [{ id: 'colour' }] } },
    ])
    expect(open.some((block) => 'resolution' in block)).toBe(false)
    const log = logOf([sample('permission.resolved'), sample('question.resolved')], 3)
    const resolved = applyToTimeline(open, log)
    expect(resolved).toMatchObject([
      { resolution: { requestId: 'req_1', outcome: 'allowed', by: 'person' }, resolvedAt: log[0]!.at },
      { resolution: { requestId: 'req_2', answers: { colour: 'red' } }, resolvedAt: log[1]!.at },
    ])
  })

  it('names who answered it, beside its resolution', () => {
    const asked = timelineOf(sample('permission.requested'), sample('question.asked'))
    const answers: EventDraft[] = [
      { ...sample('permission.resolved'), actor },
      { ...sample('question.resolved'), actor },
    ]
    const blocks = applyToTimeline(asked, logOf(answers, 3))
    expect(blocks).toMatchObject([{ resolvedBy: actor }, { resolvedBy: actor }])
    expect(blocks.some((block) => 'resolution' in block && 'actor' in (block.resolution ?? {}))).toBe(false)
    expect(blocks.every((block) => Block.safeParse(block).success)).toBe(true)
  })

  it('holds the request alone, not the envelope of its event', () => {
    const [block] = timelineOf(sample('permission.requested'))
    expect(block?.type === 'permission' && Object.keys(block.request)).not.toEqual(
      expect.arrayContaining(['seq']),
    )
  })
})

describe('the end of a turn', () => {
  it('is shown with its outcome', () => {
    expect(timelineOf(sample('turn.ended'))).toEqual([
      {
        id: 'end:trn_1',
        seq: 1,
        at: 10,
        turnId: 'trn_1',
        type: 'turn-end',
        end: { outcome: 'completed', stopReason: 'end_turn', durationMs: 5 },
      },
    ])
  })
})

describe('notices', () => {
  it.each([
    [sample('agent.noticed'), { level: 'warning', code: 'retry', text: 'Trying again.' }],
    [
      sample('turn.parked'),
      {
        level: 'info',
        code: 'turn_parked',
        text: 'The server was stopped; the turn still waits for an answer.',
      },
    ],
    [
      sample('context.compacted', { before: 160_000, after: 900, summary: 'In short.' }),
      {
        code: 'context_compacted',
        text: 'The conversation was compacted from 160k to 900 tokens.\n\nIn short.',
      },
    ],
    [sample('session.forked'), { code: 'session_forked', text: 'Forked into ses_2.' }],
    [sample('changes.discarded'), { code: 'changes_discarded', text: 'One change of a.txt was discarded.' }],
    [sample('changes.committed'), { text: 'Committed 4b825dc6: Fix the parser' }],
    [sample('branch.pushed'), { text: 'Pushed fix (4b825dc6) to origin.' }],
    [sample('branch.merged'), { text: 'Merged fix into main. main is at 4b825dc6 now.' }],
    [
      sample('pull-request.opened'),
      { text: 'Opened a pull request: Fix the parser (https://example.com/pulls/1)' },
    ],
    [sample('session.rewound'), { level: 'info', code: 'session_rewound' }],
    [sample('agent.disconnected', { reason: 'crashed' }), { level: 'error', code: 'agent_disconnected' }],
    [
      sample('agent.disconnected', { reason: 'failed-to-start' }),
      { level: 'error', text: 'The agent could not be started.' },
    ],
    [sample('agent.disconnected', { reason: 'server-killed' }), { level: 'info' }],
    [
      sample('agent.disconnected', { reason: 'server-killed', recordedBy: 'node' }),
      {
        level: 'info',
        text: "The node that ran this session stopped or was cut off, and the agent's process with it.",
      },
    ],
    [
      sample('turn.parked', { reason: 'server-killed', recordedBy: 'node' }),
      {
        text: 'The turn continues when its requests are answered.',
      },
    ],
    [
      sample('turn.interrupted', { by: 'host', reason: 'server-stopped' }),
      { level: 'info', code: 'server_stopped', text: 'The server was stopped, and this turn with it.' },
    ],
  ])('report %o', (draft, notice) => {
    expect(timelineOf(draft)).toMatchObject([{ type: 'notice', id: 'event:1', ...notice }])
  })

  it('report nothing for a turn that a caretaker parked, because the session is shown as waiting for its machine', () => {
    const parked = sample('turn.parked', { reason: 'server-killed', recordedBy: 'caretaker' })
    expect(timelineOf(parked)).toEqual([])
  })

  it.each(['person', 'host'] as const)('report nothing for a turn that the %s interrupted', (by) => {
    expect(timelineOf(sample('turn.interrupted', { by }))).toEqual([])
  })

  it('contain the error of a crash', () => {
    const error = { code: 'agent_failed' as const, message: 'It broke.' }
    expect(timelineOf(sample('agent.disconnected', { reason: 'crashed', error }))).toMatchObject([
      { text: 'It broke.', error },
    ])
  })

  it.each(['closed', 'idle', 'parked', 'ended', 'server-stopped'] as const)(
    'report nothing for an expected end: %s',
    (reason) => {
      expect(timelineOf(sample('agent.disconnected', { reason }))).toEqual([])
    },
  )
})

describe('an unknown message of an agent', () => {
  it('is shown unchanged', () => {
    expect(timelineOf(sample('agent.unrecognised'))).toMatchObject([
      { type: 'unrecognised', native: { type: 'new-thing' } },
    ])
  })
})

describe('a steered prompt', () => {
  const steered = sample('prompt.submitted', { promptId: 'prm_2', turnId: 'trn_1', delivery: 'steer' })
  const taken = sample('prompt.taken', { promptId: 'prm_2', turnId: 'trn_1' })
  const shown = (...events: EventDraft[]) =>
    timelineOf(...events).map((block) =>
      block.type === 'prompt' ? `${block.id} ${block.status}` : block.type,
    )

  it('is queued until it is taken up, and moves to where that happened', () => {
    expect(shown(steered, sample('text.written'))).toEqual(['prm_2 queued', 'text'])
    expect(shown(steered, sample('text.written'), taken)).toEqual(['text', 'prm_2 sent'])
    expect(timelineOf(steered, sample('text.written'), taken).map(({ seq }) => seq)).toEqual([2, 3])
  })

  it('stays where it was sent if the log does not say when it was taken up', () => {
    expect(shown(steered, sample('text.written'), sample('turn.ended'))).toEqual([
      'prm_2 sent',
      'text',
      'turn-end',
    ])
  })

  it('stays queued if its turn returned it to the queue', () => {
    const queued = sample('prompt.queued', { promptId: 'prm_2' })
    expect(shown(steered, queued, sample('turn.ended'))).toEqual(['prm_2 queued', 'turn-end'])
  })
})

describe('a timeline that starts in the middle of a log', () => {
  const aboveIt: EventType[] = [
    'prompt.queued',
    'prompt.withdrawn',
    'turn.started',
    'block.retracted',
    'tool-call.updated',
    'tool-call.ended',
    'permission.resolved',
    'question.resolved',
  ]

  it.each(aboveIt)('ignores %s of a block that started earlier in the log', (type) => {
    expect(timelineOf(samples[type], sample('text.written'))).toMatchObject([{ id: 'blk_1', seq: 2 }])
  })

  it('is the end of the whole timeline', () => {
    fc.assert(
      fc.property(randomLog, fc.nat(40), (log, cut) => {
        const events = log.filter(isKnown)
        const first = events[cut]?.seq ?? Number.POSITIVE_INFINITY
        const below = applyToTimeline([], events.slice(cut))
        const whole = applyToTimeline([], events)
        const ids = new Set(applyToTimeline([], events.slice(0, cut)).map((block) => block.id))
        fc.pre(!below.some((block) => ids.has(block.id)))
        // Blocks before `first` are left out, and so is a prompt that was steered before `first` and taken up after
        // it.
        expect(whole.filter((block) => block.seq >= first && !ids.has(block.id))).toEqual(below)
      }),
    )
  })
})

describe('any timeline', () => {
  it('changes only by events for which touchesTimeline is true', () => {
    for (const draft of Object.values(samples)) {
      const event = numbered(draft, 9)
      if (touchesTimeline(event)) continue
      const before = timelineOf(submitted, called, sample('text.written'))
      expect(applyToTimeline(before, [event]), event.type).toEqual(before)
    }
  })

  it('is the same array when nothing in it changed', () => {
    const view = applyEvents(blankView, logOf([submitted]))
    const after = applyEvents(view, logOf([sample('plan.updated'), sample('agent.connected')], 2))
    expect(after.timeline).toBe(view.timeline)
  })

  it('replaces only the blocks that changed', () => {
    const before = deepFreeze(timelineOf(submitted, called))
    const after = applyToTimeline(before, [numbered(sample('tool-call.ended'), 3)])
    expect(after[0]).toBe(before[0])
    expect(after[1]).not.toBe(before[1])
    expect(before[1]).toMatchObject({ status: 'running' })
  })

  it('consists of blocks that fit the schema of the wire', () => {
    fc.assert(
      fc.property(randomLog, (log) => {
        const { timeline } = applyEvents(blankView, log)
        expect(timeline.map((block) => Block.parse(block))).toEqual(timeline)
      }),
    )
  })
})

describe('an event is shown', () => {
  const shownBy = (seq: number, ...drafts: EventDraft[]) =>
    timelineOf(...drafts)
      .filter((block) => showsEvent(block, seq))
      .map(({ id }) => id)

  it('by the block that it started', () => {
    expect(shownBy(2, submitted, sample('text.written'))).toEqual(['blk_1'])
  })

  it('by the call that it ended', () => {
    const ended = sample('tool-call.ended')
    expect(shownBy(3, called, sample('text.written'), ended)).toEqual([ended.toolCallId])
  })

  it('by the question that it answered', () => {
    const asked = sample('question.asked')
    expect(shownBy(2, asked, sample('question.resolved'))).toEqual([asked.requestId])
  })

  it('by a steered prompt, even after the agent took it up', () => {
    const steered = { ...submitted, delivery: 'steer' as const, turnId: 'trn_1' }
    const taken = { ...sample('prompt.taken'), promptId: submitted.promptId }
    expect(shownBy(1, steered, sample('text.written'), taken)).toEqual(['prm_1'])
    expect(shownBy(3, steered, sample('text.written'), taken)).toEqual(['prm_1'])
  })
})
