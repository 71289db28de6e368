import type { Delta, SessionEvent } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { colour, permission } from '../core/host-under-test.ts'
import { testToken, type WebSocketUnderTest, websocketUnderTest } from './websocket/websocket-under-test.ts'

/** A frame that docs/feed.md specifies, from SSE or from a WebSocket. */
type Frame =
  | { readonly kind: 'event'; readonly data: SessionEvent }
  | { readonly kind: 'delta'; readonly data: Delta }
  | { readonly kind: 'native' | 'following' | 'caught-up'; readonly data: unknown }
type Follower = {
  readonly frames: Frame[]
  until(holds: (frame: Frame) => boolean): Promise<Frame>
  /** The answer to following a session that does not exist. */
  refused(): Promise<unknown>
  command(command: Record<string, unknown>): Promise<Record<string, unknown>>
}
type Way = (world: WebSocketUnderTest, session: string, native?: boolean) => Promise<Follower>

const overWebSocket: Way = async (world, session, native = false) => {
  const client = await world.connect()
  const frames: Frame[] = []
  const asFrame = (frame: object) => {
    const { type: kind, ...rest } = frame as { type: 'event' } & Record<string, unknown>
    return { kind, data: rest[kind] ?? rest } as Frame
  }
  await client.follow(session, { native })
  return {
    get frames() {
      return [...frames, ...client.frames.map(asFrame)]
    },
    until: async (holds) => asFrame(await client.until((frame) => holds(asFrame(frame)))),
    refused: async () => (await client.ask({ type: 'follow', session: 'ses_none' }, 'error')).error,
    command: (command) => client.command(session, command),
  }
}

const overServerSentEvents: Way = async (world, session, native = false) => {
  const base = `http://127.0.0.1:${world.port}/api/sessions`
  const headers = { authorization: `Bearer ${testToken}`, accept: 'text/event-stream' }
  const response = await fetch(`${base}/${session}/events?native=${native}`, { headers })
  const frames: Frame[] = []
  const more = new EventTarget()
  void read(response, (frame) => {
    frames.push(frame)
    more.dispatchEvent(new Event('frame'))
  })
  const until = async (holds: (frame: Frame) => boolean): Promise<Frame> => {
    for (let at = 0; ; at++) {
      while (at >= frames.length) {
        await new Promise((resolve) => more.addEventListener('frame', resolve, { once: true }))
      }
      if (holds(frames[at]!)) return frames[at]!
    }
  }
  await until(({ kind }) => kind === 'caught-up')
  return {
    frames,
    until,
    refused: async () => (await json(fetch(`${base}/ses_none/events`, { headers }))).error,
    command: (command) =>
      json(
        fetch(`${base}/${session}/commands`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(command),
        }),
      ),
  }
}

async function json(answer: Promise<Response>): Promise<Record<string, unknown>> {
  return (await (await answer).json()) as Record<string, unknown>
}

async function read(response: Response, take: (frame: Frame) => void): Promise<void> {
  let rest = ''
  try {
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + text).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks.filter((one) => !one.startsWith(':'))) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
        take({ kind: field('event') ?? 'event', data: JSON.parse(field('data') ?? 'null') } as Frame)
      }
    }
  } catch {}
}

const is = (type: string) => (frame: Frame) =>
  frame.kind === 'event' && (frame.data as SessionEvent).type === type
const activities = ({ frames }: Follower) =>
  frames.flatMap(({ kind, data }) =>
    kind === 'delta' && data.type === 'activity.changed' ? [data.activity] : [],
  )
const becomes = (activity: string) => (frame: Frame) =>
  frame.kind === 'delta' && frame.data.type === 'activity.changed' && frame.data.activity === activity

