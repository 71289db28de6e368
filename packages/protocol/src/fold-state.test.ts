import { describe, expect, it } from 'vitest'
import { deepFreeze } from '../testing/deep-freeze.ts'
import { blankView, logOf, sample, samples } from '../testing/sample-events.ts'
import type { Delta } from './delta.ts'
import type { EventDraft } from './event.ts'
import { applyDeltaToState } from './fold-deltas.ts'
import { applyToState } from './fold-state.ts'
import type { SessionState } from './session-state.ts'
import { summarise } from './session-summary.ts'

const given = (...drafts: EventDraft[]): SessionState =>
  logOf(drafts).reduce(applyToState, deepFreeze(blankView.state))
const then = (state: SessionState, ...drafts: EventDraft[]): SessionState =>
  logOf(drafts, state.seq + 1).reduce(applyToState, deepFreeze(state))
const streamed = (state: SessionState, ...deltas: Delta[]): SessionState =>
  deltas.reduce((now, delta) => applyDeltaToState(deepFreeze(now), delta), state)

const created = sample('session.created')
const submitted = sample('prompt.submitted')
const started = sample('turn.started')
const running = given(created, sample('agent.connected'), submitted, started)
const waiting = then(running, sample('permission.requested'))
const parked = then(waiting, sample('turn.parked'))

describe('a session', () => {
  it('starts with the requested settings, none of which is in force yet', () => {
    const state = given({ ...created, title: 'Tidy', model: 'large', options: { effort: 'high' } })
    expect(state).toMatchObject({
      seq: 1,
      createdAt: 10,
      updatedAt: 10,
      agent: 'demo',
      cwd: '/somewhere',
      title: 'Tidy',
      status: 'idle',
      requested: { mode: 'ask', model: 'large', options: { effort: 'high' } },
      effective: {},
    })
  })

  it('keeps requested settings apart from those in force', () => {
    const state = given(
      created,
      sample('session.configured', { requested: { model: 'large', mode: 'bypass' } }),
      sample('session.configured', { requested: { model: 'small' }, effective: { mode: 'ask' } }),
    )
    expect(state.requested).toEqual({ mode: 'bypass', model: 'small' })
    expect(state.effective).toEqual({ mode: 'ask' })
  })

  it('is renamed, archived, unarchived, pinned and unpinned', () => {
    const there = given(
      created,
      sample('session.renamed'),
      samples['session.archived'],
      samples['session.pinned'],
    )
    expect(there).toMatchObject({ title: 'Tidy up', archived: true, pinned: true })
    const back = then(there, samples['session.unarchived'], samples['session.unpinned'])
    expect(back).toMatchObject({ archived: false, pinned: false })
  })

  it('keeps its time of last news when a person changes it in the session list or forks it', () => {
    const before = given(created)
    const bookkeeping = ['renamed', 'archived', 'unarchived', 'pinned', 'unpinned', 'forked'] as const
    for (const what of bookkeeping)
      expect(then(before, samples[`session.${what}`])).toMatchObject({ updatedAt: before.updatedAt })
    expect(then(before, sample('turn.started')).updatedAt).toBeGreaterThan(before.updatedAt)
  })

  it('has the number of open requests in its summary', () => {
    expect(summarise(waiting)).toMatchObject({ id: 'ses_1', status: 'waiting', waiting: 1, title: 'Tidy up' })
    expect(summarise(waiting)).not.toHaveProperty('queue')
  })

  it('has the failure of its last turn in its summary, until another turn starts', () => {
    const error = { code: 'agent_not_signed_in' as const, message: `Sign in. ${'x'.repeat(500)}` }
    const failed = given(created, sample('turn.started'), sample('turn.ended', { outcome: 'failed', error }))
    expect(summarise(failed).failure).toEqual({
      outcome: 'failed',
      code: 'agent_not_signed_in',
      message: error.message.slice(0, 300),
    })
    expect(summarise(then(failed, sample('turn.started')))).not.toHaveProperty('failure')
    for (const outcome of ['completed', 'cancelled'] as const) {
      const ended = given(created, sample('turn.started'), sample('turn.ended', { outcome }))
      expect(summarise(ended)).not.toHaveProperty('failure')
    }
    const lost = given(created, sample('turn.started'), sample('turn.ended', { outcome: 'unknown' }))
    expect(summarise(lost).failure).toEqual({ outcome: 'unknown' })
  })
})

