import type { AgentAdapter } from '@parley/adapter-kit'
import { describe, expect, it, vi } from 'vitest'
import { aSession, otherClient } from './face-under-test.ts'

describe('initialize', () => {
  it('announces the capabilities of the agent', async () => {
    const { editor } = await otherClient()
    expect(await editor.introduce()).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: 'parley', title: 'Scripted (Parley)' },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: false, sse: false },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, fork: {} },
      },
      authMethods: [],
    })
  })

  it('is refused for an agent that does not exist, with a hint', async () => {
    const { editor } = await otherClient({ agent: 'nobody' })
    await expect(editor.introduce()).rejects.toMatchObject({
      code: -32_602,
      data: { code: 'agent_not_found' },
    })
  })
})

describe('signing in', () => {
  it('is required when a session is created, and checked again on request', async () => {
    const probe = { found: true, signedIn: false, hint: 'Run: scripted login' }
    const host = { adapter: (scripted: AgentAdapter) => ({ ...scripted, probe: async () => ({ ...probe }) }) }
    const { editor, world } = await otherClient({ host })
    const { authMethods } = await editor.introduce()
    expect(authMethods).toMatchObject([{ id: 'program', description: 'Run: scripted login' }])
    const create = () => editor.agent.request('session/new', { cwd: world.cwd, mcpServers: [] })
    const signIn = (methodId: string) => editor.agent.request('authenticate', { methodId })
    const refusal = { code: -32_000, message: expect.stringContaining('scripted login') }
    await expect(create()).rejects.toMatchObject(refusal)
    await expect(signIn('program')).rejects.toMatchObject(refusal)
    await expect(signIn('magic')).rejects.toMatchObject({ code: -32_602 })
    probe.signedIn = true
    expect(await signIn('program')).toEqual({})
    expect(await create()).toMatchObject({ sessionId: expect.any(String) })
  })

  it('is refused with a hint when the agent is not installed', async () => {
    const probe = async () => ({ found: false, hint: 'Install it.' })
    const host = { adapter: (scripted: AgentAdapter) => ({ ...scripted, probe }) }
    const { editor, world } = await otherClient({ host })
    await editor.introduce()
    await expect(
      editor.agent.request('session/new', { cwd: world.cwd, mcpServers: [] }),
    ).rejects.toMatchObject({
      message: 'Scripted was not found. Install it.',
      data: { code: 'agent_not_found' },
    })
  })
})

