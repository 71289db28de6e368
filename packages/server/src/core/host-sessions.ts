import type { AgentAdapter } from '@parley/adapter-kit'
import {
  type Actor,
  type BranchInfo,
  Command,
  type CommandInput,
  defined,
  type EventDraft,
  type MergePreview,
  ParleyError,
  type PlannedWorktree,
  type PullRequestInfo,
  projectOfId,
  type Receipt,
  type RewindPreview,
  type SessionDetail,
  SessionPatch,
  type SessionState,
  type SessionSummary,
  type SuggestedMessage,
  summarise,
  type WaitingRequest,
} from '@parley/protocol'
import { causedBy } from './caused-by.ts'
import type { ScopedMoments, ScopeQuery } from './change-scope.ts'
import { checked } from './checked.ts'
import { need } from './decision.ts'
import { earlierPrompts } from './earlier-prompts.ts'
import type { CheckLogs } from './folder-changes.ts'
import type { HostTool } from './host-tool.ts'
import type { LedgerDraft } from './ledger-store.ts'
import type { LiveSession } from './live-session.ts'
import type { OpenSessions } from './open-sessions.ts'
import { readEvents } from './read-events.ts'
import type { Redaction } from './redact-event.ts'
import type { FeedReader, FollowFrom } from './session-feed.ts'
import { isTrusted, type SessionServices } from './session-services.ts'
import type { ReadRange, SessionPage, SessionQuery, StoredEvent } from './session-store.ts'
import { branchMadeFrom, settingsFor } from './session-worktrees.ts'
import { shownEvent, shownState } from './shown-secrets.ts'
import type { Worktrees } from './worktrees.ts'

/** The operations of a host on existing sessions. */
export type HostSessions = {
  /** `project` is the id of a project. The list of an unknown project is empty. */
  list(query: Omit<SessionQuery, 'project'> & { readonly project?: string }): Promise<SessionPage>
  state(sessionId: string): Promise<SessionState>
  /** The state, the last `tail` blocks, and whether the folder is trusted. */
  detail(sessionId: string, tail: number): Promise<SessionDetail>
  /** In all operations, `by` is the actor. It is recorded in the log. */
  patch(sessionId: string, patch: SessionPatch, by?: Actor): Promise<SessionSummary>
  delete(sessionId: string, by?: Actor): Promise<void>
  /**
   * Deletes a session if `isDue` accepts its current state. Returns whether it was deleted. Rejects with ParleyError
   * `conflict` if another process is the owner.
   */
  deleteIf(sessionId: string, isDue: (state: SessionState) => boolean): Promise<boolean>
  /**
   * Removes the content of one event permanently, and begins a new epoch. Rejects with ParleyError `conflict` while
   * the session works, and `not_supported` for an event without content.
   */
  redact(sessionId: string, redaction: Redaction, by?: Actor): Promise<SessionSummary>
  /** Seals the events after the last seal, if there are any. */
  seal(sessionId: string): Promise<void>

  /**
   * Resolves when the command is in the log. Checks the shape of the command, so that a face may pass on unchecked
   * input.
   */
  command(sessionId: string, command: CommandInput, by?: Actor): Promise<Receipt>
  /**
   * The files that the command `session.rewind` would restore. Rejects with ParleyError `conflict` if a rewind is not
   * possible, or not possible now.
   */
  previewRewind(sessionId: string, promptId: string): Promise<RewindPreview>
  /**
   * A page of the log. Rejects with ParleyError `conflict` for a cursor beyond the head or of another epoch. With
   * `prompts`, also returns earlier events that contain prompts: those of the turns in the page and, if the page
   * reaches the head, those in the queue.
   */
  read(
    sessionId: string,
    range: ReadRange & { epoch?: string; prompts?: boolean },
  ): Promise<{ events: StoredEvent[]; head: number; epoch: string; prompts?: StoredEvent[] }>
  /**
   * Replays the events after `after`, then continues live, without gap or repeat. Returns a function that ends the
   * follow.
   */
  follow(sessionId: string, from: FollowFrom, reader: FeedReader): Promise<() => void>
  /**
   * Like `follow`, for a reader in another process. Rejects with ParleyError `conflict` if this process is not the
   * owner.
   */
  followOwned(sessionId: string, from: FollowFrom, reader: FeedReader): Promise<() => void>
  waiting(): Promise<WaitingRequest[]>
  /** The checked-out branch of the session's folder. Must be called at the place of the session. */
  branch(sessionId: string): Promise<BranchInfo>
  /**
   * Reads the pull request of that branch with the command-line program of its host, which sends requests to the
   * host.
   */
  pullRequest(sessionId: string): Promise<PullRequestInfo>
  /** The logs of the failed checks of that pull request. Sends requests to the host of the remote. */
  checkLogs(sessionId: string): Promise<CheckLogs>
  /** Returns the effect of a merge of that branch into the base branch. Changes nothing. */
  previewMerge(sessionId: string): Promise<MergePreview>
  /**
   * A message for a commit of these files, from the agent or from the title. Must be called at the owner. Rejects with
   * ParleyError `busy` while the agent is asked already.
   */
  suggestMessage(sessionId: string, paths: readonly string[], signal?: AbortSignal): Promise<SuggestedMessage>
  /**
   * Returns the two states of the folder that a scope of changes compares. Rejects with ParleyError `not_found` for
   * an unknown turn.
   */
  changeScope(sessionId: string, query: ScopeQuery): Promise<ScopedMoments>

  /** Replaces the tools that the session was created with (`own`). Takes effect with its next turn. */
  offerTools(sessionId: string, tools: readonly HostTool[]): Promise<void>
  /** Declares that the session's tools will not be replaced again. They are dropped when its agent ends. */
  releaseTools(sessionId: string): void
}

