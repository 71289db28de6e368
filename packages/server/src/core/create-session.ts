import type { AgentAdapter } from '@parley/adapter-kit'
import {
  type Actor,
  Command,
  defined,
  ExpectedSession,
  emptyState,
  hasCode,
  NewSession,
  type NewSessionInput,
  ParleyError,
  type PlannedWorktree,
  promptText,
  type RoundPart,
  type SessionState,
} from '@parley/protocol'
import { causedBy } from './caused-by.ts'
import { checked } from './checked.ts'
import type { Continued, HandOffs } from './continue-session.ts'
import { decide } from './decide.ts'
import { checkSettings, need } from './decision.ts'
import type { FolderTrust } from './folder-trust.ts'
import { sessionIdFrom } from './hash.ts'
import type { HostOptions } from './host-options.ts'
import type { HostSessions } from './host-sessions.ts'
import { checkMcpServers, type HostTool, toolsFor } from './host-tool.ts'
import { LogWriter } from './log-writer.ts'
import type { OpenSessions } from './open-sessions.ts'
import { isSameSender, receiptHash } from './receipt-hash.ts'
import { attemptSessionId } from './round-attempts.ts'
import { stopping } from './session-refusal.ts'
import { environmentFor, type SessionServices } from './session-services.ts'
import type { StoredReceipt } from './session-store.ts'
import { settingsFor, sharedWorktree, worktreesOf } from './session-worktrees.ts'
import { resolvedServers, shownState } from './shown-secrets.ts'
import type { AskedWorktree } from './worktrees.ts'

export type SessionCreation = HandOffs & {
  /** Refuses a session that could not be created, whatever the state of its agent. Nothing is stored. */
  expectCreatable(input: NewSessionInput): Promise<void>
  create(input: NewSessionInput, own?: OwnParts): Promise<SessionState>
  /**
   * Announces that a session like this will be created soon. Its agent is started in the folder, if it can be started
   * without a session and `maxSpares` allows it. Resolves when the agent is ready, or at once if nothing is started.
   */
  prepareSession(input: ExpectedSession): Promise<void>
}

/** The parts of a new session that are not in its input. */
export type OwnParts = {
  /**
   * Tools for the agent of this session alone, in addition to the host's tools. They are dropped when the host
   * closes.
   */
  readonly tools?: readonly HostTool[]
  readonly by?: Actor
  /**
   * True if the actor may choose a mode in which agents do not ask. If not, the session does not inherit such a mode.
   * The default is true.
   */
  readonly mayInheritWideMode?: boolean
  /**
   * Sends commands to other sessions, whose owner may be another process. By default, it sends them to sessions of
   * this host.
   */
  readonly command?: HostSessions['command']
  /** The round of which the session is an attempt. */
  readonly round?: RoundPart
  /** The commit at which the worktree begins, and the suffix of the name of its branch. */
  readonly attempt?: Pick<AskedWorktree, 'at' | 'suffix'>
}

type CreationParts = {
  readonly services: SessionServices
  readonly sessions: OpenSessions
  readonly adapterFor: (agent: string) => AgentAdapter
  readonly trust: Pick<FolderTrust, 'trust'>
  readonly folders: Pick<HostOptions, 'checkFolder' | 'commitOf' | 'folderFacts' | 'projectOf'>
  readonly hostSessions: Pick<HostSessions, 'command' | 'list' | 'state'>
}

