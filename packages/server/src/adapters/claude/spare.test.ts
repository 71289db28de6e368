import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentAdapter, PreparedAgent } from '@parley/adapter-kit'
import { childrenWith } from '@parley/adapter-kit/testing'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type CreateHostOptions, createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { TestReader } from '../../testing/reader.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { createClaudeAdapter } from './index.ts'

const root = await AgentHome.forFile()

const fine = { content: 'Fine.' }
const call = (name: string, input: unknown) => ({
  toolCalls: [{ name, id: 'toolu_one', arguments: JSON.stringify(input) }],
})
const git = (cwd: string, ...args: string[]) => execFileSync('git', args, { cwd })

/** A part of the command line of every Claude Code that is started here. */
const program = 'claude-agent-sdk-'

/** A home, a host with one spare of Claude Code, and counts of the sessions with and without a spare. */
async function world(options: Partial<CreateHostOptions> = {}) {
  const home = root.folder('home')
  const config = join(home, '.claude')
  mkdirSync(config)
  const claude = createClaudeAdapter({ env: root.env('claude', { home }) })
  let cold = 0
  let taken = 0
  const kept: PreparedAgent[] = []
  const adapter: AgentAdapter = {
    ...claude,
    async connect(input) {
      cold += 1
      return claude.connect(input)
    },
    async prepare(input) {
      const agent = (await claude.prepare?.(input)) as PreparedAgent
      const { connect } = agent
      agent.connect = (session) => {
        taken += 1
        return connect(session)
      }
      kept.push(agent)
      return agent
    },
  }
  const host = await createHost({
    adapters: [adapter],
    store: createMemoryStore(),
    limits: { maxSpares: 1, parkAfterMs: 60_000 },
    ...options,
  })
  onTestFinished(async () => {
    await host.close()
    await expect.poll(() => childrenWith(program)).toEqual([])
  })
  const folder = (name: string) => root.folder(name)
  /** Makes the host start a spare, by announcing a session in a folder. */
  const keepOne = async (cwd: string, settings = {}) =>
    host.prepareSession({ agent: 'claude', cwd, ...settings })
  const run = async (cwd: string, prompt: string, settings = {}) => {
    const { id } = await host.create({ agent: 'claude', cwd, prompt, ...settings })
    const reader = new TestReader(id)
    await reader.follow(host)
    return reader
  }
  const end = (reader: TestReader) => reader.until(({ state }) => state.turns === 1)
  return { home, config, claude, host, kept, folder, keepOne, run, end, cold: () => cold, taken: () => taken }
}

/** The requests that the model received after its first `calls` requests. */
const modelRequests = (calls: number) => JSON.stringify(root.model.calls.slice(calls).map(({ body }) => body))

it('a spare serves a session like a process that is started for it', async () => {
  const { folder, keepOne, run, end, host, cold } = await world()
  const cwd = folder('work')
  await keepOne(cwd, { mode: 'ask', model: 'claude-opus-4-5' })
  const text = modelPrompt(
    'Write.',
    call('Bash', { command: 'echo one > one.txt', description: 'write' }),
    fine,
  )
  const calls = root.model.calls.length
  const reader = await run(cwd, text, { model: 'claude-opus-4-5' })
  await reader.until(({ state }) => state.requests.length === 1)
  expect(existsSync(join(cwd, 'one.txt'))).toBe(false)
  const [request] = reader.view.state.requests
  await host.command(reader.sessionId, {
    type: 'permission.decide',
    commandId: 'yes',
    requestId: request!.requestId,
    decision: 'allow',
  })
  await end(reader)
  expect(existsSync(join(cwd, 'one.txt'))).toBe(true)
  expect(reader.view.state.lastTurn).toMatchObject({ outcome: 'completed' })
  expect(root.model.calls.slice(calls).map(({ body }) => body?.model)).toContain('claude-opus-4-5')
  expect(cold()).toBe(0)
})

it('a spare reads the folder when the session is created, and no other folder', async () => {
  const { folder, host, kept, run, end, cold } = await world()
  const [first, second] = [folder('first'), folder('second')]
  for (const cwd of [first, second]) git(cwd, 'init', '-q', '-b', 'before')
  writeFileSync(join(first, 'CLAUDE.md'), 'The word of the first folder is parsley.')
  writeFileSync(join(second, 'CLAUDE.md'), 'The word of the second folder is sage.')
  await host.trust(root.path)
  await end(await run(first, modelPrompt('Begin.', fine)))
  await expect.poll(() => kept.length, { timeout: 30_000 }).toBe(1)
  git(second, 'checkout', '-q', '-b', 'after')
  writeFileSync(join(second, 'CLAUDE.md'), 'The word of the second folder is thyme.')
  const calls = root.model.calls.length
  await end(await run(second, modelPrompt('Begin.', fine)))
  expect(cold()).toBe(1)
  const words = ['is thyme.', 'Current branch: after', 'parsley', 'is sage.', first, '/spares/']
  expect(words.map((one) => modelRequests(calls).includes(one))).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ])
})

