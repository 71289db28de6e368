import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BenchSession } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { hostWith, lawfulLog } from '../../testing/imported-conversation.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { createClaudeAdapter } from './index.ts'
import { claudeMemory } from './memory.ts'

/** Tests a conversation that a person had with Claude Code in a terminal, without Parley. */

const home = await AgentHome.forFile()
const cwd = folderForFile()
const env = home.env('claude')

async function inTerminal(prompt: string): Promise<void> {
  const { path = '' } = await createClaudeAdapter({ env }).probe(AbortSignal.timeout(5_000))
  const run = promisify(execFile)(path, ['-p', prompt, '--allowedTools', 'Bash'], { cwd, env })
  run.child.stdin?.end()
  await run
}

it('a conversation of the terminal program is listed, imported once, and resumed', async () => {
  const look = { name: 'Bash', id: 'toolu_a', arguments: '{"command":"echo parsley","description":"look"}' }
  const prompt = modelPrompt('Look at the herbs.', { toolCalls: [look] }, { content: 'I see parsley.' })
  await inTerminal(prompt)
  await using host = await hostWith(createClaudeAdapter({ env }))
  const [found, ...others] = await host.conversations('claude', { cwd })
  expect(others).toEqual([])
  expect(found).toMatchObject({ cwd, title: expect.stringContaining('Look at the herbs.') })
  expect(await host.conversations('claude', { cwd: home.path })).toEqual([])

  const { agentSessionId = '' } = found ?? {}
  const given = { agent: 'claude', agentSessionId }
  const [imported, again] = await Promise.all([
    host.importConversation(given),
    host.importConversation(given),
  ])
  expect(again.id).toBe(imported.id)
  expect((await host.importConversation(given)).id).toBe(imported.id)
  expect((await host.conversations('claude')).map(({ sessionId }) => sessionId)).toEqual([imported.id])
  expect(imported).toMatchObject({ status: 'idle', importedFrom: { agentSessionId }, turns: 1 })

  const { log } = await lawfulLog(host, imported.id)
  expect(log.map(({ type }) => type)).toEqual([
    'session.created',
    'agent.connected',
    'prompt.submitted',
    'turn.started',
    'tool-call.called',
    'tool-call.ended',
    'text.written',
    'turn.ended',
    'agent.disconnected',
  ])
  expect(log.find(({ type }) => type === 'tool-call.ended')).toMatchObject({ outcome: 'completed' })
  const { terminal } = await host.detail(imported.id, 10)
  expect(terminal).toEqual([expect.stringMatching(/(^|\/)claude$/), '--resume', agentSessionId])

  const session = await BenchSession.follow(() => host, imported.id)
  const turn = await session.prompt(modelPrompt('What was it?', { say: 'history' }))
  await turn.completed()
  expect(turn.said).toContain('Look at the herbs.')
})

it('files that are not transcripts are ignored, and a missing transcript is refused', async () => {
  const host = await createHost({ adapters: [createClaudeAdapter({ env })], store: createMemoryStore() })
  const [one] = await host.conversations('claude')
  const folder = join(home.path, '.claude', 'projects', one?.cwd.replaceAll(/[^a-zA-Z0-9]/g, '-') ?? '')
  writeFileSync(join(folder, 'junk.jsonl'), 'no json\n{"type":"user"}\n{"half":')
  writeFileSync(join(folder, 'empty.jsonl'), 'null\n[]\n7\n')
  mkdirSync(join(folder, 'folder.jsonl'))
  symlinkSync(join(folder, 'nothing'), join(folder, 'dead.jsonl'))
  expect(await host.conversations('claude')).toHaveLength(1)
  const unknown = host.importConversation({ agent: 'claude', agentSessionId: 'junk' })
  await expect(unknown).rejects.toMatchObject({ code: 'not_found' })
  await host.close()
})

it('reads the last branch, with all parallel calls, of a conversation in which the person went back', async () => {
  const host = await createHost({ adapters: [createClaudeAdapter({ env })], store: createMemoryStore() })
  const agentSessionId = '4f2b8a1e-0000-4000-8000-000000000009'
  let minute = 0
  const entry = (type: string, uuid: string, parentUuid: string | null, content: unknown, id?: string) =>
    JSON.stringify({
      type,
      uuid,
      parentUuid,
      cwd,
      sessionId: agentSessionId,
      timestamp: `2026-01-01T00:0${++minute}:00.000Z`,
      message: { role: type, content, ...(id && { id, type: 'message', model: 'm', usage: {} }) },
    })
  const call = (id: string) => ({ type: 'tool_use', id, name: 'Bash', input: { command: id } })
  const result = (id: string) => [{ type: 'tool_result', tool_use_id: id, content: 'ran' }]
  const lines = [
    entry('user', 'u1', null, 'First try'),
    entry('assistant', 'a1', 'u1', [{ type: 'text', text: 'Not good.' }], 'm1'),
    entry('user', 'u2', null, 'Second try'),
    entry('assistant', 'a2', 'u2', [call('t1')], 'm2'),
    entry('assistant', 'a3', 'a2', [call('t2')], 'm2'),
    entry('user', 'r1', 'a2', result('t1')),
    entry('user', 'r2', 'a3', result('t2')),
    entry('assistant', 'a4', 'r2', [{ type: 'text', text: 'Good.' }], 'm3'),
  ]
  const folder = join(home.path, '.claude', 'projects', 'branches')
  mkdirSync(folder)
  writeFileSync(join(folder, `${agentSessionId}.jsonl`), lines.join('\n'))
  const { id } = await host.importConversation({ agent: 'claude', agentSessionId })
  const { log } = await lawfulLog(host, id)
  expect(log.map(({ type }) => type)).toEqual([
    'session.created',
    'agent.connected',
    'prompt.submitted',
    'turn.started',
    'tool-call.called',
    'tool-call.called',
    'tool-call.ended',
    'tool-call.ended',
    'text.written',
    'turn.ended',
    'agent.disconnected',
  ])
  expect(log.find(({ type }) => type === 'turn.ended')).toMatchObject({ durationMs: 5 * 60_000 })
  expect(log[0]?.at).toBe(Date.parse('2026-01-01T00:03:00.000Z'))
  await host.close()
})

it('reads a steered prompt under the id with which it was sent', async () => {
  const own = home.folder('queued')
  const folder = join(own, 'projects', 'somewhere')
  mkdirSync(folder, { recursive: true })
  const message = (content: string) => ({ role: 'user', content })
  const queued = { type: 'queued_command', commandMode: 'prompt', source_uuid: 'given' }
  const entries = [
    { type: 'user', uuid: 'a', parentUuid: null, message: message('First.') },
    { type: 'attachment', uuid: 'b', parentUuid: 'a', attachment: { ...queued, prompt: 'To the left.' } },
    { type: 'user', uuid: 'c', parentUuid: 'b', message: message('Last.') },
  ]
  writeFileSync(join(folder, 'one.jsonl'), entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
  const read = claudeMemory({ CLAUDE_CONFIG_DIR: own }).read('one', new AbortController().signal)
  const prompts = (await Array.fromAsync(read)).flatMap((one) =>
    one.type === 'prompt' ? [[one.id, one.parts]] : [],
  )
  expect(prompts).toEqual([
    ['a', [{ type: 'text', text: 'First.' }]],
    ['given', [{ type: 'text', text: 'To the left.' }]],
    ['c', [{ type: 'text', text: 'Last.' }]],
  ])
})
