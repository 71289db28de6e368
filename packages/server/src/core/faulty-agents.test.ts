import type { AgentOutput } from '@parley/adapter-kit'
import { ParleyError } from '@parley/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { createGates } from '../adapters/scripted/gates.ts'
import { heldStore } from '../testing/held-store.ts'
import { logProblems } from '../testing/invariants.ts'
import {
  connectedAs,
  type FaultyAgent,
  type FaultyConnection,
  faultyAgent,
  loopTurns,
  until,
} from './faulty-agent-under-test.ts'
import {
  type HostUnderTest,
  type HostUnderTestOptions,
  hostUnderTest,
  type SessionUnderTest,
} from './host-under-test.ts'

/**
 * A host with one session of a faulty agent. When a test ends, no agent may be open, every log must satisfy the
 * invariants, and no unexpected problem may have been reported.
 */
type World = HostUnderTest & { readonly session: SessionUnderTest; readonly agent: FaultyAgent }
const worlds: { world: World; expected: RegExp | undefined }[] = []

async function world(
  agent: FaultyAgent,
  { expected, ...options }: HostUnderTestOptions & { expected?: RegExp } = {},
): Promise<World> {
  const made = await hostUnderTest({ ...options, adapter: agent.adapter })
  const world = Object.assign(made, { session: await made.create(), agent })
  worlds.push({ world, expected })
  return world
}

afterEach(async () => {
  const wrong: string[] = []
  for (const { world, expected } of worlds.splice(0)) {
    await world[Symbol.asyncDispose]()
    const stored = await world.store.read(world.session.id, { after: 0, limit: 10_000 })
    wrong.push(...logProblems(stored.map(({ json }) => JSON.parse(json))))
    wrong.push(...world.problems.filter((problem) => !expected?.test(problem)))
    await until(() => world.agent.open === 0)
  }
  expect(wrong).toEqual([])
})

const never = new Promise<never>(() => undefined)
const forever = () => never
const prompt = (session: SessionUnderTest, text: string, delivery: 'queue' | 'steer' = 'queue') =>
  session.command({ type: 'prompt.submit', text, delivery })
const write = { tool: 'Write', kind: 'edit' as const, title: 'Write a file', input: { path: 'a' } }
const working = (session: SessionUnderTest) => session.when(({ turn, connected }) => !!turn && connected)

/** Answers every prompt at once. */
const answering = (connection: FaultyConnection) => ({
  async send() {
    connection.endTurn()
  },
})

/** Ends the connection after this many microtasks: each number ends it at a different point of the host's work. */
async function endAfter(moments: number, connection: FaultyConnection): Promise<void> {
  for (let moment = 0; moment < moments; moment++) await Promise.resolve()
  connection.end()
}
const moments = Array.from({ length: 24 }, (_, moment) => moment)

