import type { AgentOutput } from '@parley/adapter-kit'
import { withDenied } from '@parley/adapter-kit/translation'
import { describe, expect, it } from 'vitest'
import { describeTool } from './describe-call.ts'
import { initialState, type TranslateState, translate, withCommands, withTurn } from './translate.ts'

/** Translates messages that no recording contains, in order, in a running turn. */
function play(messages: readonly object[], state: TranslateState = withTurn(initialState())): AgentOutput[] {
  let now = state
  return messages.flatMap((message) => {
    const next = translate(now, message)
    now = next.state
    return next.outputs
  })
}

const common = { session_id: 's', parent_tool_use_id: null }
let uuids = 0

function assistant(content: object[], more: object = {}) {
  return {
    type: 'assistant',
    uuid: `u${++uuids}`,
    message: { id: 'msg_1', model: 'm', content },
    ...common,
    ...more,
  }
}
function streamed(event: object, more: object = {}) {
  return { type: 'stream_event', uuid: `u${++uuids}`, event, ...common, ...more }
}
function system(subtype: string, fields: object = {}) {
  return { type: 'system', subtype, uuid: `u${++uuids}`, session_id: 's', ...fields }
}
function resultOf(toolCallId: string, more: object = {}, around: object = {}) {
  const content = [{ type: 'tool_result', tool_use_id: toolCallId, content: 'ok', ...more }]
  return { type: 'user', uuid: `u${++uuids}`, message: { content }, ...common, ...around }
}
const bash = { type: 'tool_use', id: 'call', name: 'Bash', input: { command: 'ls' } }
const text = { type: 'text', text: 'words' }
const starts = [
  streamed({ type: 'message_start', message: { id: 'msg_1' } }),
  streamed({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  streamed({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'wor' } }),
]

describe('a message', () => {
  it('is translated once, by its uuid', () => {
    const message = assistant([text])
    expect(play([message, message])).toMatchObject([{ type: 'text.written' }])
  })

  it('that the resumed conversation already contains is not translated', () => {
    const message = assistant([text])
    expect(play([message], withTurn(initialState({ resumed: true, taken: [message.uuid] })))).toEqual([])
  })

  it('of an unknown type is recorded', () => {
    const unknown = { type: 'tomorrow', uuid: 'x' }
    expect(play([unknown])).toEqual([
      { type: 'agent.unrecognised', native: unknown, reason: 'a message of type tomorrow' },
    ])
    expect(play([system('tomorrow')])).toMatchObject([{ type: 'agent.unrecognised' }])
    expect(play([assistant([{ type: 'hologram' }])])).toMatchObject([{ type: 'agent.unrecognised' }])
    expect(play([streamed({ type: 'tomorrow' })])).toMatchObject([{ type: 'agent.unrecognised' }])
  })

  it.each([
    [null],
    [undefined],
    ['text'],
    [{}],
    [{ type: 'constructor' }],
    [{ type: 'assistant' }],
    [{ type: 'user', message: {} }],
    [{ type: 'stream_event' }],
    [system('init')],
    [system('compact_boundary')],
  ])('of a wrong shape is recorded and breaks nothing: %j', (message) => {
    const { outputs } = translate(withTurn(initialState()), message)
    expect(outputs).toMatchObject([{ type: 'agent.unrecognised', reason: expect.any(String) }])
  })

  it('of a person, replayed or synthetic, gives no output', () => {
    const user = { type: 'user', message: { content: 'Hello' }, ...common }
    expect(
      play([
        { ...user, uuid: 'a', isReplay: true },
        { ...user, uuid: 'b', isSynthetic: true },
        { ...user, uuid: 'c', parent_tool_use_id: 'call' },
      ]),
    ).toEqual([])
  })
})

describe('a block', () => {
  it('has one id for its deltas and its text', () => {
    const outputs = play([...starts, assistant([text])])
    expect(outputs.map((output) => 'blockId' in output && output.blockId)).toEqual(['msg_1:0', 'msg_1:0'])
  })

  it('keeps its index if an earlier block was left out', () => {
    const outputs = play([
      starts[0] as object,
      streamed({ type: 'content_block_start', index: 0, content_block: { type: 'redacted_thinking' } }),
      streamed({ type: 'content_block_start', index: 1, content_block: { type: 'text' } }),
      streamed({ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'words' } }),
      assistant([text]),
    ])
    expect(outputs).toMatchObject([
      { type: 'text.streamed', blockId: 'msg_1:1' },
      { type: 'text.written', blockId: 'msg_1:1' },
    ])
  })

  it('of hidden thinking is a notice, and an empty one gives no output', () => {
    expect(play([assistant([{ type: 'redacted_thinking', data: 'x' }])])).toMatchObject([
      { type: 'agent.noticed', code: 'thinking-redacted' },
    ])
    expect(
      play([
        assistant([
          { type: 'thinking', thinking: '' },
          { type: 'text', text: '' },
        ]),
      ]),
    ).toEqual([])
  })

  it('is marked as interrupted when the answer was aborted', () => {
    expect(
      play([...starts, assistant([{ type: 'text', text: 'wor' }], { aborted: true })]).at(-1),
    ).toMatchObject({ type: 'text.written', text: 'wor', interrupted: true })
  })

  it('is retracted when a later message replaces it', () => {
    const first = assistant([text])
    const second = assistant([{ type: 'text', text: 'better' }], { supersedes: [first.uuid] })
    const outputs = play([first, second])
    expect(outputs).toMatchObject([
      { type: 'text.written', blockId: `${first.uuid}:0` },
      { type: 'block.retracted', blockId: `${first.uuid}:0` },
      { type: 'text.written', text: 'better' },
    ])
  })

  it('is retracted after a refusal of the model, and the effective model changes', () => {
    const first = assistant([text])
    const outputs = play([
      first,
      system('model_refusal_fallback', {
        original_model: 'large',
        fallback_model: 'small',
        content: 'Went on with small.',
        retracted_message_uuids: [first.uuid],
      }),
    ])
    expect(outputs.slice(1)).toMatchObject([
      { type: 'block.retracted', blockId: `${first.uuid}:0` },
      { type: 'agent.noticed', code: 'model-fallback', text: 'Went on with small.' },
      { type: 'session.configured', effective: { model: 'small' } },
    ])
  })

  it('that started outside a turn is not streamed into one', () => {
    let state = initialState()
    for (const start of starts) state = translate(state, start).state
    const more = streamed({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: 'ds' },
    })
    expect(play([more, assistant([text])], withTurn(state))).toMatchObject([
      { type: 'text.written', text: 'words' },
    ])
  })
})

