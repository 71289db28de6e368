import type { AgentOutput } from '@parley/adapter-kit'
import { outputsOf } from '@parley/adapter-kit/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readFixture, stateFor } from './fixtures-under-test.ts'
import type { Frame, NativeMessage } from './native.ts'
import { type TranslateState, translate } from './translate.ts'

const host = (message: NativeMessage): Frame => ({ from: 'host', message })
const agent = (message: NativeMessage): Frame => ({ from: 'agent', message })
const update = (sessionUpdate: string, fields: object = {}) =>
  agent({ method: 'session/update', params: { sessionId: 's', update: { sessionUpdate, ...fields } } })
const text = (words: string, more: object = {}) =>
  update('agent_message_chunk', { content: { type: 'text', text: words }, ...more })
const prompt = (id: number, words = 'Hello.') =>
  host({ id, method: 'session/prompt', params: { sessionId: 's', prompt: [{ type: 'text', text: words }] } })
const end = (id: number, result: object = { stopReason: 'end_turn' }) => agent({ id, result })
const ask = (id: number, toolCall: object, options: readonly object[] = yesOrNo) =>
  agent({ id, method: 'session/request_permission', params: { sessionId: 's', toolCall, options } })
const choose = (id: number, optionId: string) =>
  host({ id, result: { outcome: { outcome: 'selected', optionId } } })
