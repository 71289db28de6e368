import { reachedLimit, type TokenUsage, type TurnEnd } from '@parley/protocol'
import type { FinishReason, Usage } from './specification.ts'

/**
 * The token counts in the form of the AI SDK. Tokens are counted per turn, so a step that ends before its
 * turn reports none.
 */
export function usageOf(usage?: TokenUsage): Usage {
  const { input, output, cacheRead, cacheWrite, reasoning } = usage ?? {}
  const total = input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0)
  return {
    inputTokens: { total, noCache: input, cacheRead, cacheWrite },
    outputTokens: { total: output, text: undefined, reasoning },
  }
}

export function finishReasonOf(end: Pick<TurnEnd, 'outcome' | 'stopReason'>): FinishReason {
  const { outcome, stopReason: raw } = end
  if (reachedLimit(end)) return { unified: 'length', raw }
  if (outcome === 'cancelled') return { unified: 'other', raw }
  if (outcome !== 'completed') return { unified: 'error', raw }
  return { unified: raw === 'refusal' ? 'content-filter' : 'stop', raw }
}
