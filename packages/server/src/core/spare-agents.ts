import type {
  AgentAdapter,
  AgentConnection,
  ConnectInput,
  PreparedAgent,
  PrepareInput,
} from '@parley/adapter-kit'
import type { Clock } from './clock.ts'
import { hashOf } from './hash.ts'
import type { Limits } from './limits.ts'
import { startConditions } from './start-conditions.ts'

/** The values that the agent of an expected session would be started with. */
export type Expected = Omit<PrepareInput, 'signal'> & Pick<ConnectInput, 'cwd' | 'mcpServers' | 'resume'>

export type SpareAgents = {
  /**
   * Gives the session a spare that fits it. Undefined if there is none, or if the spare cannot serve the session: the
   * session's agent is then started as usual.
   */
  connect(adapter: AgentAdapter, input: ConnectInput): Promise<AgentConnection | undefined>
  /**
   * Called when a session of this kind was started: keeps a spare for the next session. The spare is started after a
   * delay, so that it does not slow down the session.
   */
  expectAnother(adapter: AgentAdapter, like: Expected): void
  /** Called when a session in this folder is expected soon. */
  expectIn(adapter: AgentAdapter, session: Expected): Promise<void>
  /** Closes the spares whose agent was reconfigured or removed. */
  refresh(): void
  /** Closes the spares that wait in a folder. Called when the set of trusted folders has changed. */
  leaveFolders(): void
  close(): Promise<void>
}

type Spare = {
  readonly revision: string | undefined
  readonly conditions: string
  /** A hash of the folder, settings and trust that the spare is reserved for. Undefined if it is not reserved. */
  place: string | undefined
  readonly abort: AbortController
  /** Resolves with undefined if the agent could not be started. */
  readonly started: Promise<PreparedAgent | undefined>
  forget: () => void
}

export type SpareAgentsOptions = {
  readonly limits: Pick<Limits, 'maxSpares' | 'spareMs' | 'spareInFolderMs' | 'spareFreeBytes'>
  readonly clock: Clock
  readonly adapters: ReadonlyMap<string, AgentAdapter>
  readonly freeBytes: () => number
  readonly problem: (error: unknown, doing: string) => void
}

/** The delay between the start of a session and the start of the next spare. */
const laterMs = 2_000
/**
 * The time limit for a spare to serve a session. A process that hangs must not keep the session from starting an agent
 * of its own.
 */
const takeMs = 10_000
/** The interval at which the free memory is checked while a spare is kept. */
const memoryCheckMs = 10_000

