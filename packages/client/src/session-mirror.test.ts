import { applyToTimeline, inReadingOrder, type SessionView } from '@parley/protocol'
import { expect, test } from 'vitest'
import { prompt, type RealServer, startRealServer } from '../testing/real-server.ts'
import type { Mirror } from './session-mirror.ts'

const turns = (count: number) => (snapshot: { status: string; view: { state: { turns: number } } }) =>
  snapshot.status === 'live' && snapshot.view.state.turns >= count

test('a mirror shows a turn from its prompt to its end, and equals the server', async () => {
  await using server = await startRealServer()
  const id = await server.create('One')
  const client = server.client()
  const mirror = client.mirror(id)
  await mirror.until((snapshot) => snapshot.status === 'live')
  await client.prompt(id, prompt({ type: 'thinking', text: 'hm' }, { type: 'text', text: 'hello there' }))
  const { view, atStart } = await mirror.until(turns(1))
  expect(view).toEqual((await server.truth(id)).view)
  expect(view.state).toEqual(await server.host.state(id))
  expect(atStart).toBe(true)
  expect(view.timeline.map((block) => block.type)).toEqual(['prompt', 'thinking', 'text', 'turn-end'])
})

test('a mirror that loads the whole log equals the server too', async () => {
  await using server = await startRealServer()
  const id = await server.create()
  const client = server.client()
  await client.prompt(id, prompt({ type: 'tool', name: 'Read', output: ['a', 'b'] }))
  const mirror = client.mirror(id, { tail: 'all' })
  const { view, atStart } = await mirror.until(turns(1))
  expect(view).toEqual((await server.truth(id)).view)
  expect(atStart).toBe(true)
})

test('a mirror that joins in the middle of a block shows the rest of it', async () => {
  const middle = Promise.withResolvers<void>()
  const rest = Promise.withResolvers<void>()
  let pieces = 0
  const sleep = async () => {
    if (++pieces === 3) middle.resolve()
    if (pieces >= 3) await rest.promise
  }
  await using server = await startRealServer({ agent: { sleep, pieceDelayMs: 1 } })
  const id = await server.create()
  const client = server.client()
  await client.prompt(id, prompt({ type: 'text', text: 'one two three four five', pieces: 8 }))
  await middle.promise
  const mirror = client.mirror(id)
  const { view } = await mirror.until((snapshot) => snapshot.status === 'live')
  expect(view.state.openBlocks).toEqual((await server.host.state(id)).openBlocks)
  expect(view.state.openBlocks).toMatchObject([{ type: 'text', text: expect.stringMatching(/^one/) }])
  server.proxy.cut()
  await mirror.until((snapshot) => snapshot.status === 'reconnecting')
  const again = await mirror.until((snapshot) => snapshot.status === 'live')
  expect(again.view.state.openBlocks).toEqual(view.state.openBlocks)
  rest.resolve()
  const end = await mirror.until(turns(1))
  expect(end.view).toEqual((await server.truth(id)).view)
})

test('an older page completes the calls that end in later events, and blocks keep their identity', async () => {
  await using server = await startRealServer()
  const id = await server.create()
  const client = server.client()
  for (let turn = 1; turn <= 5; turn++) {
    const script = prompt(
      { type: 'tool', name: 'Read', output: ['x'] },
      { type: 'text', text: `turn ${turn}` },
    )
    await client.prompt(id, script)
    await client.mirror(id, { tail: 'all' }).until(turns(turn))
  }
  const { view, events } = await server.truth(id)

  const mirror = client.mirror(id, { tail: 3, page: 4 })
  const first = await mirror.until((snapshot) => snapshot.status === 'live')
  expect(first.atStart).toBe(false)
  expect(first.view.timeline).toEqual(applyToTimeline([], events.slice(-3)))
  const whole = new Map(view.timeline.map((block) => [block.seq, block]))
  let loaded = 3
  let shown = first.view.timeline
  while (!mirror.getSnapshot().atStart) {
    const before = mirror.getSnapshot()
    await Promise.all([mirror.loadOlder(), mirror.loadOlder()])
    loaded = Math.min(loaded + 4, events.length)
    const snapshot = await mirror.until((one) => one !== before)
    const { seq = 0 } = events.at(-loaded) ?? {}
    const { timeline } = snapshot.view
    const inPages = timeline.filter((block) => block.seq >= seq)
    expect(inPages).toEqual(applyToTimeline([], events.slice(-loaded)).map((block) => whole.get(block.seq)))
    expect(snapshot.view.timeline.slice(-shown.length).every((block, index) => block === shown[index])).toBe(
      true,
    )
    shown = snapshot.view.timeline
  }
  expect(mirror.getSnapshot().view).toEqual(view)
  await expect(mirror.loadOlder()).resolves.toBeUndefined()
})

