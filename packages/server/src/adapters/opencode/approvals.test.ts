import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentConnection, AgentOutput } from '@parley/adapter-kit'
import { type BenchSession, connectInput, readTurn, readUntil, type Turn } from '@parley/adapter-kit/testing'
import { describe, expect, it } from 'vitest'
import { hostOf } from '../../testing/contract-host.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { opencodeConfig, opencodeEnvironment } from '../../testing/opencode-environment.ts'
import { bash, call, done, gitInit, OpenCodeUnderTest } from './opencode-under-test.ts'

const world = await OpenCodeUnderTest.forFile()
await world.stay(configured({}))

const decisions = (turn: Turn) => turn.all('permission.resolved').map(({ outcome, by }) => [outcome, by])
const ends = (turn: Turn) => turn.all('tool-call.ended').map(({ outcome }) => outcome)
const asked = (session: BenchSession, count: number) =>
  session.until(() => {
    const requests = session.all('permission.requested')
    return requests.length === count && requests
  })
/**
 * The agent with additional settings of the person. It has a subagent that may run commands without asking, and a model
 * to which OpenCode offers its patch tool.
 */
function configured(more: object) {
  const env = opencodeEnvironment({ url: world.server.url, home: world.home })
  const { agent, provider, ...config } = opencodeConfig(world.server.url) as {
    agent: object
    provider: { mock: { models: { m1: object } } }
  }
  const { mock } = provider
  const bold = { mode: 'subagent', description: 'bold', permission: { bash: 'allow' } }
  const models = { ...mock.models, 'gpt-5': mock.models.m1 }
  const settings = { ...config, agent: { ...agent, bold }, provider: { mock: { ...mock, models } }, ...more }
  return world.adapter({ env: { ...env, OPENCODE_CONFIG_CONTENT: JSON.stringify(settings) } })
}

describe('a call that OpenCode asks about', { timeout: 90_000 }, () => {
  it('is refused without a refusal of another waiting call, and the model continues', () =>
    world.onBench(async (bench) => {
      const session = await bench.session()
      const both = [bash('touch one', 'toolu_a'), bash('touch two', 'toolu_b')]
      const toolCalls = both.flatMap((answer) => ('toolCalls' in answer ? (answer.toolCalls ?? []) : []))
      const turn = await session.prompt(modelPrompt('Both.', { toolCalls }, { say: 'history' }))
      const [first, second] = await asked(session, 2)
      await session.command({
        type: 'permission.decide',
        requestId: first?.requestId ?? '',
        decision: 'deny',
        message: 'Not that one.',
      })
      expect(ends(turn)).toEqual([])
      await session.command({
        type: 'permission.decide',
        requestId: second?.requestId ?? '',
        decision: 'allow',
      })
      expect(await turn.ended()).toMatchObject({ outcome: 'completed' })
      expect(ends(turn).toSorted()).toEqual(['completed', 'denied'])
      expect(turn.said).toContain('Not that one.')
      const [denied, allowed] = first?.title === 'touch one' ? ['one', 'two'] : ['two', 'one']
      expect(await bench.file(denied)).toBeUndefined()
      expect(await bench.file(allowed)).toBe('')
    }))

  it('ends the turn if the person refuses the call and also ends the turn', () =>
    world.onBench(async (bench) => {
      const session = await bench.session()
      const turn = await session.prompt(modelPrompt('Touch it.', bash('touch here'), done))
      const { requestId } = await turn.asked()
      await session.command({ type: 'permission.decide', requestId, decision: 'deny', endTurn: true })
      expect(await turn.ended()).toMatchObject({ outcome: 'cancelled' })
      expect(await bench.file('here')).toBeUndefined()
      await (await session.prompt(modelPrompt('Hello.', done))).completed()
    }))

  it('gives one request, with the reason, even if OpenCode asks about it twice', () =>
    world.onBench(async (bench) => {
      const session = await bench.session()
      const command = 'cat /etc/hostname > /dev/null; echo seen'
      const turn = await session.prompt(modelPrompt('Look there.', bash(command), done))
      expect(await turn.asked()).toMatchObject({ tool: 'bash', reason: expect.stringContaining('/etc') })
      await turn.completed()
      expect(turn.all('permission.requested')).toHaveLength(1)
      expect(ends(turn)).toEqual(['completed'])
    }))

  const never = () => new Promise<never>(() => undefined)
  const say = (connection: AgentConnection, promptId: string, text: string) =>
    connection.send({
      type: 'prompt',
      prompt: { promptId, parts: [{ type: 'text', text }], delivery: 'queue', at: 0 },
    })

  it('is rejected when the turn is stopped, so that a late answer has no effect', async () => {
    const person = { forbids: () => false, permit: never, answer: never }
    const connection = await world.shared.connect(connectInput({ cwd: world.home, person }))
    const isAsked = (output: AgentOutput) =>
      output.type === 'native' && (output.message as { type: string }).type === 'permission.asked'
    await say(connection, 'prm_1', modelPrompt('Touch it.', bash('touch late'), done))
    await readUntil(connection, isAsked)
    const rest = readTurn(connection)
    await connection.interrupt()
    expect((await rest).at(-1)).toMatchObject({ type: 'turn.ended', outcome: 'cancelled' })
    await say(connection, 'prm_2', modelPrompt('Hello.', done))
    const outputs = await readTurn(connection)
    await connection.close()
    expect(outputs.at(-1)).toMatchObject({ outcome: 'completed' })
    const natives = outputs.flatMap((output) => (output.type === 'native' ? [output.message] : []))
    expect(natives).toContainEqual(
      expect.objectContaining({
        type: 'permission.replied',
        properties: expect.objectContaining({ reply: 'reject' }),
      }),
    )
    expect(existsSync(join(world.home, 'late'))).toBe(false)
  })

  it('does not run if the turn is stopped before OpenCode has started it', async () => {
    const connection = await world.shared.connect(connectInput({ cwd: world.home }))
    await say(connection, 'prm_1', modelPrompt('Touch it.', bash('touch early'), done))
    const turn = readTurn(connection)
    await connection.interrupt()
    expect((await turn).at(-1)).toMatchObject({ type: 'turn.ended', outcome: 'cancelled' })
    await say(connection, 'prm_2', modelPrompt('Hello.', done))
    const outputs = await readTurn(connection)
    await connection.close()
    expect(outputs.at(-1)).toMatchObject({ type: 'turn.ended', outcome: 'completed' })
    expect(existsSync(join(world.home, 'early'))).toBe(false)
  })
})

