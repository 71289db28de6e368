import { LostError } from './figure.ts'

type Frame = {
  type: string
  delta?: { type: string; blockId?: string; offset?: number; text?: string }
  event?: { seq: number; type: string; blockId?: string; text?: string }
}

export type Checked = { readonly deltas: number; readonly bytes: number }

/**
 * Checks the frames of a turn that the first reader received: every delta starts where the previous one
 * ended, every block is the sum of its deltas, the seqs have no gap, and only a seal follows the turn's end.
 */
export function checkTurn(payloads: Iterable<Buffer>): Checked & { said: Buffer[] } {
  const texts = new Map<string, { pieces: string[]; length: number }>()
  const said: Buffer[] = []
  let deltas = 0
  let bytes = 0
  let seq: number | undefined
  let over = false
  for (const payload of payloads) {
    bytes += payload.length
    const { type, delta, event } = JSON.parse(payload.toString()) as Frame
    if (type === 'evicted' || type === 'error') throw new LostError(`The reader got ${payload}.`)
    if (!isSaid(payload)) continue
    if (over && ((event && event.type !== 'log.sealed') || delta?.blockId))
      throw new LostError(`The reader got ${payload} after the end of the turn.`)
    if (over) continue
    said.push(payload)
    if (delta?.blockId !== undefined) {
      const block = texts.get(delta.blockId) ?? { pieces: [], length: 0 }
      texts.set(delta.blockId, block)
      if (delta.offset !== block.length) {
        throw new LostError(
          `A delta of ${delta.blockId} is at ${delta.offset}, the block ends at ${block.length}.`,
        )
      }
      block.pieces.push(delta.text!)
      block.length += delta.text!.length
      deltas++
    }
    if (!event) continue
    if (seq !== undefined && event.seq !== seq + 1)
      throw new LostError(`Event ${event.seq} followed event ${seq}.`)
    seq = event.seq
    if (event.type === 'text.written' && texts.get(event.blockId!)?.pieces.join('') !== event.text) {
      throw new LostError(`The deltas of ${event.blockId} do not add up to the block.`)
    }
    over = event.type === 'turn.ended'
  }
  if (!over) throw new LostError('The turn never ended.')
  return { deltas, bytes, said }
}

/**
 * Checks that another reader got the same deltas and events as the first, byte for byte and in the same
 * order.
 */
export function checkSame(said: readonly Buffer[], payloads: Iterable<Buffer>, reader: number): void {
  let index = 0
  for (const payload of payloads) {
    if (!isSaid(payload)) continue
    if (index === said.length) return
    if (!said[index]!.equals(payload))
      throw new LostError(`Reader ${reader} got ${payload} at index ${index}.`)
    index++
  }
  if (index < said.length) throw new LostError(`Reader ${reader} got ${index} of ${said.length} frames.`)
}

/** True for deltas and events; other frames may differ from reader to reader. */
function isSaid(payload: Buffer): boolean {
  const begin = payload.toString('latin1', 9, 14)
  return begin === 'delta' || begin === 'event'
}
