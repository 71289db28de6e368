import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Client, createClient } from '@parley/client'
import type { SessionEvent, SessionState } from '@parley/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Script } from '../../packages/server/src/adapters/scripted/script.ts'
import { logProblems } from '../../packages/server/src/testing/invariants.ts'
import { KillableServer } from './killable-server.ts'
import { failToStart } from './server-on-folder.ts'
import { colour, eventsOf, isIdle, logOf, open, permission, scripted, stateWhen } from './session-fixture.ts'

let server: KillableServer
let client: Client
let cwd: string
beforeEach(async () => {
  server = new KillableServer()
  await server.start()
  client = createClient({ url: server.url, token: server.token, backoff: { baseMs: 5, maxMs: 50 } })
  cwd = join(server.folder, 'work')
  mkdirSync(cwd)
})
afterEach(async () => {
  client.close()
  await server.dispose()
})

const ends = ['SIGTERM', 'SIGKILL'] as const

async function restart(signal: (typeof ends)[number]): Promise<void> {
  await server.end(signal)
  await server.start()
}

async function begin(...script: Script): Promise<string> {
  const { id } = await client.createSession({ agent: 'scripted', cwd, prompt: scripted(...script) })
  return id
}

const when = (session: string, holds: (state: SessionState) => boolean) => stateWhen(client, session, holds)
const waiting = (session: string, requests = 1) =>
  when(session, (state) => state.requests.length === requests && state.status === 'waiting')
const parked = (session: string) => when(session, (state) => state.status === 'parked')
const idle = (session: string) => when(session, isIdle)
const runs = (path: string) => {
  try {
    return readFileSync(join(cwd, path), 'utf8').length
  } catch {
    return 0
  }
}
const listed = async () => (await client.call('listPermissions')).requests
const outcomes = (log: readonly SessionEvent[]) => eventsOf(log, 'turn.ended').map(({ outcome }) => outcome)
const calls = (log: readonly SessionEvent[]) => eventsOf(log, 'tool-call.ended').map(({ outcome }) => outcome)

async function wholeLog(session: string): Promise<SessionEvent[]> {
  const log = await logOf(client, session)
  expect(logProblems(log)).toEqual([])
  return log
}

