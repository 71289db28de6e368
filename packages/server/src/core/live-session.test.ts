import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import { capabilities, ParleyError, type SessionEvent } from '@parley/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { createGates } from '../adapters/scripted/gates.ts'
import { scriptedCapabilities } from '../adapters/scripted/index.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { logProblems } from '../testing/invariants.ts'
import {
  colour,
  type HostUnderTest,
  hostUnderTest,
  permission,
  type SessionUnderTest,
} from './host-under-test.ts'
import type { CreateBatch, SessionStore } from './session-store.ts'

/**
 * The hosts that the tests created. Every log that a test leaves behind must satisfy the invariants, and no problem
 * may be reported that the test does not expect.
 */
const worlds: HostUnderTest[] = []
const sessions: SessionUnderTest[] = []
async function world(options?: Parameters<typeof hostUnderTest>[0]): Promise<HostUnderTest> {
  const made = await hostUnderTest(options)
  worlds.push(made)
  return {
    ...made,
    get host() {
      return made.host
    },
    async create(given) {
      const session = await made.create(given)
      sessions.push(session)
      return session
    },
  }
}
afterEach(async () => {
  const problems: string[] = []
  for (const session of sessions.splice(0)) {
    const log = await session.log().catch((): SessionEvent[] => [])
    problems.push(...logProblems(log))
  }
  for (const made of worlds.splice(0)) {
    await made[Symbol.asyncDispose]()
    problems.push(...made.problems)
  }
  expect(problems).toEqual([])
})

const refusal = (code: string, details?: object) =>
  expect.objectContaining({ code, ...(details && { details: expect.objectContaining(details) }) })
const hello = { type: 'text' as const, text: 'Hello.' }
const hang = { type: 'hang' as const }
const waitAt = (gate: string) => ({ type: 'wait' as const, gate })
const working = (session: SessionUnderTest) => session.when(({ turn, connected }) => !!turn && connected)

describe('the queue', () => {
  it('runs one prompt after the other, each as a turn of its own', async () => {
    const { create, gates } = await world()
    const session = await create()
    const prompts = [
      await session.submit(waitAt('first')),
      await session.submit(hello),
      await session.submit(hello),
    ]
    await gates.reached('first')
    const { queue, turn, status } = await session.state()
    expect(status).toBe('working')
    expect(turn?.prompt?.promptId).toBe(prompts[0])
    expect(queue.map(({ promptId }) => promptId)).toEqual(prompts.slice(1))
    gates.open('first')
    await session.when(({ turns }) => turns === 3)
    const started = await session.events('turn.started')
    expect(started.map(({ promptId }) => promptId)).toEqual(prompts)
    expect((await session.events('prompt.queued')).map(({ promptId }) => promptId)).toEqual(prompts.slice(1))
  })

  it('continues after a turn that failed, crashed or was cancelled without pausing the queue', async () => {
    const { create } = await world()
    const session = await create()
    await session.submit({ type: 'end', outcome: 'failed' })
    await session.submit({ type: 'crash' })
    await session.submit({ type: 'vanish' })
    await session.submit(hang)
    await session.submit(hello)
    await session.when(({ turns, connected }) => turns === 3 && connected)
    await session.command({ type: 'turn.cancel', pauseQueue: false })
    await session.when(({ turns }) => turns === 5)
    const ends = await session.events('turn.ended')
    expect(ends.map(({ outcome }) => outcome)).toEqual([
      'failed',
      'failed',
      'failed',
      'cancelled',
      'completed',
    ])
  })

  it('is paused when a person cancels the turn, even across a restart, and continues when it is resumed', async () => {
    const { create, restart } = await world()
    const session = await create()
    await session.submit(hang)
    const queued = [await session.submit(hello), await session.submit(hello)]
    await working(session)
    await session.command({ type: 'turn.cancel' })
    await session.when(({ turn }) => !turn)
    await restart()
    const { queue, turns, status } = await session.state()
    expect(queue).toMatchObject(queued.map((promptId) => ({ promptId, paused: true })))
    expect({ turns, status }).toEqual({ turns: 1, status: 'idle' })
    await session.command({ type: 'queue.resume' })
    await session.when((state) => state.turns === 3)
    expect((await session.events('turn.started')).map(({ promptId }) => promptId).slice(1)).toEqual(queued)
  })

  it('stays paused while a prompt that was submitted later runs', async () => {
    const { create } = await world()
    const session = await create()
    await session.submit(hang)
    const promptId = await session.submit({ type: 'text', text: 'Later.' })
    await working(session)
    await session.command({ type: 'turn.cancel' })
    await session.submit({ type: 'text', text: 'Instead.' })
    await session.when(({ turns, turn }) => turns === 2 && !turn)
    expect(await session.texts()).toEqual(['Instead.'])
    expect((await session.state()).queue).toMatchObject([{ promptId, paused: true }])
    await session.command({ type: 'prompt.withdraw', promptId })
    expect((await session.play(hello)).queue).toEqual([])
  })

  it('is not copied into a fork', async () => {
    const { create, host } = await world()
    const session = await create()
    await session.play(hello)
    await session.submit(hang)
    await session.submit({ type: 'text', text: 'Never in the fork.' })
    await working(session)
    await session.command({ type: 'turn.cancel' })
    await session.when(({ turn }) => !turn)
    const { sessionId } = await session.command({ type: 'session.fork' })
    expect(await host.state(sessionId!)).toMatchObject({ queue: [] })
    expect((await session.state()).queue).toHaveLength(1)
  })

  it('has a limit: one more prompt is refused with busy', async () => {
    const { create } = await world({ limits: { maxQueue: 2 } })
    const session = await create()
    for (let count = 0; count < 3; count++) await session.submit(hang)
    await expect(session.submit(hello)).rejects.toEqual(refusal('busy'))
    expect((await session.state()).queue).toHaveLength(2)
  })

  it('never runs a withdrawn prompt, which cannot be withdrawn twice', async () => {
    const { create, gates } = await world()
    const session = await create()
    await session.submit(waitAt('here'))
    const promptId = await session.submit({ type: 'text', text: 'never said' })
    await session.command({ type: 'prompt.withdraw', promptId })
    await expect(session.command({ type: 'prompt.withdraw', promptId })).rejects.toEqual(
      refusal('conflict', { promptId }),
    )
    gates.open('here')
    await session.idle()
    expect(await session.texts()).toEqual([])
    expect((await session.state()).turns).toBe(1)
  })

  it('does not allow withdrawing a running prompt', async () => {
    const { create } = await world()
    const session = await create()
    const promptId = await session.submit(hang)
    await expect(session.command({ type: 'prompt.withdraw', promptId })).rejects.toEqual(refusal('conflict'))
  })
})