describe('an agent that ends early', () => {
  it.each(moments)(
    '%i microtasks after it connected fails its turn, and the next turn starts a new connection',
    async (moment) => {
      const agent = faultyAgent((connection) => {
        if (connection.number > 0) return answering(connection)
        void endAfter(moment, connection)
        return {}
      })
      const { session } = await world(agent)
      await prompt(session, 'one')
      expect((await session.idle()).lastTurn).toMatchObject({
        outcome: 'failed',
        error: { code: 'agent_failed' },
      })
      await prompt(session, 'two')
      expect((await session.when(({ turns, turn }) => turns === 2 && !turn)).lastTurn?.outcome).toBe(
        'completed',
      )
      expect(agent.connections).toHaveLength(2)
    },
  )

  it.each([
    ['and the message is accepted', async () => undefined],
    ['and the send never settles', forever],
    ['and the send is rejected', () => Promise.reject(new Error('the pipe is closed'))],
  ])('while its first message is sent, %s, fails its turn', async (_, taken) => {
    const agent = faultyAgent((connection) => {
      if (connection.number > 0) return answering(connection)
      return {
        send() {
          connection.say({ type: 'agent.disconnected', reason: 'crashed', exitCode: 1 })
          connection.end()
          return taken()
        },
      }
    })
    const { session } = await world(agent, { expected: /start a turn: .*the pipe is closed/ })
    await prompt(session, 'one')
    expect((await session.idle()).lastTurn).toMatchObject({ outcome: 'failed' })
    expect(await session.events('turn.ended')).toHaveLength(1)
    await session.when(({ connected }) => !connected)
    expect(await session.events('agent.disconnected')).toMatchObject([{ reason: 'crashed', exitCode: 1 }])
    await prompt(session, 'two')
    expect((await session.when(({ turns, turn }) => turns === 2 && !turn)).lastTurn?.outcome).toBe(
      'completed',
    )
  })

  it.each(moments)('%i microtasks after it was started for a parked turn fails that turn', async (moment) => {
    const agent = faultyAgent((connection) => {
      if (connection.number === 1) {
        void endAfter(moment, connection)
        return {}
      }
      if (connection.number > 1) return answering(connection)
      connection.say(connectedAs('native'))
      return {
        async send() {
          void connection.input.person.permit(write)
        },
      }
    })
    const { session, time } = await world(agent, { limits: { parkAfterMs: 1_000 } })
    await prompt(session, 'one')
    await session.when(({ requests }) => requests.length > 0)
    time.advance(1_000)
    await session.when(({ turn, connected }) => turn?.parked !== undefined && !connected)
    await session.decide('allow')
    expect((await session.idle()).lastTurn).toMatchObject({
      outcome: 'failed',
      error: { code: 'agent_failed' },
    })
    await prompt(session, 'two')
    expect((await session.when(({ turns, turn }) => turns === 2 && !turn)).lastTurn?.outcome).toBe(
      'completed',
    )
  })
})

describe('a send that never settles', () => {
  const deaf = () => faultyAgent(() => ({ send: forever }))

  it('does not prevent cancelling: the turn ends by force', async () => {
    const { session, time, agent } = await world(deaf(), { limits: { cancelGraceMs: 1_000 } })
    await prompt(session, 'one')
    await until(() => agent.texts.length === 1)
    await session.command({ type: 'turn.cancel' })
    expect((await session.state()).turn?.interrupted).toBe(true)
    time.advance(1_000)
    expect((await session.idle()).lastTurn?.outcome).toBe('cancelled')
    await prompt(session, 'two')
    await until(() => agent.connections.length === 2)
  })

  it('does not prevent the host from closing', async () => {
    const made = await world(deaf())
    await prompt(made.session, 'one')
    await until(() => made.agent.texts.length === 1)
    await made[Symbol.asyncDispose]()
    expect((await made.store.load(made.session.id))?.state).toMatchObject({
      connected: false,
      lastTurn: { outcome: 'cancelled', stopReason: 'server_stopped' },
    })
  })

  it('does not prevent the host from closing, even if the agent does not end', async () => {
    const made = await world(faultyAgent(() => ({ send: forever, interrupt: forever, close: forever })))
    await prompt(made.session, 'one')
    await until(() => made.agent.texts.length === 1)
    await made[Symbol.asyncDispose]()
    expect((await made.store.load(made.session.id))?.state.turn).toBeUndefined()
  })

  it('does not prevent the session from being deleted', async () => {
    const { host, session, agent } = await world(deaf())
    await prompt(session, 'one')
    await until(() => agent.texts.length === 1)
    await host.delete(session.id)
    expect(agent.open).toBe(0)
  })
})

