import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable, Writable } from 'node:stream'
import { ndJsonStream } from '@agentclientprotocol/sdk/unstable'
import { type Client, createClient } from '@parley/client'
import type { SessionEvent } from '@parley/protocol'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHome, type Home } from '../../packages/server/src/cli/program-under-test.ts'
import {
  choosing,
  type EditorUnderTest,
  editorUnderTest,
  everything,
} from '../../packages/server/src/faces/acp/editor-under-test.ts'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { logProblems } from '../../packages/server/src/testing/invariants.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'

/** The real program as an editor starts it, over stdin and stdout only. */
const program = new URL('../../packages/server/bin/parley.js', import.meta.url).pathname

type Started = { child: ChildProcess; ended: Promise<{ code: number | null; stderr: string }> }

function start(home: Home, args: readonly string[], env: Record<string, string> = {}): Started {
  const child = spawn(process.execPath, ['--conditions=source', program, 'acp', ...args], {
    cwd: home.folder,
    env: { PATH: process.env.PATH ?? '', HOME: home.folder, ...env },
    stdio: 'pipe',
  })
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin?.on('error', () => {})
  const ended = new Promise<{ code: number | null; stderr: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, stderr }))
  })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return { child, ended }
}

function editorOf({ child }: Started): EditorUnderTest {
  const stdin = Writable.toWeb(child.stdin!) as WritableStream<Uint8Array>
  return editorUnderTest(ndJsonStream(stdin, Readable.toWeb(child.stdout!) as ReadableStream<Uint8Array>))
}

async function aHome(): Promise<Home & { work: string }> {
  const home = createHome()
  onTestFinished(() => home[Symbol.asyncDispose]())
  const work = join(home.folder, 'work')
  mkdirSync(work)
  return { ...home, work: realpathSync(work) }
}

/** A server on the home's data folder, and a client of it. */
async function aServer(home: Home, env: Record<string, string> = {}): Promise<Client> {
  const { url, token } = await home.serve([], { env })
  const client = createClient({ url, token })
  onTestFinished(() => client.close())
  return client
}

const say = (editor: EditorUnderTest, sessionId: string, text: string) =>
  editor.agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })

async function logOf(client: Client, id: string): Promise<SessionEvent[]> {
  const { events } = await client.call('events', { params: { id }, query: { after: 0, limit: 5000 } })
  return events as SessionEvent[]
}

