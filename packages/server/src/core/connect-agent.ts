import type { AgentAdapter, AgentConnection, ConnectInput } from '@parley/adapter-kit'
import { defined, type EventDraft, errorInfoOf, ParleyError, type SessionState } from '@parley/protocol'
import { AgentLink } from './agent-link.ts'
import type { SlotHolder } from './connection-slots.ts'
import type { HostToolCalls } from './host-tool-calls.ts'
import type { PermissionBroker } from './permission-broker.ts'
import { environmentFor, isTrusted, type SessionContext } from './session-services.ts'
import { startConditions } from './start-conditions.ts'

export type ConnectParts = {
  readonly context: SessionContext
  readonly adapter: AgentAdapter
  readonly broker: PermissionBroker
  readonly toolCalls: HostToolCalls
  readonly holder: SlotHolder
  readonly signal: AbortSignal
}

/**
 * Waits for a free slot, starts the agent within its time limit, and records the connection before anything is sent
 * to the agent. A failure to start is recorded too. The slot is released when the outputs of the link end, or if the
 * start fails.
 */
export async function connectAgent(parts: ConnectParts): Promise<AgentLink> {
  const { context, adapter, signal } = parts
  const { log, persist, services } = context
  const release = await services.slots.acquire(parts.holder, signal)
  try {
    // The state is read only now, because it may have changed since the start was requested.
    const input = connectInput(parts)
    const { connectionId, cwd, settings } = input
    const conditions = startConditions(adapter, input, input.hostTools)
    const forgets = forgetting(adapter, log.state)
    const since = log.state.seq
    const connection = await start(parts, input)
    const recorded = await persist(() => ({
      drafts: [{ type: 'agent.connected', connectionId, cwd }, ...forgets],
    }))
    if (!recorded || signal.aborted) {
      await discard(connection, context)
      throw new ParleyError('cancelled', 'Cancelled while the agent was starting.')
    }
    const started = { connectionId, settings, conditions, since, release }
    return new AgentLink(connection, services.clock, started)
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

/**
 * The input of `connect`. The agent's requests are passed to the broker directly or, if the agent is offered host
 * tools, through the host tool calls.
 */
function connectInput({ context, adapter, broker, toolCalls, signal }: ConnectParts): ConnectInput {
  const { services, log } = context
  const { id, cwd, requested, mcpServers } = log.state
  const hostTools = adapter.capabilities.hostTools ? toolCalls.offered() : undefined
  return {
    sessionId: id,
    connectionId: services.ids('con'),
    cwd,
    settings: requested,
    ...defined({ mcpServers, hostTools }),
    trusted: isTrusted(services, log.state),
    ...environmentFor(services, adapter, log.state),
    ...resumption(adapter, log.state),
    person: hostTools ? toolCalls.person : broker.person,
    signal,
  }
}

async function start({ context, adapter }: ConnectParts, given: ConnectInput): Promise<AgentConnection> {
  const { spares } = context.services
  const connected = async (input: ConnectInput) =>
    (await spares.connect(adapter, input)) ?? adapter.connect(input)
  const connection = await startWithin(context, adapter, given, connected)
  spares.expectAnother(adapter, given)
  return connection
}

/** Starts the agent within its time limit. */
export async function startWithin(
  context: SessionContext,
  adapter: AgentAdapter,
  given: ConnectInput,
  connected = async (input: ConnectInput) => adapter.connect(input),
): Promise<AgentConnection> {
  const { clock, limits } = context.services
  const { connectMs } = limits
  const timeout = new AbortController()
  const stopTimer = clock.after(connectMs, () => timeout.abort(tooSlow(adapter, connectMs)))
  const signal = AbortSignal.any([given.signal, timeout.signal])
  try {
    const starting = connected({ ...given, signal })
    return rejecting(await unlessAborted(starting, signal, (late) => discard(late, context)))
  } finally {
    stopTimer()
  }
}

/** Converts exceptions that an adapter throws synchronously to rejections. */
function rejecting(connection: AgentConnection): AgentConnection {
  return new Proxy(connection, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? async (...args: unknown[]) => value.apply(target, args) : value
    },
  })
}

async function discard(connection: AgentConnection, { problem }: SessionContext): Promise<void> {
  await rejecting(connection)
    .close()
    .catch((error) => problem(error, 'close an agent that is no longer needed'))
}

/** How the agent would continue its conversation now. */
export function resumption(
  adapter: AgentAdapter,
  { connection, forkPending, forkPoint, completedTurns: turns }: SessionState,
): Pick<ConnectInput, 'resume'> {
  if (!adapter.capabilities.resume) return {}
  if (forkPending && forkPoint) return { resume: { ...forkPoint, fork: true, turns } }
  if (!connection?.agentSessionId) return {}
  return { resume: { agentSessionId: connection.agentSessionId, turns, ...(forkPending && { fork: true }) } }
}

/**
 * A warning that the new process does not have the earlier turns. Empty if it can resume the conversation, or if
 * there were no turns.
 */
function forgetting(adapter: AgentAdapter, state: SessionState): EventDraft[] {
  if (state.turns === 0 || !state.connection || resumption(adapter, state).resume) return []
  const text = `${adapter.name} was restarted and cannot resume its conversation: it does not remember the messages above. Repeat what it needs to know.`
  return [{ type: 'agent.noticed', level: 'warning', code: 'memory_lost', text }]
}

/**
 * Settles like `work`, or rejects with the reason as soon as `signal` aborts. A result that arrives later is passed
 * to `discard`.
 */
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
    `${adapter.name} did not start within ${ms / 1000} s. To find the cause, run "parley doctor".`,
  )
}
