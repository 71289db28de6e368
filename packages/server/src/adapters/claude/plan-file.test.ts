import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SessionEvent } from '@parley/protocol'
import { expect, it, onTestFinished } from 'vitest'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { claudeEnvironment } from '../../testing/claude-environment.ts'
import { call, done } from '../../testing/model-answers.ts'
import { type ModelServer, startModelServer } from '../../testing/model-server.ts'
import { TestReader } from '../../testing/reader.ts'
import { createClaudeAdapter } from './index.ts'

/** The plan file that Claude Code names in its request to the model. */
function planFile(server: ModelServer): string {
  const said = server.calls.map(({ body }) => JSON.stringify(body)).join('\n')
  const named = /create your plan at (\S+?\.md)/.exec(said)?.[1]
  if (named === undefined) throw new Error('Claude Code named no file for its plan.')
  return named
}

it.each([
  ['ask', true],
  ['accept-edits', true],
  ['plan', false],
] as const)(
  'the plan file of Claude Code needs no permission in mode %s (Claude enters plan mode itself: %s)',
  async (mode, enters) => {
    const home = mkdtempSync(join(tmpdir(), 'parley-plan-file-'))
    const server = await startModelServer()
    const other = join(home, '.claude', 'commands', 'run.md')
    const write = (file_path: string, id: string) => call('Write', { file_path, content: 'First this.' }, id)
    server.script(
      () => true,
      [
        ...(enters ? [{ response: call('EnterPlanMode', {}) }] : []),
        { response: () => write(planFile(server), 'toolu_b') },
        { response: write(other, 'toolu_c') },
        { response: done },
      ],
    )
    const adapters = [createClaudeAdapter({ env: claudeEnvironment({ url: server.url, home }) })]
    const host = await createHost({ adapters, store: createMemoryStore() })
    onTestFinished(async () => {
      await host.close()
      await server.stop()
      rmSync(home, { recursive: true, force: true })
    })
    const cwd = mkdtempSync(join(home, 'work-'))
    const { id } = await host.create({ agent: 'claude', cwd, mode, prompt: 'Plan it.' })
    const reader = new TestReader(id)
    await reader.follow(host)
    await reader.until(({ state }) => state.turns === 1 || state.requests.length > 0)
    expect(reader.view.state.requests).toEqual([])
    const { events } = await host.read(id, { after: 0, limit: 1000 })
    const all = events.map(({ json }) => JSON.parse(json) as SessionEvent)
    const outcomes = all.flatMap((event) => (event.type === 'tool-call.ended' ? [event.outcome] : []))
    expect(outcomes).toEqual([...(enters ? ['completed'] : []), 'completed', 'denied'])
    expect(readFileSync(planFile(server), 'utf8')).toBe('First this.')
    expect(existsSync(other)).toBe(false)
  },
)
