import { hasCode } from '@parley/protocol'
import type { Clock } from './clock.ts'
import type { FeedReader, FollowFrom } from './session-feed.ts'

const retryMs = { first: 100, most: 2_000 }

type Follow = (from: FollowFrom, reader: FeedReader) => Promise<() => void>

type KeepOptions = {
  readonly clock: Clock
  /** True when the host closes: readers then end. */
  readonly isClosing: () => boolean
  readonly problem: (error: unknown) => void
}

/**
 * Follows a session whose owner may change. Each change of the owner ends the feed that a reader reads from; the
 * reader then continues in the next feed, after its last event. The reader does not notice the change unless the log
 * was replaced.
 */
export async function keepFollowing(
  follow: Follow,
  from: FollowFrom,
  reader: FeedReader,
  { clock, isClosing, problem }: KeepOptions,
): Promise<() => void> {
  const leaving = new AbortController()
  const signal = from.signal ? AbortSignal.any([from.signal, leaving.signal]) : leaving.signal
  let next: FollowFrom = { ...from, signal }
  let isCaughtUp = false
  let isFirst = true
  let waitMs = retryMs.first

  const part: FeedReader = {
    ...(reader.native !== undefined && { native: reader.native }),
    following(start) {
      const isNew = isFirst || start.verdict === 'reset'
      isFirst = false
      waitMs = retryMs.first
      next = { after: start.verdict === 'reset' ? 0 : (next.after ?? 0), epoch: start.epoch, signal }
      if (!isNew) return
      isCaughtUp = false
      reader.following(start)
    },
    deliver(batch) {
      const last = batch.findLast((item) => item.kind === 'event')
      if (last) next = { ...next, after: last.seq }
      return reader.deliver(batch)
    },
    caughtUp(seq) {
      if (!isCaughtUp) reader.caughtUp(seq)
      isCaughtUp = true
    },
    ended(reason) {
      if (reason === 'deleted' || isClosing()) reader.ended(reason)
      else if (!signal.aborted) clock.soon(again)
    },
  }

  function again(): void {
    if (signal.aborted) return
    follow(next, part).catch((error) => {
      if (hasCode(error, 'not_found')) return reader.ended('deleted')
      if (isClosing()) return reader.ended('closed')
      if (hasCode(error, 'busy')) waitMs = retryMs.first
      else if (waitMs === retryMs.first) problem(error)
      clock.after(waitMs, again, { background: true })
      waitMs = Math.min(waitMs * 2, retryMs.most)
    })
  }

  await follow(next, part)
  return () => leaving.abort()
}
