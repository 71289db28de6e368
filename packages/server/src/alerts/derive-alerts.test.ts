import { expect, it } from 'vitest'
import { colour, permission } from '../core/host-under-test.ts'
import { alertsUnderTest, owner, waitMs } from './alerts-under-test.ts'
import { Browser } from './receivers-under-test.ts'

const hook = { kind: 'webhook', url: 'http://127.0.0.1:9/' } as const
const push = { kind: 'push', endpoint: 'https://push.example.org/x', keys: new Browser().keys } as const
const ntfy = { kind: 'ntfy', url: 'http://127.0.0.1:9/topic' } as const

type World = Awaited<ReturnType<typeof alertsUnderTest>>

/** The kinds of the alerts that wait to be sent, in order. */
async function kinds({ claim, store, world }: World): Promise<string[]> {
  world.time.advance(waitMs)
  const claimed: string[] = []
  for (let due = await claim(); due.length > 0; due = await claim())
    for (const { target, alert, body } of due) {
      claimed.push((JSON.parse(body) as { kind: string }).kind)
      await store.settleDelivery(target, alert, { done: true, sent: true, at: 0 })
    }
  return claimed
}

it('a request, its answer and the end of the turn each cause one alert', async () => {
  await using tested = await alertsUnderTest()
  const { world, derive } = tested
  await tested.add(hook)
  const session = await world.create()
  await session.submit(permission('a'), colour)
  await session.when(({ requests }) => requests.length > 0)
  await derive(session.id)
  await derive(session.id)
  expect(await kinds(tested)).toEqual(['request.waiting'])
  await session.decide('allow')
  const { requests } = await session.when((state) => state.requests[0]?.type === 'question')
  await derive(session.id)
  expect(await kinds(tested)).toEqual(['request.resolved', 'request.waiting'])
  await session.command({
    type: 'question.answer',
    requestId: requests[0]?.requestId ?? '',
    answers: { colour: 'red' },
  })
  await session.idle()
  await derive(session.id)
  expect(await kinds(tested)).toEqual(['request.resolved', 'turn.ended'])
  expect(await derive(session.id)).toBe(true)
  expect(await kinds(tested)).toEqual([])
})

it('a failed turn causes an alert with its error', async () => {
  await using tested = await alertsUnderTest()
  await tested.add(hook)
  const session = await tested.world.create()
  await session.play({
    type: 'end',
    outcome: 'failed',
    error: { code: 'agent_failed', message: 'No model.' },
  })
  await tested.derive(session.id)
  const [claimed] = await tested.claim()
  expect(JSON.parse(claimed?.body ?? '{}')).toMatchObject({ kind: 'turn.failed', text: 'No model.' })
})

it('the alert about a request is due after the wait for a person, and at once for a webhook', async () => {
  await using tested = await alertsUnderTest()
  await tested.add(hook)
  await tested.add(ntfy)
  const session = await tested.world.create()
  await session.submit(permission('a'))
  await session.when(({ requests }) => requests.length > 0)
  await tested.derive(session.id)
  expect(await tested.claim()).toHaveLength(1)
  tested.world.time.advance(waitMs - 1)
  expect(await tested.claim()).toHaveLength(0)
  tested.world.time.advance(1)
  expect(await tested.claim()).toHaveLength(1)
})

it('a request that a rule or the mode decides causes no alert', async () => {
  await using tested = await alertsUnderTest()
  await tested.add(hook)
  const session = await tested.world.create({ mode: 'bypass' })
  await session.play(permission('a'))
  await tested.derive(session.id)
  expect(await kinds(tested)).toEqual(['turn.ended'])
})

it('a cancelled turn causes an alert for webhooks, and none for people', async () => {
  await using tested = await alertsUnderTest()
  await tested.add(hook)
  await tested.add(ntfy)
  const session = await tested.world.create()
  await session.submit({ type: 'hang' })
  await session.when(({ turn }) => turn?.delivered === true)
  await session.command({ type: 'turn.cancel' })
  await session.idle()
  await tested.derive(session.id)
  expect(await kinds(tested)).toEqual(['turn.ended'])
})

it('events from before a target was added cause no alerts for it', async () => {
  await using tested = await alertsUnderTest()
  const { world } = tested
  const session = await world.create()
  await session.play({ type: 'text', text: 'one' })
  world.time.advance(1000)
  await tested.add(hook)
  await tested.derive(session.id)
  expect(await kinds(tested)).toEqual([])
  await session.play({ type: 'text', text: 'two' })
  await tested.add({ ...hook, name: 'later' })
  await tested.derive(session.id)
  expect(await kinds(tested)).toEqual(['turn.ended'])
})

it('a log that was never searched is searched, even if it has several pages', async () => {
  await using tested = await alertsUnderTest()
  await tested.add(hook)
  const session = await tested.world.create()
  await session.play({ type: 'text', text: 'one' })
  await session.play(...Array.from({ length: 700 }, () => ({ type: 'text', text: 'x', pieces: 0 }) as const))
  await tested.derive(session.id)
  expect(await kinds(tested)).toEqual(['turn.ended', 'turn.ended'])
})

