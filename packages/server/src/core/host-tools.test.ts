import type { HostToolAnswer } from '@parley/adapter-kit'
import { capabilities, type SessionState } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { createHost } from '../index.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { connectedAs, faultyAgent, until } from './faulty-agent-under-test.ts'
import { hostWith, lookup, step, unasked } from './host-tools-under-test.ts'
import { hostUnderTest } from './host-under-test.ts'

const waiting = (state: SessionState) => state.requests.length > 0

describe('a host', () => {
  it('refuses two tools with the same name', async () => {
    const tools = [lookup().tool, lookup().tool]
    const creation = createHost({ adapters: [], store: createMemoryStore(), tools })
    await expect(creation).rejects.toMatchObject({ code: 'validation_error' })
  })

  it('refuses a tool whose name agents do not accept', async () => {
    const tools = [{ ...lookup().tool, name: 'a b' }]
    const creation = createHost({ adapters: [], store: createMemoryStore(), tools })
    await expect(creation).rejects.toMatchObject({ code: 'validation_error', details: { tool: 'a b' } })
  })

  it('offers no tools if the list allows none', async () => {
    await using host = await hostWith()
    const session = await host.under.create({ options: { tools: ['Read'] } })
    await session.play({ type: 'text', text: 'hi' }, step('sage'))
    expect(host.under.connections[0]?.input.hostTools).toBeUndefined()
    expect(await session.events('tool-call.ended')).toMatchObject([{ outcome: 'denied' }])
    expect(host.calls).toEqual([])
  })

  it('offers no tools to an agent without the capability', async () => {
    await using host = await hostWith({}, { agent: { capabilities: capabilities('permissions') } })
    const session = await host.under.create()
    await session.play({ type: 'text', text: 'hi' })
    expect(host.under.connections[0]?.input.hostTools).toBeUndefined()
  })
})

describe('an agent that asks before it calls', () => {
  it('causes one request for each call', async () => {
    await using host = await hostWith()
    const session = await host.under.create()
    await session.submit(step('sage'))
    await session.decide('allow')
    await session.idle()
    expect(host.calls.map(({ word }) => word)).toEqual(['sage'])
    expect(await session.events('permission.requested')).toHaveLength(1)
  })

  it('has permission for one call with one input', async () => {
    const answers: HostToolAnswer[] = []
    const signal = new AbortController().signal
    const agent = faultyAgent(
      ({ input, endTurn }) => ({
        async send() {
          const { person, hostTools } = input
          const ask = { tool: 'host:lookup', kind: 'other' as const, title: 'x' }
          await person.permit({ ...ask, input: { word: 'sage' } })
          for (const word of ['sage', 'sage', 'thyme'])
            answers.push(await hostTools!.call('lookup', { word }, { signal }))
          endTurn()
        },
      }),
      ['permissions', 'hostTools'],
    )
    const annotations = { title: 'Look it up', readOnly: true }
    await using host = await hostWith(annotations, { adapter: agent.adapter })
    const session = await host.under.create()
    await session.submit()
    const { requests } = await session.when(waiting)
    expect(requests).toMatchObject([{ title: 'Look it up', kind: 'read', readOnly: true }])
    await session.decide('allow')
    await session.decide('deny', { message: 'not twice' })
    await session.decide('deny')
    await session.idle()
    expect(host.calls.map(({ word }) => word)).toEqual(['sage'])
    expect(answers).toMatchObject([
      { content: [{ text: 'sage is a herb' }] },
      { denied: true, isError: true, content: [{ text: 'not twice' }] },
      { denied: true, isError: true },
    ])
  })

  it('causes no request for a call that cannot run', async () => {
    await using host = await hostWith()
    const session = await host.under.create()
    await session.play(step(7))
    expect(await session.events('permission.requested')).toEqual([])
    const [ended] = await session.events('tool-call.ended')
    expect(ended).toMatchObject({ outcome: 'failed' })
    expect(JSON.stringify(ended?.content)).toMatch(/word.*string/)
    expect(host.calls).toEqual([])
  })
})

