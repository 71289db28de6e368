import type {
  AgentInfo,
  CommandInput,
  FeedValue,
  FollowStatus,
  NewSessionInput,
  Receipt,
  SessionState,
  SessionSummary,
} from '@parley/protocol'

/**
 * The operations on sessions that the ACP face needs. The sessions are on a running server, reached as a client, or
 * in a host in this process. The error of a rejected call is a ParleyError.
 */
export type Access = {
  /** The agent's current state; undefined if there is no such agent. */
  agent(id: string): Promise<AgentInfo | undefined>
  create(input: NewSessionInput): Promise<SessionState>
  state(sessionId: string): Promise<SessionState>
  list(query: {
    readonly agent: string
    readonly cursor?: string
  }): Promise<{ sessions: SessionSummary[]; cursor?: string | undefined }>
  command(sessionId: string, command: CommandInput): Promise<Receipt>
  remove(sessionId: string): Promise<void>
  /**
   * The log after the cursor, then live items until the signal aborts. The implementation limits the number of items
   * that it buffers.
   */
  feed(sessionId: string, from: FeedFrom): AsyncIterable<AccessItem>
  /** Aborts when the editor may no longer use the sessions. The face is then closed. */
  readonly over?: AbortSignal
}

export type FeedFrom = { readonly after: number; readonly epoch: string; readonly signal: AbortSignal }

export type AccessItem =
  | FeedValue
  /**
   * The state of the connection to a server; a host in this process sends no status. `lost` means that the server is
   * gone and later items come from another server with the same sessions.
   */
  | { readonly type: 'status'; readonly status: FollowStatus | 'lost' }
