import type { OpenBlock } from '@parley/protocol'

/** A piece of a checkpoint as it is stored: the field `meta` of a block, or one piece of one of its texts. */
export type CheckpointRow = {
  readonly block: number
  readonly field: string
  readonly part: number
  readonly body: string
}

/** The rows of one field from `part` on. */
export type CheckpointRange = Pick<CheckpointRow, 'block' | 'field' | 'part'>

/** The rows to write and to remove for a checkpoint. No row is in both lists. */
export type CheckpointChange = { readonly put: CheckpointRow[]; readonly remove: CheckpointRange[] }

type WrittenBlock = { readonly number: number; meta: string; readonly texts: Map<string, WrittenText> }
type WrittenText = { text: string; parts: number }

/**
 * A cache of the rows in which a session's open blocks are stored. Each block has one row with its `meta` and one row
 * for each new piece of text. The cache must be dropped when a write fails; the rows are then read again.
 */
export class WrittenBlocks {
  readonly #blocks: Map<string, WrittenBlock>

  /** `rows` must be sorted by block, field and part. */
  constructor(rows: Iterable<CheckpointRow> = []) {
    const numbered = new Map<number, WrittenBlock>()
    for (const { block, field, part, body } of rows) {
      const known = numbered.get(block) ?? { number: block, meta: '', texts: new Map() }
      numbered.set(block, known)
      const text = known.texts.get(field)?.text ?? ''
      if (field === 'meta') known.meta = body
      else known.texts.set(field, { text: text + (parsed<string>(body) ?? ''), parts: part + 1 })
    }
    // Open blocks are not in the log yet. A block that cannot be read is lost, and its turn is recorded as
    // interrupted.
    this.#blocks = new Map(
      [...numbered.values()].flatMap((known) => {
        const id = parsed<OpenBlock>(known.meta)?.id
        return id === undefined ? [] : [[id, known] as const]
      }),
    )
  }

  get size(): number {
    return this.#blocks.size
  }

  blocks(): OpenBlock[] {
    return [...this.#blocks.values()].map(putTogether)
  }

  /** Stores the blocks in the cache, and returns the rows to write and remove for them. */
  write(blocks: readonly OpenBlock[]): CheckpointChange {
    const change: CheckpointChange = { put: [], remove: [] }
    for (const block of blocks) {
      const { meta, texts } = takeApart(block)
      const known = this.#blocks.get(block.id) ?? { number: this.#nextNumber(), meta: '', texts: new Map() }
      this.#blocks.set(block.id, known)
      if (known.meta !== meta) change.put.push({ block: known.number, field: 'meta', part: 0, body: meta })
      known.meta = meta
      for (const field of known.texts.keys()) {
        if (field in texts) continue
        change.remove.push({ block: known.number, field, part: 0 })
        known.texts.delete(field)
      }
      for (const [field, text] of Object.entries(texts)) writeText(known, field, text, change)
    }
    return change
  }

  /** Forgets these blocks, and returns their numbers. Unknown blocks are ignored. */
  remove(blockIds: readonly string[]): number[] {
    return blockIds.flatMap((blockId) => {
      const known = this.#blocks.get(blockId)
      this.#blocks.delete(blockId)
      return known ? [known.number] : []
    })
  }

  clear(): void {
    this.#blocks.clear()
  }

  /**
   * The number for a new block. Numbers ascend, so that blocks are returned in the order in which they were first
   * written.
   */
  #nextNumber(): number {
    let last = 0
    for (const { number } of this.#blocks.values()) last = Math.max(last, number)
    return last + 1
  }
}

/** A text that has grown gets one more row. Any other change replaces the first row and removes the rest. */
function writeText(
  known: WrittenBlock,
  field: string,
  text: string,
  { put, remove }: CheckpointChange,
): void {
  const before = known.texts.get(field) ?? { text: '', parts: 0 }
  if (before.text === text) return
  const grows = text.startsWith(before.text)
  const part = grows ? before.parts : 0
  if (!grows) remove.push({ block: known.number, field, part: 1 })
  // The piece is stored as JSON, because it may end between the two halves of a surrogate pair.
  const body = JSON.stringify(grows ? text.slice(before.text.length) : text)
  put.push({ block: known.number, field, part, body })
  known.texts.set(field, { text, parts: part + 1 })
}

function parsed<Value>(json: string): Value | undefined {
  try {
    return JSON.parse(json) as Value
  } catch {
    return undefined
  }
}

function takeApart(block: OpenBlock): { meta: string; texts: Record<string, string> } {
  if (block.type === 'tool-call') {
    const { input, output, ...meta } = block
    return { meta: JSON.stringify(meta), texts: { input, output } }
  }
  const { text, ...meta } = block
  return { meta: JSON.stringify(meta), texts: { text } }
}

function putTogether({ meta, texts }: WrittenBlock): OpenBlock {
  const block = JSON.parse(meta) as OpenBlock
  const textOf = (field: string) => texts.get(field)?.text ?? ''
  return block.type === 'tool-call'
    ? { ...block, input: textOf('input'), output: textOf('output') }
    : { ...block, text: textOf('text') }
}