describe('a call that OpenCode would run without asking', { timeout: 90_000 }, () => {
  const wiping = modelPrompt('Wipe.', call('wipe', {}), done)
  const read = (filePath: string) => modelPrompt('Read it.', call('read', { filePath }), done)

  it('runs without asking if it is harmless and OpenCode itself would not ask', () =>
    world.onBench(async (bench) => {
      const path = (name: string) => join(bench.folder, name)
      writeFileSync(path('a.txt'), 'parsley')
      writeFileSync(path('.env'), 'SECRET=1')
      const session = await bench.session()
      const plain = await session.prompt(read(path('a.txt')))
      expect(await plain.ended()).toMatchObject({ outcome: 'completed' })
      expect(session.all('permission.requested')).toEqual([])
      expect(ends(plain)).toEqual(['completed'])
      const secret = await session.prompt(read(path('.env')))
      expect(await secret.asked()).toMatchObject({ tool: 'read', kind: 'read' })
      await secret.completed()
    }))

  it('does not run if Parley refuses it', () =>
    world.onBench(async (bench) => {
      writeFileSync(join(bench.folder, 'a.txt'), 'parsley')
      await hostOf(bench).addRule({ tool: 'read', decision: 'deny', scope: 'always' })
      const turn = await (await bench.session()).prompt(read(join(bench.folder, 'a.txt')))
      await turn.completed()
      expect(decisions(turn)).toEqual([['denied', 'rule']])
      expect(ends(turn)).toEqual(['denied'])
      const session = await bench.session({ mode: 'read-only' })
      const write = call('write', { filePath: join(bench.folder, 'b.txt'), content: 'b' })
      const writing = await session.prompt(modelPrompt('Write it.', write, done))
      await writing.completed()
      expect(decisions(writing)).toEqual([['denied', 'mode']])
      expect(await bench.file('b.txt')).toBeUndefined()
    }))

  it('does not run in a subagent either', () =>
    world.onBench(async (bench) => {
      const inner = modelPrompt('Touch it.', bash('touch inner'), done)
      const task = call('task', { description: 'touch', subagent_type: 'general', prompt: inner })
      const session = await bench.session()
      const turn = await session.prompt(modelPrompt('Delegate.', task, done))
      const ask = await turn.asked()
      const [delegation] = turn.all('tool-call.called')
      expect(ask).toMatchObject({ tool: 'bash', parentToolCallId: delegation?.toolCallId })
      expect(await bench.file('inner')).toBeUndefined()
      await turn.completed()
      expect(await bench.file('inner')).toBe('')
      expect(turn.all('permission.requested')).toHaveLength(1)
    }))

  it('needs permission although the settings of the person allow it', () =>
    world.onBench(
      async (bench) => {
        const session = await bench.session()
        const turn = await session.prompt(modelPrompt('Touch it.', bash('touch here'), done))
        expect(await turn.asked()).toMatchObject({ tool: 'bash' })
        await turn.completed()
      },
      configured({ permission: { '*': 'allow', bash: 'allow' } }),
    ))

  it('needs permission if it starts a subagent whose own settings allow more', () =>
    world.onBench(async (bench) => {
      const inner = modelPrompt('Touch it.', bash('touch inner'), done)
      const task = call('task', { description: 'touch', subagent_type: 'bold', prompt: inner })
      const turn = await (await bench.session()).prompt(modelPrompt('Delegate.', task, done))
      expect(await turn.asked()).toMatchObject({
        tool: 'task',
        kind: 'subagent',
        reason: 'This subagent may use these tools without asking: bash',
      })
      await turn.completed()
    }))

  it('does not run if the person’s OpenCode settings deny it', () =>
    world.onBench(
      async (bench) => {
        const session = await bench.session({ mode: 'bypass' })
        const turn = await session.prompt(modelPrompt('Touch it.', bash('touch here'), done))
        await turn.completed()
        expect(ends(turn)).toEqual(['failed'])
        expect(decisions(turn)).toEqual([])
        expect(await bench.file('here')).toBeUndefined()
      },
      configured({ permission: { bash: { 'touch *': 'deny' } } }),
    ))

  it('cannot use a tool that the person has added: the model does not get such a tool, because it never asks', async () => {
    const folder = join(world.home, '.config', 'opencode', 'tool')
    const wiped = join(world.home, 'wiped')
    mkdirSync(folder, { recursive: true })
    const wipe = `() => (writeFileSync(${JSON.stringify(wiped)}, ''), 'wiped')`
    const tool = `export default { description: 'wipes', args: {}, execute: async ${wipe} }`
    writeFileSync(join(folder, 'wipe.js'), `import { writeFileSync } from 'node:fs'\n${tool}\n`)
    await world.onBench(async (bench) => {
      const session = await bench.session({ mode: 'bypass' })
      const task = call('task', { description: 'wipe', subagent_type: 'general', prompt: wiping })
      await (await session.prompt(wiping)).completed()
      await (await session.prompt(modelPrompt('Delegate.', task, done))).completed()
      expect(session.all('tool-call.called').map(({ name }) => name)).toEqual(['invalid', 'task', 'invalid'])
      expect(session.all('agent.noticed').map(({ code }) => code)).toContain('tools-left-out')
    }, world.adapter())
    rmSync(folder, { recursive: true })
    expect(existsSync(wiped)).toBe(false)
  })

  it('does not run in plan mode, and runs after it', () =>
    world.onBench(async (bench) => {
      const write = call('write', { filePath: join(bench.folder, 'a.txt'), content: 'a' })
      const session = await bench.session({ mode: 'plan' })
      const plan = await session.prompt(modelPrompt('Write it.', write, done))
      await plan.completed()
      expect(await bench.file('a.txt')).toBeUndefined()
      await session.command({ type: 'session.configure', mode: 'ask' })
      await (await session.prompt(modelPrompt('Write it.', write, done))).completed()
      expect(await bench.file('a.txt')).toBe('a')
    }))
})