describe.each(ends)('%s while a request is open', (signal) => {
  it('leaves a permission and a question open; when they are answered, their turns continue and end', async () => {
    const asking = await begin({ type: 'text', text: 'Before.' }, permission('effect'), {
      type: 'text',
      text: 'After.',
    })
    const wondering = await begin(colour, { type: 'text', text: 'After.' })
    const before = open(await waiting(asking), 'permission')
    const asked = open(await waiting(wondering), 'question')
    await restart(signal)

    const state = await parked(asking)
    expect(open(state, 'permission')).toEqual({ ...before, stale: true })
    expect(open(await parked(wondering), 'question')).toEqual({ ...asked, stale: true })
    expect(state.turn?.parked).toBe(signal === 'SIGTERM' ? 'server-stopped' : 'server-killed')
    const all = await listed()
    expect(all.map(({ request }) => [request.requestId, request.stale])).toEqual([
      [before.requestId, true],
      [asked.requestId, true],
    ])
    expect(all.map(({ session }) => [session.id, session.status, session.waiting])).toEqual([
      [asking, 'parked', 1],
      [wondering, 'parked', 1],
    ])
    expect(runs('effect')).toBe(0)

    await client.decide(asking, before.requestId, 'allow')
    await client.answer(wondering, asked.requestId, { colour: 'blue' })
    const done = await idle(asking)
    expect(done.lastTurn).toMatchObject({ outcome: 'completed', stopReason: 'end_turn' })
    expect((await idle(wondering)).lastTurn?.outcome).toBe('completed')
    expect(runs('effect')).toBe(1)
    expect(await listed()).toEqual([])

    const log = await wholeLog(asking)
    const [old, again] = eventsOf(log, 'tool-call.ended')
    expect(old).toMatchObject({ toolCallId: before.toolCallId, outcome: 'cancelled' })
    expect(again).toMatchObject({ outcome: 'completed' })
    expect(again?.toolCallId).not.toBe(before.toolCallId)
    const [answer, carried] = eventsOf(log, 'permission.resolved')
    expect(answer).toMatchObject({ requestId: before.requestId, outcome: 'allowed', by: 'person' })
    expect(carried).toMatchObject({ outcome: 'allowed', by: 'person', carriedFrom: before.requestId })
    expect(eventsOf(log, 'text.written').map(({ text }) => text)).toEqual(['Before.', 'After.'])
    const words = eventsOf(await wholeLog(wondering), 'text.written').map(({ text }) => text)
    expect(words).toEqual(['You answered: Colour: blue.', 'After.'])
  })

  it('lets the person deny, and the agent continues without the call', async () => {
    const session = await begin(permission('effect', { reply: { denied: 'Then not.' } }))
    const { requestId } = open(await waiting(session), 'permission')
    await restart(signal)
    await parked(session)
    await client.decide(session, requestId, 'deny', { message: 'Not this file.' })
    expect((await idle(session)).lastTurn?.outcome).toBe('completed')
    const log = await wholeLog(session)
    expect(runs('effect')).toBe(0)
    expect(eventsOf(log, 'tool-call.ended').at(-1)).toMatchObject({
      outcome: 'denied',
      content: [{ type: 'text', text: 'Not this file.' }],
    })
    expect(eventsOf(log, 'text.written').at(-1)?.text).toBe('Then not.')
  })

  it('lets the person cancel: the turn ends as cancelled, the request is resolved, and a late answer is refused', async () => {
    const session = await begin(permission('effect'), { type: 'text', text: 'After.' })
    const { requestId, toolCallId } = open(await waiting(session), 'permission')
    await restart(signal)
    await parked(session)
    await client.cancel(session)
    expect((await idle(session)).lastTurn).toMatchObject({ outcome: 'cancelled', stopReason: 'cancelled' })
    expect(await listed()).toEqual([])
    const late = client.decide(session, requestId, 'allow')
    await expect(late).rejects.toMatchObject({ code: 'conflict', details: { outcome: 'cancelled' } })
    const log = await wholeLog(session)
    expect(eventsOf(log, 'permission.resolved')).toMatchObject([
      { requestId, outcome: 'cancelled', by: 'turn-end' },
    ])
    expect(eventsOf(log, 'tool-call.ended')).toMatchObject([{ toolCallId, outcome: 'cancelled' }])
    expect(runs('effect')).toBe(0)
    await client.prompt(session, scripted(permission('later')))
    await client.decide(session, open(await waiting(session), 'permission').requestId, 'allow')
    expect((await idle(session)).lastTurn?.outcome).toBe('completed')
    expect([runs('effect'), runs('later')]).toEqual([0, 1])
  })

  it('leaves two requests open; the turn continues when the last one is answered', async () => {
    const session = await begin({ type: 'parallel', calls: [permission('one'), permission('two')] })
    const requests = (await waiting(session, 2)).requests
    await restart(signal)
    const state = await parked(session)
    expect(state.requests.map(({ requestId, stale }) => [requestId, stale])).toEqual(
      requests.map(({ requestId }) => [requestId, true]),
    )
    await client.decide(session, requests[1]!.requestId, 'deny')
    expect((await parked(session)).requests).toHaveLength(1)
    await client.decide(session, requests[0]!.requestId, 'allow')
    expect((await idle(session)).lastTurn?.outcome).toBe('completed')
    expect([runs('one'), runs('two')]).toEqual([1, 0])
    expect(calls(await wholeLog(session)).toSorted()).toEqual([
      'cancelled',
      'cancelled',
      'completed',
      'denied',
    ])
  })

  it('lets prompts be queued; they run afterwards, each once', async () => {
    const session = await begin(permission('first'))
    const { requestId } = open(await waiting(session), 'permission')
    await client.prompt(
      session,
      scripted({ type: 'tool', name: 'Note', effect: { writeFile: { path: 'second', text: 'x' } } }),
    )
    await restart(signal)
    await parked(session)
    await client.prompt(
      session,
      scripted({ type: 'tool', name: 'Note', effect: { writeFile: { path: 'third', text: 'x' } } }),
    )
    await client.decide(session, requestId, 'allow')
    await when(session, (state) => state.turns === 3)
    expect(outcomes(await wholeLog(session))).toEqual(['completed', 'completed', 'completed'])
    expect([runs('first'), runs('second'), runs('third')]).toEqual([1, 1, 1])
  })

  it('may happen any number of times: the request stays open', async () => {
    const session = await begin(permission('effect'))
    const { requestId } = open(await waiting(session), 'permission')
    for (let time = 0; time < 3; time++) await restart(signal)
    expect(open(await parked(session), 'permission').requestId).toBe(requestId)
    const log = await wholeLog(session)
    expect(eventsOf(log, 'turn.parked')).toHaveLength(1)
    await client.decide(session, requestId, 'allow')
    expect((await idle(session)).lastTurn?.outcome).toBe('completed')
    expect(runs('effect')).toBe(1)
  })
})

