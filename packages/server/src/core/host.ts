import type {
  AgentInfo,
  CommandInput,
  NewRule,
  NewSessionInput,
  PermissionRule,
  Receipt,
  SessionDetail,
  SessionPatch,
  SessionState,
  SessionSummary,
  WaitingRequest,
} from '@parley/protocol'
import type { FeedReader } from './session-feed.ts'
import type { ReadRange, SessionPage, SessionQuery, StoredEvent } from './session-store.ts'

export type SessionChange = {
  readonly session: string
  readonly change: 'created' | 'changed' | 'deleted'
  readonly summary?: SessionSummary
}

/** Holds sessions, adapters and a store. Everything outside core speaks to this; whatever it refuses is a ParleyError. */
export type Host = {
  agents(): Promise<AgentInfo[]>

  create(input: NewSessionInput): Promise<SessionState>
  list(query: SessionQuery): Promise<SessionPage>
  state(sessionId: string): Promise<SessionState>
  /** The small part of the view and the last `tail` blocks. */
  detail(sessionId: string, tail: number): Promise<SessionDetail>
  patch(sessionId: string, patch: SessionPatch): Promise<SessionSummary>
  delete(sessionId: string): Promise<void>

  /** Resolves when the command is in the log. Checks its shape, so a face may pass on what it was sent. */
  command(sessionId: string, command: CommandInput): Promise<Receipt>
  /** A page of the log. ParleyError `conflict` for a cursor beyond the head or of another epoch. */
  read(
    sessionId: string,
    range: ReadRange & { epoch?: string },
  ): Promise<{ events: StoredEvent[]; head: number; epoch: string }>
  /** Replays what follows `after`, then goes on live, without gap or repeat. The function returned ends it. */
  follow(sessionId: string, from: { after?: number; epoch?: string }, reader: FeedReader): Promise<() => void>

  waiting(): Promise<WaitingRequest[]>
  rules(): Promise<PermissionRule[]>
  addRule(rule: NewRule): Promise<PermissionRule>
  removeRule(ruleId: string): Promise<void>

  /** Every change that the list of sessions should show. The function returned ends it. */
  onSessionChanged(listener: (change: SessionChange) => void): () => void
  /** Parks or ends what runs, and closes every connection. The store is the caller's to close. */
  close(): Promise<void>
}