describe('a turn', () => {
  it('is sent live, and ends with its stop reason and its tokens', async () => {
    const { editor, play } = await aSession()
    const response = await play(
      { type: 'thinking', text: 'Let me see.' },
      { type: 'text', text: 'Here it is, in many pieces.', pieces: 5 },
      { type: 'end', usage: { input: 10, output: 4, cacheRead: 2 } },
    )
    expect(response).toMatchObject({
      stopReason: 'end_turn',
      usage: { inputTokens: 10, outputTokens: 4, cachedReadTokens: 2, totalTokens: 16 },
    })
    expect(editor.text()).toBe('Here it is, in many pieces.')
    expect(editor.updates('agent_message_chunk').length).toBeGreaterThan(1)
    const thoughts = editor
      .updates('agent_thought_chunk')
      .map(({ content }) => (content as { text: string }).text)
    expect(thoughts.join('')).toBe('Let me see.')
    expect(editor.updates('user_message_chunk')).toEqual([])
  })

  it('sends calls with kind, location, input, diff and command output', async () => {
    const { editor, play, world } = await aSession()
    await play(
      {
        type: 'tool',
        name: 'Edit',
        kind: 'edit',
        title: 'a.ts',
        input: { path: 'a.ts' },
        locations: [{ path: 'a.ts', line: 3 }],
        content: [{ type: 'diff', path: 'a.ts', before: 'one\n', after: 'two\n' }],
      },
      {
        type: 'tool',
        name: 'Bash',
        kind: 'execute',
        title: 'npm test',
        input: { command: 'npm test' },
        output: ['1 failed\n'],
        outcome: 'failed',
        content: [{ type: 'terminal', output: '1 failed\n', exitCode: 1 }],
      },
    )
    const path = `${world.cwd}/a.ts`
    const calls = editor.updates('tool_call')
    const ends = editor
      .updates('tool_call_update')
      .filter(({ status }) => status !== 'in_progress' && status !== 'pending')
    expect(calls.map(({ name, kind }) => ({ name, kind }))).toEqual([
      { name: 'Edit', kind: 'edit' },
      { name: 'Bash', kind: 'execute' },
    ])
    const called = editor.received.find(({ update }) => 'rawInput' in update)?.update
    expect(called).toMatchObject({
      title: 'a.ts',
      rawInput: { path: 'a.ts' },
      locations: [{ path, line: 3 }],
    })
    expect(ends[0]).toMatchObject({
      status: 'completed',
      content: [{ type: 'diff', path, oldText: 'one\n', newText: 'two\n' }],
    })
    expect(ends.at(-1)).toMatchObject({
      status: 'failed',
      content: [
        { type: 'content', content: { type: 'text', text: '```console\n1 failed\n```' } },
        { type: 'content', content: { type: 'text', text: 'Exit code: 1' } },
      ],
      rawOutput: { output: '1 failed\n', exitCode: 1 },
    })
  })

  it('sends plan, usage, title, commands, notices and compaction', async () => {
    const { editor, play } = await aSession()
    await play(
      {
        type: 'plan',
        entries: [
          { text: 'One', status: 'in-progress' },
          { text: 'Two', status: 'cancelled' },
        ],
      },
      { type: 'usage', context: { used: 50, window: 200 }, total: { input: 1, output: 1 }, costUsd: 0.5 },
      { type: 'rename', title: 'A title' },
      { type: 'notice', level: 'warning', code: 'busy', text: 'Trying again.' },
      { type: 'compaction', before: 10, after: 2, summary: 'Short.' },
    )
    expect(editor.updates('plan').at(-1)?.entries).toEqual([
      { content: 'One', priority: 'medium', status: 'in_progress' },
    ])
    expect(editor.updates('usage_update').at(-1)).toMatchObject({
      used: 50,
      size: 200,
      cost: { amount: 0.5 },
    })
    expect(editor.updates('session_info_update').at(-1)).toMatchObject({ title: 'A title' })
    expect(editor.updates('available_commands_update').at(-1)?.availableCommands).toMatchObject([
      { name: 'compact', description: 'Shorten the conversation' },
    ])
    expect(editor.updates('notice')).toMatchObject([{ severity: 'warning', title: 'Trying again.' }])
    expect(editor.updates('compaction_update')).toMatchObject([
      { status: 'completed', summary: [{ type: 'text', text: 'Short.' }] },
    ])
  })

  it('sends notices as thoughts to an editor without notices', async () => {
    const { editor, play } = await aSession({ capabilities: {} })
    await play({ type: 'notice', level: 'warning', code: 'busy', text: 'Trying again.' })
    expect(editor.updates('notice')).toEqual([])
    expect(JSON.stringify(editor.updates('agent_thought_chunk'))).toContain('Trying again.')
  })

  it('that fails is answered with an error and its code', async () => {
    const { play } = await aSession()
    const error = { code: 'rate_limited', message: 'Too much. Wait an hour.' }
    await expect(play({ type: 'end', outcome: 'failed', error })).rejects.toMatchObject({
      message: 'Too much. Wait an hour.',
      data: { code: 'rate_limited' },
    })
  })

  it('that reached a limit is answered with that limit', async () => {
    const { play } = await aSession()
    const end = { type: 'end', outcome: 'failed', stopReason: 'max_tokens' }
    expect(await play(end)).toMatchObject({ stopReason: 'max_tokens' })
  })

  it('is cancelled by the editor', async () => {
    const { editor, play, sessionId, world } = await aSession()
    const turn = play({ type: 'text', text: 'Waiting.' }, { type: 'hang' })
    await editor.until(() => editor.text().includes('Waiting.'))
    await editor.agent.notify('session/cancel', { sessionId })
    expect(await turn).toMatchObject({ stopReason: 'cancelled' })
    expect((await world.host.state(sessionId)).lastTurn?.outcome).toBe('cancelled')
  })

  it('does not start when the turn before it is cancelled elsewhere; the editor learns how to resume', async () => {
    const { editor, play, world, sessionId } = await aSession()
    const command = (fields: { type: 'turn.cancel' } | { type: 'queue.resume' }) =>
      world.host.command(sessionId, { ...fields, commandId: fields.type })
    const hang = JSON.stringify([{ type: 'hang' }])
    await world.host.command(sessionId, { type: 'prompt.submit', commandId: 'other', text: hang })
    const turn = play({ type: 'text', text: 'At last.' })
    await vi.waitFor(async () => expect((await world.host.state(sessionId)).queue).toHaveLength(1))
    await command({ type: 'turn.cancel' })
    const notice = await editor.until(() => editor.updates('notice')[0])
    expect(JSON.stringify(notice)).toContain(`attach ${sessionId}`)
    expect((await world.host.state(sessionId)).queue).toMatchObject([{ paused: true }])
    await command({ type: 'queue.resume' })
    expect(await turn).toMatchObject({ stopReason: 'end_turn' })
  })

  it('is cancelled when the editor cancels its prompt request', async () => {
    const { editor, sessionId, world } = await aSession()
    const giveUp = new AbortController()
    const script = [{ type: 'text', text: 'Waiting.' }, { type: 'hang' }]
    const turn = editor.agent.request(
      'session/prompt',
      { sessionId, prompt: [{ type: 'text', text: JSON.stringify(script) }] },
      { cancellationSignal: giveUp.signal },
    )
    await editor.until(() => editor.text() === 'Waiting.')
    giveUp.abort()
    expect(await turn.catch((error: unknown) => error)).toBeDefined()
    expect((await world.host.state(sessionId)).lastTurn?.outcome).toBe('cancelled')
  })

  it('is refused while another prompt of the editor is pending; that prompt continues', async () => {
    const { editor, play, world } = await aSession()
    const turn = play({ type: 'text', text: 'First.' }, { type: 'wait', gate: 'go' })
    await editor.until(() => editor.text().includes('First.'))
    await expect(play({ type: 'text', text: 'Second.' })).rejects.toMatchObject({
      code: -32_600,
      data: { code: 'conflict' },
    })
    world.gates.open('go')
    expect(await turn).toMatchObject({ stopReason: 'end_turn' })
  })

  it('accepts a steered prompt', async () => {
    const { editor, play, sessionId, world } = await aSession()
    const steer = () =>
      editor.agent.request('_session/steering', { sessionId, prompt: [{ type: 'text', text: 'Left.' }] })
    expect(await steer()).toEqual({ outcome: 'promptRequired' })
    const turn = play({ type: 'text', text: 'First.' }, { type: 'wait', gate: 'go' })
    await editor.until(() => editor.text().includes('First.'))
    expect(await steer()).toEqual({ outcome: 'steered' })
    world.gates.open('go')
    await turn
    const log = await world.host.read(sessionId, { after: 0, limit: 500 })
    expect(log.events.map(({ json }) => json).join()).toContain('"delivery":"steer"')
    expect(editor.updates('user_message_chunk')).toEqual([])
  })
})
