import {
  type Capabilities,
  Command,
  type CommandInput,
  capabilities,
  capabilityNames,
  type EventDraft,
  ParleyError,
  type PermissionRule,
  type PermissionScope,
  type SessionState,
} from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import {
  andThen,
  asked,
  connected,
  created,
  requested,
  running,
  stateAfter,
  submitted,
} from '../testing/state-after.ts'
import { decide } from './decide.ts'
import type { DecideContext, Decision } from './decision.ts'
import { optionsFor } from './permission-rules.ts'

type Fields<C> = C extends unknown ? Omit<C, 'commandId'> : never

const all = capabilities(...capabilityNames)
const without = (name: keyof Capabilities): Partial<DecideContext> => ({
  agent: { ...context.agent, capabilities: { ...all, [name]: false } },
})
const context: DecideContext = {
  now: 5_000,
  ids: (prefix) => `${prefix}_new`,
  agent: { name: 'Demo', capabilities: all, modes: ['ask', 'bypass'], options: ['effort', 'maxTurns'] },
  maxQueue: 2,
  rules: [],
}

const when = (
  state: SessionState,
  fields: Fields<CommandInput>,
  changes: Partial<DecideContext> = {},
): Decision => decide(state, Command.parse({ commandId: 'cmd_1', ...fields }), { ...context, ...changes })

const refusal = (...args: Parameters<typeof when>): ParleyError => {
  try {
    when(...args)
  } catch (error) {
    if (error instanceof ParleyError) return error
    throw error
  }
  throw new Error('it was accepted')
}

const idle = stateAfter(created, connected)
const interrupted = andThen(running, { type: 'turn.interrupted', turnId: 'trn_1', by: 'person' })
const bash = { tool: 'Bash', kind: 'execute', input: { command: 'ls *' }, readOnly: false } as const
const request = { ...requested, input: bash.input, options: optionsFor(bash) }
const waiting = andThen(running, request)
const parked = andThen(waiting, { type: 'turn.parked', turnId: 'trn_1', reason: 'waited-long' })
const queuedOne: EventDraft[] = [
  { ...submitted, promptId: 'prm_2' },
  { type: 'prompt.queued', promptId: 'prm_2' },
]
const queueing = andThen(running, ...queuedOne)
const fullQueue = andThen(queueing, { ...submitted, promptId: 'prm_3' })
const archived = andThen(idle, { type: 'session.archived' })

const submit = { type: 'prompt.submit', text: 'Go on' } as const
const steer = { ...submit, delivery: 'steer' } as const

describe('prompt.submit', () => {
  const recorded = { type: 'prompt.submitted', promptId: 'prm_new', parts: [{ type: 'text', text: 'Go on' }] }

  it('starts a turn at once when nothing runs', () => {
    expect(when(idle, submit)).toEqual({
      drafts: [
        { ...recorded, delivery: 'queue' },
        { type: 'turn.started', turnId: 'trn_new', promptId: 'prm_new' },
      ],
      reply: { promptId: 'prm_new' },
    })
  })

  it('keeps the id that its client chose', () => {
    const { drafts } = when(idle, { ...submit, messageId: 'mine' })
    expect(drafts[0]).toEqual({ ...recorded, delivery: 'queue', messageId: 'mine' })
  })

  it.each([
    ['a turn runs', running],
    ['a turn is being cancelled', interrupted],
    ['a turn is parked', parked],
    ['other prompts wait although nothing runs', stateAfter(created, submitted)],
  ])('is queued while %s', (_, state) => {
    expect(when(state, submit)).toEqual({
      drafts: [
        { ...recorded, delivery: 'queue' },
        { type: 'prompt.queued', promptId: 'prm_new' },
      ],
      reply: { promptId: 'prm_new' },
    })
  })

  it('steers the running turn, even one that waits for a person', () => {
    for (const state of [running, waiting]) {
      expect(when(state, steer)).toEqual({
        drafts: [{ ...recorded, delivery: 'steer', turnId: 'trn_1' }],
        reply: { promptId: 'prm_new' },
      })
    }
  })

  it('with delivery steer starts a turn when nothing runs', () => {
    expect(when(idle, steer).drafts.map((draft) => draft.type)).toEqual(['prompt.submitted', 'turn.started'])
  })

  it('keeps the parts unchanged', () => {
    const parts = [
      { type: 'file' as const, name: 'a.txt', path: 'a.txt' },
      { type: 'text' as const, text: 'see there' },
    ]
    expect(when(idle, { type: 'prompt.submit', parts }).drafts[0]).toMatchObject({ parts })
  })

  it.each([
    ['the session is archived', archived, submit, 'conflict'],
    ['the turn to steer is being cancelled', interrupted, steer, 'conflict'],
    ['the turn to steer is parked', parked, steer, 'conflict'],
    ['the queue is full', fullQueue, submit, 'busy'],
  ] as const)('is refused when %s', (_, state, command, code) => {
    expect(refusal(state, command).code).toBe(code)
  })

  it('is refused with a message that says what to do, in the console and over the API', () => {
    expect(refusal(archived, submit).message).toMatch(
      /^This session is archived\. Restore it from the archive first: choose Unarchive in its menu in the console, or PATCH/,
    )
    expect(refusal(running, steer, without('steer')).message).toMatch(
      / cannot be steered while a turn runs\. Queue the prompt instead\.$/,
    )
  })

  it('steers although prompts wait in the queue', () => {
    expect(when(fullQueue, steer).drafts).toMatchObject([{ type: 'prompt.submitted', turnId: 'trn_1' }])
  })

  const image = { type: 'image' as const, mimeType: 'image/png', data: 'aGk=' }
  it.each([
    ['images', { type: 'prompt.submit', parts: [image] }],
    ['files', { type: 'prompt.submit', parts: [{ type: 'file', name: 'a.txt', text: 'x' }] }],
    ['steer', steer],
  ] as const)('is not supported by an agent without %s', (name, command) => {
    const error = refusal(running, command as Fields<CommandInput>, without(name))
    expect(error).toMatchObject({ code: 'not_supported', details: { capability: name } })
  })
})

