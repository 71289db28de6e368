import type {
  Actor,
  EnvironmentVariables,
  Limits,
  OpenBlock,
  PermissionRule,
  ProjectAt,
  ProjectField,
  ProjectSettings,
  Receipt,
  SessionState,
  SessionStatus,
  SessionSummary,
  TrustedFolder,
} from '@parley/protocol'
import type { LedgerDraft } from './ledger-store.ts'

/**
 * PORT. A store of logs. It makes no decisions and does not interpret events. Rules:
 * - a batch is written whole or not at all, and is durable against the death of this process when the promise
 *   resolves.
 * - `append` only adds events: a batch whose first seq is not head + 1 is refused with ParleyError `conflict`, and
 *   not written.
 * - a storage failure rejects with a ParleyError (`busy` if trying again can help, else `internal_error`); it is never ignored.
 * - the caller may keep what is returned; the store never changes it afterwards.
 * - settings of folders name their place; a store that only one process opens ignores the place.
 * - writing to an unknown session is refused with `not_found`; reading from it returns nothing.
 */
export type SessionStore = {
  /** Creates a session with its first events. Rejects with ParleyError `conflict` if the id exists. */
  create(batch: CreateBatch): Promise<void>
  append(batch: AppendBatch): Promise<void>
  /**
   * Returns events in ascending order: the first `limit` after `after` or, with `before`, the last `limit` below it
   * (and above `after`).
   */
  read(sessionId: string, range: ReadRange): Promise<StoredEvent[]>
  load(sessionId: string): Promise<SessionRecord | undefined>
  receipt(sessionId: string, commandId: string): Promise<StoredReceipt | undefined>

  /** Replaces the checkpoints of the given blocks. Other checkpoints are kept. */
  checkpoint(sessionId: string, blocks: readonly OpenBlock[], term?: number): Promise<void>
  /** Returns the checkpoints in the order in which the blocks were first saved. */
  checkpoints(sessionId: string): Promise<OpenBlock[]>

  list(query: SessionQuery): Promise<SessionPage>
  /**
   * The sessions that continue these conversations of an agent, by the agent's ids of the conversations. If several
   * sessions continue a conversation, the one that changed last is returned. A session whose fork of the conversation
   * is still pending is not included. The cost must not grow with the number of sessions.
   */
  sessionsOf(agent: string, agentSessionIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Ids of sessions whose stored state has an open turn, a queue, a connection or an unfinished worktree: a restart must recover them. */
  unsettled(): Promise<string[]>
  /** Stored states with requests that wait for a person, the longest waiting first. */
  waiting(): Promise<SessionState[]>
  /**
   * Replaces the texts of some events and the state, and begins a new epoch. This is the only change of a stored event.
   * Alerts of the session that are not sent yet are removed, because they can contain the text. In each stored receipt,
   * the hash of the command (the part of `hash` before the first space) is removed, because it would confirm a guess of
   * the text.
   */
  redact(batch: RedactBatch): Promise<void>
  /** Deletes all rows of the session. Returns false if there was no such session. */
  delete(sessionId: string, term?: number, ledger?: readonly LedgerDraft[]): Promise<boolean>

  /**
   * Sessions without a project, by id, after the id `after`. With `place`, only those whose folder is there; a store that
   * only one process opens ignores it.
   */
  withoutProject(query: {
    readonly place?: string
    readonly after: string
    readonly limit: number
  }): Promise<{ readonly sessionId: string; readonly folder: string }[]>
  /**
   * Adds the project to sessions that have none. The states of these sessions then contain it, whatever is appended
   * later; their logs and their order in the list are not changed.
   */
  addProjects(found: readonly FoundProject[]): Promise<void>
  /** Counts the sessions that have a project. With `sessions`, only the sessions with these ids. */
  projectGroups(query: { readonly sessions?: readonly string[] }): Promise<ProjectGroup[]>
  projectSettings(): Promise<StoredProjectSetting[]>
  /** Replaces the given settings, all or none. A setting with the value null is removed. */
  setProjectSettings(settings: readonly StoredProjectSetting[]): Promise<void>

  rules(): Promise<PermissionRule[]>
  addRule(rule: PermissionRule): Promise<void>
  /** Removes a rule. Returns false if there was no such rule. */
  removeRule(ruleId: string): Promise<boolean>

  trustedFolders(): Promise<TrustedFolder[]>
  trustFolder(trusted: TrustedFolder): Promise<void>
  /** Revokes the trust of a folder at this place. Returns false if the folder was not trusted. */
  distrustFolder(folder: string, place?: string): Promise<boolean>

  environments(): Promise<StoredEnvironment[]>
  /**
   * Replaces all variables of the session or folder. Without new variables, the entry is deleted. The variables of a
   * session are deleted with the session.
   */
  setEnvironment(environment: StoredEnvironment): Promise<void>

  close(): Promise<void>
}

/**
 * `place` is the id of a session, or the real path of a folder; `at` is the place of the folder, if several processes
 * share the store. The values are secrets.
 */
export type StoredEnvironment = {
  readonly scope: 'session' | 'folder'
  readonly place: string
  readonly at?: string
  readonly variables: EnvironmentVariables
}

export type FoundProject = {
  readonly sessionId: string
  readonly folder: string
  readonly project: string
}

/** The sessions of one agent in one folder of a project. */
export type ProjectGroup = ProjectAt & {
  readonly folder: string
  readonly agent: string
  /** Sessions that are not archived. */
  readonly sessions: number
  readonly archived: number
  /** Sessions that are not archived and wait for a person. */
  readonly waiting: number
  /** The time of the last change of one of these sessions. */
  readonly usedAt: number
}

/**
 * Marks the branch of a worktree that began at a branch of a remote, after its session was deleted. The value is the path
 * of the worktree.
 */
export type RemoteMark = `remote ${string}`

export type StoredProjectSetting = ProjectAt & {
  readonly field: ProjectField | RemoteMark
  readonly value: ProjectSettings[ProjectField] | null
  readonly at: number
  readonly by?: Actor
}

/** An event as JSON text: the log serialised it, and it is sent to readers without being parsed. */
export type StoredEvent = {
  readonly seq: number
  readonly json: string
  /** True if the stored text is no longer valid JSON. See `readEvents`. */
  readonly damaged?: true
}

export type AppendBatch = {
  readonly sessionId: string
  /** The term of the caller's ownership. A batch with an older term is refused (`conflict`) and not written. */
  readonly term?: number
  readonly events: readonly StoredEvent[]
  /** Replaces the stored state. A state without a turn removes every checkpoint. */
  readonly state?: SessionState
  /** A second receipt for the same command is refused (`conflict`) with its whole batch. */
  readonly receipt?: StoredReceipt
  readonly rules?: readonly PermissionRule[]
  /** The ids of blocks whose checkpoints these events make obsolete. */
  readonly closedBlocks?: readonly string[]
  /** Entries for the ledger about this batch. They wait in the store until they are chained; see `LedgerStore`. */
  readonly ledger?: readonly LedgerDraft[]
}

export type RedactBatch = Pick<AppendBatch, 'sessionId' | 'term' | 'ledger'> & {
  /** In ascending order. At least one. */
  readonly events: readonly StoredEvent[]
  readonly epoch: string
  readonly state: SessionState
}

export type CreateBatch = AppendBatch & { readonly epoch: string; readonly state: SessionState }

/**
 * `hash` consists of the hash of the command and, after a space, the id of its sender. Using one id for two different
 * commands is an error of the client.
 */
export type StoredReceipt = { readonly commandId: string; readonly hash: string; readonly receipt: Receipt }

export type ReadRange = { readonly after?: number; readonly before?: number; readonly limit: number }

/**
 * `state` may be older than `head`. The events after `state.seq` must then be folded into it. `place` is the place of
 * the session's folder, if several processes share the store. `isAwaited` is set if no process at this place is alive.
 */
export type SessionRecord = {
  readonly head: number
  readonly epoch: string
  readonly state: SessionState
  readonly place?: string
  readonly isAwaited?: boolean
}

export type SessionQuery = {
  /** Words to find in title, folder or agent; all must occur. */
  readonly q?: string
  readonly agent?: string
  readonly status?: SessionStatus
  readonly archived?: boolean
  readonly project?: ProjectAt
  /** Only attempts of rounds. */
  readonly inRound?: true
  /** Only sessions that a caller with these limits may use. */
  readonly within?: Limits
  readonly limit: number
  readonly cursor?: string
}

/**
 * A page of the session list: pinned sessions first, then the others, most recently changed first. `cursor` is set if
 * more pages follow.
 */
export type SessionPage = { readonly sessions: SessionSummary[]; readonly cursor?: string }