describe('a steered prompt', () => {
  it('is sent into the running turn', async () => {
    const { create, gates } = await world()
    const session = await create()
    await session.submit(waitAt('here'), hello)
    await gates.reached('here')
    const { promptId } = await session.command({ type: 'prompt.submit', text: 'be brief', delivery: 'steer' })
    gates.open('here')
    await session.idle()
    expect((await session.state()).turns).toBe(1)
    expect(await session.texts()).toEqual(['While I am at it: be brief', 'Hello.'])
    const [, steered] = await session.events('prompt.submitted')
    const [started] = await session.events('turn.started')
    expect(steered).toMatchObject({ promptId, turnId: started!.turnId, delivery: 'steer' })
  })

  it('waits for an agent that is still starting', async () => {
    const gate = createGates()
    const { create } = await world({ adapter: slowToConnect(gate) })
    const session = await create()
    await session.submit(hello)
    await gate.reached('connect')
    await session.command({ type: 'prompt.submit', text: 'be brief', delivery: 'steer' })
    gate.open('connect')
    await session.idle()
    expect((await session.texts()).toSorted()).toEqual(['Hello.', 'While I am at it: be brief'])
    expect((await session.state()).turns).toBe(1)
  })

  it('can be withdrawn until the agent takes it up', async () => {
    const { create, gates } = await world({ agent: { steerGate: (words) => words } })
    const session = await create()
    await session.submit(waitAt('end'))
    await gates.reached('end')
    const steer = async (text: string) => {
      const { promptId = '' } = await session.command({ type: 'prompt.submit', text, delivery: 'steer' })
      await gates.reached(text)
      return promptId
    }
    const [first, second] = [await steer('first'), await steer('second')]
    expect((await session.state()).turn?.steers).toHaveLength(2)
    await session.command({ type: 'prompt.withdraw', promptId: first })
    gates.open('first')
    gates.open('second')
    await session.when(({ turn }) => turn?.steers?.length === 0)
    await expect(session.command({ type: 'prompt.withdraw', promptId: second })).rejects.toEqual(
      refusal('conflict'),
    )
    gates.open('end')
    await session.idle()
    expect(await session.texts()).toEqual(['While I am at it: second'])
    expect(await session.events('prompt.withdrawn')).toMatchObject([{ promptId: first }])
  })

  it('without a turn is a prompt like any other', async () => {
    const { create } = await world()
    const session = await create()
    await session.command({ type: 'prompt.submit', text: 'hello', delivery: 'steer' })
    expect((await session.idle()).turns).toBe(1)
    expect(await session.texts()).toEqual(['hello'])
  })

  it('is refused while the turn is being cancelled', async () => {
    const { create } = await world()
    const session = await create()
    await session.submit({ type: 'hang', stubborn: true })
    await working(session)
    await session.command({ type: 'turn.cancel' })
    const steer = () => session.command({ type: 'prompt.submit', text: 'x', delivery: 'steer' })
    await expect(steer()).rejects.toEqual(refusal('conflict'))
  })

  it('needs an agent with the capability', async () => {
    const can = capabilities(...scriptedCapabilities.filter((name) => name !== 'steer'))
    const { create } = await world({ agent: { capabilities: can } })
    const session = await create()
    await session.submit(hang)
    const steer = session.command({ type: 'prompt.submit', text: 'x', delivery: 'steer' })
    await expect(steer).rejects.toEqual(refusal('not_supported', { capability: 'steer' }))
  })
})

