/** One thing to tell readers, already serialised: the text of an event, a delta or a native message. */
export type FeedItem =
  | { readonly kind: 'event'; readonly seq: number; readonly json: string }
  | { readonly kind: 'delta'; readonly json: string }
  | { readonly kind: 'native'; readonly json: string }

/** Items in order. All live readers of a session get the same object, so a face can cache what it makes of it. */
export type FeedBatch = readonly FeedItem[]

/**
 * A reader of a session. While it replays, the next batch waits for the promise of the last, so a slow reader slows
 * only itself; once live it is never waited for and must mind its own buffer.
 */
export type FeedReader = {
  /** Native messages are skipped for readers that did not ask for them. */
  readonly native?: boolean
  following(start: FeedStart): void
  deliver(batch: FeedBatch): void | Promise<void>
  caughtUp(seq: number): void
  /** Nothing follows: the session was deleted, or the host closes. */
  ended(reason: 'deleted' | 'closed'): void
}

export type FeedStart = {
  readonly epoch: string
  readonly head: number
  readonly verdict: 'replay' | 'reset'
}