describe('without a server', () => {
  it('runs the agent itself and ends with the editor; the session still exists the next time', async () => {
    const home = await aHome()
    const started = start(home, ['--agent', 'demo'])
    const editor = editorOf(started)
    expect(await editor.introduce(everything)).toMatchObject({ agentInfo: { title: 'Demo (Parley)' } })
    const { sessionId } = await editor.agent.request('session/new', { cwd: home.work, mcpServers: [] })
    editor.answerPermission = choosing('allow_once')
    expect(await say(editor, sessionId, 'show me an edit')).toMatchObject({ stopReason: 'end_turn' })
    expect(editor.text()).toContain('The greeting takes a name now.')
    expect(editor.permissions[0]?.toolCall.content).toMatchObject([
      { type: 'diff', path: join(home.work, 'src/greet.ts') },
    ])
    expect(editor.updates('available_commands_update').at(-1)?.availableCommands.length).toBeGreaterThan(10)

    const hanging = say(editor, sessionId, 'hang')
    hanging.catch(() => undefined)
    await editor.until(() => editor.text().includes('until you stop me'))
    started.child.stdin?.end()
    expect(await started.ended).toEqual({ code: 0, stderr: '' })

    const again = start(home, ['--agent', 'demo'])
    const second = editorOf(again)
    await second.introduce(everything)
    const { sessions } = await second.agent.request('session/list', { cwd: home.work })
    expect(sessions).toMatchObject([{ sessionId, title: 'show me an edit' }])
    await second.agent.request('session/load', { sessionId, cwd: home.work, mcpServers: [] })
    expect(second.text()).toContain('The greeting takes a name now.')
    expect(second.text()).toContain('until you stop me')
    expect(await say(second, sessionId, 'think')).toMatchObject({ stopReason: 'end_turn' })
    again.child.stdin?.end()
    expect(await again.ended).toMatchObject({ code: 0 })
  })

  it('shows everything that the demo agent can show, to an editor with all capabilities', async () => {
    const home = await aHome()
    const started = start(home, ['--agent', 'demo', '--mode', 'accept-edits'])
    const editor = editorOf(started)
    await editor.introduce(everything)
    const made = await editor.agent.request('session/new', { cwd: home.work, mcpServers: [] })
    expect(made.modes?.currentModeId).toBe('accept-edits')
    editor.answerPermission = choosing('allow_once')
    editor.answerForm = () => ({ action: 'accept', content: { database: 'SQLite', extras: ['Tests'] } })
    expect(await say(editor, made.sessionId, 'everything')).toMatchObject({ stopReason: 'end_turn' })
    const kinds = new Set(editor.received.map(({ update }) => update.sessionUpdate))
    for (const kind of [
      'agent_message_chunk',
      'agent_thought_chunk',
      'available_commands_update',
      'compaction_update',
      'notice',
      'plan',
      'session_info_update',
      'tool_call',
      'tool_call_update',
      'usage_update',
    ] as const)
      expect(kinds).toContain(kind)
    const calls = editor.updates('tool_call').map(({ toolCallId }) => toolCallId)
    const ended = editor
      .updates('tool_call_update')
      .filter(({ status }) => status === 'completed' || status === 'failed')
      .map(({ toolCallId }) => toolCallId)
    expect(ended.sort()).toEqual([...new Set(calls)].sort())
  })

  it('is ended by a signal, and leaves a request that can still be answered', async () => {
    const home = await aHome()
    const started = start(home, ['--agent', 'demo'])
    const editor = editorOf(started)
    await editor.introduce(everything)
    const { sessionId } = await editor.agent.request('session/new', { cwd: home.work, mcpServers: [] })
    say(editor, sessionId, 'permission').catch(() => undefined)
    await editor.until(() => editor.permissions[0])
    started.child.kill('SIGTERM')
    expect(await started.ended).toMatchObject({ code: 0 })

    const second = editorOf(start(home, ['--agent', 'demo']))
    await second.introduce(everything)
    second.answerPermission = choosing('allow_once')
    await second.agent.request('session/load', { sessionId, cwd: home.work, mcpServers: [] })
    await second.until(() => second.text().includes('the demo only pretends'))
    expect(second.permissions.length).toBeGreaterThan(0)
  })

  it('answers invalid messages with errors, writes only messages to stdout, and continues', async () => {
    const home = await aHome()
    const { child, ended } = start(home, ['--agent', 'demo', '--log-level', 'trace'])
    const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
    const next = async () => JSON.parse((await lines.next()).value ?? '') as Record<string, unknown>
    const write = (text: string) => child.stdin?.write(`${text}\n`)
    write('hello, is this an agent?')
    expect(await next()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32_700 } })
    write('[]')
    expect(await next()).toMatchObject({ id: null, error: { code: -32_600 } })
    write('{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}')
    expect(await next()).toMatchObject({ id: 1, error: { code: expect.any(Number) } })
    write('{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":99}}')
    expect(await next()).toMatchObject({ id: 2, result: { protocolVersion: 1 } })
    child.stdin?.end()
    expect(await lines.next()).toMatchObject({ done: true })
    expect(await ended).toMatchObject({ code: 0 })
  })

  it('reports invalid options on stderr', async () => {
    const home = await aHome()
    expect(await start(home, []).ended).toMatchObject({ code: 2, stderr: expect.stringContaining('--agent') })
    const { ended } = start(home, ['--agent', 'demo', '--mode', 'yolo'])
    expect(await ended).toMatchObject({ code: 2, stderr: expect.stringContaining('no mode "yolo"') })
    const help = await home.run(['acp', '--help'])
    expect(help.stdout).toContain('Agent Client Protocol')
    expect((await home.run(['--help'])).stdout).toMatch(/^ {2}acp /m)
  })
})

describe('with a server', () => {
  it('joins the server: every client sees the session live, and the first answer counts', async () => {
    const home = await aHome()
    const client = await aServer(home)
    const started = start(home, ['--agent', 'demo'])
    const editor = editorOf(started)
    await editor.introduce(everything)
    const { sessionId } = await editor.agent.request('session/new', { cwd: home.work, mcpServers: [] })
    const mirror = client.mirror(sessionId, { tail: 'all' })
    const turn = say(editor, sessionId, 'permission')
    const { view } = await mirror.until(({ view: { state } }) => state.requests.length > 0)
    const { toolCall } = await editor.until(() => editor.permissions[0])
    await client.decide(sessionId, view.state.requests[0]!.requestId, 'deny')
    expect(await turn).toMatchObject({ stopReason: 'end_turn' })
    await editor.until(() => editor.takenBack.includes(toolCall.toolCallId))
    expect(editor.text()).toContain('I leave it alone')

    await client.prompt(sessionId, 'think')
    await editor.until(() => editor.text().includes('the second way is better'))
    const asked = editor.updates('user_message_chunk').map(({ content }) => content)
    expect(asked).toEqual([{ type: 'text', text: 'think' }])

    await editor.agent.request('session/set_mode', { sessionId, modeId: 'plan' })
    await mirror.until(({ view: { state } }) => state.requested.mode === 'plan')
    expect(logProblems(await logOf(client, sessionId))).toEqual([])
  })

  it('leaves running turns to the server when the editor disconnects', async () => {
    const home = await aHome()
    const client = await aServer(home)
    const started = start(home, ['--agent', 'demo'])
    const editor = editorOf(started)
    await editor.introduce(everything)
    const { sessionId } = await editor.agent.request('session/new', { cwd: home.work, mcpServers: [] })
    say(editor, sessionId, 'permission').catch(() => undefined)
    await editor.until(() => editor.permissions[0])
    started.child.kill('SIGKILL')
    await started.ended
    const mirror = client.mirror(sessionId, { tail: 'all' })
    const { view } = await mirror.until(({ status }) => status === 'live')
    expect(view.state.status).toBe('waiting')
    await client.decide(sessionId, view.state.requests[0]!.requestId, 'allow')
    const end = await mirror.until(({ view: { state } }) => state.turns === 1 && !state.turn)
    expect(end.view.state.lastTurn?.outcome).toBe('completed')
  })
})