describe('cancelling', () => {
  it('asks the agent to stop; the agent stays for the next prompt', async () => {
    const { create, connections } = await world()
    const session = await create()
    await session.submit(
      { type: 'text', text: 'So far.' },
      { type: 'tool', name: 'Read', order: 'call-only' },
      hang,
    )
    await session.when(({ openBlocks }) => openBlocks.length > 0)
    await session.command({ type: 'turn.cancel' })
    expect((await session.idle()).lastTurn).toMatchObject({ outcome: 'cancelled', stopReason: 'cancelled' })
    expect(await session.events('tool-call.ended')).toMatchObject([{ outcome: 'cancelled' }])
    expect((await session.state()).connected).toBe(true)
    expect((await session.play(hello)).lastTurn?.outcome).toBe('completed')
    expect(connections).toHaveLength(1)
  })

  it('closes a stubborn agent by force after the grace period, and starts it again for the next prompt', async () => {
    const { create, connections, time } = await world({ limits: { cancelGraceMs: 300 } })
    const session = await create()
    await session.submit({ type: 'hang', stubborn: true })
    await working(session)
    await session.command({ type: 'turn.cancel' })
    time.advance(299)
    expect((await session.state()).turn?.interrupted).toBe(true)
    time.advance(1)
    expect((await session.idle()).lastTurn?.outcome).toBe('cancelled')
    expect(await session.events('agent.disconnected')).toMatchObject([{ reason: 'closed' }])
    expect((await session.play(hello)).lastTurn?.outcome).toBe('completed')
    expect(connections).toHaveLength(2)
    expect(connections[1]?.input.resume?.agentSessionId).toBeDefined()
  })

  it('twice has one effect', async () => {
    const { create, time } = await world()
    const session = await create()
    await session.submit({ type: 'hang', stubborn: true })
    await working(session)
    await session.command({ type: 'turn.cancel' })
    await session.command({ type: 'turn.cancel' })
    time.advance(5_000)
    await session.idle()
    expect(await session.events('turn.interrupted')).toHaveLength(1)
    await expect(session.command({ type: 'turn.cancel' })).rejects.toEqual(refusal('conflict'))
  })

  it('has no effect on a turn other than the named one', async () => {
    const { create } = await world()
    const session = await create()
    await session.submit(hang)
    const { turn } = await working(session)
    await expect(session.command({ type: 'turn.cancel', turnId: 'trn_other' })).rejects.toEqual(
      refusal('not_found'),
    )
    expect((await session.state()).turn?.interrupted).toBe(false)
    await session.command({ type: 'turn.cancel', turnId: turn!.turnId })
    expect((await session.idle()).lastTurn?.outcome).toBe('cancelled')
  })

  it.each(['permission', 'question'] as const)(
    'resolves an open %s; the agent does not run the call',
    async (type) => {
      const { create, runs } = await world()
      const session = await create()
      await session.submit(type === 'permission' ? permission('effect') : colour, hello)
      await session.when(({ status }) => status === 'waiting')
      await session.command({ type: 'turn.cancel' })
      const { lastTurn, requests } = await session.idle()
      expect(lastTurn?.outcome).toBe('cancelled')
      expect(requests).toEqual([])
      expect(await session.events(`${type}.resolved`)).toMatchObject([
        { outcome: 'cancelled', by: 'turn-end' },
      ])
      expect(runs('effect')).toBe(0)
      expect(await session.texts()).toEqual([])
    },
  )

  it('during the start of the agent ends the turn, and closes a connection that opens too late', async () => {
    const gate = createGates()
    const { create, connections } = await world({ adapter: slowToConnect(gate) })
    const session = await create()
    await session.submit(hello)
    await gate.reached('connect')
    await session.command({ type: 'turn.cancel' })
    expect((await session.idle()).lastTurn?.outcome).toBe('cancelled')
    gate.open('connect')
    expect((await session.play(hello)).lastTurn?.outcome).toBe('completed')
    expect(await session.texts()).toEqual(['Hello.'])
    expect(connections).toHaveLength(2)
    for await (const output of connections[0]!.connection.events) expect(output.type).not.toBe('text.written')
  })
})

describe('the connection', () => {
  it('of an idle session is closed after a while, and resumed with the next prompt', async () => {
    const { create, connections, time } = await world({ limits: { idleCloseMs: 1_000 } })
    const session = await create()
    const first = await session.play(hello)
    time.advance(999)
    expect((await session.state()).connected).toBe(true)
    time.advance(1)
    await session.when(({ connected }) => !connected)
    expect(await session.events('agent.disconnected')).toMatchObject([{ reason: 'idle' }])
    await session.play(hello)
    expect(connections).toHaveLength(2)
    expect(connections[1]?.input.resume).toMatchObject({ agentSessionId: first.connection?.agentSessionId })
  })

  it('is not closed while a turn runs, however long it takes', async () => {
    const { create, gates, connections, time } = await world({ limits: { idleCloseMs: 1_000 } })
    const session = await create()
    await session.play(hello)
    await session.submit(waitAt('here'))
    await gates.reached('here')
    time.advance(10_000)
    gates.open('here')
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    expect(connections).toHaveLength(1)
  })

  it('of an idle session is closed for another session at the limit', async () => {
    const { create, connections } = await world({ limits: { maxConnections: 1 } })
    const [one, other] = [await create(), await create()]
    await one.play(hello)
    expect((await other.play(hello)).lastTurn?.outcome).toBe('completed')
    await one.when(({ connected }) => !connected)
    expect(await one.events('agent.disconnected')).toMatchObject([{ reason: 'idle' }])
    expect((await one.play(hello)).lastTurn?.outcome).toBe('completed')
    expect(connections).toHaveLength(3)
  })

  it('of a working session is waited for; the waiting prompt can be cancelled', async () => {
    const { create, gates, connections } = await world({ limits: { maxConnections: 1 } })
    const [busy, patient, impatient] = [await create(), await create(), await create()]
    await busy.submit(waitAt('here'))
    await gates.reached('here')
    await patient.submit(hello)
    await impatient.submit(hello)
    await impatient.command({ type: 'turn.cancel' })
    expect((await impatient.idle()).lastTurn?.outcome).toBe('cancelled')
    expect(connections).toHaveLength(1)
    expect((await patient.state()).status).toBe('working')
    gates.open('here')
    expect((await patient.idle()).lastTurn?.outcome).toBe('completed')
    expect((await busy.state()).lastTurn?.outcome).toBe('completed')
  })

  it('that cannot be opened fails the turn with the reason, and the next prompt tries again', async () => {
    let refuse = true
    const error = new ParleyError('agent_not_signed_in', 'Sign in first.')
    const { create } = await world({ agent: { refuse: () => (refuse ? error : undefined) } })
    const session = await create()
    expect((await session.play(hello)).lastTurn).toMatchObject({ outcome: 'failed', error: error.toInfo() })
    expect(await session.events('agent.disconnected')).toMatchObject([
      { reason: 'failed-to-start', error: { code: 'agent_not_signed_in' } },
    ])
    refuse = false
    expect((await session.play(hello)).lastTurn?.outcome).toBe('completed')
  })

  it('that is not opened in time fails the turn', async () => {
    const gate = createGates()
    const { create, time } = await world({ adapter: slowToConnect(gate), limits: { connectMs: 2_000 } })
    const session = await create()
    await session.submit(hello)
    await gate.reached('connect')
    time.advance(2_000)
    const { lastTurn } = await session.idle()
    expect(lastTurn).toMatchObject({
      outcome: 'failed',
      error: { code: 'agent_failed', message: expect.stringContaining('2 s') },
    })
    gate.open('connect')
    expect((await session.play(hello)).lastTurn?.outcome).toBe('completed')
  })
})

