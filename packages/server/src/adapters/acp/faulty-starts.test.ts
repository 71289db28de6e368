import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { childrenWith, connectInput, onBench } from '@parley/adapter-kit/testing'
import { describe, expect, it, vi } from 'vitest'
import { contractHost, hostOf } from '../../testing/contract-host.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { faultyAgent } from './faulty-adapter-under-test.ts'
import { type AcpAgent, createAcpAdapter } from './index.ts'
import { alive } from './processes-under-test.ts'

/**
 * Tests probing, starting and listing conversations, with behaviour that a test cannot force on a real
 * program.
 */
const home = folderForFile()

const odd = (manner = '', more: Partial<AcpAgent> = {}, env = {}) => faultyAgent({ home, manner, more, env })
const world = { adapter: () => odd(), host: contractHost }

describe('an agent that cannot be started', () => {
  const refusal = (manner: string, changes = {}) =>
    odd(manner)
      .connect(connectInput({ cwd: home, ...changes }))
      .catch((error: unknown) => error)

  it.each([
    ['version', 'agent_failed', /uses version 9/],
    ['short', 'agent_failed', /ended with code 3/],
    ['unsigned', 'agent_not_signed_in', /not signed in/],
    ['nobody', 'agent_not_signed_in', /not signed in/],
  ])('is refused with an error code: %s', async (manner, code, message) => {
    expect(await refusal(manner)).toMatchObject({ code, message: expect.stringMatching(message) })
    await vi.waitFor(() => expect(alive(childrenWith('faulty-agent-under-test'))).toEqual([]))
  })

  it('is given up when the host aborts, and leaves no process behind', async () => {
    const giveUp = new AbortController()
    const refused = refusal('slow', { signal: giveUp.signal })
    await vi.waitFor(() => expect(childrenWith('faulty-agent-under-test')).toHaveLength(1))
    giveUp.abort()
    expect(await refused).toMatchObject({ code: 'cancelled' })
    await vi.waitFor(() => expect(alive(childrenWith('faulty-agent-under-test'))).toEqual([]))
  })

  it('is refused with the reason if the file is not a program', async () => {
    const file = join(home, 'no-program')
    writeFileSync(file, 'this is no program', { mode: 0o755 })
    const adapter = createAcpAdapter({ id: 'x', name: 'X', command: file }, { env: { HOME: home } })
    await expect(adapter.connect(connectInput({ cwd: home }))).rejects.toMatchObject({ code: 'agent_failed' })
    expect(readFileSync(file, 'utf8')).toBe('this is no program')
  })
})

it('starts despite text on stdout before the first message', async () => {
  const connection = await odd('noisy').connect(connectInput({ cwd: home }))
  await connection.close()
  await connection.close()
  const outputs: string[] = []
  for await (const output of connection.events) outputs.push(output.type)
  expect(outputs).toContain('agent.unrecognised')
  expect(outputs.at(-1)).toBe('agent.disconnected')
})

describe('a probe', () => {
  const signIn = { hint: 'Set ODD_KEY.', variables: ['ODD_KEY'] }
  const look = async (manner: string, more: Partial<AcpAgent> = { signIn }, env = {}) => {
    const probe = await odd(manner, { vendor: ['ODD_'], ...more }, env).probe(AbortSignal.timeout(15_000))
    await vi.waitFor(() => expect(alive(childrenWith('faulty-agent-under-test'))).toEqual([]))
    return probe
  }
  const hint = 'Set ODD_KEY.'

  it.each([
    ['makes a session without a sign-in', '', {}, { hint }],
    ['refuses a session without a sign-in', 'unsigned', {}, { signedIn: false, hint }],
    ['reports that nobody is signed in', 'nobody', {}, { signedIn: false, hint }],
    ['reports that nobody is signed in while a key is set', 'nobody', { ODD_KEY: 'k' }, { signedIn: true }],
    ['reports who is signed in', 'somebody', {}, { signedIn: true }],
    ['exits', 'short', {}, { usable: false, hint: expect.stringContaining('ended with code 3') }],
    [
      'speaks another version of the protocol',
      'version',
      {},
      { usable: false, hint: expect.stringContaining('uses version 9') },
    ],
  ])('reports the state of an agent that %s', async (_, manner, env, expected) => {
    expect(await look(manner, { signIn }, env)).toEqual({ found: true, path: process.execPath, ...expected })
  })

  it('reports a sign-in if the agent creates sessions only for people who are signed in', async () => {
    expect(await look('', { signIn: { ...signIn, required: true } })).toMatchObject({ signedIn: true })
  })

  it('ends when it is aborted, even if the agent does not respond', async () => {
    const giveUp = new AbortController()
    const looking = odd('slow').probe(giveUp.signal)
    await vi.waitFor(() => expect(childrenWith('faulty-agent-under-test')).toHaveLength(1))
    giveUp.abort()
    expect(await looking).toMatchObject({ found: true, hint: expect.stringContaining('agents doctor odd') })
    await vi.waitFor(() => expect(alive(childrenWith('faulty-agent-under-test'))).toEqual([]))
  })
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
    ['is started anew if no turn was completed in it', 'forgetful', 0, 'begun anew'],
    ['is not started anew if a turn was completed in it', 'forgetful', 1, 'agent_failed'],
    ['is not started anew if the agent still has it', 'absent', 0, 'agent_failed'],
    ['is refused if the agent cannot load any', '', 1, 'not_supported'],
  ])('%s', async (_, manner, turns, result) => {
    expect(await resume(manner, turns)).toBe(result)
  })
})

