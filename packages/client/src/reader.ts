import type { Delta, FollowStatus, ParleyError, SessionEvent, UnknownEvent } from '@parley/protocol'

/** The callbacks of a follower. Events come in order, without gap or repeat, whatever happens to the connection. */
export type FollowListener = {
  /** The server's reply to each follow, including those after a reconnect. */
  onFollowing?(start: { readonly epoch: string; readonly head: number }): void
  onEvent?(event: SessionEvent | UnknownEvent): void
  onDelta?(delta: Delta): void
  /** The cursor does not belong to this log. The follower must drop all its data; the whole log is sent again. */
  onReset?(epoch: string): void
  /** All recorded events have been sent. Called again after each reconnect. */
  onCaughtUp?(seq: number): void
  onStatus?(status: FollowStatus): void
  onNative?(native: unknown): void
  /** The follow has ended; no other method is called after this. */
  onError?(error: ParleyError): void
}

export type FollowOptions = {
  /** The last seq that is already known; 0 or undefined for the whole log. */
  readonly after?: number | undefined
  /** The epoch of the log that `after` belongs to. */
  readonly epoch?: string | undefined
  /** Also receive the agent's own messages. They are sent live only, and not replayed. */
  readonly native?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** One consumer of a session, with its cursor. It is independent of any connection. */
export type Reader = {
  readonly listener: FollowListener
  readonly native: boolean
  cursor: number
  epoch: string | undefined
  /** True if the events that arrive directly follow this reader's cursor. Otherwise the reader receives nothing. */
  synced: boolean
  /** The number of gaps in a row, without an event between them. */
  gaps: number
  status: FollowStatus
  forgetSignal: () => void
}

export function createReader(listener: FollowListener, options: FollowOptions): Reader {
  return {
    listener: bound(listener),
    native: options.native ?? false,
    cursor: options.after ?? 0,
    epoch: options.epoch,
    synced: false,
    gaps: 0,
    status: 'connecting',
    forgetSignal: () => {},
  }
}

/**
 * Compares the `seq` of an event with the cursor, and moves the cursor if the event directly follows it. The
 * caller drops a repeat and requests the events of a gap again.
 */
export function advance(reader: Reader, seq: number): 'next' | 'repeat' | 'gap' | 'unsynced' {
  if (!reader.synced) return 'unsynced'
  if (seq <= reader.cursor) return 'repeat'
  if (seq > reader.cursor + 1) return 'gap'
  reader.cursor = seq
  reader.gaps = 0
  return 'next'
}

/**
 * Sets the reader's epoch to that of the log. Returns true if the cursor was invalid for this log and was reset to the
 * start.
 */
export function restart(
  reader: Reader,
  start: { readonly epoch: string; readonly head: number; readonly verdict: 'replay' | 'reset' },
): boolean {
  const other = reader.epoch !== undefined && reader.epoch !== start.epoch
  reader.epoch = start.epoch
  if (reader.cursor === 0) return false
  if (!other && reader.cursor <= start.head && start.verdict === 'replay') return false
  reader.cursor = 0
  reader.gaps = 0
  return true
}

/**
 * The cursor from which one follow can serve all readers. Readers of different epochs can only share the
 * whole log.
 */
export function startingPoint(readers: Iterable<Reader>): { after: number; epoch?: string } {
  let after = Number.POSITIVE_INFINITY
  const epochs = new Set<string>()
  for (const reader of readers) {
    after = Math.min(after, reader.cursor)
    if (reader.epoch !== undefined) epochs.add(reader.epoch)
  }
  const [epoch] = epochs
  if (epochs.size > 1 || after === Number.POSITIVE_INFINITY) return { after: 0 }
  return { after, ...(epoch !== undefined && after > 0 && { epoch }) }
}

/** The listener with its methods bound, because they may use `this`. */
function bound(listener: FollowListener): FollowListener {
  return {
    onFollowing: listener.onFollowing?.bind(listener),
    onEvent: listener.onEvent?.bind(listener),
    onDelta: listener.onDelta?.bind(listener),
    onReset: listener.onReset?.bind(listener),
    onCaughtUp: listener.onCaughtUp?.bind(listener),
    onStatus: listener.onStatus?.bind(listener),
    onNative: listener.onNative?.bind(listener),
    onError: listener.onError?.bind(listener),
  } as FollowListener
}
