import type { AgentOutput } from '@parley/adapter-kit'
import { outputsOf } from '@parley/adapter-kit/testing'
import { withDenied } from '@parley/adapter-kit/translation'
import { describe, expect, it } from 'vitest'
import { allOutputs, translateFixture } from './fixtures-under-test.ts'
import { translate } from './translate.ts'
import { initialState, type TranslateState, withSettings, withTurn } from './translate-state.ts'

const root = 'root'
const inTurn = () => withTurn(initialState({ threadId: root, cwd: '/somewhere' }))

/** Translates messages given as [method, params]. Messages without a thread belong to the conversation itself. */
function translateAll(state: TranslateState, ...messages: [method: string, params: object][]) {
  const outputs: AgentOutput[] = []
  for (const [method, params] of messages) {
    const next = translate(state, { method, params: { threadId: root, turnId: 't', ...params } })
    state = next.state
    outputs.push(...next.outputs)
  }
  return { state, outputs }
}

const delta = (itemId: string, text: string): [string, object] => [
  'item/agentMessage/delta',
  { itemId, delta: text },
]
const said = (id: string, text: string): [string, object] => [
  'item/completed',
  { item: { type: 'agentMessage', id, text } },
]
const command = (when: 'started' | 'completed', fields: object = {}): [string, object] => [
  `item/${when}`,
  {
    item: {
      type: 'commandExecution',
      id: 'call',
      command: `/bin/bash -lc 'sleep 9'`,
      cwd: '/somewhere',
      processId: null,
      status: when === 'started' ? 'inProgress' : 'completed',
      aggregatedOutput: null,
      exitCode: null,
      ...fields,
    },
  },
]
const ended = (status: string, error: unknown = null): [string, object] => [
  'turn/completed',
  { turn: { id: 't', status, error } },
]
const types = (outputs: readonly AgentOutput[]) => outputs.map(({ type }) => type)

describe('texts', () => {
  it('are streamed and written under one id', () => {
    expect(translateAll(inTurn(), delta('a', 'Hel'), delta('a', 'lo'), said('a', 'Hello')).outputs).toEqual([
      { type: 'text.streamed', blockId: 'a', text: 'Hel' },
      { type: 'text.streamed', blockId: 'a', text: 'lo' },
      { type: 'text.written', blockId: 'a', text: 'Hello' },
    ])
  })

  it('are retracted and written again if they differ from their deltas', () => {
    const { outputs } = translateAll(inTurn(), delta('a', 'Hello <note>'), said('a', 'Hello'))
    expect(outputs.slice(1)).toEqual([
      { type: 'block.retracted', blockId: 'a', reason: 'the final text differs from the streamed text' },
      { type: 'text.written', blockId: 'a:whole', text: 'Hello' },
    ])
  })

  it('are retracted when the answer breaks off and is tried again', () => {
    const error = { message: 'Reconnecting... 1/5', additionalDetails: 'stream closed' }
    const { outputs } = translateAll(
      inTurn(),
      delta('a', 'Hel'),
      ['error', { error, willRetry: true }],
      said('b', 'Hello'),
    )
    expect(outputs.slice(1)).toMatchObject([
      { type: 'block.retracted', blockId: 'a' },
      { type: 'agent.noticed', code: 'api-retry', text: 'Reconnecting... 1/5 stream closed' },
      { type: 'text.written', blockId: 'b', text: 'Hello' },
    ])
  })

  const starts = (type: string, id: string): [string, object] => ['item/started', { item: { type, id } }]

  it('that a steered prompt interrupts are written before the items that follow it', () => {
    const { outputs } = translateAll(
      inTurn(),
      delta('one', 'Half a'),
      starts('userMessage', 'steer'),
      starts('agentMessage', 'two'),
      delta('two', 'Left.'),
      said('two', 'Left.'),
    )
    expect(outputs).toEqual([
      { type: 'text.streamed', blockId: 'one', text: 'Half a' },
      { type: 'text.written', blockId: 'one', text: 'Half a', interrupted: true },
      { type: 'text.streamed', blockId: 'two', text: 'Left.' },
      { type: 'text.written', blockId: 'two', text: 'Left.' },
    ])
  })

  it('that were closed and are then completed are not written twice', () => {
    const broken = translateAll(inTurn(), delta('one', 'Half a'), starts('userMessage', 'steer'))
    expect(translateAll(broken.state, delta('one', ' word'), said('one', 'Half a')).outputs).toEqual([])
    expect(translateAll(broken.state, said('one', 'Half a word')).outputs).toMatchObject([
      { type: 'block.retracted', blockId: 'one' },
      { type: 'text.written', text: 'Half a word' },
    ])
  })

  it('that are empty give no output', () => {
    expect(translateAll(inTurn(), delta('a', ''), said('a', '')).outputs).toEqual([])
  })

  it('of thinking come in parts', () => {
    const outputs = allOutputs('thinking')
    expect(outputsOf(outputs, 'thinking.written')).toMatchObject([{ text: 'Two and two is four.' }])
    const item = { type: 'reasoning', id: 'r', summary: ['one', 'two'], content: ['three'] }
    expect(translateAll(inTurn(), ['item/completed', { item }]).outputs).toMatchObject([
      { blockId: 'r:s0', text: 'one' },
      { blockId: 'r:s1', text: 'two' },
      { blockId: 'r:c0', text: 'three' },
    ])
  })
})

