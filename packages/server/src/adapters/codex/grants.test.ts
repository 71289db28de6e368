import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newId, type PermissionMode, type PermissionScope, type SessionEvent } from '@parley/protocol'
import { expect, it } from 'vitest'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { TestReader } from '../../testing/reader.ts'
import { agentsFolder } from './codex-under-test.ts'
import { createCodexAdapter } from './index.ts'

const home = await AgentHome.forFile()

type Step = {
  readonly input: (cwd: string) => object
  readonly scope?: PermissionScope
  /** Resumes the conversation before this step. */
  readonly resumed?: true
}

/**
 * Runs each step in a turn of its own. The call of a step is allowed for the step's scope, or denied if the step has no
 * scope.
 */
async function play(mode: PermissionMode, steps: readonly Step[]): Promise<SessionEvent[][]> {
  const cwd = home.folder('work')
  mkdirSync(join(cwd, 'other'))
  for (const folder of [cwd, join(cwd, 'other')])
    writeFileSync(join(folder, 'Makefile'), 'all:\n\ttouch made\n')
  const adapters = [createCodexAdapter({ env: home.env('codex'), agentsFolder })]
  const host = await createHost({ adapters, store: createMemoryStore() })
  const { id } = await host.create({ agent: 'codex', cwd, mode })
  const reader = new TestReader(id)
  await reader.follow(host)
  const said: SessionEvent[][] = []
  for (const { input, scope, resumed } of steps) {
    if (resumed) await host.command(id, { type: 'session.release', commandId: newId('cmd') })
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

it('a grant for a command does not cover the command in another folder or outside the sandbox', async () => {
  const make = { cmd: 'make' }
  const said = await play('ask', [
    { input: () => make, scope: 'session' },
    { input: () => make },
    { input: (cwd) => ({ ...make, workdir: join(cwd, 'other') }) },
    { input: () => ({ ...make, workdir: '/tmp' }) },
    { input: () => ({ ...make, sandbox_permissions: 'require_escalated', justification: 'because' }) },
    { input: () => ({ ...make, sandbox_permissions: 'require_escalated', justification: '' }) },
    { input: () => ({ ...make, sandbox_permissions: 'require_escalated' }), scope: 'session' },
    { input: () => ({ ...make, sandbox_permissions: 'require_escalated' }) },
    { input: () => ({ ...make, sandbox_permissions: 'use_default' }) },
    { input: () => ({ ...make, yield_time_ms: 5_000 }) },
  ])
  expect(said.map(decisions)).toEqual([
    ['allowed by person'],
    ['allowed by rule'],
    ['denied by person'],
    ['denied by person'],
    ['denied by person'],
    ['denied by person'],
    ['allowed by person'],
    ['allowed by rule'],
    ['allowed by rule'],
    ['allowed by rule'],
  ])
})

it('a grant for a command covers the command in a resumed conversation, but not outside the sandbox', async () => {
  const make = { cmd: 'make' }
  const said = await play('ask', [
    { input: () => make, scope: 'session' },
    { input: () => ({ ...make, sandbox_permissions: 'require_escalated' }), resumed: true },
    { input: () => make },
  ])
  expect(said.map(decisions)).toEqual([['allowed by person'], ['denied by person'], ['allowed by rule']])
})

it('a patch of a protected file needs a person in accept-edits', async () => {
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
