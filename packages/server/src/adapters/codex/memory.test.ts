import { execFile } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BenchSession } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { hostWith, importFrom, importOnce } from '../../testing/imported-conversation.ts'
import { logProblems } from '../../testing/invariants.ts'
import { call, onePixel } from '../../testing/model-answers.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { AppServer } from './app-server.ts'
import { createCodexAdapter } from './index.ts'
import type { NativeMessage } from './native.ts'

/** Tests conversations that a person had with Codex in a terminal, without Parley. */

const home = await AgentHome.forFile()
const cwd = folderForFile()
const agentsFolder = testAgentsFolder()
const env = home.env('codex')

const adapter = () => createCodexAdapter({ env, agentsFolder })
const program = (await adapter().probe(AbortSignal.timeout(10_000))).path ?? ''

/** Runs Codex on a prompt in a new folder and returns the folder. */
async function inTerminal(prompt: string, ...more: readonly string[]): Promise<string> {
  const folder = realpathSync(mkdtempSync(join(cwd, 'project-')))
  const unasked = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']
  const run = promisify(execFile)(program, ['exec', ...unasked, ...more, '--', prompt], { cwd: folder, env })
  run.child.stdin?.end()
  await run
  return folder
}

it('a conversation of the terminal program is listed, imported once, and resumed', async () => {
  const look = { reasoning: 'Herbs.', ...call('exec_command', { cmd: 'echo parsley' }) }
  const folder = await inTerminal(modelPrompt('Look at the herbs.', look, { content: 'I see parsley.' }))
  await using host = await hostWith(adapter())
  const found = await host.conversations('codex', { cwd: folder })
  expect(found).toMatchObject([{ cwd: folder, title: expect.stringMatching(/^Look at the herbs\./) }])
  expect(await host.conversations('codex', { cwd: home.path })).toEqual([])

  const { state, agentSessionId, log, all } = await importOnce(host, 'codex', folder)
  expect(log.map(({ type }) => type)).toEqual([
    'session.created',
    'agent.connected',
    'prompt.submitted',
    'turn.started',
    'thinking.written',
    'tool-call.called',
    'tool-call.ended',
    'text.written',
    'turn.ended',
    'agent.disconnected',
  ])
  expect(all('tool-call.called')).toMatchObject([{ name: 'Bash', input: { command: 'echo parsley' } }])
  expect(all('tool-call.ended')).toMatchObject([
    { outcome: 'completed', content: [{ type: 'terminal', output: 'parsley\n', exitCode: 0 }] },
  ])
  expect(all('text.written')).toMatchObject([{ text: 'I see parsley.' }])
  expect(all('turn.ended')).toMatchObject([{ outcome: 'completed' }])
  const ofTurn = log.slice(2, -1).map(({ at }) => at)
  expect(ofTurn).toEqual(ofTurn.toSorted((a, b) => a - b))
  const { terminal } = await host.detail(state.id, 10)
  expect(terminal).toEqual([expect.stringMatching(/(^|\/)codex$/), 'resume', agentSessionId])

  const session = await BenchSession.follow(() => host, state.id)
  const turn = await session.prompt(modelPrompt('What was it?', { say: 'history' }))
  await turn.completed()
  expect(turn.said).toContain('Look at the herbs.')
  expect(logProblems(session.events)).toEqual([])
})

it('images of prompts are imported, and a missing image is named', async () => {
  const paths = ['here.png', 'gone.png'].map((name) => join(home.path, name))
  for (const path of paths) writeFileSync(path, Buffer.from(onePixel, 'base64'))
  const images = paths.flatMap((path) => ['-i', path])
  const folder = await inTerminal(modelPrompt('Look.', { content: 'Two dots.' }), ...images)
  rmSync(paths[1] ?? '')
  await using host = await hostWith(adapter())
  const { all } = await importFrom(host, 'codex', folder)
  expect(all('prompt.submitted').map(({ parts }) => parts)).toEqual([
    [
      { type: 'image', mimeType: 'image/png', data: onePixel },
      { type: 'text', text: `[image: ${paths[1]}]` },
      { type: 'text', text: expect.stringMatching(/^Look\./) },
    ],
  ])
})

it('a subagent is not a conversation of its own, and its outcome is reported', async () => {
  const spawn = { task_name: 'look', fork_turns: 'none', message: 'Say what you see.' }
  const folder = await inTerminal(
    modelPrompt(
      'Delegate.',
      call('collaboration/spawn_agent', spawn),
      call('collaboration/wait_agent', { timeout_ms: 10_000 }),
      call('exec_command', { cmd: 'exit 3' }),
      { content: 'Delegated.' },
    ),
  )
  await using host = await hostWith(adapter())
  expect(await host.conversations('codex', { cwd: folder })).toHaveLength(1)
  const { all } = await importFrom(host, 'codex', folder)
  const [spawned] = all('tool-call.called').filter(({ kind }) => kind === 'subagent')
  expect(all('task.updated')).toMatchObject([
    { status: 'running', toolCallId: spawned?.toolCallId },
    { status: 'completed', summary: 'There is nothing more to say.' },
  ])
  const last = all('tool-call.ended').at(-1)
  expect(last).toMatchObject({ outcome: 'failed', content: [{ exitCode: 3 }] })
})