export function createHostSessions(
  services: SessionServices,
  sessions: OpenSessions,
  adapterFor: (agent: string) => AgentAdapter,
): HostSessions {
  const { store, tools } = services
  const deleteIf = createDeletion(services, sessions)
  return {
    async list({ project: projectId, ...query }) {
      if (projectId === undefined) return store.list(query)
      const project = projectOfId(projectId)
      return project ? store.list({ ...query, project }) : { sessions: [] }
    },
    state: async (sessionId) => shownState(await sessions.state(sessionId)),
    detail: async (sessionId, tail) => detailOf(services, await sessions.state(sessionId), tail),
    async patch(sessionId, given, by) {
      const patch = checked(SessionPatch, given, 'The change')
      return sessions.record(sessionId, async (session) => {
        await session.recover()
        await session.log.transact((state) => ({ drafts: causedBy(by, patchDrafts(state, patch)) }))
        return summarise(session.state)
      })
    },
    delete: async (sessionId, by) => void (await deleteIf(sessionId, undefined, by)),
    deleteIf: (sessionId, isDue) => deleteIf(sessionId, isDue),
    async redact(sessionId, redaction, by) {
      const { redactEvent } = await import('./redact-event.ts')
      return redactEvent(services, sessions, { sessionId, ...redaction, by })
    },
    seal: (sessionId) => sessions.record(sessionId, (session) => session.log.sealRest()),
    async command(sessionId, given, by) {
      const command = checked(Command, given, 'The command')
      const receipt = recordedOnly.has(command.type)
        ? await sessions.record(sessionId, (session) => session.command(command, by))
        : await (await sessions.open(sessionId)).command(command, by)
      if (command.type === 'session.close') await sessions.removeTemporaryFolder(sessionId)
      return receipt
    },
    async previewRewind(sessionId, promptId) {
      return (await sessions.open(sessionId)).previewRewind(promptId)
    },
    async read(sessionId, { epoch, prompts, ...range }) {
      const state = await sessions.state(sessionId)
      const head = state.seq
      if ((range.after ?? 0) > head || (epoch !== undefined && epoch !== state.epoch)) throw badCursor(state)
      const stored = (await readEvents(store, sessionId, range)).filter((event) => event.seq <= head)
      const events = stored.map(shownEvent)
      const page = { events, head, epoch: state.epoch }
      return prompts ? { ...page, prompts: await earlierPrompts(store, state, events) } : page
    },
    follow: (sessionId, from, reader) => sessions.follow(sessionId, from, reader),
    followOwned: (sessionId, from, reader) => sessions.followOwned(sessionId, from, reader),
    ...folderMethods(services, sessions),
    async suggestMessage(sessionId, paths, signal) {
      return (await sessions.open(sessionId)).suggestMessage(paths, signal)
    },
    changeScope: async (sessionId, query) => scopeOf(services, await sessions.state(sessionId), query),
    async waiting() {
      const states = await store.waiting()
      return states.flatMap((state) => {
        const session = summarise(state)
        return state.requests.map((request) => ({ session, request }))
      })
    },
    async offerTools(sessionId, given) {
      const { agent } = (await sessions.open(sessionId)).state
      if (given.length > 0) need({ agent: adapterFor(agent) }, 'hostTools')
      tools.replace(sessionId, given)
    },
    releaseTools: (sessionId) => tools.forget(sessionId),
  }
}

async function scopeOf(
  services: SessionServices,
  state: SessionState,
  { scope, turn }: ScopeQuery,
): Promise<ScopedMoments> {
  if (scope === 'base') {
    const { base } = await settingsFor(services, state.project)
    return defined({ base, madeFrom: branchMadeFrom(state.worktree) })
  }
  // Loaded on first use, because a server does not need it at its start.
  const { momentsOf } = await import('./change-scope.ts')
  return momentsOf(services, state, { scope, turn })
}