describe('parking', () => {
  it('passes an answer to one connection only, if it arrives before the slow agent has ended', async () => {
    const gates = createGates()
    const answers: string[] = []
    let openThen = 0
    const agent: FaultyAgent = faultyAgent((connection) => {
      const { number, input } = connection
      openThen = agent.open
      connection.say(connectedAs('native'))
      return {
        async send() {
          void input.person.permit(write).then(({ outcome }) => {
            answers.push(`${number} ${outcome}`)
            if (number === 1) connection.endTurn()
          })
        },
        async close() {
          if (number === 0) await gates.pass('go', new AbortController().signal)
        },
      }
    })
    const { session, time } = await world(agent, { limits: { parkAfterMs: 1_000 } })
    await prompt(session, 'one')
    await session.when(({ requests }) => requests.length > 0)
    time.advance(1_000)
    await session.when(({ turn }) => turn?.parked !== undefined)
    await gates.reached('go')
    await session.decide('allow')
    expect(answers).toEqual([])
    gates.open('go')
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    expect(answers.toSorted()).toEqual(['0 cancelled', '1 allowed'])
    expect(openThen).toBe(0)
    expect(agent.connections[1]?.received.map(({ type }) => type)).toEqual(['continue'])
  })

  it('is ended by a cancel that arrives before the slow agent has ended, and no answer is passed on', async () => {
    const gates = createGates()
    const answers: string[] = []
    const agent = faultyAgent((connection) => {
      connection.say(connectedAs('native'))
      return {
        async send() {
          void connection.input.person.permit(write).then(({ outcome }) => answers.push(outcome))
        },
        close: () => gates.pass('go', new AbortController().signal),
      }
    })
    const { session, time } = await world(agent, { limits: { parkAfterMs: 1_000 } })
    await prompt(session, 'one')
    await session.when(({ requests }) => requests.length > 0)
    time.advance(1_000)
    await gates.reached('go')
    await session.command({ type: 'turn.cancel' })
    expect((await session.idle()).lastTurn?.outcome).toBe('cancelled')
    gates.open('go')
    await until(() => answers.length > 0)
    expect(answers).toEqual(['cancelled'])
    expect(agent.connections).toHaveLength(1)
  })
})

describe('a repeated session.close', () => {
  it('does not affect a later turn', async () => {
    const agent = faultyAgent((connection) => ({
      async send({ prompt }) {
        if (prompt.parts[0]?.type === 'text' && prompt.parts[0].text === 'quick') connection.endTurn()
      },
    }))
    const { session } = await world(agent)
    await prompt(session, 'quick')
    await session.idle()
    const close = { type: 'session.close' as const, commandId: 'close-once' }
    const receipt = await session.command(close)
    expect((await session.state()).connected).toBe(false)
    await prompt(session, 'long')
    await working(session)
    const before = await session.log()
    expect(await session.command(close)).toEqual(receipt)
    await loopTurns(20)
    expect(await session.log()).toEqual(before)
    expect(agent.open).toBe(1)
  })

  it('at the same time has one effect', async () => {
    const { session } = await world(faultyAgent(answering))
    await prompt(session, 'quick')
    await session.idle()
    const close = { type: 'session.close' as const, commandId: 'close-at-once' }
    const [one, two] = await Promise.all([session.command(close), session.command(close)])
    expect(one).toEqual(two)
    expect(await session.events('agent.disconnected')).toMatchObject([{ reason: 'closed' }])
  })
})

