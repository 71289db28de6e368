import { outputsOf } from '@parley/adapter-kit/testing'
import { describe, expect, it } from 'vitest'
import { allOutputs, readFixture } from './fixtures-under-test.ts'
import { callAgain, initialState, type Translation, translate, withTurn } from './translate.ts'

describe('a turn', () => {
  it('ends with its stop reason, tokens, cost and result', () => {
    const outputs = allOutputs('two-turns')
    expect(outputsOf(outputs, 'turn.ended')).toEqual([
      {
        type: 'turn.ended',
        outcome: 'completed',
        stopReason: 'end_turn',
        usage: { input: 100, output: 20 },
        costUsd: expect.closeTo(0.0006),
        result: 'The first answer.',
        steps: 1,
        modelMs: 0,
      },
      {
        type: 'turn.ended',
        outcome: 'completed',
        stopReason: 'end_turn',
        usage: { input: 100, output: 20 },
        costUsd: expect.closeTo(0.0006),
        result: 'The second answer.',
        steps: 1,
        modelMs: 0,
      },
    ])
    expect(outputsOf(outputs, 'usage.measured').at(-1)).toEqual({
      type: 'usage.measured',
      context: { used: 120, window: 200_000, maxOutput: 32_000 },
      total: { input: 200, output: 40 },
      costUsd: expect.closeTo(0.0012),
    })
  })

  it.each(['tool-allowed', 'subagent'])(
    'counts its usage while it runs, and never more than its end reports: %s',
    (name) => {
      const outputs = allOutputs(name)
      const end = outputs.findIndex(({ type }) => type === 'turn.ended')
      const totals = outputsOf(outputs.slice(0, end), 'usage.measured').map(({ total }) => total)
      const last = totals.at(-1)
      expect(totals.length).toBeGreaterThan(2)
      expect(totals[0]?.input).toBeGreaterThan(0)
      expect(totals.at(-2)).toEqual(last)
      for (const [index, { input, output }] of totals.entries()) {
        expect(input).toBeGreaterThanOrEqual(totals[index - 1]?.input ?? 0)
        expect(output).toBeGreaterThanOrEqual(totals[index - 1]?.output ?? 0)
      }
    },
  )

  it('reports the connection once, though every turn repeats it', () => {
    const connected = outputsOf(allOutputs('two-turns'), 'agent.connected')
    expect(connected).toHaveLength(1)
    expect(connected[0]).toMatchObject({
      agentSessionId: expect.stringMatching(/^0{8}-/),
      model: 'claude-sonnet-4-5',
      cwd: '/somewhere/project',
      agentVersion: expect.stringMatching(/^2\./),
      tools: expect.arrayContaining(['Bash', 'Edit']),
      commands: expect.arrayContaining([{ name: 'compact' }]),
    })
  })

  it('reports the cost of a turn after a resume, and continues the totals', () => {
    const lines = readFixture('resume')
    const second = lines.findLastIndex(
      ({ type, state }) => type === 'command_lifecycle' && state === 'queued',
    )
    let state = withTurn(initialState({ resumed: true }), String(lines[second]?.command_uuid))
    const outputs = lines.slice(second).flatMap((message) => {
      const next = translate(state, message)
      state = next.state
      return next.outputs
    })
    expect(outputsOf(outputs, 'turn.ended')[0]?.costUsd).toBeCloseTo(0.0006)
    expect(outputsOf(outputs, 'usage.measured')).toEqual([
      expect.objectContaining({ total: { input: 200, output: 40 }, costUsd: expect.closeTo(0.0012) }),
    ])
  })

  it('returns its structured output', () => {
    const [end] = outputsOf(allOutputs('structured-output'), 'turn.ended')
    expect(end).toMatchObject({ outcome: 'completed', structuredOutput: { answer: 42 } })
  })

  it('fails with the reason', () => {
    const [, failed] = outputsOf(allOutputs('error-500'), 'turn.ended')
    expect(failed).toMatchObject({
      outcome: 'failed',
      stopReason: 'api_error',
      error: { code: 'agent_failed', message: expect.stringContaining('500'), details: { status: 500 } },
    })
    expect(outputsOf(allOutputs('error-in-stream'), 'turn.ended')[0]?.error?.code).toBe('busy')
    expect(outputsOf(allOutputs('max-turns'), 'turn.ended')[0]).toMatchObject({
      stopReason: 'max_turns',
      error: { details: { subtype: 'error_max_turns' } },
    })
    expect(outputsOf(allOutputs('resume-unknown'), 'turn.ended')[0]?.error?.message).toMatch(
      /No conversation found/,
    )
  })

  it('stays open when a call is deferred, and the call continues under a new id', () => {
    const lines = readFixture('deferred')
    const first = lines.findIndex(({ type }) => type === 'result')
    const parked = (lines[first] as unknown as { deferred_tool_use: { id: string } }).deferred_tool_use
    const toResult = lines.slice(0, first + 1).reduce<Translation>(
      ({ state, outputs }, message) => {
        const next = translate(state, message)
        return { state: next.state, outputs: [...outputs, ...next.outputs] }
      },
      { state: withTurn(initialState()), outputs: [] },
    )
    expect(outputsOf(toResult.outputs, 'turn.ended')).toEqual([])
    const again = callAgain(withTurn(initialState({ resumed: true })), {
      nativeId: parked.id,
      toolCallId: 'again',
      name: 'Bash',
      input: { command: 'echo ran > ran.txt' },
    })
    let state = again.state
    const outputs = lines.slice(first + 1).flatMap((message) => {
      const next = translate(state, message)
      state = next.state
      return next.outputs
    })
    expect(again.outputs).toMatchObject([{ type: 'tool-call.called', toolCallId: 'again', kind: 'execute' }])
    expect(outputsOf(outputs, 'tool-call.ended')).toMatchObject([
      { toolCallId: 'again', outcome: 'completed' },
    ])
    expect(outputsOf(outputs, 'text.written')).toMatchObject([{ text: 'It ran after the restart.' }])
    expect(outputsOf(outputs, 'turn.ended')).toMatchObject([{ outcome: 'completed' }])
  })
})

