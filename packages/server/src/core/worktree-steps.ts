import {
  type BranchFate,
  type CommandOf,
  defined,
  type EventDraft,
  errorInfoOf,
  type KnownWorktree,
  type LeftOut,
  losesNothing,
  ParleyError,
  type SessionState,
  type SetupRun,
} from '@parley/protocol'
import { leavesWorktree } from './decide-round.ts'
import { ownWorktree } from './decide-worktree.ts'
import { refuseIf } from './decision.ts'
import type { FolderSnapshot } from './session-folder.ts'
import type { Transaction } from './session-log.ts'
import type { SessionContext } from './session-services.ts'
import { othersIn, settingsFor, worktreesOf } from './session-worktrees.ts'
import type { Worktrees } from './worktrees.ts'

/**
 * Makes, prepares, removes and restores the worktree of one session. Each step follows from the recorded phase and ends
 * with an event, so that a restart repeats the step that was interrupted.
 */
export class WorktreeSteps {
  readonly #context: SessionContext
  #step = new AbortController()

  constructor(context: SessionContext) {
    this.#context = context
  }

  get #state(): SessionState {
    return this.#context.log.state
  }

  /** Performs the step that the phase requires. `closeAgent` ends the agent before its folder is removed. */
  async take(closeAgent: () => Promise<void>): Promise<void> {
    const { worktree } = this.#state
    if (!worktree) return
    const { phase } = worktree
    this.#step = new AbortController()
    try {
      const worktrees = worktreesOf(this.#context.services)
      if (phase === 'making') await this.#make(worktrees, worktree)
      if (phase === 'preparing') await this.#prepare(worktrees, worktree)
      if (phase === 'restoring') await this.#restore(worktrees, worktree)
      if (phase === 'removing') {
        await closeAgent()
        await this.#remove(worktrees, worktree)
      }
    } catch (error) {
      if (this.#signal.aborted) return
      if (!(error instanceof ParleyError)) this.#context.problem(error, 'work on a worktree')
      await this.#fail(worktree, error)
    }
  }

  /** Cancels the running step. Called when a person has sent another command. */
  end(): void {
    this.#step.abort()
  }

  get #signal(): AbortSignal {
    return AbortSignal.any([this.#context.stopping, this.#step.signal])
  }

  /**
   * If the folder no longer exists, records that the worktree was removed. The session can then only be read, until
   * the worktree is restored.
   */
  async look(): Promise<void> {
    const { worktree } = this.#state
    const { worktrees } = this.#context.services
    if (!worktrees || worktree?.phase !== 'ready' || (await worktrees.isThere(worktree))) return
    if (worktree.of !== undefined) throw goneElsewhere(worktree.of)
    await this.#record('ready', { type: 'worktree.removed', branch: 'kept', ...lastKnown(this.#state) })
  }

  /**
   * Throws if the removal must be refused: other sessions use the worktree, or the command has `ifNothingLost` and
   * content would be lost.
   */
  async check(command: CommandOf<'worktree.remove'> | CommandOf<'worktree.restore'>): Promise<void> {
    const { services } = this.#context
    const worktrees = worktreesOf(services)
    const worktree = ownWorktree(this.#state)
    if (command.type === 'worktree.restore') return this.expectFree()
    const { id: sessionId, project } = this.#state
    const others = await othersIn(services.store, { sessionId, project, path: worktree.path })
    const busy = others.find(({ status }) => status !== 'idle')
    const message = `The session ${busy?.id} works in this worktree now. Wait until it is idle.`
    refuseIf(busy !== undefined, 'conflict', message)
    if (!command.ifNothingLost || worktree.phase !== 'ready') return
    if (others.length > 0) throw new ParleyError('conflict', 'Other sessions work in this worktree too.')
    const { loss } = await worktrees.examine(worktree)
    if (losesNothing(loss)) return
    const lossy =
      'The worktree has files or commits that exist nowhere else. See what would be deleted, then remove it.'
    throw new ParleyError('conflict', lossy, { details: { loss } })
  }

  /** Refuses if a folder is where the worktree must be restored. */
  async expectFree(): Promise<void> {
    const { worktree } = this.#state
    if (worktree?.phase !== 'removed' || worktree.of !== undefined) return
    const isInTheWay = await worktreesOf(this.#context.services).isThere(worktree)
    const message = `There is a folder at ${worktree.path}. Move it away, then restore the worktree.`
    refuseIf(isInTheWay, 'conflict', message)
  }

  /** Requests the removal of a worktree that is no longer needed, unless something would be lost. */
  async leave(): Promise<void> {
    const { worktree } = this.#state
    if (!worktree) return
    const { keptFor } = await import('./left-worktree.ts')
    const kept = await keptFor(this.#context.services, this.#state, worktree)
    if (this.#context.stopping.aborted) return
    const draft: EventDraft = kept
      ? { type: 'worktree.kept', ...kept }
      : { type: 'worktree.requested', action: 'remove', branch: 'keep' }
    // Meanwhile, the attempt may have been picked again.
    await this.#record(worktree.phase, draft, leavesWorktree)
  }

  async #make(worktrees: Worktrees, worktree: KnownWorktree): Promise<void> {
    const { copied, leftOut } = await worktrees.make(worktree, this.#how(worktree))
    const missing = worktree.tree === undefined ? [] : await this.#fill(worktrees, worktree, worktree.tree)
    const without = [...leftOut, ...missing]
    await this.#record('making', {
      type: 'worktree.made',
      ...(copied.length > 0 && { copied: [...copied] }),
      ...(without.length > 0 && { leftOut: without }),
    })
  }

  /** Gives the folder the files of a snapshot. Returns those whose contents are not stored any more. */
  async #fill(
    worktrees: Worktrees,
    worktree: KnownWorktree,
    tree: string,
    branch: BranchFate = 'delete',
  ): Promise<LeftOut[]> {
    const { sessionFolder } = this.#context.services
    try {
      const restored = await sessionFolder?.restore(worktree.path, { sessionId: this.#state.id, tree })
      return (restored?.missing ?? []).map((path) => ({ path, reason: 'missing' }))
    } catch (error) {
      await worktrees.discard(worktree, { branch })
      throw error
    }
  }

  #how(worktree: KnownWorktree) {
    return { trusted: this.#inheritsTrust(worktree), signal: this.#signal }
  }

  #inheritsTrust({ remote, source }: KnownWorktree): boolean {
    const { trusts, place } = this.#context.services
    return remote === undefined && trusts(source, place)
  }

  async #prepare(worktrees: Worktrees, worktree: KnownWorktree): Promise<void> {
    const { services } = this.#context
    const signal = this.#signal
    const command = await this.#command(worktree)
    if (command === undefined) return this.#prepared(worktrees, worktree)
    const { setupMs: timeoutMs } = services.limits
    const setup = await worktrees.prepare(worktree, { command, timeoutMs, signal })
    if (signal.aborted) return
    if (setup.exitCode === 0) return this.#prepared(worktrees, worktree, setup)
    await worktrees.discard(worktree, { branch: worktree.saved ? 'keep' : 'delete' })
    const how =
      setup.exitCode === undefined
        ? `did not end within ${Math.round(timeoutMs / 60_000)} minutes`
        : `ended with the exit code ${setup.exitCode}`
    const message = `The setup command of the project ${how}. Try again, or continue without it.`
    const error = { code: 'conflict' as const, message }
    await this.#record('preparing', { type: 'worktree.failed', action: 'make', error, setup })
  }

  /**
   * The files of an attempt are compared with those before its first turn. A snapshot beside that turn could be late, so it
   * is taken before.
   */
  async #prepared(worktrees: Worktrees, worktree: KnownWorktree, setup?: SetupRun): Promise<void> {
    const { path } = worktree
    const { id: sessionId, round, snapshots } = this.#state
    const { sessionFolder } = this.#context.services
    const taken =
      round && !snapshots
        ? await sessionFolder?.snapshot(path, { sessionId }).catch((error: unknown) => {
            this.#context.problem(error, 'take the first snapshot of an attempt')
          })
        : undefined
    if (this.#signal.aborted) return
    if (taken) await this.#record('preparing', askedSnapshot(taken))
    const empty = await worktrees.emptySubmodules(worktree).catch(() => 0)
    const submodules = empty || undefined
    await this.#record('preparing', { type: 'worktree.prepared', ...defined({ setup, submodules }) })
  }

  /** The present setup command of the project. */
  async #command({ remote, request }: KnownWorktree): Promise<string | undefined> {
    if (remote || request?.setup === false) return undefined
    return (await settingsFor(this.#context.services, this.#state.project)).setup
  }

  async #restore(worktrees: Worktrees, worktree: KnownWorktree): Promise<void> {
    const { saved, removed } = worktree
    const { head, leftOut } = await worktrees.make(worktree, {
      ...this.#how(worktree),
      head: saved?.head,
      // If the folder was deleted by hand, it is unknown which commits were made before, so the branch may be at any
      // commit.
      follows: removed?.missing ?? false,
      branch: 'keep',
    })
    const missing =
      saved?.tree && (saved.head ?? head) === head
        ? await this.#fill(worktrees, worktree, saved.tree, 'keep')
        : []
    const without = [...leftOut, ...missing]
    await this.#record('restoring', {
      type: 'worktree.made',
      restored: true,
      ...(without.length > 0 && { leftOut: without }),
    })
  }

  /**
   * Records the snapshot before anything is deleted. A repetition after a kill must not take another snapshot,
   * because the folder may be half deleted.
   */
  async #remove(worktrees: Worktrees, worktree: KnownWorktree): Promise<void> {
    const { sessionFolder } = this.#context.services
    const { id: sessionId } = this.#state
    const { path, saved, made, request, removed } = worktree
    if (!saved && made && (await worktrees.isThere(worktree))) {
      const taken = await sessionFolder?.snapshot(path, { sessionId })
      if (!taken)
        throw new ParleyError(
          'not_supported',
          'This server takes no snapshots, so the worktree is not removed.',
        )
      return this.#record('removing', askedSnapshot(taken))
    }
    // If the folder of a complete worktree is missing, somebody has deleted it.
    const gone = made ? lastKnown(this.#state) : { head: worktree.base }
    const left = saved ? { ...saved, ...defined({ missing: removed?.missing }) } : gone
    const branch = await worktrees.remove(worktree, { branch: request?.branch ?? 'keep', head: left.head })
    await this.#record('removing', { type: 'worktree.removed', branch, ...left })
  }

  async #fail({ phase }: KnownWorktree, thrown: unknown): Promise<void> {
    const action = phase === 'removing' ? 'remove' : phase === 'restoring' ? 'restore' : 'make'
    await this.#record(phase, { type: 'worktree.failed', action, error: errorInfoOf(thrown) })
  }

  /** Records nothing if the phase has changed meanwhile, or if `isDue` refuses the present state. */
  async #record(
    phase: KnownWorktree['phase'],
    draft: EventDraft,
    isDue: (state: SessionState) => boolean = () => true,
  ): Promise<void> {
    const change = (state: SessionState): Transaction => ({
      drafts: state.worktree?.phase === phase && isDue(state) ? [draft] : [],
    })
    await this.#context.persist(change)
  }
}

/** The last snapshot of a worktree whose folder was deleted by hand. */
function lastKnown({ snapshots, worktree }: SessionState) {
  const last = snapshots?.turns.at(-1)
  const { tree, head } = last?.after ?? last?.before ?? snapshots?.first ?? { head: worktree?.base }
  return { missing: true as const, ...defined({ head, tree }) }
}

function askedSnapshot({ tree, head, leftOut }: FolderSnapshot): EventDraft {
  const left = leftOut.length > 0 ? { leftOut: [...leftOut] } : {}
  return { type: 'snapshot.taken', when: 'asked', tree, ...defined({ head }), ...left }
}

function goneElsewhere(owner: string): ParleyError {
  const message = `The worktree in which this session works was removed. Restore it in the session ${owner} for which it was made.`
  return new ParleyError('conflict', message, { details: { worktree: 'removed', session: owner } })
}
