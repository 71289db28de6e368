import {
  type ChangedLines,
  defined,
  hasCode,
  messageOf,
  readOnlyKinds,
  type SessionEvent,
  type SessionState,
  type SnapshotWhen,
} from '@parley/protocol'
import type { FolderSnapshot } from './session-folder.ts'
import type { SessionContext } from './session-services.ts'

type Pending = { isLate: boolean; readonly done: Promise<void> }
type Taken = FolderSnapshot & { readonly late?: true; readonly changed?: ChangedLines }

/**
 * The time limit for counting changed lines. Counting takes milliseconds, unless a turn has rewritten very many
 * files.
 */
const countingMs = 3_000

/**
 * Takes snapshots of a session's folder before and after each turn. The agent works in parallel and never waits for
 * them. A snapshot is late if a call that writes began before it was complete.
 */
export class TurnSnapshots {
  readonly #context: SessionContext
  readonly #pending = new Set<Pending>()
  #isToldOff = false

  constructor(context: SessionContext) {
    this.#context = context
  }

  /** True while a snapshot is being taken. */
  get busy(): boolean {
    return this.#pending.size > 0
  }

  recorded(events: readonly SessionEvent[]): void {
    if (!this.#mayTake) return
    // A batch that contains both the start and the end of a turn records an outside turn, which has no snapshots.
    const ended = new Set(events.flatMap(({ type, turnId }) => (type === 'turn.ended' ? [turnId] : [])))
    const started = new Set(events.flatMap(({ type, turnId }) => (type === 'turn.started' ? [turnId] : [])))
    for (const event of events) {
      const { type, turnId } = event
      if (type === 'turn.started' && turnId && !ended.has(turnId)) this.#take('before', turnId)
      if (type === 'turn.ended' && turnId && !started.has(turnId)) this.#take('after', turnId)
      if (type === 'tool-call.called' && !readOnlyKinds.has(event.kind)) this.#writes()
    }
  }

  /**
   * Called once, before the first action of the loop. Takes the snapshot before an open turn that has none, such as
   * the first turn of a session that is created with a prompt.
   */
  started({ turn, snapshots }: SessionState): void {
    const isNew = turn && !turn.delivered && !turn.parked
    const isKnown = snapshots?.turns.some(({ turnId }) => turnId === turn?.turnId)
    if (isNew && !isKnown && this.#mayTake) this.#take('before', turn.turnId)
  }

  get #mayTake(): boolean {
    const { services, stopping } = this.#context
    return services.sessionFolder !== undefined && services.awaits === undefined && !stopping.aborted
  }

  /** Resolves when no snapshot is being taken. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all([...this.#pending].map(({ done }) => done))
  }

  #writes(): void {
    for (const one of this.#pending) one.isLate = true
  }

  /** Snapshots are recorded in the order in which they are taken. */
  #take(when: SnapshotWhen, turnId: string): void {
    const { services, log } = this.#context
    const { id: sessionId, cwd } = log.state
    const taken = services.sessionFolder?.snapshot(cwd, { sessionId })
    if (!taken) return
    const earlier = [...this.#pending].map((one) => one.done)
    const done = taken
      .then(async (snapshot) => {
        const late = pending.isLate || undefined
        await Promise.all(earlier)
        const changed = await this.#count(snapshot.tree)
        await this.#record(when, turnId, { ...snapshot, ...defined({ late, changed }) })
      })
      .catch((error: unknown) => this.#missed(error))
      .finally(() => this.#pending.delete(pending))
    const pending: Pending = { isLate: false, done }
    this.#pending.add(pending)
  }

  /**
   * Counts the differences between the first snapshot and this tree. Returns undefined if counting fails, because a
   * snapshot is useful without the counts.
   */
  async #count(tree: string): Promise<ChangedLines | undefined> {
    const { services, log, stopping } = this.#context
    const { cwd, snapshots } = log.state
    if (!snapshots) return undefined
    const { first, turns, changed } = snapshots
    const last = turns.at(-1)
    if (changed && (last?.after ?? last?.before)?.tree === tree) return changed
    if (first.tree === tree) return { files: 0, added: 0, removed: 0 }
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(countingMs)])
    return services.sessionFolder?.count(cwd, { from: first.tree, to: tree, signal }).catch(() => undefined)
  }

  async #record(when: SnapshotWhen, turnId: string, taken: Taken): Promise<void> {
    const { tree, head, leftOut, late, changed } = taken
    await this.#context.persist(() => ({
      drafts: [
        {
          type: 'snapshot.taken',
          turnId,
          when,
          tree,
          ...defined({ head, late, changed }),
          ...(leftOut.length > 0 && { leftOut: [...leftOut] }),
        },
      ],
    }))
  }

  /**
   * Handles a snapshot that failed. If snapshots are turned off for the folder, records one notice. Without a
   * snapshot, the changes of the turn are marked as incomplete.
   */
  async #missed(error: unknown): Promise<void> {
    const { persist, problem } = this.#context
    if (!hasCode(error, 'not_supported')) return problem(error, 'take a snapshot of the folder')
    if (error.details?.off !== true || this.#isToldOff) return
    this.#isToldOff = true
    const text = messageOf(error)
    await persist(() => ({
      drafts: [{ type: 'agent.noticed', level: 'warning', code: 'snapshots-off', text }],
    }))
  }
}