describe('the title of an untitled session', () => {
  const titleOf = (text: string) => given(created, { ...submitted, parts: [{ type: 'text', text }] }).title

  it('is the first line of its first prompt', () => {
    expect(titleOf('\n  Fix the door\nand the window')).toBe('Fix the door')
    expect(titleOf('Fix the door\r\nand the window')).toBe('Fix the door')
  })

  it('is cut when it is long', () => {
    expect(titleOf('x'.repeat(80))).toBe('x'.repeat(80))
    expect(titleOf('x'.repeat(81))).toBe(`${'x'.repeat(79)}…`)
  })

  it('is not cut in the middle of a character', () => {
    expect(titleOf(`${'x'.repeat(78)}${'🚀'.repeat(5)}`).isWellFormed()).toBe(true)
  })

  it('stays once it is set', () => {
    const state = then(
      given(created, submitted),
      sample('prompt.submitted', { promptId: 'prm_2', parts: [{ type: 'text', text: 'Other' }] }),
    )
    expect(state.title).toBe('Tidy up')
  })
})

describe('a fork', () => {
  const forked = given({ ...created, forkedFrom: { sessionId: 'ses_0', seq: 3 } })

  it('is pending until a connection after the copied events reports the id of its conversation', () => {
    expect(forked).toMatchObject({ forkPending: true, forkedFrom: { sessionId: 'ses_0', seq: 3 } })
    const copied = then(forked, sample('agent.disconnected'), sample('agent.connected'))
    expect(copied.forkPending).toBe(true)
    const started = then(copied, { ...sample('agent.connected'), agentSessionId: undefined })
    expect(started.forkPending).toBe(true)
    expect(then(started, sample('agent.connected')).forkPending).toBe(false)
  })

  it('keeps the fork point of its conversation until the conversation is forked there', () => {
    const forkPoint = { agentSessionId: 'native-0', before: ['prm_2'] }
    const cut = given({ ...created, forkedFrom: { sessionId: 'ses_0', seq: 1 }, forkPoint })
    expect(cut.forkPoint).toEqual(forkPoint)
    expect(then(cut, sample('agent.connected'))).toMatchObject({ forkPending: false, forkPoint: undefined })
  })
})

describe('the agent', () => {
  it('is connected until it is disconnected; its connection data stays', () => {
    const up = given(created, sample('agent.connected', { model: 'large' }))
    expect(up).toMatchObject({
      connected: true,
      connection: { connectionId: 'con_1', agentSessionId: 'native-1', model: 'large' },
    })
    const down = then(up, sample('agent.disconnected'))
    expect(down).toMatchObject({ connected: false, connection: { agentSessionId: 'native-1' } })
  })

  it('keeps the envelope out of the connection', () => {
    const { connection } = given(created, sample('agent.connected'))
    expect(Object.keys(connection ?? {}).toSorted()).toEqual(['agentSessionId', 'connectionId'])
  })

  it('merges a second agent.connected into the first', () => {
    const { connection } = given(
      created,
      sample('agent.connected', { model: 'large', tools: ['Bash'] }),
      sample('agent.connected', { connectionId: 'con_2', model: 'small' }),
    )
    expect(connection).toMatchObject({ connectionId: 'con_2', model: 'small', tools: ['Bash'] })
  })
})

describe('the time of the last news', () => {
  it('is not changed by an agent that reports which settings are in force', () => {
    const { createdAt } = given(created)
    const inForce = sample('session.configured', { requested: undefined, effective: { mode: 'ask' } })
    expect(given(created, inForce).updatedAt).toBe(createdAt)
    expect(
      given(created, sample('session.configured', { requested: { mode: 'plan' } })).updatedAt,
    ).toBeGreaterThan(createdAt)
  })
})

