import type { DecisionOptions } from '@parley/client'
import type { Answers, OpenRequest } from '@parley/protocol'
import { useIsAnswering } from './kept-answers.ts'
import { sendAnswer } from './send-answer.ts'

/** Sends an answer once. Whoever was second is told how it ended, not that something went wrong. */
export function useAnswer(sessionId: string, request: OpenRequest) {
  const { requestId } = request
  return {
    sending: useIsAnswering(requestId),
    decide: (decision: 'allow' | 'deny', options: DecisionOptions = {}) =>
      sendAnswer(sessionId, request, { type: 'permission.decide', requestId, decision, ...options }),
    answer: (answers: Answers) =>
      sendAnswer(sessionId, request, { type: 'question.answer', requestId, answers }),
  }
}
