import type { Block, BlockOf, TurnEnd } from '@parley/protocol'
import { dollars } from '../base/format.logic.ts'

/** A text for each stop reason with which agents and models end a completed turn early. */
const stopTexts: Readonly<Record<string, string>> = {
  max_tokens: 'The answer was cut off: the model reached its output limit (max_tokens).',
  length: 'The answer was cut off: the model reached its output limit (max_tokens).',
  max_turn_requests: 'The turn stopped: the agent reached its limit of steps for one turn.',
  max_turns: 'The turn stopped: the agent reached its limit of steps for one turn.',
  refusal: 'The model declined to continue.',
  model_context_window_exceeded: "The answer was cut off: the model's context window is full.",
}

export function stopText(stopReason: string): string | undefined {
  return Object.hasOwn(stopTexts, stopReason) ? stopTexts[stopReason] : undefined
}

/** The cost of a turn. Undefined if the agent does not report costs. */
export function costText({ costUsd, notionalCost }: TurnEnd): string | undefined {
  if (costUsd === undefined || costUsd <= 0) return undefined
  return `${dollars(costUsd)}${notionalCost ? ' at list price' : ''}`
}

/**
 * Whether the turn restored files by the agent's own means, or undid such a restoration. Only logs of earlier versions
 * have such turns.
 */
export function isRewind(stopReason: string): boolean {
  return stopReason === 'rewound' || stopReason === 'rewind_undone'
}

/**
 * The number of turns that have ended since the turn of this prompt started, without turns that were taken
 * back.
 */
export function turnsSince(timeline: readonly Block[], { turnId }: BlockOf<'prompt'>): number {
  const ends = timeline.filter(({ type, takenBack }) => type === 'turn-end' && takenBack === undefined)
  const first = ends.findIndex((end) => end.turnId === turnId)
  return first < 0 ? 0 : ends.length - first
}

/** The prompt that started a turn, if it is loaded. */
export function promptOfTurn(
  timeline: readonly Block[],
  turnId: string | undefined,
): BlockOf<'prompt'> | undefined {
  const isIt = (block: Block) =>
    block.type === 'prompt' && block.turnId === turnId && block.delivery === 'queue'
  const found = turnId === undefined ? undefined : timeline.findLast(isIt)
  return found?.type === 'prompt' ? found : undefined
}
