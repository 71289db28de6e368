import { describe, expect, it } from 'vitest'
import type { Block, BlockOf } from './block.ts'
import { inReadingOrder, placeBlocks } from './reading-order.ts'

let seq = 0
const base = (id: string, turnId?: string) => ({ id, seq: ++seq, at: seq, ...(turnId && { turnId }) })
const prompt = (id: string, turnId?: string, more: Partial<BlockOf<'prompt'>> = {}): Block => ({
  ...base(id, turnId),
  type: 'prompt',
  parts: [{ type: 'text', text: id }],
  delivery: 'queue',
  status: 'sent',
  ...more,
})
const text = (id: string, turnId?: string): Block => ({ ...base(id, turnId), type: 'text', text: id })
const end = (turnId: string): Block => ({
  ...base(`end:${turnId}`, turnId),
  type: 'turn-end',
  end: { outcome: 'completed', stopReason: 'end', durationMs: 5 },
})
const order = (...blocks: Block[]) => inReadingOrder(blocks).map(({ id }) => id)

describe('the reading order of a timeline', () => {
  it('is the order of the timeline if nothing was queued', () => {
    const blocks = [text('0'), prompt('p', 'a'), text('between'), text('x', 'a'), end('a'), prompt('q', 'b')]
    expect(inReadingOrder([...blocks, text('y', 'b')])).toEqual([...blocks, expect.anything()])
  })

  it('has each queued prompt above its turn, in whichever order they ran', () => {
    const queued = [prompt('p', 'a'), prompt('B', 'b'), prompt('C', 'c'), text('x', 'a'), end('a')]
    const ran = [text('z', 'c'), end('c'), text('y', 'b'), end('b')]
    expect(order(...queued, ...ran)).toEqual(['p', 'x', 'end:a', 'C', 'z', 'end:c', 'B', 'y', 'end:b'])
  })

  it('has a queued prompt above its turn even after a withdrawn prompt, and below a steered one', () => {
    const blocks = [
      prompt('p', 'a'),
      prompt('A', undefined, { status: 'withdrawn' }),
      prompt('B', 'b'),
      prompt('steered', 'a', { delivery: 'steer' }),
      end('a'),
      text('y', 'b'),
    ]
    expect(order(...blocks)).toEqual(['p', 'A', 'steered', 'end:a', 'B', 'y'])
  })

  it('has a queued prompt above its turn even if the start of the running turn is not known', () => {
    expect(order(prompt('B', 'b'), text('x', 'a'), end('a'), text('y', 'b'))).toEqual([
      'x',
      'end:a',
      'B',
      'y',
    ])
  })

  it('ends with a prompt whose turn has no blocks yet, and then with the waiting prompts', () => {
    const waiting = prompt('C', undefined, { status: 'queued' })
    expect(order(prompt('p', 'a'), waiting, prompt('B', 'b'), end('a'))).toEqual(['p', 'end:a', 'B', 'C'])
  })

  it('can start only at a block below which no earlier block is placed', () => {
    const blocks = [prompt('p', 'a'), prompt('B', 'b'), end('a'), text('y', 'b'), end('b')]
    expect(placeBlocks(blocks).placed.map(({ start }) => start)).toEqual([
      0,
      undefined,
      undefined,
      undefined,
      4,
    ])
    const begun = [end('a'), prompt('B', 'b')]
    expect(placeBlocks(begun).placed.map(({ start }) => start)).toEqual([0, undefined])
    expect(placeBlocks(blocks, 4).placed).toEqual([{ block: blocks[4], start: 4 }])
  })
})