describe('mode accept-edits', { timeout: 90_000 }, () => {
  const write = (filePath: string) => modelPrompt('Write.', call('write', { filePath, content: 'new' }), done)
  const patch = (...lines: string[]) => {
    const patchText = ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')
    return modelPrompt('Patch.', call('apply_patch', { patchText }), done)
  }
  const denied = async (turn: Turn, ask: object) => {
    const request = await turn.asked()
    expect(request).toMatchObject(ask)
    await turn.decide(request, 'deny')
    await turn.completed()
    expect(ends(turn)).toEqual(['denied'])
  }

  it('asks about protected files, and about files outside the folder, even in its repository or behind a link', () =>
    world.onBench(async (bench) => {
      gitInit(bench.folder)
      const [cwd, other] = [join(bench.folder, 'inner'), join(world.home, 'other')]
      for (const folder of [cwd, other]) mkdirSync(folder)
      symlinkSync(other, join(cwd, 'link'))
      const session = await bench.session({ mode: 'accept-edits', cwd })
      const plain = await session.prompt(write(join(cwd, 'a.txt')))
      await plain.completed()
      expect(decisions(plain)).toEqual([['allowed', 'mode']])
      await denied(await session.prompt(write(join(cwd, 'link/a.txt'))), { tool: 'write' })
      await denied(await session.prompt(write(join(bench.folder, 'beside.txt'))), { tool: 'write' })
      symlinkSync(join(cwd, '.husky'), join(cwd, 'scripts'))
      mkdirSync(join(cwd, '.husky'))
      for (const file of ['.envrc', '.OpenCode/plugin/x.ts', 'scripts/pre-commit'])
        await denied(await session.prompt(write(join(cwd, file))), { tool: 'write', protected: true })
      expect(existsSync(join(other, 'a.txt'))).toBe(false)
      expect(await bench.file('beside.txt')).toBeUndefined()
    }))

  it('asks about a patch that deletes or moves files', () =>
    world.onBench(async (bench) => {
      writeFileSync(join(bench.folder, 'a.txt'), 'a\n')
      const session = await bench.session({ mode: 'accept-edits', model: 'mock/gpt-5' })
      const plain = await session.prompt(patch('*** Update File: a.txt', '@@', '-a', '+b'))
      await plain.completed()
      expect(decisions(plain)).toEqual([['allowed', 'mode']])
      expect(await bench.file('a.txt')).toBe('b\n')
      const both = patch('*** Add File: b.txt', '+b', '*** Add File: .vscode/tasks.json', '+{}')
      await denied(await session.prompt(both), { kind: 'edit', protected: true })
      const deletes = await session.prompt(patch('*** Delete File: a.txt'))
      await denied(deletes, { kind: 'delete', title: 'Delete a.txt' })
      const moves = await session.prompt(
        patch('*** Update File: a.txt', '*** Move to: c.txt', '@@', '-b', '+c'),
      )
      await denied(moves, { kind: 'move', title: 'Move a.txt to c.txt' })
      await session.command({ type: 'session.configure', mode: 'ask' })
      const update = ['*** Update File: a.txt', '@@', '-b', '+c']
      const two = await session.prompt(patch(...update, '*** Add File: d.txt', '+d'))
      await denied(two, {
        diffs: [
          { path: join(bench.folder, 'a.txt'), patch: expect.stringContaining('-b\n+c') },
          { path: join(bench.folder, 'd.txt'), patch: expect.stringContaining('+d') },
        ],
      })
      await session.command({ type: 'session.configure', mode: 'accept-edits' })
      const leaves = await session.prompt(patch('*** Add File: ../c.txt', '+c'))
      await denied(leaves, { kind: 'edit', title: 'Change ../c.txt' })
      expect(await bench.file('a.txt')).toBe('b\n')
    }))
})

