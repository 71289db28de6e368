import type { DraftOf } from '@parley/protocol'
import type { AgentConnection, AgentOutput } from './agent-adapter.ts'
import type { Clock } from './clock.ts'

export type CloseReason = DraftOf<'agent.disconnected'>['reason']

/** One connection as a live session holds it, from connect to the end of its outputs. */
export type AgentLink = {
  readonly connectionId: string
  readonly connection: AgentConnection
  /** Set when the host decided to close it: later outputs are ignored. */
  readonly closing: CloseReason | undefined
  /** Resolves when its end is recorded. */
  readonly ended: Promise<void>
  /**
   * Stops reading, asks the agent to end, and waits a bounded time for it. Resolves when the end is recorded.
   * Idempotent.
   */
  close(reason: CloseReason): Promise<void>
}

const outputsBetweenBreaths = 128
const closeWaitMs = 5_000

/** Reads a connection until it ends, pausing while `take` is pending, and reports the end once. */
export function openAgentLink(options: {
  connectionId: string
  connection: AgentConnection
  clock: Clock
  take: (link: AgentLink, output: AgentOutput) => Promise<void> | undefined
  /** Called once. `last` is the agent's own report of its end; `error` is what broke the stream. */
  lost: (
    link: AgentLink,
    last: Omit<DraftOf<'agent.disconnected'>, 'turnId'> | undefined,
    error: unknown,
  ) => Promise<void>
}): AgentLink {
  const { connectionId, connection, clock, take, lost } = options
  let closing: CloseReason | undefined
  let ending: Promise<void> | undefined
  const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<void>()
  let closed: Promise<void> | undefined
  let endedEarly: () => void = () => undefined
  const gone = new Promise<void>((resolve) => {
    endedEarly = resolve
  })

  const link: AgentLink = {
    connectionId,
    connection,
    ended,
    get closing() {
      return closing
    },
    close(reason) {
      closing ??= reason
      closed ??= shut()
      return closed
    },
  }

  async function shut() {
    const stopWaiting = clock.after(closeWaitMs, endedEarly)
    const park = closing === 'parked' ? connection.park?.() : undefined
    const closed = (park ?? connection.close()).catch(() => undefined)
    await Promise.race([closed.then(() => pumped), gone])
    stopWaiting()
    await end(undefined, undefined)
  }

  function end(last: Parameters<typeof lost>[1], error: unknown): Promise<void> {
    ending ??= lost(link, last, error).finally(resolveEnded)
    return ending
  }

  async function pump() {
    let last: Parameters<typeof lost>[1]
    let failure: unknown
    let count = 0
    try {
      for await (const output of connection.events) {
        if (output.type === 'agent.disconnected') last = output
        else if (!closing) {
          const busy = take(link, output)
          if (busy) await busy
        }
        if (++count % outputsBetweenBreaths === 0) await clock.breathe()
      }
    } catch (error) {
      failure = error
    }
    await end(last, failure)
  }

  const pumped = pump()
  return link
}