describe.each([
  ['WebSocket', overWebSocket],
  ['server-sent events', overServerSentEvents],
] as const)('over %s', (_, follow) => {
  it('activity is active, asking and idle as the turn proceeds', async () => {
    await using world = await websocketUnderTest()
    const session = await world.create()
    const follower = await follow(world, session)
    await world.submit(session, permission('a.txt'), colour)
    const asked = await follower.until(is('permission.requested'))
    await follower.until(becomes('asking'))
    const { requestId } = asked.data as Extract<SessionEvent, { type: 'permission.requested' }>
    await follower.command({ type: 'permission.decide', commandId: 'c1', requestId, decision: 'allow' })
    const question = (await follower.until(is('question.asked'))).data as { requestId: string }
    const answer = { requestId: question.requestId, answers: { colour: 'red' } }
    await follower.command({ type: 'question.answer', commandId: 'c2', ...answer })
    await follower.until(is('turn.ended'))
    await follower.until(becomes('idle'))
    expect(activities(follower)).toEqual(['active', 'asking', 'active', 'asking', 'active', 'idle'])
  })

  it('activity is sent to a reader that starts in the middle of a turn', async () => {
    await using world = await websocketUnderTest()
    const session = await world.create()
    await world.submit(session, { type: 'wait', gate: 'go' }, permission('a.txt'))
    await world.gates.reached('go')
    expect(activities(await follow(world, session))).toEqual(['active'])
    const early = await follow(world, session)
    world.gates.open('go')
    await early.until(becomes('asking'))
    expect(activities(await follow(world, session))).toEqual(['asking'])
  })

  it('native messages are sent only to readers that ask for them', async () => {
    await using world = await websocketUnderTest()
    const session = await world.create()
    const [curious, plain] = [await follow(world, session, true), await follow(world, session)]
    await world.submit(session, { type: 'text', text: 'hello' })
    await Promise.all([curious.until(is('turn.ended')), plain.until(is('turn.ended'))])
    const natives = curious.frames.filter(({ kind }) => kind === 'native')
    expect(natives.length).toBeGreaterThan(0)
    expect(natives[0]?.data).toBeTypeOf('object')
    expect(plain.frames.filter(({ kind }) => kind === 'native')).toEqual([])
    const events = (one: Follower) => one.frames.filter(({ kind }) => kind === 'event')
    expect(events(curious)).toEqual(events(plain))
  })

  it('the exit of an agent has its code, its signal and the end of its stderr', async () => {
    await using world = await websocketUnderTest()
    const session = await world.create()
    const follower = await follow(world, session)
    await world.submit(session, { type: 'crash', exitCode: 3, stderrTail: 'out of luck' })
    const exit = await follower.until(is('agent.disconnected'))
    expect(exit.data).toMatchObject({ reason: 'crashed', exitCode: 3, stderrTail: 'out of luck' })
    await follower.until(is('turn.ended'))
    await world.submit(session, { type: 'crash', exitCode: null, signal: 'SIGKILL' })
    const killed = (frame: Frame) => is('agent.disconnected')(frame) && frame !== exit
    const second = await follower.until(
      (frame) => killed(frame) && (frame.data as SessionEvent).seq > (exit.data as SessionEvent).seq,
    )
    expect(second.data).toMatchObject({ reason: 'crashed', exitCode: null, signal: 'SIGKILL' })
  })

  it('an error has a code and a message, whether of a turn, of a follow or of a command', async () => {
    await using world = await websocketUnderTest()
    const session = await world.create()
    const follower = await follow(world, session)
    const error = { code: 'rate_limited', message: 'Too much at once.' } as const
    await world.submit(session, { type: 'end', outcome: 'failed', error })
    const ended = await follower.until(is('turn.ended'))
    expect(ended.data).toMatchObject({ outcome: 'failed', error })
    await follower.until(becomes('idle'))
    expect(await follower.refused()).toMatchObject({ code: 'not_found', message: expect.any(String) })
    const cancel = await follower.command({ type: 'turn.cancel', commandId: 'late' })
    expect(cancel.error).toMatchObject({ code: 'conflict', message: 'No turn is running.' })
  })

  it('a prompt and a cancel are commands', async () => {
    await using world = await websocketUnderTest()
    const session = await world.create()
    const follower = await follow(world, session)
    const text = JSON.stringify([{ type: 'hang' }])
    const receipt = await follower.command({ type: 'prompt.submit', commandId: 'say', text })
    expect(receipt).toMatchObject({ commandId: 'say', promptId: expect.any(String) })
    await follower.until(becomes('active'))
    await follower.command({ type: 'turn.cancel', commandId: 'stop' })
    expect((await follower.until(is('turn.ended'))).data).toMatchObject({ outcome: 'cancelled' })
    await follower.until(becomes('idle'))
    expect(activities(follower)).toEqual(['active', 'idle'])
  })
})
