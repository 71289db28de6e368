import type {
  AgentInfo,
  CommandInput,
  Delta,
  NewSessionInput,
  Receipt,
  SessionEvent,
  SessionState,
  SessionSummary,
  UnknownEvent,
} from '@parley/protocol'

/**
 * What the face needs of the sessions it shows, wherever they are: a server that runs, reached as a client, or a host in
 * this process. Every verb rejects with a ParleyError.
 */
export type Access = {
  /** As it is found now; nothing if there is no such agent. */
  agent(id: string): Promise<AgentInfo | undefined>
  create(input: NewSessionInput): Promise<SessionState>
  state(sessionId: string): Promise<SessionState>
  list(query: {
    readonly agent: string
    readonly cursor?: string
  }): Promise<{ sessions: SessionSummary[]; cursor?: string | undefined }>
  command(sessionId: string, command: CommandInput): Promise<Receipt>
  remove(sessionId: string): Promise<void>
  /** The log after the cursor, then what comes; the signal ends it. Only as much waits in it as it bounds itself. */
  feed(sessionId: string, from: FeedFrom): AsyncIterable<AccessItem>
}

export type FeedFrom = { readonly after: number; readonly epoch: string; readonly signal: AbortSignal }

export type AccessItem =
  | { readonly type: 'event'; readonly event: SessionEvent | UnknownEvent }
  | { readonly type: 'delta'; readonly delta: Delta }
  | { readonly type: 'native'; readonly native: unknown }
  /** The log is another than the cursor was of: all of it follows. */
  | { readonly type: 'reset'; readonly epoch: string }
  | { readonly type: 'caught-up'; readonly seq: number }
  /** Of a server that is reached over a wire. Lost: it is gone; what follows is from another one on the same sessions. */
  | {
      readonly type: 'status'
      readonly status: 'connecting' | 'replaying' | 'live' | 'reconnecting' | 'lost'
    }
