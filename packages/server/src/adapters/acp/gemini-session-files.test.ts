import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { deleteEmptyFiles, listGeminiSessions, moveToEarlierMinute } from './gemini-session-files.ts'

let home: string
let chats: string
beforeEach(() => {
  home = folderForTest()
  chats = join(home, '.gemini/tmp/project/chats')
  mkdirSync(chats, { recursive: true })
})

const now = new Date('2026-01-01T12:00:30.000Z')
const sessionId = 'abcdef12-0000-4000-8000-000000000000'
const date = () => moveToEarlierMinute({ folder: '.gemini/tmp', home, sessionId, now })
const begin = (...names: string[]) => {
  for (const name of names) writeFileSync(join(chats, name), name)
}

it('renames the file of a session that was started in this minute to an earlier minute', () => {
  begin('session-2026-01-01T12-00-abcdef12.jsonl', 'session-2026-01-01T12-00-99999999.jsonl')
  expect(date()).toEqual(['session-2026-01-01T11-59-abcdef12.jsonl'])
  expect(readdirSync(chats)).toEqual([
    'session-2026-01-01T11-59-abcdef12.jsonl',
    'session-2026-01-01T12-00-99999999.jsonl',
  ])
})

it('does not overwrite another file', () => {
  begin('session-2026-01-01T12-00-abcdef12.jsonl', 'session-2026-01-01T11-59-abcdef12.jsonl')
  expect(date()).toEqual(['session-2026-01-01T11-58-abcdef12.jsonl'])
})

it('does not change an older file, and does not fail if there is no file', () => {
  begin('session-2026-01-01T11-59-abcdef12.jsonl', 'notes.txt')
  expect(date()).toEqual([])
  rmSync(home, { recursive: true })
  expect(date()).toEqual([])
})

const line = (value: object) => `${JSON.stringify(value)}\n`
const head = line({ sessionId, kind: 'main' })
const user = (text: string) => ({ type: 'user', content: [{ text }] })
const context = line({ $set: { messages: [user('<session_context>\nThis is the Gemini CLI.')] } })
const write = (minute: string, text: string) =>
  writeFileSync(join(chats, `session-2026-01-01T${minute}-abcdef12.jsonl`), text)

it('removes only those files of the session that contain no message of the person', () => {
  write('11-50', head + context + line(user('Look at the herbs.')))
  write('11-51', head + line({ $set: { messages: [user('Said before.')] } }))
  write('11-52', head + context)
  write('11-53', line({ sessionId: 'abcdef12-another' }) + context)
  write('11-54', 'damaged')
  expect(deleteEmptyFiles({ folder: '.gemini/tmp', home, sessionId })).toEqual([
    'session-2026-01-01T11-52-abcdef12.jsonl',
  ])
  expect(readdirSync(chats)).toHaveLength(4)
})

it('lists each conversation with a message of the person once', async () => {
  const list = () => listGeminiSessions({ folder: '.gemini/tmp', home, signal: new AbortController().signal })
  write('11-50', `${head}${context}${line(user('Look at\nthe herbs.'))}{ damaged`)
  write('11-51', head + context)
  expect(await list()).toEqual([])
  writeFileSync(join(home, '.gemini/tmp/project/.project_root'), '/somewhere')
  expect(await list()).toEqual([
    {
      agentSessionId: sessionId,
      cwd: '/somewhere',
      title: 'Look at the herbs.',
      updatedAt: expect.any(Number),
    },
  ])
})