/**
 * Submits twelve prompts at once. All but the first are queued, so in the log they are far above the turns they start.
 */
async function queueTwelve(server: RealServer) {
  const id = await server.create()
  const client = server.client()
  const gate = { type: 'wait' as const, gate: 'go' }
  const talk = Array.from({ length: 6 }, (_, at) => ({ type: 'text' as const, text: `piece ${at}` }))
  for (let turn = 1; turn <= 12; turn++)
    await client.prompt(id, prompt(...(turn === 1 ? [gate] : []), ...talk))
  return { id, client }
}

const promptsAbove = ({ timeline }: SessionView) => {
  const order = inReadingOrder(timeline)
  const firsts = order.filter((block, at) => block.turnId !== order[at - 1]?.turnId)
  return firsts.map(({ type }) => type)
}

test('a queued prompt is placed above its turn, however far above the tail it was submitted', async () => {
  await using server = await startRealServer()
  const { id, client } = await queueTwelve(server)
  server.gates.open('go')
  await client.mirror(id, { tail: 'all' }).until(turns(12))
  const { view } = await server.truth(id)

  // 27 events: three turns and a part of the turn before them.
  const mirror = client.mirror(id, { tail: 27, page: 20 })
  const first = await mirror.until((snapshot) => snapshot.status === 'live')
  expect(promptsAbove(first.view)).toEqual(['text', 'prompt', 'prompt', 'prompt'])
  for (const block of first.view.timeline) expect(view.timeline).toContainEqual(block)

  const kept = mirror.tail({ events: 17, characters: 1_000_000 })
  const again = server.client().mirror(id, { start: async () => kept })
  const shown = await again.until((snapshot) => snapshot.view.timeline.length > 0)
  expect(promptsAbove(shown.view).filter((type) => type === 'prompt')).toHaveLength(2)
  await again.until((snapshot) => snapshot.status === 'live')
  for (const one of [mirror, again]) {
    while (!one.getSnapshot().atStart) await one.loadOlder()
    expect(one.getSnapshot().view).toEqual(view)
  }
})

test('a prompt that is queued when the session is opened is placed above its turn when the turn starts', async () => {
  await using server = await startRealServer()
  const { id, client } = await queueTwelve(server)
  const mirror = client.mirror(id, { tail: 2 })
  await mirror.until((snapshot) => snapshot.status === 'live')
  server.gates.open('go')
  const { view } = await mirror.until(turns(12))
  expect(promptsAbove(view).filter((type) => type === 'prompt')).toHaveLength(11)
  while (!mirror.getSnapshot().atStart) await mirror.loadOlder()
  expect(mirror.getSnapshot().view).toEqual((await server.truth(id)).view)
})

test('many changes cause one notification; the snapshot is the same until something changes', async () => {
  await using server = await startRealServer()
  const id = await server.create()
  const client = server.client()
  const mirror = client.mirror(id)
  const live = await mirror.until((snapshot) => snapshot.status === 'live')
  expect(mirror.getSnapshot()).toBe(live)
  let reported = 0
  let changed = 0
  let last = live
  mirror.subscribe(() => {
    reported++
    if (mirror.getSnapshot() !== last) changed++
    last = mirror.getSnapshot()
  })
  await client.prompt(id, prompt({ type: 'flood', deltas: 2000, size: 5 }))
  const end = await mirror.until(turns(1))
  expect(reported).toBe(changed)
  expect(reported).toBeLessThan(2000)
  expect(end.view).toEqual((await server.truth(id)).view)
})

test('a mirror of an unknown session fails at once; a mirror of a deleted session fails at the deletion', async () => {
  await using server = await startRealServer()
  const client = server.client()
  const none = client.mirror('ses_none')
  await expect(none.until(() => false)).rejects.toMatchObject({ code: 'not_found' })
  expect(none.getSnapshot().status).toBe('failed')
  await expect(client.mirror('ses_none', { tail: 'all' }).until(() => false)).rejects.toMatchObject({
    code: 'not_found',
  })
  const id = await server.create()
  const mirror = client.mirror(id)
  await mirror.until((snapshot) => snapshot.status === 'live')
  await client.call('deleteSession', { params: { id } })
  await expect(mirror.until(() => false)).rejects.toMatchObject({ code: 'not_found' })
})

test('a wrong token makes a mirror fail, over HTTP and over the socket, without endless retries', async () => {
  await using server = await startRealServer()
  const id = await server.create()
  const client = server.client({ token: 'wrong' })
  await expect(client.mirror(id).until(() => false)).rejects.toMatchObject({ code: 'unauthorized' })
  await expect(client.events(id).next()).rejects.toMatchObject({ code: 'unauthorized' })
  expect(client.socket.status.state).toBe('stopped')
})

