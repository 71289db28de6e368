import type { OpenBlock } from '@parley/protocol'
import type { SqliteDatabase } from './sqlite-database.ts'
import { type CheckpointRow, WrittenBlocks } from './written-blocks.ts'

/** The rows of `checkpoints`. Each method changes the rows and their cache in the same way. */
export function createSqliteCheckpoints(database: SqliteDatabase) {
  const select = database.prepare(
    'SELECT block, field, part, body FROM checkpoints WHERE session_key = ? ORDER BY block, field, part',
  )
  const insert = database.prepare('INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?)')
  const deleteParts = database.prepare(
    'DELETE FROM checkpoints WHERE session_key = ? AND block = ? AND field = ? AND part >= ?',
  )
  const deleteBlock = database.prepare('DELETE FROM checkpoints WHERE session_key = ? AND block = ?')
  const deleteSession = database.prepare('DELETE FROM checkpoints WHERE session_key = ?')

  return {
    load: (key: number) => new WrittenBlocks(select.all(key) as CheckpointRow[]),
    write(key: number, written: WrittenBlocks, blocks: readonly OpenBlock[]): void {
      const { put, remove } = written.write(blocks)
      for (const { block, field, part } of remove) deleteParts.run(key, block, field, part)
      for (const { block, field, part, body } of put) insert.run(key, block, field, part, body)
    },
    remove(key: number, written: WrittenBlocks, blockIds: readonly string[]): void {
      for (const number of written.remove(blockIds)) deleteBlock.run(key, number)
    },
    removeAll(key: number, written: WrittenBlocks): void {
      if (written.size === 0) return
      deleteSession.run(key)
      written.clear()
    },
  }
}
