import {
  applyToState,
  emptyState,
  isKnown,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import type { ReadRange, StoredEvent } from '../core/session-store.ts'
import { bodyIsJson, type EventText, eventTextOf, unpackDamaged } from './event-text.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import type { SessionRow } from './sqlite-sessions.ts'

/**
 * The number of event ids of each session: the id of an event is the key of its session times this number, plus its
 * seq.
 */
const seqs = 2 ** 32
/** The largest number of sessions for which every event id is a safe integer. */
export const maxSessions = 2 ** 21

export type EventLog = { readonly key: number; readonly head: number; readonly text: EventText }

/** The bounds of a session's event ids; neither bound is an id itself. */
export function eventIds(key: number): [above: number, below: number] {
  return [key * seqs, (key + 1) * seqs]
}

export function createSqliteEvents(database: SqliteDatabase) {
  const between = 'FROM events WHERE id > ? AND id < ?'
  const insert = database.prepare('INSERT INTO events VALUES (?, ?)')
  const update = database.prepare('UPDATE events SET body = ? WHERE id = ?')
  const last = database.prepare(`SELECT id ${between} ORDER BY id DESC LIMIT 1`)
  const rows = `SELECT id, body, ${bodyIsJson} AS valid ${between} ORDER BY id`
  const selectUp = database.prepare(`${rows} LIMIT ?`)
  const selectDown = database.prepare(`${rows} DESC LIMIT ?`)

  function read({ key, head, text }: EventLog, { after = 0, before, limit }: ReadRange): StoredEvent[] {
    const first = key * seqs + Math.max(after, 0)
    const end = key * seqs + Math.min(before ?? head + 1, head + 1)
    const found = (
      before === undefined ? selectUp.all(first, end, limit) : selectDown.all(first, end, limit).reverse()
    ) as EventRow[]
    return found.map(({ id, body, valid }) => {
      const seq = id - key * seqs
      if (valid === 1 && typeof body === 'string') return { seq, json: text.unpack(seq, body) }
      return { seq, json: unpackDamaged(text, seq, body), damaged: true }
    })
  }

  return {
    read,
    insert({ key, text }: Pick<EventLog, 'key' | 'text'>, events: readonly StoredEvent[]): void {
      for (const { seq, json } of events) insert.run(key * seqs + seq, text.pack(seq, json))
    },
    replace({ key, head, text }: EventLog, { seq, json }: StoredEvent): void {
      if (seq < 1 || seq > head) throw new RangeError(`There is no event ${seq}.`)
      update.run(text.pack(seq, json), key * seqs + seq)
    },
    head(key: number): number {
      const row = last.get(...eventIds(key)) as { id: number } | undefined
      return row ? row.id - key * seqs : 0
    },
    rebuildState({ key, id, epoch }: SessionRow): SessionState {
      const log = { key, head: seqs - 2, text: eventTextOf(id) }
      let state = emptyState(id, epoch)
      for (;;) {
        const page = read(log, { after: state.seq, limit: 1000 })
        for (const { seq, json, damaged } of page) {
          const event = damaged ? undefined : (JSON.parse(json) as SessionEvent | UnknownEvent)
          state = event && isKnown(event) ? applyToState(state, event) : { ...state, seq }
        }
        if (page.length === 0) return state
      }
    },
  }
}

type EventRow = { id: number; body: unknown; valid: number }