describe('a tool call', () => {
  it('that the person denied ends as denied', () => {
    const state = withDenied(withTurn(initialState()), 'call')
    expect(play([assistant([bash]), resultOf('call', { is_error: true })], state).at(-1)).toMatchObject({
      outcome: 'denied',
    })
  })

  it('that the agent itself refused ends as denied', () => {
    const denied = system('permission_denied', { tool_use_id: 'call' })
    expect(play([assistant([bash]), denied, resultOf('call', { is_error: true })]).at(-1)).toMatchObject({
      outcome: 'denied',
    })
  })

  it('that the API itself makes ends with its result block', () => {
    const outputs = play([
      assistant([
        { type: 'server_tool_use', id: 'srv', name: 'web_search', input: { query: 'stars' } },
        { type: 'web_search_tool_result', tool_use_id: 'srv', content: [{ type: 'text', text: 'found' }] },
      ]),
    ])
    expect(outputs).toMatchObject([
      { type: 'tool-call.called', kind: 'fetch', title: 'Search the web for "stars"' },
      { type: 'tool-call.ended', outcome: 'completed', content: [{ type: 'text', text: 'found' }] },
    ])
  })

  it('of a subagent ends, even after its turn', () => {
    const called = translate(withTurn(initialState()), assistant([bash], { parent_tool_use_id: 'agent' }))
    const ended = translate(called.state, {
      type: 'result',
      uuid: 'r',
      subtype: 'success',
      is_error: false,
      result: '',
      stop_reason: 'end_turn',
      modelUsage: {},
    })
    expect(ended.outputs).toMatchObject([{ type: 'turn.ended', outcome: 'completed' }])
    const late = resultOf('call', {}, { parent_tool_use_id: 'agent' })
    const end = { type: 'tool-call.ended', outcome: 'completed', parentToolCallId: 'agent' }
    expect(play([late], ended.state)).toMatchObject([end])
    expect(play([late], withTurn(ended.state))).toMatchObject([end])
  })

  it.each([
    ['Bash', { command: 'npm test\nnpm run build', description: 'harmless' }, 'execute', 'npm test …'],
    ['Read', { file_path: '/somewhere/a.ts', offset: 3 }, 'read', 'Read a.ts'],
    ['Write', { file_path: '/etc/hosts' }, 'edit', 'Write /etc/hosts'],
    ['NotebookEdit', { notebook_path: '/somewhere/n.ipynb' }, 'edit', 'Edit n.ipynb'],
    ['Grep', { pattern: 'x', path: '/somewhere/src' }, 'search', 'Search for "x"'],
    ['WebFetch', { url: 'https://example.com' }, 'fetch', 'Fetch https://example.com'],
    ['Agent', { description: 'Count', prompt: '…' }, 'subagent', 'Count'],
    ['TodoWrite', { todos: [] }, 'think', 'Update the plan'],
    ['ExitPlanMode', { plan: 'x' }, 'plan', 'Propose the plan'],
    ['AskUserQuestion', { questions: [{ question: 'Why?' }] }, 'other', 'Ask: Why?'],
    ['mcp__host__add', { a: 1 }, 'other', 'host: add'],
    ['Tomorrow', null, 'other', 'Tomorrow'],
  ])('of %s has a kind and a title', (name, input, kind, title) => {
    expect(describeTool(name, input, '/somewhere')).toMatchObject({ kind, title })
  })

  it('is marked as read-only only for a known tool', () => {
    expect(describeTool('Read', { file_path: '/a', offset: 3 })).toMatchObject({
      readOnly: true,
      locations: [{ path: '/a', line: 3 }],
    })
    expect(describeTool('Bash', { command: 'ls' }).readOnly).toBe(false)
    expect(describeTool('mcp__host__add', {}).readOnly).toBeUndefined()
  })
})

