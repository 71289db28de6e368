import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionEvent } from '@parley/protocol'
import { expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { hostWith } from '../../testing/imported-conversation.ts'
import { call, done } from '../../testing/model-answers.ts'
import type { ModelServer } from '../../testing/model-server.ts'
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
    await using home = await AgentHome.open({ answers: 'script' })
    const other = join(home.path, '.claude', 'commands', 'run.md')
    const write = (file_path: string, id: string) => call('Write', { file_path, content: 'First this.' }, id)
    home.model.script(
      () => true,
      [
        ...(enters ? [{ response: call('EnterPlanMode', {}) }] : []),
        { response: () => write(planFile(home.model), 'toolu_b') },
        { response: write(other, 'toolu_c') },
        { response: done },
      ],
    )
    await using host = await hostWith(createClaudeAdapter({ env: home.env('claude') }))
    const cwd = home.folder('work')
    const { id } = await host.create({ agent: 'claude', cwd, mode, prompt: 'Plan it.' })
    const reader = new TestReader(id)
    await reader.follow(host)
    await reader.until(({ state }) => state.turns === 1 || state.requests.length > 0)
    expect(reader.view.state.requests).toEqual([])
    const { events } = await host.read(id, { after: 0, limit: 1000 })
    const all = events.map(({ json }) => JSON.parse(json) as SessionEvent)
    const outcomes = all.flatMap((event) => (event.type === 'tool-call.ended' ? [event.outcome] : []))
    expect(outcomes).toEqual([...(enters ? ['completed'] : []), 'completed', 'denied'])
    expect(readFileSync(planFile(home.model), 'utf8')).toBe('First this.')
    expect(existsSync(other)).toBe(false)
  },
)
