import { defined, type EventOf } from '@parley/protocol'
import type { FinishReason, UiChunk, UiMetadata } from './ui-chunk.ts'

/** The last chunks of a response whose turn has ended. */
export function finishOf(event: EventOf<'turn.ended'>, known: UiMetadata): UiChunk[] {
  const { outcome, stopReason, error, usage, costUsd, notionalCost, durationMs, structuredOutput } = event
  const messageMetadata: UiMetadata = {
    ...known,
    outcome,
    stopReason,
    durationMs,
    ...(error && { error: { code: error.code, message: error.message } }),
    ...defined({ usage, costUsd, notionalCost, structuredOutput }),
  }
  if (outcome === 'cancelled') {
    return [{ type: 'abort' }, { type: 'finish', finishReason: 'other', messageMetadata }]
  }
  if (outcome === 'completed') {
    return [{ type: 'finish', finishReason: finishReasonOf(stopReason), messageMetadata }]
  }
  // Readers ignore everything after an error chunk, so the metadata of the message comes first.
  const errorText = error?.message ?? unexplained[outcome]
  return [
    { type: 'message-metadata', messageMetadata },
    { type: 'error', errorText },
  ]
}

const unexplained = {
  failed: 'The turn failed.',
  unknown: 'The agent was lost during the turn; which actions it completed is unknown.',
}

function finishReasonOf(stopReason: string): FinishReason {
  if (stopReason === 'max_tokens') return 'length'
  return stopReason === 'refusal' ? 'content-filter' : 'stop'
}
