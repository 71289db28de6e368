import { execFile } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { SessionEvent } from '@parley/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { BenchSession } from '../../testing/adapter-contract/bench.ts'
import { claudeEnvironment } from '../../testing/claude-environment.ts'
import { logProblems } from '../../testing/invariants.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { type ModelServer, startModelServer } from '../../testing/model-server.ts'
import { createClaudeAdapter } from './index.ts'

/** A conversation that a person had with Claude Code in a terminal, before there was Parley. */

const home = realpathSync(mkdtempSync(join(tmpdir(), 'parley-memory-')))
const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'parley-work-')))
let server: ModelServer
let env: Record<string, string>
beforeAll(async () => {
  server = await startModelServer()
  answerByPrompt(server, /Parley was restarted/)
  env = claudeEnvironment({ url: server.url, home })
})
afterAll(async () => {
  await server.stop()
  for (const folder of [home, cwd]) rmSync(folder, { recursive: true, force: true })
})

async function inTerminal(prompt: string): Promise<void> {
  const { path = '' } = await createClaudeAdapter({ env }).probe(AbortSignal.timeout(5_000))
  const run = promisify(execFile)(path, ['-p', prompt, '--allowedTools', 'Bash'], { cwd, env })
  run.child.stdin?.end()
  await run
}

it('a conversation of the terminal program is listed, imported once, and gone on with', async () => {
  const look = { name: 'Bash', id: 'toolu_a', arguments: '{"command":"echo parsley","description":"look"}' }
  const prompt = modelPrompt('Look at the herbs.', { toolCalls: [look] }, { content: 'I see parsley.' })
  await inTerminal(prompt)
  await using host = Object.assign(
    await createHost({ adapters: [createClaudeAdapter({ env })], store: createMemoryStore() }),
    { [Symbol.asyncDispose]: async () => host.close() },
  )
  const [found, ...others] = await host.conversations('claude', { cwd })
  expect(others).toEqual([])
  expect(found).toMatchObject({ cwd, title: expect.stringContaining('Look at the herbs.') })
  expect(await host.conversations('claude', { cwd: home })).toEqual([])

  const { agentSessionId = '' } = found ?? {}
  const imported = await host.importConversation({ agent: 'claude', agentSessionId })
  expect((await host.importConversation({ agent: 'claude', agentSessionId })).id).toBe(imported.id)
  expect((await host.conversations('claude')).map(({ sessionId }) => sessionId)).toEqual([imported.id])
  expect(imported).toMatchObject({ status: 'idle', importedFrom: { agentSessionId }, turns: 1 })

  const { events } = await host.read(imported.id, { after: 0, limit: 1000 })
  const log = events.map(({ json }) => JSON.parse(json) as SessionEvent)
  expect(logProblems(log)).toEqual([])
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
  expect((await host.detail(imported.id, 10)).terminal).toEqual(['claude', '--resume', agentSessionId])

  const session = await BenchSession.follow(() => host, imported.id)
  const turn = await session.prompt(modelPrompt('What was it?', { say: 'history' }))
  await turn.completed()
  expect(turn.said).toContain('Look at the herbs.')
})

it('what is not a transcript is passed over, and what is not there is refused', async () => {
  const host = await createHost({ adapters: [createClaudeAdapter({ env })], store: createMemoryStore() })
  const [one] = await host.conversations('claude')
  const folder = join(home, '.claude', 'projects', one?.cwd.replaceAll(/[^a-zA-Z0-9]/g, '-') ?? '')
  writeFileSync(join(folder, 'junk.jsonl'), 'no json\n{"type":"user"}\n{"half":')
  writeFileSync(join(folder, 'empty.jsonl'), '')
  expect(await host.conversations('claude')).toHaveLength(1)
  const unknown = host.importConversation({ agent: 'claude', agentSessionId: 'junk' })
  await expect(unknown).rejects.toMatchObject({ code: 'not_found' })
  await host.close()
})