describe('the end of a turn', () => {
  const result = {
    type: 'result',
    subtype: 'success',
    is_error: false,
    result: 'done',
    stop_reason: 'end_turn',
    modelUsage: {},
    usage: { input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 7 },
    total_cost_usd: 1,
  }

  it('comes with the result for its own prompt, not with the result of other work', () => {
    const state = withTurn(initialState(), 'mine')
    const own = { ...result, uuid: 'a', origin: { kind: 'task-notification' } }
    const mine = { ...result, uuid: 'b', user_message_uuids: ['mine'] }
    expect(play([own, mine], state)).toMatchObject([{ type: 'turn.ended', result: 'done' }])
    expect(play([{ ...result, uuid: 'c', user_message_uuids: ['other'] }], state)).toEqual([])
  })

  it('reports the difference in cost if the agent does not report the cost of the turn', () => {
    const outputs = play([{ ...result, uuid: 'a', modelUsage: { m: { inputTokens: 1, outputTokens: 1 } } }])
    expect(outputs).toMatchObject([
      { type: 'usage.measured', costUsd: 1 },
      { type: 'turn.ended', costUsd: 1, usage: { input: 5, output: 2, cacheRead: 7 } },
    ])
  })

  it.each([
    [401, 'api_error', 'agent_not_signed_in', /^done Check ANTHROPIC_API_KEY.*claude auth login/],
    [404, 'api_error', 'agent_failed', /^done Choose another model.$/],
    [429, 'api_error', 'rate_limited', /^done Send the prompt again later.$/],
    [529, 'api_error', 'busy', /^done$/],
    [500, 'api_error', 'agent_failed', /^done$/],
    [400, 'prompt_too_long', 'too_large', /^done$/],
    [null, 'api_error', 'agent_failed', /^done Send the prompt again.$/],
    [null, 'model_error', 'agent_failed', /^done$/],
  ])('with status %s (%s) is a failure with code %s and advice', (status, reason, code, message) => {
    const failed = { is_error: true, api_error_status: status, terminal_reason: reason }
    expect(play([{ ...result, uuid: 'a', ...failed }])).toMatchObject([
      { type: 'turn.ended', outcome: 'failed', error: { code, message: expect.stringMatching(message) } },
    ])
  })

  it('without any text of the model gives a notice, except for a command of the agent', () => {
    const empty = { ...result, uuid: 'a', result: '', num_turns: 2 }
    expect(play([empty])).toMatchObject([
      { type: 'agent.noticed', level: 'warning', code: 'empty-answer' },
      { type: 'turn.ended', outcome: 'completed' },
    ])
    expect(play([{ ...empty, num_turns: 0 }])).toMatchObject([{ type: 'turn.ended', outcome: 'completed' }])
  })

  it('counts the usage of the whole turn if that is reported', () => {
    const used = { m: { inputTokens: 3, outputTokens: 4, costUSD: 1 } }
    expect(
      play([{ ...result, uuid: 'a', modelUsage: used, model_usage_since_last_result: used }]).at(-1),
    ).toMatchObject({ type: 'turn.ended', usage: { input: 3, output: 4 }, costUsd: 1 })
  })

  it('comes without a result for a prompt that was dropped', () => {
    const dropped = { type: 'command_lifecycle', command_uuid: 'mine', state: 'cancelled', uuid: 'a' }
    expect(play([dropped], withTurn(initialState(), 'mine'))).toEqual([
      { type: 'turn.ended', outcome: 'cancelled', stopReason: 'cancelled' },
    ])
  })
})