test('a mirror waits for a server that is down, and reports why', async () => {
  await using server = await startRealServer()
  const id = await server.create()
  const client = server.client()
  server.proxy.refuse()
  const mirror = client.mirror(id)
  const waiting = await mirror.until((snapshot) => snapshot.error !== undefined)
  expect(waiting).toMatchObject({ status: 'loading', error: { code: 'busy' } })
  server.proxy.accept()
  const live = await mirror.until((snapshot) => snapshot.status === 'live')
  expect(live.error).toBeUndefined()
})

test('a mirror closes with its client', async () => {
  await using server = await startRealServer()
  const client = server.client()
  const mirror = client.mirror(await server.create())
  await mirror.until((snapshot) => snapshot.status === 'live')
  client.close()
  await mirror.until((snapshot) => snapshot.status === 'closed')
  await expect(mirror.until(() => false)).rejects.toMatchObject({ code: 'cancelled' })
  const late: Mirror = client.mirror('any')
  await expect(late.until(() => false)).rejects.toMatchObject({ code: 'cancelled' })
})

test('a mirror continues from a stored tail: shown before the server answers, and only missing events are loaded', async () => {
  await using server = await startRealServer()
  const id = await server.create()
  const client = server.client()
  const script = () => prompt({ type: 'tool', name: 'Read', output: ['x'] }, { type: 'text', text: 'said' })
  for (let turn = 1; turn <= 3; turn++) await client.prompt(id, script())
  const first = client.mirror(id, { tail: 12 })
  await first.until(turns(3))
  const kept = first.tail({ events: 8, characters: 100_000 })
  expect(kept.events).toHaveLength(8)
  expect(kept.firstSeq).toBe(kept.events[0]?.seq)
  first.close()
  await client.prompt(id, script())
  await client.mirror(id, { tail: 'all' }).until(turns(4))

  const asked: string[] = []
  const listening: typeof fetch = (input, init) => {
    asked.push(String(input))
    return fetch(input, init)
  }
  server.proxy.refuse()
  const later = server.client({ fetch: listening })
  const mirror = later.mirror(id, { page: 5, start: async () => structuredClone(kept) })
  const shown = await mirror.until(({ view }) => view.state.seq > 0)
  expect(shown).toMatchObject({ status: 'loading', atStart: false })
  expect(shown.view.timeline).toEqual(applyToTimeline([], kept.events))

  server.proxy.accept()
  await mirror.until((snapshot) => snapshot.status === 'live')
  const { view, events } = await server.truth(id)
  const read = asked.filter((address) => address.includes('/events?'))
  expect(read.map((address) => new URL(address).searchParams.get('limit'))).toEqual([
    `${view.state.seq - kept.state.seq}`,
  ])
  expect(mirror.getSnapshot().view).toEqual({
    state: view.state,
    timeline: applyToTimeline([], events.slice(kept.firstSeq - 1)),
  })
  while (!mirror.getSnapshot().atStart) {
    const before = mirror.getSnapshot()
    await mirror.loadOlder()
    await mirror.until((snapshot) => snapshot !== before)
  }
  expect(mirror.getSnapshot().view).toEqual(view)
})

test('a stored tail of another log, or no tail, is ignored', async () => {
  await using server = await startRealServer()
  const id = await server.create()
  const client = server.client()
  await client.prompt(id, prompt({ type: 'text', text: 'said' }))
  const first = client.mirror(id)
  await first.until(turns(1))
  const kept = first.tail({ events: 100, characters: 100_000 })
  const starts = [
    async () => ({ ...kept, state: { ...kept.state, epoch: 'another' }, events: kept.events.slice(1) }),
    async () => ({ ...kept, state: { ...kept.state, seq: kept.state.seq + 1 } }),
    async () => ({ ...kept, state: { ...kept.state, id: 'ses_another' } }),
    async () => undefined,
    () => Promise.reject(new Error('no room')),
  ]
  const { view } = await server.truth(id)
  for (const start of starts) {
    const mirror = client.mirror(id, { start })
    expect((await mirror.until((snapshot) => snapshot.status === 'live')).view).toEqual(view)
    mirror.close()
  }
})

test('a stored tail has a limited size, and its events are whole', async () => {
  await using server = await startRealServer()
  const id = await server.create()
  const client = server.client()
  await client.prompt(id, prompt({ type: 'text', text: 'x'.repeat(5_000) }, { type: 'text', text: 'short' }))
  const mirror = client.mirror(id)
  await mirror.until(turns(1))
  const small = mirror.tail({ events: 100, characters: 4_000 })
  expect(JSON.stringify(small.events).length).toBeLessThan(4_000)
  expect(small.events[0]).toMatchObject({ type: 'text.written', text: 'short' })
  expect(mirror.tail({ events: 0, characters: 4_000 })).toMatchObject({
    events: [],
    firstSeq: small.state.seq + 1,
  })
})