describe('prompt.withdraw', () => {
  it('removes a prompt from the queue, whether the turn runs, is being cancelled or is parked', () => {
    for (const state of [queueing, andThen(interrupted, ...queuedOne), andThen(parked, ...queuedOne)]) {
      expect(when(state, { type: 'prompt.withdraw', promptId: 'prm_2' })).toEqual({
        drafts: [{ type: 'prompt.withdrawn', promptId: 'prm_2' }],
      })
    }
  })

  it.each([
    ['that is running', 'prm_1'],
    ['that is unknown', 'prm_9'],
  ])('is refused for a prompt %s', (_, promptId) => {
    const error = refusal(queueing, { type: 'prompt.withdraw', promptId })
    expect(error).toMatchObject({ code: 'conflict', details: { promptId, queued: ['prm_2'] } })
  })
})

const three = andThen(
  queueing,
  { type: 'prompt.submitted', promptId: 'prm_3', parts: [], delivery: 'queue' },
  { type: 'prompt.submitted', promptId: 'prm_4', parts: [], delivery: 'queue' },
)

describe('prompt.submit with before', () => {
  const orderAfter = (before: string[]) => {
    const { drafts, reply } = when(three, { type: 'prompt.submit', text: 'Anew', before }, { maxQueue: 9 })
    const { queue } = andThen(three, ...drafts)
    return queue.map(({ promptId }) => (promptId === reply?.promptId ? 'new' : promptId))
  }

  it('is placed before the first named prompt that still waits, or last if none of them waits', () => {
    expect(orderAfter(['prm_3', 'prm_4'])).toEqual(['prm_2', 'new', 'prm_3', 'prm_4'])
    expect(orderAfter(['prm_1', 'prm_4'])).toEqual(['prm_2', 'prm_3', 'new', 'prm_4'])
    expect(orderAfter(['prm_1', 'prm_9'])).toEqual(['prm_2', 'prm_3', 'prm_4', 'new'])
    expect(orderAfter([])).toEqual(['prm_2', 'prm_3', 'prm_4', 'new'])
  })

  it('is ignored if the prompt runs at once', () => {
    const { drafts } = when(idle, { type: 'prompt.submit', text: 'Anew', before: ['prm_3'] })
    expect(drafts.map(({ type }) => type)).toEqual(['prompt.submitted', 'turn.started'])
  })
})

