import {
  applyDelta,
  applyEvents,
  emptyView,
  type ServerFrame,
  type SessionEvent,
  turnOf,
} from '@parley/protocol'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { heldStore } from '../../testing/held-store.ts'
import {
  type FrameOf,
  type RawClient,
  type RawClientOptions,
  websocketUnderTest,
} from './websocket-under-test.ts'

const server = await websocketUnderTest()
afterAll(() => server[Symbol.asyncDispose]())

/** The clients of the running test. Each frame that they receive must have exactly the shape of the protocol. */
const clients: RawClient[] = []
async function connect(options?: RawClientOptions, to = server): Promise<RawClient> {
  const client = await to.connect(options)
  clients.push(client)
  return client
}
afterEach(() => {
  const problems = clients.flatMap((client) => client.problems)
  for (const client of clients.splice(0)) client.cut()
  expect(problems).toEqual([])
})

const hello = [{ type: 'text' as const, text: 'Hello there.', pieces: 3 }]
let made = 0
const gate = () => `gate-${++made}`
const id = () => `command-${++made}`
const seqs = (events: readonly SessionEvent[]) => events.map(({ seq }) => seq)
const upTo = (head: number, from = 1) => Array.from({ length: head - from + 1 }, (_, index) => from + index)
const kinds = (frames: readonly ServerFrame[]) => frames.map(({ type }) => type)

describe('hello', () => {
  it('is answered by welcome, with the version and the heartbeat interval', async () => {
    const client = await connect()
    const welcome = await client.hello()
    expect(welcome).toEqual({ type: 'welcome', version: '0.0.0-test', heartbeatMs: 15_000 })
  })

  it('may name the client, and may be sent twice', async () => {
    const client = await connect()
    await client.ask({ type: 'hello', client: 'a test' }, 'welcome')
    await client.ask({ type: 'hello', client: 'a test' }, 'welcome')
    expect(kinds(client.frames)).toEqual(['welcome', 'welcome'])
  })

  it('is not needed to follow', async () => {
    const session = await server.create()
    const client = await connect()
    const following = await client.follow(session)
    expect(following.verdict).toBe('replay')
    expect(seqs(client.events())).toEqual([1])
  })
})

describe('follow', () => {
  it('from the start sends following, every event, caught-up', async () => {
    const session = await server.create()
    await server.play(session, ...hello)
    const { seq: head, epoch } = await server.host.state(session)
    const client = await connect()
    const following = await client.follow(session)
    expect(following).toEqual({ type: 'following', session, epoch, head, verdict: 'replay' })
    expect(client.frames[0]?.type).toBe('following')
    expect(client.events()).toEqual(await server.log(session))
    expect(client.frames.at(-1)).toEqual({ type: 'caught-up', session, seq: head })
  })

  it('from a cursor sends only the events after it', async () => {
    const session = await server.create()
    await server.play(session, ...hello)
    const { seq: head, epoch } = await server.host.state(session)
    const client = await connect()
    const following = await client.follow(session, { after: 3, epoch })
    expect(following.verdict).toBe('replay')
    expect(seqs(client.events())).toEqual(upTo(head, 4))
  })

  it('from the head sends nothing but caught-up', async () => {
    const session = await server.create()
    const { seq: head, epoch } = await server.host.state(session)
    const client = await connect()
    await client.follow(session, { after: head, epoch })
    expect(kinds(client.frames)).toEqual(['following', 'caught-up'])
  })

  it.each([
    ['another epoch', (head: number) => ({ after: head, epoch: 'another' })],
    ['another epoch and no cursor', () => ({ epoch: 'another' })],
    ['beyond the head', (head: number) => ({ after: head + 1 })],
    ['far beyond the head', () => ({ after: Number.MAX_SAFE_INTEGER })],
  ])('with a cursor of %s gets the verdict "reset", and everything is replayed', async (_, from) => {
    const session = await server.create()
    await server.play(session, ...hello)
    const { seq: head, epoch } = await server.host.state(session)
    const client = await connect()
    const following = await client.follow(session, from(head))
    expect(following).toEqual({ type: 'following', session, epoch, head, verdict: 'reset' })
    expect(seqs(client.events())).toEqual(upTo(head))
    expect(client.frames.at(-1)).toEqual({ type: 'caught-up', session, seq: head })
  })

  it('again on the same socket starts over without repeating live events', async () => {
    const session = await server.create()
    const client = await connect()
    await client.follow(session)
    const from = client.frames.length
    await client.follow(session, { after: 1 })
    await server.play(session, ...hello)
    await client.event('turn.ended', from)
    const { seq: head } = await server.host.state(session)
    await client.settled()
    expect(seqs(client.events(session, from))).toEqual(upTo(head, 2))
  })

  it('sends live events as they are recorded, without gaps or repeats', async () => {
    const session = await server.create()
    const client = await connect()
    await client.follow(session)
    for (let turn = 0; turn < 3; turn++) await server.play(session, ...hello)
    await client.until((frame) => frame.type === 'event' && client.events().filter(isEnd).length === 3)
    expect(client.events()).toEqual(await server.log(session))
  })

  it('on a new socket continues from the cursor', async () => {
    const session = await server.create()
    const first = await connect()
    const { epoch } = await first.follow(session)
    await server.play(session, ...hello)
    await first.event('turn.ended')
    const after = seqs(first.events()).at(-1)!
    first.cut()
    await server.play(session, ...hello)
    const second = await connect()
    await second.follow(session, { after, epoch })
    expect([...first.events(), ...second.events()]).toEqual(await server.log(session))
  })
})