describe('configuring', () => {
  it('records the requested settings, then those in force', async () => {
    const { create } = await world()
    const session = await create()
    await session.play(hello)
    await session.command({
      type: 'session.configure',
      model: 'scripted-small',
      mode: 'plan',
      options: { effort: 'low' },
    })
    const { requested, effective } = await session.when(
      ({ effective }) => effective.model === 'scripted-small',
    )
    expect(requested).toEqual({ model: 'scripted-small', mode: 'plan', options: { effort: 'low' } })
    expect(effective).toEqual({ model: 'scripted-small', mode: 'plan', options: { effort: 'low' } })
    const [asked, confirmed] = (await session.events('session.configured')).slice(-2)
    expect(asked).toMatchObject({ requested: { model: 'scripted-small' } })
    expect(asked?.effective).toBeUndefined()
    expect(confirmed).toMatchObject({ effective: { model: 'scripted-small' } })
  })

  it('reports settings that the agent does not apply, and keeps those in force', async () => {
    const { create } = await world()
    const session = await create()
    await session.play(hello)
    const noticed = (await session.events('agent.noticed')).length
    await session.command({ type: 'session.configure', model: 'no-such-model' })
    await session.play(hello)
    const { requested, effective } = await session.state()
    expect([requested.model, effective.model]).toEqual(['no-such-model', 'scripted-large'])
    expect((await session.events('agent.noticed')).slice(noticed)).toMatchObject([
      { code: 'setting_refused' },
    ])
  })

  it('takes effect when the agent starts, if it has not started yet', async () => {
    const { create, connections } = await world()
    const session = await create({ model: 'scripted-large' })
    await session.command({ type: 'session.configure', model: 'scripted-small' })
    await session.play(hello)
    expect(connections[0]?.input.settings.model).toBe('scripted-small')
    expect((await session.state()).effective.model).toBe('scripted-small')
  })

  it('applies a stricter mode at once, even before the agent has confirmed it', async () => {
    const gate = createGates()
    const { create, gates, runs } = await world({ adapter: slowToConfirm(gate) })
    const session = await create({ mode: 'bypass' })
    await session.submit(permission('before'), waitAt('here'), permission('after'))
    await gates.reached('here')
    expect(runs('before')).toBe(1)
    await session.command({ type: 'session.configure', mode: 'ask' })
    gates.open('here')
    const { effective, requests } = await session.when(({ status }) => status === 'waiting')
    expect(effective.mode).toBe('bypass')
    expect(requests).toHaveLength(1)
    gate.open('configure')
    await session.decide('deny')
    await session.idle()
    expect(runs('after')).toBe(0)
  })

  it('applies a wider mode only once the agent has confirmed it', async () => {
    const gate = createGates()
    const { create, gates, runs } = await world({ adapter: slowToConfirm(gate) })
    const session = await create()
    await session.submit(waitAt('one'), permission('unconfirmed'), waitAt('two'), permission('confirmed'))
    await gates.reached('one')
    await session.command({ type: 'session.configure', mode: 'bypass' })
    gates.open('one')
    await session.when(({ status }) => status === 'waiting')
    expect(runs('unconfirmed')).toBe(0)
    await session.decide('deny')
    await gates.reached('two')
    gate.open('configure')
    await session.when(({ effective }) => effective.mode === 'bypass')
    gates.open('two')
    await session.idle()
    expect([runs('unconfirmed'), runs('confirmed')]).toEqual([0, 1])
    expect((await session.events('permission.resolved')).at(-1)).toMatchObject({
      outcome: 'allowed',
      by: 'mode',
    })
  })

  it('is refused for settings that the agent does not have, before anything happens', async () => {
    const { create } = await world({ agent: { modes: ['ask', 'plan'] } })
    const session = await create()
    const configure = (settings: object) => session.command({ type: 'session.configure', ...settings })
    await expect(configure({ mode: 'bypass' })).rejects.toEqual(
      refusal('not_supported', { modes: ['ask', 'plan'] }),
    )
    await expect(configure({ options: { maxTurns: 2 } })).rejects.toEqual(
      refusal('not_supported', { option: 'maxTurns' }),
    )
    await expect(configure({})).rejects.toEqual(refusal('validation_error'))
    expect((await session.state()).seq).toBe(1)
  })
})

