import type { PromptPart, SessionSummary, WaitingRequest } from '@parley/protocol'
import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import { type CachedSession, cacheSchema, isReadable } from './cache-record.logic.ts'

/** The sessions and lists that this browser caches, to show at once and to read offline. The log is authoritative. */
interface Cache extends DBSchema {
  sessions: { key: string; value: CachedSession; indexes: { savedAt: number } }
  lists: { key: string; value: CachedList }
}
type CachedList = {
  readonly schema: number
  readonly sessions?: readonly SessionSummary[]
  readonly requests?: readonly WaitingRequest[]
  readonly parts?: readonly PromptPart[]
}

const maxSessions = 60
let opening: Promise<IDBPDatabase<Cache> | undefined> | undefined

/**
 * Opens the database of the cache. Undefined if the browser has no storage for it, e.g. in some private
 * windows.
 */
function database(): Promise<IDBPDatabase<Cache> | undefined> {
  opening ??= openDB<Cache>('parley', cacheSchema, {
    upgrade(db) {
      for (const name of [...db.objectStoreNames]) db.deleteObjectStore(name)
      db.createObjectStore('sessions', { keyPath: 'id' }).createIndex('savedAt', 'savedAt')
      db.createObjectStore('lists')
    },
    blocking: (_now, _next, event) => (event.target as IDBDatabase).close(),
  }).catch(() => undefined)
  return opening
}

let isCaching = true

/** Stops all further writes to the cache, which is about to be cleared. */
export function stopCaching(): void {
  isCaching = false
}

async function safely<Result>(
  work: (db: IDBPDatabase<Cache>) => Promise<Result>,
): Promise<Result | undefined> {
  try {
    const db = await database()
    return db && (await work(db))
  } catch {
    return undefined
  }
}

export async function cachedSession(id: string): Promise<CachedSession | undefined> {
  const record = await safely((db) => db.get('sessions', id))
  return isReadable(record) ? record : undefined
}

export function cacheSession(record: CachedSession): Promise<void> {
  return safely(async (db) => {
    if (!isCaching) return
    await db.put('sessions', record)
    const count = await db.count('sessions')
    if (count <= maxSessions) return
    const oldest = await db.getAllKeysFromIndex('sessions', 'savedAt', undefined, count - maxSessions)
    await Promise.all(oldest.map((id) => db.delete('sessions', id)))
  }).then(() => undefined)
}

export function forgetSession(id: string): void {
  void safely((db) => db.delete('sessions', id))
  cacheParts(id, [])
}

export async function cachedList(): Promise<readonly SessionSummary[]> {
  return (await readList('sessions'))?.sessions ?? []
}

export function cacheList(sessions: readonly SessionSummary[]): void {
  writeList('sessions', { sessions: sessions.slice(0, 200) })
}

/** The requests that waited for a person when the list was last read. */
export async function cachedWaiting(): Promise<readonly WaitingRequest[]> {
  return (await readList('waiting'))?.requests ?? []
}

export function cacheWaiting(requests: readonly WaitingRequest[]): void {
  writeList('waiting', { requests: requests.slice(0, 100) })
}

/** The attachments of a session's prompt draft, or of a prompt in the outbox. */
export async function cachedParts(id: string): Promise<readonly PromptPart[]> {
  return (await readList(`parts:${id}`))?.parts ?? []
}

export function cacheParts(id: string, parts: readonly PromptPart[]): void {
  const key = `parts:${id}`
  if (parts.length > 0) writeList(key, { parts })
  else void safely((db) => db.delete('lists', key))
}

async function readList(name: string): Promise<CachedList | undefined> {
  const record = await safely((db) => db.get('lists', name))
  return record?.schema === cacheSchema ? record : undefined
}

function writeList(name: string, list: Omit<CachedList, 'schema'>): void {
  void safely(async (db) => isCaching && db.put('lists', { schema: cacheSchema, ...list }, name))
}

/** Clears the cache and, except for the preferences, local storage when the browser signs out. */
export async function clearCache(): Promise<void> {
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith('parley:') && key !== 'parley:preferences') localStorage.removeItem(key)
  }
  await safely(async (db) => {
    await Promise.all([db.clear('sessions'), db.clear('lists')])
  })
}
