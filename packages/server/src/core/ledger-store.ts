import type { LedgerEntry } from '@parley/protocol'

/** An entry of the ledger before it is numbered and signed. */
export type LedgerDraft = Pick<LedgerEntry, 'at' | 'kind' | 'subject' | 'actor' | 'address' | 'data'>

export type QueuedDraft = { readonly id: number; readonly draft: LedgerDraft }

/** The public half of a key that signs seals and ledger entries, as SPKI in base64url. */
export type SealKey = { readonly keyId: string; readonly publicKey: string; readonly addedAt: number }

/**
 * PORT. Stores the ledger and makes no decisions. Drafts wait in a queue, because only one process at a time chains
 * them. Rules:
 * - a queued draft or a chained entry is durable against the death of this process when the promise resolves.
 * - drafts leave the queue only together with the entries that record them.
 * - a storage failure rejects with a ParleyError (`busy` if trying again can help, else `internal_error`).
 */
export type LedgerStore = {
  queueLedger(drafts: readonly LedgerDraft[]): Promise<void>
  /** The first drafts of the queue, oldest first. */
  queuedLedger(limit: number): Promise<QueuedDraft[]>
  /** True if this process may chain drafts now. At most one process at a time may do so. */
  holdLedger(): Promise<boolean>
  /**
   * Appends entries, and removes the drafts with these ids from the queue. Rejects with ParleyError `conflict`, and
   * stores nothing, if the first entry does not follow the last stored entry.
   */
  chainLedger(entries: readonly LedgerEntry[], drafts: readonly number[]): Promise<void>
  /** Entries in ascending order: the first `limit` after `after`; with `subject`, only entries about this subject. */
  ledger(query: LedgerQuery): Promise<LedgerEntry[]>
  /** The last entry; with `subject`, the last entry about this subject. */
  lastOfLedger(subject?: string): Promise<LedgerEntry | undefined>
  /** The keys, in the order in which they were added. */
  sealKeys(): Promise<SealKey[]>
  /** Adds a key. Returns false if it is stored already. */
  addSealKey(key: SealKey): Promise<boolean>
}

export type LedgerQuery = {
  readonly after?: number | undefined
  readonly subject?: string | undefined
  readonly limit: number
}
