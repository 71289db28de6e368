import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import { agentLeftovers, processMarks } from '@parley/adapter-kit/marked-processes'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import type { Host } from '../../core/index.ts'
import { logProblems } from '../../testing/invariants.ts'
import { folderForFile, folderForTest } from '../../testing/temporary-folder.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { createWorktrees } from '../../workspace/worktrees.ts'
import { lose, nodeHosts, script } from './hosts-under-test.ts'
import { PostgresServer } from './postgres-under-test.ts'

/** Tests that the agents and tools of a node that loses its sessions are ended. */

const server = await PostgresServer.forFile()
const folder = folderForFile()
const open = nodeHosts(server, folder)

type Started = { readonly sessionId: string; readonly program: ChildProcess; readonly others: string[] }
const programs: Started[] = []
afterEach(() => {
  for (const { program } of programs.splice(0)) program.kill('SIGKILL')
})

/** The scripted agent with a program that runs beside it. Only the next owner ends this program. */
function withProgram(scripted: AgentAdapter): AgentAdapter {
  return {
    ...scripted,
    connect(input) {
      const program = spawn('sleep', ['600'], {
        env: { PATH: process.env.PATH, ...input.env },
        stdio: 'ignore',
      })
      const running = programs.filter((other) => isRunning(other.program))
      programs.push({
        sessionId: input.sessionId,
        program,
        others: running.map(({ sessionId }) => sessionId),
      })
      return scripted.connect(input)
    },
  }
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

const ask = { type: 'permission', name: 'Write', kind: 'edit', title: 'Write' }
const waits = (host: Host, id: string) =>
  vi.waitUntil(async () => (await host.state(id)).requests.length === 1, 30_000)

async function allow(host: Host, id: string): Promise<void> {
  const [request] = (await host.state(id)).requests
  const requestId = request?.requestId ?? ''
  await host.command(id, {
    type: 'permission.decide',
    commandId: `d-${requestId}`,
    requestId,
    decision: 'allow',
  })
}

describe.runIf(existsSync('/proc'))('agents of a node that is gone', () => {
  it('are ended by the next owner before it starts its agent, and agents of other nodes are not', async () => {
    const url = await server.database()
    const options = { adapter: withProgram, leftovers: agentLeftovers }
    const [one, other] = [await open(url, options), await open(url, options)]
    const prompt = script(ask, { type: 'text', text: 'Done.' })
    const { id } = await one.host.create({ agent: 'scripted', cwd: folder, prompt })
    const { id: beside } = await other.host.create({ agent: 'scripted', cwd: folder, prompt })
    await waits(one.host, id)
    await waits(other.host, beside)
    await lose(one, other)
    await allow(other.host, id)
    await vi.waitUntil(async () => !(await other.host.state(id)).turn, 30_000)
    const { events } = await other.host.read(id, { after: 0, limit: 1_000 })
    const parked = events.map(({ json }) => JSON.parse(json)).find(({ type }) => type === 'turn.parked')
    expect(parked).toMatchObject({ reason: 'server-killed', recordedBy: 'node' })
    const of = (sessionId: string) => programs.filter((program) => program.sessionId === sessionId)
    expect(of(id)).toHaveLength(2)
    expect(of(id)[1]?.others).toEqual([beside])
    expect(of(beside).map(({ program }) => isRunning(program))).toEqual([true])
  })
})

it('a session that the next owner opens for a reader is continued without a command', async () => {
  const url = await server.database()
  const [one, other] = [await open(url), await open(url)]
  const { id } = await one.host.create({
    agent: 'scripted',
    cwd: folder,
    prompt: script({ type: 'pause', ms: 600_000 }),
  })
  await vi.waitUntil(async () => (await one.host.state(id)).turn?.delivered, 30_000)
  await lose(one, other)
  const reader = {
    following: () => undefined,
    deliver: () => undefined,
    caughtUp: () => undefined,
    ended: () => undefined,
  }
  const stop = await other.host.followOwned(id, { after: 0 }, reader)
  await vi.waitUntil(async () => !(await other.host.state(id)).turn, 30_000)
  stop()
  const { events } = await other.host.read(id, { after: 0, limit: 1_000 })
  const log = events.map(({ json }) => JSON.parse(json))
  expect(log.findLast(({ type }) => type === 'turn.ended')).toMatchObject({ outcome: 'unknown' })
  expect(logProblems(log)).toEqual([])
})

it('a host tool of a lost session is aborted, and its late result is not recorded by the next owner', async () => {
  const url = await server.database()
  const gate = Promise.withResolvers<void>()
  const signals: AbortSignal[] = []
  const tool = defineTool({
    name: 'deploy',
    description: 'Deploys.',
    input: z.object({}),
    annotations: { safe: true },
    async run(_, { signal }) {
      signals.push(signal)
      await gate.promise
      return 'deployed late'
    },
  })
  const [one, other] = [await open(url, { tools: [tool] }), await open(url, { tools: [tool] })]
  const prompt = script({ type: 'host-tool', name: 'deploy', input: {} })
  const { id } = await one.host.create({ agent: 'scripted', cwd: folder, prompt })
  await vi.waitUntil(() => signals.length === 1, 30_000)
  await lose(one, other)
  expect(signals[0]?.aborted).toBe(true)
  await other.host.adopt()
  await vi.waitUntil(async () => !(await other.host.state(id)).turn, 30_000)
  const { head } = await other.host.read(id, { after: 0, limit: 1 })
  gate.resolve()
  one.proxy.cut()
  one.proxy.resume()
  await vi.waitUntil(() => one.node.ownership.node !== undefined, 30_000)
  await expect(one.host.command(id, { type: 'session.close', commandId: 'late' })).rejects.toMatchObject({
    code: 'conflict',
  })
  const { events } = await other.host.read(id, { after: 0, limit: 1_000 })
  expect(events).toHaveLength(head)
  expect(JSON.stringify(events)).not.toContain('deployed late')
  expect(logProblems(events.map(({ json }) => JSON.parse(json)))).toEqual([])
})

it('a worktree that its owner has not completed is completed by the next owner, and its prompt runs once', async () => {
  const repository = realpathSync(folderForTest())
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@example.com', ...args], { cwd: repository })
  git('init', '-q', '-b', 'main')
  git('commit', '-q', '--allow-empty', '-m', 'first')
  const url = await server.database()
  const worktreesIn = (root: string) => createWorktrees({ env: process.env, root, marks: processMarks })
  const one = await open(url, { worktrees: worktreesIn(join(folderForTest(), 'worktrees')) })
  const two = await open(url, { worktrees: worktreesIn(join(folderForTest(), 'worktrees')) })
  const place = 'machine:here'
  const setup = 'echo x >> ran; until [ -e "$PARLEY_SOURCE/go" ]; do sleep 0.05; done'
  const setting = { project: join(repository, '.git'), place, field: 'setup' as const, value: setup, at: 0 }
  await one.node.store.setProjectSettings([setting])
  const prompt = script({
    type: 'tool',
    name: 'Bash',
    kind: 'execute',
    effect: { writeFile: { path: 'done', text: 'x' } },
  })
  const { id, worktree } = await one.host.create({ agent: 'scripted', cwd: repository, prompt, worktree: {} })
  const path = worktree?.path ?? ''
  await vi.waitUntil(() => existsSync(join(path, 'ran')), 20_000)
  await lose(one, two)
  await two.host.adopt()
  await vi.waitUntil(() => readFileSync(join(path, 'ran'), 'utf8') === 'x\nx\n', 20_000)
  writeFileSync(join(repository, 'go'), '')
  await vi.waitUntil(async () => (await two.host.state(id)).turns === 1, 20_000)
  expect(readFileSync(join(path, 'done'), 'utf8')).toBe('x')
  expect((await two.host.state(id)).worktree).toMatchObject({ phase: 'ready', setup: { exitCode: 0 } })
})
