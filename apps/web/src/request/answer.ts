import type { DecisionOptions } from '@parley/client'
import type { Answers, OpenRequest } from '@parley/protocol'
import { useIsAnswering } from './kept-answers.ts'
import { sendAnswer } from './send-answer.ts'

/** Sends an answer once. If the request was settled first, the person is told how, and no error is shown. */
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