/** Keeps spares for sessions that are not created yet, at most one of each agent. */
export function createSpareAgents(options: SpareAgentsOptions): SpareAgents {
  const { limits, clock, adapters, freeBytes, problem } = options
  const spares = new Map<string, Spare>()
  const closing = new Set<Promise<void>>()
  let isClosed = false

  const hasMemory = () => freeBytes() >= limits.spareFreeBytes

  function keep(adapter: AgentAdapter, like: Expected): Spare | undefined {
    if (isClosed || !fits(adapter, like) || !hasMemory()) return undefined
    const conditions = conditionsOf(adapter, like)
    const kept = spares.get(adapter.id)
    if (kept?.conditions === conditions) return kept
    if (kept) drop(adapter.id, kept)
    while (spares.size >= limits.maxSpares) {
      const [oldest] = spares
      if (!oldest) return undefined
      drop(...oldest)
    }
    return start(adapter, like, conditions)
  }

  function start(adapter: AgentAdapter, like: Expected, conditions: string): Spare {
    const abort = new AbortController()
    const { settings, trusted, env, hostTools } = like
    const given = { settings, trusted, ...(env && { env }), ...(hostTools && { hostTools }) }
    const started = adapter
      .prepare?.({ ...given, signal: abort.signal })
      .catch((error: unknown) => void (abort.signal.aborted || problem(error, 'start a spare agent')))
    const spare: Spare = {
      revision: adapter.revision,
      conditions,
      place: undefined,
      abort,
      started: Promise.resolve(started).then((agent) => agent ?? undefined),
      forget: () => undefined,
    }
    spares.set(adapter.id, spare)
    spare.forget = watch(adapter.id, spare)
    void spare.started.then((agent) => agent ?? drop(adapter.id, spare))
    return spare
  }

  /** Closes the spare when its time is over, or when memory is short. */
  function watch(id: string, spare: Spare): () => void {
    const stopWaiting = clock.after(limits.spareMs, () => drop(id, spare), { background: true })
    let stopChecking: () => void = () => undefined
    const check = () => {
      if (!hasMemory()) return drop(id, spare)
      stopChecking = clock.after(memoryCheckMs, check, { background: true })
    }
    check()
    return () => {
      stopWaiting()
      stopChecking()
    }
  }

  function release(id: string, spare: Spare): void {
    spare.forget()
    if (spares.get(id) === spare) spares.delete(id)
  }

  function drop(id: string, spare: Spare): void {
    release(id, spare)
    spare.abort.abort()
    const closed = spare.started
      .then((agent) => agent?.close())
      .catch((error: unknown) => problem(error, 'close a spare agent'))
      .finally(() => closing.delete(closed))
    closing.add(closed)
  }

  async function startedInTime({ started }: Spare): Promise<PreparedAgent | undefined> {
    const late = Promise.withResolvers<undefined>()
    const stopWaiting = clock.after(takeMs, () => late.resolve(undefined))
    return Promise.race([started, late.promise]).finally(stopWaiting)
  }

  /**
   * Gives a spare to the session. Resolves with undefined if the spare fails or does not accept the session in time.
   */
  async function give(agent: PreparedAgent, input: ConnectInput): Promise<AgentConnection | undefined> {
    const late = new AbortController()
    const stopWaiting = clock.after(takeMs, () => late.abort())
    try {
      return await agent.connect({ ...input, signal: AbortSignal.any([input.signal, late.signal]) })
    } catch (error) {
      if (!input.signal.aborted) problem(error, 'give a spare agent to a session')
      return undefined
    } finally {
      stopWaiting()
    }
  }

  const stopLater = new Set<() => void>()

  return {
    async connect(adapter, input) {
      const spare = spares.get(adapter.id)
      if (!spare || !fits(adapter, input)) return undefined
      const isFor = spare.place === undefined || spare.place === placeOf(input)
      if (spare.conditions !== conditionsOf(adapter, input) || !isFor) return undefined
      release(adapter.id, spare)
      const agent = await startedInTime(spare)
      if (!agent?.isUsable) {
        drop(adapter.id, spare)
        return undefined
      }
      return give(agent, input)
    },
    expectAnother(adapter, like) {
      if (isClosed || limits.maxSpares === 0 || !fits(adapter, like)) return
      const stop = clock.after(
        laterMs,
        () => {
          stopLater.delete(stop)
          keep(adapter, like)
        },
        { background: true },
      )
      stopLater.add(stop)
    },
    async expectIn(adapter, session) {
      const place = placeOf(session)
      const before = spares.get(adapter.id)
      if (before && before.place !== undefined && before.place !== place) drop(adapter.id, before)
      const spare = limits.maxSpares === 0 ? undefined : keep(adapter, session)
      if (!spare || spare.place !== undefined) return
      spare.place = place
      const agent = await spare.started
      if (spares.get(adapter.id) !== spare) return
      const stop = clock.after(limits.spareInFolderMs, () => drop(adapter.id, spare), { background: true })
      const { forget } = spare
      spare.forget = () => {
        forget()
        stop()
      }
      await agent?.enter(session).catch(() => drop(adapter.id, spare))
    },
    refresh() {
      for (const [id, spare] of spares) {
        const adapter = adapters.get(id)
        if (!adapter || adapter.revision !== spare.revision) drop(id, spare)
      }
    },
    leaveFolders() {
      for (const [id, spare] of spares) if (spare.place !== undefined) drop(id, spare)
    },
    async close() {
      isClosed = true
      for (const stop of stopLater) stop()
      for (const [id, spare] of spares) drop(id, spare)
      await Promise.all(closing)
    },
  }
}

/**
 * True if a spare can serve the session. A spare cannot resume a conversation or use MCP servers of a session,
 * because an agent gets both at its start.
 */
function fits(
  adapter: AgentAdapter,
  { mcpServers, resume }: Pick<Expected, 'mcpServers' | 'resume'>,
): boolean {
  return adapter.prepare !== undefined && resume === undefined && Object.keys(mcpServers ?? {}).length === 0
}

function conditionsOf(adapter: AgentAdapter, { settings, trusted, env, hostTools }: Expected): string {
  return startConditions(adapter, { settings, trusted, ...(env && { env }) }, hostTools)
}

function placeOf({ cwd, settings, trusted }: Pick<Expected, 'cwd' | 'settings' | 'trusted'>): string {
  return hashOf([cwd, settings, trusted])
}
