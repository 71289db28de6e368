import { expect, it } from '../peers.ts'
import { eventsOf, openTurn, receiptOf, requestOf, ruleOf, stateOf, textBlock } from '../store-samples.ts'
import type { TestedStore } from './tested-store.ts'

const worktree = { branch: 'b', base: 'c', path: '/w', source: '/s', since: 0 }

/** The part of the store contract about whole sessions: sessions with work left, and deleted sessions. */
export function sessionCases(tested: TestedStore): void {
  const { create, readAll } = tested

  it('lists the unsettled sessions: those with an open turn, a queue, a connection or an unfinished worktree', async () => {
    const prompt = openTurn.prompt
    await create('idle')
    await create('turn', { turn: openTurn })
    await create('queue', { queue: [prompt] })
    await create('connected', { connected: true })
    await create('worktree', { worktree: { ...worktree, phase: 'removing' } })
    await create('ready', { worktree: { ...worktree, phase: 'ready' } })
    expect((await tested.store.unsettled()).sort()).toEqual(['connected', 'queue', 'turn', 'worktree'])
    await tested.store.append({ sessionId: 'worktree', events: [], state: stateOf('worktree') })
    await tested.store.append({ sessionId: 'turn', events: [], state: stateOf('turn') })
    await tested.store.append({ sessionId: 'idle', events: [], state: stateOf('idle', { connected: true }) })
    expect((await tested.store.unsettled()).sort()).toEqual(['connected', 'idle', 'queue'])
  })

  it('lists the states that wait for a person, the longest waiting first', async () => {
    await create('none')
    await create('second', { requests: [requestOf('q2', 20), requestOf('q9', 90)] })
    await create('first', { requests: [requestOf('q1', 10)] })
    await create('third', { requests: [requestOf('q3', 30)] })
    const waiting = await tested.store.waiting()
    expect(waiting.map(({ id }) => id)).toEqual(['first', 'second', 'third'])
    expect(waiting[0]).toEqual(stateOf('first', { requests: [requestOf('q1', 10)] }))
    await tested.store.append({ sessionId: 'first', events: [], state: stateOf('first') })
    expect((await tested.store.waiting()).map(({ id }) => id)).toEqual(['second', 'third'])
  })

  it('deletes a session with all its rows, and nothing else', async () => {
    for (const id of ['a', 'b']) {
      await create(id, { turn: openTurn, requests: [requestOf('q', 1)] }, 5)
      const rules = [ruleOf(`rule of ${id}`, { scope: 'session', sessionId: id })]
      await tested.store.append({ sessionId: id, events: [], receipt: receiptOf('c', 5), rules })
      await tested.store.checkpoint(id, [textBlock('block', `text of ${id}`)])
    }
    await tested.store.addRule(ruleOf('of all'))
    expect(await tested.store.delete('a')).toBe(true)
    expect(await tested.store.delete('a')).toBe(false)

    expect(await tested.store.load('a')).toBeUndefined()
    expect(await readAll('a')).toEqual([])
    expect(await tested.store.receipt('a', 'c')).toBeUndefined()
    expect(await tested.store.checkpoints('a')).toEqual([])
    expect(await tested.store.unsettled()).toEqual(['b'])
    expect((await tested.store.waiting()).map(({ id }) => id)).toEqual(['b'])
    expect((await tested.store.rules()).map(({ ruleId }) => ruleId)).toEqual(['rule of b', 'of all'])
    expect((await tested.store.list({ limit: 9 })).sessions.map(({ id }) => id)).toEqual(['b'])
    expect(await readAll('b')).toEqual(eventsOf('b', 1, 5))
    expect(await tested.store.checkpoints('b')).toEqual([textBlock('block', 'text of b')])
  })

  it('lets a deleted id be created again', async () => {
    await create('a', { title: 'old' }, 5)
    await tested.store.delete('a')
    await create('a', { title: 'new' }, 2)
    expect(await tested.store.load('a')).toMatchObject({ head: 2, state: { title: 'new' } })
    expect(await readAll('a')).toEqual(eventsOf('a', 1, 2))
    expect(await tested.store.checkpoints('a')).toEqual([])
  })
}
