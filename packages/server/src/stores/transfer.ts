import type { AccessStore } from '../core/access-store.ts'
import type { AlertStore } from '../core/alert-store.ts'
import type { DecisionLinkStore } from '../core/decision-link-store.ts'
import type { LedgerStore } from '../core/ledger-store.ts'
import type { SessionStore, StoredReceipt } from '../core/session-store.ts'

/**
 * A store that `parley migrate` reads from or writes to. While it is open, no server can use the store. New sessions in
 * it have no owner.
 */
export type TransferStore = SessionStore &
  AccessStore &
  LedgerStore &
  Pick<DecisionLinkStore, 'pruneDecisionLinks'> &
  Pick<AlertStore, 'targets' | 'putTarget' | 'removeTarget' | 'pushKey' | 'alertCursor' | 'addAlerts'> & {
    /** Receipts of a session, in any order. `after` is the cursor of the page before. */
    receipts(
      sessionId: string,
      page: { readonly after?: string; readonly limit: number },
    ): Promise<ReceiptPage>
    /** Adds receipts, and replaces existing receipts of the same commands. */
    putReceipts(sessionId: string, receipts: readonly StoredReceipt[]): Promise<void>
    /** True if a copy into this store was begun and not finished. Servers refuse to open such a store. */
    isUnfinished(): Promise<boolean>
    begin(): Promise<void>
    finish(): Promise<void>
    /** Rejects if a server may have written to the store since it was opened. */
    assertUnused(): Promise<void>
    /** Makes the cursors of all readers invalid, and returns the number of sessions. */
    beginEpochs(): Promise<number>
  }

export type ReceiptPage = { readonly receipts: readonly StoredReceipt[]; readonly next?: string }