describe('a block that is being written', () => {
  it.each(['text', 'thinking'] as const)(
    '(%s) is sent to a new reader as one delta at offset 0, between the events and caught-up',
    async (type) => {
      await using own = await websocketUnderTest()
      const { stepper } = own
      const session = await own.create('one piece at a time', 'stepping')
      const early = await connect({}, own)
      await early.follow(session)
      await own.submit(session, { type, text: 'abcdef🜁hij', pieces: 10 })
      for (let piece = 1; piece < 7; piece++) {
        await stepper.paused()
        stepper.step()
      }
      await stepper.paused()
      const late = await connect({}, own)
      await late.follow(session)
      const joined = { type: `${type}.streamed`, blockId: expect.any(String), turnId: expect.any(String) }
      expect(kinds(late.frames).slice(-2)).toEqual(['delta', 'caught-up'])
      const activity = { type: 'activity.changed', activity: 'active', turnId: expect.any(String) }
      expect(late.of('delta')).toEqual([
        { type: 'delta', session, delta: activity },
        { type: 'delta', session, delta: { ...joined, offset: 0, text: 'abcdef🜁' } },
      ])
      stepper.run()
      await Promise.all([early.event('turn.ended'), late.event('turn.ended')])
      const { blockId } = await late.event(`${type}.written`)
      expectWhole(early, blockId, 'abcdef🜁hij')
      expectWhole(late, blockId, 'abcdef🜁hij')
      expect(streamed(late, blockId).map(({ offset }) => offset)).toEqual([0, 8, 9, 10])
    },
  )

  it('(a call with its input) is sent to a new reader as its draft and its input so far', async () => {
    await using own = await websocketUnderTest()
    const { stepper } = own
    const session = await own.create('one piece at a time', 'stepping')
    await own.submit(session, {
      type: 'tool',
      name: 'Bash',
      kind: 'execute',
      title: 'List',
      input: { command: 'ls -l' },
      inputPieces: 6,
      output: ['one ', 'two ', 'three '],
    })
    await stepper.paused()
    stepper.step()
    await stepper.paused()
    const first = await connect({}, own)
    await first.follow(session)
    expect(first.of('delta').map(({ delta }) => delta)).toMatchObject([
      { type: 'activity.changed', activity: 'active' },
      { type: 'tool-call.drafted', name: 'Bash', kind: 'execute', title: 'List' },
      { type: 'tool-call.input-streamed', offset: 0, text: '{"comman' },
    ])
    for (let piece = 0; piece < 5; piece++) {
      stepper.step()
      await stepper.paused()
    }
    const second = await connect({}, own)
    await second.follow(session)
    expect(second.of('delta').map(({ delta }) => delta)).toMatchObject([
      { type: 'activity.changed', activity: 'active' },
      { type: 'tool-call.output-streamed', offset: 0, text: 'one two ' },
    ])
    stepper.run()
    for (const client of [first, second]) {
      await client.event('turn.ended')
      expect(client.events()).toEqual(await own.log(session))
      expect(fold(client, session)).toEqual(fold(first, session))
    }
  })

  it('(thinking and text) has deltas before its event that add up to it', async () => {
    const session = await server.create()
    const client = await connect()
    await client.follow(session)
    const from = client.frames.length
    await server.play(
      session,
      { type: 'thinking', text: 'Hm, let me think of 🜁.', pieces: 5 },
      { type: 'text', text: 'Grüße aus 語.', pieces: 4 },
    )
    await client.event('turn.ended', from)
    for (const event of client.events(session, from)) {
      if (event.type !== 'text.written' && event.type !== 'thinking.written') continue
      expectWhole(client, event.blockId, event.text)
      expect(streamed(client, event.blockId).length).toBeGreaterThan(1)
    }
    expectNothingAfterEnd(client)
  })

  it('(a tool call) is drafted, its input streamed, called, its output streamed, ended', async () => {
    const session = await server.create()
    const client = await connect()
    await client.follow(session)
    const from = client.frames.length
    await server.play(session, {
      type: 'tool',
      name: 'Bash',
      kind: 'execute',
      input: { command: 'ls -l' },
      inputPieces: 3,
      output: ['one\n', 'two\n'],
    })
    await client.event('turn.ended', from)
    const story = client.frames.slice(from).flatMap((frame): string[] => {
      if (frame.type === 'delta' && frame.delta.type.startsWith('tool-call')) return [frame.delta.type]
      if (frame.type === 'event' && frame.event.type.startsWith('tool-call')) return [frame.event.type]
      return []
    })
    expect(story).toEqual([
      'tool-call.drafted',
      'tool-call.input-streamed',
      'tool-call.input-streamed',
      'tool-call.input-streamed',
      'tool-call.called',
      'tool-call.output-streamed',
      'tool-call.output-streamed',
      'tool-call.ended',
    ])
  })

  it('folds to the same view for every reader, whenever it joined', async () => {
    const session = await server.create()
    const steps = [gate(), gate(), gate()]
    const readers = [await connect()]
    await readers[0]!.follow(session)
    await server.submit(
      session,
      ...steps.flatMap((step) => [
        { type: 'wait' as const, gate: step },
        { type: 'flood' as const, deltas: 300, size: 4, blocks: 3 },
        ...hello,
      ]),
    )
    for (const step of steps) {
      await server.gates.reached(step)
      server.gates.open(step)
      const reader = await connect()
      await reader.follow(session)
      readers.push(reader)
    }
    for (const reader of readers) await reader.event('turn.ended')
    const views = readers.map((reader) => fold(reader, session))
    for (const view of views) expect(view).toEqual(views[0])
    for (const reader of readers) expectNothingAfterEnd(reader)
  })
})

