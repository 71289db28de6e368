import { z } from 'zod'

const count = z.number().min(0)

export const TokenUsage = z.object({
  input: count,
  output: count,
  cacheRead: count.optional(),
  cacheWrite: count.optional(),
  reasoning: count.optional(),
})
export type TokenUsage = z.infer<typeof TokenUsage>

/** The current usage of the model's context. It is separate from the cumulative tokens, which only grow. */
export const ContextUsage = z.object({
  used: count,
  window: count.optional(),
  maxOutput: count.optional().meta({ description: 'Maximum number of output tokens of one response' }),
})
export type ContextUsage = z.infer<typeof ContextUsage>

/** Set if a subscription pays: the cost is the list price of the tokens, and nobody is billed for it. */
export const NotionalCost = z.literal(true).optional()

export const Usage = z.object({
  context: ContextUsage,
  total: TokenUsage,
  costUsd: count.optional(),
  notionalCost: NotionalCost,
})
export type Usage = z.infer<typeof Usage>