it('a failed turn is imported as failed, and the next one is a turn of its own', async () => {
  const failing = { error: { message: 'no such model', type: 'invalid_request_error' }, status: 400 }
  await expect(inTerminal(modelPrompt('Fail.', failing))).rejects.toThrow()
  await using host = await hostWith(adapter())
  const failed = (await host.conversations('codex')).find(({ title }) => title.startsWith('Fail.'))
  const { agentSessionId = '', cwd: folder = '' } = failed ?? {}
  await inTerminal(modelPrompt('Again.', { content: 'Now it works.' }), 'resume', agentSessionId)
  const { all } = await importFrom(host, 'codex', folder)
  expect(all('turn.ended')).toMatchObject([
    { outcome: 'failed', error: { code: 'agent_failed' } },
    { outcome: 'completed' },
  ])
})

it('a conversation in the older format is imported as far as Codex reports it, with its compactions', async () => {
  const folder = realpathSync(mkdtempSync(join(cwd, 'project-')))
  const codex = await AppServer.start({ program, env })
  type Opened = { thread: { id: string } }
  const { thread } = await codex.call<Opened>('thread/start', { cwd: folder, historyMode: 'legacy' })
  const ends: (() => void)[] = []
  const ended = () => new Promise<void>((resolve) => ends.push(resolve))
  const isEnd = ({ method, params }: NativeMessage) =>
    method === 'turn/completed' && (params as { threadId: string }).threadId === thread.id
  codex.claim(thread.id, { receive: (message) => isEnd(message) && ends.shift()?.(), lost: () => undefined })
  const say = async (text: string) => {
    const over = ended()
    await codex.call('turn/start', {
      threadId: thread.id,
      input: [{ type: 'text', text, text_elements: [] }],
    })
    await over
  }
  const spawn = { task_name: 'look', fork_turns: 'none', message: 'Say what you see.' }
  const wait = call('collaboration/wait_agent', { timeout_ms: 10_000 })
  await say(modelPrompt('Delegate.', call('collaboration/spawn_agent', spawn), wait, { content: 'Done.' }))
  const over = ended()
  await codex.call('thread/compact/start', { threadId: thread.id })
  await over
  await say(modelPrompt('Goodbye.', { content: 'Goodbye.' }))
  await codex.close()

  await using host = await hostWith(adapter())
  const { all } = await importFrom(host, 'codex', folder)
  expect(all('prompt.submitted').map(({ parts: [part] }) => part)).toMatchObject([
    { type: 'text', text: expect.stringMatching(/^Delegate/) },
    { type: 'command', name: 'compact' },
    { type: 'text', text: expect.stringMatching(/^Goodbye/) },
  ])
  expect(all('context.compacted')).toMatchObject([{ trigger: 'manual' }])
  expect(all('turn.ended').map(({ outcome }) => outcome)).toEqual(['completed', 'completed', 'completed'])
  expect(all('text.written').map(({ text }) => text)).toEqual([
    'There is nothing more to say.',
    'Done.',
    'Goodbye.',
  ])
})

it('an archived conversation is not listed, and an unknown one is refused', async () => {
  const folder = await inTerminal(modelPrompt('Put me away.', { content: 'Gladly.' }))
  await using host = await hostWith(adapter())
  const [one] = await host.conversations('codex', { cwd: folder })
  const codex = await AppServer.start({ program, env })
  await codex.call('thread/archive', { threadId: one?.agentSessionId })
  await codex.close()
  expect(await host.conversations('codex', { cwd: folder })).toEqual([])
  const agentSessionId = one?.agentSessionId ?? ''
  const refused = host.importConversation({ agent: 'codex', agentSessionId })
  await expect(refused).rejects.toMatchObject({ code: 'not_found' })
  const unknown = adapter().conversations?.read('no-such-id', AbortSignal.timeout(10_000))
  await expect(Array.fromAsync(unknown ?? [])).rejects.toMatchObject({ code: 'not_found' })
})

it('listing is refused without the program, and after an abort', async () => {
  const none = createCodexAdapter({ env: { PATH: home.path, HOME: home.path } })
  const listed = none.conversations?.list({}, AbortSignal.timeout(10_000))
  await expect(listed).rejects.toMatchObject({ code: 'agent_not_found' })
  const stopped = adapter().conversations?.list({}, AbortSignal.abort())
  await expect(stopped).rejects.toMatchObject({ code: 'cancelled' })
})
