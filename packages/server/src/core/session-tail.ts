import {
  applyToTimeline,
  type Block,
  isKnown,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import { earlierPrompts } from './earlier-prompts.ts'
import { readEvents } from './read-events.ts'
import type { SessionStore, StoredEvent } from './session-store.ts'

const maxEvents = 16_384

/**
 * The last blocks of a session, read backwards from its head. The cost depends on the tail, not on the length of the
 * log. The prompts of turns that start within the tail come first, even if they were submitted before it.
 */
export async function tailOf(
  store: SessionStore,
  state: SessionState,
  tail: number,
): Promise<{ blocks: Block[]; firstSeq: number }> {
  if (tail === 0 || state.seq === 0) return { blocks: [], firstSeq: state.seq + 1 }
  for (let limit = Math.max(64, tail * 3); ; limit *= 4) {
    const page = await readEvents(store, state.id, { before: state.seq + 1, limit })
    const blocks = applyToTimeline([], page.map(parsed).filter(isKnown))
    const whole = page.length < limit || limit >= maxEvents
    if (blocks.length >= tail || whole) {
      const firstSeq = whole && blocks.length <= tail ? (page[0]?.seq ?? 1) : (blocks.at(-tail)?.seq ?? 1)
      const cut = blocks.at(-tail - 1)?.seq ?? 0
      const shown = page.filter(({ seq }) => seq > cut)
      const earlier = await earlierPrompts(store, { ...state, queue: [] }, shown)
      const prompts = applyToTimeline([], [...earlier, ...shown].map(parsed).filter(isKnown))
      return {
        blocks: [...prompts.filter(({ seq }) => seq < firstSeq), ...blocks.slice(-tail)],
        firstSeq,
      }
    }
  }
}

function parsed({ json }: StoredEvent): SessionEvent | UnknownEvent {
  return JSON.parse(json) as SessionEvent | UnknownEvent
}
