import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { NewSessionRequest } from '@agentclientprotocol/sdk/unstable'
import { capabilities } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { scriptedCapabilities } from '../../adapters/scripted/index.ts'
import { colour, permission } from '../../core/host-under-test.ts'
import { choosing, type EditorUnderTest, everything } from './editor-under-test.ts'
import { anEditor, aSession, join, logOf } from './face-under-test.ts'

/** The content of the session as the editor shows it, with chunks joined. */
function shown(editor: EditorUnderTest, from = 0): string[] {
  const rows: { key: string; text: string }[] = []
  for (const { update } of editor.received.slice(from)) {
    if (update.sessionUpdate === 'tool_call') rows.push({ key: '', text: `call ${update.title}` })
    if (!/^(user|agent)_\w+_chunk$/.test(update.sessionUpdate)) continue
    const { content, messageId } = update as Extract<typeof update, { sessionUpdate: 'user_message_chunk' }>
    const key = `${update.sessionUpdate} ${messageId}`
    const text = content.type === 'text' ? content.text : content.type
    const last = rows.at(-1)
    if (last?.key === key) last.text += text
    else rows.push({ key, text: `${update.sessionUpdate.replace('_chunk', '')}: ${text}` })
  }
  return rows.map(({ text }) => text)
}

describe('a session that is loaded', () => {
  it('is sent whole and in order before the answer, and then live', async () => {
    const { editor, play, world, sessionId } = await aSession()
    editor.answerPermission = choosing('allow_once')
    const script = [{ type: 'thinking', text: 'Hm.' }, { type: 'text', text: 'One two.' }, permission('a')]
    await play(...script, { type: 'plan', entries: [{ text: 'One', status: 'pending' }] })
    const live = shown(editor)

    const { editor: second } = join(world)
    await second.introduce(everything)
    const loaded = await second.agent.request('session/load', { sessionId, cwd: world.cwd, mcpServers: [] })
    const prompt = shown(second)[0]
    expect(prompt).toContain('user_message: [{"type":"thinking"')
    expect(shown(second).slice(1)).toEqual(live)
    expect(loaded).toMatchObject({ modes: { currentModeId: 'ask' } })
    expect(second.permissions).toEqual([])
    await second.until(() => second.updates('plan').length > 0)

    second.answerPermission = choosing('reject_once')
    const from = second.received.length
    const response = await second.agent.request('session/prompt', {
      sessionId,
      prompt: [{ type: 'text', text: JSON.stringify([{ type: 'text', text: 'More.' }]) }],
    })
    expect(response).toMatchObject({ stopReason: 'end_turn' })
    expect(shown(second, from)).toEqual(['agent_message: More.'])
  })

  it('sends its open request again, and the first answer counts for both editors', async () => {
    const { editor, play, world, sessionId } = await aSession()
    const turn = play(colour)
    await editor.until(() => editor.forms[0])
    const { editor: second } = join(world)
    await second.introduce(everything)
    second.answerForm = () => ({ action: 'accept', content: { colour: 'red' } })
    await second.agent.request('session/load', { sessionId, cwd: world.cwd, mcpServers: [] })
    expect(await turn).toMatchObject({ stopReason: 'end_turn' })
    await editor.until(() => editor.takenBack[0])
    expect(second.forms).toHaveLength(1)
  })

  it('can be loaded again in the same editor without duplicate updates', async () => {
    const { editor, play, world, sessionId } = await aSession()
    await play({ type: 'text', text: 'Once.' })
    const from = editor.received.length
    await editor.agent.request('session/load', { sessionId, cwd: world.cwd, mcpServers: [] })
    const again = editor.received.length
    expect(shown(editor, from)).toHaveLength(2)
    await play({ type: 'text', text: 'Twice.' })
    expect(shown(editor, again)).toEqual(['agent_message: Twice.'])
  })
})

