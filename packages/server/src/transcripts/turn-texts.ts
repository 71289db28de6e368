import type { Delta, DeltaType, EventOf } from '@parley/protocol'
import type { UiChunk } from './ui-chunk.ts'

type Kind = 'text' | 'reasoning'
type Open = { readonly kind: Kind; sent: number; open: boolean }
type Streamed = Extract<Delta, { type: Extract<DeltaType, 'text.streamed' | 'thinking.streamed'> }>

/** Text and thinking of the main agent as parts of a message. A part grows while its block is being written. */
export class TurnTexts {
  readonly #emit: (chunk: UiChunk) => void
  readonly #begin: () => void
  readonly #blocks = new Map<string, Open>()
  readonly #before: Readonly<Record<string, number>>
  #writing = 0

  /** `before` gives, by block id, the length of the text that the reader has from an earlier part of this response. */
  constructor(
    emit: (chunk: UiChunk) => void,
    begin: () => void,
    before: Readonly<Record<string, number>> = {},
  ) {
    this.#emit = emit
    this.#begin = begin
    this.#before = before
  }

  get writing(): boolean {
    return this.#writing > 0
  }

  streamed({ type, blockId, offset, text }: Streamed): void {
    const block = this.#block(blockId, type === 'text.streamed' ? 'text' : 'reasoning')
    // A piece after a gap is ignored. The whole block contains the missing text.
    if (offset <= block.sent) this.#say(blockId, block, text.slice(block.sent - offset))
  }

  written({ type, blockId, text }: EventOf<'text.written'> | EventOf<'thinking.written'>): void {
    const block = this.#block(blockId, type === 'text.written' ? 'text' : 'reasoning')
    this.#say(blockId, block, text.slice(block.sent))
    this.#end(blockId, block)
    this.#blocks.delete(blockId)
  }

  retracted(blockId: string): void {
    const block = this.#blocks.get(blockId)
    if (block) this.#end(blockId, block)
    this.#blocks.delete(blockId)
  }

  /** Ends every open part. Later text of its block becomes another part. */
  close(): void {
    for (const [blockId, block] of this.#blocks) this.#end(blockId, block)
  }

  /** The length of the sent text of each block that is still being written. */
  unfinished(): Record<string, number> | undefined {
    const entries = [...this.#blocks].filter(([, { sent }]) => sent > 0)
    return entries.length === 0 ? undefined : Object.fromEntries(entries.map(([id, { sent }]) => [id, sent]))
  }

  #block(blockId: string, kind: Kind): Open {
    const known = this.#blocks.get(blockId)
    if (known) return known
    const sent = Object.hasOwn(this.#before, blockId) ? (this.#before[blockId] ?? 0) : 0
    const block: Open = { kind, sent, open: false }
    this.#blocks.set(blockId, block)
    return block
  }

  #say(id: string, block: Open, delta: string): void {
    if (delta === '') return
    if (!block.open) {
      this.#begin()
      this.#emit({ type: `${block.kind}-start`, id, providerMetadata: { parley: { blockId: id } } })
      block.open = true
      this.#writing++
    }
    this.#emit({ type: `${block.kind}-delta`, id, delta })
    block.sent += delta.length
  }

  #end(id: string, block: Open): void {
    if (!block.open) return
    this.#emit({ type: `${block.kind}-end`, id })
    block.open = false
    this.#writing--
  }
}
