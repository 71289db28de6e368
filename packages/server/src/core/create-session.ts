import {
  type Actor,
  Command,
  ExpectedSession,
  emptyState,
  hasCode,
  NewSession,
  type NewSessionInput,
  ParleyError,
  type SessionState,
} from '@parley/protocol'
import type { AgentAdapter } from './agent-adapter.ts'
import { causedBy } from './caused-by.ts'
import { checked } from './checked.ts'
import { decide } from './decide.ts'
import { checkSettings, need } from './decision.ts'
import type { FolderTrust } from './folder-trust.ts'
import { sessionIdFrom } from './hash.ts'
import type { HostOptions } from './host-options.ts'
import { checkMcpServers, type HostTool, toolsFor } from './host-tool.ts'
import { LogWriter } from './log-writer.ts'
import { type OpenSessions, stopping } from './open-sessions.ts'
import { isSameSender, receiptHash } from './receipt-hash.ts'
import { environmentFor, type SessionServices } from './session-services.ts'
import type { StoredReceipt } from './session-store.ts'
import { resolvedServers, shownState } from './shown-secrets.ts'

export type SessionCreation = {
  create(input: NewSessionInput, own?: OwnParts): Promise<SessionState>
  /**
   * Announces that a session like this will be created soon. Its agent is started in the folder, if it can be started
   * without a session and `maxSpares` allows it. Resolves when the agent is ready, or at once if nothing is started.
   */
  prepareSession(input: ExpectedSession): Promise<void>
}

/** The parts of a new session that are not in its input. */
export type OwnParts = {
  /** Tools for this session's agent alone, in addition to the host's. They last as long as this host. */
  readonly tools?: readonly HostTool[]
  /** The actor that creates the session. */
  readonly by?: Actor
}

type CreationParts = {
  readonly services: SessionServices
  readonly sessions: OpenSessions
  readonly adapterFor: (agent: string) => AgentAdapter
  readonly trust: Pick<FolderTrust, 'trust'>
  readonly folders: Pick<HostOptions, 'checkFolder' | 'commitOf'>
}

export function createSessionCreation(parts: CreationParts): SessionCreation {
  const { services, sessions, adapterFor, folders } = parts
  return {
    async create(given, own) {
      if (sessions.closing) throw stopping()
      const input = checked(NewSession, given, 'The new session')
      const adapter = adapterFor(input.agent)
      const cwd = await folders.checkFolder(input.cwd)
      checkCreation(services, input, adapter, own?.tools)
      const id = input.commandId ? sessionIdFrom(input.commandId) : services.ids('ses')
      await refuseMissing(services, id, input, adapter)
      const startCommit = await folders.commitOf?.(cwd)
      const place = { cwd, ...(startCommit !== undefined && { startCommit }) }
      const first = firstEvents(services, { ...input, ...place }, id, adapter, own?.by)
      const isNew = await store(parts, { ...input, cwd }, first, own?.by)
      if (own?.tools) services.tools.offer(id, own.tools)
      if (!isNew) return shownState(await sessions.state(id))
      services.observer.recorded(first.events, first.state)
      if (sessions.closing) return shownState(first.state)
      const session = sessions.add(first.state)
      services.news.created(first.state)
      await session.recover()
      sessions.startAhead(id)
      return shownState(session.state)
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

/** Throws if the agent's program is missing, unless this command has already created the session. */
async function refuseMissing(
  services: SessionServices,
  id: string,
  input: NewSession,
  adapter: AgentAdapter,
): Promise<void> {
  const refusal = adapter.refusal?.()
  if (refusal && !(await isRepeated(services, id, input))) throw refusal
}

async function isRepeated(
  { store }: SessionServices,
  id: string,
  { commandId }: NewSession,
): Promise<boolean> {
  return commandId !== undefined && (await store.receipt(id, commandId)) !== undefined
}

/**
 * Stores the session with the trust and the variables that its agent needs. Returns false if the same command
 * has already created it.
 */
async function store(
  { services, trust }: CreationParts,
  input: NewSession,
  { state, stored: events }: LogWriter,
  by: Actor | undefined,
): Promise<boolean> {
  const { store, environments } = services
  const { id: sessionId, epoch, seq } = state
  const { commandId } = input
  const receipt = commandId && { commandId, hash: receiptHash(input, by), receipt: { commandId, seq } }
  if (input.trust && !(await isRepeated(services, sessionId, input)))
    await trust.trust(input.cwd, undefined, by)
  const hasEnv = input.env !== undefined && !(await store.load(sessionId))
  if (hasEnv) await environments.prepare(sessionId, input.env ?? {})
  try {
    await store.create({ sessionId, epoch, events, state, ...(receipt && { receipt }) })
    return true
  } catch (error) {
    if (hasEnv && !(await store.load(sessionId))) await environments.prepare(sessionId, {})
    if (!receipt || !hasCode(error, 'conflict')) throw error
    await expectSameCommand(services, sessionId, receipt)
    return false
  }
}

async function expectSameCommand(
  { store }: SessionServices,
  id: string,
  { commandId, hash }: StoredReceipt,
): Promise<void> {
  const before = await store.receipt(id, commandId)
  if (before && isSameSender(before.hash, hash)) return
  const message = `The commandId ${commandId} was used for another session. Choose a new one.`
  throw new ParleyError('conflict', message)
}

/** The first events, in one batch: a session and its first prompt are stored together or not at all. */
function firstEvents(
  { clock, ids, limits, sealer }: SessionServices,
  input: NewSession & { startCommit?: string },
  id: string,
  agent: AgentAdapter,
  by?: Actor,
): LogWriter {
  const { prompt, commandId, trust, env, ...creation } = input
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
