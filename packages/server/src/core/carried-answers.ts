import type { PermissionAsk, QuestionAsk } from '@parley/adapter-kit'
import {
  type CarriedAnswer,
  carriedAnswers,
  type EventDraft,
  type KnownTask,
  type SessionState,
} from '@parley/protocol'
import { hashOf } from './hash.ts'

/** Applies carried answers. The file of the same name in the protocol package folds them into the state. */

/** The carried answer to a request for the same tool and input. */
export function carriedPermission(state: SessionState, ask: PermissionAsk) {
  const inputHash = hashOf({ tool: ask.tool, input: ask.input })
  const carried = carriedAnswers(state, ask).find(
    (one) => one.type === 'permission' && one.inputHash === inputHash,
  )
  return carried?.type === 'permission' ? carried.resolution : undefined
}

export function carriedQuestion(state: SessionState, ask: QuestionAsk) {
  const hash = hashOf([...ask.questions])
  const carried = carriedAnswers(state, ask).find(
    (one) => one.type === 'question' && hashOf(one.questions) === hash,
  )
  return carried?.type === 'question' ? carried.resolution : undefined
}

/** True if a carried answer allows a call or answers a question: only then is the task started again. */
export function hasUsableAnswer({ carried = [] }: KnownTask): boolean {
  return carried.some(({ resolution: { outcome } }) => outcome === 'allowed' || outcome === 'answered')
}

/**
 * Notices for answers that were given while the agent had no process, if the agent did not ask again. A call that was
 * allowed has not run.
 */
export function unusedAnswers(carried: readonly CarriedAnswer[]): EventDraft[] {
  return carried.map(({ type, resolution: { requestId, outcome } }) => ({
    type: 'agent.noticed',
    level: 'warning',
    code: 'answer_unused',
    text:
      type === 'question'
        ? 'Your answer was not used: the agent did not ask the question again after its restart.'
        : outcome === 'allowed'
          ? 'The call that you allowed did not run: the agent did not request it again after its restart.'
          : 'Your denial was not used: the agent did not request the call again after its restart.',
    data: { requestId, outcome },
  }))
}
