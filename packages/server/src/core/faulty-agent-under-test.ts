import type {
  AgentAdapter,
  AgentConnection,
  AgentMessage,
  AgentOutput,
  ConnectInput,
} from '@parley/adapter-kit'
import { createOutputQueue } from '@parley/adapter-kit/output-queue'
import { type CapabilityName, capabilities } from '@parley/protocol'
import { systemClock } from '../system-clock.ts'

/** A connection of a faulty agent, with the messages it received. */
export type FaultyConnection = {
  /** 0 is the first connection. */
  readonly number: number
  readonly input: ConnectInput
  readonly received: AgentMessage[]
  say(...outputs: AgentOutput[]): void
  /** Reports the end of a turn that was completed. */
  endTurn(): void
  /** Ends the output: the agent has ended. */
  end(): void
}

type Behaviour = Partial<Omit<AgentConnection, 'events'>>

export type FaultyAgent = {
  /** For `hostUnderTest`: an adapter that replaces the scripted agent and has its id. */
  readonly adapter: (scripted: AgentAdapter) => AgentAdapter
  readonly connections: FaultyConnection[]
  /** The number of connections that neither ended nor were closed. */
  readonly open: number
  readonly closed: number
  /** The texts of the prompts that all connections have received, in order. */
  readonly texts: string[]
}

/**
 * An agent that behaves normally except for the functions of `behaviour`, which replace the normal ones. If
 * `behaviour` returns a promise, the agent connects only when that promise resolves.
 */
export function faultyAgent(
  behaviour: (connection: FaultyConnection) => Behaviour | Promise<Behaviour>,
  can: readonly CapabilityName[] = ['permissions', 'resume', 'steer', 'models'],
): FaultyAgent {
  const connections: FaultyConnection[] = []
  const texts: string[] = []
  const made = new Set<FaultyConnection>()
  const gone = new Set<FaultyConnection>()
  const closed = new Set<FaultyConnection>()

  async function connect(input: ConnectInput): Promise<AgentConnection> {
    const queue = createOutputQueue(() => undefined)
    const odd: FaultyConnection = {
      number: connections.length,
      input,
      received: [],
      say: (...outputs) => {
        for (const output of outputs) void queue.put(output)
      },
      endTurn: () => void queue.put({ type: 'turn.ended', outcome: 'completed', stopReason: 'end' }),
      end: () => {
        gone.add(odd)
        queue.end()
      },
    }
    connections.push(odd)
    const own = await behaviour(odd)
    made.add(odd)
    return {
      events: queue.outputs,
      send(message) {
        odd.received.push(message)
        texts.push(textOf(message))
        return own.send?.(message) ?? Promise.resolve()
      },
      interrupt: own.interrupt ?? (async () => undefined),
      configure: own.configure ?? (async () => undefined),
      close() {
        gone.add(odd)
        closed.add(odd)
        return (own.close?.() ?? Promise.resolve()).then(() => queue.end())
      },
    }
  }

  return {
    adapter: (scripted) => ({ ...scripted, name: 'Odd', capabilities: capabilities(...can), connect }),
    connections,
    texts,
    get open() {
      return [...made].filter((one) => !gone.has(one)).length
    },
    get closed() {
      return closed.size
    },
  }
}

function textOf({ prompt }: AgentMessage): string {
  return prompt.parts.map((part) => (part.type === 'text' ? part.text : part.type)).join(' ')
}

export const connectedAs = (agentSessionId: string): AgentOutput => ({
  type: 'agent.connected',
  agentSessionId,
})

/** Resolves as soon as the condition is true. */
export async function until(fact: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 10_000; !fact(); ) {
    if (Date.now() > deadline) throw new Error(`this did not become true: ${fact}`)
    await systemClock.yieldToIo()
  }
}

/** Yields to the event loop `count` times, so that work that needs no further input can finish. */
export async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await systemClock.yieldToIo()
}