describe('tool calls', () => {
  it('of commands show the command without its shell', () => {
    const [called] = outputsOf(allOutputs('command-allowed'), 'tool-call.called')
    expect(called).toMatchObject({ name: 'Bash', kind: 'read', input: { command: 'echo one; echo two' } })
    expect(outputsOf(allOutputs('command-allowed'), 'tool-call.ended')).toMatchObject([
      { outcome: 'completed', content: [{ type: 'terminal', output: 'one\ntwo\n', exitCode: 0 }] },
    ])
  })

  it.each([
    ['command-failed', 'failed'],
    ['command-denied', 'denied'],
    ['patch-denied', 'denied'],
    ['deny-and-stop', 'denied'],
  ])('end with the reported outcome: %s', (name, outcome) => {
    expect(outputsOf(allOutputs(name), 'tool-call.ended').map((end) => end.outcome)).toEqual([outcome])
  })

  it('stream the output that Codex streams, and their end contains the whole output', () => {
    const pieces = outputsOf(allOutputs('command-output'), 'tool-call.output-streamed')
    expect(pieces.length).toBeGreaterThan(0)
    const streamed = pieces.map(({ text }) => text).join('')
    const [end] = outputsOf(allOutputs('command-output'), 'tool-call.ended')
    expect(end?.content).toEqual([{ type: 'terminal', output: '1\n2\n3\n', exitCode: 0 }])
    expect('1\n2\n3\n'.endsWith(streamed)).toBe(true)
  })

  it('of patches contain their diffs, and have the most severe kind', () => {
    const outputs = allOutputs('patch')
    expect(outputsOf(outputs, 'tool-call.called').map(({ kind, title }) => [kind, title])).toEqual([
      ['edit', 'Edit 2 files'],
      ['delete', 'Delete 3 files'],
    ])
    const contents = outputsOf(outputs, 'tool-call.ended').flatMap(({ content }) => content)
    expect(contents).toEqual([
      { type: 'diff', path: '/somewhere/project/new.txt', before: null, after: 'new\n' },
      {
        type: 'diff',
        path: '/somewhere/project/poem.txt',
        patch: expect.stringContaining('-roses are red\n+violets are blue'),
      },
      expect.objectContaining({ type: 'diff', path: '/somewhere/project/there.txt' }),
      { type: 'diff', path: '/somewhere/project/old.txt', before: 'old\n', after: null },
    ])
  })

  it('of MCP servers have their names and results', () => {
    const outputs = allOutputs('mcp-tool')
    expect(outputsOf(outputs, 'tool-call.called')[0]).toMatchObject({ name: 'mcp__echo__say', kind: 'other' })
    const [good, bad] = outputsOf(outputs, 'tool-call.ended')
    expect(good).toMatchObject({
      outcome: 'completed',
      content: [{ type: 'text', text: 'The echo says parsley' }],
    })
    expect(bad).toMatchObject({ outcome: 'failed' })
    expect(outputsOf(outputs, 'agent.noticed').map(({ code }) => code)).toContain('mcp-failed')
    expect(outputsOf(outputs, 'agent.connected').at(-1)?.mcpServers).toContainEqual({
      name: 'echo',
      status: 'ready',
    })
  })

  it('that are fully known only at their end are updated', () => {
    const search = (when: string, query: string): [string, object] => [
      `item/${when}`,
      { item: { type: 'webSearch', id: 'w', query } },
    ]
    const { outputs } = translateAll(inTurn(), search('started', ''), search('completed', 'parsley'))
    expect(outputs).toMatchObject([
      { type: 'tool-call.called', kind: 'fetch', title: 'Search the web' },
      { type: 'tool-call.updated', title: 'Search the web for "parsley"' },
      { type: 'tool-call.ended', outcome: 'completed' },
    ])
  })

  it('whose start was not seen are recorded', () => {
    expect(types(translateAll(inTurn(), command('completed')).outputs)).toEqual([
      'tool-call.called',
      'tool-call.ended',
    ])
  })

  it('that were denied and then failed end as denied', () => {
    const { state } = translateAll(inTurn(), command('started'))
    const { outputs } = translateAll(withDenied(state, 'call'), command('completed', { status: 'failed' }))
    expect(outputs).toMatchObject([{ outcome: 'denied' }])
  })
})