describe('native messages', () => {
  it('are sent only to readers that asked for them, in order among the deltas', async () => {
    const session = await server.create()
    const curious = await connect()
    const plain = await connect()
    await curious.follow(session, { native: true })
    await plain.follow(session)
    await server.play(session, ...hello)
    await Promise.all([curious.event('turn.ended'), plain.event('turn.ended')])
    await plain.settled()
    expect(curious.of('native').map(({ native }) => native)).toEqual([
      { scripted: 'step', path: '0', step: 'text' },
    ])
    expect(curious.of('native')[0]?.session).toBe(session)
    expect(plain.of('native')).toEqual([])
    expect(curious.events()).toEqual(plain.events())
  })

  it('are not part of a replay', async () => {
    const session = await server.create()
    await server.play(session, ...hello)
    const client = await connect()
    await client.follow(session, { native: true })
    expect(client.of('native')).toEqual([])
  })
})

describe('unfollow', () => {
  it('ends the frames of that session and of no other', async () => {
    const [left, kept] = [await server.create(), await server.create()]
    const client = await connect()
    await client.follow(left)
    await client.follow(kept)
    client.send({ type: 'unfollow', session: left })
    await client.command(left, { type: 'session.configure', commandId: id(), mode: 'ask' })
    const from = client.frames.length
    await server.play(left, ...hello)
    await server.play(kept, ...hello)
    await client.until((frame) => frame.type === 'event' && frame.event.type === 'turn.ended', from)
    await client.settled()
    expect(client.events(left, from)).toEqual([])
    expect(client.events(kept)).toEqual(await server.log(kept))
  })

  it('in the middle of a replay ends it: no caught-up, and nothing live', async () => {
    const session = await server.create()
    await server.play(session, { type: 'flood', deltas: 4_000, size: 100, blocks: 4_000 })
    const client = await connect({ check: false })
    client.send({ type: 'follow', session })
    client.send({ type: 'unfollow', session })
    await client.command(session, { type: 'session.configure', commandId: id(), mode: 'ask' })
    const from = client.frames.length
    await server.play(session, ...hello)
    await client.settled()
    expect(client.events(session, from)).toEqual([])
    expect(client.of('caught-up')).toEqual([])
  })

  it('of a session that is not followed is no error', async () => {
    const client = await connect()
    client.send({ type: 'unfollow', session: 'ses_unknown' })
    await client.settled()
    expect(kinds(client.frames)).toEqual(['pong'])
  })
})

