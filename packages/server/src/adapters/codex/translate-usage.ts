import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, noTokens, sumTokens } from '@parley/adapter-kit/translation'
import type { TokenUsage } from '@parley/protocol'
import type { NativeTokens, NativeTokenUsage } from './native.ts'
import type { TranslateState, Translation } from './translate-state.ts'

/** Reports the usage of the conversation after each answer of the model. The usage of subagents is not included. */
export function measure(
  state: TranslateState,
  { threadId, tokenUsage }: { threadId: string; tokenUsage: NativeTokenUsage },
): Translation {
  if (threadId !== state.threadId) return noOutput(state)
  const { total: native, last, modelContextWindow: window } = tokenUsage
  const total = tokensOf(native)
  const usage = { total, context: last.totalTokens, window: window ?? undefined }
  if (JSON.stringify(usage) === JSON.stringify(state.usage)) return noOutput(state)
  const called = JSON.stringify(total) !== JSON.stringify(state.usage.total)
  const turn =
    state.turn && called
      ? { ...state.turn, usage: sumTokens(state.turn.usage ?? noTokens, tokensOf(last)) }
      : state.turn
  const measured: AgentOutput = {
    type: 'usage.measured',
    context: { used: last.totalTokens, ...(window !== null && { window }) },
    total,
  }
  return { state: { ...state, turn, usage }, outputs: [measured] }
}

/** Converts token counts. Codex includes cached tokens in the input; here they are counted separately. */
function tokensOf(native: NativeTokens): TokenUsage {
  const { cachedInputTokens: cacheRead, cacheWriteInputTokens: cacheWrite = 0 } = native
  const { inputTokens, outputTokens: output, reasoningOutputTokens: reasoning } = native
  return {
    input: Math.max(0, inputTokens - cacheRead - cacheWrite),
    output,
    ...(cacheRead > 0 && { cacheRead }),
    ...(cacheWrite > 0 && { cacheWrite }),
    ...(reasoning > 0 && { reasoning }),
  }
}
