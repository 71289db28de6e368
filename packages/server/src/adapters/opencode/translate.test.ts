import type { AgentOutput } from '@parley/adapter-kit'
import { outputsOf } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { describeCall } from './describe-call.ts'
import { allOutputs, beginning, readFixture, step } from './fixtures-under-test.ts'
import { translate } from './translate.ts'
import { initialState, type TranslateState, withSteering, withTurn } from './translate-state.ts'

const one = <Type extends AgentOutput['type']>(name: string, type: Type) => outputsOf(allOutputs(name), type)

it('streams the output of a command while it runs', () => {
  expect(one('tool-allowed', 'tool-call.output-streamed').map(({ text }) => text)).toEqual(['one\n', 'two\n'])
  expect(one('tool-allowed', 'tool-call.ended')).toMatchObject([
    { outcome: 'completed', content: [{ type: 'terminal', output: 'one\ntwo\n', exitCode: 0 }] },
  ])
})

it('reports the outcome of calls', () => {
  const outcomes = (name: string) => one(name, 'tool-call.ended').map(({ outcome }) => outcome)
  expect(outcomes('tool-failed')).toEqual(['failed'])
  expect(outcomes('tool-denied')).toEqual(['denied'])
  expect(outcomes('tool-denied-with-others')).toEqual(['denied', 'denied'])
  expect(outcomes('interrupt-tool')).toEqual(['cancelled'])
  expect(outcomes('interrupt-permission')).toEqual(['cancelled'])
  expect(outcomes('tool-unknown')).toEqual(['completed', 'failed'])
})

it('reports texts before the call that they precede, though OpenCode ends them later', () => {
  const order = allOutputs('tool-allowed').flatMap(({ type }) =>
    type === 'text.written' || type === 'tool-call.called' ? [type] : [],
  )
  expect(order).toEqual(['text.written', 'tool-call.called', 'text.written'])
})

it('loses no part of a text that continues after a call', () => {
  const lines = readFixture('tool-allowed')
  const grown = lines.map((line) => {
    const { part } = (line.properties ?? {}) as {
      part?: { type: string; text?: string; time?: { end?: number } }
    }
    if (part?.type !== 'text' || part.time?.end === undefined) return line
    return {
      ...line,
      properties: { ...(line.properties as object), part: { ...part, text: `${part.text} And more.` } },
    }
  })
  let state = beginning(grown)
  const outputs: AgentOutput[] = []
  for (const line of grown) {
    const next = step(state, line)
    state = next.state
    outputs.push(...next.outputs)
  }
  const texts = outputsOf(outputs, 'text.written').map(({ text }) => text)
  const before = one('tool-allowed', 'text.written').map(({ text }) => text)
  expect(texts).toEqual([before[0], ' And more.', `${before[1]} And more.`])
})

it('describes calls', () => {
  const [first, second] = one('parallel-tools', 'tool-call.called')
  expect(first).toMatchObject({ name: 'bash', kind: 'execute', title: 'echo a' })
  expect(first?.toolCallId).not.toBe(second?.toolCallId)
  expect(one('mcp-tool', 'tool-call.called')).toMatchObject([
    { name: 'echo_say', kind: 'other', title: 'echo: say', input: { words: 'parsley' } },
  ])
  const edits = one('edit', 'tool-call.called').filter(({ kind }) => kind === 'edit')
  expect(edits.map(({ title }) => title)).toEqual(['Edit poem.txt', 'Write new.txt', 'Write old.txt'])
})

it.each([
  ['*** Add File: a.ts\n+x\n*** Update File: b.ts\n@@', 'edit', 'Change a.ts, b.ts', ['a.ts', 'b.ts']],
  [
    '*** Update File: b.ts\n@@\n*** Delete File: a.ts',
    'delete',
    'Delete a.ts; change b.ts',
    ['b.ts', 'a.ts'],
  ],
  ['*** Update File: a.ts\n*** Move to: ../b.ts\n@@', 'move', 'Move a.ts to ../b.ts', ['a.ts', '../b.ts']],
] as const)('describes the changes of a patch: %j', (patch, kind, title, paths) => {
  const patchText = `*** Begin Patch\n${patch}\n*** End Patch`
  const locations = paths.map((path) => ({ path }))
  expect(describeCall('apply_patch', { patchText })).toEqual({ kind, title, locations })
})