describe('two sessions on one socket', () => {
  it('each keep their own order, and their frames contain the session id', async () => {
    const sessions = [await server.create('one'), await server.create('two')]
    const client = await connect()
    for (const session of sessions) await client.follow(session)
    await Promise.all(
      sessions.map((session) => server.play(session, ...hello, { type: 'flood', deltas: 50, size: 3 })),
    )
    for (const session of sessions) {
      await client.until(
        (frame) => frame.type === 'event' && frame.session === session && frame.event.type === 'turn.ended',
      )
      const events = client.events(session)
      expect(events).toEqual(await server.log(session))
      expect(new Set(events.map(({ sessionId }) => sessionId))).toEqual(new Set([session]))
    }
  })
})

describe('command', () => {
  it('is answered with its receipt, once it is in the log', async () => {
    const session = await server.create()
    const client = await connect()
    await client.follow(session)
    const commandId = id()
    const receipt = await client.command(session, prompt(commandId, 'hello'))
    expect(receipt).toEqual({
      type: 'receipt',
      session,
      commandId,
      seq: expect.any(Number),
      promptId: expect.any(String),
    })
    const log = await server.log(session)
    expect(log.find(({ seq }) => seq === receipt.seq)?.type).toBe('turn.started')
    const submitted = await client.event('prompt.submitted')
    expect(submitted.promptId).toBe(receipt.promptId)
  })

  it('that is refused has the error in its receipt, with its code and details', async () => {
    const session = await server.create()
    const client = await connect()
    const refuse = async (command: Record<string, unknown>) => {
      const receipt = await client.command(session, { commandId: id(), ...command })
      expect(receipt.seq).toBeUndefined()
      return receipt.error
    }
    expect(await refuse({ type: 'turn.cancel' })).toMatchObject({ code: 'conflict' })
    expect(await refuse({ type: 'prompt.withdraw', promptId: 'prm_none' })).toMatchObject({
      code: 'conflict',
      details: { promptId: 'prm_none', queued: [] },
    })
    expect(
      await refuse({ type: 'permission.decide', requestId: 'req_none', decision: 'allow' }),
    ).toMatchObject({
      code: 'not_found',
      details: { requestId: 'req_none' },
    })
    expect(await refuse({ type: 'question.answer', requestId: 'req_none', answers: {} })).toMatchObject({
      code: 'not_found',
    })
    expect(await refuse({ type: 'session.configure', options: { maxTurns: 3 } })).toMatchObject({
      code: 'not_supported',
      details: { option: 'maxTurns' },
    })
  })

  it.each([
    ['an unknown type', { type: 'session.explode' }],
    ['no type', {}],
    ['a wrong type of a field', { type: 'prompt.submit', text: 7 }],
    ['an empty prompt', { type: 'prompt.submit', text: '  ' }],
    ['text and parts', { type: 'prompt.submit', text: 'a', parts: [{ type: 'text', text: 'a' }] }],
    ['a field that does not exist', { type: 'turn.cancel', force: true }],
    ['a decision that does not exist', { type: 'permission.decide', requestId: 'r', decision: 'maybe' }],
  ])('with %s has a receipt with the error', async (_, command) => {
    const session = await server.create()
    const client = await connect()
    const commandId = id()
    const receipt = await client.command(session, { commandId, ...command })
    expect(receipt).toEqual({
      type: 'receipt',
      session,
      commandId,
      error: {
        code: 'validation_error',
        message: expect.any(String),
        details: { issues: expect.any(Array) },
      },
    })
    expect((await server.host.state(session)).seq).toBe(1)
  })

  it('to an unknown session has a receipt with not_found', async () => {
    const client = await connect()
    const receipt = await client.command('ses_unknown', prompt(id(), 'hello'))
    expect(receipt.error).toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('ses_unknown'),
    })
  })

  it('without an id is answered with an error, because no receipt can name it', async () => {
    const session = await server.create()
    const client = await connect()
    const command = { type: 'prompt.submit', text: 'hello' }
    const error = await client.ask({ type: 'command', session, command }, 'error')
    expect(error).toMatchObject({ session, error: { code: 'validation_error' } })
  })

  it.each([
    ['empty', ''],
    ['too long', 'x'.repeat(201)],
  ])("with an id that is %s is answered with an error of the protocol's shape", async (_, commandId) => {
    const session = await server.create()
    const client = await connect()
    client.send({ type: 'command', session, command: prompt(commandId, 'hello') })
    const answer = await client.until(({ type }) => type === 'error' || type === 'receipt')
    expect(answer).toMatchObject({ error: { code: 'validation_error' } })
    expect(client.problems).toEqual([])
  })

  it('sent twice with the same id and content has one effect and the same receipt', async () => {
    const session = await server.create()
    const [one, other] = [await connect(), await connect()]
    const command = prompt(id(), 'hello')
    const [first, second] = await Promise.all([one.command(session, command), one.command(session, command)])
    const third = await other.command(session, command)
    expect(second).toEqual(first)
    expect(third).toEqual(first)
    const log = await server.log(session)
    expect(log.filter(({ type }) => type === 'prompt.submitted')).toHaveLength(1)
  })

  it('sent again with the same id and other content is a conflict and has no effect', async () => {
    const session = await server.create()
    const client = await connect()
    const commandId = id()
    await client.command(session, prompt(commandId, 'one'))
    const receipt = await client.command(session, prompt(commandId, 'two'))
    expect(receipt).toEqual({
      type: 'receipt',
      session,
      commandId,
      error: { code: 'conflict', message: expect.stringContaining(commandId) },
    })
    const log = await server.log(session)
    expect(log.filter(({ type }) => type === 'prompt.submitted')).toHaveLength(1)
  })

  it('is handled in the order of sending when many are sent at once', async () => {
    const session = await server.create()
    const client = await connect()
    await client.follow(session)
    const texts = Array.from({ length: 30 }, (_, index) => `prompt ${index}`)
    for (const text of texts) client.send({ type: 'command', session, command: prompt(id(), text) })
    await client.until(() => client.of('receipt').length === texts.length)
    await client.until(() => client.events().filter(isEnd).length === texts.length)
    const log = await server.log(session)
    const order = log.flatMap((event) => (event.type === 'prompt.submitted' ? event.parts : []))
    expect(order.map((part) => part.type === 'text' && part.text)).toEqual(texts)
    const prompts = log.flatMap((event) => (event.type === 'prompt.submitted' ? [event.promptId] : []))
    expect(log.flatMap((event) => (event.type === 'turn.started' ? [event.promptId] : []))).toEqual(prompts)
  })

  it('is refused while it does not apply, and accepted once it does', async () => {
    const session = await server.create()
    const client = await connect()
    await client.follow(session)
    const stop = gate()
    expect((await client.command(session, { type: 'turn.cancel', commandId: id() })).error?.code).toBe(
      'conflict',
    )
    await client.command(session, prompt(id(), JSON.stringify([{ type: 'wait', gate: stop }])))
    const { turnId } = await client.event('turn.started')
    const queued = await client.command(session, prompt(id(), 'queued'))
    await client.command(session, { type: 'prompt.withdraw', commandId: id(), promptId: queued.promptId! })
    const twice = { type: 'prompt.withdraw', commandId: id(), promptId: queued.promptId! }
    expect((await client.command(session, twice)).error?.code).toBe('conflict')
    const cancel = { type: 'turn.cancel', commandId: id(), turnId: turnId! }
    expect((await client.command(session, cancel)).error).toBeUndefined()
    await client.event('turn.ended')
    const late = { type: 'turn.cancel', commandId: id(), turnId: turnId! }
    expect((await client.command(session, late)).error?.code).toBe('conflict')
    expect(await client.command(session, cancel)).toMatchObject({
      commandId: cancel.commandId,
      seq: expect.any(Number),
    })
  })

  it('is refused with rate_limited beyond 256 at once, and the others continue', async () => {
    const disk = heldStore()
    await using server = await websocketUnderTest({ store: disk.store })
    const session = await server.create()
    const client = await server.connect()
    disk.hold()
    for (let index = 0; index < 300; index++) {
      const command = { type: 'session.configure', commandId: id(), mode: index % 2 ? 'ask' : 'plan' }
      client.send({ type: 'command', session, command })
    }
    await client.until(() => client.of('receipt').length === 300 - 256)
    expect(new Set(client.of('receipt').map(({ error }) => error?.code))).toEqual(new Set(['rate_limited']))
    disk.release()
    await client.until(() => client.of('receipt').length === 300)
    expect((await server.host.state(session)).seq).toBe(1 + 256)
    expect((await client.command(session, prompt(id(), 'still here'))).error).toBeUndefined()
  })
})