describe('a server', { timeout: 90_000 }, () => {
  it.each([true, false])(
    'loads the settings of a folder only if the folder is trusted: %s',
    async (trusted) => {
      const cwd = join(world.home, `folder-${trusted}`)
      mkdirSync(cwd)
      const command = { tell: { template: 'Tell me', description: 'of the folder' } }
      writeFileSync(join(cwd, 'opencode.json'), JSON.stringify({ command }))
      const connection = await world.shared.connect(connectInput({ cwd, trusted }))
      const [connected] = await readUntil(connection, ({ type }) => type === 'agent.connected')
      const names =
        connected?.type === 'agent.connected' ? connected.commands?.map(({ name }) => name) : undefined
      expect(names?.includes('tell')).toBe(trusted)
      expect(connected).toMatchObject({ loaded: trusted ? ['user', 'project'] : ['user'] })
      await connection.close()
    },
  )

  it('serves many sessions, but not those with different settings', async () => {
    await world.onBench(async (bench) => {
      const hello = modelPrompt('Hello.', done)
      const [first, second] = [await bench.session(), await bench.session()]
      await Promise.all([(await first.prompt(hello)).completed(), (await second.prompt(hello)).completed()])
      await world.leave()
      expect(world.running('opencode serve')).toHaveLength(1)
      const mcpServers = { none: { command: 'false' } }
      const third = await bench.session({ mcpServers })
      await (await third.prompt(hello)).completed()
      expect(world.running('opencode serve')).toHaveLength(2)
      expect((await bench.host.state(third.id)).connection?.mcpServers).toMatchObject([
        { name: 'none', status: 'failed' },
      ])
      await third.command({ type: 'session.close' })
      await first.command({ type: 'session.close' })
      await (await second.prompt(hello)).completed()
      expect(world.running('opencode serve')).toHaveLength(1)
    })
  })
})

describe('a call outside a turn', { timeout: 90_000 }, () => {
  it("is asked about in a turn of the agent's own", () =>
    world.onBench(
      async (bench) => {
        const session = await bench.session()
        writeFileSync(world.faultsFile, 'after-check')
        const failed = await session.prompt(modelPrompt('Touch it.', bash('touch here'), done))
        expect(await failed.ended()).toMatchObject({ outcome: 'failed', stopReason: 'not_taken' })
        const [request] = await asked(session, 1)
        const own = session.all('turn.started')[1]
        expect(own).toMatchObject({ cause: { by: 'agent' } })
        expect(request).toMatchObject({ turnId: own?.turnId, title: 'touch here' })
        await session.command({
          type: 'permission.decide',
          requestId: request?.requestId ?? '',
          decision: 'allow',
        })
        await session.until(() => session.all('turn.ended')[1])
        expect(await bench.file('here')).toBe('')
      },
      world.adapter({ executable: world.faulty('steer') }),
    ))
})
