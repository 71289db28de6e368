import { type Actor, type LedgerEntry, ParleyError } from '@parley/protocol'

/** A row of the table `ledger`. */
export type LedgerRow = {
  readonly n: number
  readonly at: number
  readonly kind: string
  readonly subject: string
  readonly actor: string | null
  readonly address: string | null
  readonly data: string | null
  readonly prev: string
  readonly keyId: string
  readonly hash: string
  readonly signature: string
}

export const ledgerColumns = 'n, at, kind, subject, actor, address, data, prev, key_id, hash, signature'
export const ledgerSelection = ledgerColumns.replace('key_id', 'key_id AS "keyId"')

export function entryOf({ actor, address, data, ...row }: LedgerRow): LedgerEntry {
  return {
    ...row,
    ...(actor !== null && { actor: JSON.parse(actor) as Actor }),
    ...(address !== null && { address }),
    ...(data !== null && { data: JSON.parse(data) as Record<string, unknown> }),
  }
}

/** The values of an entry, in the order of `ledgerColumns`. */
export function entryValues(entry: LedgerEntry) {
  const { n, at, kind, subject, actor, address, data, prev, keyId, hash, signature } = entry
  const texts = [actor ? JSON.stringify(actor) : null, address ?? null, data ? JSON.stringify(data) : null]
  return [n, at, kind, subject, ...texts, prev, keyId, hash, signature] as const
}

export function ledgerMoved(): ParleyError {
  return new ParleyError('conflict', 'Another process has appended to the ledger; no entry was stored.')
}