describe('prompt.move', () => {
  const orderAfter = (command: { promptId: string; before?: string }) => {
    const { drafts } = when(three, { type: 'prompt.move', ...command })
    return andThen(three, ...drafts).queue.map(({ promptId }) => promptId)
  }

  it('moves a waiting prompt before another one, or to the end', () => {
    expect(orderAfter({ promptId: 'prm_4', before: 'prm_2' })).toEqual(['prm_4', 'prm_2', 'prm_3'])
    expect(orderAfter({ promptId: 'prm_2', before: 'prm_4' })).toEqual(['prm_3', 'prm_2', 'prm_4'])
    expect(orderAfter({ promptId: 'prm_2' })).toEqual(['prm_3', 'prm_4', 'prm_2'])
  })

  it('to the same place changes nothing', () => {
    for (const before of ['prm_2', 'prm_3']) {
      expect(when(three, { type: 'prompt.move', promptId: 'prm_2', before })).toEqual({ drafts: [] })
    }
    expect(when(three, { type: 'prompt.move', promptId: 'prm_4' })).toEqual({ drafts: [] })
  })

  it.each([
    ['a running prompt', { promptId: 'prm_1' }],
    ['a place before a prompt that does not wait', { promptId: 'prm_2', before: 'prm_1' }],
  ])('is refused for %s', (_, command) => {
    expect(refusal(three, { type: 'prompt.move', ...command })).toMatchObject({ code: 'conflict' })
  })
})

describe('a paused queue', () => {
  const paused = andThen(queueing, { type: 'queue.paused', by: 'person' })
  const rested = andThen(paused, {
    type: 'turn.ended',
    turnId: 'trn_1',
    outcome: 'cancelled',
    stopReason: 'cancelled',
    durationMs: 1,
  })

  it('is resumed by queue.resume, which changes nothing if nothing is paused', () => {
    expect(when(rested, { type: 'queue.resume' })).toEqual({ drafts: [{ type: 'queue.resumed' }] })
    expect(when(queueing, { type: 'queue.resume' })).toEqual({ drafts: [] })
  })

  it('does not delay a prompt that is submitted later: it runs at once, and the paused ones stay', () => {
    const { drafts } = when(rested, submit)
    expect(drafts.map(({ type }) => type)).toEqual(['prompt.submitted', 'turn.started'])
    const after = andThen(rested, ...drafts)
    expect(after.queue).toMatchObject([{ promptId: 'prm_2', paused: true }])
    expect(after.turn?.prompt).not.toHaveProperty('paused')
  })

  it('accepts an edited prompt at its former place, still paused', () => {
    const { drafts } = when(rested, {
      type: 'prompt.submit',
      text: 'Anew',
      paused: true,
      before: ['prm_2'],
    })
    const { queue, turn } = andThen(rested, ...drafts)
    expect(turn).toBeUndefined()
    expect(queue).toMatchObject([
      { parts: [{ text: 'Anew' }], paused: true },
      { promptId: 'prm_2', paused: true },
    ])
    expect(refusal(paused, { ...steer, paused: true }).code).toBe('validation_error')
  })

  it('also results from a denial that stops the turn', () => {
    const stop = { type: 'permission.decide', requestId: 'req_1', decision: 'deny', endTurn: true } as const
    expect(when(andThen(waiting, ...queuedOne), stop).drafts.map(({ type }) => type)).toEqual([
      'permission.resolved',
      'queue.paused',
    ])
  })
})

