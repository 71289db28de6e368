import type { TokenUsage, TurnEnd } from '@parley/protocol'
import type { FinishReason, Usage } from './specification.ts'

/** Tokens are counted for a whole turn: a step that ends before its turn says nothing of them. */
export function usageOf(usage?: TokenUsage): Usage {
  const { input, output, cacheRead, cacheWrite, reasoning } = usage ?? {}
  const total = input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0)
  return {
    inputTokens: { total, noCache: input, cacheRead, cacheWrite },
    outputTokens: { total: output, text: undefined, reasoning },
  }
}

export function finishReasonOf({
  outcome,
  stopReason: raw,
}: Pick<TurnEnd, 'outcome' | 'stopReason'>): FinishReason {
  if (outcome === 'cancelled') return { unified: 'other', raw }
  if (outcome !== 'completed') return { unified: 'error', raw }
  if (raw === 'max_tokens') return { unified: 'length', raw }
  return { unified: raw === 'refusal' ? 'content-filter' : 'stop', raw }
}
