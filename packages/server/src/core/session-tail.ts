import {
  applyToTimeline,
  type Block,
  isKnown,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import type { SessionStore } from './session-store.ts'

const mostEvents = 16_384

/** The last blocks of a session, read backwards from its head: costs the tail, not the history. */
export async function tailOf(
  store: SessionStore,
  state: SessionState,
  tail: number,
): Promise<{ blocks: Block[]; firstSeq: number }> {
  if (tail === 0 || state.seq === 0) return { blocks: [], firstSeq: state.seq + 1 }
  for (let limit = Math.max(64, tail * 3); ; limit *= 4) {
    const page = await store.read(state.id, { before: state.seq + 1, limit })
    const events = page.map(({ json }) => JSON.parse(json) as SessionEvent | UnknownEvent).filter(isKnown)
    const blocks = applyToTimeline([], events)
    const whole = page.length < limit || limit >= mostEvents
    if (blocks.length >= tail || whole) {
      const last = blocks.slice(-tail)
      return {
        blocks: last,
        firstSeq: whole && blocks.length <= tail ? (page[0]?.seq ?? 1) : (last[0]?.seq ?? 1),
      }
    }
  }
}
