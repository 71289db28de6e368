/** Limits of a host. The creator of the host can set each of them. */
export type Limits = {
  /**
   * The maximum number of live connections. To open another, the host closes the connection that has been idle longest.
   */
  readonly maxConnections: number
  /**
   * The maximum number of spares for the next sessions, in addition to `maxConnections`; 0 means none. At most one
   * spare is kept of each agent, and only of agents that can be started without a session.
   */
  readonly maxSpares: number
  /** A spare is closed after this time. */
  readonly spareMs: number
  /**
   * A spare that has changed to the folder of an announced session (`prepareSession`) is closed after this time if
   * the session is not created, because the files that it read in the folder become outdated.
   */
  readonly spareInFolderMs: number
  /** No spare is kept while the machine has less free memory than this. */
  readonly spareFreeBytes: number
  /** The maximum number of prompts in the queue of one session. */
  readonly maxQueue: number
  readonly connectMs: number
  /** The time limit for an answer of an agent that is asked aside. */
  readonly asideMs: number
  /** An idle agent process is closed after this time. */
  readonly idleCloseMs: number
  /** A process that only background tasks need is closed after this time without an event. */
  readonly backgroundMs: number
  /**
   * An agent that works in the background, or in turns of its own, is closed when the total of such work since the
   * last prompt reaches this time.
   */
  readonly backgroundTotalMs: number
  /** A turn that the agent started by itself ends after this silence, if the agent does not report its end. */
  readonly ownTurnQuietMs: number
  /** The time limit for an interrupted agent to stop. After this time, it is closed by force. */
  readonly cancelGraceMs: number
  /** Like `cancelGraceMs`, while the host stops. */
  readonly stopGraceMs: number
  /** A turn whose request waits longer than this is parked: its process is closed. */
  readonly parkAfterMs: number
  /** A request that waits longer than this expires; 0 means never. */
  readonly expireAfterMs: number
  /** The command that prepares a worktree is ended after this time. */
  readonly setupMs: number
  /** The command that checks the work of a session is ended after this time. */
  readonly checkMs: number
  /** The minimum time between two checkpoints of open blocks: a kill loses at most this much of an unfinished block. */
  readonly checkpointMs: number
  /** Unused sessions are removed from memory after this time. */
  readonly unloadMs: number
}

export const defaultLimits: Limits = {
  maxConnections: 16,
  maxSpares: 0,
  spareMs: 15 * 60_000,
  spareInFolderMs: 2 * 60_000,
  spareFreeBytes: 2 ** 30,
  maxQueue: 100,
  connectMs: 60_000,
  asideMs: 90_000,
  idleCloseMs: 10 * 60_000,
  backgroundMs: 2 * 60 * 60_000,
  backgroundTotalMs: 24 * 60 * 60_000,
  ownTurnQuietMs: 2_000,
  cancelGraceMs: 5_000,
  stopGraceMs: 2_000,
  parkAfterMs: 30 * 60_000,
  expireAfterMs: 0,
  setupMs: 15 * 60_000,
  checkMs: 15 * 60_000,
  checkpointMs: 1_000,
  unloadMs: 60_000,
}