describe('session-changed', () => {
  it('is sent to every client that said hello, for sessions created, changed and deleted', async () => {
    const [greeted, other, silent] = [await connect(), await connect(), await connect()]
    await greeted.hello()
    await other.hello()
    await silent.settled()
    const session = await server.create('a title')
    const created = await greeted.next('session-changed')
    expect(created).toEqual({
      type: 'session-changed',
      session,
      change: 'created',
      summary: expect.objectContaining({ id: session, title: 'a title', status: 'idle', waiting: 0 }),
    })
    await server.host.patch(session, { title: 'another' })
    const changed = await greeted.until((frame) => isChange(frame, 'changed'))
    expect(changed).toMatchObject({ session, summary: { id: session, title: 'another', seq: 2 } })
    await server.host.delete(session)
    const deleted = await greeted.until((frame) => isChange(frame, 'deleted'))
    expect(deleted).toMatchObject({ type: 'session-changed', session, change: 'deleted' })
    await other.until((frame) => isChange(frame, 'deleted'))
    await silent.settled()
    expect(other.of('session-changed')).toEqual(greeted.of('session-changed'))
    expect(silent.of('session-changed')).toEqual([])
  })

  it('contains the status as the session list shows it: working, waiting with a count, idle', async () => {
    const session = await server.create()
    const client = await connect()
    await client.hello()
    await server.submit(session, { type: 'permission', name: 'Write', kind: 'edit', input: { path: 'x' } })
    const waiting = await client.until(
      (frame) => isChange(frame, 'changed') && frame.summary?.status === 'waiting',
    )
    expect(waiting).toMatchObject({ summary: { waiting: 1 } })
    const [open] = (await server.host.state(session)).requests
    await client.command(session, permit(open!.requestId))
    const idle = await client.until((frame) => isChange(frame, 'changed') && frame.summary?.status === 'idle')
    expect(idle).toMatchObject({ session, summary: { waiting: 0 } })
    const statuses = client.of('session-changed').map(({ summary }) => summary?.status)
    expect(statuses.filter((status, index) => status !== statuses[index - 1])).toEqual([
      'working',
      'waiting',
      'working',
      'idle',
    ])
  })

  it('is sent for a fork as for any new session', async () => {
    const session = await server.create('the first')
    await server.play(session, ...hello)
    const client = await connect()
    await client.hello()
    const receipt = await client.command(session, {
      type: 'session.fork',
      commandId: id(),
      title: 'the copy',
    })
    const created = await client.until((frame) => isChange(frame, 'created'))
    expect(created).toMatchObject({ session: receipt.sessionId, summary: { title: 'the copy' } })
  })

  it('of a deleted session is sent to its followers, which can no longer follow the session', async () => {
    const session = await server.create()
    const client = await connect()
    await client.hello()
    await client.follow(session)
    await server.host.delete(session)
    await client.until((frame) => isChange(frame, 'deleted'))
    const error = await client.ask({ type: 'follow', session }, 'error')
    expect(error).toMatchObject({ session, error: { code: 'not_found' } })
  })
})

