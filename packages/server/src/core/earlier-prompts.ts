import type { SessionEvent, SessionState } from '@parley/protocol'
import { readEvents } from './read-events.ts'
import type { SessionStore, StoredEvent } from './session-store.ts'

const pageSize = 1000
/**
 * The maximum number of events that are searched. Prompts further back are left out, so that a damaged log cannot make
 * every reader scan it completely.
 */
const maxScanned = 50_000

/**
 * Returns the earlier prompts that a page needs: those of turns that start in the page and, if the page reaches the
 * head, those that are still queued. A queued prompt can be any number of events before its turn. The result contains
 * the `prompt.submitted` and `prompt.queued` events, oldest first. Reads nothing if every prompt is in the page.
 */
export async function earlierPrompts(
  store: Pick<SessionStore, 'read'>,
  state: SessionState,
  page: readonly StoredEvent[],
): Promise<StoredEvent[]> {
  const wanted = missingPrompts(state, page)
  const missing = new Set(wanted)
  const found: StoredEvent[] = []
  let before = page[0]?.seq ?? 1
  const last = Math.max(1, before - maxScanned)
  while (missing.size > 0 && before > last) {
    const older = await readEvents(store, state.id, { before, limit: pageSize })
    if (older.length === 0) break
    for (const stored of older.toReversed()) {
      const event = promptEvent(stored)
      if (!event || !wanted.has(event.promptId)) continue
      found.push(stored)
      if (event.type === 'prompt.submitted') missing.delete(event.promptId)
    }
    before = older[0]?.seq ?? 1
  }
  return found.reverse()
}

function missingPrompts({ seq, queue }: SessionState, page: readonly StoredEvent[]): ReadonlySet<string> {
  const wanted = new Set<string>()
  if (page.at(-1)?.seq === seq) for (const { promptId } of queue) wanted.add(promptId)
  for (const stored of page) {
    const promptId = startedPrompt(stored)
    if (promptId !== undefined) wanted.add(promptId)
  }
  for (const stored of page) {
    const event = promptEvent(stored)
    if (event?.type === 'prompt.submitted') wanted.delete(event.promptId)
  }
  return wanted
}

type PromptEvent = Extract<SessionEvent, { type: 'prompt.submitted' | 'prompt.queued' }>

/**
 * The event, if it submits or queues a prompt. Most events are of other types, so the text is searched before
 * it is parsed.
 */
function promptEvent({ json }: StoredEvent): PromptEvent | undefined {
  if (!json.includes('"type":"prompt.')) return undefined
  const event = JSON.parse(json) as SessionEvent
  return event.type === 'prompt.submitted' || event.type === 'prompt.queued' ? event : undefined
}

/** The id of the prompt whose turn starts with this event, or of the steered prompt that the agent takes up. */
function startedPrompt({ json }: StoredEvent): string | undefined {
  if (!json.includes('"type":"turn.started"') && !json.includes('"type":"prompt.taken"')) return undefined
  const event = JSON.parse(json) as SessionEvent
  return event.type === 'turn.started' || event.type === 'prompt.taken' ? event.promptId : undefined
}