it('shows changes of files as diffs, even for a file that was overwritten', () => {
  const contents = one('edit', 'tool-call.ended').flatMap(({ content }) => content)
  const diffs = contents.filter((content) => content.type === 'diff')
  expect(diffs.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toMatchObject([
    { path: '/somewhere/project/new.txt', before: null, after: 'violets\n' },
    { path: '/somewhere/project/old.txt', patch: expect.stringContaining('+new') },
    { path: '/somewhere/project/poem.txt', patch: expect.stringContaining('+roses are blue') },
  ])
})

it('returns an image that a tool read as an image', () => {
  const [ended] = one('read-image', 'tool-call.ended')
  expect(ended?.content.at(-1)).toMatchObject({ type: 'image', mimeType: 'image/png' })
})

it('puts the outputs of a subagent under its call', () => {
  const [task, inner] = one('subagent', 'tool-call.called')
  expect(task).toMatchObject({ kind: 'subagent', title: 'count stars' })
  expect(inner).toMatchObject({ name: 'bash', parentToolCallId: task?.toolCallId })
  const texts = one('subagent', 'text.written').map(({ text, parentToolCallId }) => [text, parentToolCallId])
  expect(texts).toEqual([
    ['I ask a subagent.', undefined],
    ['I look at it.', task?.toolCallId],
    ['There are three stars.', task?.toolCallId],
    ['Three, it says.', undefined],
  ])
  expect(one('subagent', 'tool-call.ended').at(-1)?.content).toEqual([
    { type: 'text', text: 'There are three stars.' },
  ])
  const [started] = one('command-subtask', 'tool-call.called')
  expect(one('command-subtask', 'text.written')[0]?.parentToolCallId).toBe(started?.toolCallId)
})

it('reports each change of the plan once', () => {
  expect(one('todos', 'plan.updated').map(({ entries }) => entries.map(({ status }) => status))).toEqual([
    ['in-progress', 'pending'],
    ['completed', 'pending'],
  ])
})

it('counts tokens, and the size of the context', () => {
  const [turn] = one('subagent', 'turn.ended')
  expect(turn).toMatchObject({ usage: { input: 400, output: 80 } })
  expect(turn?.costUsd).toBeCloseTo(0.00056)
  expect(one('subagent', 'usage.measured').at(-1)).toMatchObject({
    context: { used: 120 },
    total: { input: 400, output: 80 },
  })
})

it('reports a compaction with its summary, and not as a text of the agent', () => {
  expect(one('compact', 'context.compacted')).toEqual([
    { type: 'context.compacted', trigger: 'manual', before: 120, summary: 'A summary.' },
  ])
  expect(one('compact-auto', 'context.compacted')).toMatchObject([{ trigger: 'auto', before: 99_050 }])
})

it('retracts the output of an attempt that broke off', () => {
  const outputs = allOutputs('stream-broken')
  const [retracted] = outputsOf(outputs, 'block.retracted')
  expect(outputsOf(outputs, 'text.streamed')[0]?.blockId).toBe(retracted?.blockId)
  expect(outputsOf(outputs, 'agent.noticed')).toMatchObject([{ level: 'warning', code: 'api-retry' }])
})

it.each([
  ['error-400', 'agent_failed', 'That is no request.'],
  ['error-401', 'agent_not_signed_in', 'Who are you? Check the key'],
  ['model-unknown', 'agent_failed', 'Model not found: mock/nobody.'],
])('ends %s with the code %s and the message of the error', (name, code, words) => {
  const [ended] = one(name, 'turn.ended')
  expect(ended).toMatchObject({ outcome: 'failed', error: { code } })
  expect(ended?.error?.message).toContain(words)
  expect(one(name, 'agent.noticed')).toEqual([])
})

it('returns structured output', () => {
  expect(one('structured-output', 'turn.ended')).toMatchObject([{ structuredOutput: { count: 2 } }])
})

it('reports the model, and a title that OpenCode set', () => {
  expect(one('effort', 'session.configured')).toEqual([
    { type: 'session.configured', effective: { model: 'mock/m2' } },
  ])
  expect(one('title', 'session.renamed').at(-1)).toMatchObject({ title: 'A fine title', by: 'agent' })
})

const busy = (state: TranslateState, type: 'busy' | 'idle') =>
  translate(state, { type: 'session.status', properties: { sessionID: 'ses_1', status: { type } } })
const message = (info: object) => ({
  type: 'message.updated',
  properties: { sessionID: 'ses_1', info: { sessionID: 'ses_1', ...info } },
})

it('does not treat the end of other work as the end of a turn', () => {
  const state = withTurn(initialState({ root: 'ses_1' }), 1)
  const { outputs } = busy(state, 'idle')
  expect(outputs).toEqual([])
})

it('waits for the last message of a turn before it ends the turn', () => {
  let { state } = busy(withTurn(initialState({ root: 'ses_1' }), 1), 'busy')
  const answer = { id: 'msg_2', role: 'assistant', parentID: 'msg_1', providerID: 'p', modelID: 'm' }
  state = translate(state, message({ ...answer, time: { created: 2 } })).state
  expect(busy(state, 'idle').outputs).toEqual([])
  state = translate(state, message({ ...answer, time: { created: 2, completed: 3 }, finish: 'stop' })).state
  expect(busy(state, 'idle').outputs).toMatchObject([{ type: 'turn.ended', outcome: 'completed' }])
})

it('marks a steered prompt that came too late, so that it is sent again', () => {
  const answer = { role: 'assistant', providerID: 'p', modelID: 'm', time: { created: 2, completed: 3 } }
  let { state } = busy(withTurn(initialState({ root: 'ses_1' }), 1), 'busy')
  state = translate(state, message({ id: 'msg_2', ...answer })).state
  state = withSteering(state, 'msg_s')
  expect(busy(state, 'idle').outputs).toEqual([])
  state = translate(state, message({ id: 'msg_s', role: 'user', time: { created: 4 } })).state
  const idle = busy(state, 'idle')
  expect(idle.outputs).toEqual([])
  expect(idle.state.turn?.orphan).toBe('msg_s')
  state = busy(idle.state, 'busy').state
  state = translate(state, message({ id: 'msg_3', ...answer })).state
  expect(busy(state, 'idle').outputs).toMatchObject([{ type: 'turn.ended', outcome: 'completed' }])
})

it('translates OpenCode’s work outside a turn of the host in the same way', () => {
  const lines = readFixture('tool-allowed').filter(({ type }) => type !== 'parley.turn')
  const outputs: AgentOutput[] = []
  let state = beginning(lines)
  for (const line of lines) {
    const next = step(state, line)
    state = next.state
    outputs.push(...next.outputs)
  }
  expect(outputsOf(outputs, 'text.written')).toHaveLength(2)
  expect(outputsOf(outputs, 'tool-call.called')).toHaveLength(1)
  expect(outputsOf(outputs, 'tool-call.ended')).toHaveLength(1)
  expect(outputsOf(outputs, 'turn.ended')).toEqual([])
})
