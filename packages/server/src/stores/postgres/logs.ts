import { defined, newId, type OpenBlock, ParleyError, type Receipt } from '@parley/protocol'
import type { LedgerDraft } from '../../core/ledger-store.ts'
import type {
  AppendBatch,
  CreateBatch,
  ReadRange,
  RedactBatch,
  SessionRecord,
  StoredEvent,
  StoredReceipt,
} from '../../core/session-store.ts'
import { eventTextOf } from '../event-text.ts'
import {
  eventsLost,
  ownershipLost,
  receiptTaken,
  refuseGap,
  sessionTaken,
  sessionUnknown,
} from '../refusals.ts'
import { type CheckpointRow, WrittenBlocks } from '../written-blocks.ts'
import type { PostgresDatabase } from './database.ts'
import { isUniqueViolation, mayHaveRun, postgresFailure } from './failure.ts'
import {
  appendStatement,
  draftValues,
  eventValues,
  insertSession,
  lockSession,
  putCheckpoints,
  recordValues,
  redactStatement,
} from './log-statements.ts'
import { isAwaited, parseState, safeOrNull, safeText, stateValues } from './session-columns.ts'

/** The number of events that are deleted in one statement. */
const eventsAtOnce = 5_000
const settleMs = { first: 50, most: 1_000 }

/** Writes and reads the logs of sessions: events, state, receipts and checkpoints, each batch in one statement. */
export class PostgresLogs {
  readonly #database: PostgresDatabase
  readonly #owner: () => NewOwner
  readonly #lastWrite = new Map<string, Promise<unknown>>()
  /** The sessions that this process writes. An entry stays valid, because every failed write removes it. */
  readonly #cache = new Map<string, Known>()

  /** `owner` returns the node that owns new sessions, and the place of their folders. */
  constructor(database: PostgresDatabase, owner: () => NewOwner = () => ({ node: null, place: null })) {
    this.#database = database
    this.#owner = owner
  }