describe('work that outlives its turn', () => {
  it('a command: its call ends with the turn, and its own end is the end of a task', () => {
    const [first = [], second = []] = translateFixture('command-background')
    expect(types(first).slice(types(first).indexOf('text.written'))).toEqual([
      'text.written',
      'usage.measured',
      'tool-call.ended',
      'task.updated',
      'turn.ended',
      'task.updated',
    ])
    expect(outputsOf(first, 'task.updated').map(({ status }) => status)).toEqual(['running', 'completed'])
    expect(types(second)).not.toContain('tool-call.ended')
  })

  it('a subagent: its later outputs have its call as their parent', () => {
    const spawn = {
      type: 'subAgentActivity',
      id: 'spawn',
      kind: 'started',
      agentThreadId: 'child',
      agentPath: '/root/look',
    }
    const begun = translateAll(
      inTurn(),
      ['item/started', { item: spawn }],
      ['item/completed', { item: spawn }],
    )
    expect(types(begun.outputs)).toEqual(['tool-call.called', 'tool-call.ended', 'task.updated'])
    const over = translateAll(begun.state, ended('completed'))
    const text = { threadId: 'child', item: { type: 'agentMessage', id: 'm', text: 'I see.' } }
    const { outputs } = translateAll(
      over.state,
      ['item/agentMessage/delta', { threadId: 'child', itemId: 'm', delta: 'I see.' }],
      ['item/completed', text],
      ['turn/completed', { threadId: 'child', turn: { id: 'u', status: 'completed' } }],
    )
    expect(outputs).toMatchObject([
      { type: 'text.streamed', text: 'I see.', parentToolCallId: 'spawn' },
      { type: 'text.written', text: 'I see.', parentToolCallId: 'spawn' },
      { type: 'task.updated', taskId: 'child', status: 'completed', summary: 'I see.' },
    ])
  })
})

describe('subagents', () => {
  it.each(['subagent', 'subagent-first-kind'])(
    'are tasks, and their outputs have their call as the parent: %s',
    (name) => {
      const outputs = allOutputs(name)
      const [spawn] = outputsOf(outputs, 'tool-call.called').filter(({ kind }) => kind === 'subagent')
      expect(spawn?.name).toBe('spawn_agent')
      const inner = outputs.filter((output) => 'parentToolCallId' in output && output.parentToolCallId)
      expect(
        new Set(inner.map((output) => (output as { parentToolCallId?: string }).parentToolCallId)),
      ).toEqual(new Set([spawn?.toolCallId]))
      expect(outputsOf(inner, 'text.written').at(-1)?.text).toBe('There are three stars.')
      expect(outputsOf(outputs, 'task.updated').map(({ status }) => status)).toEqual(['running', 'completed'])
    },
  )
})