describe('a kill', () => {
  it('between the answer and the resumption keeps the answer, and the effect runs once', async () => {
    const session = await begin(permission('effect'), { type: 'text', text: 'After.' })
    const { requestId } = open(await waiting(session), 'permission')
    await restart('SIGKILL')
    await parked(session)
    // Takes every slot, so that the parked turn has to wait for its resumption.
    const busy = await Promise.all(Array.from({ length: 16 }, () => begin({ type: 'hang' })))
    for (const other of busy) await when(other, (state) => state.connected)
    await client.decide(session, requestId, 'allow')
    const answered = await when(session, (state) => state.requests.length === 0)
    expect(answered.turn?.parked).toBe('server-killed')
    await restart('SIGKILL')
    expect((await idle(session)).lastTurn?.outcome).toBe('completed')
    expect(runs('effect')).toBe(1)
    const log = await wholeLog(session)
    expect(eventsOf(log, 'permission.resolved')).toMatchObject([
      { requestId, outcome: 'allowed' },
      { outcome: 'allowed', carriedFrom: requestId },
    ])
  })

  it('while the agent works without a request ends the turn as unknown, and the next prompt runs', async () => {
    const session = await begin({ type: 'tool', name: 'Read', order: 'call-only' }, { type: 'hang' })
    await when(session, (state) => state.openBlocks.length > 0)
    await restart('SIGKILL')
    expect((await idle(session)).lastTurn).toMatchObject({ outcome: 'unknown', stopReason: 'server_killed' })
    expect(calls(await wholeLog(session))).toEqual(['failed'])
    await client.prompt(session, 'hello')
    expect((await when(session, ({ turns, turn }) => turns === 2 && !turn)).lastTurn?.outcome).toBe(
      'completed',
    )
  })

  it('keeps streamed text as an interrupted block, except for at most its last moments', async () => {
    const session = await begin({ type: 'flood', deltas: 1_000_000_000, size: 6 })
    const written = async () => {
      const { openBlocks } = await client.call('getSession', { params: { id: session }, query: { tail: 0 } })
      const block = openBlocks[0]
      return block?.type === 'text' ? block.text : ''
    }
    let seen = ''
    while (seen === '') seen = await written()
    // The server writes a checkpoint every 50 ms, so text that was received 500 ms ago is on the disk.
    const since = Date.now()
    let last = seen
    while (Date.now() - since < 500) last = await written()
    await restart('SIGKILL')
    expect((await idle(session)).lastTurn?.outcome).toBe('unknown')
    const [block, ...others] = eventsOf(await wholeLog(session), 'text.written')
    expect(others).toEqual([])
    expect(block).toMatchObject({ interrupted: true })
    expect(last.length).toBeGreaterThan(seen.length)
    expect(block!.text.length).toBeGreaterThanOrEqual(seen.length)
    expect(block!.text).toBe('flood '.repeat(block!.text.length).slice(0, block!.text.length))
  })
})

describe('a graceful stop', () => {
  it('ends a turn without a request as cancelled', async () => {
    const session = await begin({ type: 'text', text: 'At work.' }, { type: 'hang' })
    await when(session, (state) => state.connected)
    await restart('SIGTERM')
    expect((await idle(session)).lastTurn?.outcome).toBe('cancelled')
    const log = await wholeLog(session)
    expect(eventsOf(log, 'turn.interrupted')).toMatchObject([{ by: 'host', reason: 'server-stopped' }])
  })

  it('ends a stubborn agent by force', async () => {
    const session = await begin({ type: 'hang', stubborn: true })
    await when(session, (state) => state.connected)
    await restart('SIGTERM')
    expect((await idle(session)).lastTurn?.outcome).toBe('cancelled')
    await wholeLog(session)
  })

  it('keeps all text that was being written', async () => {
    const session = await begin({ type: 'flood', deltas: 1_000_000_000, size: 6 })
    await when(session, (state) => state.openBlocks.length > 0)
    await restart('SIGTERM')
    await idle(session)
    const [block] = eventsOf(await wholeLog(session), 'text.written')
    expect(block).toMatchObject({ interrupted: true, text: expect.stringMatching(/^(flood )+$/) })
  })
})