describe('a bad frame is answered with an error, and the socket stays usable', () => {
  const big = JSON.stringify({ type: 'hello', client: 'x'.repeat(12 * 1024 * 1024) })
  const input = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
  const command = `{"commandId":"c","type":"permission.decide","requestId":"r","decision":"allow","input":${input}}`
  const deep = `{"type":"command","session":"s","command":${command}}`
  it.each<[string, () => string | Buffer | object, string]>([
    ['malformed JSON', () => '{"type":', 'validation_error'],
    ['text that is not JSON', () => 'hello', 'validation_error'],
    ['an empty frame', () => '', 'validation_error'],
    ['null', () => 'null', 'validation_error'],
    ['a number', () => '7', 'validation_error'],
    ['an array', () => '[]', 'validation_error'],
    ['no type', () => ({}), 'validation_error'],
    ['an unknown type', () => ({ type: 'subscribe' }), 'validation_error'],
    ['a server frame', () => ({ type: 'welcome', version: '1', heartbeatMs: 1 }), 'validation_error'],
    ['follow without a session', () => ({ type: 'follow' }), 'validation_error'],
    ['a session that is a number', () => ({ type: 'follow', session: 7 }), 'validation_error'],
    ['an empty session', () => ({ type: 'follow', session: '' }), 'validation_error'],
    ['a session of 300 characters', () => ({ type: 'follow', session: 'x'.repeat(300) }), 'validation_error'],
    ['a negative cursor', () => ({ type: 'follow', session: 's', after: -1 }), 'validation_error'],
    ['a fractional cursor', () => ({ type: 'follow', session: 's', after: 1.5 }), 'validation_error'],
    ['a cursor that is a text', () => ({ type: 'follow', session: 's', after: '1' }), 'validation_error'],
    ['an epoch that is a number', () => ({ type: 'follow', session: 's', epoch: 1 }), 'validation_error'],
    [
      'a command that is a text',
      () => ({ type: 'command', session: 's', command: 'stop' }),
      'validation_error',
    ],
    ['a command that is null', () => ({ type: 'command', session: 's', command: null }), 'validation_error'],
    ['a command nested too deep', () => deep, 'validation_error'],
    ['a binary frame', () => Buffer.from('{"type":"hello"}'), 'validation_error'],
    ['a frame that is too large', () => big, 'too_large'],
    ['an unknown session', () => ({ type: 'follow', session: 'ses_unknown' }), 'not_found'],
  ])('%s', async (_, frame, code) => {
    const session = await server.create()
    const client = await connect()
    const error = await client.ask(frame(), 'error')
    expect(error).toMatchObject({ type: 'error', error: { code, message: expect.stringMatching(/\S/) } })
    await client.hello()
    await client.follow(session)
    expect((await client.command(session, prompt(id(), 'hello'))).error).toBeUndefined()
    await client.event('turn.ended')
    expect(client.of('error')).toHaveLength(1)
  })

  it('the error names the session if the frame does', async () => {
    const client = await connect()
    expect(await client.ask({ type: 'follow', session: 'ses_unknown' }, 'error')).toMatchObject({
      session: 'ses_unknown',
    })
    expect(await client.ask({ type: 'follow', session: 'ses_a', after: 'x' }, 'error')).toMatchObject({
      session: 'ses_a',
      error: { details: { issues: [{ path: 'after' }] } },
    })
  })

  it('other clients and sessions followed on the same socket are not affected', async () => {
    const session = await server.create()
    const [bad, good] = [await connect(), await connect()]
    await bad.follow(session)
    await good.follow(session)
    for (let index = 0; index < 50; index++) bad.send('{')
    await server.play(session, ...hello)
    for (const client of [bad, good]) {
      await client.event('turn.ended')
      expect(client.events()).toEqual(await server.log(session))
    }
    expect(good.of('error')).toEqual([])
  })
})

