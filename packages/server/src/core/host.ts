export type { HostOptions } from './host-options.ts'

import {
  applyToState,
  Command,
  type CommandInput,
  type EventDraft,
  ExpectedSession,
  emptyState,
  NewRule,
  NewSession,
  type NewSessionInput,
  ParleyError,
  type PermissionRule,
  type Receipt,
  type RewindPreview,
  type SessionDetail,
  type SessionEvent,
  SessionPatch,
  type SessionState,
  type SessionSummary,
  summarise,
  type WaitingRequest,
} from '@parley/protocol'
import type { AgentAdapter } from './agent-adapter.ts'
import { currentAdapter } from './agent-keeper.ts'
import { type AgentList, createAgentList } from './agent-list.ts'
import { checked } from './checked.ts'
import type { ForkCopy } from './command-desk.ts'
import { createConnectionSlots } from './connection-slots.ts'
import { checkSettings, decide, need } from './decide.ts'
import { earlierPrompts } from './earlier-prompts.ts'
import { createEnvironments, type Environments } from './environment.ts'
import { createFeedLoops, type FeedLoops } from './feed-loop.ts'
import { createFolderTrust, type FolderTrust } from './folder-trust.ts'
import { copyForFork } from './fork-session.ts'
import { hashOf, sessionIdFrom } from './hash.ts'
import { eventsOf, guardedObserver } from './host-observer.ts'
import type { HostOptions } from './host-options.ts'
import { checkMcpServers, type HostTool } from './host-tool.ts'
import { toolsFor } from './host-tool-desk.ts'
import { createImporting, type Importing } from './import-session.ts'
import { defaultLimits, type Limits } from './limits.ts'
import { LiveSession, type LiveSessionOptions } from './live-session.ts'
import { createModelCatalogue, type ModelCatalogue } from './model-catalogue.ts'
import { OpenSessions, stopping } from './open-sessions.ts'
import { readEvents } from './read-events.ts'
import type { FeedReader, FollowFrom } from './session-feed.ts'
import { loadState, numbered } from './session-log.ts'
import { changesList, patchDrafts } from './session-patch.ts'
import type { ReadRange, SessionPage, SessionQuery, StoredEvent, StoredReceipt } from './session-store.ts'
import { tailOf } from './session-tail.ts'
import { createSessionTools } from './session-tools.ts'
import { meantServers, shownEvent, shownState } from './shown-secrets.ts'
import { createSpareAgents } from './spare-agents.ts'

export type SessionChange = {
  readonly session: string
  readonly change: 'created' | 'changed' | 'deleted'
  readonly summary?: SessionSummary
}

type HostParts = AgentList & ModelCatalogue & FolderTrust & Environments & Importing & FeedLoops

/** Holds sessions, adapters and a store. Everything outside core uses this; every refusal is a ParleyError. */
export type Host = HostParts & {
  /** `own` are tools for this session's agent alone, beside the host's. They last as long as this host. */
  create(input: NewSessionInput, own?: { readonly tools: readonly HostTool[] }): Promise<SessionState>
  /** Replaces the tools that `own` gave to this session. Takes effect with its next turn. */
  offerTools(sessionId: string, tools: readonly HostTool[]): Promise<void>
  /** Nobody will replace the session's tools again: they are dropped with its agent. */
  releaseTools(sessionId: string): void
  /**
   * A session like this will be created soon: its agent is started in the folder, if it can be started without a
   * session and `maxSpares` allows it. Resolves when the agent is ready, or at once if nothing is started.
   */
  prepareSession(input: ExpectedSession): Promise<void>
  list(query: SessionQuery): Promise<SessionPage>
  state(sessionId: string): Promise<SessionState>
  /** The state, the last `tail` blocks, and whether the folder is trusted. */
  detail(sessionId: string, tail: number): Promise<SessionDetail>
  patch(sessionId: string, patch: SessionPatch): Promise<SessionSummary>
  delete(sessionId: string): Promise<void>

  /**
   * Resolves when the command is in the log. Checks the shape of the command, so that a face may pass on what it
   * received.
   */
  command(sessionId: string, command: CommandInput): Promise<Receipt>
  /** What the command `session.rewind` would change. ParleyError `conflict` if it is not possible, or not now. */
  previewRewind(sessionId: string, promptId: string): Promise<RewindPreview>
  /**
   * A page of the log. ParleyError `conflict` for a cursor beyond the head or of another epoch. With `prompts`, also
   * the events before the page that hold the prompts of its turns and, at the head, of the queue.
   */
  read(
    sessionId: string,
    range: ReadRange & { epoch?: string; prompts?: boolean },
  ): Promise<{ events: StoredEvent[]; head: number; epoch: string; prompts?: StoredEvent[] }>
  /** Replays what follows `after`, then continues live, without gap or repeat. The returned function ends it. */
  follow(sessionId: string, from: FollowFrom, reader: FeedReader): Promise<() => void>

  waiting(): Promise<WaitingRequest[]>
  rules(): Promise<PermissionRule[]>
  addRule(rule: NewRule): Promise<PermissionRule>
  removeRule(ruleId: string): Promise<void>

  /** Reports every change that the session list should show. The returned function ends it. */
  onSessionChanged(listener: (change: SessionChange) => void): () => void
  /** Parks or ends what runs, and closes every connection. The caller closes the store. */
  close(): Promise<void>
}