describe('turn.cancel', () => {
  const cancel = { type: 'turn.cancel' } as const

  it('interrupts a running turn, which it may name', () => {
    const drafts = [{ type: 'turn.interrupted', turnId: 'trn_1', by: 'person' }]
    expect(when(running, cancel)).toEqual({ drafts })
    expect(when(running, { ...cancel, turnId: 'trn_1' })).toEqual({ drafts })
  })

  it('pauses the queued prompts, whether the turn runs, is being cancelled or is parked', () => {
    const paused = { type: 'queue.paused', by: 'person' }
    const interrupt = { type: 'turn.interrupted', turnId: 'trn_1', by: 'person' }
    expect(when(queueing, cancel)).toEqual({ drafts: [interrupt, paused] })
    expect(when(andThen(interrupted, ...queuedOne), cancel)).toEqual({ drafts: [paused] })
    expect(when(andThen(parked, ...queuedOne), cancel).drafts[0]).toEqual(paused)
    expect(when(queueing, { ...cancel, pauseQueue: false })).toEqual({ drafts: [interrupt] })
  })

  it('resolves the open requests of the turn', () => {
    const { drafts } = when(andThen(waiting, asked), cancel)
    expect(drafts).toMatchObject([
      { type: 'turn.interrupted' },
      {
        type: 'permission.resolved',
        requestId: 'req_1',
        outcome: 'cancelled',
        by: 'turn-end',
        turnId: 'trn_1',
      },
      {
        type: 'question.resolved',
        requestId: 'req_2',
        outcome: 'cancelled',
        by: 'turn-end',
        turnId: 'trn_1',
      },
    ])
  })

  it('is accepted again while the turn is being cancelled, and does nothing', () => {
    expect(when(interrupted, cancel)).toEqual({ drafts: [] })
  })

  it('ends a parked turn at once: there is no process to interrupt', () => {
    const { drafts } = when(parked, cancel)
    expect(drafts).toMatchObject([
      { type: 'permission.resolved', outcome: 'cancelled' },
      { type: 'turn.ended', turnId: 'trn_1', outcome: 'cancelled', stopReason: 'cancelled' },
    ])
    expect(andThen(parked, ...drafts)).toMatchObject({ status: 'idle', requests: [] })
  })

  it('is refused if no turn or another turn runs', () => {
    expect(refusal(idle, cancel).code).toBe('conflict')
    const ended = { type: 'turn.ended', turnId: 'trn_1', outcome: 'completed', stopReason: 'end' } as const
    const over = andThen(running, { ...ended, durationMs: 1 })
    expect(refusal(over, { ...cancel, turnId: 'trn_1' })).toMatchObject({ code: 'conflict' })
  })

  it('of an unknown turn is refused as not found, whether or not another turn runs', () => {
    for (const state of [idle, running])
      expect(refusal(state, { ...cancel, turnId: 'trn_0' })).toMatchObject({
        code: 'not_found',
        details: { turnId: 'trn_0' },
      })
  })
})