export function createSessionCreation(parts: CreationParts): SessionCreation {
  const { services, sessions, adapterFor, folders, hostSessions } = parts
  const continuing = async () => {
    const { createContinuing } = await import('./continue-session.ts')
    return createContinuing({ ...parts, state: hostSessions.state, folderFacts: folders.folderFacts })
  }

  async function make(asked: NewSession, id: string, receipt: Receipt, own?: OwnParts) {
    const adapter = adapterFor(asked.agent)
    const input = asked.from
      ? await (await continuing()).continued(asked, asked.from, {
          agent: adapter,
          mayWiden: own?.mayInheritWideMode ?? true,
        })
      : { ...asked, cwd: asked.cwd ?? '', mode: asked.mode ?? 'ask' }
    const cwd = await folders.checkFolder(input.cwd)
    checkCreation(services, input, adapter, own?.tools)
    // An attempt whose agent cannot start fails alone, when its turn starts.
    const refusal = own?.round ? undefined : adapter.refusal?.()
    if (refusal) throw refusal
    const project = (await folders.projectOf?.(cwd))?.project
    const planned = await planFor(parts, input, { id, cwd, project, ...own?.attempt })
    const startCommit = planned?.worktree.base ?? (await folders.commitOf?.(cwd))
    const { worktree: _, ...fields } = { ...input, cwd, ...planned }
    const facts = defined({ project, startCommit, worktree: planned?.worktree, round: own?.round })
    const first = firstEvents(services, { ...fields, ...facts }, id, adapter, own?.by)
    const isNew = await store(parts, { ...input, cwd }, first, receipt, own?.by)
    if (own?.tools) services.tools.offer(id, own.tools)
    if (!isNew) return sessions.state(id)
    services.observer.recorded(first.events, first.state)
    if (sessions.closing) return first.state
    const session = sessions.add(first.state)
    services.news.created(first.state)
    await session.recover()
    sessions.startAhead(id)
    return session.state
  }

  return {
    expectCreatable: async (given) => expectCreatable(parts, given),
    previewHandOff: async (sessionId, query) => (await continuing()).previewHandOff(sessionId, query),
    async create(given, own) {
      if (sessions.closing) throw stopping()
      const asked = checked(NewSession, given, 'The new session')
      const { commandId, from } = asked
      const id = idFor(services, commandId, own)
      const receipt = commandId ? { commandId, hash: creationHash(asked, own) } : undefined
      const before = await repeated(parts, id, receipt)
      if (before && own?.tools) services.tools.offer(id, own.tools)
      const state = before ?? (await make(asked, id, receipt, own))
      const { command = hostSessions.command, by } = own ?? {}
      if (from) await (await continuing()).record(command, { sessionId: from.sessionId, into: id, by })
      return shownState(state)
    },
    async prepareSession(given) {
      if (sessions.closing) throw stopping()
      const input = checked(ExpectedSession, given, 'The expected session')
      const adapter = adapterFor(input.agent)
      const cwd = await folders.checkFolder(input.cwd)
      checkSettings(input, { agent: adapter })
      const { requested: settings } = firstEvents(services, { ...input, cwd }, '', adapter).state
      const tools = adapter.capabilities.hostTools ? toolsFor(services.tools.get(''), settings) : []
      await services.spares.expectIn(adapter, {
        cwd,
        settings,
        trusted: services.trusts(cwd),
        ...environmentFor(services, adapter, { id: '', cwd }),
        ...(tools.length > 0 && { hostTools: { tools } }),
      })
    },
  }
}

type PlannedFor = NonNullable<OwnParts['attempt']> & {
  readonly id: string
  readonly cwd: string
  readonly project: string | undefined
}

/** Plans the worktree that the input requests, or returns the worktree of the session that this one continues. */
async function planFor(
  { services, hostSessions }: CreationParts,
  { worktree: asked, from, prompt, title }: Continued,
  { id: sessionId, cwd, project, ...attempt }: PlannedFor,
): Promise<{ worktree: PlannedWorktree; cwd: string } | undefined> {
  if (asked) {
    if (project === undefined)
      throw new ParleyError('not_supported', 'This server does not support worktrees.')
    const { copy = [] } = await settingsFor(services, project)
    const words = title ?? (typeof prompt === 'string' ? prompt : promptText(prompt ?? []))
    const plan = await worktreesOf(services).plan(cwd, {
      ...{ ...asked, ...attempt },
      project,
      sessionId,
      words,
      wanted: { copy },
    })
    const { isOfRemote } = await import('./remote-worktrees.ts')
    if (plan.worktree.remote || !(await isOfRemote(services, project, plan.worktree))) return plan
    const { copy: _, ...worktree } = plan.worktree
    return { ...plan, worktree: { ...worktree, remote: true } }
  }
  const source = from && (await hostSessions.state(from.sessionId))
  if (!source?.worktree || source.cwd !== cwd) return undefined
  return { worktree: sharedWorktree(source.id, source.worktree), cwd }
}

function expectCreatable({ services, adapterFor }: CreationParts, given: NewSessionInput): void {
  const input = checked(NewSession, given, 'The new session')
  const { worktree: _, ...fields } = input
  const adapter = adapterFor(input.agent)
  checkCreation(services, input, adapter, undefined)
  firstEvents(services, { ...fields, cwd: '', mode: input.mode ?? 'ask' }, '', adapter)
}