describe('a message that is not part of the conversation', () => {
  it('reports rate limits when they apply and when they no longer do', () => {
    const limit = (status: string) => ({
      type: 'rate_limit_event',
      uuid: `u${++uuids}`,
      rate_limit_info: { status },
    })
    const outputs = play(['allowed', 'allowed_warning', 'rejected', 'allowed', 'allowed'].map(limit))
    expect(outputs).toMatchObject([{ level: 'warning' }, { level: 'error' }, { level: 'info' }])
  })

  it.each([
    [system('model_refusal_no_fallback', { content: 'No.' }), { level: 'error', code: 'model-refusal' }],
    [system('model_refusal_no_fallback'), { text: expect.stringContaining('refused to answer') }],
    [
      system('notification', { key: 'k', text: 'Look', priority: 'high' }),
      { level: 'warning', text: 'Look' },
    ],
    [system('informational', { content: 'So it is', level: 'warning' }), { level: 'warning' }],
    [
      { type: 'auth_status', output: [], error: 'expired' },
      { level: 'error', text: 'expired' },
    ],
    [system('session_writes_lost', { error_code: 'ENOSPC', lost: [] }), { code: 'transcript-lost' }],
    [system('mirror_error', { error: 'x' }), { level: 'error' }],
    [system('plugin_install', { status: 'failed', name: 'p' }), { level: 'warning' }],
    [system('files_persisted', { files: [], failed: [{ filename: 'f' }] }), { text: 'Not saved: f' }],
    [system('memory_recall', { mode: 'select', memories: [{ path: 'm' }] }), { code: 'memory-recall' }],
    [system('worker_shutting_down', { reason: 'host_exit' }), { code: 'shutting-down' }],
    [system('status', { status: null, compact_result: 'failed' }), { code: 'compaction-failed' }],
  ])('gives a notice: %j', (message, notice) => {
    expect(play([message]).at(-1)).toMatchObject({ type: 'agent.noticed', ...notice })
  })

  it('reports the output of a slash command as text', () => {
    expect(play([system('local_command_output', { content: 'printed' })])).toMatchObject([
      { type: 'text.written', text: 'printed' },
    ])
  })

  it('reports an automatic compaction without a summary', () => {
    const boundary = system('compact_boundary', { compact_metadata: { trigger: 'auto', pre_tokens: 9 } })
    expect(play([boundary, assistant([text])])).toEqual([
      { type: 'context.compacted', trigger: 'auto', before: 9 },
      expect.objectContaining({ type: 'text.written' }),
    ])
  })

  it('keeps the known descriptions of commands', () => {
    const init = system('init', {
      cwd: '/somewhere',
      model: 'm',
      permissionMode: 'default',
      tools: [],
      mcp_servers: [{ name: 'x', status: 'failed' }],
      slash_commands: ['compact', 'other'],
      claude_code_version: '2',
    })
    const known = withCommands(initialState(), [{ name: 'compact', description: 'Makes room' }])
    expect(play([init], known)[0]).toMatchObject({
      type: 'agent.connected',
      mcpServers: [{ name: 'x', status: 'failed' }],
      commands: [{ name: 'compact', description: 'Makes room' }, { name: 'other' }],
    })
  })
})

describe('a result with an unusual shape', () => {
  const init = system('init', {
    cwd: '/',
    model: 'm',
    permissionMode: 'default',
    tools: [],
    mcp_servers: [],
    slash_commands: [],
  })
  const result = { type: 'result', subtype: 'success', result: 'words', session_id: 's2', num_turns: 3 }

  it('names the conversation to resume if it differs from the last init', () => {
    expect(
      play([init, { ...result, uuid: 'r1' }]).filter(({ type }) => type === 'agent.connected'),
    ).toMatchObject([{ agentSessionId: 's' }, { agentSessionId: 's2' }])
  })

  it('of a failed start names no conversation', () => {
    expect(play([{ ...result, uuid: 'r2' }]).map(({ type }) => type)).toEqual(['turn.ended'])
  })

  it('reports the steps of its turn, and the time of the calls in this turn only', () => {
    const first = { ...result, uuid: 'r3', duration_api_ms: 100, modelUsage: { m: {} } }
    let state = translate(withTurn(initialState()), first).state
    state = withTurn(state)
    const [end] = play([{ ...first, uuid: 'r4', duration_api_ms: 130 }], state).slice(-1)
    expect(end).toMatchObject({ type: 'turn.ended', steps: 3, modelMs: 30 })
  })

  it('without errors and without a subtype fails the turn with a message', () => {
    const [end] = play([{ type: 'result', is_error: true, uuid: 'r5', session_id: 's' }])
    expect(end).toMatchObject({ type: 'turn.ended', outcome: 'failed', stopReason: 'error' })
    expect(JSON.stringify(end)).not.toContain('undefined')
  })
})
