import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { beforeEach, expect, it } from 'vitest'
import { openTurn, receiptOf, ruleOf, stateOf, textBlock } from '../testing/store-samples.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import { openSqliteStore, type SqliteStore } from './sqlite.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = folderForTest()
  file = join(folder, 'parley.db')
})

/**
 * The files that contain the text. Another process searches them, because a process that reads the file of a database
 * which it has open loses its lock.
 */
function filesWith(text: string): string[] {
  const { stdout } = spawnSync('grep', ['-rlaF', text, folder], { encoding: 'utf8' })
  return stdout.split('\n').filter((line) => line !== '')
}

/** Writes the text into every table, and into pages that are overwritten or freed later. */
async function fill(store: SqliteStore, id: string, text: string, turns: number): Promise<void> {
  const queue = [
    { promptId: 'q', parts: [{ type: 'text' as const, text }], delivery: 'queue' as const, at: 1 },
  ]
  const state = stateOf(id, { title: text, queue })
  await store.create({ sessionId: id, epoch: 'e', state, events: [] })
  let seq = 0
  for (let turn = 0; turn < turns; turn++) {
    let streamed = ''
    for (let piece = 0; piece < 5; piece++) {
      streamed += `${text} ${piece} `.repeat(60)
      await store.checkpoint(id, [textBlock(`b${turn}`, streamed)])
    }
    const events = Array.from({ length: 10 }, () => {
      seq++
      return { seq, json: JSON.stringify({ seq, at: seq, sessionId: id, type: 'x', text: text.repeat(200) }) }
    })
    const commandId = `${text}-${turn}`
    await store.append({
      sessionId: id,
      events,
      receipt: receiptOf(commandId, seq),
      rules: [ruleOf(`${id} ${turn}`, { scope: 'session', sessionId: id, tool: text })],
      closedBlocks: [`b${turn}`],
      state: stateOf(id, { title: `${text} ${turn}`, ...(turn % 2 === 0 && { turn: openTurn }) }),
    })
  }
}

it('leaves no byte of a deleted session in any file, and frees its space', async () => {
  const store = openSqliteStore({ file })
  await fill(store, 'kept', 'stays-here', 10)
  await fill(store, 'gone', 'remove-me', 60)
  await fill(store, 'later', 'stays-too', 10)
  expect(filesWith('remove-me').length).toBeGreaterThan(0)
  const sizeOfAll = () =>
    statSync(file).size + (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0)
  const before = sizeOfAll()
  expect(await store.delete('gone')).toBe(true)
  expect(filesWith('remove-me')).toEqual([])
  expect(sizeOfAll()).toBeLessThan(before * 0.6)
  expect((await store.read('kept', { limit: 1000 })).length).toBe(100)
  expect((await store.read('later', { after: 99, limit: 10 })).map(({ seq }) => seq)).toEqual([100])
  await store.close()
})

it('does other work while a large session is deleted, and gives its key to no other session', async () => {
  const store = openSqliteStore({ file })
  await fill(store, 'gone', 'remove-me', 60)
  let deleted = false
  const deleting = store.delete('gone').then(() => {
    deleted = true
  })
  await setImmediate()
  await store.create({ sessionId: 'new', epoch: 'e', state: stateOf('new'), events: [] })
  await store.append({ sessionId: 'new', events: [{ seq: 1, json: '{"seq":1}' }] })
  expect(deleted).toBe(false)
  await deleting
  expect(await store.read('new', { limit: 10 })).toEqual([{ seq: 1, json: '{"seq":1}' }])
  expect(await store.read('gone', { limit: 10 })).toEqual([])
  expect(filesWith('remove-me')).toEqual([])
  await store.close()
})

it('resumes an interrupted deletion when the store is opened again', async () => {
  const store = openSqliteStore({ file })
  await fill(store, 'gone', 'remove-me', 60)
  const deleting = store.delete('gone')
  await store.close()
  await deleting
  expect(filesWith('remove-me').length).toBeGreaterThan(0)
  const again = openSqliteStore({ file })
  expect(await again.load('gone')).toBeUndefined()
  await expect.poll(() => filesWith('remove-me'), { timeout: 20_000 }).toEqual([])
  await again.close()
})

it('converts a file of an older version so that it can shrink, and overwrites data that was deleted before', async () => {
  const store = openSqliteStore({ file })
  await fill(store, 'kept', 'stays-here', 5)
  await fill(store, 'gone', 'remove-me', 20)
  await store.close()
  const old = new DatabaseSync(file)
  old.exec('PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM; PRAGMA secure_delete = OFF')
  old.exec("DELETE FROM events WHERE body LIKE '%remove-me%'")
  expect(old.prepare('PRAGMA auto_vacuum').get()).toEqual({ auto_vacuum: 0 })
  old.close()
  expect(filesWith('remove-me').length).toBeGreaterThan(0)
  const again = openSqliteStore({ file })
  await again.delete('gone')
  expect(filesWith('remove-me')).toEqual([])
  expect((await again.read('kept', { limit: 100 })).length).toBe(50)
  await again.close()
})