describe('with a server that belongs to another editor', () => {
  it.each(['leaves', 'is killed'])('continues when that editor %s', async (how) => {
    const home = await aHome()
    const first = start(home, ['--agent', 'demo'])
    await editorOf(first).introduce(everything)
    const second = editorOf(start(home, ['--agent', 'demo']))
    await second.introduce(everything)
    const { sessionId } = await second.agent.request('session/new', { cwd: home.work, mcpServers: [] })
    expect(await say(second, sessionId, 'think')).toMatchObject({ stopReason: 'end_turn' })
    if (how === 'leaves') first.child.stdin?.end()
    else first.child.kill('SIGKILL')
    await first.ended
    expect(await say(second, sessionId, 'markdown')).toMatchObject({ stopReason: 'end_turn' })
    expect(second.text()).toContain('What markdown looks like here')
    expect(second.updates('user_message_chunk')).toEqual([])
  })

  it('reports that the outcome of a lost turn is unknown, and continues', async () => {
    const home = await aHome()
    const first = start(home, ['--agent', 'demo'])
    await editorOf(first).introduce(everything)
    const second = editorOf(start(home, ['--agent', 'demo']))
    await second.introduce(everything)
    const { sessionId } = await second.agent.request('session/new', { cwd: home.work, mcpServers: [] })
    const turn = say(second, sessionId, 'hang')
    const refusal = expect(turn).rejects.toMatchObject({ data: { code: 'busy', reason: 'lost' } })
    await second.until(() => second.text().includes('until you stop me'))
    first.child.kill('SIGKILL')
    await first.ended
    await second.agent.request('session/list', {})
    await refusal
    expect(await say(second, sessionId, 'think')).toMatchObject({ stopReason: 'end_turn' })
  })
})

describe('with the real Claude', () => {
  it('runs a command that the editor allows, and not one that it denies', async () => {
    const home = await aHome()
    const agents = await AgentHome.forTest()
    const env = agents.env('claude')
    const editor = editorOf(start(home, ['--agent', 'claude'], env))
    await editor.introduce(everything)
    const { sessionId } = await editor.agent.request('session/new', { cwd: home.work, mcpServers: [] })
    const bash = (command: string, id: string) => ({
      toolCalls: [{ name: 'Bash', id, arguments: JSON.stringify({ command, description: 'a command' }) }],
    })
    editor.answerPermission = choosing('allow_once')
    const allowed = modelPrompt('Write.', bash('printf x | tee -a allowed', 'toolu_a'), {
      content: 'Written.',
    })
    expect(await say(editor, sessionId, allowed)).toMatchObject({ stopReason: 'end_turn' })
    expect(editor.text()).toBe('Written.')
    expect(readFileSync(join(home.work, 'allowed'), 'utf8')).toBe('x')
    expect(editor.permissions[0]?.toolCall).toMatchObject({
      kind: 'execute',
      rawInput: { command: 'printf x | tee -a allowed' },
    })

    editor.answerPermission = choosing('reject_once')
    const denied = modelPrompt('More.', bash('printf x | tee -a denied', 'toolu_b'), { content: 'Then not.' })
    expect(await say(editor, sessionId, denied)).toMatchObject({ stopReason: 'end_turn' })
    expect(editor.text()).toBe('Written.Then not.')
    expect(existsSync(join(home.work, 'denied'))).toBe(false)
    const ends = editor.updates('tool_call_update').flatMap(({ status }) => status ?? [])
    expect(ends.filter((status) => status !== 'pending' && status !== 'in_progress')).toEqual([
      'completed',
      'failed',
    ])
  })
})

describe('as an agent of another Parley', () => {
  it('works through an entry of the configuration', async () => {
    const outer = await aHome()
    const inner = join(outer.folder, 'inner')
    mkdirSync(outer.dataDir)
    const args = ['--conditions=source', program, 'acp', '--agent', 'demo', '--data-dir', inner]
    const agents = { 'demo-inside': { name: 'Demo inside', command: process.execPath, args } }
    writeFileSync(join(outer.dataDir, 'config.json'), JSON.stringify({ agents }))
    const ran = await outer.run(['run', 'demo-inside', 'permission', '--on-permission', 'allow'])
    expect(ran.stdout).toContain('the demo only pretends')
    expect(ran.exitCode).toBe(0)
    const listed = await outer.run(['sessions', '--json', '--data-dir', inner])
    expect(JSON.parse(listed.stdout)).toMatchObject({ agent: 'demo', title: 'permission' })
  })
})