describe.each(ends)('%s with queued prompts', (signal) => {
  it('runs the queued prompts after the restart, in order, each once', async () => {
    const session = await begin({ type: 'hang' })
    await when(session, (state) => state.connected)
    const paths = ['a', 'b', 'c', 'd']
    const prompts: string[] = []
    for (const path of paths) {
      const effect = { writeFile: { path, text: 'x' } }
      const { promptId } = await client.prompt(session, scripted({ type: 'tool', name: 'Note', effect }))
      prompts.push(promptId!)
    }
    const withdrawn = await client.prompt(session, 'not this one')
    await client.withdraw(session, withdrawn.promptId!)
    await restart(signal)
    await when(session, (state) => state.turns === 1 + paths.length && isIdle(state))
    const log = await wholeLog(session)
    expect(outcomes(log)).toEqual([
      signal === 'SIGTERM' ? 'cancelled' : 'unknown',
      'completed',
      'completed',
      'completed',
      'completed',
    ])
    expect(
      eventsOf(log, 'turn.started')
        .slice(1)
        .map(({ promptId }) => promptId),
    ).toEqual(prompts)
    expect(paths.map(runs)).toEqual([1, 1, 1, 1])
  })

  it('answers a repeated command with the same receipt, and with a conflict if its content differs', async () => {
    const session = await begin({ type: 'text', text: 'hello' })
    await idle(session)
    const body = {
      type: 'prompt.submit' as const,
      commandId: 'the-same',
      text: 'once',
      delivery: 'queue' as const,
    }
    const send = (text: string) =>
      client.call('command', { params: { id: session }, body: { ...body, text } })
    const first = await send('once')
    await when(session, ({ turns }) => turns === 2)
    await restart(signal)
    expect(await send('once')).toEqual(first)
    await expect(send('twice')).rejects.toMatchObject({ code: 'conflict' })
    const again = { ...body, commandId: 'make', text: undefined }
    const made = () =>
      client.call('createSession', { body: { agent: 'scripted', cwd, commandId: again.commandId } })
    const { id } = await made()
    await restart(signal)
    expect((await made()).id).toBe(id)
    expect(eventsOf(await wholeLog(session), 'prompt.submitted')).toHaveLength(2)
  })

  it('keeps rules, titles, archived sessions and forks', async () => {
    const session = await begin(permission('effect'))
    const { requestId } = open(await waiting(session), 'permission')
    await client.decide(session, requestId, 'allow', { scope: 'session' })
    await idle(session)
    await client.call('patchSession', { params: { id: session }, body: { title: 'kept', pinned: true } })
    const fork = await client.fork(session, { title: 'the copy' })
    await client.call('patchSession', { params: { id: fork.sessionId }, body: { archived: true } })
    const rules = (await client.call('listRules')).rules
    await restart(signal)
    expect((await client.call('listRules')).rules).toEqual(rules)
    expect(rules).toMatchObject([{ tool: 'Write', decision: 'allow', scope: 'session', sessionId: session }])
    expect(await idle(session)).toMatchObject({ title: 'kept', pinned: true, archived: false })
    expect(await idle(fork.sessionId)).toMatchObject({ title: 'the copy', archived: true })
    await client.prompt(session, scripted(permission('effect')))
    await when(session, ({ turns, turn }) => turns === 2 && !turn)
    expect(runs('effect')).toBe(2)
  })
})

