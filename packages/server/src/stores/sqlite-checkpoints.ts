import type { OpenBlock } from '@parley/protocol'
import type { SqliteDatabase } from './sqlite-database.ts'

/**
 * A cache of the rows in which a session's open blocks are stored. Each block has one row with its `meta` and one row
 * for each new piece of text. The cache must be dropped when a transaction fails; the rows are then read again.
 */
export type Written = Map<string, WrittenBlock>
type WrittenBlock = { readonly number: number; meta: string; readonly texts: Map<string, WrittenText> }
type WrittenText = { text: string; parts: number }
type Row = { block: number; field: string; part: number; body: string }

export function createSqliteCheckpoints(database: SqliteDatabase) {
  const select = database.prepare(
    'SELECT block, field, part, body FROM checkpoints WHERE session_key = ? ORDER BY block, field, part',
  )
  const insert = database.prepare('INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?)')
  const deleteField = database.prepare(
    'DELETE FROM checkpoints WHERE session_key = ? AND block = ? AND field = ?',
  )
  const deleteBlock = database.prepare('DELETE FROM checkpoints WHERE session_key = ? AND block = ?')
  const deleteSession = database.prepare('DELETE FROM checkpoints WHERE session_key = ?')

  const writeText = (key: number, known: WrittenBlock, [field, text]: [string, string]): void => {
    const before = known.texts.get(field) ?? { text: '', parts: 0 }
    if (before.text === text) return
    const grows = text.startsWith(before.text)
    if (!grows) deleteField.run(key, known.number, field)
    const part = grows ? before.parts : 0
    // The piece is stored as JSON, because it may end between the two halves of a surrogate pair.
    insert.run(key, known.number, field, part, JSON.stringify(grows ? text.slice(before.text.length) : text))
    known.texts.set(field, { text, parts: part + 1 })
  }

  return {
    load(key: number): Written {
      const numbered = new Map<number, WrittenBlock>()
      for (const { block, field, part, body } of select.all(key) as Row[]) {
        const known = numbered.get(block) ?? { number: block, meta: '', texts: new Map() }
        numbered.set(block, known)
        const text = known.texts.get(field)?.text ?? ''
        if (field === 'meta') known.meta = body
        else known.texts.set(field, { text: text + (parsed<string>(body) ?? ''), parts: part + 1 })
      }
      // Open blocks are not in the log yet. A block that cannot be read is lost, and its turn is recorded as
      // interrupted.
      return new Map(
        [...numbered.values()].flatMap((known) => {
          const id = parsed<OpenBlock>(known.meta)?.id
          return id === undefined ? [] : [[id, known] as const]
        }),
      )
    },
    write(key: number, written: Written, blocks: readonly OpenBlock[]): void {
      for (const block of blocks) {
        const { meta, texts } = takeApart(block)
        const known = written.get(block.id) ?? { number: nextNumber(written), meta: '', texts: new Map() }
        written.set(block.id, known)
        if (known.meta !== meta) insert.run(key, known.number, 'meta', 0, meta)
        known.meta = meta
        for (const field of known.texts.keys()) {
          if (field in texts) continue
          deleteField.run(key, known.number, field)
          known.texts.delete(field)
        }
        for (const entry of Object.entries(texts)) writeText(key, known, entry)
      }
    },
    remove(key: number, written: Written, blockIds: readonly string[]): void {
      for (const blockId of blockIds) {
        const known = written.get(blockId)
        if (!known) continue
        deleteBlock.run(key, known.number)
        written.delete(blockId)
      }
    },
    removeAll(key: number, written: Written): void {
      if (written.size === 0) return
      deleteSession.run(key)
      written.clear()
    },
    blocks(written: Written): OpenBlock[] {
      return [...written.values()].map(putTogether)
    },
  }
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

/**
 * The number for a new block. Numbers ascend, so that blocks are returned in the order in which they were
 * first written.
 */
function nextNumber(written: Written): number {
  let last = 0
  for (const { number } of written.values()) last = Math.max(last, number)
  return last + 1
}
