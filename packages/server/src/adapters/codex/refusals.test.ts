import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type NewRule, type NewSessionInput, newId, type SessionEvent } from '@parley/protocol'
import { afterAll, expect, it, onTestFailed } from 'vitest'
import type { Host } from '../../core/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import type { ModelAnswer } from '../../testing/model-server.ts'
import { TestReader } from '../../testing/reader.ts'
import { createCodexAdapter } from './index.ts'

/** A home whose Codex rules allow the command `touch` without asking. */
const home = await AgentHome.forFile()
mkdirSync(join(home.path, '.codex', 'rules'), { recursive: true })
writeFileSync(
  join(home.path, '.codex', 'rules', 'default.rules'),
  'prefix_rule(pattern=["touch"], decision="allow")\n',
)

const call = (name: string, input: unknown): ModelAnswer => ({
  toolCalls: [{ name, id: 'toolu_a', arguments: JSON.stringify(input) }],
})
const run = (cmd: string) => call('exec_command', { cmd })
const echo = {
  command: process.execPath,
  args: ['--conditions=source', new URL('../../testing/mcp-echo.ts', import.meta.url).pathname],
}

// All tests share one host, whose sessions share one Codex process. After a failed test, the next test gets a new host.
let shared: Promise<Host> | undefined
const closeHost = async () => {
  const closing = shared
  shared = undefined
  await (await closing)?.close()
}
afterAll(closeHost)

type Played = { ran: boolean; events: SessionEvent[]; written: string }

async function play(
  answer: ModelAnswer,
  { rule, ...session }: { rule?: NewRule } & Partial<NewSessionInput> = {},
): Promise<Played> {
  const cwd = home.folder('work')
  writeFileSync(join(cwd, 'poem.txt'), 'roses are red')
  const env = home.env('codex')
  const adapters = [createCodexAdapter({ env, agentsFolder: testAgentsFolder() })]
  onTestFailed(closeHost)
  shared ??= createHost({ adapters, store: createMemoryStore() })
  const host = await shared
  const added = rule && (await host.addRule(rule))
  const { id } = await host.create({ agent: 'codex', cwd, ...session })
  const reader = new TestReader(id)
  await reader.follow(host)
  const say = async (text: string) => {
    const turns = reader.view.state.turns + 1
    await host.command(id, { type: 'prompt.submit', text, delivery: 'queue', commandId: newId('cmd') })
    await reader.until(({ state }) => state.turns === turns)
  }
  if (session.mcpServers) {
    // Runs a first turn and waits for the MCP server: Codex starts a turn without the tools of a server that is slow to
    // start.
    await say(modelPrompt('Hello.', { content: 'Hello.' }))
    await reader.until(({ state }) => state.connection?.mcpServers?.[0]?.status === 'ready')
  }
  await say(modelPrompt('Do it.', answer, { say: 'history' }))
  const read = await host.read(id, { after: 0, limit: 1000 })
  if (added) await host.removeRule(added.ruleId)
  const events = read.events.map(({ json }) => JSON.parse(json) as SessionEvent)
  const written = events.flatMap((event) => (event.type === 'text.written' ? [event.text] : [])).join('\n')
  return { ran: existsSync(join(cwd, 'done.txt')), events, written }
}

const decisions = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'permission.resolved' ? [[event.outcome, event.by]] : []))
const ends = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'tool-call.ended' ? [event.outcome] : []))
const noTouch: NewRule = { tool: 'Bash', match: { command: 'touch *' }, decision: 'deny', scope: 'always' }

it.each(['ask', 'bypass'] as const)(
  'runs a command that Codex approves by itself, in mode %s',
  async (mode) => {
    const { ran, events } = await play(run('touch done.txt'), { mode })
    expect({ ran, decisions: decisions(events), ends: ends(events) }).toEqual({
      ran: true,
      decisions: [],
      ends: ['completed'],
    })
  },
)