describe('ping', () => {
  it.each([{}, { id: 'a' }, { id: 7 }, { id: '' }])('%j comes back as pong', async (given) => {
    const client = await connect()
    expect(await client.ask({ type: 'ping', ...given }, 'pong')).toEqual({ type: 'pong', ...given })
  })

  it('is answered during a replay too', async () => {
    const session = await server.create()
    await server.play(session, { type: 'flood', deltas: 2_000, size: 100, blocks: 2_000 })
    const client = await connect({ check: false })
    client.send({ type: 'follow', session })
    client.send({ type: 'ping', id: 'meanwhile' })
    expect(await client.next('pong')).toEqual({ type: 'pong', id: 'meanwhile' })
    await client.next('caught-up')
    expect(seqs(client.events())).toEqual(upTo((await server.host.state(session)).seq))
  })

  it('of the WebSocket protocol is answered with a pong', async () => {
    const client = await connect()
    const pong = new Promise<string>((resolve) =>
      client.websocket.once('pong', (data) => resolve(String(data))),
    )
    client.websocket.ping('are you there')
    expect(await pong).toBe('are you there')
  })
})

describe('an upgrade', () => {
  const authorization = 'Bearer websocket-test-token'
  it.each([
    ['no token', {}, 401, 'unauthorized'],
    ['a wrong token', { authorization: 'Bearer wrong' }, 401, 'unauthorized'],
    ['another scheme', { authorization: 'Basic d2Vi' }, 401, 'unauthorized'],
    ['a foreign Origin', { authorization, origin: 'https://evil.example' }, 403, 'forbidden'],
    ['the Origin of a sandbox', { authorization, origin: 'null' }, 403, 'forbidden'],
    ['a foreign Host', { authorization, host: 'evil.example' }, 403, 'forbidden'],
    ['another port in the Host', { authorization, host: '127.0.0.1:1' }, 403, 'forbidden'],
  ])('with %s is refused', async (_, headers, status, code) => {
    await expect.poll(() => server.peers).toBe(0)
    const refusal = await server.refusal(headers as Record<string, string>)
    expect(refusal.status).toBe(status)
    expect(refusal.headers['content-type']).toContain('application/json')
    expect(refusal.body).toEqual({ error: expect.objectContaining({ code, message: expect.any(String) }) })
    expect(JSON.stringify(refusal.body)).not.toContain('websocket-test-token')
    expect(server.peers).toBe(0)
  })

  it('at another path is not found', async () => {
    const refusal = await server.refusal({ authorization }, '/api/socket')
    expect(refusal).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
  })

  it('with the token in the URL is refused', async () => {
    const refusal = await server.refusal({}, '/api/ws?token=websocket-test-token')
    expect(refusal.status).toBe(401)
  })

  it("of the server's own page is accepted", async () => {
    const client = await connect({ headers: { origin: `http://127.0.0.1:${server.port}` } })
    expect((await client.hello()).type).toBe('welcome')
  })
})