describe('permissions', () => {
  it.each(['session', 'project', 'always'] as const)(
    'allowed for %s are not asked for again, until they are revoked',
    async (scope) => {
      const { create, runs, host } = await world()
      const elsewhere = mkdtempSync(join(tmpdir(), 'parley-elsewhere-'))
      const session = await create()
      await session.submit(permission('first'))
      await session.decide('allow', { scope })
      await session.idle()
      await session.play(permission('second'))
      expect([runs('first'), runs('second')]).toEqual([1, 1])
      const [rule, ...more] = await host.rules()
      expect(more).toEqual([])
      expect(rule).toMatchObject({ tool: 'Write', decision: 'allow', scope, agent: 'scripted' })
      const [granted, applied] = await session.events('permission.resolved')
      expect(granted).toMatchObject({ by: 'person', scope, ruleId: rule!.ruleId })
      expect(applied).toMatchObject({ outcome: 'allowed', by: 'rule', ruleId: rule!.ruleId })

      const asked = async (given: { cwd?: string }) => {
        const other = await create(given)
        await other.submit(permission('other'))
        const { status } = await other.when((state) => state.status === 'waiting' || state.turns === 1)
        return status === 'waiting'
      }
      expect(await asked({})).toBe(scope === 'session')
      expect(await asked({ cwd: elsewhere })).toBe(scope !== 'always')

      await host.removeRule(rule!.ruleId)
      await session.submit(permission('third'))
      await session.when(({ status }) => status === 'waiting')
      await session.decide('deny')
      await session.idle()
      expect(runs('third')).toBe(0)
      await expect(host.removeRule(rule!.ruleId)).rejects.toEqual(refusal('not_found'))
      rmSync(elsewhere, { recursive: true })
    },
  )

  it('allow one command exactly, and no other', async () => {
    const { create } = await world()
    const session = await create()
    const run = (command: string) => permission('x', { name: 'Bash', kind: 'execute', input: { command } })
    await session.submit(run('npm test'))
    await session.decide('allow', { scope: 'session' })
    await session.idle()
    await session.play(run('npm test'))
    await session.submit(run('npm test; rm -rf /'))
    await session.when(({ status }) => status === 'waiting')
    await session.decide('deny')
    await session.idle()
    const resolved = await session.events('permission.resolved')
    expect(resolved.map(({ outcome, by }) => [outcome, by])).toEqual([
      ['allowed', 'person'],
      ['allowed', 'rule'],
      ['denied', 'person'],
    ])
  })

  it('denied with a message pass the message to the agent, which continues', async () => {
    const { create, runs } = await world()
    const session = await create()
    await session.submit(permission('effect', { reply: { denied: 'Then not.' } }), hello)
    await session.decide('deny', { message: 'Not today.' })
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    expect(await session.events('permission.resolved')).toMatchObject([
      { outcome: 'denied', message: 'Not today.' },
    ])
    expect(await session.events('tool-call.ended')).toMatchObject([
      { outcome: 'denied', content: [{ type: 'text', text: 'Not today.' }] },
    ])
    expect(await session.texts()).toEqual(['Then not.', 'Hello.'])
    expect(runs('effect')).toBe(0)
  })

  it('denied with endTurn end the turn', async () => {
    const { create } = await world()
    const session = await create()
    await session.submit(permission('effect'), hello)
    await session.decide('deny', { endTurn: true, message: 'Stop.' })
    expect((await session.idle()).lastTurn?.outcome).toBe('cancelled')
    expect(await session.texts()).toEqual([])
    await session.submit(permission('again'))
    const odd = session.decide('allow', { endTurn: true })
    await expect(odd).rejects.toEqual(refusal('validation_error'))
  })

  it('allowed with an edited input run and record that input', async () => {
    const { create, runs } = await world()
    const session = await create()
    await session.submit(permission('asked'))
    const input = { path: 'edited', text: 'yy' }
    await session.decide('allow', { input })
    await session.idle()
    expect([runs('asked'), runs('edited')]).toEqual([0, 2])
    expect(await session.events('permission.resolved')).toMatchObject([{ outcome: 'allowed', input }])
    expect(await session.events('tool-call.updated')).toMatchObject([{ input }])
  })

  it('with an edited input cannot be denied, allowed beyond this call, or sent to an agent without support', async () => {
    const can = capabilities(...scriptedCapabilities.filter((name) => name !== 'editInput'))
    const [able, unable] = [await world(), await world({ agent: { capabilities: can } })]
    const session = await able.create()
    await session.submit(permission('asked'))
    const input = { path: 'edited' }
    await expect(session.decide('deny', { input })).rejects.toEqual(refusal('validation_error'))
    await expect(session.decide('allow', { input, scope: 'session' })).rejects.toEqual(
      refusal('validation_error'),
    )
    const other = await unable.create()
    await other.submit(permission('asked'))
    await expect(other.decide('allow', { input })).rejects.toEqual(
      refusal('not_supported', { capability: 'editInput' }),
    )
    expect((await other.state()).status).toBe('waiting')
  })

  it('in read-only mode are denied for calls that make changes, and not requested for calls that read', async () => {
    const { create, runs } = await world()
    const session = await create({ mode: 'read-only' })
    await session.play(
      permission('edit'),
      permission('execute', { name: 'Bash', kind: 'execute', input: { command: 'ls' } }),
      permission('claims', { name: 'Sly', readOnly: true }),
      permission('read', { name: 'Read', kind: 'read' }),
    )
    const resolved = await session.events('permission.resolved')
    expect(resolved.map(({ outcome, by }) => [outcome, by])).toEqual([
      ['denied', 'mode'],
      ['denied', 'mode'],
      ['denied', 'mode'],
      ['allowed', 'mode'],
    ])
    expect([runs('edit'), runs('execute'), runs('claims'), runs('read')]).toEqual([0, 0, 0, 1])
  })

  it('are denied by read-only despite a grant, and by a refusing rule despite bypass', async () => {
    const { create, runs, host } = await world()
    await host.addRule({ tool: 'Write', decision: 'allow', scope: 'always' })
    await (await create({ mode: 'read-only' })).play(permission('granted'))
    await host.addRule({ tool: 'Write', decision: 'deny', scope: 'always' })
    await (await create({ mode: 'bypass' })).play(permission('refused'))
    expect([runs('granted'), runs('refused')]).toEqual([0, 0])
  })

  it('in accept-edits mode are allowed for edits and requested for other calls', async () => {
    const { create, runs } = await world()
    const session = await create({ mode: 'accept-edits' })
    await session.submit(
      permission('edit'),
      permission('run', { name: 'Bash', kind: 'execute', input: { command: 'ls' } }),
    )
    const { requests } = await session.when(({ status }) => status === 'waiting')
    expect(requests).toMatchObject([{ tool: 'Bash' }])
    expect(runs('edit')).toBe(1)
    await session.decide('deny')
    await session.idle()
  })

  it('are refused for a tool that is not in the list of tools', async () => {
    const { create, runs } = await world()
    const session = await create({ mode: 'bypass', options: { tools: ['Read'] } })
    await session.play(permission('effect'))
    expect(await session.events('permission.resolved')).toMatchObject([{ outcome: 'denied', by: 'rule' }])
    expect(runs('effect')).toBe(0)
  })
})