  async create(batch: CreateBatch): Promise<void> {
    const { sessionId, epoch, state, events } = batch
    refuseGap(batch, 0)
    const { node, place } = this.#owner()
    const of = [safeOrNull(state.project), safeText(state.cwd), safeOrNull(state.round?.id)]
    const row = [safeText(sessionId), epoch, events.length, node, place, ...of]
    const values = [...row, ...stateValues(state), eventValues(batch), ...recordValues(batch)]
    await this.#write(batch, () =>
      this.#certainly(
        () => this.#database.run(insertSession, values),
        async () => (await this.load(sessionId))?.epoch === epoch,
      ).catch((thrown) => {
        throw isUniqueViolation(thrown, 'sessions_id_key') ? sessionTaken(sessionId) : thrown
      }),
    )
  }

  async append(batch: AppendBatch): Promise<void> {
    const { sessionId, events, state, receipt, term, rules = [], closedBlocks = [], ledger = [] } = batch
    const first = events[0]?.seq
    if (first !== undefined) refuseGap(batch, first - 1)
    await this.#write(batch, async () => {
      const known = await this.#known(batch)
      const closed = known.blocks.remove(closedBlocks)
      const isOver = state !== undefined && !state.turn
      if (isOver) known.blocks.clear()
      // A batch without events also contains the head, so that a delayed repetition cannot replace a newer state.
      const head = first === undefined ? known.head : first - 1
      const isPlain = !receipt && rules.length + closed.length + ledger.length === 0 && !isOver
      const statement = appendStatement(state !== undefined, isPlain)
      const values = [
        ...[safeText(sessionId), head, events.length, term ?? null, eventValues(batch)],
        ...(state ? stateValues(state) : []),
        ...(isPlain ? [] : [...recordValues(batch), isOver, closed]),
      ]
      const isWritten = await this.#certainly(
        () => this.#database.run(statement, values),
        () => this.#isStored(batch),
      ).catch((thrown) => {
        throw receipt && isUniqueViolation(thrown, 'receipts_pkey') ? receiptTaken(receipt.commandId) : thrown
      })
      if (!isWritten) throw await this.#refusal(batch, known.head)
      known.head = head + events.length
    })
  }

  async read(sessionId: string, { after = 0, before, limit }: ReadRange): Promise<StoredEvent[]> {
    const order = before === undefined ? 'ASC' : 'DESC'
    const rows = await this.#database.read<{ seq: number; body: string }>(
      `SELECT seq, body FROM events WHERE session_key = (SELECT key FROM sessions WHERE id = $1)
         AND seq > $2 AND seq < $3 ORDER BY seq ${order} LIMIT $4`,
      [safeText(sessionId), after, before ?? Number.MAX_SAFE_INTEGER, limit],
    )
    const text = eventTextOf(sessionId)
    const events = rows.map(({ seq, body }) => ({ seq, json: text.unpack(seq, body) }))
    return before === undefined ? events : events.reverse()
  }

  async load(sessionId: string): Promise<SessionRecord | undefined> {
    const [row] = await this.#database.read<{
      head: number
      epoch: string
      state: string
      project: string | null
      place: string | null
      isAwaited: boolean
    }>(`SELECT head, epoch, state, project, place, ${isAwaited} FROM sessions WHERE id = $1`, [
      safeText(sessionId),
    ])
    if (!row) return undefined
    const { head, epoch, place } = row
    const where = place === null ? {} : { place, isAwaited: row.isAwaited }
    return { head, epoch, state: parseState(row), ...where }
  }

  async receipt(sessionId: string, commandId: string): Promise<StoredReceipt | undefined> {
    const [row] = await this.#database.read<{ hash: string; receipt: string }>(
      `SELECT hash, receipt FROM receipts
       WHERE session_key = (SELECT key FROM sessions WHERE id = $1) AND command_id = $2`,
      [safeText(sessionId), safeText(commandId)],
    )
    return row && { commandId, hash: row.hash, receipt: JSON.parse(row.receipt) as Receipt }
  }

  async checkpoint(sessionId: string, blocks: readonly OpenBlock[], term?: number): Promise<void> {
    await this.#write({ sessionId }, async () => {
      const { put, remove } = (await this.#known({ sessionId, term })).blocks.write(blocks)
      const rows = await this.#database.query(putCheckpoints, [
        safeText(sessionId),
        remove.map(({ block }) => block),
        remove.map(({ field }) => field),
        remove.map(({ part }) => part),
        put.map(({ block }) => block),
        put.map(({ field }) => field),
        put.map(({ part }) => part),
        put.map(({ body }) => body),
        term ?? null,
      ])
      if (rows.length === 0) throw await this.#refusal({ sessionId, events: [], ...defined({ term }) })
    })
  }

  async checkpoints(sessionId: string): Promise<OpenBlock[]> {
    return (await this.#load(sessionId))?.blocks.blocks() ?? []
  }

  async redact(batch: RedactBatch): Promise<void> {
    const { sessionId, term, events, epoch, state, ledger = [] } = batch
    const seqs = events.map(({ seq }) => seq)
    const rows = await this.#write({ sessionId }, () =>
      this.#database.transaction(
        // Waits for a process that is storing alerts, so that the next statement removes them.
        [lockSession, [safeText(sessionId)]],
        [
          redactStatement,
          [
            ...[safeText(sessionId), term ?? null, seqs, eventValues(batch), epoch],
            ...stateValues(state),
            draftValues(ledger),
          ],
        ],
      ),
    )
    this.#cache.delete(sessionId)
    if (rows.length === 0) throw await this.#refusal({ sessionId, events: [], ...defined({ term }) })
  }

  async delete(sessionId: string, term?: number, ledger: readonly LedgerDraft[] = []): Promise<boolean> {
    const deleted = await this.#write({ sessionId }, () =>
      this.#database.query<{ key: number }>(
        `WITH ok AS (DELETE FROM sessions WHERE id = $1 AND ($2::bigint IS NULL OR term = $2) RETURNING key, id),
         r AS (DELETE FROM receipts USING ok WHERE session_key = ok.key),
         c AS (DELETE FROM checkpoints USING ok WHERE session_key = ok.key),
         u AS (DELETE FROM rules USING ok WHERE session_id = ok.id),
         v AS (DELETE FROM environments USING ok WHERE scope = 'session' AND target = ok.id),
         a AS (DELETE FROM alert_cursors USING ok WHERE session = ok.id),
         d AS (DELETE FROM alert_deliveries USING ok WHERE session = ok.id),
         s AS (DELETE FROM search_cursors USING ok WHERE session = ok.id RETURNING search_cursors.key),
         w AS (DELETE FROM search_entries USING s WHERE session_key = s.key),
         k AS (DELETE FROM decide_links USING ok WHERE session = ok.id),
         t AS (DELETE FROM viewed USING ok WHERE session = ok.id),
         m AS (INSERT INTO deletions SELECT key FROM ok),
         l AS (INSERT INTO ledger_queue (draft) SELECT t.draft FROM ok, unnest($3::text[]) AS t(draft))
         SELECT key FROM ok`,
        [safeText(sessionId), term ?? null, draftValues(ledger)],
      ),
    )
    this.#cache.delete(sessionId)
    await this.finishDeletions()
    return deleted.length > 0
  }

  /** Deletes the events of deleted sessions in steps, since a long log takes longer than one statement may. */
  async finishDeletions(): Promise<void> {
    for (;;) {
      const [deleted] = await this.#database.query<{ key: number; count: number }>(
        `WITH d AS (SELECT session_key FROM deletions ORDER BY session_key LIMIT 1 FOR UPDATE SKIP LOCKED),
         e AS (DELETE FROM events WHERE (session_key, seq) IN
           (SELECT events.session_key, seq FROM events JOIN d ON d.session_key = events.session_key LIMIT $1)
           RETURNING 1)
         SELECT d.session_key AS key, (SELECT count(*) FROM e) AS count FROM d`,
        [eventsAtOnce],
      )
      if (!deleted) return
      if (deleted.count === 0)
        await this.#database.query('DELETE FROM deletions WHERE session_key = $1', [deleted.key])
    }
  }

  /** Drops from the cache a session that this process no longer writes. */
  forget(sessionId: string): void {
    this.#cache.delete(sessionId)
  }

  forgetAll(): void {
    this.#cache.clear()
  }

  /**
   * Runs the writes of a session one after another, because statements on different connections are not ordered. After
   * a failure the checkpoints are read again.
   */
  async #write<Result>(
    { sessionId }: Pick<AppendBatch, 'sessionId'>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const before = this.#lastWrite.get(sessionId) ?? Promise.resolve()
    const write = before.then(work)
    const settled = write.catch(() => undefined)
    this.#lastWrite.set(sessionId, settled)
    try {
      return await write
    } catch (thrown) {
      this.#cache.delete(sessionId)
      throw postgresFailure(thrown)
    } finally {
      if (this.#lastWrite.get(sessionId) === settled) this.#lastWrite.delete(sessionId)
    }
  }

  /**
   * Runs a write that returns a row; resolves with false if it returned no row. If the answer is lost, checks whether
   * the write was stored, and repeats it if it was not, until the outcome is known. The lost statement may run after
   * the repeated statement, so a failed repetition is followed by another check.
   */
  async #certainly(write: () => Promise<unknown[]>, isStored: () => Promise<boolean>): Promise<boolean> {
    try {
      return (await write()).length > 0
    } catch (thrown) {
      if (!mayHaveRun(thrown)) throw thrown
    }
    for (let wait = settleMs.first; ; wait = Math.min(wait * 2, settleMs.most)) {
      try {
        if (await isStored()) return true
        const outcome = await settled(write())
        if ('rows' in outcome && outcome.rows.length > 0) return true
        if ('rows' in outcome || !mayHaveRun(outcome.thrown)) {
          if (await isStored()) return true
          if ('thrown' in outcome) throw outcome.thrown
          return false
        }
      } catch (thrown) {
        if (!mayHaveRun(thrown) && !isBusy(thrown)) throw thrown
      }
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }

  async #isStored({ sessionId, events, receipt }: AppendBatch): Promise<boolean> {
    const last = events.at(-1)
    if (last !== undefined) {
      const [stored] = await this.read(sessionId, { after: last.seq - 1, limit: 1 })
      return stored?.json === last.json
    }
    return receipt !== undefined && (await this.receipt(sessionId, receipt.commandId))?.hash === receipt.hash
  }

  /** The error for a write that changed no row. `head` is the last event that this process has stored or read. */
  async #refusal(batch: AppendBatch, head = 0): Promise<unknown> {
    const { sessionId, term } = batch
    const current = await this.#load(sessionId)
    if (!current) return sessionUnknown(sessionId)
    if (term !== undefined && current.term !== term) return ownershipLost(sessionId, term)
    if (term !== undefined && current.head < head) {
      await this.#beginEpoch(sessionId, term, current.head)
      return eventsLost(sessionId, term)
    }
    refuseGap(batch, current.head)
    return new ParleyError('conflict', `Another process has written to session ${sessionId}.`)
  }

  /**
   * Makes the cursors of all readers invalid. Called if the database has lost events in a failover, because their
   * numbers will be used again.
   */
  async #beginEpoch(sessionId: string, term: number, head: number): Promise<void> {
    await this.#database.query('UPDATE sessions SET epoch = $1 WHERE id = $2 AND term = $3 AND head = $4', [
      newId('epo'),
      safeText(sessionId),
      term,
      head,
    ])
  }

  /**
   * The stored rows of a session. They are read again under a new term, because another node may have written, and when
   * a connection has ended, because a crash of PostgreSQL may have undone the last checkpoints.
   */
  async #known({ sessionId, term }: { sessionId: string; term?: number | undefined }): Promise<Known> {
    const cached = this.#cache.get(sessionId)
    const { ended } = this.#database
    if (cached && cached.claimed === term && cached.ended === ended) return cached
    const known = await this.#load(sessionId)
    if (!known) throw sessionUnknown(sessionId)
    if (term !== undefined && known.term !== term) throw ownershipLost(sessionId, term)
    const entry = { ...known, claimed: term, ended }
    this.#cache.set(sessionId, entry)
    return entry
  }

  async #load(sessionId: string): Promise<Stored | undefined> {
    const rows = await this.#database.read<
      { head: number; term: number } & (CheckpointRow | { block: null })
    >(
      `SELECT head, term, block, field, part, body FROM sessions LEFT JOIN checkpoints ON session_key = key
       WHERE id = $1 ORDER BY block, field, part`,
      [safeText(sessionId)],
    )
    const [first] = rows
    const blocks = new WrittenBlocks(rows.filter((row) => row.block !== null))
    return first && { head: first.head, term: first.term, blocks }
  }
}

type Stored = { head: number; readonly term: number; readonly blocks: WrittenBlocks }
/**
 * `claimed` is the term under which the rows were read, if the writer has a term. `ended` is the number of
 * connections that had ended by then.
 */
type Known = Stored & { readonly claimed: number | undefined; readonly ended: number }

export type NewOwner = { readonly node: number | null; readonly place: string | null }

/** The rows of a statement, or its error. */
function settled(work: Promise<unknown[]>): Promise<{ rows: unknown[] } | { thrown: unknown }> {
  return work.then(
    (rows) => ({ rows }),
    (thrown: unknown) => ({ thrown }),
  )
}

function isBusy(thrown: unknown): boolean {
  return (postgresFailure(thrown) as { code?: unknown }).code === 'busy'
}
