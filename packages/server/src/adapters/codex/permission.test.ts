import type { AgentOutput, PermissionAnswer, PermissionAsk, Person, QuestionAsk } from '@parley/adapter-kit'
import type { JsonRpcId } from '@parley/adapter-kit/json-rpc'
import { describe, expect, it } from 'vitest'
import type { NativeHookCall } from './native-hook.ts'
import { hookAsk } from './permission.ts'
import { Requests } from './requests.ts'
import { translate } from './translate.ts'
import { initialState, type TranslateState, withSandbox, withTurn } from './translate-state.ts'

const cwd = '/somewhere'
const began = (item: object, state = withTurn(initialState({ threadId: 'root', cwd }))): TranslateState =>
  translate(state, { method: 'item/started', params: { threadId: 'root', turnId: 't', item } }).state

/** The state in which a call has these sandbox permissions. */
const sandboxed = (permissions = 'use_default', state = initialState({ threadId: 'root', cwd })) =>
  withSandbox(state, 'call', permissions)

const mcpCall = (id: string, words: string, tool = 'say') => ({
  type: 'mcpToolCall',
  id,
  server: 'echo',
  tool,
  status: 'inProgress',
  arguments: { words },
  result: null,
  error: null,
})
const shell = (itemId: string, command: string, more: object = {}) => ({
  method: 'item/commandExecution/requestApproval',
  params: { threadId: 'root', turnId: 't', itemId, command: `/bin/bash -lc '${command}'`, cwd, ...more },
})
const toolAsk = (words: string) => ({
  method: 'mcpServer/elicitation/request',
  params: {
    threadId: 'root',
    serverName: 'echo',
    mode: 'form',
    message: 'Allow the echo MCP server to run tool "say"?',
    _meta: { codex_approval_kind: 'mcp_tool_call', tool_params: { words } },
    requestedSchema: { type: 'object', properties: {} },
  },
})

/**
 * A request handler with a person whose answers the test gives later. `said` contains everything that is sent to Codex,
 * in order.
 */
