import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { type Bench, type BenchSession, onBench, type Turn } from '../../testing/adapter-contract/bench.ts'
import { connectInput } from '../../testing/read-connection.ts'
import { type AcpAgent, createAcpAdapter } from './index.ts'
import { alive, childrenWith } from './processes-under-test.ts'

/** Agents that no real program can be made to be: a small one of our own, a process like any other. */
const home = mkdtempSync(join(tmpdir(), 'parley-odd-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const program = join(import.meta.dirname, 'odd-agent-under-test.ts')
const odd = (manner = '', more: Partial<AcpAgent> = {}, env = {}) =>
  createAcpAdapter(
    {
      id: 'odd',
      name: 'Odd',
      command: process.execPath,
      args: [program],
      capabilities: ['streaming', 'permissions', 'questions', 'interrupt', 'modes'],
      modes: { ask: 'tame', 'read-only': 'tame', bypass: 'tame' },
      ...more,
    },
    { env: { PATH: process.env.PATH, HOME: home }, add: { ODD: manner, ...env } },
  )
const world = { adapter: () => odd(), store: createMemoryStore }

type Played = { bench: Bench; session: BenchSession; turn: Turn }

async function play(words: string, work: (played: Played) => Promise<void>, mode?: 'read-only' | 'bypass') {
  await onBench(world, odd(), async (bench) => {
    const session = await bench.session(mode ? { mode } : {})
    await work({ bench, session, turn: await session.prompt(words.replace('FOLDER', bench.folder)) })
  })
  await vi.waitFor(() => expect(alive(childrenWith('odd-agent-under-test'))).toEqual([]))
}

describe('what nobody has heard of', () => {
  it.each([
    [
      'update',
      { method: 'session/update', params: { update: { sessionUpdate: 'hologram_update', image: 'x' } } },
    ],
    ['method', { method: '_odd/greeting', params: { words: 'hello' } }],
  ])('is kept as it came: %s', (words, native) =>
    play(words, async ({ session, turn }) => {
      await turn.completed()
      expect(session.all('agent.unrecognised')).toMatchObject([{ native }])
      expect(session.natives.length).toBeGreaterThan(0)
    }),
  )

  it('is chosen by a person, if it is a choice', () =>
    play('choice', async ({ session, turn }) => {
      const { requestId, questions } = await turn.first(() => turn.all('question.asked')[0])
      expect(questions[0]?.options.map(({ label }) => label)).toEqual(['Approve gently', 'Approve harshly'])
      await session.command({ type: 'question.answer', requestId, answers: { 1: 'Approve harshly' } })
      await turn.completed()
      expect(turn.said).toContain('"optionId":"b"')
    }))

  it('is refused without asking where the session is read-only', () =>
    play(
      'choice',
      async ({ turn }) => {
        await turn.completed()
        expect(turn.said).toContain('"outcome":"cancelled"')
        expect(turn.all('permission.resolved')).toMatchObject([{ outcome: 'denied', by: 'mode' }])
      },
      'read-only',
    ))
})

it('takes an answer that lasts only where there is no other', () =>
  play('always', async ({ turn }) => {
    await turn.decide(await turn.asked(), 'deny')
    await turn.completed()
    expect(turn.said).toContain('"optionId":"never"')
  }))

it('puts a form before a person, and answers in its words', () =>
  play('form', async ({ session, turn }) => {
    const { requestId, questions } = await turn.first(() => turn.all('question.asked')[0])
    expect(questions.map(({ id }) => id)).toEqual(['name', 'sure'])
    await session.command({ type: 'question.answer', requestId, answers: { name: 'Ada', sure: 'Yes' } })
    await turn.completed()
    expect(turn.said).toContain('{"action":"accept","content":{"name":"Ada","sure":true}}')
  }))

it('drops a request that the agent takes back', () =>
  play('withdraw', async ({ session, turn }) => {
    const { requestId } = await turn.asked()
    const question = await turn.first(() => turn.all('question.asked')[0])
    await session.command({ type: 'question.answer', requestId: question.requestId, answers: { 1: 'Yes' } })
    await turn.ended()
    expect(turn.all('permission.resolved')).toMatchObject([{ requestId, outcome: 'cancelled' }])
    expect(turn.said).toContain('"outcome":"cancelled"')
  }))

describe('files', () => {
  it('are written when the person allows it', () =>
    play('write FOLDER/new.txt', async ({ bench, turn }) => {
      const ask = await turn.asked()
      expect(ask).toMatchObject({ kind: 'edit', title: 'Write new.txt', diff: { after: 'written\n' } })
      expect(await bench.file('new.txt')).toBeUndefined()
      await turn.decide(ask, 'allow')
      await turn.completed()
      expect(await bench.file('new.txt')).toBe('written\n')
    }))

  it('outside the folder are not written, even with bypass', () =>
    play(
      `write ${home}/outside.txt`,
      async ({ turn }) => {
        await turn.completed()
        expect(turn.said).toContain('outside the folders')
        expect(existsSync(join(home, 'outside.txt'))).toBe(false)
      },
      'bypass',
    ))

  it('are not written in a read-only session', () =>
    play(
      'write FOLDER/new.txt',
      async ({ bench, turn }) => {
        await turn.completed()
        expect(await bench.file('new.txt')).toBeUndefined()
        expect(turn.all('permission.resolved')).toMatchObject([{ outcome: 'denied', by: 'mode' }])
      },
      'read-only',
    ))
})

it('has no terminals', () =>
  play('terminal', async ({ turn }) => {
    await turn.completed()
    expect(turn.said).toContain('-32601')
  }))

it('stops a turn in which the agent does unasked what is refused', () =>
  play(
    'unasked',
    async ({ session, turn }) => {
      expect(await turn.ended()).toMatchObject({ outcome: 'cancelled' })
      expect(turn.all('permission.resolved')).toMatchObject([{ outcome: 'denied', by: 'mode' }])
      expect(session.all('agent.noticed')).toMatchObject([{ level: 'error', code: 'unasked' }])
    },
    'read-only',
  ))

it('puts an agent back that changes its mode to one that is not ours', () =>
  play('mode', async ({ session, turn }) => {
    await turn.completed()
    expect(session.all('agent.noticed')).toMatchObject([{ code: 'unknown-mode' }])
  }))

it('keeps lines that are no messages, and says when it stops doing so', () =>
  play('garbage 500', async ({ session, turn }) => {
    await turn.completed()
    expect(session.all('agent.unrecognised')).toHaveLength(20)
    expect(session.all('agent.unrecognised')[0]?.native).toBe('this is line 0')
    expect(session.all('agent.noticed')).toMatchObject([{ code: 'garbage' }])
  }))

it('is not stopped by a flood on stderr, and keeps its end', () =>
  play('stderr 5000000', async ({ session, turn }) => {
    await turn.completed()
    const dying = await session.prompt('die')
    expect(await dying.ended()).toMatchObject({ outcome: 'failed' })
    expect(session.all('agent.disconnected')).toMatchObject([
      { reason: 'crashed', exitCode: 7, stderrTail: expect.stringContaining('the last words') },
    ])
  }))

describe('an agent that cannot be started', () => {
  const refusal = (manner: string, changes = {}) =>
    odd(manner)
      .connect(connectInput({ cwd: home, ...changes }))
      .catch((error: unknown) => error)

  it.each([
    ['version', 'agent_failed', /speaks version 9/],
    ['short', 'agent_failed', /ended with code 3/],
    ['unsigned', 'agent_not_signed_in', /not signed in/],
  ])('is refused with a code: %s', async (manner, code, message) => {
    expect(await refusal(manner)).toMatchObject({ code, message: expect.stringMatching(message) })
    await vi.waitFor(() => expect(alive(childrenWith('odd-agent-under-test'))).toEqual([]))
  })

  it('is given up when the host gives up, and leaves nothing behind', async () => {
    const giveUp = new AbortController()
    const refused = refusal('slow', { signal: giveUp.signal })
    await vi.waitFor(() => expect(childrenWith('odd-agent-under-test')).toHaveLength(1))
    giveUp.abort()
    expect(await refused).toMatchObject({ code: 'cancelled' })
    await vi.waitFor(() => expect(alive(childrenWith('odd-agent-under-test'))).toEqual([]))
  })

  it('is refused with the reason if it is no program', async () => {
    const file = join(home, 'no-program')
    writeFileSync(file, 'this is no program', { mode: 0o755 })
    const adapter = createAcpAdapter({ id: 'x', name: 'X', command: file }, { env: { HOME: home } })
    await expect(adapter.connect(connectInput({ cwd: home }))).rejects.toMatchObject({ code: 'agent_failed' })
    expect(readFileSync(file, 'utf8')).toBe('this is no program')
  })
})

it('starts in spite of words on stdout before the first message', async () => {
  const connection = await odd('noisy').connect(connectInput({ cwd: home }))
  await connection.close()
  await connection.close()
  const outputs: string[] = []
  for await (const output of connection.events) outputs.push(output.type)
  expect(outputs).toContain('agent.unrecognised')
  expect(outputs.at(-1)).toBe('agent.disconnected')
})

describe('a conversation that the agent cannot load', () => {
  const resume = (manner: string, turns: number) =>
    odd(manner)
      .connect(connectInput({ cwd: home, resume: { agentSessionId: 'kept', turns } }))
      .then(async (connection) => {
        await connection.close()
        return 'begun anew'
      })
      .catch((error: { code: string }) => error.code)

  it.each([
    ['is begun anew if nothing was completed in it', 'forgetful', 0, 'begun anew'],
    ['is not begun anew if something was', 'forgetful', 1, 'agent_failed'],
    ['is not begun anew if the agent still has it', 'absent', 0, 'agent_failed'],
    ['is refused if the agent can load none', '', 1, 'not_supported'],
  ])('%s', async (_, manner, turns, result) => {
    expect(await resume(manner, turns)).toBe(result)
  })
})

describe('an agent that wants to be signed in', () => {
  const signIn = {
    hint: 'Set ODD_KEY.',
    methods: { ODD_KEY: 'key' },
    chosen: { file: 'chosen.json', holds: 'other' },
  }
  const connect = (env: object) =>
    odd('unsigned', { signIn, vendor: ['ODD_'] }, env)
      .connect(connectInput({ cwd: home }))
      .then(async (connection) => connection.close())

  it('is, where a variable says how', async () => {
    await expect(connect({ ODD_KEY: 'k' })).resolves.toBeUndefined()
    await expect(connect({})).rejects.toMatchObject({
      code: 'agent_not_signed_in',
      message: expect.stringContaining('Set ODD_KEY.'),
    })
  })

  it('is not, where the person chose another way', async () => {
    writeFileSync(join(home, 'chosen.json'), '{ "way": "other" }')
    await expect(connect({ ODD_KEY: 'k' })).rejects.toMatchObject({ code: 'agent_not_signed_in' })
  })
})
