export type SignedDecision = {
  readonly sessionId: string
  readonly requestId: string
  readonly inputHash: string
  readonly decision: 'allow' | 'deny'
  readonly scope: string
  /** The edited input as it is sent; undefined if the input was not edited. */
  readonly input?: unknown
  readonly commandId: string
}

/** The text that a browser signs for a decision on a permission request. */
export function decisionText(decision: SignedDecision): string {
  const { sessionId, requestId, inputHash, scope, input, commandId } = decision
  const edited = input === undefined ? '' : sortedJson(input)
  const lines = [sessionId, requestId, inputHash, decision.decision, scope, edited, commandId]
  return ['parley decision 1', ...lines].join('\n')
}

export type SignedAnswer = {
  readonly sessionId: string
  readonly requestId: string
  readonly answers: unknown
  readonly commandId: string
}

/** The text that a browser signs for the answers to a question. */
export function answerText({ sessionId, requestId, answers, commandId }: SignedAnswer): string {
  return ['parley answer 1', sessionId, requestId, sortedJson(answers), commandId].join('\n')
}

/** JSON with sorted keys, so that equal values have equal texts. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  )
}