describe('a request that waits long', () => {
  it('is parked after a while: no process is kept, and the answer resumes the agent', async () => {
    const { create, connections, runs, time } = await world({ limits: { parkAfterMs: 1_000 } })
    const session = await create()
    await session.submit(permission('effect'), hello)
    const { requests } = await session.when(({ status }) => status === 'waiting')
    time.advance(1_000)
    const parked = await session.when(({ status, connected }) => status === 'parked' && !connected)
    expect(parked.turn?.parked).toBe('waited-long')
    expect(parked.requests).toEqual([{ ...requests[0], stale: true }])
    expect(await session.events('agent.disconnected')).toMatchObject([{ reason: 'parked' }])
    await session.decide('allow')
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    expect(runs('effect')).toBe(1)
    expect(connections).toHaveLength(2)
    expect(connections[1]?.input.resume?.agentSessionId).toBe(parked.connection?.agentSessionId)
    expect((await session.events('tool-call.ended')).map(({ outcome }) => outcome)).toEqual([
      'cancelled',
      'completed',
    ])
    expect(await session.texts()).toEqual(['Hello.'])
  })

  it('leaves a parked turn that cannot be steered, queues prompts, and can be cancelled', async () => {
    const { create, time, runs } = await world({ limits: { parkAfterMs: 1_000 } })
    const session = await create()
    await session.submit(permission('effect'))
    await session.when(({ status }) => status === 'waiting')
    time.advance(1_000)
    await session.when(({ status }) => status === 'parked')
    const steer = session.command({ type: 'prompt.submit', text: 'x', delivery: 'steer' })
    await expect(steer).rejects.toEqual(refusal('conflict'))
    await session.submit(hello)
    await session.command({ type: 'turn.cancel', pauseQueue: false })
    await session.when(({ turns }) => turns === 2)
    const ends = await session.events('turn.ended')
    expect(ends.map(({ outcome }) => outcome)).toEqual(['cancelled', 'completed'])
    expect(runs('effect')).toBe(0)
  })

  it('releases its connection to another session', async () => {
    const { create, time } = await world({ limits: { parkAfterMs: 1_000, maxConnections: 1 } })
    const [asking, other] = [await create(), await create()]
    await asking.submit(permission('effect'))
    await asking.when(({ status }) => status === 'waiting')
    await other.submit(hello)
    time.advance(1_000)
    expect((await other.idle()).lastTurn?.outcome).toBe('completed')
    await asking.decide('allow')
    expect((await asking.idle()).lastTurn?.outcome).toBe('completed')
  })

  it('is not parked if the agent cannot resume', async () => {
    const can = capabilities(...scriptedCapabilities.filter((name) => name !== 'resume'))
    const { create, time, connections } = await world({
      limits: { parkAfterMs: 1_000 },
      agent: { capabilities: can },
    })
    const session = await create()
    await session.submit(permission('effect'))
    await session.when(({ status }) => status === 'waiting')
    time.advance(5_000)
    await session.decide('allow')
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    expect(connections).toHaveLength(1)
  })

  it.each([
    ['while the agent waits', 60_000],
    ['while it is parked', 1_000],
  ])('expires %s, and the agent receives the outcome', async (_, parkAfterMs) => {
    const { create, time, runs } = await world({ limits: { expireAfterMs: 5_000, parkAfterMs } })
    const session = await create()
    await session.submit(permission('effect'), hello)
    const { requests } = await session.when(({ status }) => status === 'waiting')
    time.advance(1_000)
    if (parkAfterMs === 1_000) await session.when(({ status }) => status === 'parked')
    time.advance(4_000)
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    const [resolved] = await session.events('permission.resolved')
    expect(resolved).toMatchObject({ requestId: requests[0]!.requestId, outcome: 'expired', by: 'timeout' })
    expect(runs('effect')).toBe(0)
    expect((await session.events('tool-call.ended')).at(-1)?.outcome).toBe('denied')
    await expect(
      session.command({ type: 'permission.decide', requestId: requests[0]!.requestId, decision: 'allow' }),
    ).rejects.toEqual(refusal('conflict', { outcome: 'expired' }))
  })

  it('expires at its own time, even if another one waits', async () => {
    const { create, time } = await world({ limits: { expireAfterMs: 5_000 } })
    const session = await create()
    await session.submit({ type: 'parallel', calls: [permission('one'), permission('two')] })
    await session.when(({ requests }) => requests.length === 2)
    time.advance(5_000)
    await session.when(({ requests }) => requests.length < 2)
    time.advance(5_000)
    await session.idle()
    const resolved = await session.events('permission.resolved')
    expect(resolved.map(({ outcome }) => outcome)).toEqual(['expired', 'expired'])
  })
})

describe('an agent that dies while it asks', () => {
  it('has its turn parked; the answer starts it again, and the effect runs once', async () => {
    const { create, connections, runs } = await world()
    const session = await create()
    await session.submit(permission('effect'), hello)
    await session.when(({ status }) => status === 'waiting')
    await connections[0]!.connection.close()
    const { turn } = await session.when(({ status }) => status === 'parked')
    expect(turn?.parked).toBe('agent-lost')
    await session.decide('allow')
    expect((await session.idle()).lastTurn?.outcome).toBe('completed')
    expect(runs('effect')).toBe(1)
    expect(await session.texts()).toEqual(['Hello.'])
  })

  it('and cannot resume fails the turn and resolves the request', async () => {
    const can = capabilities(...scriptedCapabilities.filter((name) => name !== 'resume'))
    const { create, connections } = await world({ agent: { capabilities: can } })
    const session = await create()
    await session.submit(permission('effect'))
    await session.when(({ status }) => status === 'waiting')
    await connections[0]!.connection.close()
    const { lastTurn, requests } = await session.idle()
    expect(lastTurn?.outcome).toBe('failed')
    expect(requests).toEqual([])
  })
})

