import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NewRule, PermissionMode, SessionEvent } from '@parley/protocol'
import { expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { SessionsByMode } from './sessions-by-mode-under-test.ts'

/** A home whose Claude Code settings allow the command `touch`. */
const home = await AgentHome.forFile()
mkdirSync(join(home.path, '.claude'))
writeFileSync(
  join(home.path, '.claude', 'settings.json'),
  '{ "permissions": { "allow": ["Bash(touch:*)"] } }',
)

const touch = { name: 'Bash', id: 'toolu_a', arguments: '{"command":"touch done.txt","description":"touch"}' }
const touching = modelPrompt('Touch it.', { toolCalls: [touch] }, { content: 'I tried.' })

const shared = new SessionsByMode(home)
/** For tests that start Claude Code. Each mode is used in one test only, so that its session is new. */
const fresh = new SessionsByMode(home)

async function play(
  mode: PermissionMode,
  rule?: NewRule,
  { prompt = touching, sessions = shared } = {},
): Promise<{ ran: boolean; events: SessionEvent[] }> {
  const { cwd, events } = await sessions.play(mode, prompt, rule)
  const file = join(cwd, 'done.txt')
  const ran = existsSync(file)
  rmSync(file, { force: true })
  return { ran, events }
}

const decisions = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'permission.resolved' ? [[event.outcome, event.by]] : []))
const ends = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'tool-call.ended' ? [event.outcome] : []))
const deny: NewRule = { tool: 'Bash', match: { command: 'touch *' }, decision: 'deny', scope: 'always' }

it.each(['ask', 'bypass'] as const)(
  'runs a command that Claude Code approves by itself, in mode %s',
  async (mode) => {
    const { ran, events } = await play(mode)
    expect({ ran, decisions: decisions(events), ends: ends(events) }).toEqual({
      ran: true,
      decisions: [],
      ends: ['completed'],
    })
  },
)

it.each([
  ['read-only', undefined, 'mode'],
  ['ask', deny, 'rule'],
  ['bypass', deny, 'rule'],
] as const)('does not run a command that Parley refuses: mode %s', async (mode, rule, by) => {
  const { ran, events } = await play(mode, rule)
  expect({ ran, decisions: decisions(events), ends: ends(events) }).toEqual({
    ran: false,
    decisions: [['denied', by]],
    ends: ['denied'],
  })
})

it.each(['ask', 'bypass'] as const)(
  'a rule that exists before Claude Code is started refuses a command: mode %s',
  async (mode) => {
    const { ran, events } = await play(mode, deny, { sessions: fresh })
    expect({ ran, decisions: decisions(events), ends: ends(events) }).toEqual({
      ran: false,
      decisions: [['denied', 'rule']],
      ends: ['denied'],
    })
  },
)

it('a rule that denies subagents applies in every mode', async () => {
  const input = { description: 'look', subagent_type: 'general-purpose', prompt: 'Look.' }
  const call = { name: 'Agent', id: 'toolu_a', arguments: JSON.stringify(input) }
  const prompt = modelPrompt('Delegate.', { toolCalls: [call] }, { content: 'I tried.' })
  const agents = ['Task', 'Agent'].map((tool) => ({ tool, decision: 'deny', scope: 'always' }) as const)
  for (const mode of ['ask', 'bypass', 'read-only'] as const) {
    const allowed = await play(mode, undefined, { prompt })
    expect(ends(allowed.events)[0]).toBe('completed')
    const called = allowed.events.find((event) => event.type === 'tool-call.called')
    const rule = agents.find(({ tool }) => called?.type === 'tool-call.called' && called.name === tool)
    const refused = await play(mode, rule, { prompt })
    expect(ends(refused.events)).toEqual(['denied'])
  }
})
