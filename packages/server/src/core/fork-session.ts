import {
  type Actor,
  applyToState,
  defined,
  emptyState,
  isKnown,
  ParleyError,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import { causedBy } from './caused-by.ts'
import { LogWriter } from './log-writer.ts'
import { readEvents } from './read-events.ts'
import type { SessionOwnership } from './session-ownership.ts'
import type { SessionServices } from './session-services.ts'
import type { StoredEvent } from './session-store.ts'

const pageSize = 1000

/** A new session that is not announced yet. */
export type ForkCopy = {
  readonly sessionId: string
  /** Announces the session. Returns false if the same command has already announced it. */
  announce(): boolean
  discard(): Promise<void>
}

type ForkDetails = {
  readonly title: string | undefined
  /** The actor that forks the session. */
  readonly by: Actor | undefined
}

/** Copies the log of a session into a new session. A repeated copy to the same new session has no effect. */
export async function forkSession(
  services: SessionServices,
  parent: SessionState,
  child: string,
  { title, by }: ForkDetails,
): Promise<ForkCopy> {
  const { store, environments, news } = services
  const { made, term } = await copyForFork(services, parent, child, { title, by })
  if (made) await environments.copy(parent.id, child)
  return {
    sessionId: child,
    announce() {
      if (made) news.created(made)
      return made !== undefined
    },
    async discard() {
      if (made) await store.delete(child, term)
      environments.forget(child)
    },
  }
}

type Copied = {
  /** The state of the new session, or undefined if the copy was already complete. */
  readonly made?: SessionState
  /** The term under which this process owns the new session. */
  readonly term?: number
}

/** Copies a log into a new session, with the same seqs. Continues an earlier, interrupted copy. */
async function copyForFork(
  { store, clock, ownership, sealer }: SessionServices,
  parent: SessionState,
  child: string,
  { title, by }: ForkDetails,
): Promise<Copied> {
  const existing = await store.load(child)
  const upTo = existing?.state.forkedFrom?.seq ?? parent.seq
  const forkedFrom = { sessionId: parent.id, seq: upTo }
  if (existing && existing.head > upTo) return {}
  const owned = defined({ term: existing ? await claimed(ownership, child) : ownership.firstTerm })
  let state = existing?.state ?? emptyState(child, `${parent.epoch}-fork`)
  while (state.seq < upTo) {
    const page = await readEvents(store, parent.id, {
      after: state.seq,
      limit: Math.min(pageSize, upTo - state.seq),
    })
    if (page.length === 0) return {}
    const created = state.seq === 0
    const events = page.map(({ seq, json }): StoredEvent => {
      const event = { ...(JSON.parse(json) as SessionEvent | UnknownEvent), sessionId: child }
      const copy = event.type === 'session.created' ? { ...event, forkedFrom } : event
      state = isKnown(copy) ? applyToState(state, copy) : { ...state, seq, updatedAt: copy.at }
      return { seq, json: JSON.stringify(copy) }
    })
    if (created) await store.create({ sessionId: child, epoch: state.epoch, events, state })
    else await store.append({ sessionId: child, events, state, ...owned })
  }
  const named = title ?? `${parent.title} (fork)`
  const writer = finish(new LogWriter(state, sealer), clock.now(), named, by)
  await store.append({ sessionId: child, events: writer.stored, state: writer.state, ...owned })
  return { made: writer.state, ...owned }
}

/** Claims the interrupted copy, whose owner may have been another process. Returns the term. */
async function claimed(ownership: SessionOwnership, child: string): Promise<number | undefined> {
  const claim = await ownership.claim(child)
  if (claim.type === 'owned') return claim.term
  throw new ParleyError('busy', 'Another node is creating this fork. Try again.')
}

/** Corrects the parts of the state that hold for the original session but not for the copy. */
function finish(writer: LogWriter, now: number, title: string, by: Actor | undefined): LogWriter {
  const { state } = writer
  writer.add(now, ...causedBy(by, [{ type: 'session.renamed', title, by: 'host' }]))
  for (const { promptId } of state.queue) writer.add(now, { type: 'prompt.withdrawn', promptId })
  if (state.connected) writer.add(now, { type: 'agent.disconnected', reason: 'closed' })
  if (state.archived) writer.add(now, { type: 'session.unarchived' })
  if (state.pinned) writer.add(now, { type: 'session.unpinned' })
  return writer
}
