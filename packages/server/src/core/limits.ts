/** How much and how long. Every number can be set by whoever makes the host. */
export type Limits = {
  /** Live connections at once; whoever idles longest gives way to one more. */
  readonly maxConnections: number
  /**
   * Agents that are kept started for the next session, beyond `maxConnections` and at most one of each kind; 0 means none. Only
   * agents that can be started without a session.
   */
  readonly maxSpares: number
  /** An agent that was kept for so long without a session is closed. */
  readonly spareMs: number
  /** An agent that waits in a folder for an announced session is closed after this: what it has read of the folder grows old. */
  readonly spareInFolderMs: number
  /** None is kept while the machine has less memory left than this. */
  readonly spareFreeBytes: number
  /** Prompts that may wait in one session. */
  readonly maxQueue: number
  /** How long an agent may take to start. */
  readonly connectMs: number
  /** An idle agent process is closed after this. */
  readonly idleCloseMs: number
  /** A process that only background tasks need is closed when nothing was heard of them for this long. */
  readonly backgroundMs: number
  /** An agent that works in the background, or in turns of its own, is closed after this much of it since the last prompt. */
  readonly backgroundTotalMs: number
  /** A turn that the agent began by itself ends after this silence, if the agent does not say when it ends. */
  readonly ownTurnQuietMs: number
  /** How long an interrupted agent may take to stop before it is closed by force. */
  readonly cancelGraceMs: number
  /** The same, when the host stops. */
  readonly stopGraceMs: number
  /** A request that waits longer keeps no process: its turn is parked. */
  readonly parkAfterMs: number
  /** A request that waits longer expires; 0 means never. */
  readonly expireAfterMs: number
  /** Open blocks are saved at most this often: what a kill can cost of an unfinished block. */
  readonly checkpointMs: number
  /** Sessions that nobody uses leave memory after this. */
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
  idleCloseMs: 10 * 60_000,
  backgroundMs: 2 * 60 * 60_000,
  backgroundTotalMs: 24 * 60 * 60_000,
  ownTurnQuietMs: 2_000,
  cancelGraceMs: 5_000,
  stopGraceMs: 2_000,
  parkAfterMs: 30 * 60_000,
  expireAfterMs: 0,
  checkpointMs: 1_000,
  unloadMs: 60_000,
}