describe('permission.decide', () => {
  const allow = { type: 'permission.decide', requestId: 'req_1', decision: 'allow' } as const
  const deny = { ...allow, decision: 'deny' } as const

  it('allows once and stores no rule', () => {
    expect(when(waiting, allow)).toEqual({
      drafts: [
        {
          type: 'permission.resolved',
          turnId: 'trn_1',
          requestId: 'req_1',
          outcome: 'allowed',
          scope: 'once',
          by: 'person',
        },
      ],
    })
  })

  it('cannot allow a call that a rule now refuses, with or without an edited input', () => {
    const no = (command: string, scope = {}): PermissionRule => ({
      ruleId: 'rule_1',
      tool: 'Bash',
      match: { command },
      decision: 'deny',
      scope: 'always',
      createdAt: 0,
      ...scope,
    })
    const edited = { ...allow, input: { command: 'npm publish' } }
    const refused = (command: Fields<CommandInput>, rule: PermissionRule) =>
      refusal(waiting, command, { rules: [rule] })
    expect(refused(allow, no('ls*'))).toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('A rule refuses Bash where command is ls*.'),
      details: { ruleId: 'rule_1' },
    })
    expect(refused(edited, no('npm*')).code).toBe('forbidden')
    expect(when(waiting, edited, { rules: [no('ls*')] }).drafts).toHaveLength(1)
    expect(when(waiting, deny, { rules: [no('ls*')] }).drafts).toHaveLength(1)
    const elsewhere = no('ls*', { scope: 'project', project: '/elsewhere' })
    expect(when(waiting, allow, { rules: [elsewhere] }).drafts).toHaveLength(1)
  })

  it('cannot allow a call that the mode now refuses, whenever it was requested', () => {
    const readOnly = andThen(waiting, { type: 'session.configured', requested: { mode: 'read-only' } })
    for (const scope of ['once', 'session', 'always'] as const)
      expect(refusal(readOnly, { ...allow, scope })).toMatchObject({
        code: 'forbidden',
        message: 'This session is read-only. Deny this, or change the mode first.',
      })
    expect(when(readOnly, deny).drafts).toHaveLength(1)
    const bypass = andThen(readOnly, {
      type: 'session.configured',
      requested: { mode: 'bypass' },
      effective: { mode: 'bypass' },
    })
    expect(when(bypass, allow).drafts).toHaveLength(1)
  })

  it("cannot allow a tool that is no longer in the session's list of tools", () => {
    const listed = andThen(waiting, {
      type: 'session.configured',
      requested: { options: { tools: ['Read'] } },
    })
    expect(refusal(listed, allow)).toMatchObject({ code: 'forbidden' })
  })

  it('denies with a message, and ends the turn', () => {
    const [draft] = when(waiting, { ...deny, message: 'Not there.', endTurn: true }).drafts
    expect(draft).toMatchObject({ outcome: 'denied', message: 'Not there.', endTurn: true })
  })

  it.each([
    ['session', { sessionId: 'ses_1' }],
    ['project', { project: '/somewhere' }],
    ['always', {}],
  ] as const)('for the scope %s stores a rule of that scope', (scope, where) => {
    const { drafts, rules } = when(waiting, { ...allow, scope })
    expect(rules).toStrictEqual([
      {
        tool: 'Bash',
        match: { command: 'ls \\*' },
        ruleId: 'rule_new',
        decision: 'allow',
        scope,
        ...where,
        agent: 'demo',
        createdAt: 5_000,
      },
    ])
    expect(drafts).toMatchObject([{ outcome: 'allowed', scope, ruleId: 'rule_new' }])
  })

  it('can deny for a scope', () => {
    const { drafts, rules } = when(waiting, { ...deny, scope: 'session' })
    expect(rules).toMatchObject([{ decision: 'deny', scope: 'session', match: { command: 'ls \\*' } }])
    expect(drafts).toMatchObject([{ outcome: 'denied' }])
  })

  it('is accepted for a parked turn', () => {
    expect(when(parked, allow).drafts).toMatchObject([{ outcome: 'allowed', requestId: 'req_1' }])
  })

  it('allows with an edited input, even a falsy one', () => {
    for (const input of [{ command: 'ls -l' }, null, 0]) {
      expect(when(waiting, { ...allow, input }).drafts).toMatchObject([{ outcome: 'allowed', input }])
    }
  })

  it.each([
    ['an edited input with deny', { ...deny, input: {} }],
    ['an edited input with a scope wider than once', { ...allow, input: {}, scope: 'session' }],
    ['the end of the turn with allow', { ...allow, endTurn: true }],
  ] as const)('refuses %s', (_, command) => {
    expect(refusal(waiting, command).code).toBe('validation_error')
  })

  it('refuses an edited input if the agent does not support it', () => {
    const error = refusal(waiting, { ...allow, input: {} }, without('editInput'))
    expect(error).toMatchObject({ code: 'not_supported', details: { capability: 'editInput' } })
  })

  it('refuses a scope that the request does not offer, and lists the offered ones', () => {
    const onlyOnce = andThen(running, requested)
    for (const scope of ['session', 'project', 'always'] satisfies PermissionScope[]) {
      const error = refusal(onlyOnce, { ...allow, scope })
      expect(error).toMatchObject({ code: 'validation_error', details: { scopes: ['once'] } })
    }
  })

  it('distinguishes a settled request from an unknown one', () => {
    const settled = andThen(waiting, ...when(waiting, allow).drafts)
    expect(refusal(settled, deny)).toMatchObject({
      code: 'conflict',
      details: { requestId: 'req_1', outcome: 'allowed' },
    })
    expect(refusal(waiting, { ...allow, requestId: 'req_9' })).toMatchObject({
      code: 'not_found',
      details: { requestId: 'req_9' },
    })
  })

  it('does not answer a question', () => {
    const error = refusal(andThen(running, asked), { ...allow, requestId: 'req_2' })
    expect(error.code).toBe('validation_error')
    expect(error.message).toContain('question.answer')
  })
})

describe('question.answer', () => {
  const asking = andThen(running, asked)
  const answer = { type: 'question.answer', requestId: 'req_2', answers: { colour: 'red' } } as const

  it('records the answers', () => {
    expect(when(asking, answer)).toEqual({
      drafts: [
        {
          type: 'question.resolved',
          turnId: 'trn_1',
          requestId: 'req_2',
          outcome: 'answered',
          answers: { colour: 'red' },
          by: 'person',
        },
      ],
    })
  })

  it('refuses answers that do not fit the questions', () => {
    expect(refusal(asking, { ...answer, answers: { colour: 'green' } }).code).toBe('validation_error')
    expect(refusal(asking, { ...answer, answers: {} }).code).toBe('validation_error')
  })

  it('refuses a settled request, an unknown one and one of another type, each with its own error', () => {
    const settled = andThen(asking, ...when(asking, answer).drafts)
    expect(refusal(settled, answer)).toMatchObject({ code: 'conflict', details: { outcome: 'answered' } })
    expect(refusal(running, answer).code).toBe('not_found')
    const wrong = refusal(waiting, { ...answer, requestId: 'req_1' })
    expect(wrong.code).toBe('validation_error')
    expect(wrong.message).toContain('permission.decide')
  })
})

