import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, describe, expect, it } from 'vitest'
import { hostUnderTest, permission } from '../core/host-under-test.ts'
import {
  type CommandMessage,
  channelNames,
  createTelemetry,
  type EventMessage,
  type SessionMessage,
} from '../index.ts'

type Received = (message: unknown, name: string | symbol) => void
let subscribed: [string, Received][] = []

function hear<Message>(name: string, more: (message: Message) => unknown = () => undefined): Message[] {
  const received: Message[] = []
  const listener: Received = (message) => {
    received.push(message as Message)
    return more(message as Message)
  }
  subscribe(name, listener)
  subscribed.push([name, listener])
  return received
}

afterEach(() => {
  for (const [name, listener] of subscribed) unsubscribe(name, listener)
  subscribed = []
})

describe('node:diagnostics_channel', () => {
  it('gets every event of a session, in order, as it is in the log', async () => {
    const received = hear<EventMessage>(channelNames.event)
    await using test = await hostUnderTest()
    const session = await test.create({
      prompt: JSON.stringify([permission('a'), { type: 'text', text: 'Done.' }]),
    })
    await session.decide('allow')
    await session.idle()
    await test.host.patch(session.id, { title: 'Another' })
    const log = await session.log()
    expect(received.map(({ event }) => event)).toEqual(log)
    expect(new Set(received.map(({ agent }) => agent))).toEqual(new Set(['scripted']))
    expect(log.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['session.created', 'turn.ended', 'session.renamed']),
    )
  })

  it('gets the events that a restart records', async () => {
    await using test = await hostUnderTest()
    const session = await test.create()
    await session.submit(permission('a'))
    await session.when(({ requests }) => requests.length > 0)
    const { seq } = await session.state()
    const received = hear<EventMessage>(channelNames.event)
    await test.restart()
    const log = await session.log()
    expect(log.length).toBeGreaterThan(seq)
    expect(received.map(({ event }) => event)).toEqual(log.slice(seq))
  })

  it('gets every command, accepted or refused', async () => {
    const received = hear<CommandMessage>(channelNames.command)
    await using test = await hostUnderTest()
    const session = await test.create()
    await session.submit({ type: 'text', text: 'Hello.' })
    await expect(
      session.command({ type: 'permission.decide', requestId: 'none', decision: 'allow' }),
    ).rejects.toMatchObject({ code: 'not_found' })
    await expect(session.command({ type: 'nonsense' } as never)).rejects.toMatchObject({
      code: 'validation_error',
    })
    const [prompt, decision, nonsense] = received
    expect(received).toHaveLength(3)
    expect(prompt).toMatchObject({
      sessionId: session.id,
      command: { type: 'prompt.submit' },
      receipt: { promptId: expect.any(String) },
    })
    expect(prompt?.error).toBeUndefined()
    expect(prompt?.durationMs).toBeGreaterThanOrEqual(0)
    expect(decision).toMatchObject({ command: { requestId: 'none' }, error: { code: 'not_found' } })
    expect(decision?.receipt).toBeUndefined()
    expect(nonsense).toMatchObject({ command: { type: 'nonsense' }, error: { code: 'validation_error' } })
  })

  it('gets sessions that were created, forked and deleted', async () => {
    const received = hear<SessionMessage>(channelNames.session)
    await using test = await hostUnderTest()
    const session = await test.create()
    await session.play({ type: 'text', text: 'Hello.' })
    const { sessionId: fork } = await session.command({ type: 'session.fork' })
    await test.host.delete(session.id)
    const reported = received.map(({ session: id, change }) => [id, change])
    expect(reported).toContainEqual([session.id, 'created'])
    expect(reported).toContainEqual([fork, 'created'])
    expect(reported).toContainEqual([session.id, 'deleted'])
  })

  it('is not affected by a subscriber that throws, rejects or changes its message', async () => {
    const problems: string[] = []
    const telemetry = createTelemetry({ problem: (error) => void problems.push(String(error)) })
    hear(channelNames.event, () => {
      throw new Error('a bad subscriber')
    })
    hear(channelNames.event, () => Promise.reject(new Error('a bad promise')))
    hear<EventMessage>(channelNames.event, ({ event }) => {
      for (const name of Object.keys(event)) delete (event as Record<string, unknown>)[name]
    })
    hear(channelNames.command, () => {
      throw new Error('a bad subscriber of commands')
    })
    hear(channelNames.session, () => {
      throw new Error('a bad subscriber of sessions')
    })
    const last = hear<EventMessage>(channelNames.event)
    await using test = await hostUnderTest({ telemetry })
    const session = await test.create()
    await session.submit(permission('a'), { type: 'text', text: 'Done.' })
    await session.decide('allow')
    const state = await session.idle()
    expect(state.lastTurn?.outcome).toBe('completed')
    expect(test.runs('a')).toBe(1)
    const log = await session.log()
    expect(last).toHaveLength(log.length)
    expect(log.every(({ seq, sessionId }, index) => seq === index + 1 && sessionId === session.id)).toBe(true)
    const count = (words: string) => problems.filter((problem) => problem.endsWith(words)).length
    expect(count('a bad subscriber')).toBe(log.length)
    expect(count('a bad promise')).toBe(log.length)
    expect(count('of commands')).toBe(2)
    expect(count('of sessions')).toBeGreaterThan(0)
    expect(test.problems).toEqual([])
  })

  it('does not wait for subscribers', async () => {
    const received = hear(channelNames.event, () => new Promise(() => undefined))
    hear(channelNames.command, () => new Promise(() => undefined))
    await using test = await hostUnderTest()
    const session = await test.create()
    const { lastTurn } = await session.play({ type: 'flood', deltas: 2_000, size: 4, blocks: 500 })
    expect(lastTurn?.outcome).toBe('completed')
    expect(received).toHaveLength((await session.log()).length)
  })

  it('serialises nothing without subscribers', async () => {
    await using test = await hostUnderTest()
    const session = await test.create()
    let written = 0
    const native = {
      toJSON() {
        written++
        return { native: true }
      },
    }
    await session.play({ type: 'text', text: 'Hello.' })
    const { observer } = createTelemetry()
    const [event] = await session.log()
    const odd = { ...event!, type: 'agent.unrecognised' as const, native }
    observer.recorded([odd as never], await session.state())
    expect(written).toBe(0)
    hear(channelNames.event)
    observer.recorded([odd as never], await session.state())
    expect(written).toBe(1)
  })
})
