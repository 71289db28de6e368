import { ParleyError } from '@parley/protocol'
import { type AgentList, createAgentList } from './agent-list.ts'
import { createConnectionSlots } from './connection-slots.ts'
import type { createSessionCreation, SessionCreation } from './create-session.ts'
import type { Environments } from './environment.ts'
import { createFeedLoops, type FeedLoops } from './feed-loop.ts'
import type { FolderTrust } from './folder-trust.ts'
import { bothObservers, guardedObserver } from './host-observer.ts'
import type { HostOptions } from './host-options.ts'
import { createHostSessions, type HostSessions } from './host-sessions.ts'
import { createHostSettings } from './host-settings.ts'
import type { TemporaryFolders } from './host-tool.ts'
import type { createHostWorktrees, HostWorktrees } from './host-worktrees.ts'
import type { createImporting, Importing } from './import-session.ts'
import { createLedger, type Ledger, type LedgerMethods, noLedger } from './ledger.ts'
import { defaultLimits, type Limits } from './limits.ts'
import type { createModelCatalogue, ModelCatalogue } from './model-catalogue.ts'
import { OpenSessions } from './open-sessions.ts'
import { createProjects, type Projects } from './projects.ts'
import type { createRounds, Rounds } from './rounds.ts'
import type { Rules } from './rule-book.ts'
import type { Sealer } from './seal-chain.ts'
import { createSessionNews, type SessionNews } from './session-news.ts'
import { createSoleOwnership } from './session-ownership.ts'
import type { SessionSearch } from './session-search.ts'
import type { SessionServices } from './session-services.ts'
import { createSessionTools } from './session-tools.ts'
import { createSpareAgents } from './spare-agents.ts'

/** Holds sessions, adapters and a store. All code outside core uses this interface; every refusal is a ParleyError. */
export type Host = AgentList &
  ModelCatalogue &
  FolderTrust &
  Environments &
  Importing &
  Rules &
  SessionCreation &
  HostSessions &
  HostWorktrees &
  FeedLoops &
  LedgerMethods &
  Projects &
  Rounds &
  SessionSearch &
  Pick<SessionNews, 'onSessionChanged'> & {
    /** Recovers sessions that have work left and whose owner is gone. Returns their number. */
    adopt(): Promise<number>
    /** Parks or ends running turns, and closes every connection. The caller closes the store. */
    close(): Promise<void>
  }

/**
 * Opens the sessions of the store for use. Unless `recover` is `on-use`, sessions that a restart interrupted are
 * recovered before this resolves.
 */
export async function createCoreHost(options: HostOptions): Promise<Host> {
  const { store, clock, ids, temporaryFolders, problem = () => undefined } = options
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const adapters = new Map(options.adapters.map((adapter) => [adapter.id, adapter]))
  const refreshSessions = () => sessions.each((session) => session.refresh())
  const { agentInstaller: installer, agentKeeper: keeper, adapterFailures: failures, freeBytes } = options
  const agentsChanged = () => {
    spares.refresh()
    refreshSessions()
  }
  const agents = createAgentList({ adapters, failures, clock, installer, keeper, changed: agentsChanged })
  const { adapterFor } = agents
  const spareProblem = (error: unknown, doing: string) => problem({ error, doing })
  const spares = createSpareAgents({ limits, clock, adapters, freeBytes, problem: spareProblem })
  const trustChanged = () => {
    spares.leaveFolders()
    refreshSessions()
  }
  const { trust, environments, rules } = await createHostSettings(options, {
    adapterFor,
    trustChanged,
    adapters: () => adapters.values(),
    stateOf: (id) => sessions.state(id),
    environmentChanged: refreshSessions,
  })
  const news = createSessionNews(problem, options.ownership?.place)
  const { ledger, sealer } = sealing(options, problem)
  const services: SessionServices = {
    ...{ store, clock, ids, limits, adapters, spares, rules, environments, temporaryFolders, news, sealer },
    ...portsOf(options),
    command: (...given) => (options.commandAnywhere ?? hostSessions.command)(...given),
    ...{ recordInLedger: ledger.methods.recordInLedger, place: options.ownership?.place },
    trusts: trust.trusts,
    ownership: options.ownership ?? createSoleOwnership(store),
    ownerFeed: options.ownerFeed,
    slots: createConnectionSlots(limits.maxConnections),
    tools: createSessionTools(options.tools),
    toolEnv: options.toolEnv ?? (() => ({})),
    writeHandOff: options.writeHandOff,
    observer: guardedObserver(bothObservers(agents.observer, options.observer), problem),
    problem,
  }
  const sessions = new OpenSessions(services)
  services.ownership.onLost(() => sessions.abandonAll())
  const hostSessions = createHostSessions(services, sessions, adapterFor)
  const projects = await createProjects({ ...options, place: services.place })
  const parts = { services, sessions, hostSessions, adapterFor, folders: options }
  if (options.recover !== 'on-use') await sessions.recoverAll()

  return {
    ...agents.list,
    ...lazyModels({ store, clock, agents: agents.list.agents, adapters }),
    ...trust.methods,
    ...environments.methods,
    ...lazyImporting(parts),
    ...rules.methods,
    ...lazyCreating({ ...parts, trust: trust.methods }),
    ...hostSessions,
    ...lazyWorktrees({ services, folders: options, state: hostSessions.state }),
    ...ledger.methods,
    ...projects,
    search: options.search ?? noSearch,
    ...createFeedLoops(hostSessions.follow),
    onSessionChanged: news.onSessionChanged,
    adopt: () => sessions.recoverAll(),
    close: () => closeHost(sessions, agents, spares, temporaryFolders).finally(() => ledger.close()),
  }
}

