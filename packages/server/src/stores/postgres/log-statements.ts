import type { PermissionRule } from '@parley/protocol'
import type { LedgerDraft } from '../../core/ledger-store.ts'
import type { AppendBatch } from '../../core/session-store.ts'
import { eventTextOf } from '../event-text.ts'
import { safeOrNull, safeText, stateColumnCount, stateColumns, stateParameters } from './session-columns.ts'

/**
 * The statements in this file change the log of a session. Each is one statement, so that a batch is stored as a whole
 * in one round trip. The part `ok` changes the row of the session; if `ok` finds no row, the other parts do nothing.
 */

/** Stores events. Its parameter has the values of `eventValues`. */
const eventPart = (first: number) => `
  e AS (INSERT INTO events (session_key, seq, body)
    SELECT key, base + n, body FROM ok, unnest($${first}::text[]) WITH ORDINALITY AS t(body, n))`

/** Stores a receipt, rules and drafts of the ledger. Its parameters have the values of `recordValues`. */
const recordParts = (first: number) => `
  r AS (INSERT INTO receipts (session_key, command_id, hash, receipt)
    SELECT key, $${first}::text, $${first + 1}::text, $${first + 2}::text FROM ok WHERE $${first}::text IS NOT NULL),
  u AS (INSERT INTO rules (id, session_id, rule)
    SELECT t.id, t.session_id, t.rule FROM ok,
      unnest($${first + 3}::text[], $${first + 4}::text[], $${first + 5}::text[]) AS t(id, session_id, rule)
    ON CONFLICT (id) DO UPDATE SET session_id = excluded.session_id, rule = excluded.rule),
  l AS (INSERT INTO ledger_queue (draft) SELECT t.draft FROM ok, unnest($${first + 6}::text[]) AS t(draft))`
const recordCount = 7

export const insertSession = `
  WITH ok AS (INSERT INTO sessions (id, epoch, head, owner, place, project, folder, round, term, ${stateColumns})
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, ${stateParameters(9)}) RETURNING key, 0 AS base),
  ${eventPart(9 + stateColumnCount)}, ${recordParts(10 + stateColumnCount)}
  SELECT key FROM ok`

/** Removes the checkpoints of closed blocks, or all of them. */
const removeCheckpoints = (first: number) => `
  c AS (DELETE FROM checkpoints USING ok
    WHERE session_key = ok.key AND ($${first}::boolean OR block = ANY ($${first + 1}::integer[])))`

const append = (hasState: boolean, isPlain: boolean) => {
  const state = hasState ? `, (${stateColumns}) = ROW (${stateParameters(6)})` : ''
  const next = hasState ? 6 + stateColumnCount : 6
  const records = isPlain ? '' : `, ${recordParts(next)}, ${removeCheckpoints(next + recordCount)}`
  return `
  WITH ok AS (UPDATE sessions SET head = head + $3${state}
    WHERE id = $1 AND head = $2 AND ($4::bigint IS NULL OR term = $4) RETURNING key, $2::bigint AS base),
  ${eventPart(5)}${records}
  SELECT key FROM ok`
}

/**
 * The statements that append a batch. A plain batch has no receipt, no rules and no drafts of the ledger, and removes
 * no checkpoint. Most batches are plain, and their statement is faster.
 */
const appends = {
  plain: append(false, true),
  plainWithState: append(true, true),
  full: append(false, false),
  fullWithState: append(true, false),
} as const

export function appendStatement(hasState: boolean, isPlain: boolean): string {
  if (isPlain) return hasState ? appends.plainWithState : appends.plain
  return hasState ? appends.fullWithState : appends.full
}

export const lockSession = 'SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE'

/**
 * Replaces the bodies of some events and the state, begins an epoch, and removes data that contains or reveals the text:
 * unsent alerts, indexed words, and the hashes of commands. Only the sender of a command is kept.
 */
export const redactStatement = `
  WITH ok AS (UPDATE sessions SET epoch = $5, (${stateColumns}) = ROW (${stateParameters(6)})
    WHERE id = $1 AND ($2::bigint IS NULL OR term = $2) AND head >= ($3::bigint[])[cardinality($3::bigint[])]
    RETURNING key),
  e AS (UPDATE events SET body = t.body FROM ok, unnest($3::bigint[], $4::text[]) AS t(seq, body)
    WHERE session_key = ok.key AND events.seq = t.seq),
  r AS (UPDATE receipts SET hash = substr(hash, strpos(hash || ' ', ' ')) FROM ok WHERE session_key = ok.key),
  d AS (DELETE FROM alert_deliveries USING ok WHERE session = $1 AND done_at IS NULL),
  k AS (DELETE FROM decide_links USING ok WHERE session = $1),
  s AS (DELETE FROM search_cursors USING ok WHERE session = $1 RETURNING search_cursors.key),
  w AS (DELETE FROM search_entries USING s WHERE session_key = s.key),
  l AS (INSERT INTO ledger_queue (draft)
    SELECT t.draft FROM ok, unnest($${6 + stateColumnCount}::text[]) AS t(draft))
  SELECT key FROM ok`

/** Does not wait for the disk, so the last checkpoints may be lost if PostgreSQL crashes. */
export const putCheckpoints = `
  WITH ok AS (SELECT key FROM sessions WHERE id = $1 AND ($9::bigint IS NULL OR term = $9) FOR SHARE),
  d AS (DELETE FROM checkpoints c USING ok, unnest($2::integer[], $3::text[], $4::integer[]) AS t(block, field, part)
    WHERE c.session_key = ok.key AND c.block = t.block AND c.field = t.field AND c.part >= t.part),
  p AS (INSERT INTO checkpoints (session_key, block, field, part, body)
    SELECT ok.key, t.block, t.field, t.part, t.body FROM ok,
      unnest($5::integer[], $6::text[], $7::integer[], $8::text[]) AS t(block, field, part, body)
    ON CONFLICT (session_key, block, field, part) DO UPDATE SET body = excluded.body)
  SELECT key, set_config('synchronous_commit', 'off', true) FROM ok`

export function eventValues({ sessionId, events }: Pick<AppendBatch, 'sessionId' | 'events'>): string[] {
  const text = eventTextOf(sessionId)
  return events.map(({ seq, json }) => text.pack(seq, json))
}

export function recordValues({ receipt, rules = [], ledger = [] }: AppendBatch) {
  return [
    safeOrNull(receipt?.commandId),
    receipt?.hash ?? null,
    receipt ? JSON.stringify(receipt.receipt) : null,
    ...ruleValues(rules),
    draftValues(ledger),
  ] as const
}

export function draftValues(ledger: readonly LedgerDraft[]): string[] {
  return ledger.map((draft) => JSON.stringify(draft))
}

/** The columns of rules: ids, sessions and the rules as JSON. */
function ruleValues(rules: readonly PermissionRule[]) {
  return [
    rules.map(({ ruleId }) => safeText(ruleId)),
    rules.map((rule) => safeOrNull(rule.sessionId)),
    rules.map((rule) => JSON.stringify(rule)),
  ] as const
}