describe('conversations of an agent', () => {
  const { signal } = new AbortController()
  const memoryOf = (manner: string) => odd(manner, { conversations: 'listed' }).conversations
  const read = async (manner: string) => {
    for await (const one of memoryOf(manner)?.read('kept', signal) ?? []) return one
  }

  it('are not supported if the agent does not announce them', async () => {
    await expect(memoryOf('')?.list({}, signal)).rejects.toMatchObject({ code: 'not_supported' })
    const adapter = odd('')
    expect(adapter.conversations).toBeUndefined()
    await onBench({ ...world, adapter: () => adapter }, adapter, async (bench) => {
      const host = hostOf(bench)
      await expect(host.conversations('odd')).rejects.toMatchObject({ code: 'not_supported' })
      const refused = host.importConversation({ agent: 'odd', agentSessionId: 'kept' })
      await expect(refused).rejects.toMatchObject({ code: 'not_supported' })
    })
  })

  it('are listed, and reading one fails with the error of an agent that cannot load it', async () => {
    const kept = { agentSessionId: 'kept', cwd: '/', title: 'kept', updatedAt: 0 }
    expect(await memoryOf('absent')?.list({}, signal)).toEqual([kept])
    expect(await memoryOf('absent')?.list({ cwd: home }, signal)).toEqual([])
    await expect(read('absent')).rejects.toMatchObject({
      code: 'agent_failed',
      message: expect.stringContaining('Resource not found'),
    })
    await expect(read('forgetful')).rejects.toMatchObject({ code: 'not_found' })
    await vi.waitFor(() => expect(alive(childrenWith('faulty-agent-under-test'))).toEqual([]))
  })

  it('are given up when the caller aborts, and leave no process behind', async () => {
    const giveUp = new AbortController()
    const listing = memoryOf('slow')?.list({}, giveUp.signal)
    await vi.waitFor(() => expect(childrenWith('faulty-agent-under-test')).toHaveLength(1))
    giveUp.abort()
    await expect(listing).rejects.toMatchObject({ code: 'cancelled' })
    await vi.waitFor(() => expect(alive(childrenWith('faulty-agent-under-test'))).toEqual([]))
  })
})

describe('an agent that requires a sign-in', () => {
  const signIn = {
    hint: 'Set ODD_KEY.',
    methods: { ODD_KEY: 'key' },
    chosen: { file: 'chosen.json', holds: 'other' },
  }
  const connect = (env: object) =>
    odd('unsigned', { signIn, vendor: ['ODD_'] }, env)
      .connect(connectInput({ cwd: home }))
      .then(async (connection) => connection.close())

  it('is signed in by the method of a variable that is set', async () => {
    await expect(connect({ ODD_KEY: 'k' })).resolves.toBeUndefined()
    await expect(connect({})).rejects.toMatchObject({
      code: 'agent_not_signed_in',
      message: expect.stringContaining('Set ODD_KEY.'),
    })
  })

  it('is not signed in if the person chose another method', async () => {
    writeFileSync(join(home, 'chosen.json'), '{ "way": "other" }')
    await expect(connect({ ODD_KEY: 'k' })).rejects.toMatchObject({ code: 'agent_not_signed_in' })
  })
})