describe('a prompt', () => {
  it('waits in the queue until its turn starts', () => {
    const queued = given(created, submitted, sample('prompt.queued'))
    expect(queued.queue).toEqual([{ promptId: 'prm_1', parts: submitted.parts, delivery: 'queue', at: 20 }])
    const begun = then(queued, started)
    expect(begun.queue).toEqual([])
    expect(begun.turn?.prompt).toEqual(queued.queue[0])
  })

  it('leaves the queue when it is withdrawn', () => {
    const two = given(created, submitted, sample('prompt.submitted', { promptId: 'prm_2' }))
    const one = then(two, sample('prompt.withdrawn', { promptId: 'prm_1' }))
    expect(one.queue.map((prompt) => prompt.promptId)).toEqual(['prm_2'])
  })

  it('that is queued when the queue is paused waits; one that is submitted later is placed before it and does not wait', () => {
    const paused = given(created, submitted, sample('queue.paused'))
    expect(paused.queue).toMatchObject([{ promptId: 'prm_1', paused: true }])
    const next = then(paused, sample('prompt.submitted', { promptId: 'prm_2' }))
    expect(next.queue.map(({ promptId, paused: waits }) => [promptId, waits ?? false])).toEqual([
      ['prm_2', false],
      ['prm_1', true],
    ])
    const last = then(next, sample('prompt.submitted', { promptId: 'prm_3', paused: true }))
    expect(last.queue.map(({ promptId }) => promptId)).toEqual(['prm_2', 'prm_1', 'prm_3'])
    expect(summarise(last).paused).toBe(2)
    const resumed = then(last, sample('queue.resumed'))
    expect(resumed.queue.some((prompt) => 'paused' in prompt)).toBe(false)
    expect(summarise(resumed)).not.toHaveProperty('paused')
  })

  it('that steers a turn is never queued', () => {
    const steered = then(
      running,
      sample('prompt.submitted', { promptId: 'prm_2', turnId: 'trn_1', delivery: 'steer' }),
    )
    expect(steered.queue).toEqual([])
  })
})

describe('a turn', () => {
  it('runs from its start to its end', () => {
    expect(running).toMatchObject({ status: 'working', turn: { turnId: 'trn_1', startedAt: 40 } })
    const ended = then(running, sample('turn.ended', { result: 'ok' }))
    expect(ended).toMatchObject({
      status: 'idle',
      turns: 1,
      lastTurn: { turnId: 'trn_1', endedAt: 50, outcome: 'completed', result: 'ok' },
    })
    expect(ended.turn).toBeUndefined()
  })

  it('counts as delivered if an agent is connected, and otherwise as soon as one connects', () => {
    expect(running.turn?.delivered).toBe(true)
    const cold = given(created, submitted, started)
    expect(cold.turn?.delivered).toBe(false)
    expect(then(cold, sample('agent.connected')).turn?.delivered).toBe(true)
    expect(then(running, sample('agent.disconnected')).turn?.delivered).toBe(true)
  })

  it('is marked when it is interrupted', () => {
    expect(then(running, sample('turn.interrupted')).turn?.interrupted).toBe(true)
  })

  it('is parked with its requests, and resumes', () => {
    expect(parked).toMatchObject({ status: 'parked', turn: { parked: 'server-stopped' } })
    expect(parked.requests).toMatchObject([{ requestId: 'req_1', stale: true }])
    const resumed = then(parked, sample('permission.resolved'), sample('turn.resumed'))
    expect(resumed.status).toBe('working')
    expect(resumed.turn).not.toHaveProperty('parked')
  })

  it('drops all open blocks except calls when it is parked', () => {
    const busy = streamed(
      then(running, sample('tool-call.called')),
      { type: 'text.streamed', blockId: 'blk_1', offset: 0, text: 'half' },
      { type: 'tool-call.drafted', toolCallId: 'call_2', name: 'Bash' },
    )
    expect(busy.openBlocks).toHaveLength(3)
    expect(then(busy, sample('turn.parked')).openBlocks.map((block) => block.id)).toEqual(['call_1'])
  })

  it('closes its requests and open blocks when it ends', () => {
    const busy = streamed(waiting, { type: 'text.streamed', blockId: 'blk_1', offset: 0, text: 'half' })
    expect(then(busy, sample('turn.ended'))).toMatchObject({ requests: [], openBlocks: [] })
  })

  it.each(['turn.interrupted', 'turn.parked', 'turn.resumed', 'turn.ended'] as const)(
    '%s without a turn starts no turn',
    (type) => {
      const state = given(created, sample(type))
      expect(state.turn).toBeUndefined()
      expect(state.status).toBe('idle')
    },
  )
})

