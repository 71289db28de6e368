import type { OpenBlock } from '@parley/protocol'
import { beforeEach, expect, it } from '../peers.ts'
import { callBlock, eventsOf, openTurn, stateOf, textBlock } from '../store-samples.ts'
import type { TestedStore } from './tested-store.ts'

/** The part of the store contract about blocks that are still being written. */
export function checkpointCases(tested: TestedStore): void {
  beforeEach(() => tested.create('a', { turn: openTurn }))

  it('replace those of the given blocks and keep the others, in the order in which the blocks were first saved', async () => {
    await tested.store.checkpoint('a', [textBlock('one', 'Hel'), callBlock('two', '{"pa', '')])
    await tested.store.checkpoint('a', [textBlock('one', 'Hello')])
    await tested.store.checkpoint('a', [callBlock('two', '{"path":1}', 'out'), textBlock('three', '')])
    expect(await tested.store.checkpoints('a')).toEqual([
      textBlock('one', 'Hello'),
      callBlock('two', '{"path":1}', 'out'),
      textBlock('three', ''),
    ])
  })

  it.each<[string, OpenBlock[]]>([
    ['shorter', [textBlock('b', 'a long text'), textBlock('b', 'a lon')]],
    ['empty', [textBlock('b', 'a long text'), textBlock('b', '')]],
    ['different at the same length', [textBlock('b', 'abc'), textBlock('b', 'abd')]],
    ['different and then longer', [textBlock('b', 'abc'), textBlock('b', 'x'), textBlock('b', 'xyz')]],
    ['the same', [textBlock('b', 'abc'), textBlock('b', 'abc')]],
    ['of another type', [textBlock('b', 'abc'), callBlock('b', 'in', 'out'), textBlock('b', 'abc')]],
    ['marked with a gap', [textBlock('b', 'abc'), { ...textBlock('b', 'abc'), gap: true }]],
    ['cut within a character', [textBlock('b', 'go \u{1f680}'.slice(0, 4)), textBlock('b', 'go \u{1f680}!')]],
    ['cut within a character for now', [textBlock('b', 'go'), textBlock('b', 'go \u{1f680}'.slice(0, 4))]],
  ])('can be replaced by a block %s', async (_, versions) => {
    for (const block of versions) await tested.store.checkpoint('a', [block])
    expect(await tested.store.checkpoints('a')).toEqual([versions.at(-1)])
  })

  it('are removed with the batch that closes their block; the others stay', async () => {
    await tested.store.checkpoint('a', [
      textBlock('one', '1'),
      textBlock('two', '2'),
      callBlock('three', 'i', 'o'),
    ])
    await tested.store.append({
      sessionId: 'a',
      events: eventsOf('a', 2, 1),
      closedBlocks: ['one', 'three', 'unknown'],
    })
    expect(await tested.store.checkpoints('a')).toEqual([textBlock('two', '2')])
    await tested.store.checkpoint('a', [textBlock('one', 'again')])
    expect(await tested.store.checkpoints('a')).toEqual([textBlock('two', '2'), textBlock('one', 'again')])
  })

  it('are all removed by a state without an open turn', async () => {
    await tested.store.checkpoint('a', [textBlock('one', '1'), textBlock('two', '2')])
    await tested.store.append({
      sessionId: 'a',
      events: eventsOf('a', 2, 1),
      state: stateOf('a', { turn: openTurn }),
    })
    expect(await tested.store.checkpoints('a')).toHaveLength(2)
    await tested.store.append({ sessionId: 'a', events: eventsOf('a', 3, 1), state: stateOf('a') })
    expect(await tested.store.checkpoints('a')).toEqual([])
  })

  it('belong to their session', async () => {
    await tested.create('b', { turn: openTurn })
    await tested.store.checkpoint('a', [textBlock('same', 'of a')])
    await tested.store.checkpoint('b', [textBlock('same', 'of b')])
    await tested.store.append({ sessionId: 'b', events: [], closedBlocks: ['same'] })
    expect(await tested.store.checkpoints('a')).toEqual([textBlock('same', 'of a')])
    expect(await tested.store.checkpoints('b')).toEqual([])
  })
}
