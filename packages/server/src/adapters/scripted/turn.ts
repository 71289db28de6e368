import type { Usage } from '@parley/protocol'
import type { AgentOutput, HostTools, Person } from '../../core/agent-adapter.ts'
import type { Gates, Sleep } from './gates.ts'
import type { EndStep, Script } from './script.ts'

/** Everything one turn needs. The same script, prefix and answers give the same outputs. */
export type TurnInput = {
  readonly script: Script
  /** Ids of blocks and tool calls begin with it; it must be new for every turn and every resumption. */
  readonly idPrefix: string
  readonly cwd: string
  readonly person: Person
  readonly hostTools: HostTools | undefined
  readonly gates: Gates
  readonly sleep: Sleep
  /** Between the pieces of a stream. */
  readonly pieceDelayMs: number
  /** The host wants the turn to end; requests that wait are withdrawn. */
  readonly interrupted: AbortSignal
  /** The agent is gone; requests that wait stay open. */
  readonly closed: AbortSignal
  /** Play from the first request that is not among those answered before. */
  readonly resuming: boolean
  readonly answered: ReadonlySet<string>
  /** Remembers, before it returns, that the request of this step was asked or answered. */
  remember(what: 'asked' | 'answered', path: string): void
}

export type Turn = TurnInput & {
  /** Either of the two. */
  readonly stopped: AbortSignal
  newId(kind: 'text' | 'thinking' | 'call' | 'task'): string
  pace(): Promise<void> | undefined
  usage: Usage | undefined
  readonly openTasks: Map<string, TaskUpdated>
}
export type TaskUpdated = Extract<AgentOutput, { type: 'task.updated' }>

/** Where a step stands, and whether it was begun before a park. */
export type Place = { readonly path: string; readonly parent: string | undefined; readonly resuming: boolean }

/** Why nothing more is played: the turn's end, or the agent's, with its last words. */
export type Ending = EndStep | { readonly type: 'gone'; readonly last?: AgentOutput }

export type Playing = AsyncGenerator<AgentOutput, Ending | undefined, undefined>

export function parentOf(place: Place): { parentToolCallId?: string } {
  return place.parent === undefined ? {} : { parentToolCallId: place.parent }
}