it('a spare runs the session-start hooks with the session, not before', async () => {
  const { folder, config, keepOne, run, end, home, cold } = await world()
  const marker = join(home, 'hooked')
  const hook = { hooks: [{ type: 'command', command: `echo once >> '${marker}'` }] }
  writeFileSync(join(config, 'settings.json'), JSON.stringify({ hooks: { SessionStart: [hook] } }))
  const cwd = folder('work')
  await keepOne(cwd)
  expect(existsSync(marker)).toBe(false)
  await end(await run(cwd, modelPrompt('Begin.', fine)))
  expect(execFileSync('cat', [marker], { encoding: 'utf8' })).toBe('once\n')
  expect(cold()).toBe(0)
})

it.each([
  ['a hook that is told which instructions were loaded', 'hook'],
  ['an MCP server of the folder', 'server'],
  ['an MCP server of a parent folder', 'outer server'],
])('a spare starts %s with the session, not before', async (_what, kind) => {
  const { folder, host, keepOne, run, end, home, cold } = await world()
  const marker = join(home, 'ran')
  const command = `echo ran >> '${marker}'`
  const outer = folder('work')
  const cwd = join(outer, 'inner')
  mkdirSync(join(cwd, '.claude'), { recursive: true })
  writeFileSync(join(cwd, 'CLAUDE.md'), 'The word is parsley.')
  const hooks = { InstructionsLoaded: [{ hooks: [{ type: 'command', command }] }] }
  const mcpServers = { own: { command: '/bin/sh', args: ['-c', command] } }
  if (kind === 'hook') writeFileSync(join(cwd, '.claude', 'settings.json'), JSON.stringify({ hooks }))
  else writeFileSync(join(kind === 'server' ? cwd : outer, '.mcp.json'), JSON.stringify({ mcpServers }))
  await host.trust(outer)
  await keepOne(cwd)
  await end(await run(folder('other'), modelPrompt('Begin.', fine)))
  expect(existsSync(marker)).toBe(false)
  await end(await run(cwd, modelPrompt('Begin.', fine)))
  await expect.poll(() => existsSync(marker)).toBe(true)
  expect(cold()).toBe(1)
})

it('a spare offers host tools to the session that uses it', async () => {
  const seen: string[] = []
  const tool = defineTool({
    name: 'note',
    description: 'Notes words.',
    input: z.object({ words: z.string() }),
    annotations: { safe: true },
    run: ({ words }, { sessionId }) => {
      seen.push(`${sessionId} ${words}`)
      return 'noted'
    },
  })
  const { folder, keepOne, run, end, cold } = await world({ tools: [tool] })
  const cwd = folder('work')
  await keepOne(cwd)
  const reader = await run(cwd, modelPrompt('Note.', call('mcp__parley__note', { words: 'parsley' }), fine))
  await end(reader)
  expect(seen).toEqual([`${reader.sessionId} parsley`])
  expect(cold()).toBe(0)
})

const killParked = () => {
  for (const pid of childrenWith('--await-claim')) process.kill(pid, 'SIGKILL')
}
const changeSettings = (config: string) => writeFileSync(join(config, 'settings.json'), '{"model":"opus"}')

it.each([
  ['its process was killed', killParked],
  ['the settings of the person have changed', changeSettings],
])('a spare is not used after %s', async (_why, change) => {
  const { folder, keepOne, run, end, config, kept, cold } = await world()
  const cwd = folder('work')
  await keepOne(cwd)
  change(config)
  await expect.poll(() => kept[0]?.isUsable).toBe(false)
  const reader = await run(cwd, modelPrompt('Begin.', fine))
  await end(reader)
  expect(reader.view.state.lastTurn).toMatchObject({ outcome: 'completed' })
  expect(cold()).toBe(1)
})

it('a spare ends when the session that uses it cancels its start', async () => {
  const { folder, host, run, end, kept, taken } = await world()
  await end(await run(folder('first'), modelPrompt('Begin.', fine)))
  await expect.poll(() => kept.length, { timeout: 30_000 }).toBe(1)
  const parked = childrenWith('--await-claim')
  expect(parked).toHaveLength(1)
  // Stops the process, so that it no longer responds.
  for (const pid of parked) process.kill(pid, 'SIGSTOP')
  const { sessionId } = await run(folder('second'), modelPrompt('Begin.', fine))
  await expect.poll(taken).toBe(1)
  await host.command(sessionId, { type: 'turn.cancel', commandId: 'enough' })
  await expect.poll(() => childrenWith('--await-claim')).toEqual([])
})

it('a spare is not started if its start was already aborted', async () => {
  const { claude } = await world()
  const signal = AbortSignal.abort(new Error('another is kept'))
  await expect(claude.prepare?.({ settings: {}, trusted: false, signal })).rejects.toThrow('another is kept')
  expect(childrenWith(program)).toEqual([])
})

it('a newly started process serves a folder that the spare cannot serve', async () => {
  const { folder, host, run, end, kept, cold } = await world()
  const [first, second] = [folder('first'), folder('second')]
  await host.trust(root.path)
  mkdirSync(join(second, '.claude'))
  writeFileSync(join(second, '.claude', 'settings.json'), JSON.stringify({ env: { WORD: 'parsley' } }))
  await end(await run(first, modelPrompt('Begin.', fine)))
  await expect.poll(() => kept.length, { timeout: 30_000 }).toBe(1)
  const calls = root.model.calls.length
  const reader = await run(second, modelPrompt('Begin.', fine))
  await end(reader)
  expect(reader.view.state.lastTurn).toMatchObject({ outcome: 'completed' })
  expect(modelRequests(calls).split('Begin.')).toHaveLength(2)
  expect(cold()).toBe(2)
})
