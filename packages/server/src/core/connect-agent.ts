import { type EventDraft, errorInfoOf, ParleyError, type SessionState } from '@parley/protocol'
import type { AgentAdapter, AgentConnection, ConnectInput, HostTools, Person } from './agent-adapter.ts'
import { type AgentLink, openAgentLink } from './agent-link.ts'
import type { Clock } from './clock.ts'
import type { ConnectionSlots, SlotHolder } from './connection-slots.ts'
import type { EnvironmentOf } from './environment.ts'
import type { Trusts } from './folder-trust.ts'
import type { Persist } from './persist.ts'
import type { SpareAgents } from './spare-agents.ts'
import type { StartedWith } from './start-conditions.ts'

export type ConnectOptions = {
  readonly adapter: AgentAdapter
  /** The state when the agent starts, which may be long after the start was requested. */
  readonly state: () => SessionState
  readonly connectionId: string
  readonly person: Person
  readonly hostTools: () => HostTools | undefined
  readonly trusts: Trusts
  readonly environment: EnvironmentOf
  readonly clock: Clock
  readonly connectMs: number
  readonly slots: ConnectionSlots
  readonly spares: SpareAgents
  readonly holder: SlotHolder
  readonly persist: Persist
  readonly signal: AbortSignal
  /** Called as soon as the link reads, before its first output. */
  readonly opened: (link: AgentLink, startedWith: StartedWith) => void
  readonly take: Parameters<typeof openAgentLink>[0]['take']
  readonly lost: Parameters<typeof openAgentLink>[0]['lost']
  readonly problem: (error: unknown, doing: string) => void
}

/**
 * Waits for a free slot, starts the agent within its time limit, and records the connection before anything is sent
 * to the agent. A failure to start is recorded too; the slot is released in any case.
 */
export async function connectAgent(options: ConnectOptions): Promise<AgentLink> {
  const { connectionId, clock, persist, signal } = options
  const release = await options.slots.acquire(options.holder, signal)
  try {
    const { requested: settings, cwd, mcpServers } = options.state()
    const forgets = forgetting(options.adapter, options.state())
    const trusted = options.trusts(cwd)
    const env = environmentFor(options)
    const connection = await start(options, { trusted, ...env })
    const recorded = await persist(() => ({
      drafts: [{ type: 'agent.connected', connectionId, cwd }, ...forgets],
    }))
    if (!recorded || signal.aborted) {
      await discard(connection, options)
      throw new ParleyError('cancelled', 'Cancelled while the agent was started.')
    }
    const link = openAgentLink({
      connectionId,
      connection,
      clock,
      take: options.take,
      lost: async (...end) => {
        release()
        await options.lost(...end)
      },
    })
    options.opened(link, { settings, trusted, ...(mcpServers && { mcpServers }), ...env })
    return link
  } catch (error) {
    release()
    if (!signal.aborted) {
      const failed = {
        type: 'agent.disconnected',
        reason: 'failed-to-start',
        error: errorInfoOf(error),
      } as const
      await persist(() => ({ drafts: [failed] }))
    }
    throw error
  }
}

async function start(
  options: ConnectOptions,
  given: Pick<ConnectInput, 'trusted' | 'env'>,
): Promise<AgentConnection> {
  const { adapter, connectionId, person, clock, connectMs } = options
  const state = options.state()
  const timeout = new AbortController()
  const stopTimer = clock.after(connectMs, () => timeout.abort(tooSlow(adapter, connectMs)))
  const signal = AbortSignal.any([options.signal, timeout.signal])
  const input: ConnectInput = {
    sessionId: state.id,
    connectionId,
    cwd: state.cwd,
    settings: state.requested,
    ...(state.mcpServers && { mcpServers: state.mcpServers }),
    ...hostTools(options),
    ...given,
    ...resumption(adapter, state),
    person,
    signal,
  }
  const connected = async () => (await options.spares.connect(adapter, input)) ?? adapter.connect(input)
  try {
    const connection = await unlessAborted(connected(), signal, (late) => discard(late, options))
    options.spares.expectAnother(adapter, input)
    return tamed(connection)
  } finally {
    stopTimer()
  }
}

/** Turns exceptions that an adapter throws synchronously into rejections. */
function tamed(connection: AgentConnection): AgentConnection {
  const { previewRewind } = connection
  return {
    events: connection.events,
    send: async (message) => connection.send(message),
    interrupt: async () => connection.interrupt(),
    configure: async (settings) => connection.configure(settings),
    close: async () => connection.close(),
    ...(previewRewind && { previewRewind: async (promptId) => previewRewind.call(connection, promptId) }),
    ...(connection.park && { park: async () => connection.park?.() }),
    ...(connection.takeBack && {
      takeBack: async (promptId) => (await connection.takeBack?.(promptId)) ?? false,
    }),
    ...(connection.stopTask && { stopTask: async (taskId) => connection.stopTask?.(taskId) }),
    ...(connection.saidElsewhere && {
      saidElsewhere: async () => connection.saidElsewhere?.() ?? 'nothing',
    }),
  }
}

async function discard(connection: AgentConnection, { problem }: ConnectOptions): Promise<void> {
  await tamed(connection)
    .close()
    .catch((error) => problem(error, 'close an agent that is not wanted any more'))
}

function hostTools({ adapter, hostTools }: ConnectOptions): Pick<ConnectInput, 'hostTools'> {
  const offered = adapter.capabilities.hostTools ? hostTools() : undefined
  return offered ? { hostTools: offered } : {}
}

/** An agent without the capability `environment` is started without the variables of its folder. */
function environmentFor({ adapter, environment, state }: ConnectOptions): Pick<ConnectInput, 'env'> {
  const env = adapter.capabilities.environment ? environment(state()) : undefined
  return env ? { env } : {}
}

function resumption(
  adapter: AgentAdapter,
  { connection, forkPending, completedTurns }: SessionState,
): Pick<ConnectInput, 'resume'> {
  if (!adapter.capabilities.resume || !connection?.agentSessionId) return {}
  return {
    resume: {
      agentSessionId: connection.agentSessionId,
      turns: completedTurns,
      ...(forkPending && { fork: true }),
    },
  }
}

/** A new process that cannot resume does not know the turns before it. */
function forgetting(adapter: AgentAdapter, state: SessionState): EventDraft[] {
  if (state.turns === 0 || !state.connection || resumption(adapter, state).resume) return []
  const text = `${adapter.name} was started again and cannot resume: it does not remember what was said before. Repeat what it needs to know.`
  return [{ type: 'agent.noticed', level: 'warning', code: 'memory_lost', text }]
}

/** The promise, or a rejection with the reason as soon as `signal` aborts; a later result is passed to `discard`. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal, discard: (late: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(
        signal.reason instanceof ParleyError ? signal.reason : new ParleyError('cancelled', 'Cancelled.'),
      )
      work.then(discard, () => undefined)
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

function tooSlow(adapter: AgentAdapter, ms: number): ParleyError {
  return new ParleyError(
    'agent_failed',
    `${adapter.name} did not start within ${ms / 1000} s. See "parley doctor".`,
  )
}
