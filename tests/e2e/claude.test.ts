import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { processesIn } from '@parley/adapter-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import type { ModelAnswer } from '../../packages/server/src/testing/model-server.ts'
import { ClaudeFixture, done, type SessionFixture } from './claude-fixture.ts'

/** Tests the real Claude Code behind the real server, and kills both. The model is scripted, on loopback. */
const rounds = Number(process.env.PARLEY_CLAUDE_ROUNDS ?? 2)
let claude: ClaudeFixture
beforeAll(async () => {
  claude = await ClaudeFixture.start()
})
afterAll(() => claude?.[Symbol.asyncDispose]())

const call = (command: string, id: string) => ({
  name: 'Bash',
  id,
  arguments: JSON.stringify({ command, description: 'a command' }),
})
const writing = (...files: string[]): ModelAnswer => ({
  toolCalls: files.map((file) => call(`printf x | tee -a ${file}`, `toolu_${file}`)),
})

const runs = ({ folder }: SessionFixture, file: string) =>
  existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8').length : 0

describe('a command', () => {
  it('runs when it is allowed, and not before', async () => {
    const session = await claude.sharedSession()
    await session.prompt(modelPrompt('Write.', writing('a'), done))
    await session.request('permission')
    expect(runs(session, 'a')).toBe(0)
    await session.decide('allow')
    expect((await session.ended()).outcomes).toEqual(['completed'])
    expect(runs(session, 'a')).toBe(1)
  })

  it('does not run when it is denied, and the model receives the reason', async () => {
    const session = await claude.sharedSession()
    await session.prompt(modelPrompt('Write.', writing('a'), { say: 'history' }))
    await session.decide('deny', { message: 'Not on a Sunday.' })
    const log = await session.ended()
    expect(log.all('tool-call.ended').map(({ outcome }) => outcome)).toEqual(['denied'])
    expect(JSON.stringify(claude.model.calls.at(-1)?.body)).toContain('Not on a Sunday.')
    expect(runs(session, 'a')).toBe(0)
  })

  it('is decided separately from a parallel one', async () => {
    const session = await claude.sharedSession()
    await session.prompt(modelPrompt('Write.', writing('a', 'b'), done))
    await session.decide('allow')
    await session.decide('deny')
    await session.ended()
    expect(runs(session, 'a') + runs(session, 'b')).toBe(1)
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
  await claude.server.end(signal)
  await claude.server.start()
}

describe.each(Object.entries(ends))('a permission that is open when %s', (_, end) => {
  it.each([
    ['allow', 1],
    ['deny', 0],
  ] as const)(
    `is open afterwards; the decision ${'%s'} holds, and the command runs %i times (${rounds} rounds)`,
    async (decision, times) => {
      // The first round interrupts the first turn of a session.
      const session = await claude.session()
      for (let round = 0; round < rounds; round++) {
        await session.reset()
        await session.prompt(modelPrompt('Write.', writing('a'), done))
        const asked = await session.request('permission')
        expect(asked.stale).toBe(false)
        await end()
        const { requests } = await session.when((state) => state.requests.some(({ stale }) => stale))
        expect(requests.map(({ requestId }) => requestId)).toEqual([asked.requestId])
        expect(runs(session, 'a')).toBe(0)
        await session.decide(decision)
        expect((await session.ended()).outcomes).toEqual(['completed'])
        expect(runs(session, 'a')).toBe(times)
      }
    },
  )
})

it('Claude Code calls the model once per turn and never otherwise: 45 turns are 45 calls', async () => {
  const before = claude.model.calls.length
  const session = await claude.session()
  for (let turn = 1; turn <= 45; turn++) {
    await claude.client.prompt(session.id, modelPrompt('Hello.', { content: 'Hello.' }))
    await session.when((state) => state.turns === turn && !state.turn)
  }
  expect(claude.model.calls.length - before).toBe(45)
})

/** Kills every Claude Code that the server has started. */
function killClaude(): void {
  for (const { pid, line } of processesIn(claude.home))
    if (line.includes('claude-agent-sdk')) process.kill(pid, 'SIGKILL')
}