describe('a request', () => {
  it('is open from its request to its resolution', () => {
    expect(waiting).toMatchObject({
      status: 'waiting',
      requests: [
        { type: 'permission', requestId: 'req_1', turnId: 'trn_1', at: 50, stale: false, tool: 'Bash' },
      ],
    })
    const answered = then(waiting, sample('permission.resolved'))
    expect(answered).toMatchObject({ status: 'working', requests: [] })
    expect(answered.settled).toEqual([{ requestId: 'req_1', outcome: 'allowed' }])
  })

  it('can be a question', () => {
    const asked = then(running, sample('question.asked'))
    expect(asked.requests).toMatchObject([{ type: 'question', requestId: 'req_2', stale: false }])
    expect(then(asked, sample('question.resolved'))).toMatchObject({ requests: [], status: 'working' })
  })

  it('keeps the turn waiting until the last request is answered', () => {
    const two = then(waiting, sample('question.asked'))
    expect(two.requests.map((request) => request.requestId)).toEqual(['req_1', 'req_2'])
    expect(then(two, sample('permission.resolved')).status).toBe('waiting')
  })

  it('is kept among the last fifty settled requests', () => {
    const many = Array.from({ length: 60 }, (_, index) =>
      sample('permission.resolved', { requestId: `req_${index}` }),
    )
    const { settled } = then(running, ...many)
    expect(settled).toHaveLength(50)
    expect(settled.at(-1)?.requestId).toBe('req_59')
  })
})

describe('an answer to a stale request', () => {
  const answered = then(parked, sample('permission.resolved', { message: 'fine' }))

  it('is carried with the hash it is bound to', () => {
    expect(answered.turn?.carried).toEqual([
      {
        type: 'permission',
        inputHash: 'hash-1',
        resolution: { requestId: 'req_1', outcome: 'allowed', by: 'person', message: 'fine' },
      },
    ])
  })

  it('is carried with the questions it answers', () => {
    const asked = then(running, sample('question.asked'), sample('turn.parked'), sample('question.resolved'))
    expect(asked.turn?.carried).toMatchObject([
      {
        type: 'question',
        questions: samples['question.asked'].questions,
        resolution: { outcome: 'answered' },
      },
    ])
  })

  it('applies once: a resolution that came from it removes it', () => {
    const again = then(
      answered,
      sample('turn.resumed'),
      sample('permission.requested', { requestId: 'req_9' }),
      sample('permission.resolved', { requestId: 'req_9', carriedFrom: 'req_1' }),
    )
    expect(again.turn?.carried).toEqual([])
  })

  it('is not carried while a process waits for it', () => {
    expect(then(waiting, sample('permission.resolved')).turn?.carried).toEqual([])
  })
})

describe('plan, tasks and usage', () => {
  it('hold the last value', () => {
    const state = then(
      running,
      sample('plan.updated'),
      sample('plan.updated', { entries: [{ text: 'one', status: 'completed' }] }),
      sample('usage.measured', { costUsd: 0.5 }),
      sample('usage.measured', { context: { used: 20 } }),
    )
    expect(state.plan).toEqual([{ text: 'one', status: 'completed' }])
    expect(state.usage).toStrictEqual({ context: { used: 20 }, total: { input: 5, output: 7 } })
  })

  it("leave out a subagent's plan", () => {
    expect(then(running, sample('plan.updated', { parentToolCallId: 'call_1' })).plan).toEqual([])
  })

  it('contain each task once, and at most the last hundred tasks', () => {
    const twice = then(running, sample('task.updated'), sample('task.updated', { status: 'completed' }))
    expect(twice.tasks).toEqual([{ taskId: 'task_1', title: 'helper', status: 'completed' }])
    const many = Array.from({ length: 120 }, (_, index) =>
      sample('task.updated', { taskId: `task_${index}` }),
    )
    expect(then(running, ...many).tasks).toHaveLength(100)
  })
})