it.each([
  ['read-only', undefined, 'mode', 'This session is read-only.'],
  ['ask', noTouch, 'rule', 'A rule refuses Bash where command is touch *.'],
  ['bypass', noTouch, 'rule', 'A rule refuses Bash where command is touch *.'],
] as const)('does not run a command that Parley refuses: mode %s', async (mode, rule, by, why) => {
  const { ran, events, written } = await play(run('touch done.txt'), { mode, ...(rule && { rule }) })
  expect({ ran, decisions: decisions(events), ends: ends(events) }).toEqual({
    ran: false,
    decisions: [['denied', by]],
    ends: ['denied'],
  })
  expect(written).toContain(why)
})

it('in bypass, runs every command except those that a rule refuses', async () => {
  const rule: NewRule = { tool: 'Bash', match: { command: 'printf *' }, decision: 'deny', scope: 'always' }
  const refused = await play(run('printf a > done.txt'), { mode: 'bypass', rule })
  expect([refused.ran, decisions(refused.events)]).toEqual([false, [['denied', 'rule']]])
  const allowed = await play(run('printf a > done.txt'), { mode: 'bypass' })
  expect([allowed.ran, decisions(allowed.events)]).toEqual([true, [['allowed', 'mode']]])
})

it('in a read-only session, only reads', async () => {
  const read = await play(run('cat poem.txt'), { mode: 'read-only' })
  expect(read.written).toContain('roses are red')
  expect(decisions(read.events)).toEqual([['allowed', 'mode']])
  const wrote = await play(run('cat poem.txt > done.txt'), { mode: 'read-only' })
  expect([wrote.ran, decisions(wrote.events), ends(wrote.events)]).toEqual([
    false,
    [['denied', 'mode']],
    ['denied'],
  ])
})

it('in accept-edits, allows edits without asking unless a rule refuses them', async () => {
  const patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: done.txt\n+a\n*** End Patch\nEOF\n"
  const edited = await play(run(patch), { mode: 'accept-edits' })
  expect([edited.ran, decisions(edited.events)]).toEqual([true, [['allowed', 'mode']]])
  expect(edited.events).toContainEqual(
    expect.objectContaining({
      type: 'tool-call.ended',
      outcome: 'completed',
      content: [{ type: 'diff', path: expect.stringMatching(/done\.txt$/), before: null, after: 'a\n' }],
    }),
  )
  const rule: NewRule = {
    tool: 'apply_patch',
    match: { paths: '*done.txt*' },
    decision: 'deny',
    scope: 'always',
  }
  const refused = await play(run(patch), { mode: 'accept-edits', rule })
  expect([refused.ran, decisions(refused.events), ends(refused.events)]).toEqual([
    false,
    [['denied', 'rule']],
    ['denied'],
  ])
})

it.each([
  ['a tool of an MCP server', call('mcp__echo/say', { words: 'parsley' }), 'mcp__echo__say'],
  ['a tool that Codex considers safe', call('view_image', { path: 'poem.txt' }), 'view_image'],
] as const)('a rule refuses %s', async (_what, answer, tool) => {
  const rule: NewRule = { tool, decision: 'deny', scope: 'always' }
  const { events, written } = await play(answer, { rule, mode: 'bypass', mcpServers: { echo } })
  expect(written).toContain(`A rule refuses ${tool}.`)
  expect([decisions(events), ends(events)]).toEqual([[['denied', 'rule']], ['denied']])
})

it('does not offer a tool that a rule refuses if Codex never asks about it', async () => {
  const spawn = call('collaboration/spawn_agent', { task_name: 'a', message: 'b' })
  const rule: NewRule = { tool: 'spawn_agent', decision: 'deny', scope: 'always' }
  const { written } = await play(spawn, { rule })
  expect(written).toContain('unsupported call')
})

it('allows only the tools in the list of the session', async () => {
  const { ran, events } = await play(run('touch done.txt'), { options: { tools: ['apply_patch'] } })
  expect([ran, decisions(events), ends(events)]).toEqual([false, [['denied', 'rule']], ['denied']])
})