describe('the end of a turn', () => {
  it.each([
    [{ message: 'x', codexErrorInfo: 'usageLimitExceeded' }, 'rate_limited'],
    [
      { message: 'x', codexErrorInfo: { httpConnectionFailed: { httpStatusCode: 401 } } },
      'agent_not_signed_in',
    ],
    [{ message: 'x', codexErrorInfo: 'contextWindowExceeded' }, 'too_large'],
    [{ message: 'x', codexErrorInfo: 'serverOverloaded' }, 'busy'],
    [{ message: 'x', codexErrorInfo: 'other' }, 'agent_failed'],
    [null, 'agent_failed'],
  ])('has the error code for: %j', (error, code) => {
    expect(translateAll(inTurn(), ended('failed', error)).outputs).toMatchObject([
      { type: 'turn.ended', outcome: 'failed', error: { code } },
    ])
  })

  it('that the host does not know gives no output', () => {
    expect(translateAll(initialState({ threadId: root }), ended('completed')).outputs).toEqual([])
    const other = translateAll(inTurn(), ['turn/started', { turn: { id: 'mine' } }], ended('completed'))
    expect(other.outputs).toEqual([])
  })

  it('has a result, structured if a schema was given', () => {
    const [end] = outputsOf(allOutputs('text'), 'turn.ended')
    expect(end).toMatchObject({
      result: 'Hello, this is the model speaking.',
      usage: { input: 100, output: 20 },
    })
    expect(end).not.toHaveProperty('structuredOutput')
    const shaped = allOutputs('structured-output', { options: { outputSchema: {} } })
    expect(outputsOf(shaped, 'turn.ended')).toMatchObject([{ structuredOutput: { count: 2 } }])
  })
})

it('counts cached tokens separately from other input, and the usage of a turn as the sum of its model calls', () => {
  const used = (total: number, last: number): [string, object] => {
    const tokens = (input: number) => ({
      totalTokens: input + 5,
      inputTokens: input,
      cachedInputTokens: 4,
      outputTokens: 5,
      reasoningOutputTokens: 2,
    })
    const tokenUsage = { total: tokens(total), last: tokens(last), modelContextWindow: 1000 }
    return ['thread/tokenUsage/updated', { tokenUsage }]
  }
  const { outputs } = translateAll(inTurn(), used(110, 10), used(110, 10), used(130, 20), ended('completed'))
  expect(outputs).toMatchObject([
    {
      type: 'usage.measured',
      context: { used: 15, window: 1000 },
      total: { input: 106, output: 5, cacheRead: 4, reasoning: 2 },
    },
    { type: 'usage.measured', context: { used: 25 } },
    { type: 'turn.ended', usage: { input: 22, output: 10, cacheRead: 8, reasoning: 4 } },
  ])
})

it('reports plans, compactions and terminal input', () => {
  expect(outputsOf(allOutputs('plan-tool'), 'plan.updated')).toMatchObject([
    {
      entries: [
        { text: 'One', status: 'completed' },
        { text: 'Two', status: 'in-progress' },
      ],
    },
  ])
  expect(outputsOf(allOutputs('compact'), 'context.compacted')).toMatchObject([{ trigger: 'manual' }])
  const item = { type: 'contextCompaction', id: 'c' }
  expect(translateAll(inTurn(), ['item/completed', { item }]).outputs).toMatchObject([{ trigger: 'auto' }])
  const typed = outputsOf(allOutputs('terminal-input'), 'agent.noticed')
  expect(typed).toContainEqual(expect.objectContaining({ code: 'terminal-input' }))
})

it('reports repeated warnings once, and limits only on a change', () => {
  const warning: [string, object] = ['warning', { message: 'Mind the step.' }]
  expect(translateAll(inTurn(), warning, warning).outputs).toHaveLength(1)
  const limits = (usedPercent: number): [string, object] => [
    'account/rateLimits/updated',
    { rateLimits: { primary: { usedPercent }, secondary: null, rateLimitReachedType: null } },
  ]
  const { outputs } = translateAll(inTurn(), limits(10), limits(91), limits(95), limits(100), limits(3))
  expect(outputsOf(outputs, 'agent.noticed').map(({ level }) => level)).toEqual(['warning', 'error', 'info'])
})

it('reports changed settings with the unchanged options', () => {
  const options = { appendSystemPrompt: 'Be brief.' }
  const state = withSettings(inTurn(), { options, model: 'one', effort: 'low' })
  const settings = (model: string, effort: string | null): [string, object] => [
    'thread/settings/updated',
    { threadSettings: { model, effort } },
  ]
  expect(translateAll(state, settings('one', 'low'), settings('two', 'high')).outputs).toEqual([
    { type: 'session.configured', effective: { model: 'two', options: { ...options, effort: 'high' } } },
  ])
})