it('the copied events of a fork cause no alerts', async () => {
  await using tested = await alertsUnderTest()
  await tested.add(hook)
  const { world } = tested
  const session = await world.create()
  await session.play({ type: 'text', text: 'one' })
  await session.play({ type: 'text', text: 'two' })
  const { sessionId: into = '' } = await session.command({ type: 'session.fork' })
  await world.host.command(into, {
    commandId: 'fork-1',
    type: 'prompt.submit',
    text: '[{"type":"text","text":"x"}]',
  })
  while ((await world.host.state(into)).turns < 3) await world.host.state(into)
  while ((await world.host.state(into)).turn) await world.host.state(into)
  await tested.derive(into)
  const claimed = await tested.claim()
  expect(claimed).toHaveLength(1)
  expect(JSON.parse(claimed[0]?.body ?? '')).toMatchObject({ kind: 'turn.ended', outcome: 'completed' })
})

it('an import causes no alerts about its history', async () => {
  const history = [
    { type: 'prompt' as const, at: Date.now() + 60_000, parts: [{ type: 'text' as const, text: 'hello' }] },
    {
      type: 'output' as const,
      at: Date.now() + 60_001,
      output: { type: 'text.written' as const, blockId: 'b', text: 'hi' },
    },
    { type: 'prompt' as const, at: Date.now() + 60_002, parts: [{ type: 'text' as const, text: 'bye' }] },
  ]
  await using tested = await alertsUnderTest({
    adapter: (scripted) => ({
      ...scripted,
      conversations: {
        list: async () => [{ agentSessionId: 'known', cwd: tested.world.cwd, title: 'Old', updatedAt: 1 }],
        async *read() {
          yield* history
        },
      },
    }),
  })
  await tested.add(hook)
  const { id } = await tested.world.host.importConversation({ agent: 'scripted', agentSessionId: 'known' })
  await tested.derive(id)
  expect(await kinds(tested)).toEqual([])
})

it('a target gets alerts only about sessions that its device may read at that time', async () => {
  await using tested = await alertsUnderTest()
  const { world, principals } = tested
  const [mine, other] = [await world.create(), await world.create()]
  const limited = {
    ...owner,
    id: 'dev_2',
    scopes: new Set(['read'] as const),
    limits: { sessions: [mine.id] },
  }
  await tested.add(push, limited)
  for (const session of [mine, other]) {
    await session.play({ type: 'text', text: 'x' })
    await tested.derive(session.id)
  }
  world.time.advance(waitMs)
  const claimed = await tested.claim()
  expect(claimed.map(({ alert }) => alert.split(':')[0])).toEqual([mine.id])
  const losses = [
    ['revoked', undefined],
    ['without the scope read', { ...limited, scopes: new Set(['prompt'] as const) }],
  ] as const
  for (const [, principal] of losses) {
    if (principal) principals.set('dev_2', principal)
    else principals.delete('dev_2')
    await mine.play({ type: 'text', text: 'x' })
    await tested.derive(mine.id)
    world.time.advance(waitMs)
    expect(await tested.claim()).toEqual([])
  }
})

it('a webhook whose person is no longer an administrator gets no alerts', async () => {
  await using tested = await alertsUnderTest()
  await tested.add(hook)
  tested.principals.set(owner.id, { ...owner, scopes: new Set(['read', 'prompt', 'decide'] as const) })
  const session = await tested.world.create()
  await session.play({ type: 'text', text: 'x' })
  await tested.derive(session.id)
  expect(await tested.claim()).toEqual([])
})

it('only the kinds that a target asks for are sent to it, and a disabled target gets none', async () => {
  await using tested = await alertsUnderTest()
  await tested.add({ ...hook, alerts: ['turn.failed'] })
  const disabled = await tested.add({ ...hook, name: 'off' })
  await tested.targets.patch(owner, disabled.targetId, { disabled: true })
  const session = await tested.world.create()
  await session.play({ type: 'text', text: 'x' })
  await session.play({ type: 'end', outcome: 'failed' })
  await tested.derive(session.id)
  expect(await kinds(tested)).toEqual(['turn.failed'])
})

it('if two processes search the same log, only one adds its alerts', async () => {
  await using tested = await alertsUnderTest()
  await tested.add(hook)
  const session = await tested.world.create()
  await session.play({ type: 'text', text: 'x' })
  const results = await Promise.all([tested.derive(session.id), tested.derive(session.id)])
  expect(results.sort()).toEqual([false, true])
  expect(await kinds(tested)).toEqual(['turn.ended'])
})

it('a damaged event is skipped', async () => {
  await using tested = await alertsUnderTest()
  await tested.add(hook)
  const session = await tested.world.create()
  await session.play({ type: 'text', text: 'x' })
  const { seq } = await session.state()
  const json = `{"seq":${seq + 1},"at":${tested.world.time.now()},"type":"turn.ended","x`
  await tested.store.append({ sessionId: session.id, events: [{ seq: seq + 1, json }] })
  await tested.derive(session.id)
  expect(await kinds(tested)).toEqual(['turn.ended'])
})
