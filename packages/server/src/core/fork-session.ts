import {
  type Actor,
  applyToState,
  defined,
  type EventDraft,
  type EventOf,
  emptyState,
  type ForkOrigin,
  isKnown,
  ParleyError,
  type PlannedWorktree,
  type SessionCreation,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import { causedBy } from './caused-by.ts'
import { hashOf } from './hash.ts'
import { LogWriter } from './log-writer.ts'
import type { LogPoint } from './point-before.ts'
import { readEvents } from './read-events.ts'
import type { Sealer } from './seal-chain.ts'
import { signedText } from './seal-text.ts'
import type { SessionOwnership } from './session-ownership.ts'
import type { SessionServices } from './session-services.ts'
import type { StoredEvent } from './session-store.ts'
import { sharedWorktree } from './session-worktrees.ts'
import { loseTasks } from './task-transactions.ts'

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
  /** The prompt before which the session is forked, and the point before its turn. */
  readonly before?: { readonly promptId: string; readonly point: LogPoint } | undefined
  /** The worktree in which the fork works, and its folder there. Absent: the fork works in the folder of the original. */
  readonly place?: { readonly worktree: PlannedWorktree; readonly cwd: string } | undefined
  readonly by: Actor | undefined
}

/**
 * Copies the log of a session, or its beginning, into a new session. A repeated copy to the same new session has no
 * effect.
 */
export async function forkSession(
  services: SessionServices,
  parent: SessionState,
  child: string,
  details: ForkDetails,
): Promise<ForkCopy> {
  const { store, environments, news } = services
  const { made, term } = await copyForFork(services, parent, child, details)
  if (made) await environments.copy(parent.id, child)
  if (made?.snapshots) await shareSnapshots(services, parent, child)
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

/**
 * Keeps the snapshots of the original for the fork too. Without them, changes of the copied turns cannot be shown.
 */
async function shareSnapshots(
  { sessionFolder, problem }: SessionServices,
  { id, cwd }: SessionState,
  child: string,
): Promise<void> {
  await sessionFolder
    ?.share(cwd, id, child)
    .catch((error: unknown) => problem({ error, doing: 'keep snapshots for a fork', sessionId: child }))
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
  details: ForkDetails,
): Promise<Copied> {
  const existing = await store.load(child)
  const origin = originOf(parent, details)
  const upTo = existing?.state.forkedFrom?.seq ?? origin.forkedFrom.seq
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
      const copy = event.type === 'session.created' ? withOrigin(event, origin) : event
      state = isKnown(copy) ? applyToState(state, copy) : { ...state, seq, updatedAt: copy.at }
      return { seq, json: copiedText(copy, sealer) }
    })
    if (created) await store.create({ sessionId: child, epoch: state.epoch, events, state })
    else await store.append({ sessionId: child, events, state, ...owned })
  }
  const writer = finish(new LogWriter(state, sealer), clock.now(), parent, details)
  await store.append({ sessionId: child, events: writer.stored, state: writer.state, ...owned })
  return { made: writer.state, ...owned }
}

/** `project` comes from the state of the original, because `session.created` of earlier versions does not have it. */
type Origin = Pick<SessionCreation, 'forkPoint' | 'project' | 'worktree'> & {
  readonly forkedFrom: ForkOrigin
  readonly cwd?: string
}

/**
 * The end of the copy, and the fork point of the conversation. If the original has not forked its own conversation
 * yet, its pending fork point is used.
 */
function originOf(parent: SessionState, { before, place }: ForkDetails): Origin {
  const { id, seq, project, forkPending, forkPoint: pending } = parent
  const shared = parent.worktree && { worktree: sharedWorktree(id, parent.worktree) }
  const { promptId, point } = before ?? {}
  const forkedFrom = { sessionId: id, seq: point?.seq ?? seq, ...defined({ before: promptId }) }
  const forkPoint = point?.forkPoint ?? (forkPending ? pending : undefined)
  return { forkedFrom, ...defined({ project, forkPoint }), ...(place ?? shared) }
}

/** A fork of an attempt is no attempt of the round. */
function withOrigin(
  { forkPoint, worktree, round, ...created }: EventOf<'session.created'>,
  origin: Origin,
): SessionEvent {
  return { ...created, ...origin }
}

/**
 * The text of a copied event. A copied seal has no secrets, because the salts of the fork follow from its own seals. A
 * copied redaction is signed for the fork.
 */
function copiedText(event: SessionEvent | UnknownEvent, sealer: Sealer | undefined): string {
  if (!isKnown(event)) return JSON.stringify(event)
  if (event.type === 'log.sealed') {
    const { leaf, seed, seeds, ...seal } = event
    return JSON.stringify(seal)
  }
  if (event.type !== 'event.redacted' || !sealer) return JSON.stringify(event)
  const { signature, ...redacted } = event
  return signedText(JSON.stringify({ ...redacted, keyId: sealer.keyId }), sealer.sign)
}

/** Claims the interrupted copy, whose owner may have been another process. Returns the term. */
async function claimed(ownership: SessionOwnership, child: string): Promise<number | undefined> {
  const claim = await ownership.claim(child)
  if (claim.type === 'owned') return claim.term
  throw new ParleyError('busy', 'Another node is creating this fork. Try again.')
}

/** Corrects the parts of the state that hold for the original session but not for the copy. */
function finish(writer: LogWriter, now: number, parent: SessionState, { title, by }: ForkDetails): LogWriter {
  const { state } = writer
  const named = title ?? `${parent.title} (fork)`
  writer.add(now, ...causedBy(by, [{ type: 'session.renamed', title: named, by: 'host' }]))
  writer.add(now, ...settingsOf(parent, state))
  for (const { promptId } of state.queue) writer.add(now, { type: 'prompt.withdrawn', promptId })
  if (state.connected) writer.add(now, { type: 'agent.disconnected', reason: 'closed' })
  writer.add(now, ...loseTasks(state, { reason: 'closed', park: undefined }))
  if (state.archived) writer.add(now, { type: 'session.unarchived' })
  if (state.pinned) writer.add(now, { type: 'session.unpinned' })
  return writer
}

/**
 * The settings of the original that have changed since the fork point. They apply to the fork, because an earlier
 * mode may be wider.
 */
function settingsOf({ requested, mcpServers }: SessionState, then: SessionState): EventDraft[] {
  const isSame = hashOf([requested, mcpServers ?? null]) === hashOf([then.requested, then.mcpServers ?? null])
  return isSame ? [] : [{ type: 'session.configured', requested, ...(mcpServers && { mcpServers }) }]
}