describe('a fork', () => {
  it('has a copy of the log, and continues a copy of the conversation', async () => {
    const { create, connections, host } = await world()
    const session = await create({ title: 'the first' })
    await session.play(hello)
    const before = await session.log()
    const { sessionId } = await session.command({
      type: 'session.fork',
      commandId: 'fork',
      title: 'the copy',
    })
    const { events } = await host.read(sessionId!, { after: 0, limit: 1000 })
    const copied = events.map(({ json }) => JSON.parse(json) as SessionEvent).slice(0, before.length)
    expect(logProblems(copied)).toEqual([])
    expect(copied.map(({ type, seq }) => [type, seq])).toEqual(before.map(({ type, seq }) => [type, seq]))
    expect(new Set(copied.map((event) => event.sessionId))).toEqual(new Set([sessionId]))
    const state = await host.state(sessionId!)
    expect(state).toMatchObject({ title: 'the copy', connected: false, status: 'idle', forkPending: true })
    expect(state.forkedFrom?.sessionId).toBe(session.id)

    await host.command(sessionId!, { type: 'prompt.submit', commandId: 'first', text: 'and now?' })
    await session.play(hello)
    const childConnection = connections.find(({ input }) => input.sessionId === sessionId)!
    const parent = await session.state()
    expect(childConnection.input.resume).toMatchObject({
      agentSessionId: parent.connection?.agentSessionId,
      fork: true,
    })
    const child = await host.state(sessionId!)
    expect(child.connection?.agentSessionId).not.toBe(parent.connection?.agentSessionId)
    expect((await session.events('session.forked'))[0]).toMatchObject({ into: sessionId })
  })

  it('made twice with the same command is one session; another command makes another session', async () => {
    const { create, host } = await world()
    const session = await create()
    await session.play(hello)
    const fork = (commandId: string) => session.command({ type: 'session.fork', commandId })
    const [one, same] = await Promise.all([fork('fork'), fork('fork')])
    expect(same).toEqual(one)
    expect(await fork('fork')).toEqual(one)
    const other = await fork('another')
    expect(other.sessionId).not.toBe(one.sessionId)
    const { sessions } = await host.list({ limit: 10 })
    expect(sessions).toHaveLength(3)
  })

  it('of a working session is refused, and leaves nothing behind', async () => {
    const { create, host } = await world()
    const session = await create()
    await session.submit(hang)
    await expect(session.command({ type: 'session.fork' })).rejects.toEqual(refusal('conflict'))
    expect((await host.list({ limit: 10 })).sessions).toHaveLength(1)
  })

  it('is made whole or not at all when a turn starts while it is being copied', async () => {
    const gates = createGates()
    const store = createMemoryStore()
    const hold = async (batch: CreateBatch) => {
      if (batch.events.length > 1) await gates.pass('copy', new AbortController().signal)
      await store.create(batch)
    }
    const { create, host } = await world({ store: { ...store, create: hold } })
    const session = await create()
    await session.play(hello)
    const fork = () => session.command({ type: 'session.fork', commandId: 'fork' })
    const first = fork().catch((error: ParleyError) => error)
    await gates.reached('copy')
    await session.submit({ type: 'new-agent-session', agentSessionId: 'another' }, hello)
    gates.open('copy')
    const outcome = await first
    await session.idle()
    const made = (await host.list({ limit: 10 })).sessions.filter(({ id }) => id !== session.id)
    expect(made).toHaveLength(outcome instanceof ParleyError ? 0 : 1)
    const { sessionId } = await fork()
    const child = await host.state(sessionId!)
    expect(child.forkPending).toBe(true)
    expect(child.forkedFrom?.sessionId).toBe(session.id)
  })

  it('of a fork survives the deletion of the first session', async () => {
    const { create, host } = await world()
    const session = await create()
    await session.play(hello)
    const { sessionId } = await session.command({ type: 'session.fork' })
    const second = await host.command(sessionId!, { type: 'session.fork', commandId: 'again' })
    await host.delete(session.id)
    const { seq } = await host.state(second.sessionId!)
    expect((await host.read(second.sessionId!, { after: 0, limit: 1000 })).events).toHaveLength(seq)
    await host.command(second.sessionId!, { type: 'prompt.submit', commandId: 'p', text: 'hello' })
  })
})

describe('compact, close, archive', () => {
  it('compact is a turn in which the agent compacts its conversation', async () => {
    const { create } = await world()
    const session = await create()
    await session.play(hello)
    const { promptId } = await session.command({ type: 'session.compact' })
    expect(promptId).toBeDefined()
    await session.when(({ turns }) => turns === 2)
    expect(await session.events('context.compacted')).toMatchObject([{ trigger: 'manual' }])
    await session.submit(hang)
    await expect(session.command({ type: 'session.compact' })).rejects.toEqual(refusal('conflict'))
  })

  it('close ends the process and keeps the session; it is refused while a turn is open', async () => {
    const { create, connections } = await world()
    const session = await create()
    await session.play(hello)
    await session.command({ type: 'session.close' })
    await session.when(({ connected }) => !connected)
    expect(await session.events('agent.disconnected')).toMatchObject([{ reason: 'closed' }])
    await session.command({ type: 'session.close' })
    expect((await session.play(hello)).lastTurn?.outcome).toBe('completed')
    expect(connections[1]?.input.resume).toBeDefined()
    await session.submit(hang)
    await expect(session.command({ type: 'session.close' })).rejects.toEqual(refusal('conflict'))
  })

  it('an archived session accepts no prompts until it is unarchived; a working one cannot be archived', async () => {
    const { create, host, gates } = await world()
    const session = await create()
    await session.submit(waitAt('here'))
    await expect(host.patch(session.id, { archived: true })).rejects.toEqual(refusal('conflict'))
    gates.open('here')
    await session.idle()
    await host.patch(session.id, { archived: true })
    await expect(session.submit(hello)).rejects.toEqual(refusal('conflict'))
    expect((await host.list({ limit: 10, archived: false })).sessions).toEqual([])
    await host.patch(session.id, { archived: false })
    expect((await session.play(hello)).lastTurn?.outcome).toBe('completed')
  })
})

describe('deleting', () => {
  it('ends all follows, closes the agent, and removes every row', async () => {
    const { create, host, store, connections } = await world()
    const session = await create()
    const ended = Promise.withResolvers<string>()
    await host.follow(
      session.id,
      {},
      {
        following: () => undefined,
        deliver: () => undefined,
        caughtUp: () => undefined,
        ended: ended.resolve,
      },
    )
    const changes: string[] = []
    host.onSessionChanged(({ change }) => void changes.push(change))
    await session.submit(permission('first'))
    await session.decide('allow', { scope: 'session' })
    await session.idle()
    await session.submit(hang)
    await session.submit(hello)
    await session.when(({ turn }) => turn !== undefined)
    await host.delete(session.id)
    expect(await ended.promise).toBe('deleted')
    expect(changes.at(-1)).toBe('deleted')
    await expect(session.submit(hello)).rejects.toEqual(refusal('not_found'))
    await expect(session.state()).rejects.toEqual(refusal('not_found'))
    await expect(host.delete(session.id)).rejects.toEqual(refusal('not_found'))
    expect(await store.load(session.id)).toBeUndefined()
    expect(await host.rules()).toEqual([])
    expect((await host.list({ limit: 10 })).sessions).toEqual([])
    for await (const output of connections[0]!.connection.events)
      expect(output.type).toBe('agent.disconnected')
  })

  it('a session with an open request resolves the waiting call', async () => {
    const { create, host, runs } = await world()
    const session = await create()
    await session.submit(permission('effect'))
    await session.when(({ status }) => status === 'waiting')
    await host.delete(session.id)
    expect(await host.waiting()).toEqual([])
    expect(runs('effect')).toBe(0)
  })
})