/** Refuses input that the agent or the host does not support, before anything is stored. */
function checkCreation(
  { environments, tools }: SessionServices,
  input: NewSession,
  agent: AgentAdapter,
  own: readonly HostTool[] | undefined,
): void {
  checkSettings(input, { agent })
  if (input.mcpServers) need({ agent }, 'mcp')
  resolvedServers(input.mcpServers ?? {})
  if (input.env) need({ agent }, 'environment')
  environments.expectFree(input.env ?? {})
  checkMcpServers(input.mcpServers, input.options)
  if (own && own.length > 0) need({ agent }, 'hostTools')
  if (own) tools.check(own)
}

/** Identifies the command that creates a session; undefined if it has no id. */
type Receipt = Pick<StoredReceipt, 'commandId' | 'hash'> | undefined

/** The hash of the creation command. In receipts of earlier versions, a missing mode is stored as `ask`. */
function creationHash(asked: NewSession, own: OwnParts | undefined): string {
  const { round, by } = own ?? {}
  const hashed = asked.from ? asked : { ...asked, mode: asked.mode ?? 'ask' }
  return receiptHash(round ? { ...hashed, round } : hashed, by)
}

function idFor({ ids }: SessionServices, commandId: string | undefined, own: OwnParts | undefined): string {
  if (own?.round) return attemptSessionId(own.round)
  return commandId ? sessionIdFrom(commandId) : ids('ses')
}

/**
 * Returns the session that this command has already created. Throws ParleyError `conflict` if another command created
 * it.
 */
async function repeated(
  { services: { store }, sessions }: CreationParts,
  id: string,
  receipt: Receipt,
): Promise<SessionState | undefined> {
  const before = receipt && (await store.receipt(id, receipt.commandId))
  if (!receipt || !before) return undefined
  if (isSameSender(before.hash, receipt.hash)) return sessions.state(id)
  const message = `The commandId ${receipt.commandId} was used for another session. Choose a new one.`
  throw new ParleyError('conflict', message)
}

/**
 * Stores the session with the trust and the variables that its agent needs. Returns false if the same command
 * has already created it.
 */
async function store(
  parts: CreationParts,
  input: Continued,
  { state, stored: events }: LogWriter,
  receipt: Receipt,
  by: Actor | undefined,
): Promise<boolean> {
  const { store, environments } = parts.services
  const { id: sessionId, epoch, seq } = state
  if (input.trust) await parts.trust.trust(input.cwd, undefined, by)
  const hasEnv = input.env !== undefined && !(await store.load(sessionId))
  if (hasEnv) await environments.prepare(sessionId, input.env ?? {})
  const stored = receipt && { ...receipt, receipt: { commandId: receipt.commandId, seq } }
  try {
    await store.create({ sessionId, epoch, events, state, ...(stored && { receipt: stored }) })
    return true
  } catch (error) {
    if (hasEnv && !(await store.load(sessionId))) await environments.prepare(sessionId, {})
    if (!receipt || !hasCode(error, 'conflict')) throw error
    if (!(await repeated(parts, sessionId, receipt))) throw error
    return false
  }
}

/** The first events, in one batch: a session and its first prompt are stored together or not at all. */
function firstEvents(
  { clock, ids, limits, sealer }: SessionServices,
  input: Omit<Continued, 'model' | 'worktree'> & {
    readonly model?: string | undefined
    readonly startCommit?: string
    readonly project?: string
    readonly worktree?: PlannedWorktree
    readonly round?: RoundPart
  },
  id: string,
  agent: AgentAdapter,
  by?: Actor,
): LogWriter {
  const { prompt, commandId, trust, env, from, context: text, ...creation } = input
  const now = clock.now()
  const writer = new LogWriter(emptyState(id, ids('epo')), sealer)
  writer.add(now, ...causedBy(by, [{ type: 'session.created', ...creation }]))
  if (prompt === undefined) return writer
  const words = typeof prompt === 'string' ? { text: prompt } : { parts: prompt }
  const command = Command.parse({ type: 'prompt.submit', commandId: 'first', ...words })
  const context = { now, ids, agent, maxQueue: limits.maxQueue, rules: [] }
  writer.add(now, ...causedBy(by, decide(writer.state, command, context).drafts))
  return writer
}
