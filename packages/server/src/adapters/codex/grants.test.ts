import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newId, type PermissionMode, type PermissionScope, type SessionEvent } from '@parley/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { codexEnvironment, withNamespaces } from '../../testing/codex-environment.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { type ModelServer, startModelServer } from '../../testing/model-server.ts'
import { TestReader } from '../../testing/reader.ts'
import { createCodexAdapter } from './index.ts'

const home = mkdtempSync(join(tmpdir(), 'parley-codex-grants-'))
let server: ModelServer
beforeAll(async () => {
  server = await startModelServer()
  server.wire(withNamespaces)
  answerByPrompt(server, /Parley was restarted/)
})
afterAll(async () => {
  await server.stop()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
})

type Step = { readonly input: (cwd: string) => object; readonly scope?: PermissionScope }

/** Each step in a turn of its own. With a scope it is allowed for that, without it is refused. */
async function play(mode: PermissionMode, steps: readonly Step[]): Promise<SessionEvent[][]> {
  const cwd = mkdtempSync(join(home, 'work-'))
  mkdirSync(join(cwd, 'other'))
  for (const folder of [cwd, join(cwd, 'other')])
    writeFileSync(join(folder, 'Makefile'), 'all:\n\ttouch made\n')
  const env = codexEnvironment({ url: server.url, home })
  const adapters = [createCodexAdapter({ env, agentsFolder: testAgentsFolder() })]
  const host = await createHost({ adapters, store: createMemoryStore() })
  const { id } = await host.create({ agent: 'codex', cwd, mode })
  const reader = new TestReader(id)
  await reader.follow(host)
  const said: SessionEvent[][] = []
  for (const { input, scope } of steps) {
    const after = reader.view.state.seq
    const turns = reader.view.state.turns + 1
    const call = { name: 'exec_command', id: newId('call'), arguments: JSON.stringify(input(cwd)) }
    const text = modelPrompt('Do it.', { toolCalls: [call] }, { content: 'Done.' })
    await host.command(id, { type: 'prompt.submit', text, delivery: 'queue', commandId: newId('cmd') })
    await reader.until(({ state }) => state.turns === turns || state.requests.length > 0)
    const [request] = reader.view.state.requests
    if (request)
      await host.command(id, {
        type: 'permission.decide',
        requestId: request.requestId,
        commandId: newId('cmd'),
        ...(scope ? { decision: 'allow', scope } : { decision: 'deny' }),
      })
    await reader.until(({ state }) => state.turns === turns)
    const { events } = await host.read(id, { after, limit: 1000 })
    said.push(events.map(({ json }) => JSON.parse(json) as SessionEvent))
  }
  await host.close()
  return said
}

const decisions = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'permission.resolved' ? [`${event.outcome} by ${event.by}`] : []))

it('a grant of a command covers it in no other folder, and not with a justification to leave the sandbox', async () => {
  const make = { cmd: 'make' }
  const said = await play('ask', [
    { input: () => make, scope: 'session' },
    { input: () => make },
    { input: (cwd) => ({ ...make, workdir: join(cwd, 'other') }) },
    { input: () => ({ ...make, workdir: '/tmp' }) },
    { input: () => ({ ...make, sandbox_permissions: 'require_escalated', justification: 'because' }) },
    { input: () => ({ ...make, sandbox_permissions: 'require_escalated', justification: '' }) },
    { input: () => ({ ...make, yield_time_ms: 5_000 }) },
  ])
  expect(said.map(decisions)).toEqual([
    ['allowed by person'],
    ['allowed by rule'],
    ['denied by person'],
    ['denied by person'],
    ['denied by person'],
    ['denied by person'],
    ['allowed by rule'],
  ])
})

it('a patch of a protected file asks where edits are accepted', async () => {
  const patch = (...files: string[]) => {
    const adds = files.map((file) => `*** Add File: ${file}\n+x`).join('\n')
    return { input: () => ({ cmd: `apply_patch <<'EOF'\n*** Begin Patch\n${adds}\n*** End Patch\nEOF\n` }) }
  }
  const said = await play('accept-edits', [
    patch('a.txt'),
    patch('.git/hooks/pre-commit'),
    patch('b.txt', '.vscode/tasks.json'),
    patch('other/../.MCP.json'),
  ])
  expect(said.map(decisions)).toEqual([
    ['allowed by mode'],
    ['denied by person'],
    ['denied by person'],
    ['denied by person'],
  ])
})