function folderMethods(
  services: SessionServices,
  sessions: OpenSessions,
): Pick<HostSessions, 'branch' | 'pullRequest' | 'checkLogs' | 'previewMerge'> {
  // Loaded on first use, because a server does not need it at its start.
  const folderWork = () => import('./folder-work.ts')
  return {
    branch: async (sessionId) => (await folderWork()).branchIn(services, await sessions.state(sessionId)),
    pullRequest: async (sessionId) =>
      (await folderWork()).pullRequestIn(services, await sessions.state(sessionId)),
    previewMerge: async (sessionId) =>
      (await folderWork()).mergePreviewIn(services, await sessions.state(sessionId)),
    checkLogs: async (sessionId) =>
      (await folderWork()).checkLogsIn(services, await sessions.state(sessionId)),
  }
}

function createDeletion(services: SessionServices, sessions: OpenSessions) {
  const { store, tools, sessionFolder, worktrees, problem } = services
  return async (sessionId: string, isDue?: (state: SessionState) => boolean, by?: Actor) => {
    let cwd = ''
    let worktree: SessionState['worktree']
    const destroy = (session: LiveSession) => {
      cwd = session.state.cwd
      worktree = session.state.worktree
      return session.destroy(async () => {
        if (worktree?.remote)
          await (await import('./remote-worktrees.ts')).keepRemoteMark(services, session.state)
        return store.delete(sessionId, undefined, deletedEntry(services, session.state, by))
      })
    }
    if (!(await sessions.delete(sessionId, destroy, isDue))) return false
    services.rules.forgetSession(sessionId)
    tools.forget(sessionId)
    services.environments.forget(sessionId)
    services.news.deleted(sessionId)
    sessionFolder
      ?.forget(cwd, sessionId)
      .catch((error: unknown) => problem({ error, doing: 'remove snapshots', sessionId }))
    if (worktrees && worktree && worktree.of === undefined)
      removeIfNothingLost(services, worktrees, worktree).catch((error: unknown) =>
        problem({ error, doing: 'remove a worktree', sessionId }),
      )
    return true
  }
}

async function removeIfNothingLost(
  services: SessionServices,
  worktrees: Worktrees,
  worktree: PlannedWorktree,
): Promise<void> {
  const loaded = await import('./host-worktrees.ts')
  await loaded.removeIfNothingLost(services, worktrees, worktree)
}

/** Commands that need neither the agent nor the folder. They are accepted while the place is awaited. */
const recordedOnly: ReadonlySet<Command['type']> = new Set([
  'prompt.submit',
  'prompt.withdraw',
  'prompt.move',
  'queue.resume',
  'permission.decide',
  'question.answer',
  'session.hand-over',
])

async function detailOf(
  { store, adapters, trusts, place: here }: SessionServices,
  state: SessionState,
  tail: number,
): Promise<SessionDetail> {
  const { place, isAwaited } = (here === undefined ? undefined : await store.load(state.id)) ?? {}
  const id = state.connection?.agentSessionId
  const terminal = id === undefined ? undefined : adapters.get(state.agent)?.terminalCommand?.(id)
  const { tailOf } = await import('./session-tail.ts')
  return {
    ...shownState(state),
    ...defined({ place, awaits: isAwaited ? place : undefined }),
    trusted: isTrusted({ trusts }, state, place),
    ...(terminal && { terminal: [...terminal] }),
    ...(await tailOf(store, state, tail)),
  }
}

function deletedEntry(
  { clock, sealer }: SessionServices,
  state: SessionState,
  actor: Actor | undefined,
): LedgerDraft[] {
  if (!sealer) return []
  const { id: subject, seq: events, sealed } = state
  const data = { events, ...defined({ sealed }) }
  return [{ at: clock.now(), kind: 'session.deleted', subject, ...defined({ actor }), data }]
}

function badCursor({ seq: head, epoch }: SessionState): ParleyError {
  const message = 'This cursor belongs to another log. Read from the start (after=0).'
  return new ParleyError('conflict', message, { details: { head, epoch } })
}

/** The events that change a session's title, or archive or pin it. Pure; empty if nothing changes. */
function patchDrafts(state: SessionState, patch: SessionPatch): EventDraft[] {
  const drafts: EventDraft[] = []
  const { title, archived, pinned } = patch
  if (title !== undefined && title !== state.title)
    drafts.push({ type: 'session.renamed', title, by: 'person' })
  if (archived !== undefined && archived !== state.archived) {
    if (archived && state.turn)
      throw new ParleyError('conflict', 'A turn is open. Cancel it, then archive the session.')
    drafts.push({ type: archived ? 'session.archived' : 'session.unarchived' })
  }
  if (pinned !== undefined && pinned !== state.pinned) {
    drafts.push({ type: pinned ? 'session.pinned' : 'session.unpinned' })
  }
  return drafts
}
