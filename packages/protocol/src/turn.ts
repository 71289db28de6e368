import { z } from 'zod'
import { ErrorInfo } from './error.ts'
import { TokenUsage } from './usage.ts'

/** unknown: the agent may have done things that we did not see. */
export const TurnOutcome = z.enum(['completed', 'cancelled', 'failed', 'unknown'])
export type TurnOutcome = z.infer<typeof TurnOutcome>

export const TurnEnd = z.object({
  outcome: TurnOutcome,
  stopReason: z.string(),
  error: ErrorInfo.optional(),
  usage: TokenUsage.optional(),
  costUsd: z.number().optional(),
  durationMs: z.number(),
  result: z.string().optional(),
  structuredOutput: z.unknown().optional(),
})
export type TurnEnd = z.infer<typeof TurnEnd>

/** Why no process is kept for a turn that waits. */
export const ParkReason = z.enum(['server-stopped', 'server-killed', 'agent-lost', 'waited-long'])
export type ParkReason = z.infer<typeof ParkReason>
