import type { AgentAdapter } from '@parley/adapter-kit'
import type { AdapterFailure } from '@parley/protocol'
import type { AgentKeeper } from './agent-keeper.ts'
import type { AgentLeftovers } from './agent-leftovers.ts'
import type { AgentInstaller } from './agent-list.ts'
import type { Clock, Ids } from './clock.ts'
import type { CommandAnywhere } from './command-anywhere.ts'
import type { FolderChanges } from './folder-changes.ts'
import type { FolderFacts, WriteHandOff } from './hand-off-writer.ts'
import type { HostObserver } from './host-observer.ts'
import type { HostTool, HostToolEnv, TemporaryFolders } from './host-tool.ts'
import type { LedgerStore } from './ledger-store.ts'
import type { Limits } from './limits.ts'
import type { OwnerFeed } from './owner-feed.ts'
import type { ProjectCommands } from './project-commands.ts'
import type { Sealer } from './seal-chain.ts'
import type { SessionFolder } from './session-folder.ts'
import type { SessionOwnership } from './session-ownership.ts'
import type { SessionSearch } from './session-search.ts'
import type { SessionStore } from './session-store.ts'
import type { SharedSettings } from './shared-settings.ts'
import type { Worktrees } from './worktrees.ts'

export type HostOptions = {
  readonly adapters: readonly AgentAdapter[]
  /** Configured adapters that were not loaded. They are listed beside the agents, for administrators. */
  readonly adapterFailures?: readonly AdapterFailure[]
  readonly store: SessionStore
  /** Decides which sessions this host may write. By default all, because no other process can open the store. */
  readonly ownership?: SessionOwnership
  /** Ends agent processes that a former owner of a session has left running on this machine. */
  readonly leftovers?: AgentLeftovers
  /** Shares rules, trust and variables with the other processes on the store. Omitted if there are none. */
  readonly shared?: SharedSettings
  /** Follows sessions that other processes own. Without it, only their stored events are read. */
  readonly ownerFeed?: OwnerFeed
  /** Returns the folder as the session will store it. Rejects with a ParleyError if no session can work in it. */
  readonly checkFolder: (cwd: string) => Promise<string>
  /** Returns the HEAD commit of a folder, which is stored with a new session. Never rejects. */
  readonly commitOf?: (folder: string) => Promise<string | undefined>
  /** Returns facts about a folder for hand-offs. Never rejects. */
  readonly folderFacts?: (folder: string) => Promise<FolderFacts>
  /** Writes hand-offs. Without it, no session can be handed over. */
  readonly writeHandOff?: WriteHandOff
  /** Returns the project of a folder, which is a real path. Without it, no project is recorded. */
  readonly projectOf?: (folder: string) => Promise<{
    readonly project: string
    /** True if the folder is the top folder of a work tree, or in no repository. */
    readonly isRoot: boolean
  }>
  /**
   * Returns the checked-out branch of a folder. It must not start a process, because lists call it for many folders.
   */
  readonly branchOf?: (folder: string) => Promise<string | undefined>
  /** Takes and restores snapshots of session folders. Without it, no snapshots are taken. */
  readonly sessionFolder?: SessionFolder | undefined
  /**
   * Changes the folders and repositories of sessions for people. Without it, the commands for such changes are
   * refused.
   */
  readonly folderChanges?: FolderChanges | undefined
  /** Makes and removes worktrees for sessions. Without it, no worktree can be made. */
  readonly worktrees?: Worktrees | undefined
  /** Runs the commands of projects. Without it, no work can be checked. */
  readonly projectCommands?: ProjectCommands | undefined
  /** By default, only sessions of this host can be reached. */
  readonly commandAnywhere?: CommandAnywhere | undefined
  readonly clock: Clock
  readonly ids: Ids
  readonly limits?: Partial<Limits>
  readonly freeBytes: () => number
  /** Signs the seals of logs and the entries of the ledger. Logs have seals only if `ledger` is set too. */
  readonly sealer?: Sealer | undefined
  readonly ledger?: LedgerStore | undefined
  /** Tools of the host that agents can call in addition to their own; made with `defineTool`. */
  readonly tools?: readonly HostTool[]
  /** The environment variables that a tool gets; empty by default. */
  readonly toolEnv?: HostToolEnv
  /** The folders for temporary files of tools. */
  readonly temporaryFolders: TemporaryFolders
  /** Installs agents for people. Without it, Parley cannot install agents. */
  readonly agentInstaller?: AgentInstaller
  /**
   * Stores agents and keys that people add. Without it, the list of agents is fixed: nobody can add an agent or set a
   * key while the host runs.
   */
  readonly agentKeeper?: AgentKeeper
  /** The time at which sessions are recovered after a restart. With `on-use`, each session waits for a command. */
  readonly recover?: 'at-start' | 'on-use'
  /** Searches the text of all sessions. Without it, searches are refused. */
  readonly search?: SessionSearch['search']
  /** Called with everything that this host records; for telemetry. */
  readonly observer?: HostObserver
  /** Called with errors that cannot be reported to a caller. */
  readonly problem?: (problem: { error: unknown; doing: string; sessionId?: string }) => void
}