const yesOrNo = [
  { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
]
const run = { toolCallId: 'a', title: 'touch a', kind: 'execute', rawInput: { command: 'touch a' } }

function play(...frames: Frame[]): AgentOutput[] {
  return playOn(stateFor('claude'), ...frames).outputs
}

function playOn(from: TranslateState, ...frames: Frame[]) {
  let state = from
  const outputs: AgentOutput[] = []
  const unasked: string[] = []
  for (const frame of frames) {
    const next = translate(state, frame)
    state = next.state
    outputs.push(...next.outputs)
    unasked.push(...(next.unasked ?? []).map(({ title }) => title))
  }
  return { state, outputs, unasked }
}

const written = (outputs: readonly AgentOutput[]) => outputsOf(outputs, 'text.written').map((one) => one.text)
const ends = (outputs: readonly AgentOutput[]) =>
  outputsOf(outputs, 'tool-call.ended').map(({ toolCallId, outcome }) => `${toolCallId} ${outcome}`)

describe('text', () => {
  it('is one block until another message arrives', () => {
    const outputs = play(
      prompt(1),
      text('One '),
      text('two.'),
      update('tool_call', run),
      text('Three.'),
      end(1),
    )
    expect(written(outputs)).toEqual(['One two.', 'Three.'])
  })

  it('starts another block for another message', () => {
    const outputs = play(
      prompt(1),
      text('One.', { messageId: 'm1' }),
      text('Two.', { messageId: 'm2' }),
      end(1),
    )
    expect(written(outputs)).toEqual(['One.', 'Two.'])
  })

  it('is not interrupted by updates that are not part of the conversation', () => {
    const outputs = play(
      prompt(1),
      text('One '),
      update('usage_update', { used: 5, size: 10 }),
      text('two.'),
      end(1),
    )
    expect(written(outputs)).toEqual(['One two.'])
  })

  it('is also written outside a turn', () => {
    const outputs = play(prompt(1), end(1), text('By the '), text('way.'), prompt(2), text('Yes.'), end(2))
    expect(written(outputs)).toEqual(['By the way.', 'Yes.'])
  })

  it('does not include content of another type, which is recorded unchanged', () => {
    const outputs = play(prompt(1), text('', { content: { type: 'audio', data: '' } }), end(1))
    expect(outputsOf(outputs, 'agent.unrecognised')).toMatchObject([
      { reason: expect.stringContaining('audio') },
    ])
  })
})

describe('a tool call', () => {
  it('that was announced is recorded when its input is known', () => {
    const outputs = play(
      prompt(1),
      update('tool_call', { ...run, rawInput: { cwd: '/' }, status: 'pending' }),
      update('tool_call_update', { toolCallId: 'a', rawInput: { command: 'touch' } }),
      update('usage_update', { used: 5, size: 10 }),
      update('tool_call_update', { toolCallId: 'a', rawInput: { command: 'touch a' } }),
      text('And now?'),
      end(1),
    )
    expect(outputsOf(outputs, 'tool-call.called')).toMatchObject([{ input: { command: 'touch a' } }])
    expect(outputsOf(outputs, 'tool-call.updated')).toEqual([])
  })

  it('that is first mentioned at its end is recorded and marked as inferred', () => {
    const outputs = play(prompt(1), update('tool_call_update', { ...run, status: 'failed' }), end(1))
    expect(outputsOf(outputs, 'tool-call.called')).toMatchObject([{ inferred: true }])
    expect(ends(outputs)).toEqual(['con_under_test:a failed'])
  })

  it('that is refused ends when the agent continues without mentioning it', () => {
    const outputs = play(prompt(1), ask(7, run), choose(7, 'no'), text('Then not.'), end(1))
    expect(outputs.map(({ type }) => type)).toEqual([
      'tool-call.called',
      'tool-call.ended',
      'text.streamed',
      'text.written',
      'turn.ended',
    ])
    expect(ends(outputs)).toEqual(['con_under_test:a denied'])
  })

  it('that is refused ends once, even if the agent reports its end late', () => {
    const failed = update('tool_call_update', { toolCallId: 'a', status: 'failed', content: [] })
    const outputs = play(prompt(1), ask(7, run), choose(7, 'no'), text('Then not.'), failed, end(1))
    expect(ends(outputs)).toEqual(['con_under_test:a denied'])
    expect(outputsOf(outputs, 'tool-call.updated')).toEqual([])
  })

  it('whose request was dropped is cancelled', () => {
    const dropped = host({ id: 7, result: { outcome: { outcome: 'cancelled' } } })
    expect(ends(play(prompt(1), ask(7, run), dropped, end(1, { stopReason: 'cancelled' })))).toEqual([
      'con_under_test:a cancelled',
    ])
  })

  it('under a reused id is a new call', () => {
    const done = update('tool_call_update', { toolCallId: 'a', status: 'completed' })
    const outputs = play(prompt(1), update('tool_call', run), done, update('tool_call', run), done, end(1))
    expect(ends(outputs)).toEqual(['con_under_test:a completed', 'con_under_test:a#2 completed'])
  })

  it('has an id that fits the log, however long the agent’s id is', () => {
    const [called] = outputsOf(
      play(prompt(1), update('tool_call', { ...run, toolCallId: 'x'.repeat(500) }), end(1)),
      'tool-call.called',
    )
    expect(called?.toolCallId.length).toBeLessThan(200)
  })

  it('streams its output, and its end contains the whole output', () => {
    const content = (words: string) => [{ type: 'content', content: { type: 'text', text: words } }]
    const outputs = play(
      prompt(1),
      update('tool_call', { ...run, status: 'in_progress' }),
      update('tool_call_update', { toolCallId: 'a', content: content('one\n') }),
      update('tool_call_update', { toolCallId: 'a', content: content('one\ntwo\n') }),
      update('tool_call_update', {
        toolCallId: 'a',
        status: 'completed',
        content: content('one\ntwo\nthree\n'),
      }),
      end(1),
    )
    expect(outputsOf(outputs, 'tool-call.output-streamed').map((one) => one.text)).toEqual(['one\n', 'two\n'])
    expect(outputsOf(outputs, 'tool-call.ended')).toMatchObject([
      { content: [{ type: 'terminal', output: 'one\ntwo\nthree\n' }] },
    ])
  })

  it('is reported if it runs without permission, and not if it was allowed', () => {
    const runs = update('tool_call_update', { toolCallId: 'a', status: 'in_progress' })
    expect(playOn(stateFor('claude'), prompt(1), update('tool_call', run), runs).unasked).toEqual(['touch a'])
    expect(playOn(stateFor('claude'), prompt(1), ask(7, run), choose(7, 'yes'), runs).unasked).toEqual([])
  })

  it.each([
    ['a tool without a name', { kind: 'other' }, '*'],
    ['a tool of a known kind', { kind: 'edit' }, 'edit'],
    ['a tool with a name', { kind: 'other', name: 'Sing' }, 'Sing'],
    ['a tool of an unknown kind', { kind: 'sing' }, '*'],
  ])('of %s has a name that rules can match', (_, fields, name) => {
    const outputs = play(
      prompt(1),
      update('tool_call', { toolCallId: 'a', title: 'Do it', ...fields }),
      end(1),
    )
    expect(outputsOf(outputs, 'tool-call.called')).toMatchObject([{ name }])
  })
})

describe('a turn', () => {
  it.each([
    [{ stopReason: 'end_turn' }, 'completed'],
    [{ stopReason: 'cancelled' }, 'cancelled'],
    [{ stopReason: 'max_tokens' }, 'failed'],
    [{ stopReason: 'max_turn_requests' }, 'failed'],
    [{ stopReason: 'refusal' }, 'failed'],
    [{ stopReason: 'something_new' }, 'completed'],
  ])('that ends with %j has outcome %s', (result, outcome) => {
    expect(outputsOf(play(prompt(1), end(1, result)), 'turn.ended')).toMatchObject([{ outcome }])
  })

  it.each([
    [{ code: 429, message: 'Slow down.' }, 'rate_limited', 'Slow down.'],
    [{ code: -32000, message: 'Sign in.' }, 'agent_not_signed_in', 'Sign in.'],
    [{ code: -32603, message: 'Internal error', data: { details: 'Oh no.' } }, 'agent_failed', 'Oh no.'],
    [
      { code: -32603, message: 'Internal error: Wait.', data: { errorKind: 'rate_limit' } },
      'rate_limited',
      'Wait.',
    ],
    [{ code: 500, message: '{"error":{"message":"boom"}}' }, 'agent_failed', 'boom'],
    [{}, 'agent_failed', 'The agent failed and gave no reason.'],
  ])('that ends with the error %j fails with its message', (error, code, message) => {
    expect(outputsOf(play(prompt(1), agent({ id: 1, error })), 'turn.ended')).toMatchObject([
      { outcome: 'failed', error: { code, message } },
    ])
  })

  it('counts its tokens, and the total so far', () => {
    const usage = { inputTokens: 10, outputTokens: 2, cachedReadTokens: 5 }
    const used = update('usage_update', { used: 100, size: 1000, cost: { amount: 0.5, currency: 'USD' } })
    const outputs = play(
      prompt(1),
      used,
      end(1, { stopReason: 'end_turn', usage }),
      prompt(2),
      end(2, { usage }),
    )
    expect(outputsOf(outputs, 'usage.measured').at(-1)).toMatchObject({
      context: { used: 100, window: 1000 },
      total: { input: 20, output: 4, cacheRead: 10 },
      costUsd: 0.5,
    })
    expect(outputsOf(outputs, 'turn.ended')).toMatchObject([{ costUsd: 0.5 }, { costUsd: 0 }])
  })
})

describe('a session', () => {
  const load = host({ id: 1, method: 'session/load', params: { sessionId: 's' } })
  const received = (words: string) => update('user_message_chunk', { content: { type: 'text', text: words } })

  it('that is loaded gives no output for its replay, before or after the response', () => {
    const { outputs, state } = playOn(
      stateFor('gemini'),
      load,
      received('Hello.'),
      text('Hello, you.'),
      agent({ id: 1, result: {} }),
      update('tool_call', { ...run, status: 'completed' }),
      received('Touch it.'),
      update('hologram_update'),
      prompt(2),
      text('Now.'),
      end(2),
    )
    expect(outputs.map(({ type }) => type)).toEqual([
      'agent.connected',
      'text.streamed',
      'text.written',
      'turn.ended',
    ])
    expect(state.replaying).toBe(false)
  })

  it('remembers the last message of the person', () => {
    const { state } = playOn(
      stateFor('gemini'),
      load,
      received('One.'),
      text('Yes.'),
      received('Two.'),
      received('Three.'),
    )
    expect(state.lastPrompt).toBe('Two.\nThree.')
  })

  it('reports a change to an unknown mode', () => {
    const outputs = play(update('current_mode_update', { currentModeId: 'bypassPermissions' }))
    expect(outputsOf(outputs, 'agent.noticed')).toMatchObject([{ level: 'warning', code: 'unknown-mode' }])
    expect(outputsOf(outputs, 'session.configured')).toEqual([])
  })

  it('is compacted once, and reports a failure', () => {
    const compact = (status: string, more = {}) =>
      update('compaction_update', { compactionId: 'c', status, ...more })
    const chunk = update('compaction_summary_chunk', {
      compactionId: 'c',
      content: { type: 'text', text: 'All.' },
    })
    const outputs = play(
      prompt(1, '/compact'),
      compact('in_progress'),
      chunk,
      compact('completed'),
      compact('completed'),
    )
    expect(outputsOf(outputs, 'context.compacted')).toEqual([
      { type: 'context.compacted', trigger: 'manual', summary: 'All.' },
    ])
    const failed = play(prompt(1), compact('failed', { error: 'No.' }))
    expect(outputsOf(failed, 'agent.noticed')).toMatchObject([{ code: 'compaction', text: 'No.' }])
  })
})

it('accepts any frames in any order, and is deterministic', () => {
  const frames = ['claude-edit', 'claude-subagent', 'gemini-parallel', 'gemini-plan'].flatMap(readFixture)
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...frames), { maxLength: 60 }), (chosen) => {
      const once = playOn(stateFor('gemini'), ...chosen).outputs
      expect(playOn(stateFor('gemini'), ...chosen).outputs).toEqual(once)
      const called = outputsOf(once, 'tool-call.called').map((one) => one.toolCallId)
      expect(new Set(called).size).toBe(called.length)
      const blocks = outputsOf(once, 'text.written').map((one) => one.blockId)
      expect(new Set(blocks).size).toBe(blocks.length)
    }),
  )
})
