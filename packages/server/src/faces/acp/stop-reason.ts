import type { PromptResponse, StopReason, Usage } from '@agentclientprotocol/sdk/unstable'
import { defined, type EventOf, ParleyError, type TokenUsage } from '@parley/protocol'

/** The stop reasons of agents that ACP also has, with their names in ACP. */
const limits: Readonly<Record<string, StopReason>> = {
  max_tokens: 'max_tokens',
  length: 'max_tokens',
  max_turns: 'max_turn_requests',
  max_turn_requests: 'max_turn_requests',
  refusal: 'refusal',
}

/** The answer to a prompt, from the end of its turn. Throws a ParleyError for a turn that failed. */
export function promptResponse({ outcome, stopReason, error, usage }: EventOf<'turn.ended'>): PromptResponse {
  const counted = usage && { usage: usageOf(usage) }
  const limit = limits[stopReason]
  if (outcome === 'cancelled') return { stopReason: 'cancelled', ...counted }
  if (limit !== undefined) return { stopReason: limit, ...counted }
  if (outcome === 'completed') return { stopReason: 'end_turn', ...counted }
  if (error) throw ParleyError.from(error)
  const words =
    outcome === 'unknown'
      ? 'The outcome of this turn is unknown: check what it has done.'
      : 'The turn failed.'
  throw new ParleyError('agent_failed', words, { details: { outcome, stopReason } })
}

function usageOf({ input, output, cacheRead, cacheWrite, reasoning }: TokenUsage): Usage {
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output + (cacheRead ?? 0) + (cacheWrite ?? 0),
    ...defined({ cachedReadTokens: cacheRead, cachedWriteTokens: cacheWrite, thoughtTokens: reasoning }),
  }
}
