import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, noTokens, sumTokens } from '@parley/adapter-kit/translation'
import type { TokenUsage } from '@parley/protocol'
import type { NativeResult, NativeUsage } from './native.ts'
import type { TranslateState, Translation } from './translate-state.ts'

/** Marks the turn as started when a message of the agent names a prompt of the turn. */
export function withBegunTurn(state: TranslateState, prompts: readonly string[] | undefined): TranslateState {
  const { turn } = state
  if (!turn || turn.begun || !prompts?.some((uuid) => turn.prompts.includes(uuid))) return state
  return { ...state, turn: { ...turn, begun: true } }
}

/**
 * Called when a call to the model is over. Its usage is reported at once; the result later reports the totals. Only
 * calls of the main agent count as context. `id` is the id of the answer, so that a repeated report counts once.
 */
export function measureCall(
  state: TranslateState,
  { id, isMain }: { id: string; isMain: boolean },
  [started, ended]: readonly (NativeUsage | undefined)[],
): Translation {
  const used = tokensOf({ ...started, ...withoutNulls(ended) })
  const size = used.input + used.output + (used.cacheRead ?? 0) + (used.cacheWrite ?? 0)
  const before = state.usage.calls.get(id)
  if (size === 0 || (before && JSON.stringify(before) === JSON.stringify(used))) return noOutput(state)
  const calls = new Map(state.usage.calls).set(id, used)
  const usage = { ...state.usage, calls, context: isMain ? size : state.usage.context }
  return { state: { ...state, usage }, outputs: measured(usage) }
}

/**
 * Updates the totals of the conversation. Adds the usage that this result reports. If the result reports none, or the
 * total is unknown (right after a resume), uses the agent's own count, which restarts when the agent clears the
 * conversation.
 */
export function measureResult(state: TranslateState, result: NativeResult): Translation {
  const whole = totalOf(result.modelUsage)
  const added = result.model_usage_since_last_result
  const { total, costUsd = 0 } = state.usage
  const isKnown = added !== undefined && total !== undefined
  if (!isKnown && Object.keys(result.modelUsage ?? {}).length === 0) return noOutput(state)
  const { window, maxOutput } = limitsIn(result.modelUsage, state.reportedModel)
  const usage = {
    ...state.usage,
    window: window ?? state.usage.window,
    maxOutput: maxOutput ?? state.usage.maxOutput,
    total: isKnown ? sumTokens(total, totalOf(added)) : whole,
    costUsd: isKnown ? costUsd + costIn(added) : result.total_cost_usd,
    apiMs: result.duration_api_ms ?? state.usage.apiMs,
    calls: new Map<string, TokenUsage>(),
  }
  return { state: { ...state, usage }, outputs: measured(usage) }
}

/**
 * The cost of this turn. If the result does not report it, the cost is the growth of the agent's own count. A count
 * that is smaller than before has restarted.
 */
export function costOfTurn(state: TranslateState, result: NativeResult): number | undefined {
  const added = result.model_usage_since_last_result
  if (added) return costIn(added)
  const before = state.usage.costUsd
  const now = result.total_cost_usd
  if (before === undefined || typeof now !== 'number') return undefined
  return now < before ? now : now - before
}

/** The steps of this turn, and the time of its calls to the model. The process reports a total since it was started. */
export function effortOfTurn(
  { usage }: TranslateState,
  { num_turns, duration_api_ms }: NativeResult,
): { steps?: number; modelMs?: number } {
  const before = usage.apiMs
  const known = before !== undefined && typeof duration_api_ms === 'number'
  const modelMs = known && (duration_api_ms < before ? duration_api_ms : duration_api_ms - before)
  return {
    ...(typeof num_turns === 'number' && { steps: num_turns }),
    ...(modelMs !== false && { modelMs }),
  }
}

/** The usage of this turn, including that of subagents if the result reports it. */
export function usageOf(result: NativeResult): { usage?: TokenUsage } {
  const added = result.model_usage_since_last_result
  if (added) return { usage: totalOf(added) }
  return result.usage ? { usage: tokensOf(result.usage) } : {}
}

type ModelUsage = NativeResult['modelUsage']

/**
 * The limits of the main model, or of the model with the largest context if the main model is not listed. Side tasks
 * use other models.
 */
function limitsIn(models: ModelUsage | undefined, main: string | undefined) {
  const all = Object.values(models ?? {}).toSorted((a, b) => (b.contextWindow ?? 0) - (a.contextWindow ?? 0))
  const { contextWindow, maxOutputTokens } = models?.[main ?? ''] ?? all[0] ?? {}
  return { window: contextWindow || undefined, maxOutput: maxOutputTokens || undefined }
}

function totalOf(models: ModelUsage | undefined): TokenUsage {
  return Object.values(models ?? {}).reduce(
    (total, model) =>
      sumTokens(total, {
        input: model.inputTokens ?? 0,
        output: model.outputTokens ?? 0,
        cacheRead: model.cacheReadInputTokens ?? 0,
        cacheWrite: model.cacheCreationInputTokens ?? 0,
        reasoning: model.thinkingTokens ?? 0,
      }),
    noTokens,
  )
}

function costIn(models: ModelUsage): number {
  return Object.values(models).reduce((total, { costUSD }) => total + (costUSD ?? 0), 0)
}

function tokensOf(usage: NativeUsage): TokenUsage {
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage
  const reasoning = usage.output_tokens_details?.thinking_tokens
  return {
    input: input_tokens ?? 0,
    output: output_tokens ?? 0,
    ...(cache_read_input_tokens && { cacheRead: cache_read_input_tokens }),
    ...(cache_creation_input_tokens && { cacheWrite: cache_creation_input_tokens }),
    ...(reasoning && { reasoning }),
  }
}

function measured({ total, calls, costUsd, ...usage }: TranslateState['usage']): AgentOutput[] {
  const { context, window, maxOutput } = usage
  if (!total) return []
  return [
    {
      type: 'usage.measured',
      context: {
        used: context,
        ...(window !== undefined && { window }),
        ...(maxOutput !== undefined && { maxOutput }),
      },
      total: [...calls.values()].reduce(sumTokens, total),
      ...(costUsd !== undefined && { costUsd }),
    },
  ]
}

function withoutNulls(usage: NativeUsage | undefined): NativeUsage {
  return Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value != null))
}