describe('an agent that is starting', () => {
  it('gets new settings', async () => {
    const gates = createGates()
    const settings: unknown[] = []
    const agent = faultyAgent(async ({ input }) => {
      settings.push(input.settings)
      await gates.pass('connect', new AbortController().signal)
      return {
        async configure(given) {
          settings.push(given)
        },
      }
    })
    const { session } = await world(agent)
    await prompt(session, 'one')
    await gates.reached('connect')
    await session.command({ type: 'session.configure', model: 'big' })
    gates.open('connect')
    await until(() => agent.texts.length === 1)
    expect(settings).toEqual([{ mode: 'ask' }, { mode: 'ask', model: 'big' }])
  })

  it('gets new settings that arrive while its connection is being stored', async () => {
    const disk = heldStore()
    const settings: unknown[] = []
    const agent = faultyAgent(async () => {
      disk.hold()
      return {
        async configure(given) {
          settings.push(given)
        },
      }
    })
    const { session } = await world(agent, { store: disk.store })
    await prompt(session, 'one')
    await until(() => agent.open === 1)
    const configured = session.command({ type: 'session.configure', model: 'big' })
    await loopTurns(5)
    disk.release()
    await configured
    await until(() => agent.texts.length === 1)
    expect(settings).toEqual([{ mode: 'ask', model: 'big' }])
  })

  it('gets the steered prompts that waited, in order, one after another', async () => {
    const gates = createGates()
    const reported: string[] = []
    let sending = 0
    const agent = faultyAgent(async () => {
      await gates.pass('connect', new AbortController().signal)
      return {
        async send({ prompt: { parts } }) {
          const text = parts[0]?.type === 'text' ? parts[0].text : ''
          reported.push(sending++ === 0 ? text : `${text} too early`)
          await loopTurns(reported.length % 4)
          sending--
        },
      }
    })
    const { session } = await world(agent)
    await prompt(session, '0')
    await gates.reached('connect')
    for (const text of ['1', '2', '3']) await prompt(session, text, 'steer')
    gates.open('connect')
    for (let text = 4; text < 20; text++) await prompt(session, `${text}`, 'steer')
    await until(() => reported.length === 20)
    expect(reported).toEqual(Array.from({ length: 20 }, (_, text) => `${text}`))
  })

  it('and connects only after the host has closed is closed', async () => {
    const gates = createGates()
    const agent = faultyAgent(async () => {
      await gates.pass('connect', new AbortController().signal)
      return {}
    })
    const made = await world(agent)
    await prompt(made.session, 'one')
    await gates.reached('connect')
    await made[Symbol.asyncDispose]()
    gates.open('connect')
    await until(() => agent.closed === 1)
    expect(agent.texts).toEqual([])
    expect((await made.store.load(made.session.id))?.state).toMatchObject({
      connected: false,
      turn: { delivered: false },
    })
  })

  it('and connects only after the session was deleted is closed', async () => {
    const gates = createGates()
    const agent = faultyAgent(async () => {
      await gates.pass('connect', new AbortController().signal)
      return {}
    })
    const { host, session, problems } = await world(agent)
    await prompt(session, 'one')
    await gates.reached('connect')
    await host.delete(session.id)
    gates.open('connect')
    await until(() => agent.closed === 1)
    expect(agent.texts).toEqual([])
    expect(problems).toEqual([])
  })

  it.each(['close', 'delete'] as const)(
    'and whose connection is being stored during a %s is closed',
    async (how) => {
      const disk = heldStore()
      const agent = faultyAgent(async () => {
        disk.hold()
        return {}
      })
      const made = await world(agent, { store: disk.store })
      await prompt(made.session, 'one')
      await until(() => agent.open === 1)
      const ended = how === 'close' ? made[Symbol.asyncDispose]() : made.host.delete(made.session.id)
      await loopTurns(5)
      disk.release()
      await ended
      await until(() => agent.open === 0)
      expect(agent.texts).toEqual([])
    },
  )

  it('and whose connection cannot be stored during a deletion is closed', async () => {
    const disk = heldStore()
    const agent = faultyAgent(async () => {
      disk.failNext(new ParleyError('busy', 'No space left.'))
      return {}
    })
    const { host, session, problems, time } = await world(agent, {
      store: disk.store,
      expected: /No space left/,
    })
    await prompt(session, 'one')
    await until(() => problems.length > 0)
    await host.delete(session.id)
    time.advance(60_000)
    await until(() => agent.open === 0)
    expect(agent.texts).toEqual([])
  })
})

