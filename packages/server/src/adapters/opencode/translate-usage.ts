import type { StepFinishPart } from '@opencode-ai/sdk/v2/client'
import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, sumTokens } from '@parley/adapter-kit/translation'
import type { TokenUsage } from '@parley/protocol'
import { type TranslateState, type Translation, withDone, withinTurn } from './translate-state.ts'

/**
 * Called when a step of the model is over: adds its usage to the totals. Steps of subagents count too, but only steps
 * of the main agent determine the size of the context.
 */
export function measureStep(state: TranslateState, step: StepFinishPart): Translation {
  if (state.done.has(step.id)) return noOutput(state)
  const used = tokensOf(step.tokens)
  const costUsd = step.cost ?? 0
  const isMain = step.sessionID === state.root && !state.messages.get(step.messageID)?.summary
  const usage = {
    ...state.usage,
    total: sumTokens(state.usage.total, used),
    costUsd: state.usage.costUsd + costUsd,
    context: isMain ? contextOf(used) : state.usage.context,
  }
  const next = withinTurn({ ...withDone(state, step.id), usage }, (turn) => ({
    usage: sumTokens(turn.usage, used),
    costUsd: turn.costUsd + costUsd,
  }))
  return { state: next, outputs: [measured(usage)] }
}

function measured({ context, window, total, costUsd }: TranslateState['usage']): AgentOutput {
  return {
    type: 'usage.measured',
    context: { used: context, ...(window !== undefined && { window }) },
    total,
    costUsd,
  }
}

export type NativeTokens = StepFinishPart['tokens']

export function tokensOf({ input, output, reasoning, cache }: NativeTokens): TokenUsage {
  return {
    input,
    output,
    ...(cache?.read && { cacheRead: cache.read }),
    ...(cache?.write && { cacheWrite: cache.write }),
    ...(reasoning && { reasoning }),
  }
}

function contextOf({ input, output, cacheRead = 0, cacheWrite = 0, reasoning = 0 }: TokenUsage): number {
  return input + output + cacheRead + cacheWrite + reasoning
}
