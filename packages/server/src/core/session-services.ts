import type { AgentAdapter } from '@parley/adapter-kit'
import { ParleyError, type SessionState } from '@parley/protocol'
import type { AgentLeftovers } from './agent-leftovers.ts'
import type { CheckedCalls } from './checked-calls.ts'
import type { Clock, Ids } from './clock.ts'
import type { CommandAnywhere } from './command-anywhere.ts'
import type { ConnectionSlots } from './connection-slots.ts'
import type { SessionEnvironments } from './environment.ts'
import type { FolderChanges } from './folder-changes.ts'
import type { Trusts } from './folder-trust.ts'
import type { WriteHandOff } from './hand-off-writer.ts'
import type { HostObserver } from './host-observer.ts'
import type { HostToolEnv, HostToolSet, TemporaryFolders } from './host-tool.ts'
import type { LedgerMethods } from './ledger.ts'
import type { Limits } from './limits.ts'
import type { OwnerFeed } from './owner-feed.ts'
import type { Persist } from './persist.ts'
import type { ProjectCommands } from './project-commands.ts'
import type { RuleBook } from './rule-book.ts'
import type { Sealer } from './seal-chain.ts'
import type { SessionFolder } from './session-folder.ts'
import type { SessionLog } from './session-log.ts'
import type { SessionNews } from './session-news.ts'
import type { SessionOwnership } from './session-ownership.ts'
import type { SessionStore } from './session-store.ts'
import type { SessionTools } from './session-tools.ts'
import type { SharedSettings } from './shared-settings.ts'
import type { SpareAgents } from './spare-agents.ts'
import type { StartedWith } from './start-conditions.ts'
import type { Worktrees } from './worktrees.ts'

/** The services that all sessions of a host share. Created once. */
export type SessionServices = {
  readonly store: SessionStore
  readonly ownership: SessionOwnership
  readonly leftovers: AgentLeftovers | undefined
  readonly shared: SharedSettings | undefined
  /** The place of the sessions' folders, if several processes share the store. */
  readonly place: string | undefined
  /** Set if that place is awaited: this node only records commands for the session, and does not start its agent. */
  readonly awaits?: string
  readonly ownerFeed: OwnerFeed | undefined
  readonly sessionFolder: SessionFolder | undefined
  readonly folderChanges: FolderChanges | undefined
  readonly worktrees: Worktrees | undefined
  readonly projectCommands: ProjectCommands | undefined
  readonly command: CommandAnywhere
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Limits
  /** Absent if the logs of this host have no seals. */
  readonly sealer: Sealer | undefined
  readonly recordInLedger: LedgerMethods['recordInLedger']
  readonly adapters: ReadonlyMap<string, AgentAdapter>
  readonly slots: ConnectionSlots
  readonly spares: SpareAgents
  readonly rules: RuleBook
  readonly trusts: Trusts
  readonly environments: SessionEnvironments
  readonly tools: SessionTools
  readonly toolEnv: HostToolEnv
  readonly temporaryFolders: TemporaryFolders
  readonly writeHandOff: WriteHandOff | undefined
  readonly observer: HostObserver
  readonly news: SessionNews
  readonly problem: (problem: { error: unknown; doing: string; sessionId?: string }) => void
}

/** The context that the parts of one live session share. */
export type SessionContext = {
  readonly services: SessionServices
  /** Undefined if the agent of a stored session is unknown here. The session can be read, but not continued. */
  readonly adapter: AgentAdapter | undefined
  readonly hostTools: HostToolSet
  readonly log: SessionLog
  readonly persist: Persist
  readonly checkedCalls: CheckedCalls
  /** Aborts when the session stops. Nothing new is started after that. */
  readonly stopping: AbortSignal
  readonly problem: (error: unknown, doing: string) => void
}

/** The start conditions that a new process of the session's agent would have now. */
export function startedWith(
  services: SessionServices,
  adapter: AgentAdapter,
  state: SessionState,
): StartedWith {
  const { requested: settings, mcpServers } = state
  const trusted = isTrusted(services, state)
  return { settings, trusted, ...(mcpServers && { mcpServers }), ...environmentFor(services, adapter, state) }
}

export function unknownAgentOf({ agent }: SessionState): ParleyError {
  const message = `The agent "${agent}" of this session is not available on this server.`
  return new ParleyError('agent_not_found', message)
}

/**
 * True if the folder of a session is trusted. A worktree inherits the trust of its source folder, as the log of the
 * session records the source; files in the worktree cannot claim another source.
 */
export function isTrusted(
  { trusts }: Pick<SessionServices, 'trusts'>,
  { cwd, worktree }: Pick<SessionState, 'cwd' | 'worktree'>,
  place?: string,
): boolean {
  return trusts(cwd, place) || (worktree !== undefined && !worktree.remote && trusts(worktree.source, place))
}

/** True if another process of the agent can continue the conversation. */
export function canResume({ adapter, log, services }: SessionContext): boolean {
  // The agent of an awaited place may be unknown here.
  const resumes = adapter ? adapter.capabilities.resume : services.awaits !== undefined
  return resumes && log.state.connection?.agentSessionId !== undefined
}

/**
 * The variables that the agent is started with. Variables that people set are passed only to agents with the
 * capability `environment`.
 */
export function environmentFor(
  { environments, leftovers, ownership }: SessionServices,
  adapter: AgentAdapter,
  session: Pick<SessionState, 'id' | 'cwd'>,
) {
  const given = adapter.capabilities.environment ? environments.variablesFor(session) : undefined
  const marked = ownership.mark === undefined ? undefined : leftovers?.variables(ownership.mark)
  return given || marked ? { env: { ...given, ...marked } } : {}
}