function portsOf(options: HostOptions) {
  const { sessionFolder, folderChanges, worktrees, projectCommands, shared, leftovers } = options
  return { sessionFolder, folderChanges, worktrees, projectCommands, shared, leftovers }
}

/** The ledger, and a sealer that wakes the ledger with each signature, because every seal is recorded in the ledger. */
function sealing(
  { ledger: store, sealer, clock, shared }: HostOptions,
  problem: NonNullable<HostOptions['problem']>,
): { readonly ledger: Ledger; readonly sealer: Sealer | undefined } {
  if (!store || !sealer) return { ledger: noLedger, sealer: undefined }
  const ledger = createLedger({ store, sealer, clock, isShared: shared !== undefined, problem })
  const sign = (text: string) => {
    ledger.wake()
    return sealer.sign(text)
  }
  return { ledger, sealer: { ...sealer, sign } }
}

async function noSearch(): Promise<never> {
  throw new ParleyError('not_supported', 'This server has no search index.')
}

async function closeHost(
  sessions: OpenSessions,
  agents: ReturnType<typeof createAgentList>,
  spares: ReturnType<typeof createSpareAgents>,
  temporaryFolders: TemporaryFolders,
): Promise<void> {
  sessions.shut()
  await agents.close()
  await Promise.all([sessions.stopAll(), spares.close()])
  await temporaryFolders.removeAll()
}

/** The functions `lazy…` load the code of a part on first use, because a server does not need it at its start. */
function lazyImporting(parts: Parameters<typeof createImporting>[0]): Importing {
  const loaded = once(async () => (await import('./import-session.ts')).createImporting(parts))
  return {
    conversations: async (agent, query) => (await loaded()).conversations(agent, query),
    importConversation: async (given, by) => (await loaded()).importConversation(given, by),
  }
}

function lazyCreation(parts: Parameters<typeof createSessionCreation>[0]): SessionCreation {
  const loaded = once(async () => {
    const code = await Promise.all([import('./create-session.ts'), parts.sessions.loadCode()])
    return code[0].createSessionCreation(parts)
  })
  return {
    expectCreatable: async (input) => (await loaded()).expectCreatable(input),
    create: async (input, own) => (await loaded()).create(input, own),
    prepareSession: async (input) => (await loaded()).prepareSession(input),
    previewHandOff: async (sessionId, query) => (await loaded()).previewHandOff(sessionId, query),
  }
}

function lazyCreating(parts: Parameters<typeof createSessionCreation>[0]): SessionCreation & Rounds {
  const creation = lazyCreation(parts)
  const { services, hostSessions } = parts
  return { ...creation, ...lazyRounds({ services, creation, hostSessions }) }
}

function lazyRounds(parts: Parameters<typeof createRounds>[0]): Rounds {
  const loaded = once(async () => (await import('./rounds.ts')).createRounds(parts))
  return {
    createRound: async (input, own) => (await loaded()).createRound(input, own),
    round: async (roundId, sees) => (await loaded()).round(roundId, sees),
    rounds: async (query, sees) => (await loaded()).rounds(query, sees),
    attemptFiles: async (roundId, sees) => (await loaded()).attemptFiles(roundId, sees),
  }
}

function lazyWorktrees(parts: Parameters<typeof createHostWorktrees>[0]): HostWorktrees {
  const loaded = once(async () => (await import('./host-worktrees.ts')).createHostWorktrees(parts))
  return {
    offerWorktree: async (folder) => (await loaded()).offerWorktree(folder),
    worktrees: async () => (await loaded()).worktrees(),
    worktree: async (sessionId) => (await loaded()).worktree(sessionId),
    removeOrphan: async (name, branch) => (await loaded()).removeOrphan(name, branch),
  }
}

function lazyModels(parts: Parameters<typeof createModelCatalogue>[0]): ModelCatalogue {
  const loaded = once(async () => (await import('./model-catalogue.ts')).createModelCatalogue(parts))
  return { models: async () => (await loaded()).models() }
}

function once<Result>(load: () => Promise<Result>): () => Promise<Result> {
  let loading: Promise<Result> | undefined
  return () => {
    loading ??= load()
    return loading
  }
}