describe('an agent that dies', () => {
  it('while a permission is open leaves its turn parked, which continues when the permission is answered', async () => {
    // The output of this tool cannot be played: the agent crashes while the other call waits for its answer.
    const broken = { type: 'tool' as const, name: 'Broken', output: 7 as unknown as string[] }
    const session = await begin(
      { type: 'parallel', calls: [permission('effect'), broken] },
      { type: 'text', text: 'After.' },
    )
    const state = await parked(session)
    const { requestId } = open(state, 'permission')
    expect(state.turn?.parked).toBe('agent-lost')
    expect(state.requests[0]?.stale).toBe(true)
    expect((await listed()).map(({ request }) => request.requestId)).toEqual([requestId])
    expect(eventsOf(await wholeLog(session), 'agent.disconnected')).toMatchObject([{ reason: 'crashed' }])
    await restart('SIGKILL')
    await parked(session)
    await client.decide(session, requestId, 'allow')
    expect((await idle(session)).lastTurn?.outcome).toBe('completed')
    expect(runs('effect')).toBe(1)
    expect(eventsOf(await wholeLog(session), 'text.written').at(-1)?.text).toBe('After.')
  })

  it('while no request is open fails the turn with the reason, and the next prompt starts it again', async () => {
    const session = await begin(
      { type: 'text', text: 'Now.' },
      { type: 'crash', exitCode: 9, stderrTail: 'out of luck' },
    )
    const { lastTurn } = await idle(session)
    expect(lastTurn).toMatchObject({
      outcome: 'failed',
      stopReason: 'agent_lost',
      error: { code: 'agent_failed' },
    })
    const log = await wholeLog(session)
    expect(eventsOf(log, 'agent.disconnected')).toMatchObject([
      { reason: 'crashed', exitCode: 9, stderrTail: 'out of luck' },
    ])
    await client.prompt(session, 'hello')
    expect((await when(session, ({ turns, turn }) => turns === 2 && !turn)).lastTurn?.outcome).toBe(
      'completed',
    )
  })
})

describe('the data folder', () => {
  it('is refused to a second server, with the first one named, and the first one is not affected', async () => {
    const session = await begin({ type: 'text', text: 'hello' })
    const owner = JSON.parse(readFileSync(join(server.dataDir, 'parley.sqlite.owner.json'), 'utf8')) as {
      pid: number
    }
    const { code, log } = await failToStart({ dataDir: server.dataDir })
    expect(code).not.toBe(0)
    expect(log).toContain('Another Parley')
    expect(log).toContain(`pid ${owner.pid}`)
    expect(log).toContain(server.url)
    await client.prompt(session, 'still here')
    await when(session, ({ turns, turn }) => turns === 2 && !turn)
    await wholeLog(session)
  })

  it('is free again once the first server is killed', async () => {
    await server.end('SIGKILL')
    await server.start()
    expect((await client.call('health')).ok).toBe(true)
  })

  it('contains no row of a deleted session', async () => {
    const kept = await begin({ type: 'text', text: 'hello' })
    const session = await begin(permission('effect'))
    const { requestId } = open(await waiting(session), 'permission')
    await client.decide(session, requestId, 'allow', { scope: 'session' })
    await idle(session)
    await client.prompt(session, scripted({ type: 'flood', deltas: 1_000_000_000, size: 6 }))
    await when(session, (state) => state.openBlocks.length > 0)
    await client.prompt(session, 'queued')
    await client.call('deleteSession', { params: { id: session } })
    await expect(client.call('getSession', { params: { id: session }, query: {} })).rejects.toMatchObject({
      code: 'not_found',
    })
    await idle(kept)
    await server.end('SIGTERM')
    const database = new DatabaseSync(join(server.dataDir, 'parley.sqlite'), { readOnly: true })
    const count = (sql: string) => Number(Object.values(database.prepare(sql).get()!)[0])
    expect(count('SELECT count(*) FROM sessions')).toBe(1)
    expect(count('SELECT count(*) FROM checkpoints')).toBe(0)
    expect(count('SELECT count(*) FROM rules')).toBe(0)
    const key = count('SELECT key FROM sessions')
    expect(count(`SELECT count(*) FROM receipts WHERE session_key <> ${key}`)).toBe(0)
    expect(count(`SELECT count(*) FROM events WHERE id / 4294967296 <> ${key}`)).toBe(0)
    database.close()
    await server.start()
    expect((await client.call('listSessions', { query: {} })).sessions.map(({ id }) => id)).toEqual([kept])
  })
})
