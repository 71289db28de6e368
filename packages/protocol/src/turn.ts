import { z } from 'zod'
import { ErrorInfo } from './error.ts'
import { NotionalCost, TokenUsage } from './usage.ts'

/** The outcome of a turn. unknown: the agent may have done things that are not in the log. */
export const TurnOutcome = z.enum(['completed', 'cancelled', 'failed', 'unknown'])
export type TurnOutcome = z.infer<typeof TurnOutcome>

export const TurnEnd = z.object({
  outcome: TurnOutcome,
  stopReason: z.string(),
  error: ErrorInfo.optional(),
  usage: TokenUsage.optional(),
  costUsd: z.number().optional(),
  notionalCost: NotionalCost,
  durationMs: z.number(),
  steps: z.number().optional().meta({ description: 'Number of model calls, as the agent counts them' }),
  modelMs: z.number().optional().meta({ description: 'Time spent in model calls, if the agent reports it' }),
  result: z
    .string()
    .optional()
    .meta({ description: 'The result of the turn; absent if it equals the last text of the turn' }),
  structuredOutput: z.unknown().optional(),
})
export type TurnEnd = z.infer<typeof TurnEnd>

/** Stop reasons of a turn that reached one of its limits. Nothing failed, and the work can be continued. */
const limits: ReadonlySet<string> = new Set([
  'max_tokens',
  'length',
  'max_turns',
  'max_turn_requests',
  'max_budget',
  'max_budget_usd',
  'budget_exhausted',
])

/** True if the turn ended at a limit on its length, steps or cost, even if its agent reports a failure. */
export function reachedLimit({ outcome, stopReason }: Pick<TurnEnd, 'outcome' | 'stopReason'>): boolean {
  return (outcome === 'completed' || outcome === 'failed') && limits.has(stopReason)
}
/**
 * The cause of a turn that no queued prompt started. steer: a steered prompt that the previous turn did not take up.
 * agent: the agent continued by itself, for instance when a background task reported. task: the host started an
 * interrupted task again, because its request was answered.
 */
export const TurnCause = z.object({
  by: z.enum(['steer', 'agent', 'task']),
  taskId: z.string().optional(),
  title: z.string().optional().meta({ description: 'The title of the task' }),
})
export type TurnCause = z.infer<typeof TurnCause>

/** The reason why a waiting turn has no process. */
export const ParkReason = z.enum(['server-stopped', 'server-killed', 'agent-lost', 'waited-long'])
export type ParkReason = z.infer<typeof ParkReason>

/**
 * The node that recorded the loss of the server of a session, if several nodes share the store. node: the node that
 * continues the session. caretaker: a node on another machine, which cannot run the agent.
 */
export const RecordedBy = z.enum(['node', 'caretaker'])
export type RecordedBy = z.infer<typeof RecordedBy>
