import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, createClient, type Mirror } from '@parley/client'
import type { OpenRequest, SessionEvent, SessionState } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { processesIn } from '../../packages/server/src/testing/child-processes.ts'
import { logProblems } from '../../packages/server/src/testing/invariants.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import type { ModelAnswer } from '../../packages/server/src/testing/model-server.ts'
import { KillableServer } from './killable-server.ts'

/** Tests the real Claude Code behind the real server, and kills both. The model is scripted, on loopback. */
const rounds = Number(process.env.PARLEY_CLAUDE_ROUNDS ?? 2)
const server = new KillableServer()
const home = await AgentHome.forFile()
const { model } = home
let client: Client

beforeAll(async () => {
  server.claudeEnvironment = home.env('claude')
  await server.start()
  client = createClient({ url: server.url, token: server.token, backoff: { baseMs: 10, maxMs: 100 } })
})

afterAll(async () => {
  client?.close()
  await server.dispose()
})

const call = (command: string, id: string) => ({
  name: 'Bash',
  id,
  arguments: JSON.stringify({ command, description: 'a command' }),
})
const done: ModelAnswer = { content: 'That is done.' }
const writing = (...files: string[]): ModelAnswer => ({
  toolCalls: files.map((file) => call(`printf x | tee -a ${file}`, `toolu_${file}`)),
})

let folders = 0
async function begin(text: string): Promise<{ mirror: Mirror; folder: string }> {
  const folder = join(server.folder, `work-${++folders}`)
  mkdirSync(folder)
  const { id } = await client.createSession({ agent: 'claude', cwd: folder })
  const mirror = client.mirror(id, { tail: 'all' })
  await client.prompt(id, text)
  return { mirror, folder }
}

async function when(mirror: Mirror, fact: (state: SessionState) => boolean): Promise<SessionState> {
  const { view } = await mirror.until(({ status, view: { state } }) => status === 'live' && fact(state))
  return view.state
}

async function request(mirror: Mirror, stale = false): Promise<OpenRequest> {
  const { requests } = await when(mirror, (state) => state.requests.some((one) => one.stale === stale))
  return requests[0]!
}

async function finished(mirror: Mirror): Promise<SessionEvent[]> {
  await when(mirror, (state) => !state.turn && state.turns > 0)
  const { events } = await client.call('events', {
    params: { id: mirror.sessionId },
    query: { after: 0, limit: 5000 },
  })
  expect(logProblems(events as SessionEvent[])).toEqual([])
  return events as SessionEvent[]
}

const runs = (folder: string, file: string) =>
  existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8').length : 0

const outcomes = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'turn.ended' ? [event.outcome] : []))

describe('a command', () => {
  it('runs when it is allowed, and not before', async () => {
    const { mirror, folder } = await begin(modelPrompt('Write.', writing('a'), done))
    const { requestId } = await request(mirror)
    expect(runs(folder, 'a')).toBe(0)
    await client.decide(mirror.sessionId, requestId, 'allow')
    expect(outcomes(await finished(mirror))).toEqual(['completed'])
    expect(runs(folder, 'a')).toBe(1)
  })

  it('does not run when it is denied, and the model receives the reason', async () => {
    const { mirror, folder } = await begin(modelPrompt('Write.', writing('a'), { say: 'history' }))
    const { requestId } = await request(mirror)
    await client.decide(mirror.sessionId, requestId, 'deny', { message: 'Not on a Sunday.' })
    const events = await finished(mirror)
    expect(events.flatMap((event) => (event.type === 'tool-call.ended' ? [event.outcome] : []))).toEqual([
      'denied',
    ])
    expect(JSON.stringify(model.calls.at(-1)?.body)).toContain('Not on a Sunday.')
    expect(runs(folder, 'a')).toBe(0)
  })

  it('is decided separately from a parallel one', async () => {
    const { mirror, folder } = await begin(modelPrompt('Write.', writing('a', 'b'), done))
    await client.decide(mirror.sessionId, (await request(mirror)).requestId, 'allow')
    const second = await when(mirror, (state) => state.requests.length > 0 && state.settled.length === 1)
    await client.decide(mirror.sessionId, second.requests[0]!.requestId, 'deny')
    await finished(mirror)
    expect(runs(folder, 'a') + runs(folder, 'b')).toBe(1)
  })
})

const ends = {
  'the server is stopped': () => restart('SIGTERM'),
  'the server is killed': () => restart('SIGKILL'),
  'the agent is killed': async () => killClaude(),
  'both are killed': async () => {
    killClaude()
    await restart('SIGKILL')
  },
}

async function restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  await server.end(signal)
  await server.start()
}

describe.each(Object.entries(ends))('a permission that is open when %s', (_, end) => {
  it.each([
    ['allow', 1],
    ['deny', 0],
  ] as const)(
    `is open afterwards; ${'%s'} holds, and the command runs %i times (${rounds} rounds)`,
    async (decision, times) => {
      for (let round = 0; round < rounds; round++) {
        const { mirror, folder } = await begin(modelPrompt('Write.', writing('a'), done))
        const asked = await request(mirror)
        await end()
        const open = await request(mirror, true)
        expect(open.requestId).toBe(asked.requestId)
        expect(runs(folder, 'a')).toBe(0)
        await client.decide(mirror.sessionId, open.requestId, decision)
        expect(outcomes(await finished(mirror))).toEqual(['completed'])
        expect(runs(folder, 'a')).toBe(times)
        mirror.close()
      }
    },
  )
})

it('calls the model once per turn and never otherwise: 45 turns are 45 calls', async () => {
  const before = model.calls.length
  const { mirror } = await begin(modelPrompt('Hello.', { content: 'Hello.' }))
  await when(mirror, (state) => state.turns === 1)
  for (let turn = 2; turn <= 45; turn++) {
    await client.prompt(mirror.sessionId, modelPrompt('Hello.', { content: 'Hello.' }))
    await when(mirror, (state) => state.turns === turn && !state.turn)
  }
  expect(model.calls.length - before).toBe(45)
})

/** Kills every Claude Code that the server has started. */
function killClaude(): void {
  for (const { pid, line } of processesIn(home.path))
    if (line.includes('claude-agent-sdk')) process.kill(pid, 'SIGKILL')
}