describe('an agent that does not ask', () => {
  it('runs no tool that a person did not allow', async () => {
    await using host = await hostWith({ title: 'Look it up', readOnly: true })
    const session = await host.under.create()
    await session.submit(step('sage', unasked), step('thyme', unasked))
    const { requests } = await session.when(waiting)
    const [called] = await session.events('tool-call.called')
    const { toolCallId } = called ?? {}
    expect(requests).toMatchObject([
      { tool: 'host:lookup', title: 'Look it up', kind: 'read', readOnly: true, toolCallId },
    ])
    expect(host.calls).toEqual([])
    await session.decide('deny')
    await session.decide('allow')
    await session.idle()
    expect(host.calls.map(({ word }) => word)).toEqual(['thyme'])
    const ends = await session.events('tool-call.ended')
    expect(ends.map(({ outcome }) => outcome)).toEqual(['denied', 'completed'])
  })

  it('gets the decision of the mode if the mode decides, and the decision is recorded', async () => {
    await using host = await hostWith()
    const session = await host.under.create({ mode: 'bypass' })
    await session.play(step('sage', unasked))
    expect(await session.events('permission.resolved')).toMatchObject([{ outcome: 'allowed', by: 'mode' }])
    expect(host.calls).toHaveLength(1)
  })

  it('runs the tool with the input that a person has edited, if it is valid', async () => {
    await using host = await hostWith()
    const session = await host.under.create()
    await session.submit(step('sage', unasked), step('sage', unasked))
    await session.decide('allow', { input: { word: 'thyme' } })
    await session.decide('allow', { input: { word: 7 } })
    await session.idle()
    expect(host.calls.map(({ word }) => word)).toEqual(['thyme'])
    const ends = await session.events('tool-call.ended')
    expect(ends.map(({ outcome }) => outcome)).toEqual(['completed', 'failed'])
  })

  it('is interrupted when the person denies and ends the turn', async () => {
    await using host = await hostWith()
    const session = await host.under.create()
    await session.submit(step('sage', unasked), { type: 'text', text: 'never said' })
    await session.decide('deny', { endTurn: true })
    await session.idle()
    expect(await session.events('turn.ended')).toMatchObject([{ outcome: 'cancelled' }])
    expect(await session.texts()).toEqual([])
  })

  it('may withdraw its call, which withdraws the request', async () => {
    const back = new AbortController()
    const agent = faultyAgent(
      ({ input, endTurn }) => ({
        async send() {
          await input.hostTools?.call('lookup', { word: 'sage' }, { signal: back.signal })
          endTurn()
        },
      }),
      ['permissions', 'hostTools'],
    )
    await using host = await hostWith({}, { adapter: agent.adapter })
    const session = await host.under.create()
    await session.submit()
    await session.when(waiting)
    back.abort()
    host.under.time.advance(200)
    await session.idle()
    expect(await session.events('permission.resolved')).toMatchObject([{ outcome: 'cancelled' }])
    expect(host.calls).toEqual([])
  })

  it('may die: its call is aborted, but the request stays open', async () => {
    const gone = new AbortController()
    const agent = faultyAgent(
      ({ input, say }) => ({
        async send() {
          say(connectedAs('odd'))
          await input.hostTools?.call('lookup', { word: 'sage' }, { signal: gone.signal })
        },
      }),
      ['permissions', 'resume', 'hostTools'],
    )
    await using host = await hostWith({}, { adapter: agent.adapter })
    const session = await host.under.create()
    await session.submit()
    await session.when(waiting)
    gone.abort()
    agent.connections[0]?.end()
    await session.when(({ status }) => status === 'parked')
    host.under.time.advance(200)
    expect(await session.events('permission.resolved')).toEqual([])
    expect((await session.state()).requests).toHaveLength(1)
  })

  it('may be stopped: the request stays open, and its answer runs the tool once', async () => {
    await using host = await hostWith()
    const session = await host.under.create()
    await session.submit(step('sage', unasked))
    await session.when(waiting)
    await host.under.restart()
    expect(await session.state()).toMatchObject({ status: 'parked' })
    await session.decide('allow')
    await session.idle()
    expect(host.calls.map(({ word }) => word)).toEqual(['sage'])
  })
})

