import type { NewTarget } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { permission } from '../core/host-under-test.ts'
import { type AlertsUnderTest, alertsUnderTest, owner, waitMs } from './alerts-under-test.ts'
import { Browser, Receiver } from './receivers-under-test.ts'
import { nameOfPage } from './visible-pages.ts'

const minuteMs = 60_000
const page = nameOfPage({ kind: 'device', id: owner.id }, 'page')

async function pushWorld(more: { detail?: 'none' | 'title' | 'full' } = {}) {
  const browser = new Browser()
  const service = await Receiver.push([browser])
  const tested = await alertsUnderTest({ pushServices: [service.origin] })
  const endpoint = service.origin + browser.path
  const target = await tested.add({ kind: 'push', endpoint, keys: browser.keys, ...more })
  return {
    ...{ tested, service, target, endpoint },
    async [Symbol.asyncDispose]() {
      await tested[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
    },
  }
}

/** A session with an open permission request whose alert is due. */
async function asking({ world, derive }: AlertsUnderTest, mode = 'ask') {
  const session = await world.create({ title: 'Tidy up', mode: mode as 'ask' })
  await session.submit(permission('a.txt', { title: 'Write a.txt' }))
  await session.when(({ requests }) => requests.length > 0)
  await derive(session.id)
  world.time.advance(waitMs)
  return session
}

async function ended({ world, derive }: AlertsUnderTest) {
  const session = await world.create({ title: 'Tidy up' })
  await session.play({ type: 'text', text: 'x' })
  await derive(session.id)
  world.time.advance(waitMs)
  return session
}

describe('a push', () => {
  it('is encrypted for the browser, signed, and names the session and the tool', async () => {
    await using world = await pushWorld()
    const session = await asking(world.tested)
    await world.tested.send()
    expect(world.service.problems).toEqual([])
    const [push] = world.service.received
    expect(push?.json).toEqual({
      web_push: 8030,
      notification: {
        title: 'Tidy up needs your approval',
        body: 'Write',
        navigate: `https://parley.example/sub/sessions/${session.id}`,
        tag: push?.headers.topic,
        timestamp: expect.any(Number),
      },
    })
    expect(push?.headers.urgency).toBe('high')
    expect(Number(push?.headers.ttl)).toBeGreaterThan(86_000)
    expect((await world.tested.targets.list(owner)).targets[0]?.last).toMatchObject({ ok: true, status: 201 })
  })

  it.each([
    ['none', 'A session needs your approval', undefined],
    ['title', 'Tidy up needs your approval', 'Write'],
    ['full', 'Tidy up needs your approval', 'Write a.txt'],
  ] as const)('with the detail %s contains only the permitted parts', async (detail, title, body) => {
    await using world = await pushWorld({ detail })
    await asking(world.tested)
    await world.tested.send()
    expect(world.service.received[0]?.json.notification).toMatchObject({ title, ...(body && { body }) })
    expect(Object.keys(world.service.received[0]?.json.notification ?? {}).includes('body')).toBe(
      body !== undefined,
    )
  })

  it('is cut to the length that push services accept', async () => {
    await using world = await pushWorld({ detail: 'full' })
    const session = await world.tested.world.create()
    await session.submit(permission('a', { title: '€'.repeat(5000) }))
    await session.when(({ requests }) => requests.length > 0)
    await world.tested.derive(session.id)
    world.tested.world.time.advance(waitMs)
    await world.tested.send()
    expect(world.service.problems).toEqual([])
    expect(world.service.received).toHaveLength(1)
  })

  it('is replaced by a silent one with the same tag when the request was answered elsewhere', async () => {
    await using world = await pushWorld()
    const session = await asking(world.tested)
    await world.tested.send()
    await session.decide('allow')
    await session.idle()
    await world.tested.derive(session.id)
    await world.tested.send()
    const [first, second] = world.service.received
    expect(second?.headers.topic).toBe(first?.headers.topic)
    expect(second?.json.notification).toMatchObject({
      title: 'Tidy up was answered by person',
      tag: first?.headers.topic,
      silent: true,
    })
  })

  it('is not sent if the request was answered in time, and is then not replaced either', async () => {
    await using world = await pushWorld()
    const { tested } = world
    const session = await tested.world.create()
    await session.submit(permission('a'))
    await session.when(({ requests }) => requests.length > 0)
    await tested.derive(session.id)
    await session.decide('allow')
    await session.idle()
    await tested.derive(session.id)
    await tested.send()
    tested.world.time.advance(waitMs)
    await tested.send()
    expect(world.service.received.map(({ json }) => (json.notification as { title: string }).title)).toEqual([
      expect.stringMatching(/finished$/),
    ])
  })

  it('about a request waits while a page of the person is visible', async () => {
    await using world = await pushWorld()
    const { tested } = world
    const now = () => tested.world.time.now()
    await tested.store.setPresence(page, owner.person.id, now() + 2.5 * waitMs)
    await tested.store.setPresence('other', 'per_other', now() + 100 * waitMs)
    await asking(tested)
    await tested.send()
    tested.world.time.advance(waitMs)
    await tested.send()
    expect(world.service.received).toHaveLength(0)
    tested.world.time.advance(waitMs)
    await tested.send()
    expect(world.service.received).toHaveLength(1)
  })

  it.each([
    ['may not decide', { scopes: new Set(['read'] as const) }],
    ['may not see the session', { limits: { sessions: ['ses_other'] } }],
    ['was signed out', undefined],
  ])('about a request does not wait for a visible page whose browser %s', async (_, rights) => {
    await using world = await pushWorld()
    const { tested } = world
    if (rights) tested.principals.set('dev_tablet', { ...owner, ...rights, id: 'dev_tablet' })
    const weaker = nameOfPage({ kind: 'device', id: 'dev_tablet' }, 'page')
    await tested.store.setPresence(weaker, owner.person.id, tested.world.time.now() + 10 * waitMs)
    await asking(tested)
    tested.world.time.advance(waitMs)
    await tested.send()
    expect(world.service.received).toHaveLength(1)
  })

  it('about the end of a turn is left out while a page is visible in a browser that may only read', async () => {
    await using world = await pushWorld()
    const { tested } = world
    const id = 'dev_tablet'
    tested.principals.set(id, { ...owner, scopes: new Set(['read'] as const), id })
    const reading = nameOfPage({ kind: 'device', id }, 'page')
    await tested.store.setPresence(reading, owner.person.id, tested.world.time.now() + 2 * waitMs)
    await ended(tested)
    await tested.send()
    expect(world.service.received).toHaveLength(0)
  })

  it('about the end of a turn is left out while a page of the person is visible', async () => {
    await using world = await pushWorld()
    const { tested } = world
    await tested.store.setPresence(page, owner.person.id, tested.world.time.now() + 2 * waitMs)
    await ended(tested)
    await tested.send()
    tested.world.time.advance(10 * waitMs)
    await tested.send()
    expect(world.service.received).toHaveLength(0)
  })

  it.each([404, 410])('answered with %i removes the subscription', async (status) => {
    await using world = await pushWorld()
    world.service.replies = [{ status }]
    await ended(world.tested)
    await world.tested.send()
    expect((await world.tested.targets.list(owner)).targets).toEqual([])
    expect(await world.tested.store.nextDelivery()).toBeUndefined()
  })

  it('answered with 413 is not sent again', async () => {
    await using world = await pushWorld()
    world.service.replies = [{ status: 413 }]
    await ended(world.tested)
    await world.tested.send()
    expect(await world.tested.store.nextDelivery()).toBeUndefined()
    expect((await world.tested.targets.list(owner)).targets[0]?.last).toMatchObject({
      ok: false,
      status: 413,
    })
  })

  it('answered with 429 waits as long as the service asks, as do all other pushes to this browser', async () => {
    await using world = await pushWorld()
    const { tested, service } = world
    service.replies = [{ status: 429, headers: { 'retry-after': '600' } }]
    await ended(tested)
    await tested.send()
    await ended(tested)
    await tested.send()
    expect(service.received).toHaveLength(1)
    tested.world.time.advance(10 * minuteMs)
    await tested.send()
    expect(service.received).toHaveLength(3)
  })

  it('is given up after a day', async () => {
    await using world = await pushWorld()
    world.service.replies = [{ status: 500 }]
    await ended(world.tested)
    await world.tested.send()
    world.tested.world.time.advance(24 * 60 * minuteMs)
    await world.tested.send()
    expect(world.service.received).toHaveLength(1)
    expect(await world.tested.store.nextDelivery()).toBeUndefined()
  })
})

describe('a webhook', () => {
  async function hookWorld(given: Partial<NewTarget> = {}) {
    let secret = ''
    const receiver = await Receiver.webhook(() => secret)
    const tested = await alertsUnderTest()
    const url = `${receiver.origin}/hook`
    const target = await tested.add({ kind: 'webhook', url, ...given } as NewTarget)
    secret = target.secret ?? ''
    // The library compares the time in the signature with its own clock, not with the test clock.
    return {
      ...{ tested, receiver, target },
      async [Symbol.asyncDispose]() {
        await tested[Symbol.asyncDispose]()
        await receiver[Symbol.asyncDispose]()
      },
    }
  }

  it('is signed as the library of Standard Webhooks expects, and describes the event', async () => {
    await using world = await hookWorld()
    const session = await asking(world.tested)
    await world.tested.send()
    expect(world.receiver.problems).toEqual([])
    const [sent] = world.receiver.received
    const { requests } = await session.state()
    expect(sent?.headers['webhook-id']).toMatch(new RegExp(`^${session.id}:\\d+$`))
    expect(sent?.json).toEqual({
      type: 'request.waiting',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        id: sent?.headers['webhook-id'],
        session: { id: session.id, title: 'Tidy up', agent: 'scripted' },
        requestId: requests[0]?.requestId,
        turnId: requests[0]?.turnId,
        title: 'Tidy up needs your approval',
        link: `https://parley.example/sub/sessions/${session.id}`,
        ledger: { n: 7, hash: 'hash-of-7' },
      },
    })
  })

  it('gets the request before its answer, in messages below 20 KB', async () => {
    await using world = await hookWorld({ detail: 'full' })
    const { tested } = world
    const session = await tested.world.create({ title: 'x'.repeat(200) })
    await session.submit(permission('a', { title: '\u0007'.repeat(100_000) }))
    await session.when(({ requests }) => requests.length > 0)
    await session.decide('deny')
    await session.idle()
    await tested.derive(session.id)
    await tested.send()
    const { received } = world.receiver
    expect(received.map(({ json }) => json.type)).toEqual([
      'request.waiting',
      'turn.ended',
      'request.resolved',
    ])
    expect(received[2]?.json.data).toMatchObject({ outcome: 'denied' })
    for (const { text } of received) expect(text.length).toBeLessThan(20_000)
  })

  it('is tried again at the intervals of the specification, with the same id, and then given up', async () => {
    await using world = await hookWorld()
    const { tested, receiver } = world
    receiver.replies = Array.from({ length: 20 }, () => ({ status: 500 }))
    await ended(tested)
    // The library of the receiver rejects the signatures, because the clock is a test clock. Only attempts are counted.
    const waits: number[] = []
    for (let before = tested.world.time.now(); ; ) {
      await tested.send()
      const next = await tested.store.nextDelivery()
      if (next === undefined) break
      waits.push((next - before) / 1000)
      tested.world.time.advance(next - tested.world.time.now())
      before = next
    }
    expect(waits).toEqual([5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400])
  })

  it('answered with a redirect fails, and with 410 is disabled', async () => {
    await using world = await hookWorld()
    const { tested, receiver, target } = world
    receiver.replies = [
      { status: 307, headers: { location: `${receiver.origin}/elsewhere` } },
      { status: 410 },
    ]
    await ended(tested)
    await tested.send()
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook'])
    tested.world.time.advance(5000)
    await tested.send()
    const [shown] = (await tested.targets.list(owner)).targets
    expect(shown).toMatchObject({ targetId: target.targetId, disabledAt: expect.any(Number) })
    expect(shown?.last).toMatchObject({ ok: false, status: 410 })
  })

  it('without an answer is tried again', async () => {
    await using world = await hookWorld()
    world.receiver.replies = [{ status: 0, hang: true }]
    await ended(world.tested)
    await world.tested.send()
    expect((await world.tested.targets.list(owner)).targets[0]?.last?.error).toMatch(/no answer within/)
    world.tested.world.time.advance(5000)
    await world.tested.send()
    expect(world.receiver.received).toHaveLength(2)
  })
})

it('an ntfy topic gets a message with a link, and the token of its server', async () => {
  await using receiver = await Receiver.open()
  await using tested = await alertsUnderTest()
  await tested.add({ kind: 'ntfy', url: `${receiver.origin}/base/my%20topic`, token: 'tk_1' })
  const session = await asking(tested)
  await tested.send()
  const [sent] = receiver.received
  expect(sent?.path).toBe('/base/')
  expect(sent?.headers.authorization).toBe('Bearer tk_1')
  expect(sent?.json).toEqual({
    topic: 'my topic',
    title: 'Tidy up needs your approval',
    message: 'Write',
    click: `https://parley.example/sub/sessions/${session.id}`,
    priority: 4,
  })
})

it('a target of a device that was revoked after the alert gets nothing', async () => {
  await using receiver = await Receiver.open()
  await using tested = await alertsUnderTest()
  await tested.add({ kind: 'webhook', url: receiver.origin })
  await ended(tested)
  tested.principals.clear()
  await tested.send()
  expect(receiver.received).toEqual([])
  expect(await tested.store.nextDelivery()).toBeUndefined()
})