function openRequests(first: TranslateState) {
  let state = first
  const asked: (PermissionAsk | QuestionAsk)[] = []
  const signals: (AbortSignal | undefined)[] = []
  const answers: ((answer: never) => void)[] = []
  const said: unknown[] = []
  const outputs: AgentOutput[] = []
  const denied: string[] = []
  const wait = (ask: PermissionAsk | QuestionAsk, signal?: AbortSignal) => {
    asked.push(ask)
    signals.push(signal)
    return new Promise<never>((resolve) => answers.push(resolve))
  }
  const person: Person = { forbids: () => false, permit: wait, answer: wait }
  const requests = new Requests({
    server: {
      respond: (id: JsonRpcId, result: unknown) => void said.push({ id, result }),
      refuse: (id: JsonRpcId, message: string) => void said.push({ id, refused: message }),
    },
    person,
    state: () => state,
    denied: (toolCallId) => void denied.push(toolCallId),
    explain: async (threadId, words) => void said.push({ threadId, words }),
    put: (output) => void outputs.push(output),
  })
  const answer = async (index: number, given: object) => {
    answers[index]?.({ requestId: 'req', ...given } as never)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const setState = (next: TranslateState) => {
    state = next
    requests.callsOpen(state.calls)
  }
  return { requests, asked, signals, said, outputs, denied, answer, setState }
}

const answers: [PermissionAnswer['outcome'], object, string][] = [
  ['allowed', {}, 'accept'],
  ['denied', {}, 'decline'],
  ['denied', { endTurn: true, message: 'Stop.' }, 'cancel'],
  ['cancelled', {}, 'cancel'],
]

describe('a request for a command', () => {
  it.each(answers)('answer %s %j is sent as %s', async (outcome, more, decision) => {
    const { requests, asked, said, answer, denied } = openRequests(sandboxed())
    requests.take({ id: 7, ...shell('call', 'npm test') })
    expect(asked).toEqual([
      {
        toolCallId: 'call',
        tool: 'Bash',
        kind: 'execute',
        title: 'npm test',
        input: { command: 'npm test' },
      },
    ])
    await answer(0, { outcome, ...more })
    expect(said).toEqual([{ id: 7, result: { decision } }])
    expect(denied).toEqual(outcome === 'denied' ? ['call'] : [])
  })

  it('sends the reason of a refusal before the refusal', async () => {
    const item = { type: 'commandExecution', id: 'call', command: 'npm test', cwd, status: 'inProgress' }
    const { requests, said, answer } = openRequests(began(item))
    requests.take({ id: 7, ...shell('call', 'npm test') })
    await answer(0, { outcome: 'denied', message: 'Use make.' })
    expect(said).toEqual([
      { threadId: 'root', words: 'Use make.' },
      { id: 7, result: { decision: 'decline' } },
    ])
  })

  it('marks a command that only reads, and marks as outside a command in another folder', () => {
    const { requests, asked } = openRequests(initialState({ threadId: 'root', cwd }))
    requests.take({ id: 1, ...shell('call', 'cat "src/*.ts"', { cwd: '/elsewhere' }) })
    expect(asked[0]).toMatchObject({ kind: 'read', input: { command: 'cat "src/*.ts"', cwd: '/elsewhere' } })
    expect(asked[0]).toMatchObject({ outside: true })
  })

  it('includes the permissions beyond the sandbox', () => {
    const { requests, asked } = openRequests(sandboxed())
    const additionalPermissions = { network: { enabled: true } }
    const more = { additionalPermissions, environmentId: 'remote', cwd: '/elsewhere' }
    requests.take({ id: 1, ...shell('call', 'make', more) })
    expect(asked[0]).toMatchObject({
      input: { command: 'make', cwd: '/elsewhere', additionalPermissions, environmentId: 'remote' },
    })
  })

  it('includes the sandbox permissions, even if they are unknown', () => {
    const inputs = [sandboxed('require_escalated'), initialState({ threadId: 'root', cwd })].map((state) => {
      const { requests, asked } = openRequests(state)
      requests.take({ id: 1, ...shell('call', 'make') })
      return asked[0] && 'input' in asked[0] && asked[0].input
    })
    expect(inputs).toEqual([
      { command: 'make', sandbox_permissions: 'require_escalated' },
      { command: 'make', sandbox_permissions: 'unknown' },
    ])
  })

  it('that Codex cancels is withdrawn and not answered', async () => {
    const { requests, said, signals, answer } = openRequests(initialState({ threadId: 'root', cwd }))
    requests.take({ id: 7, ...shell('call', 'npm test') })
    requests.resolved(7)
    expect(signals[0]?.aborted).toBe(true)
    await answer(0, { outcome: 'allowed' })
    expect(said).toEqual([])
  })

  it('is neither answered nor withdrawn after the close', async () => {
    const { requests, said, signals, answer } = openRequests(initialState({ threadId: 'root', cwd }))
    requests.take({ id: 7, ...shell('call', 'npm test') })
    requests.close()
    await answer(0, { outcome: 'cancelled' })
    expect([said, signals[0]?.aborted]).toEqual([[], false])
  })

  it('for network access or terminal input has a tool of its own', () => {
    const { requests, asked } = openRequests(initialState({ threadId: 'root', cwd }))
    requests.take({ id: 1, ...shell('a', 'x', { networkApprovalContext: { host: 'h', protocol: 'https' } }) })
    requests.take({ id: 2, ...shell('b', 'y', { kind: 'writeStdin' }) })
    expect(asked).toMatchObject([
      { tool: 'network', kind: 'fetch', input: { host: 'h' }, readOnly: false },
      { tool: 'write_stdin', kind: 'execute', input: { command: 'y' } },
    ])
  })
})

describe('a request for a tool of an MCP server', () => {
  it('names its call, and distinguishes two equal calls', async () => {
    const state = began(
      mcpCall('three', 'sage'),
      began(mcpCall('two', 'parsley'), began(mcpCall('one', 'parsley'))),
    )
    const { requests, asked, said, answer } = openRequests(state)
    for (const [id, words] of ['parsley', 'parsley', 'sage'].entries())
      requests.take({ id, ...toolAsk(words) })
    expect(asked.map(({ toolCallId }) => toolCallId)).toEqual(['one', 'two', 'three'])
    expect(asked[0]).toMatchObject({ tool: 'mcp__echo__say', kind: 'other', input: { words: 'parsley' } })
    await answer(0, { outcome: 'allowed' })
    await answer(1, { outcome: 'denied' })
    expect(said).toEqual([
      { id: 0, result: { action: 'accept', content: {}, _meta: null } },
      { id: 1, result: { action: 'decline', content: null, _meta: null } },
    ])
  })

  it('is never matched to another call that was allowed and still runs with the same arguments', async () => {
    const listing = began(mcpCall('one', 'sage', 'list'))
    const { requests, asked, answer, setState } = openRequests(listing)
    requests.take({ id: 1, ...toolAsk('sage') })
    await answer(0, { outcome: 'allowed' })
    setState(began(mcpCall('two', 'sage', 'delete_all'), listing))
    requests.take({ id: 2, ...toolAsk('sage') })
    expect(asked).toMatchObject([
      { toolCallId: 'one', tool: 'mcp__echo__list' },
      { toolCallId: 'two', tool: 'mcp__echo__delete_all' },
    ])
  })

  it('names only the server if several tools match', () => {
    const state = began(mcpCall('two', 'sage', 'delete_all'), began(mcpCall('one', 'sage', 'list')))
    const { requests, asked } = openRequests(state)
    requests.take({ id: 1, ...toolAsk('sage') })
    expect(asked).toMatchObject([{ tool: 'mcp__echo', input: { words: 'sage' } }])
    expect(asked[0]).not.toHaveProperty('toolCallId')
  })

  it('is matched to a new call with an id that was used before', async () => {
    const state = began(mcpCall('one', 'sage'))
    const { requests, asked, answer, setState } = openRequests(state)
    requests.take({ id: 1, ...toolAsk('sage') })
    await answer(0, { outcome: 'allowed' })
    setState(initialState({ threadId: 'root', cwd }))
    setState(state)
    requests.take({ id: 2, ...toolAsk('sage') })
    expect(asked.map(({ toolCallId }) => toolCallId)).toEqual(['one', 'one'])
  })

  it('for a host tool without a known call is accepted: the host asks when the tool is called', () => {
    const say = { name: 'host:say', kind: 'other' as const, title: 'Say', readOnly: false }
    const hostTools = new Map([['mcp__parley__say', say]])
    const params = { ...toolAsk('sage').params, serverName: 'parley' }
    const native = { method: 'mcpServer/elicitation/request', params }
    const { requests, asked, said } = openRequests(initialState({ threadId: 'root', hostTools }))
    requests.take({ id: 1, ...native })
    expect([asked, said]).toEqual([[], [{ id: 1, result: { action: 'accept', content: {}, _meta: null } }]])
    const without = openRequests(initialState({ threadId: 'root' }))
    without.requests.take({ id: 1, ...native })
    expect(without.asked).toMatchObject([{ tool: 'mcp__parley' }])
  })

  it('with a form is asked as questions', async () => {
    const { requests, asked, said, answer } = openRequests(began(mcpCall('one', 'parsley')))
    const properties = { colour: { type: 'string', enum: ['red', 'blue'] } }
    const requestedSchema = { type: 'object', properties, required: ['colour'] }
    const params = { threadId: 'root', serverName: 'echo', mode: 'form', message: 'Which?', requestedSchema }
    for (const id of [1, 2]) requests.take({ id, method: 'mcpServer/elicitation/request', params })
    expect(asked[0]).toMatchObject({ toolCallId: 'one', questions: [{ id: 'colour' }] })
    await answer(0, { outcome: 'answered', answers: { colour: 'blue' } })
    await answer(1, { outcome: 'cancelled' })
    expect(said).toEqual([
      { id: 1, result: { action: 'accept', content: { colour: 'blue' }, _meta: null } },
      { id: 2, result: { action: 'cancel', content: null, _meta: null } },
    ])
  })

  it('is declined if only a program of the vendor could answer', () => {
    const { requests, said } = openRequests(initialState({ threadId: 'root' }))
    const params = { threadId: 'root', serverName: 'echo', mode: 'openai/userVerification' }
    requests.take({ id: 1, method: 'mcpServer/elicitation/request', params })
    expect(said).toEqual([{ id: 1, result: { action: 'decline', content: null, _meta: null } }])
  })
})

it('asks for permissions beyond the sandbox, for this turn', async () => {
  const { requests, asked, said, answer } = openRequests(initialState({ threadId: 'root', cwd }))
  const permissions = { network: { enabled: true }, fileSystem: null }
  const params = { threadId: 'root', turnId: 't', itemId: 'call', cwd, reason: 'to install', permissions }
  for (const id of [1, 2]) requests.take({ id, method: 'item/permissions/requestApproval', params })
  expect(asked[0]).toMatchObject({ tool: 'request_permissions', input: { network: { enabled: true } } })
  await answer(0, { outcome: 'allowed' })
  await answer(1, { outcome: 'denied' })
  expect(said).toEqual([
    { id: 1, result: { permissions: { network: { enabled: true } }, scope: 'turn' } },
    { id: 2, result: { permissions: {}, scope: 'turn' } },
  ])
})

it('shows the change that a patch would make', () => {
  const change = { path: '/somewhere/a.ts', kind: { type: 'update' }, diff: '@@ -1 +1 @@\n-a\n+b\n' }
  const state = began({ type: 'fileChange', id: 'call', changes: [change], status: 'inProgress' })
  const { requests, asked } = openRequests(state)
  const params = { threadId: 'root', turnId: 't', itemId: 'call' }
  requests.take({ id: 1, method: 'item/fileChange/requestApproval', params })
  expect(asked[0]).toMatchObject({
    tool: 'apply_patch',
    kind: 'edit',
    title: 'Edit a.ts',
    diffs: [{ path: '/somewhere/a.ts', patch: change.diff }],
    input: { paths: ['/somewhere/a.ts'] },
  })
  expect(asked[0]).not.toHaveProperty('outside')
})

it('does not count an unknown patch as a change inside the folder', () => {
  const { requests, asked } = openRequests(withTurn(initialState({ threadId: 'root', cwd })))
  const params = { threadId: 'root', turnId: 't', itemId: 'call' }
  requests.take({ id: 1, method: 'item/fileChange/requestApproval', params })
  expect(asked).toMatchObject([{ tool: 'apply_patch', kind: 'edit', outside: true }])
})

it('refuses requests that it does not answer, and records unknown ones', () => {
  const { requests, said, outputs } = openRequests(initialState({ threadId: 'root' }))
  requests.take({ id: 1, method: 'item/tool/call', params: {} })
  requests.take({ id: 2, method: 'item/dance', params: {} })
  requests.take({ id: 3, method: 'item/tool/requestUserInput', params: null })
  expect(said).toMatchObject([
    { id: 1, refused: expect.stringContaining('never register') },
    { id: 2, refused: expect.stringContaining('item/dance') },
    { id: 3, refused: expect.any(String) },
  ])
  expect(outputs.map(({ type }) => type)).toEqual(['agent.unrecognised', 'agent.unrecognised'])
})

describe('the permission request for a call in the hook', () => {
  const patch = '*** Begin Patch\n*** Delete File: a.txt\n*** Add File: /b.txt\n+b\n*** End Patch'
  const ask = (tool_name: string, tool_input: NativeHookCall['tool_input']) =>
    hookAsk(
      initialState({ threadId: 'root' }),
      { session_id: 'root', tool_name, tool_input, tool_use_id: 'c' },
      cwd,
    )

  it.each([
    ['Bash', { command: 'rm a' }, { tool: 'Bash', kind: 'execute', input: { command: 'rm a' } }],
    ['Bash', { command: 'ls' }, { tool: 'Bash', kind: 'search' }],
    [
      'Bash',
      { command: `apply_patch <<'EOF'\n${patch}\nEOF\n` },
      { tool: 'apply_patch', kind: 'delete', input: { paths: ['/somewhere/a.txt', '/b.txt'] } },
    ],
    ['Bash', { command: `apply_patch <<'EOF'\n${patch}\nEOF\nrm b` }, { tool: 'Bash', kind: 'execute' }],
    ['apply_patch', { command: patch }, { tool: 'apply_patch', kind: 'delete', outside: true }],
    [
      'apply_patch',
      { command: '*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+b\n*** End Patch' },
      { tool: 'apply_patch', kind: 'edit', protected: true },
    ],
    ['mcp__echo__say', { words: 'a' }, { tool: 'mcp__echo__say', kind: 'other', readOnly: false }],
    ['view_image', { path: 'a' }, { tool: 'view_image', kind: 'read', readOnly: true }],
    ['collaborationspawn_agent', {}, { tool: 'spawn_agent', kind: 'think' }],
    ['multi_agent_v1wait_agent', {}, { tool: 'subagents', kind: 'think' }],
    ['something_new', {}, { tool: 'something_new', kind: 'other', readOnly: false }],
  ])('describes the call %s %j', (name, input, expected) => {
    expect(ask(name, input)).toMatchObject(expected)
  })
})
