import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentConnection, AgentOutput, Person } from '@parley/adapter-kit'
import { allowingPerson, connectInput, promptMessage, readUntil } from '@parley/adapter-kit/testing'
import { beforeEach, expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import type { ModelAnswer, ModelRequest } from '../../testing/model-server.ts'
import { createCodexAdapter } from './index.ts'

/** A home whose Codex rules allow `touch` without asking. */
const home = await AgentHome.forFile({ answers: 'script' })
mkdirSync(join(home.path, '.codex', 'rules'), { recursive: true })
const rule = 'prefix_rule(pattern=["touch"], decision="allow")\n'
writeFileSync(join(home.path, '.codex', 'rules', 'default.rules'), rule)
let cwd: string
beforeEach(() => {
  cwd = home.folder('work')
})

const call = (name: string, input: unknown, id: string): ModelAnswer => ({
  toolCalls: [{ name, id, arguments: JSON.stringify(input) }],
})
const touch = call('exec_command', { cmd: 'touch done.txt' }, 'toolu_touch')
const done: ModelAnswer = { content: 'That is done.' }
const isOf = (words: string) => (request: ModelRequest) => JSON.stringify(request.messages).includes(words)
const steps = (...answers: ModelAnswer[]) => answers.map((response) => ({ response }))

const refusing: Person = {
  ...allowingPerson,
  forbids: ({ tool }) => tool === 'Bash',
  permit: async () => ({ outcome: 'denied', requestId: 'req', message: 'Not this.' }),
}
const adapter = (secondSubagents: boolean) =>
  createCodexAdapter({
    env: home.env('codex', { secondSubagents }),
    agentsFolder: testAgentsFolder(),
  })
const kinds = {
  first: call('multi_agent_v1/spawn_agent', { message: 'Look.' }, 'toolu_spawn'),
  second: call(
    'collaboration/spawn_agent',
    { task_name: 'look', fork_turns: 'none', message: 'Look.' },
    'toolu_spawn',
  ),
}

/** Makes a subagent run these steps, and waits until it has ended. */
async function delegate(connection: AgentConnection, kind: keyof typeof kinds, ...does: ModelAnswer[]) {
  home.model.script(isOf('Delegate.'), steps(kinds[kind], done, done))
  home.model.script(
    (request) => !isOf('Delegate.')(request) && !isOf('Go on.')(request),
    steps(...does, done),
  )
  await connection.send(promptMessage('Delegate.'))
  return readUntil(connection, (output) => output.type === 'task.updated' && output.status !== 'running')
}

const ends = (outputs: readonly AgentOutput[], id: string) =>
  outputs.flatMap((output) =>
    output.type === 'tool-call.ended' && output.toolCallId === id ? [output.outcome] : [],
  )

const modelInput = () => home.model.calls.map(({ body }) => JSON.stringify(body?.input ?? '')).join('\n')

it.each(['first', 'second'] as const)('gives no terminal to a subagent of the %s kind', async (kind) => {
  const connection = await adapter(kind === 'second').connect(connectInput({ cwd }))
  await delegate(connection, kind, call('exec_command', { cmd: 'touch done.txt', tty: true }, 'toolu_touch'))
  await connection.close()
  expect(modelInput()).toContain('TTY execution is disabled')
  expect(existsSync(join(cwd, 'done.txt'))).toBe(false)
})

it.each(['first', 'second'] as const)('refuses a call of a subagent of the %s kind', async (kind) => {
  const settings = { mode: 'ask' as const }
  const connection = await adapter(kind === 'second').connect(
    connectInput({ cwd, settings, person: refusing }),
  )
  await delegate(connection, kind, touch)
  await connection.close()
  expect(modelInput()).toContain('Not this.')
  expect(existsSync(join(cwd, 'done.txt'))).toBe(false)
})

it('refuses a call of a subagent that is resumed as a conversation of its own', async () => {
  const codex = adapter(false)
  const first = await codex.connect(connectInput({ cwd }))
  const firstOutputs = await delegate(first, 'first')
  const subagent = firstOutputs.find((output) => output.type === 'task.updated')?.taskId ?? ''
  await first.close()
  home.model.script(isOf('Go on.'), steps(touch, done))
  const resume = { agentSessionId: subagent, turns: 1 }
  const second = await codex.connect(connectInput({ cwd, person: refusing, resume }))
  await second.send(promptMessage('Go on.'))
  const outputs = await readUntil(second, ({ type }) => type === 'turn.ended')
  await second.close()
  expect([existsSync(join(cwd, 'done.txt')), ends(outputs, 'toolu_touch')]).toEqual([false, ['denied']])
})

it.each(['first', 'second'] as const)(
  'reports whether a command of a subagent of the %s kind leaves its sandbox',
  async (kind) => {
    const inputs: unknown[] = []
    const person: Person = {
      ...allowingPerson,
      async permit({ input }) {
        inputs.push(input)
        return { outcome: 'allowed', requestId: 'req' }
      },
    }
    const settings = { mode: 'ask' as const }
    const connection = await adapter(kind === 'second').connect(connectInput({ cwd, settings, person }))
    const escalated = { cmd: 'mkdir two', sandbox_permissions: 'require_escalated' }
    const runs = [
      call('exec_command', { cmd: 'mkdir one' }, 'toolu_one'),
      call('exec_command', escalated, 'toolu_two'),
    ]
    await delegate(connection, kind, ...runs)
    await connection.close()
    expect(inputs).toEqual([
      { command: 'mkdir one' },
      { command: 'mkdir two', sandbox_permissions: 'require_escalated' },
    ])
  },
)
