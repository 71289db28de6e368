import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentAdapter, ConnectInput, Person } from '@parley/adapter-kit'
import { allowingPerson, connectInput, promptMessage, readToEnd, readTurn } from '@parley/adapter-kit/testing'
import { ParleyError } from '@parley/protocol'
import { beforeEach, describe, expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import type { CodexSetup } from '../../testing/codex-environment.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { createCodexAdapter } from './index.ts'
import { processes, programs, until } from './programs-under-test.ts'

let home: AgentHome
beforeEach(async () => {
  home = await AgentHome.open()
  return () => home[Symbol.asyncDispose]()
})

const adapter = (setup: Partial<CodexSetup> = {}): AgentAdapter =>
  createCodexAdapter({
    env: home.env('codex', setup),
    agentsFolder: testAgentsFolder(),
  })

/** The shell that runs our hook, and the process that it started. */
function ownHook(): [number, number] | undefined {
  const all = processes()
  const parentOf = (pid: number) => all.find((one) => one.pid === pid)?.parent ?? 0
  const isOurs = (pid: number): boolean => pid === process.pid || (pid > 1 && isOurs(parentOf(pid)))
  const hooks = all.filter(({ line }) => line.includes('hook-program') && !line.includes('app-server'))
  const program = hooks.find(({ pid, parent }) => isOurs(pid) && hooks.some((one) => one.pid === parent))
  return program && [program.parent, program.pid]
}

async function refusalOf(codex: AgentAdapter, input: Partial<ConnectInput> = {}): Promise<unknown> {
  return codex.connect(connectInput({ cwd: home.path, ...input })).then(
    (connection) => connection.close(),
    (error: unknown) => error,
  )
}

describe('a session is not started if Codex does not run the hook', () => {
  const key = '/<session-flags>/config.toml:pre_tool_use:0:0'

  it.each([
    ['hooks are switched off', { hooks: false }],
    ['this hook is switched off', { settings: `[hooks.state."${key}"]\nenabled = false\n` }],
  ])('because %s', async (_why, setup) => {
    const refusal = await refusalOf(adapter(setup), { settings: { mode: 'read-only' } })
    expect(refusal).toBeInstanceOf(ParleyError)
    expect(refusal).toMatchObject({ code: 'agent_failed', message: expect.stringContaining('config.toml') })
    expect(programs()).toEqual([])
  })

  it('because the settings of the folder switch it off, while other sessions continue', async () => {
    const folder = join(home.path, 'project')
    mkdirSync(join(folder, '.codex'), { recursive: true })
    writeFileSync(join(folder, '.codex', 'config.toml'), '[features]\nhooks = false\n')
    const codex = adapter()
    const other = await codex.connect(connectInput({ cwd: home.path }))
    const refusal = await refusalOf(codex, { cwd: folder, trusted: true })
    expect(refusal).toMatchObject({ code: 'agent_failed', message: expect.stringContaining('hook') })
    expect(await refusalOf(codex, { cwd: folder, trusted: false })).toBeUndefined()
    await other.send(promptMessage(modelPrompt('Hello.', { content: 'Hello there.' })))
    expect((await readTurn(other)).at(-1)).toMatchObject({ outcome: 'completed' })
    await other.close()
    expect(programs()).toEqual([])
  })
})

it('a turn is interrupted, and its commands are ended, if the hook fails while it asks', async () => {
  const env = home.env('codex')
  mkdirSync(join(env.CODEX_HOME ?? '', 'rules'), { recursive: true })
  const rule = 'prefix_rule(pattern=["sleep"], decision="allow")\n'
  writeFileSync(join(env.CODEX_HOME ?? '', 'rules', 'default.rules'), rule)
  const seconds = `98${process.pid}`
  const never = new Promise<never>(() => undefined)
  const person: Person = { ...allowingPerson, forbids: ({ tool }) => tool === 'Bash', permit: () => never }
  const codex = adapter()
  const [connection, other] = [
    await codex.connect(connectInput({ cwd: home.path, person })),
    await codex.connect(connectInput({ cwd: home.path })),
  ]
  const command = JSON.stringify({ cmd: `sleep ${seconds}` })
  const toolCalls = [{ name: 'exec_command', id: 'toolu_a', arguments: command }]
  await connection.send(promptMessage(modelPrompt('Wait.', { toolCalls }, { content: 'Done.' })))
  const outputs = readToEnd(connection)
  const [shell, program] = await until(ownHook)
  // Kills the shell first, so that it cannot report the failure of its child.
  for (const pid of [shell, program]) process.kill(pid, 'SIGKILL')
  expect((await outputs).at(-1)).toMatchObject({
    type: 'agent.disconnected',
    reason: 'crashed',
    error: { code: 'agent_failed', message: expect.stringContaining('could not ask Parley') },
  })
  await until(() => processes(`sleep ${seconds}`).length === 0)
  await other.send(promptMessage(modelPrompt('Hello.', { content: 'Hello there.' })))
  expect((await readTurn(other)).at(-1)).toMatchObject({ outcome: 'completed' })
  await other.close()
  expect(programs()).toEqual([])
})