describe('a session that is resumed', () => {
  it('sends only events that are recorded after that', async () => {
    const { editor, play, world, sessionId } = await aSession()
    await play({ type: 'text', text: 'Before.' })
    const { editor: second } = join(world)
    await second.introduce(everything)
    const resumed = await second.agent.request('session/resume', {
      sessionId,
      cwd: world.cwd,
      mcpServers: [],
    })
    expect(resumed.configOptions?.map(({ id }) => id)).toEqual(['mode', 'model', 'effort'])
    await second.until(() => second.updates('available_commands_update')[0])
    expect(shown(second)).toEqual([])
    await play({ type: 'text', text: 'After.' })
    await second.until(() => second.text() === 'After.')
    expect(shown(second)[0]).toContain('user_message: ')
    expect(editor.text()).toBe('Before.After.')
  })

  it('in the middle of a call sends the end of that call', async () => {
    const { editor, play, world, sessionId } = await aSession()
    const turn = play(permission('a', { title: 'a call' }))
    await editor.until(() => editor.permissions[0])
    const { editor: second } = join(world)
    await second.introduce(everything)
    second.answerPermission = choosing('allow_once')
    await second.agent.request('session/resume', { sessionId, cwd: world.cwd, mcpServers: [] })
    await turn
    await second.until(() => second.updates('tool_call_update').some(({ status }) => status === 'completed'))
    expect(second.updates('tool_call')).toMatchObject([{ title: 'a call', status: 'pending' }])
    expect(world.runs('a')).toBe(1)
  })
})

