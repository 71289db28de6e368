import type { DecisionOptions } from '@parley/client'
import { type Answers, hasCode, type OpenRequest } from '@parley/protocol'
import { useEffect } from 'react'
import { client } from '../base/client.ts'
import { navigate } from '../base/route.ts'
import { useStore } from '../base/store.ts'
import type { AnswerCommand } from '../call/answer-text.logic.ts'
import { announce } from '../parts/announcer.tsx'
import { toast } from '../parts/toasts.tsx'
import { browser } from '../session-data/prompts.ts'
import { waiting } from '../session-data/waiting-list.ts'
import { removeAnswerDraft } from './answer-draft.ts'
import { AnswerOutbox, type GivenAnswer } from './answer-outbox.ts'

export const answers = new AnswerOutbox({
  ...browser,
  async send({ sessionId, requestId, answer, commandId }, signal) {
    const signed = await signedInTime(sessionId, answer, commandId)
    const sent = client.command(sessionId, signed, { commandId, signal })
    // If another tab has meanwhile signed this browser in again, the server refuses the signature, and the answer is
    // sent without it.
    await (signed === answer
      ? sent
      : sent.catch((thrown: unknown) => {
          if (!hasCode(thrown, 'forbidden')) throw thrown
          return client.command(sessionId, answer, { commandId, signal })
        }))
    removeAnswerDraft(requestId)
  },
  openRequests() {
    const { status, requests } = waiting.getSnapshot()
    return status === 'live' ? new Set(requests.map(({ request }) => request.requestId)) : undefined
  },
  tell: (text, place) =>
    toast(text, { ms: Number.POSITIVE_INFINITY, action: { label: 'Show', run: () => navigate(place) } }),
  announce,
})

const loadSigning = () => import('./sign-answer.ts')

/** An answer must not wait for a signature longer than this. */
const signMs = 3_000

/** Signs the answer. Returns it without a signature if signing fails or takes too long. */
async function signedInTime(
  sessionId: string,
  answer: AnswerCommand,
  commandId: string,
): Promise<AnswerCommand> {
  const late = Promise.withResolvers<AnswerCommand>()
  const cancel = browser.clock.after(signMs, () => late.resolve(answer))
  const signing = loadSigning().then(({ signAnswer }) => signAnswer(sessionId, answer, commandId))
  const signed = await Promise.race([signing.catch(() => answer), late.promise])
  cancel()
  return signed
}

export function startAnswers(): void {
  answers.start()
  waiting.subscribe(() => answers.removeSettled())
  client.closing.addEventListener('abort', () => answers.stop())
}

export function useAnswer(sessionId: string, request: OpenRequest) {
  const { requestId } = request
  // Loads the code that signs answers now: the person may answer when the server is unreachable.
  useEffect(() => void loadSigning().catch(() => {}), [])
  return {
    sending: useStore(answers, () => answers.isGivenHere(requestId)),
    decide: (decision: 'allow' | 'deny', options: DecisionOptions = {}) =>
      answers.give(sessionId, request, { type: 'permission.decide', requestId, decision, ...options }),
    answer: (given: Answers) =>
      answers.give(sessionId, request, { type: 'question.answer', requestId, answers: given }),
  }
}

/** The answer that was given in this browser and that the log does not show yet. */
export function useAnswerTo(requestId: string): GivenAnswer | undefined {
  return useStore(answers, (all) => all.findLast((item) => item.requestId === requestId))
}

export function useGivenAnswers(): readonly GivenAnswer[] {
  return useStore(answers)
}

/** Splits requests into those that need an answer and those whose answer waits to be sent. */
export function useUnansweredFirst<Request extends { readonly requestId: string }>(
  requests: readonly Request[],
): { readonly open: readonly Request[]; readonly answered: readonly Request[] } {
  const all = useGivenAnswers()
  const isAnswered = ({ requestId }: Request) => all.some((one) => one.waited && one.requestId === requestId)
  return { open: requests.filter((one) => !isAnswered(one)), answered: requests.filter(isAnswered) }
}