describe('an output that cannot be serialised', () => {
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  const awkward = {
    toJSON() {
      throw new Error('not this one')
    },
  }

  it.each<[string, AgentOutput]>([
    ['a cycle', { type: 'agent.unrecognised', native: cyclic }],
    ['a bigint', { type: 'agent.unrecognised', native: { size: 10n } }],
    ['an object whose toJSON throws', { type: 'agent.unrecognised', native: awkward }],
    [
      'the input of a call',
      { type: 'tool-call.called', toolCallId: 'c', name: 'X', kind: 'other', title: 'X', input: cyclic },
    ],
    ['a wrong field that is a cycle', { type: 'text.written', blockId: 'b', text: cyclic } as never],
  ])('(%s) becomes agent.unrecognised, and the turn continues', async (_, output) => {
    const agent = faultyAgent((connection) => ({
      async send() {
        connection.say(output, { type: 'text.written', blockId: 'after', text: 'After.' })
        connection.endTurn()
      },
    }))
    const { session } = await world(agent, { expected: /record events of the session/ })
    await prompt(session, 'one')
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    expect(await session.events('agent.unrecognised')).toMatchObject([{ native: { type: output.type } }])
    expect(await session.texts()).toEqual(['After.'])
  })

  it('as a native message has no effect, with or without a reader', async () => {
    const agent = faultyAgent((connection) => ({
      async send() {
        connection.say({ type: 'native', message: cyclic })
        connection.endTurn()
      },
    }))
    const { host, session } = await world(agent)
    const natives: string[] = []
    await host.follow(
      session.id,
      {},
      {
        native: true,
        following: () => undefined,
        deliver: (batch) =>
          void natives.push(...batch.flatMap((item) => (item.kind === 'native' ? item.json : []))),
        caughtUp: () => undefined,
        ended: () => undefined,
      },
    )
    await prompt(session, 'one')
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    await until(() => natives.length === 1)
    expect(JSON.parse(natives[0]!)).toHaveProperty('unserialisable')
  })

  it('as the input of a permission is answered with cancelled, and the agent can continue', async () => {
    const answers: string[] = []
    const agent = faultyAgent((connection) => ({
      async send() {
        void connection.input.person.permit({ ...write, input: cyclic }).then(({ outcome }) => {
          answers.push(outcome)
          connection.endTurn()
        })
      },
    }))
    const { session } = await world(agent, { expected: /record events of the session/ })
    await prompt(session, 'one')
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    expect(answers).toEqual(['cancelled'])
    expect(await session.events('permission.requested')).toEqual([])
  })

  it.each<[string, object]>([
    ['cannot be serialised', { structuredOutput: cyclic }],
    ['has a wrong shape', { stopReason: 7 }],
  ])('still ends the turn if it is the end of a turn that %s', async (_, odd) => {
    const agent = faultyAgent((connection) => ({
      async send() {
        connection.say({ type: 'turn.ended', outcome: 'completed', stopReason: 'end', ...odd })
      },
    }))
    const { session } = await world(agent, { expected: /record events of the session/ })
    await prompt(session, 'one')
    await session.when((state) => state.turn === undefined)
    expect(await session.events('turn.ended')).toHaveLength(1)
  })
})

const rejects = () => Promise.reject(new Error('out of order'))
const throws = () => {
  throw new Error('out of order')
}
const ways: [string, () => Promise<never>][] = [
  ['rejects', rejects],
  ['throws', throws],
]
/** The ways in which the control functions of a connection may fail: they reject or throw. */
const waysOfControls = ways