/**
 * Opens the sessions of the store for use. Unless `recover` is `on-use`, sessions that a restart interrupted are
 * recovered before this resolves.
 */
export async function createCoreHost(options: HostOptions): Promise<Host> {
  const { store, clock, ids, problem = () => undefined, temporaryFolders } = options
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const adapters = new Map(options.adapters.map((adapter) => [adapter.id, adapter]))
  const sessionTools = createSessionTools(options.tools)
  const agents = createAgentList({
    adapters,
    clock,
    installer: options.agentInstaller,
    keeper: options.agentKeeper,
    changed: () => {
      spares.refresh()
      sessions.each((session) => session.refresh())
    },
  })
  const spares = createSpareAgents({
    limits,
    clock,
    adapters,
    freeBytes: options.freeBytes,
    problem: (error, doing) => problem({ error, doing }),
  })
  const slots = createConnectionSlots(limits.maxConnections)
  const load = (sessionId: string) => loadState(store, sessionId).then(live)
  const observer = guardedObserver(options.observer, problem)
  const sessions = new OpenSessions({ load, clock, unloadMs: limits.unloadMs, left })
  const open = (sessionId: string) => sessions.open(sessionId)
  const listeners = new Set<(change: SessionChange) => void>()
  let rules = await store.rules()
  const { trusts, ...trust } = await createFolderTrust({
    ...options,
    changed: () => {
      spares.leaveFolders()
      sessions.each((session) => session.refresh())
    },
  })
  const environment = await createEnvironments({
    ...options,
    adapters: () => adapters.values(),
    changed: () => sessions.each((session) => session.refresh()),
    expectSession: async (id) => {
      need({ agent: agents.adapterFor((await open(id)).state.agent) }, 'environment')
    },
  })
  const importing = createImporting({
    ...options,
    store,
    ids,
    adapterFor: agents.adapterFor,
    created: (state) => tell({ session: state.id, change: 'created', summary: summarise(state) }),
  })

  function left(sessionId: string) {
    observer.left(sessionId)
    void removeTemporary(sessionId)
  }

  async function removeTemporary(sessionId: string) {
    await temporaryFolders
      .remove(sessionId)
      .catch((error) => problem({ error, doing: 'remove a temporary folder', sessionId }))
  }

  function tell(change: SessionChange) {
    for (const listener of listeners) {
      try {
        listener(change)
      } catch (error) {
        problem({ error, doing: 'tell of a change', sessionId: change.session })
      }
    }
  }

  function announced(
    events: readonly SessionEvent[],
    state: SessionState,
    granted: readonly PermissionRule[],
  ) {
    if (granted.length > 0) rules = [...rules, ...granted]
    if (events.some((event) => changesList(event))) {
      tell({ session: state.id, change: 'changed', summary: summarise(state) })
    }
  }

  function live(state: SessionState): LiveSession {
    const session: LiveSession = new LiveSession({
      state,
      adapter: currentAdapter(adapters, state.agent),
      store,
      clock,
      ids,
      limits,
      slots,
      spares,
      rules: () => rules,
      trusts,
      environment: environment.of,
      hostTools: sessionTools.of(state.id),
      toolEnv: options.toolEnv ?? (() => ({})),
      temporaryFolder: temporaryFolders.of,
      announced,
      observer,
      fork,
      problem: (error, doing) => problem({ error, doing, sessionId: state.id }),
      broken: () => void sessions.forgetOnly(state.id, session),
    })
    return session
  }

  async function fork(...[parent, child, title]: Parameters<LiveSessionOptions['fork']>): Promise<ForkCopy> {
    const made = await copyForFork({ store, now: clock.now() }, parent, child, title)
    if (made) await environment.copy(parent.id, child)
    return {
      announce: () => {
        if (!made) return
        tell({ session: child, change: 'created', summary: summarise(made) })
        startAhead(child)
      },
      discard: async () => {
        if (made) await store.delete(child)
        environment.forget(child)
      },
    }
  }

  const create: Host['create'] = async (given, own) => {
    if (sessions.closing) throw stopping()
    const input = checked(NewSession, given, 'The new session')
    const adapter = agents.adapterFor(input.agent)
    const cwd = await options.checkFolder(input.cwd)
    checkSettings(input, { agent: adapter })
    if (input.mcpServers) need({ agent: adapter }, 'mcp')
    meantServers(input.mcpServers ?? {})
    if (input.env) need({ agent: adapter }, 'environment')
    environment.expectFree(input.env ?? {})
    checkMcpServers(input.mcpServers, input.options)
    if (own && own.tools.length > 0) need({ agent: adapter }, 'hostTools')
    if (own) sessionTools.check(own.tools)
    const id = input.commandId ? sessionIdFrom(input.commandId) : ids('ses')
    const { commandId } = input
    const isRepeated = async () => commandId !== undefined && !!(await store.receipt(id, commandId))
    const refusal = adapter.refusal?.()
    if (refusal && !(await isRepeated())) throw refusal
    const startCommit = await options.commitOf?.(cwd)
    const place = { cwd, ...(startCommit !== undefined && { startCommit }) }
    const state = firstState({ ...input, ...place }, id, adapter)
    const hash = hashOf({ ...input, cwd })
    const receipt = commandId && { commandId, hash, receipt: { commandId, seq: state.first.seq } }
    if (input.trust && !(await isRepeated())) await trust.trust(cwd)
    const hasEnv = input.env !== undefined && !(await store.load(id))
    if (hasEnv) await environment.prepare(id, input.env ?? {})
    try {
      await store.create({
        sessionId: id,
        epoch: state.first.epoch,
        events: state.events,
        state: state.first,
        ...(receipt && { receipt }),
      })
    } catch (error) {
      if (hasEnv && !(await store.load(id))) await environment.prepare(id, {})
      if (!receipt || !(error instanceof ParleyError) || error.code !== 'conflict') throw error
      const before = await createdBefore(id, receipt)
      if (own) sessionTools.offer(id, own.tools)
      return before
    }
    if (own) sessionTools.offer(id, own.tools)
    observer.recorded(eventsOf(state.events), state.first)
    if (sessions.closing) return state.first
    const session = live(state.first)
    sessions.add(id, session)
    tell({ session: id, change: 'created', summary: summarise(state.first) })
    await session.recover()
    startAhead(id)
    return session.state
  }

  const prepareSession: Host['prepareSession'] = async (given) => {
    if (sessions.closing) throw stopping()
    const input = checked(ExpectedSession, given, 'The expected session')
    const adapter = agents.adapterFor(input.agent)
    const cwd = await options.checkFolder(input.cwd)
    checkSettings(input, { agent: adapter })
    const { requested: settings } = firstState({ ...input, cwd }, '', adapter).first
    const tools = adapter.capabilities.hostTools ? toolsFor(sessionTools.of(''), settings) : []
    const env = adapter.capabilities.environment ? environment.of({ id: '', cwd }) : undefined
    await spares.expectIn(adapter, {
      cwd,
      settings,
      trusted: trusts(cwd),
      ...(env && { env }),
      ...(tools.length > 0 && { hostTools: { tools } }),
    })
  }

  function startAhead(sessionId: string) {
    open(sessionId)
      .then((session) => session.startAhead())
      .catch((error) => problem({ error, doing: 'start an agent ahead', sessionId }))
  }

  async function createdBefore(id: string, { commandId, hash }: StoredReceipt): Promise<SessionState> {
    const before = await store.receipt(id, commandId)
    if (before?.hash === hash) return (await open(id)).state
    throw new ParleyError(
      'conflict',
      `The commandId ${commandId} was used for another session. Choose a new one.`,
    )
  }

  /** The first events, in one batch: a session and its first prompt are stored together or not at all. */
  function firstState(input: NewSession & { startCommit?: string }, id: string, adapter: AgentAdapter) {
    const { prompt, commandId, trust, env, ...creation } = input
    const at = clock.now()
    let first = emptyState(id, ids('epo'))
    const events: StoredEvent[] = []
    const add = (draft: EventDraft) => {
      const event = numbered(draft, id, first.seq + 1, at)
      first = applyToState(first, event)
      events.push({ seq: event.seq, json: JSON.stringify(event) })
    }
    add({ type: 'session.created', ...creation })
    if (prompt !== undefined) {
      const words = typeof prompt === 'string' ? { text: prompt } : { parts: prompt }
      const command = Command.parse({ type: 'prompt.submit', commandId: 'first', ...words })
      const context = { now: at, ids, agent: adapter, maxQueue: limits.maxQueue, rules: [] }
      decide(first, command, context).drafts.forEach(add)
    }
    return { first, events }
  }

  const follow: Host['follow'] = async (sessionId, from, reader) =>
    (await open(sessionId)).log.feed.follow(from, reader)

  async function recoverAll() {
    for (const id of await store.unsettled()) {
      try {
        await (await open(id)).recover()
      } catch (error) {
        problem({ error, doing: 'recover a session', sessionId: id })
      }
    }
  }

  if (options.recover !== 'on-use') await recoverAll()

  return {
    ...agents.list,
    ...createModelCatalogue({ store, clock, agents: agents.list.agents, adapters }),
    ...trust,
    ...environment.environments,
    ...importing,
    create: async (input, own) => shownState(await create(input, own)),
    async offerTools(sessionId, tools) {
      const { agent } = (await open(sessionId)).state
      if (tools.length > 0) need({ agent: agents.adapterFor(agent) }, 'hostTools')
      sessionTools.replace(sessionId, tools)
    },
    prepareSession,
    releaseTools: (sessionId) => sessionTools.forget(sessionId),
    list: (query) => store.list(query),
    async state(sessionId) {
      return shownState((await open(sessionId)).state)
    },
    async detail(sessionId, tail) {
      const { state } = await open(sessionId)
      const id = state.connection?.agentSessionId
      const terminal = id === undefined ? undefined : adapters.get(state.agent)?.terminalCommand?.(id)
      return {
        ...shownState(state),
        trusted: trusts(state.cwd),
        ...(terminal && { terminal: [...terminal] }),
        ...(await tailOf(store, state, tail)),
      }
    },
    async patch(sessionId, given) {
      const patch = checked(SessionPatch, given, 'The change')
      const session = await open(sessionId)
      await session.recover()
      await session.log.transact((state) => ({ drafts: patchDrafts(state, patch) }))
      return summarise(session.state)
    },
    async delete(sessionId) {
      await sessions.delete(sessionId, (session) => session.destroy(() => store.delete(sessionId)))
      rules = rules.filter((rule) => rule.sessionId !== sessionId)
      sessionTools.forget(sessionId)
      environment.forget(sessionId)
      tell({ session: sessionId, change: 'deleted' })
    },
    async previewRewind(sessionId, promptId) {
      const session = await open(sessionId)
      need({ agent: agents.adapterFor(session.state.agent) }, 'rewind')
      return session.previewRewind(promptId)
    },
    async command(sessionId, given) {
      const command = checked(Command, given, 'The command')
      const receipt = await (await open(sessionId)).command(command)
      if (command.type === 'session.close') await removeTemporary(sessionId)
      return receipt
    },
    async read(sessionId, { epoch, prompts, ...range }) {
      const { state } = await open(sessionId)
      const head = state.seq
      if ((range.after ?? 0) > head || (epoch !== undefined && epoch !== state.epoch)) {
        throw new ParleyError(
          'conflict',
          'This cursor is not of this log. Read again from the start (after=0).',
          {
            details: { head, epoch: state.epoch },
          },
        )
      }
      const stored = (await readEvents(store, sessionId, range)).filter((event) => event.seq <= head)
      const events = stored.map(shownEvent)
      const page = { events, head, epoch: state.epoch }
      return prompts ? { ...page, prompts: await earlierPrompts(store, state, events) } : page
    },
    follow,
    ...createFeedLoops(follow),
    async waiting() {
      const states = await store.waiting()
      return states.flatMap((state) => {
        const session = summarise(state)
        return state.requests.map((request) => ({ session, request }))
      })
    },
    async rules() {
      return [...rules]
    },
    async addRule(given) {
      const input = checked(NewRule, given, 'The rule')
      // Sessions store the real path of their folder: a rule with another path of it would match nothing.
      const place = input.project !== undefined && { project: await options.checkFolder(input.project) }
      const wanted = { ...input, ...place }
      const same = rules.find(({ ruleId, createdAt, ...rule }) => hashOf(rule) === hashOf(wanted))
      if (same) return same
      const rule: PermissionRule = { ...wanted, ruleId: ids('rule'), createdAt: clock.now() }
      if (rule.sessionId !== undefined) await open(rule.sessionId)
      await store.addRule(rule)
      rules = [...rules, rule]
      return rule
    },
    async removeRule(ruleId) {
      if (!(await store.removeRule(ruleId))) {
        throw new ParleyError(
          'not_found',
          `There is no rule ${ruleId}. List the rules to see which there are.`,
        )
      }
      rules = rules.filter((rule) => rule.ruleId !== ruleId)
    },
    onSessionChanged(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      sessions.shut()
      await agents.close()
      await Promise.all([sessions.stopAll(), spares.close()])
      await temporaryFolders.removeAll()
    },
  }
}