describe('a client that disconnects', () => {
  it('is removed from the peers', async () => {
    await expect.poll(() => server.peers).toBe(0)
    const session = await server.create()
    const client = await connect()
    await client.follow(session)
    expect(server.peers).toBe(1)
    client.websocket.close()
    await expect.poll(() => server.peers).toBe(0)
  })

  it('without a close frame is dropped when it does not answer a ping, and the others stay', async () => {
    // Long enough for a client to answer on a busy machine.
    const heartbeatMs = 1_000
    await using own = await websocketUnderTest({ heartbeatMs })
    const session = await own.create()
    const [silent, there] = [await own.connect({ autoPong: false }), await own.connect()]
    await silent.follow(session)
    await there.follow(session)
    expect((await there.hello()).heartbeatMs).toBe(heartbeatMs)
    await silent.closed
    await own.play(session, ...hello)
    await there.event('turn.ended')
    expect(there.events()).toEqual(await own.log(session))
    expect(own.peers).toBe(1)
  })
})

it('a server that stops closes its sockets with a code and a reason', async () => {
  const stopping = await websocketUnderTest()
  const client = await stopping.connect()
  await client.follow(await stopping.create())
  await stopping.stop()
  expect(await client.closed).toEqual({ code: 1001, reason: 'Parley is stopping' })
})

function prompt(commandId: string, text: string) {
  return { type: 'prompt.submit' as const, commandId, text }
}

function permit(requestId: string) {
  return { type: 'permission.decide' as const, commandId: id(), requestId, decision: 'allow' as const }
}

function isEnd({ type }: SessionEvent): boolean {
  return type === 'turn.ended'
}

function isChange(
  frame: ServerFrame,
  change: 'created' | 'changed' | 'deleted',
): frame is FrameOf<'session-changed'> {
  return frame.type === 'session-changed' && frame.change === change
}

function streamed(client: RawClient, blockId: string) {
  return client
    .of('delta')
    .map(({ delta }) => delta)
    .filter((delta) => delta.type === 'text.streamed' || delta.type === 'thinking.streamed')
    .filter((delta) => delta.blockId === blockId)
}

/**
 * Expects that each delta starts where the previous one ended, that the first starts at 0, that all come before the
 * event of the block, and that together they equal the text of the block.
 */
function expectWhole(client: RawClient, blockId: string, text: string): void {
  const pieces = streamed(client, blockId)
  let soFar = ''
  for (const piece of pieces) {
    expect(piece.offset).toBe(soFar.length)
    soFar += piece.text
  }
  if (pieces.length > 0) expect(soFar).toBe(text)
  const written = client.frames.findIndex(
    (frame) => frame.type === 'event' && 'blockId' in frame.event && frame.event.blockId === blockId,
  )
  const last = client.frames.findLastIndex(
    (frame) => frame.type === 'delta' && 'blockId' in frame.delta && frame.delta.blockId === blockId,
  )
  expect(last).toBeLessThan(written)
}

function expectNothingAfterEnd(client: RawClient): void {
  const ended = new Set<string>()
  for (const frame of client.frames) {
    if (frame.type === 'delta' && frame.delta.type !== 'activity.changed')
      expect(ended.has(turnOf(frame.delta) ?? '')).toBe(false)
    if (frame.type === 'event' && frame.event.type === 'turn.ended') ended.add(frame.event.turnId ?? '')
  }
  expect(ended.size).toBeGreaterThan(0)
}

function fold(client: RawClient, session: string) {
  let view = emptyView(session, client.of('following')[0]?.epoch)
  for (const frame of client.frames) {
    if (frame.type === 'event') view = applyEvents(view, [frame.event])
    if (frame.type === 'delta') view = applyDelta(view, frame.delta)
  }
  return view
}