describe('an error', () => {
  it('of a listener for changes affects neither the other listeners nor the command nor the turn', async () => {
    const { host, session } = await world(faultyAgent(answering), {
      expected: /^announce a change: .*a bad listener/,
    })
    const received: string[] = []
    host.onSessionChanged(() => {
      throw new Error('a bad listener')
    })
    host.onSessionChanged(({ change }) => void received.push(change))
    const receipt = await session.command({ type: 'prompt.submit', text: 'one', commandId: 'once' })
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    expect(await session.command({ type: 'prompt.submit', text: 'one', commandId: 'once' })).toEqual(receipt)
    expect(await session.events('prompt.submitted')).toHaveLength(1)
    expect(received.length).toBeGreaterThan(1)
  })

  it.each(waysOfControls)(
    'of a configure that %s leaves the settings recorded, and the turn continues',
    async (_, configure) => {
      const agent = faultyAgent(() => ({ configure }))
      const { session } = await world(agent, { expected: /configure the agent: .*out of order/ })
      await prompt(session, 'one')
      await until(() => agent.texts.length === 1)
      await session.command({ type: 'session.configure', model: 'big' })
      await prompt(session, 'two')
      agent.connections[0]!.endTurn()
      await until(() => agent.texts.length === 2)
      expect((await session.state()).requested).toMatchObject({ model: 'big' })
    },
  )

  it.each(waysOfControls)(
    'of a configure that %s when the connection opens does not stop the turn from starting',
    async (_, configure) => {
      const gates = createGates()
      const agent = faultyAgent(async () => {
        await gates.pass('connect', new AbortController().signal)
        return { configure }
      })
      const { session } = await world(agent, { expected: /configure the agent: .*out of order/ })
      await prompt(session, 'one')
      await gates.reached('connect')
      await session.command({ type: 'session.configure', model: 'big' })
      gates.open('connect')
      await until(() => agent.texts.length === 1)
      agent.connections[0]!.endTurn()
      expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    },
  )

  it.each(waysOfControls)('of an interrupt that %s makes the turn end by force', async (_, interrupt) => {
    const agent = faultyAgent(() => ({ interrupt }))
    const { session, time } = await world(agent, {
      limits: { cancelGraceMs: 1_000 },
      expected: /interrupt the agent: .*out of order/,
    })
    await prompt(session, 'one')
    await until(() => agent.texts.length === 1)
    await session.command({ type: 'turn.cancel' })
    time.advance(1_000)
    expect((await session.idle()).lastTurn?.outcome).toBe('cancelled')
  })

  it.each(waysOfControls)(
    'of a close that %s lets the session be closed after a while, and used again',
    async (_, close) => {
      const agent = faultyAgent((connection) => ({ ...answering(connection), close }))
      const { session, time } = await world(agent, { expected: /out of order/ })
      await prompt(session, 'one')
      await session.idle()
      const closed = session.command({ type: 'session.close' })
      await session.when(({ connected }) => {
        time.advance(500)
        return !connected
      })
      await closed
      await prompt(session, 'two')
      await session.when(({ turns, turn }) => turns === 2 && !turn)
      expect(agent.connections).toHaveLength(2)
    },
  )

  it.each(waysOfControls)('of a close that %s does not stop the host from closing', async (_, close) => {
    const made = await world(
      faultyAgent(() => ({ close })),
      { expected: /out of order/ },
    )
    await prompt(made.session, 'one')
    await until(() => made.agent.texts.length === 1)
    await made[Symbol.asyncDispose]()
    expect((await made.store.load(made.session.id))?.state.connected).toBe(false)
  })

  it.each(waysOfControls)(
    'of a close that %s is reported if the connection opened only after its turn was cancelled',
    async (_, close) => {
      const gates = createGates()
      const agent = faultyAgent(async () => {
        await gates.pass('connect', new AbortController().signal)
        return { close }
      })
      const made = await world(agent, {
        expected: /close an agent that is no longer needed: .*out of order/,
      })
      await prompt(made.session, 'one')
      await gates.reached('connect')
      await made.session.command({ type: 'turn.cancel' })
      gates.open('connect')
      await until(() => made.problems.length === 1)
      expect((await made.session.idle()).lastTurn?.outcome).toBe('cancelled')
    },
  )

  it.each(ways)('of a send that %s fails the turn, and the next turn is tried', async (_, send) => {
    const agent = faultyAgent(() => ({ send }))
    const { session } = await world(agent, { expected: /start a turn: .*out of order/ })
    await prompt(session, 'one')
    await prompt(session, 'two')
    expect((await session.when(({ turns, turn }) => turns === 2 && !turn)).lastTurn?.outcome).toBe('failed')
  })

  it.each(ways)(
    'of a steer that %s leaves the turn running, and the prompt starts the next one',
    async (_, fail) => {
      const agent = faultyAgent(() => ({
        send: ({ prompt }) => (prompt.delivery === 'steer' ? fail() : Promise.resolve()),
      }))
      const { session, problems } = await world(agent, { expected: /steer the agent: .*out of order/ })
      await prompt(session, 'one')
      await until(() => agent.texts.length === 1)
      await prompt(session, 'two', 'steer')
      await until(() => problems.length === 1)
      agent.connections[0]!.endTurn()
      await until(() => agent.texts.length === 2)
      agent.connections[0]!.endTurn()
      expect(await session.idle()).toMatchObject({ turns: 2, lastTurn: { outcome: 'completed' } })
    },
  )

  it.each(ways)('of a connect that %s fails the turn, and the next turn is tried', async (_, connect) => {
    const agent = faultyAgent((connection) => (connection.number > 0 ? answering(connection) : connect()))
    const { session } = await world(agent, { expected: /start a turn: .*out of order/ })
    await prompt(session, 'one')
    expect((await session.idle()).lastTurn?.outcome).toBe('failed')
    expect(await session.events('agent.disconnected')).toMatchObject([{ reason: 'failed-to-start' }])
    await prompt(session, 'two')
    expect((await session.when(({ turns, turn }) => turns === 2 && !turn)).lastTurn?.outcome).toBe(
      'completed',
    )
  })
})