describe('sessions', () => {
  it('are listed by folder, with their titles', async () => {
    const { editor, play, world, sessionId } = await aSession()
    await play({ type: 'rename', title: 'Mine' })
    const { sessions } = await editor.agent.request('session/list', { cwd: world.cwd })
    expect(sessions).toMatchObject([{ sessionId, cwd: world.cwd, title: 'Mine' }])
    expect(sessions[0]?.updatedAt).toMatch(/^\d{4}-\d\d-\d\dT/)
    expect(await editor.agent.request('session/list', { cwd: tmpdir() })).toEqual({ sessions: [] })
    expect((await editor.agent.request('session/list', {})).sessions).toHaveLength(1)
  })

  it('are forked with their conversation', async () => {
    const { editor, play, world, sessionId } = await aSession()
    await play({ type: 'text', text: 'Once.' })
    const copy = await editor.agent.request('session/fork', { sessionId, cwd: world.cwd })
    expect(copy.sessionId).not.toBe(sessionId)
    expect((await world.host.state(copy.sessionId)).forkedFrom?.sessionId).toBe(sessionId)
  })

  it('are closed: the running turn is cancelled, the session is kept', async () => {
    const { editor, play, world, sessionId } = await aSession()
    const turn = play({ type: 'text', text: 'Waiting.' }, { type: 'hang' })
    await editor.until(() => editor.text() !== '')
    const load = { sessionId, cwd: world.cwd, mcpServers: [] }
    await expect(editor.agent.request('session/load', load)).rejects.toMatchObject({
      data: { code: 'conflict' },
    })
    await editor.agent.request('session/close', { sessionId })
    expect(await turn).toMatchObject({ stopReason: 'cancelled' })
    await expect(play({ type: 'text', text: 'x' })).rejects.toMatchObject({
      code: -32_002,
      data: { sessionId },
    })
    expect((await logOf(world, sessionId)).at(-1)).toMatchObject({ type: 'agent.disconnected' })
  })

  it('are deleted when the editor closes them or disconnects, if they were never used', async () => {
    const { editor, play, world, sessionId, closed, hangUp } = await aSession()
    const another = () => editor.agent.request('session/new', { cwd: world.cwd, mcpServers: [] })
    const second = await another()
    await another()
    await play({ type: 'text', text: 'Used.' })
    await editor.agent.request('session/close', { sessionId: second.sessionId })
    expect((await editor.agent.request('session/list', {})).sessions).toHaveLength(2)
    await hangUp()
    await closed
    const { sessions } = await world.host.list({ limit: 10, archived: false })
    expect(sessions.map(({ id }) => id)).toEqual([sessionId])
    expect(world.problems).toEqual([])
  })

  it('are deleted', async () => {
    const { editor, sessionId } = await aSession()
    await editor.agent.request('session/delete', { sessionId })
    expect(await editor.agent.request('session/list', {})).toEqual({ sessions: [] })
  })

  it('fail their pending prompts when they are deleted elsewhere', async () => {
    const { editor, play, world, sessionId } = await aSession()
    const turn = play({ type: 'text', text: 'Waiting.' }, { type: 'hang' })
    const refusal = expect(turn).rejects.toMatchObject({ code: -32_002 })
    await editor.until(() => editor.text() !== '')
    const deleted = world.host.delete(sessionId)
    await refusal
    await expect(play({ type: 'text', text: 'x' })).rejects.toMatchObject({ code: -32_002 })
    world.time.advance(60_000)
    await deleted
  })

  it('of another folder, and unknown ones, are refused with the reason', async () => {
    const { editor, sessionId } = await aSession()
    const cwd = mkdtempSync(joinPath(tmpdir(), 'parley-elsewhere-'))
    const request = { cwd, mcpServers: [] }
    await expect(editor.agent.request('session/load', { sessionId, ...request })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('belongs to the folder'),
    })
    await expect(
      editor.agent.request('session/load', { sessionId: 'ses_none', ...request }),
    ).rejects.toMatchObject({ code: -32_002 })
    await expect(
      editor.agent.request('session/new', { cwd: joinPath(cwd, 'gone'), mcpServers: [] }),
    ).rejects.toMatchObject({ code: -32_602, message: expect.stringContaining('does not exist') })
  })

  it('get the MCP servers that the editor names', async () => {
    const can = capabilities(...scriptedCapabilities, 'mcp')
    const { editor, world } = await anEditor({ host: { agent: { capabilities: can } } })
    const stdio = { name: 'files', command: 'serve-files', args: ['-v'], env: [{ name: 'A', value: 'b' }] }
    const http = { type: 'http' as const, name: 'web', url: 'http://127.0.0.1:1/', headers: [] }
    const servers = { files: { command: 'serve-files', args: ['***'], env: { A: '***' } } }
    const place: NewSessionRequest = { cwd: world.cwd, mcpServers: [stdio] }
    const { sessionId } = await editor.agent.request('session/new', place)
    expect((await world.host.state(sessionId)).mcpServers).toEqual(servers)
    await editor.agent.request('session/load', { sessionId, cwd: world.cwd, mcpServers: [] })
    expect((await world.host.state(sessionId)).mcpServers).toEqual(servers)
    await editor.agent.request('session/resume', { sessionId, cwd: world.cwd, mcpServers: [http] })
    expect((await world.host.state(sessionId)).mcpServers).toEqual({
      web: { type: 'http', url: 'http://127.0.0.1:1/', headers: {} },
    })
  })

  it('send the editor the turns that another client starts, too', async () => {
    const { editor, world, sessionId } = await aSession()
    await world.host.command(sessionId, {
      type: 'prompt.submit',
      commandId: 'elsewhere',
      text: JSON.stringify([
        { type: 'text', text: 'From elsewhere.' },
        { type: 'end', outcome: 'failed', error: { code: 'agent_failed', message: 'It broke.' } },
      ]),
    })
    await editor.until(() => editor.updates('notice')[0])
    expect(shown(editor).at(-1)).toBe('agent_message: From elsewhere.')
    expect(shown(editor)[0]).toContain('user_message: [{"type":"text"')
    expect(editor.updates('notice')).toMatchObject([{ severity: 'error', description: 'It broke.' }])
  })
})

