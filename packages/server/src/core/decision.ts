import { type EventDraft, ParleyError, type PermissionRule, type Receipt } from '@parley/protocol'
import type { AgentAdapter } from './agent-adapter.ts'
import type { Ids } from './clock.ts'

/** What decide may use beside the state. */
export type DecideContext = {
  readonly now: number
  readonly ids: Ids
  readonly agent: Pick<AgentAdapter, 'name' | 'capabilities' | 'modes' | 'options' | 'fixedOptions'>
  readonly maxQueue: number
  /** Something must run before the next turn: a prompt waits in the queue. */
  readonly mustWait?: boolean
  readonly rules: readonly PermissionRule[]
}

export type Decision = {
  readonly drafts: readonly EventDraft[]
  readonly reply?: Pick<Receipt, 'promptId' | 'sessionId'>
  readonly rules?: readonly PermissionRule[]
}

export function refuseIf(
  refused: boolean,
  code: 'conflict' | 'busy' | 'validation_error',
  message: string,
): void {
  if (refused) throw new ParleyError(code, message)
}