describe('a tool call', () => {
  it('has a description, and ends with its output', () => {
    const outputs = allOutputs('tool-allowed')
    expect(outputsOf(outputs, 'tool-call.called')).toMatchObject([
      { name: 'Bash', kind: 'execute', title: 'printf "one\\ntwo\\n"' },
    ])
    expect(outputsOf(outputs, 'tool-call.ended')).toMatchObject([
      { outcome: 'completed', content: [{ type: 'terminal', output: 'one\ntwo' }] },
    ])
  })

  it('ends as denied, failed or cancelled, as the agent reports', () => {
    const ends = (name: string) => outputsOf(allOutputs(name), 'tool-call.ended')
    expect(ends('tool-denied')).toMatchObject([
      { outcome: 'denied', content: [{ type: 'text', text: 'Not today.' }] },
    ])
    expect(ends('tool-denied-by-rule')).toMatchObject([{ outcome: 'denied' }])
    expect(ends('plan-rejected')).toMatchObject([{ outcome: 'denied' }])
    expect(ends('tool-failed')).toMatchObject([
      { outcome: 'failed', content: [{ type: 'terminal', output: 'out\nwrong', exitCode: 3 }] },
    ])
    expect(ends('interrupt-tool')).toMatchObject([{ outcome: 'cancelled' }])
    expect(ends('interrupt-permission')).toMatchObject([{ outcome: 'cancelled' }])
    expect(ends('mcp-tool')).toMatchObject([
      { outcome: 'completed', content: [{ type: 'text', text: '2 and 3 make 5' }] },
      { outcome: 'failed' },
    ])
  })

  it('shows the change of a file', () => {
    const outputs = allOutputs('edit')
    expect(outputsOf(outputs, 'tool-call.called')).toMatchObject([
      { kind: 'read', title: 'Read poem.txt', locations: [{ path: '/somewhere/project/poem.txt' }] },
      { kind: 'edit', title: 'Edit poem.txt' },
      { kind: 'edit', title: 'Write new.txt' },
      { kind: 'edit', title: 'Edit poem.txt' },
    ])
    const [, edited, created, failed] = outputsOf(outputs, 'tool-call.ended')
    expect(edited?.content).toEqual([
      {
        type: 'diff',
        path: '/somewhere/project/poem.txt',
        patch: '@@ -1,3 +1,3 @@\n roses are red\n-violets are blue\n+violets are violet\n sugar is sweet',
      },
    ])
    expect(created?.content).toEqual([
      { type: 'diff', path: '/somewhere/project/new.txt', before: null, after: 'a new file\n' },
    ])
    expect(failed).toMatchObject({
      outcome: 'failed',
      content: [{ type: 'text', text: expect.stringMatching(/^String to replace not found/) }],
    })
  })

  it('returns images', () => {
    const [end] = outputsOf(allOutputs('read-image'), 'tool-call.ended')
    expect(end?.content).toEqual([
      { type: 'image', mimeType: 'image/png', data: expect.stringMatching(/^iVBOR/) },
    ])
  })

  it('that runs in parallel with another keeps its own result', () => {
    const ends = outputsOf(allOutputs('parallel-tools'), 'tool-call.ended')
    expect(ends.map(({ content }) => content)).toEqual([
      [{ type: 'terminal', output: 'one' }],
      [{ type: 'terminal', output: 'two' }],
    ])
  })
})

