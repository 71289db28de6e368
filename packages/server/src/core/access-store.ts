import type { SharedSettings } from './shared-settings.ts'

/** The kinds of access records. The folder access/ defines the data of each kind. */
export type AccessKind = 'person' | 'token' | 'device' | 'invite'

/** A person, or a token, device or invitation of a person. */
export type AccessRecord = {
  readonly kind: AccessKind
  readonly id: string
  readonly data: Readonly<Record<string, unknown>>
  readonly createdAt: number
  /** The time at which the record was last used to get access. */
  readonly usedAt?: number
  /**
   * The time at which the record was revoked or used up. A retired record is kept, so that its holder can get the
   * reason.
   */
  readonly retiredAt?: number
}

/**
 * PORT. Stores access records and makes no decisions. Rules:
 * - a stored record is durable against the death of this process when the promise resolves.
 * - a retired record stays retired, even if it is stored again.
 * - a storage failure rejects with a ParleyError (`busy` if trying again can help, else `internal_error`).
 * - the caller may keep what is returned; the store never changes it afterwards.
 */
export type AccessStore = {
  /** All records, in the order in which they were first stored. */
  accessRecords(): Promise<AccessRecord[]>
  /**
   * Adds a record, or replaces the record with the same kind and id at its position in the list. `usedAt` is stored
   * only with a new record.
   */
  putAccessRecord(record: AccessRecord): Promise<void>
  /**
   * Retires a record. Returns false if there is no such record, or if it is already retired: of several processes that
   * retire a record, exactly one gets true.
   */
  retireAccessRecord(kind: AccessKind, id: string, at: number): Promise<boolean>
  /** Stores the time at which a record was last used. Has no effect if there is no such record. */
  touchAccessRecord(kind: AccessKind, id: string, usedAt: number): Promise<void>
  /** Removes a record. Returns false if there was no such record. */
  removeAccessRecord(kind: AccessKind, id: string): Promise<boolean>
  /** Absent if no other process can open the store. */
  readonly shared?: SharedSettings
}
