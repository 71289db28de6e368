/** Why a turn that ended well stopped short, by the names that agents and models have for it. */
const words: Readonly<Record<string, string>> = {
  max_tokens: 'The answer was cut off: the model reached its output limit (max_tokens).',
  length: 'The answer was cut off: the model reached its output limit (max_tokens).',
  max_turn_requests: 'The turn stopped: the agent reached its limit of steps for one turn.',
  max_turns: 'The turn stopped: the agent reached its limit of steps for one turn.',
  refusal: 'The model declined to continue.',
  model_context_window_exceeded: "The answer was cut off: the model's context window is full.",
}

export function stopWords(stopReason: string): string | undefined {
  return Object.hasOwn(words, stopReason) ? words[stopReason] : undefined
}