describe('a subagent', () => {
  it('has its call as the parent of all its outputs', () => {
    const outputs = allOutputs('subagent')
    const [agent, read] = outputsOf(outputs, 'tool-call.called')
    expect(agent).toMatchObject({ name: 'Agent', kind: 'subagent', title: 'Count stars' })
    expect(read).toMatchObject({ name: 'Read', parentToolCallId: agent?.toolCallId })
    const inside = outputsOf(outputs, 'text.written').filter(({ parentToolCallId }) => parentToolCallId)
    expect(inside.map(({ text }) => text)).toEqual(['I look at it.', 'There are three stars.'])
    const tasks = outputsOf(outputs, 'task.updated')
    expect(tasks.map(({ status, background }) => [status, background])).toEqual([
      ['running', false],
      ['completed', false],
      ['completed', false],
    ])
    expect(tasks.at(-1)).toMatchObject({
      toolCallId: agent?.toolCallId,
      title: 'Count stars',
      summary: 'There are three stars.',
    })
  })

  it('in the background writes after its turn, and the agent reports in a turn of its own', () => {
    const outputs = allOutputs('subagent-background')
    const [task] = outputsOf(outputs, 'task.updated')
    const late = outputsOf(outputs, 'text.written').slice(-2)
    expect(late).toMatchObject([
      { text: 'There are three stars.', parentToolCallId: task?.toolCallId },
      { text: 'The subagent found three stars.' },
    ])
    expect(outputsOf(outputs, 'turn.started')).toEqual([
      { type: 'turn.started', cause: { by: 'agent', taskId: task?.taskId, title: 'Count stars' } },
    ])
    expect(outputsOf(outputs, 'turn.ended')).toHaveLength(2)
    expect(outputsOf(outputs, 'task.updated').at(-1)).toMatchObject({ status: 'completed', background: true })
  })
})

describe('outputs that are not part of the conversation', () => {
  it('include the plan after each call of a plan tool', () => {
    expect(outputsOf(allOutputs('task-tools'), 'plan.updated').at(-1)?.entries).toEqual([
      { id: '1', text: 'Look', status: 'completed' },
      { id: '2', text: 'Leap', status: 'pending' },
    ])
    expect(outputsOf(allOutputs('todos'), 'plan.updated').at(-1)?.entries).toEqual([
      { text: 'Look', status: 'in-progress' },
      { text: 'Leap', status: 'pending' },
    ])
  })

  it('include a compaction with its summary', () => {
    const outputs = allOutputs('compact')
    expect(outputsOf(outputs, 'context.compacted')).toEqual([
      {
        type: 'context.compacted',
        trigger: 'manual',
        before: 120,
        after: expect.any(Number),
        summary: expect.stringContaining('They spoke of nothing much.'),
      },
    ])
    expect(outputsOf(outputs, 'activity.changed')[0]?.detail).toMatch(/Compacting/)
  })

  it('include a cleared conversation, under the id that can be resumed', () => {
    const outputs = allOutputs('clear')
    const ids = outputsOf(outputs, 'agent.connected').map(({ agentSessionId }) => agentSessionId)
    const inits = readFixture('clear').filter(({ subtype }) => subtype === 'init')
    expect(ids).toEqual([inits[0]?.session_id, inits[1]?.session_id])
    expect(outputsOf(outputs, 'agent.noticed')).toMatchObject([{ code: 'conversation-reset' }])
  })

  it('include a retry, and the retraction of the output that it replaces', () => {
    const cut = allOutputs('stream-cut')
    const [lost] = outputsOf(cut, 'text.streamed')
    expect(outputsOf(cut, 'block.retracted')).toMatchObject([{ blockId: lost?.blockId }])
    const [retry] = outputsOf(allOutputs('error-500'), 'agent.noticed')
    expect(retry).toMatchObject({ level: 'warning', code: 'api-retry', data: { attempt: 1, status: 500 } })
    expect(outputsOf(allOutputs('error-429'), 'agent.noticed')).toMatchObject([{ code: 'rate-limited' }])
  })

  it('include the effective mode, with the read-only mode that the host enforces', () => {
    const modes = (name: string, requestedMode: 'ask' | 'read-only') =>
      outputsOf(allOutputs(name, { requestedMode }), 'session.configured').map(
        ({ effective }) => effective?.mode,
      )
    expect(modes('mode-changed', 'ask')).toEqual(['ask', 'accept-edits'])
    expect(modes('text', 'read-only')).toEqual(['read-only'])
    expect(modes('plan', 'ask')).toEqual(['plan', 'ask'])
  })

  it('include the output of hooks', () => {
    const said = outputsOf(allOutputs('hook'), 'agent.noticed')
    expect(said).toMatchObject([
      { level: 'info', code: 'hook', text: 'a command has run' },
      { level: 'info', code: 'informational', text: expect.stringContaining('a word for you') },
      { level: 'warning', code: 'hook', text: 'no', data: { exitCode: 1 } },
    ])
  })
})