describe('a session of an agent that is no longer known', () => {
  const renamed = (adapter: AgentAdapter): AgentAdapter => ({ ...adapter, id: 'another' })

  it('can be read, renamed and deleted, but not driven', async () => {
    const made = await world()
    const session = await made.create()
    await made.create({ title: 'kept' })
    await session.play(hello)
    const log = await session.log()
    await made.restart({ adapter: renamed })
    expect((await session.log()).slice(0, log.length)).toEqual(log)
    expect((await made.host.detail(session.id, 10)).blocks.length).toBeGreaterThan(0)
    await expect(session.submit(hello)).rejects.toEqual(refusal('agent_not_found'))
    await made.host.patch(session.id, { title: 'renamed' })
    await made.host.delete(session.id)
    expect((await made.host.list({ limit: 10 })).sessions).toHaveLength(1)
  })

  it('can have its waiting turn cancelled, so that no request hangs', async () => {
    const made = await world()
    const session = await made.create()
    await session.submit(permission('effect'))
    await session.when(({ status }) => status === 'waiting')
    await made.restart({ adapter: renamed })
    expect((await made.host.waiting()).map(({ session: { id } }) => id)).toEqual([session.id])
    await session.command({ type: 'turn.cancel' })
    expect((await session.idle()).lastTurn?.outcome).toBe('cancelled')
    expect(await made.host.waiting()).toEqual([])
  })
})

describe('a store that fails while the agent works', () => {
  it("loses nothing: the agent's output is recorded when the store works again, and commands are refused meanwhile", async () => {
    const failing = failingStore()
    const made = await hostUnderTest({ store: failing.store })
    const { gates, time, problems } = made
    const session = await made.create()
    await session.submit(waitAt('here'), hello, permission('effect'), {
      type: 'text',
      text: 'After.',
      pieces: 3,
    })
    await gates.reached('here')
    failing.fail(5)
    gates.open('here')
    await session.when(() => failing.refused() > 0)
    const refused = { type: 'prompt.submit' as const, commandId: 'again', text: 'hello' }
    await expect(session.command(refused)).rejects.toEqual(refusal('busy'))
    const head = (await session.state()).seq
    await session.when(({ status }) => {
      time.advance(1_000)
      return status === 'waiting'
    })
    expect(failing.refused()).toBe(5)
    expect((await session.state()).seq).toBeGreaterThan(head)
    const { promptId } = await session.command(refused)
    await session.decide('allow')
    await session.when(({ turns }) => turns === 2)
    expect(made.runs('effect')).toBe(1)
    expect(await session.texts()).toEqual(['Hello.', 'After.', 'hello'])
    expect((await session.events('prompt.submitted')).map((event) => event.promptId)).toContain(promptId)
    expect(logProblems(await session.log())).toEqual([])
    expect(problems.every((problem) => problem.includes('No space'))).toBe(true)
    await made[Symbol.asyncDispose]()
  })

  it('does not pass on an answer that could not be recorded: the agent does not act on it', async () => {
    const failing = failingStore()
    const made = await hostUnderTest({ store: failing.store })
    const session = await made.create()
    await session.submit(permission('effect'))
    await session.when(({ status }) => status === 'waiting')
    failing.fail(1)
    await expect(session.decide('allow')).rejects.toEqual(refusal('busy'))
    expect((await session.state()).requests).toHaveLength(1)
    expect(made.runs('effect')).toBe(0)
    await session.decide('allow')
    await session.idle()
    expect(made.runs('effect')).toBe(1)
    await made[Symbol.asyncDispose]()
  })

  it('does not apply a grant that could not be recorded', async () => {
    const failing = failingStore()
    const made = await hostUnderTest({ store: failing.store })
    const session = await made.create()
    await session.submit(permission('effect'))
    await session.when(({ status }) => status === 'waiting')
    failing.fail(1)
    await expect(session.decide('allow', { scope: 'always' })).rejects.toEqual(refusal('busy'))
    expect(await made.host.rules()).toEqual([])
    await session.decide('deny')
    await session.idle()
    await made[Symbol.asyncDispose]()
  })
})

/** A memory store whose next appends fail, as on a full disk. */
function failingStore(): { store: SessionStore; fail(times: number): void; refused(): number } {
  const store = createMemoryStore()
  let left = 0
  let refused = 0
  return {
    fail(times) {
      left = times
    },
    refused: () => refused,
    store: {
      ...store,
      async append(batch) {
        if (left === 0) return store.append(batch)
        left--
        refused++
        throw new ParleyError('busy', 'No space left; free some and try again.')
      },
    },
  }
}

/** Wraps an adapter so that it connects only when the gate `connect` is open. */
function slowToConnect(gates: ReturnType<typeof createGates>) {
  return (adapter: AgentAdapter): AgentAdapter => ({
    ...adapter,
    async connect(input) {
      await gates.pass('connect', new AbortController().signal)
      return adapter.connect({ ...input, signal: new AbortController().signal })
    },
  })
}

/** Wraps an adapter so that it confirms new settings only when the gate `configure` is open. */
function slowToConfirm(gates: ReturnType<typeof createGates>) {
  return (adapter: AgentAdapter): AgentAdapter => ({
    ...adapter,
    async connect(input) {
      const connection = await adapter.connect(input)
      const { events } = connection
      return {
        events,
        send: (message) => connection.send(message),
        interrupt: () => connection.interrupt(),
        close: () => connection.close(),
        async configure(settings) {
          await gates.pass('configure', new AbortController().signal)
          await connection.configure(settings)
        },
      }
    },
  })
}
