import type { AgentConnection, AgentOutput } from '@parley/adapter-kit'
import { describe, expect, it } from 'vitest'
import type { ScriptedAdapterOptions } from '../adapters/scripted/index.ts'
import { sealedHostUnderTest } from '../proof/sealed-log-under-test.ts'
import { verifyLog } from '../proof/verify-log.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { logProblems } from '../testing/invariants.ts'
import { killableStore } from '../testing/killable-store.ts'
import { remembering } from '../testing/script-scenarios.ts'
import { type HostUnderTest, hostUnderTest, SessionUnderTest } from './host-under-test.ts'

const agent: ScriptedAdapterOptions = { script: remembering }

async function told(world: HostUnderTest, ...words: string[]): Promise<[SessionUnderTest, ...string[]]> {
  const session = await world.create()
  const prompts: string[] = []
  for (const text of words) {
    prompts.push((await session.command({ type: 'prompt.submit', text })).promptId ?? '')
    await session.idle()
  }
  return [session, ...prompts]
}

async function asked(world: HostUnderTest, id: string): Promise<string> {
  const session = new SessionUnderTest(() => world.host, id)
  const { turns } = await session.state()
  await session.command({ type: 'prompt.submit', text: 'what did I say?' })
  await session.when((state) => state.turns === turns + 1)
  return (await session.texts()).at(-1) ?? ''
}

