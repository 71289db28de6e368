import type { AgentOutput, HostTools, Person } from '@parley/adapter-kit'
import type { Usage } from '@parley/protocol'
import type { Gates, Sleep } from './gates.ts'
import type { EndStep, Script } from './script.ts'

/** The input of one turn. The same script, prefix and answers give the same outputs. */
export type TurnInput = {
  readonly script: Script
  /** The prefix of the ids of blocks and tool calls. It must be new for every turn and every resumption. */
  readonly idPrefix: string
  readonly cwd: string
  readonly person: Person
  readonly hostTools: HostTools | undefined
  readonly gates: Gates
  readonly sleep: Sleep
  readonly pieceDelayMs: number
  /** Aborts when the host wants the turn to end. Waiting requests are withdrawn. */
  readonly interrupted: AbortSignal
  /** Aborts when the agent is closed. Waiting requests remain open. */
  readonly closed: AbortSignal
  /** True if the turn resumes at the first request that was not answered before. */
  readonly resuming: boolean
  readonly answered: ReadonlySet<string>
  /** Records synchronously that the request of this step was asked or answered. */
  remember(what: 'asked' | 'answered', path: string): void
}

export type Turn = TurnInput & {
  /** Aborts when `interrupted` or `closed` aborts. */
  readonly stopped: AbortSignal
  newId(kind: 'text' | 'thinking' | 'call' | 'task'): string
  pace(): Promise<void> | undefined
  usage: Usage | undefined
  readonly openTasks: Map<string, TaskUpdated>
}
export type TaskUpdated = Extract<AgentOutput, { type: 'task.updated' }>

/** The path of a step, its parent call, and whether the step started before the turn was parked. */
export type Place = { readonly path: string; readonly parent: string | undefined; readonly resuming: boolean }

/** The reason why the script stops: the end of the turn, or the end of the agent with its last output. */
export type Ending = EndStep | { readonly type: 'gone'; readonly last?: AgentOutput }

export type Playing = AsyncGenerator<AgentOutput, Ending | undefined, undefined>

export function parentOf(place: Place): { parentToolCallId?: string } {
  return place.parent === undefined ? {} : { parentToolCallId: place.parent }
}