describe('settings', () => {
  it('are modes and options; the editor can choose them and receives changes made elsewhere', async () => {
    const { editor, world, sessionId, made } = await aSession()
    expect(made.modes).toMatchObject({ currentModeId: 'ask' })
    expect(made.modes?.availableModes.map(({ id }) => id)).toEqual([
      'ask',
      'accept-edits',
      'read-only',
      'plan',
      'bypass',
    ])
    expect(made.configOptions).toMatchObject([
      { id: 'mode', category: 'mode', currentValue: 'ask' },
      { id: 'model', category: 'model', currentValue: 'scripted-large' },
      { id: 'effort', category: 'thought_level', currentValue: 'default' },
    ])
    await editor.agent.request('session/set_mode', { sessionId, modeId: 'read-only' })
    const choose = (configId: string, value: string) =>
      editor.agent.request('session/set_config_option', { sessionId, configId, value })
    expect((await choose('model', 'scripted-small')).configOptions).toMatchObject([
      { currentValue: 'read-only' },
      { currentValue: 'scripted-small' },
      {},
    ])
    expect((await choose('effort', 'high')).configOptions).toMatchObject([{}, {}, { currentValue: 'high' }])
    const { requested } = await world.host.state(sessionId)
    expect(requested).toMatchObject({
      mode: 'read-only',
      model: 'scripted-small',
      options: { effort: 'high' },
    })

    const command = { type: 'session.configure', commandId: 'elsewhere', mode: 'plan' } as const
    await world.host.command(sessionId, command)
    await editor.until(() => editor.updates('current_mode_update').at(-1)?.currentModeId === 'plan')
    await editor.until(() =>
      editor
        .updates('config_option_update')
        .some(({ configOptions }) => configOptions[0]?.currentValue === 'plan'),
    )
  })

  it('are refused if they do not exist', async () => {
    const { editor, sessionId } = await aSession()
    const refused = { code: -32_602 }
    await expect(
      editor.agent.request('session/set_mode', { sessionId, modeId: 'yolo' }),
    ).rejects.toMatchObject(refused)
    await expect(
      editor.agent.request('session/set_config_option', { sessionId, configId: 'colour', value: 'red' }),
    ).rejects.toMatchObject(refused)
  })
})

describe('a prompt', () => {
  it('sends images, files and links in a form that the agent accepts', async () => {
    const { editor, world, sessionId } = await aSession()
    const uri = pathToFileURL(joinPath(world.cwd, 'src/a.ts')).href
    await editor.agent.request('session/prompt', {
      sessionId,
      prompt: [
        { type: 'text', text: 'Look.' },
        { type: 'image', mimeType: 'image/png', data: 'aaaa' },
        { type: 'resource', resource: { uri, text: 'const a = 1', mimeType: 'text/typescript' } },
        { type: 'resource_link', name: 'a.ts', uri },
        { type: 'resource_link', name: 'page', uri: 'https://example.com/' },
      ],
    })
    const submitted = (await logOf(world, sessionId)).find(({ type }) => type === 'prompt.submitted')
    expect(submitted).toMatchObject({
      parts: [
        { type: 'text', text: 'Look.' },
        { type: 'image', mimeType: 'image/png', data: 'aaaa' },
        { type: 'file', name: 'src/a.ts', text: 'const a = 1', mimeType: 'text/typescript' },
        { type: 'file', name: 'a.ts', path: 'src/a.ts' },
        { type: 'text', text: '[page](https://example.com/)' },
      ],
    })
    const { editor: second } = join(world)
    await second.introduce()
    await second.agent.request('session/load', { sessionId, cwd: world.cwd, mcpServers: [] })
    expect(second.updates('user_message_chunk').map(({ content }) => content)).toMatchObject([
      { type: 'text', text: 'Look.' },
      { type: 'image', data: 'aaaa' },
      { type: 'resource', resource: { uri, text: 'const a = 1' } },
      { type: 'resource_link', uri },
      { type: 'text' },
    ])
  })

  it('sends files as text to an agent that accepts no files', async () => {
    const { editor, world } = await anEditor({ host: { agent: { capabilities: capabilities('streaming') } } })
    const { sessionId } = await editor.agent.request('session/new', { cwd: world.cwd, mcpServers: [] })
    const uri = pathToFileURL(joinPath(world.cwd, 'a.ts')).href
    await editor.agent.request('session/prompt', {
      sessionId,
      prompt: [{ type: 'resource', resource: { uri, text: 'const a = 1' } }],
    })
    expect(editor.text()).toContain('const a = 1')
    const image = [{ type: 'image' as const, mimeType: 'image/png', data: 'aaaa' }]
    await expect(editor.agent.request('session/prompt', { sessionId, prompt: image })).rejects.toMatchObject({
      code: -32_602,
      data: { code: 'not_supported', capability: 'images' },
    })
  })
})
