import { describe, expect, it, vi } from 'vitest'
import { editorUnderTest, everything } from './editor-under-test.ts'
import { aSession, heldBack, otherClient } from './face-under-test.ts'

describe('an editor that sends invalid input', () => {
  it('is refused before it sends initialize', async () => {
    const { editor, world } = await otherClient()
    await expect(
      editor.agent.request('session/new', { cwd: world.cwd, mcpServers: [] }),
    ).rejects.toMatchObject({ code: expect.any(Number) })
  })

  it('is answered with errors and can continue', async () => {
    const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const { editor, type, play, sessionId } = await aSession()
    const ask = (method: string, params: unknown) => editor.agent.request<unknown>(method, params)
    await type('this is no JSON\n[1, 2]\n"a text"\n{"jsonrpc":"2.0"}\n\n')
    await expect(ask('session/prompt', {})).rejects.toMatchObject({ code: -32_602 })
    await expect(ask('session/prompt', { sessionId, prompt: 'words' })).rejects.toMatchObject({
      code: -32_602,
    })
    await expect(ask('session/prompt', { sessionId, prompt: [] })).rejects.toMatchObject({
      code: -32_602,
      data: { code: 'validation_error' },
    })
    await expect(ask('session/prompt', { sessionId: 'ses_none', prompt: [] })).rejects.toMatchObject({
      code: -32_002,
      data: { sessionId: 'ses_none' },
    })
    await expect(ask('session/new', { cwd: '.' })).rejects.toMatchObject({ code: -32_602 })
    await expect(ask('session/fly', {})).rejects.toMatchObject({ code: -32_601 })
    await expect(ask('_session/steering', { sessionId })).rejects.toMatchObject({ code: -32_602 })
    await editor.agent.notify('session/cancel', { sessionId: 'ses_none' })
    await editor.agent.notify('session/fly', {})
    expect(await play({ type: 'text', text: 'Still here.' })).toMatchObject({ stopReason: 'end_turn' })
    errors.mockRestore()
  })

  it('gets an error for audio, a broken image or an invalid MCP server', async () => {
    const { editor, sessionId, world } = await aSession()
    const prompt = (...blocks: object[]) =>
      editor.agent.request<unknown>('session/prompt', { sessionId, prompt: blocks })
    await expect(prompt({ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' })).rejects.toMatchObject({
      data: { code: 'not_supported' },
    })
    await expect(prompt({ type: 'image', data: '?!', mimeType: 'image/png' })).rejects.toMatchObject({
      data: { code: 'validation_error' },
    })
    const server = { name: 'same', command: 'true', args: [], env: [] }
    await expect(
      editor.agent.request('session/new', { cwd: world.cwd, mcpServers: [server, server] }),
    ).rejects.toMatchObject({ data: { code: 'validation_error' } })
    await expect(
      editor.agent.request('session/new', { cwd: world.cwd, mcpServers: [server] }),
    ).rejects.toMatchObject({ data: { code: 'not_supported', capability: 'mcp' } })
  })
})

describe('an editor that does not read', () => {
  it('does not block the session, and gets all updates once it reads again', async () => {
    const { line, world, delivery } = await heldBack()
    const editor = editorUnderTest(line)
    await editor.introduce(everything)
    const { sessionId } = await editor.agent.request('session/new', { cwd: world.cwd, mcpServers: [] })
    await editor.until(() => editor.updates('available_commands_update')[0])
    delivery.hold()
    const script = [{ type: 'flood', deltas: 20_000, size: 12 }]
    const turn = editor.agent.request('session/prompt', {
      sessionId,
      prompt: [{ type: 'text', text: JSON.stringify(script) }],
    })
    await vi.waitFor(async () => expect((await world.host.state(sessionId)).turns).toBe(1), 60_000)
    expect(editor.text().length).toBeLessThan(120_000)
    delivery.release()
    expect(await turn).toMatchObject({ stopReason: 'end_turn' })
    expect(editor.text()).toHaveLength(240_000)
    editor.leave()
  })
})

describe('an editor that disconnects', () => {
  it('ends the face but not the turn', async () => {
    const { editor, play, world, sessionId, closed, hangUp } = await aSession()
    const turn = play({ type: 'text', text: 'First.' }, { type: 'wait', gate: 'go' })
    turn.catch(() => undefined)
    await editor.until(() => editor.text() === 'First.')
    await hangUp()
    await closed
    world.gates.open('go')
    const outcome = async () => (await world.host.state(sessionId)).lastTurn?.outcome
    await expect.poll(outcome).toBe('completed')
    expect(world.problems).toEqual([])
  })
})
