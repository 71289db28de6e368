import type { AgentAdapter } from './agent-adapter.ts'
import type { AgentKeeper } from './agent-keeper.ts'
import type { AgentInstaller } from './agent-list.ts'
import type { Clock, Ids } from './clock.ts'
import type { HostObserver } from './host-observer.ts'
import type { HostTool, TemporaryFolders } from './host-tool.ts'
import type { HostToolEnv } from './host-tool-desk.ts'
import type { Limits } from './limits.ts'
import type { SessionStore } from './session-store.ts'

export type HostOptions = {
  readonly adapters: readonly AgentAdapter[]
  readonly store: SessionStore
  /** The folder as the session will keep it, or a ParleyError if it cannot be worked in. */
  readonly checkFolder: (cwd: string) => Promise<string>
  /** The commit that a folder stands at, kept with a new session. It never rejects. */
  readonly commitOf?: (folder: string) => Promise<string | undefined>
  readonly clock?: Clock
  readonly ids?: Ids
  readonly limits?: Partial<Limits>
  /** The memory that is left on this machine; as the system tells it unless given. */
  readonly freeBytes?: () => number
  /** What agents can call beside their own tools; made with `defineTool`. */
  readonly tools?: readonly HostTool[]
  /** The environment that a tool is run with; empty unless given. */
  readonly toolEnv?: HostToolEnv
  /** Where tools keep files that nobody keeps. */
  readonly temporaryFolders: TemporaryFolders
  /** Without it, people install agents themselves. */
  readonly agentInstaller?: AgentInstaller
  /** Without it, agents are as they were given: nobody adds one or sets a key while the host runs. */
  readonly agentKeeper?: AgentKeeper
  /** When what a restart left behind is looked at. On use: nothing starts by itself; each session waits for a command. */
  readonly recover?: 'at-start' | 'on-use'
  /** Told of all that is recorded here; for telemetry. */
  readonly observer?: HostObserver
  /** Told of what goes wrong where no caller could be told. */
  readonly problem?: (problem: { error: unknown; doing: string; sessionId?: string }) => void
}