describe('a fork before a prompt', () => {
  it('has the log up to the turn of the prompt, and the conversation before it', async () => {
    await using world = await hostUnderTest({ agent })
    const [session, , second = ''] = await told(world, 'one', 'two', 'three')
    const before = await session.log()
    const begin = before.findIndex((event) => event.type === 'prompt.submitted' && event.promptId === second)
    const { sessionId = '' } = await session.command({ type: 'session.fork', before: second, title: 'Again' })
    const state = await world.host.state(sessionId)
    expect(state).toMatchObject({ title: 'Again', turns: 1, queue: [], status: 'idle', connected: false })
    expect(state.forkedFrom).toEqual({ sessionId: session.id, seq: begin, before: second })
    expect((await session.events('session.forked'))[0]).toMatchObject({ into: sessionId, atSeq: begin })
    const { events } = await world.host.read(sessionId, { after: 0, limit: 1000 })
    const copied = events.map(({ json }) => JSON.parse(json))
    expect(logProblems(copied)).toEqual([])
    expect(copied.slice(0, begin).map(({ type }) => type)).toEqual(
      before.slice(0, begin).map(({ type }) => type),
    )
    expect(await asked(world, sessionId)).toBe('You said: one')
    expect(await asked(world, session.id)).toBe('You said: one; two; three')
  })

  it('withdraws the prompts that were queued when the turn began', async () => {
    await using world = await hostUnderTest({ agent })
    const session = await world.create()
    await session.submit({ type: 'wait', gate: 'go' })
    const texts = ['two', 'three', 'four']
    const [second = ''] = await Promise.all(
      texts.map(async (text) => (await session.command({ type: 'prompt.submit', text })).promptId ?? ''),
    )
    world.gates.open('go')
    await session.when(({ turns }) => turns === 4)
    const { sessionId = '' } = await session.command({ type: 'session.fork', before: second })
    expect(await world.host.state(sessionId)).toMatchObject({ queue: [], turns: 1 })
    const { events } = await world.host.read(sessionId, { after: 0, limit: 1000 })
    const types = events.map(({ json }) => JSON.parse(json).type)
    expect(types.filter((type) => type === 'prompt.withdrawn')).toHaveLength(3)
  })

  it('has the present settings of the session, not those of the time of the prompt', async () => {
    await using world = await hostUnderTest({ agent })
    const [session, first = ''] = await told(world, 'one', 'two')
    await session.command({ type: 'session.configure', mode: 'read-only', model: 'scripted-small' })
    const { sessionId = '' } = await session.command({ type: 'session.fork', before: first })
    const { requested, turns } = await world.host.state(sessionId)
    expect(requested).toEqual((await session.state()).requested)
    expect(requested).toMatchObject({ mode: 'read-only', model: 'scripted-small' })
    expect(turns).toBe(0)
    expect(await asked(world, sessionId)).toBe('You said: ')
  })

  it('forks, for a copied prompt, the conversation that received the prompt', async () => {
    await using world = await hostUnderTest({ agent })
    const [session, , second = ''] = await told(world, 'one', 'two')
    const { sessionId: first = '' } = await session.command({ type: 'session.fork' })
    expect(await asked(world, first)).toBe('You said: one; two')
    const fork = { type: 'session.fork', commandId: 'again', before: second } as const
    const { sessionId: next = '' } = await world.host.command(first, fork)
    const last = { type: 'session.fork', commandId: 'unused' } as const
    const { sessionId: third = '' } = await world.host.command(next, last)
    expect(await asked(world, next)).toBe('You said: one')
    expect(await asked(world, third)).toBe('You said: one')
  })

  it('that never reached the agent is a fork before the next prompt that did', async () => {
    let fails = false
    await using world = await hostUnderTest({
      agent,
      adapter: (scripted) => ({
        ...scripted,
        connect: (input) =>
          fails ? Promise.reject(new Error('It does not start.')) : scripted.connect(input),
      }),
    })
    const [session] = await told(world, 'one')
    await session.command({ type: 'session.close' })
    fails = true
    const { promptId: lost = '' } = await session.command({ type: 'prompt.submit', text: 'lost' })
    await session.idle()
    const alone = await session.command({ type: 'session.fork', before: lost })
    fails = false
    await session.command({ type: 'prompt.submit', text: 'two' })
    await session.idle()
    const { sessionId = '' } = await session.command({ type: 'session.fork', before: lost })
    expect(await asked(world, sessionId)).toBe('You said: one')
    expect((await world.host.state(alone.sessionId ?? '')).forkPoint).toBeUndefined()
  })

  it('names a prompt even if the turn of that prompt compacted the conversation', async () => {
    await using world = await hostUnderTest({ agent })
    const [session] = await told(world, 'one')
    const second = await session.submit({ type: 'compaction', trigger: 'auto', before: 9, after: 3 })
    await session.idle()
    await session.play({ type: 'text', text: 'Later.' })
    const { sessionId = '' } = await session.command({ type: 'session.fork', before: second })
    expect((await world.host.state(sessionId)).forkPoint).toMatchObject({ before: [second] })
    expect(await asked(world, sessionId)).toBe('You said: one')
  })

  it('continues the copy when the agent was closed before its first prompt', async () => {
    await using world = await hostUnderTest({
      agent,
      adapter: (scripted) => ({
        ...scripted,
        connect: async (input) => silentAtFirst(await scripted.connect(input)),
      }),
    })
    const [session, , second = ''] = await told(world, 'one', 'two')
    const { sessionId = '' } = await session.command({ type: 'session.fork', before: second })
    await world.host.command(sessionId, { type: 'session.close', commandId: 'close' })
    expect((await world.host.state(sessionId)).forkPending).toBe(true)
    expect(await asked(world, sessionId)).toBe('You said: one')
    expect(await asked(world, session.id)).toBe('You said: one; two')
  })
})

/** A connection that reports the id of its conversation only after the first prompt, as Claude Code does. */
function silentAtFirst(connection: AgentConnection): AgentConnection {
  let isAsked = false
  let held: AgentOutput | undefined
  async function* events(): AsyncGenerator<AgentOutput> {
    for await (const output of connection.events) {
      if (output.type === 'agent.connected' && !isAsked) {
        held = { type: 'agent.connected', agentSessionId: output.agentSessionId }
        continue
      }
      if (held && isAsked) yield held
      if (isAsked) held = undefined
      yield output
    }
  }
  const outputs = events()
  return {
    events: outputs,
    send(message) {
      isAsked = true
      return connection.send(message)
    },
    interrupt: () => connection.interrupt(),
    configure: (settings) => connection.configure(settings),
    close: () => connection.close(),
  }
}