describe('session.configure', () => {
  it('records the requested settings, and nothing else', () => {
    expect(when(running, { type: 'session.configure', model: 'large', mode: 'bypass' })).toEqual({
      drafts: [{ type: 'session.configured', requested: { model: 'large', mode: 'bypass' } }],
    })
  })

  it('merges options into the previous ones', () => {
    const before = stateAfter({ ...created, options: { effort: 'low', tools: ['Bash'] } })
    const { drafts } = when(before, { type: 'session.configure', options: { effort: 'high' } })
    expect(drafts).toMatchObject([{ requested: { options: { effort: 'high', tools: ['Bash'] } } }])
  })

  it('refuses an empty change', () => {
    expect(refusal(idle, { type: 'session.configure' }).code).toBe('validation_error')
  })

  it('accepts a list of tools for any agent, because the host enforces it', () => {
    const { drafts } = when(idle, { type: 'session.configure', options: { tools: ['Read'] } })
    expect(drafts).toMatchObject([{ requested: { options: { tools: ['Read'] } } }])
  })

  it('names the setting that the agent does not honour', () => {
    expect(refusal(idle, { type: 'session.configure', model: 'large' }, without('models'))).toMatchObject({
      code: 'not_supported',
      details: { capability: 'models' },
    })
    expect(refusal(idle, { type: 'session.configure', mode: 'plan' })).toMatchObject({
      code: 'not_supported',
      details: { modes: ['ask', 'bypass'] },
    })
    expect(refusal(idle, { type: 'session.configure', options: { systemPrompt: 'x' } })).toMatchObject({
      code: 'not_supported',
      details: { option: 'systemPrompt', options: ['tools', 'effort', 'maxTurns'] },
    })
  })
})

describe('session.close', () => {
  it('records no event', () => {
    expect(when(idle, { type: 'session.close' })).toEqual({ drafts: [] })
  })

  it.each([
    ['runs', running],
    ['is parked', parked],
  ])('is refused while a turn %s', (_, state) => {
    expect(refusal(state, { type: 'session.close' }).code).toBe('conflict')
  })
})

describe('session.compact', () => {
  it('is a prompt that consists of a command', () => {
    const { drafts, reply } = when(idle, { type: 'session.compact' })
    expect(drafts).toMatchObject([
      { type: 'prompt.submitted', parts: [{ type: 'command', name: 'compact' }] },
      { type: 'turn.started' },
    ])
    expect(reply).toEqual({ promptId: 'prm_new' })
  })

  it('is refused while a turn is open, when archived, and without the capability', () => {
    expect(refusal(running, { type: 'session.compact' }).code).toBe('conflict')
    expect(refusal(archived, { type: 'session.compact' }).code).toBe('conflict')
    expect(refusal(idle, { type: 'session.compact' }, without('compaction'))).toMatchObject({
      code: 'not_supported',
      details: { capability: 'compaction' },
    })
  })
})

describe('session.fork', () => {
  it('copies up to the head, into a session whose id is derived from the command', () => {
    const { drafts, reply } = when(idle, { type: 'session.fork' })
    const into = reply?.sessionId
    expect(into).toMatch(/^ses_./)
    expect(drafts).toEqual([{ type: 'session.forked', into, atSeq: idle.seq }])
    expect(when(andThen(idle, { type: 'session.pinned' }), { type: 'session.fork' }).reply).toEqual(reply)
  })

  it('creates another session for another command', () => {
    const fork = (commandId: string) =>
      decide(idle, { type: 'session.fork', commandId }, context).reply?.sessionId
    expect(fork('one')).not.toBe(fork('two'))
  })

  it('is refused while a turn is open, and without the capability', () => {
    expect(refusal(running, { type: 'session.fork' }).code).toBe('conflict')
    expect(refusal(idle, { type: 'session.fork' }, without('fork')).code).toBe('not_supported')
  })
})

describe('decide', () => {
  it('does not modify its arguments', () => {
    const text = JSON.stringify(waiting)
    when(waiting, { type: 'permission.decide', requestId: 'req_1', decision: 'allow', scope: 'always' })
    when(waiting, { type: 'turn.cancel' })
    expect(JSON.stringify(waiting)).toBe(text)
  })
})
