import { once } from 'node:events'
import type { ConnectInput } from '@parley/adapter-kit'
import { connectInput, promptMessage, readTurn, silentPerson } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { AppServer, type Listener } from './app-server.ts'
import { createAppServerPool } from './app-server-pool.ts'
import { codexProgram } from './codex-under-test.ts'
import { connectCodex } from './connection.ts'
import type { NativeMessage } from './native.ts'
import { script } from './programs-under-test.ts'

const home = await AgentHome.forFile()
const signal = new AbortController().signal

/** A program that another session uses as well. */
async function sharedProgram() {
  const env = home.env('codex', { home: home.folder() })
  const pool = createAppServerPool(() => ({ program: codexProgram, env }))
  const other = await pool.acquire(signal)
  return {
    pool,
    loaded: async () => (await other.server.call<{ data: string[] }>('thread/loaded/list')).data,
    [Symbol.asyncDispose]: () => other.release(),
  }
}

/** An input that aborts at the moment when Codex is asked to open the conversation. */
function givingUp(changes: Partial<ConnectInput> = {}): ConnectInput {
  const giveUp = new AbortController()
  const forbids = () => {
    giveUp.abort()
    return false
  }
  return connectInput({
    ...changes,
    cwd: home.path,
    signal: giveUp.signal,
    person: { ...silentPerson, forbids },
  })
}

async function untilLoaded(shared: { loaded(): Promise<string[]> }, expected: string[]): Promise<void> {
  for (;;) {
    const loaded = await shared.loaded()
    if (loaded.length === expected.length && expected.every((id) => loaded.includes(id))) return
  }
}

const refusal = { code: 'cancelled' }
const hello = promptMessage(modelPrompt('Hello.', { content: 'Hello there.' }))

async function turnOf(connection: Awaited<ReturnType<typeof connectCodex>>) {
  await connection.send(hello)
  return readTurn(connection)
}

it('unsubscribes from a conversation that was given up, while other sessions use the program', async () => {
  await using shared = await sharedProgram()
  await expect(connectCodex(shared.pool, givingUp())).rejects.toMatchObject(refusal)
  const next = await connectCodex(shared.pool, connectInput({ cwd: home.path }))
  const connected = (await turnOf(next)).find(({ type }) => type === 'agent.connected')
  await untilLoaded(shared, [(connected as { agentSessionId: string }).agentSessionId])
  await next.close()
  await untilLoaded(shared, [])
})

it('does not unsubscribe from a conversation that the next session has resumed', async () => {
  await using shared = await sharedProgram()
  const first = await connectCodex(shared.pool, connectInput({ cwd: home.path }))
  const connected = (await turnOf(first)).find(({ type }) => type === 'agent.connected')
  await first.close()
  const { agentSessionId } = connected as { agentSessionId: string }
  const resume = { agentSessionId, turns: 1 }
  const input = givingUp({ resume })
  const given = connectCodex(shared.pool, input).catch((error: unknown) => error)
  await once(input.signal, 'abort')
  const next = await connectCodex(shared.pool, connectInput({ cwd: home.path, resume }))
  expect(await given).toMatchObject(refusal)
  expect(await turnOf(next)).toContainEqual(expect.objectContaining({ type: 'text.written' }))
  expect(await shared.loaded()).toEqual([agentSessionId])
  await next.close()
})

/** A program that sends only what the test requests. */
const speaker = `#!${process.execPath}
const say = (message) => console.log(JSON.stringify(message))
const counts = { refused: 0, away: 0 }
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, error } = JSON.parse(line)
  if (method === 'initialize') say({ id, result: { userAgent: 'parley/0.166.0 (Linux)' } })
  if (method === 'speak') {
    for (let one = 0; one < 300; one++) {
      say({ id: 'ask-' + one, method: 'item/tool/call', params: { threadId: 'thread-' + one } })
    }
    say({ id, result: {} })
  }
  if (method === 'thread/unsubscribe') {
    counts.away++
    say({ id, result: { status: 'notLoaded' } })
  }
  if (method === 'count') say({ id, result: counts })
  if (error) counts.refused++
})
`

async function withSpeaker(work: (odd: AppServer) => Promise<void>): Promise<void> {
  const env = { PATH: process.env.PATH ?? '', HOME: home.path }
  const odd = await AppServer.start({ program: script(home.path, speaker), env })
  await work(odd)
  await odd.close()
}

it('does not let a conversation be resumed before it is unsubscribed', () =>
  withSpeaker(async (odd) => {
    const opening = Promise.withResolvers<{ thread: { id: string } }>()
    const abandoned = odd.abandon(opening.promise, 'one')
    const expected = odd.expect('one').then(() => 'expected')
    const first = await Promise.race([expected, odd.call('count')])
    expect(first).toEqual({ refused: 0, away: 0 })
    opening.resolve({ thread: { id: 'one' } })
    await abandoned
    expect(await expected).toBe('expected')
    expect(await odd.call('count')).toEqual({ refused: 0, away: 1 })
  }))

it('lets a conversation be resumed at once if Codex did not open it, and unsubscribes from one that it opened instead', () =>
  withSpeaker(async (odd) => {
    await odd.abandon(Promise.reject(new Error('no')), 'one')
    await odd.expect('one')
    await odd.abandon(Promise.resolve({ thread: { id: 'anew' } }), 'one')
    await odd.expect('one')
    expect(await odd.call('count')).toEqual({ refused: 0, away: 1 })
  }))

it('keeps messages of a limited number of unclaimed conversations, and leaves no request open', () =>
  withSpeaker(async (odd) => {
    await odd.call('speak')
    const received: NativeMessage[] = []
    const listener: Listener = { receive: (message) => void received.push(message), lost: () => undefined }
    for (let one = 0; one < 300; one++) odd.claim(`thread-${one}`, listener)
    const ids = received.flatMap((message) => ('id' in message ? [message.id] : []))
    expect([ids.length, ids[0], ids.at(-1)]).toEqual([100, 'ask-200', 'ask-299'])
    expect(await odd.call('count')).toEqual({ refused: 200, away: 0 })
  }))

it('does not remember abandoned conversations forever', () =>
  withSpeaker(async (odd) => {
    const received: NativeMessage[] = []
    const listener: Listener = { receive: (message) => void received.push(message), lost: () => undefined }
    for (let one = 0; one < 1_010; one++) odd.claim(`thread-${one}`, listener)
    odd.leave(listener)
    await odd.call('speak')
    for (let one = 0; one < 300; one++) odd.claim(`thread-${one}`, listener)
    expect(received).toHaveLength(10)
    expect(await odd.call('count')).toEqual({ refused: 290, away: 0 })
  }))
