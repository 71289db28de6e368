import type { EncodedItem } from './session-feed.ts'

/** PORT. Follows a session at the process that owns it. */
export type OwnerFeed = {
  /**
   * Delivers every item after the cursor, as the owner announces it, until the returned function is called or the
   * owner is lost.
   */
  follow(sessionId: string, from: OwnerCursor, reader: OwnerReader): () => void
}

export type OwnerCursor = { readonly after: number; readonly epoch: string; readonly native: boolean }

export type OwnerReader = {
  deliver(item: EncodedItem): void
  /** All recorded events were delivered; later items are live. */
  live(): void
  /** The last call: the session has no owner, or its owner cannot be reached or has changed. */
  lost(): void
}