describe('a running tool', () => {
  it('is aborted when the turn is cancelled, and is not waited for', async () => {
    await using host = await hostWith({ safe: true })
    const session = await host.under.create()
    await session.submit(step('wait'))
    await until(() => host.calls.length === 1)
    const { signal } = host.calls[0]!.context
    expect(signal.aborted).toBe(false)
    await session.command({ type: 'turn.cancel' })
    await session.idle()
    expect(signal.aborted).toBe(true)
    expect(await session.events('turn.ended')).toMatchObject([{ outcome: 'cancelled' }])
  })

  const stubborn = (signal = new AbortController().signal) => {
    const answers: (HostToolAnswer | undefined)[] = []
    const agent = faultyAgent(
      ({ input }) => ({
        async send() {
          answers.push(await input.hostTools?.call('lookup', { word: 'wait' }, { signal }))
        },
      }),
      ['permissions', 'hostTools'],
    )
    return { agent, answers }
  }

  it('is aborted when the agent dies', async () => {
    const { agent } = stubborn()
    await using host = await hostWith({ safe: true }, { adapter: agent.adapter })
    const session = await host.under.create()
    await session.submit()
    await until(() => host.calls.length === 1)
    agent.connections[0]?.end()
    await session.idle()
    expect(host.calls[0]?.context.signal.aborted).toBe(true)
  })

  it('is aborted when the turn is cancelled, even if the agent continues', async () => {
    const { agent, answers } = stubborn()
    await using host = await hostWith({ safe: true }, { adapter: agent.adapter })
    const session = await host.under.create()
    await session.submit()
    await until(() => host.calls.length === 1)
    await session.command({ type: 'turn.cancel' })
    await until(() => answers.length === 1)
    expect(host.calls[0]?.context.signal.aborted).toBe(true)
    expect(await session.events('turn.ended')).toEqual([])
  })

  it('is aborted when the agent withdraws the call, and is not waited for', async () => {
    const back = new AbortController()
    const { agent, answers } = stubborn(back.signal)
    await using host = await hostWith({ safe: true }, { adapter: agent.adapter })
    const session = await host.under.create()
    await session.submit()
    await until(() => host.calls.length === 1)
    back.abort()
    await until(() => answers.length === 1)
    expect(answers).toMatchObject([{ isError: true, content: [{ text: 'Cancelled.' }] }])
    expect(host.calls[0]?.context.signal.aborted).toBe(true)
  })

  it('is aborted when the session is deleted', async () => {
    const { agent } = stubborn()
    await using host = await hostWith({ safe: true }, { adapter: agent.adapter })
    const session = await host.under.create()
    await session.submit()
    await until(() => host.calls.length === 1)
    await host.under.host.delete(session.id)
    expect(host.calls[0]?.context.signal.aborted).toBe(true)
  })

  it('may throw in violation of its contract', async () => {
    const run = () => Promise.reject(new Error('no such book'))
    await using under = await hostUnderTest({ tools: [{ ...lookup({ safe: true }).tool, run }] })
    const session = await under.create()
    await session.play(step('sage'))
    expect(await session.events('tool-call.ended')).toMatchObject([
      { outcome: 'failed', content: [{ text: 'The tool lookup failed: no such book' }] },
    ])
  })

  it('determines the recorded result, even if the agent reports another one', async () => {
    const agent = faultyAgent(
      ({ input, say, endTurn }) => ({
        async send() {
          const { signal } = new AbortController()
          const call = { toolCallId: 'call-1', name: 'host:lookup', kind: 'other', title: 'x' } as const
          say({ type: 'tool-call.called', ...call, input: { word: 'sage' } })
          await input.hostTools?.call('lookup', { word: 'sage' }, { toolCallId: 'call-1', signal })
          const content = [{ type: 'text' as const, text: '[shortened]' }]
          say({ type: 'tool-call.ended', toolCallId: 'call-1', outcome: 'completed', content })
          endTurn()
        },
      }),
      ['permissions', 'hostTools'],
    )
    await using host = await hostWith({ safe: true }, { adapter: agent.adapter })
    const session = await host.under.create()
    await session.submit()
    await session.idle()
    expect(await session.events('tool-call.ended')).toMatchObject([
      { outcome: 'completed', content: [{ type: 'text', text: 'sage is a herb' }] },
    ])
  })
})