describe('a fork before a prompt is refused', () => {
  it('for a prompt that is unknown, that waits, or that was sent into a turn', async () => {
    await using world = await hostUnderTest({ agent })
    const session = await world.create()
    const first = await session.submit({ type: 'text', text: 'hm' }, { type: 'wait', gate: 'go' })
    await session.when(({ turn }) => turn?.delivered === true)
    const steer = { type: 'prompt.submit', text: 'to the left', delivery: 'steer' } as const
    const { promptId: steered = '' } = await session.command(steer)
    const waiting = { type: 'prompt.submit', text: 'later', paused: true } as const
    const { promptId: paused = '' } = await session.command(waiting)
    const fork = (before: string) => session.command({ type: 'session.fork', before })
    await expect(fork(first)).rejects.toThrow(/turn is open/)
    world.gates.open('go')
    await session.when(({ turn }) => !turn)
    await expect(fork('prm_unknown')).rejects.toMatchObject({ code: 'not_found' })
    await expect(fork(paused)).rejects.toMatchObject({ code: 'conflict', details: { promptId: paused } })
    await expect(fork(steered)).rejects.toMatchObject({ code: 'conflict', details: { steeredInto: first } })
    const { promptId: compact = '' } = await session.command({ type: 'session.compact' })
    await session.when(({ turns }) => turns === 2)
    await expect(fork(compact)).rejects.toThrow(/is a command/)
    expect((await world.host.list({ limit: 10 })).sessions).toHaveLength(1)
  })
})

it('a fork before a prompt that was compacted is refused if the agent drops the messages that it compacts', async () => {
  await using world = await hostUnderTest({
    agent,
    adapter: (scripted) => ({ ...scripted, dropsCompacted: true }),
  })
  const [session, first = ''] = await told(world, 'one')
  const later = await session.submit({ type: 'compaction', trigger: 'auto', before: 9, after: 3 })
  await session.idle()
  const { promptId: third = '' } = await session.command({ type: 'prompt.submit', text: 'three' })
  await session.idle()
  const fork = (before: string) => session.command({ type: 'session.fork', before })
  await expect(fork(first)).rejects.toMatchObject({ code: 'conflict', details: { promptId: first } })
  await expect(fork(later)).rejects.toMatchObject({ code: 'conflict' })
  expect(await fork(third)).toMatchObject({ sessionId: expect.any(String) })
})

it('a fork before a prompt is made whole by the same command after a kill at any write, and its seals verify', async () => {
  for (const isWritten of [true, false]) {
    for (let write = 0; write < 4; write++) {
      const store = createMemoryStore()
      const killable = killableStore(store)
      const { world, sealer, keys } = await sealedHostUnderTest(store, { store: killable.store, agent })
      const [session, , second = ''] = await told(world, 'one', 'two')
      const fork = { type: 'session.fork', commandId: 'fork', before: second } as const
      killable.killAt(write, isWritten)
      void world.host.command(session.id, fork).catch(() => undefined)
      for (let rounds = 0; rounds < 100; rounds++) await new Promise((resolve) => setImmediate(resolve))
      await using next = await hostUnderTest({ store, sealer, ledger: store })
      const { sessionId = '' } = await next.host.command(session.id, fork)
      expect(await next.host.command(session.id, fork)).toMatchObject({ sessionId })
      const { sessions } = await next.host.list({ limit: 10 })
      expect(sessions.map(({ id }) => id).toSorted()).toEqual([session.id, sessionId].toSorted())
      const forks = (await next.host.read(session.id, { after: 0, limit: 1000 })).events
      expect(forks.filter(({ json }) => json.includes('"session.forked"'))).toHaveLength(1)
      await next.host.seal(sessionId)
      const { events } = await next.host.read(sessionId, { after: 0, limit: 1000 })
      expect(logProblems(events.map(({ json }) => JSON.parse(json)))).toEqual([])
      const verified = verifyLog(
        events.map(({ json }) => json),
        keys,
      )
      expect(verified).toMatchObject({ findings: [], forkedFrom: { sessionId: session.id, before: second } })
      expect(await next.host.state(sessionId)).toMatchObject({ queue: [], turns: 1, status: 'idle' })
    }
  }
})
