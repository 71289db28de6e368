import { expect, it } from '../peers.ts'
import {
  callBlock,
  eventsOf,
  openTurn,
  receiptOf,
  requestOf,
  ruleOf,
  stateOf,
  textBlock,
} from '../store-samples.ts'
import type { TestedStore } from './tested-store.ts'

/** The part of the store contract about values. The store must copy the values that it is given and that it returns. */
export function copyCases(tested: TestedStore): void {
  const { readAll } = tested

  it('shares no objects with its callers: neither arguments nor results', async () => {
    const state = stateOf('a', { title: 'as given', turn: openTurn, queue: [{ ...openTurn.prompt }] })
    const rule = ruleOf('r')
    const receipt = receiptOf('c', 1)
    const block = textBlock('b', 'text')
    const trusted = { folder: '/w', trustedAt: 1 }
    await tested.store.trustFolder(trusted)
    await tested.store.create({
      sessionId: 'a',
      epoch: 'e',
      state,
      events: eventsOf('a', 1, 1),
      rules: [rule],
      receipt,
    })
    await tested.store.checkpoint('a', [block])
    const given = async () => ({
      record: await tested.store.load('a'),
      events: await readAll('a'),
      rules: await tested.store.rules(),
      receipt: await tested.store.receipt('a', 'c'),
      blocks: await tested.store.checkpoints('a'),
      trusted: await tested.store.trustedFolders(),
      page: await tested.store.list({ limit: 1 }),
    })
    const before = await given()
    const reference = structuredClone(before)

    Object.assign(state, { title: 'changed' })
    state.queue.length = 0
    Object.assign(rule, { tool: 'changed' })
    Object.assign(receipt.receipt, { seq: 99 })
    Object.assign(block, { text: 'changed' })
    Object.assign(trusted, { folder: '/' })
    expect(await given()).toEqual(reference)

    const spoilt = await given()
    spoilt.record!.state.queue.length = 0
    spoilt.events.length = 0
    Object.assign(spoilt.rules[0]!, { tool: 'changed' })
    Object.assign(spoilt.receipt!.receipt, { seq: 99 })
    Object.assign(spoilt.blocks[0]!, { text: 'changed' })
    Object.assign(spoilt.trusted[0]!, { folder: '/' })
    Object.assign(spoilt.page.sessions[0]!, { title: 'changed' })
    expect(await given()).toEqual(reference)

    const next = stateOf('a', { title: 'later' })
    await tested.store.append({ sessionId: 'a', events: eventsOf('a', 2, 1), state: next })
    expect(before).toEqual(reference)
  })
}

/** The part of the store contract about a store that is closed and opened again. */
export function reopenCases(tested: TestedStore): void {
  const { create, readAll } = tested

  it('keeps everything when it is reopened, or states why it cannot be reopened', async () => {
    await create('a', { turn: openTurn, requests: [requestOf('q', 1)], title: 'kept' }, 3)
    await tested.store.append({
      sessionId: 'a',
      events: eventsOf('a', 4, 1),
      receipt: receiptOf('c', 4),
      rules: [ruleOf('r')],
    })
    await tested.store.checkpoint('a', [textBlock('one', 'Hel'), callBlock('two', 'in', '')])
    await tested.store.checkpoint('a', [textBlock('one', 'Hello')])
    await tested.store.trustFolder({ folder: '/w', trustedAt: 1 })
    await tested.store.setEnvironment({ scope: 'folder', place: '/w', variables: { A: '1' } })
    const before = await tested.store.load('a')

    if (!(await tested.reopen())) {
      expect(tested.notDurable, 'without reopen, notDurable must say why').toBeTruthy()
      return
    }
    expect(await tested.store.load('a')).toEqual(before)
    expect(await readAll('a')).toEqual(eventsOf('a', 1, 4))
    expect(await tested.store.receipt('a', 'c')).toEqual(receiptOf('c', 4))
    expect(await tested.store.rules()).toEqual([ruleOf('r')])
    expect(await tested.store.trustedFolders()).toEqual([{ folder: '/w', trustedAt: 1 }])
    expect(await tested.store.environments()).toEqual([
      { scope: 'folder', place: '/w', variables: { A: '1' } },
    ])
    expect(await tested.store.unsettled()).toEqual(['a'])
    expect(await tested.store.waiting()).toHaveLength(1)
    expect(await tested.store.checkpoints('a')).toEqual([
      textBlock('one', 'Hello'),
      callBlock('two', 'in', ''),
    ])

    await tested.store.checkpoint('a', [textBlock('one', 'Hello, world'), textBlock('three', 'x')])
    expect(await tested.store.checkpoints('a')).toEqual([
      textBlock('one', 'Hello, world'),
      callBlock('two', 'in', ''),
      textBlock('three', 'x'),
    ])
    await tested.store.append({
      sessionId: 'a',
      events: eventsOf('a', 5, 1),
      closedBlocks: ['one', 'two', 'three'],
    })
    expect(await tested.store.checkpoints('a')).toEqual([])
    expect(await readAll('a')).toEqual(eventsOf('a', 1, 5))
  })
}
