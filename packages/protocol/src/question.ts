import { z } from 'zod'
import { RequestId, ToolCallId } from './ids.ts'
import { ResolvedBy } from './permission.ts'
import { AnswerSignature } from './signed-answer.ts'

export const QuestionOption = z.object({
  label: z.string(),
  description: z.string().optional(),
  preview: z.string().optional(),
})
export type QuestionOption = z.infer<typeof QuestionOption>

export const Question = z.object({
  id: z.string(),
  header: z.string(),
  text: z.string(),
  options: z.array(QuestionOption),
  multiple: z.boolean(),
  freeText: z.boolean(),
})
export type Question = z.infer<typeof Question>

export const QuestionRequest = z.object({
  requestId: RequestId,
  toolCallId: ToolCallId.optional(),
  parentToolCallId: ToolCallId.optional(),
  questions: z.array(Question).min(1),
})
export type QuestionRequest = z.infer<typeof QuestionRequest>

/**
 * The answers to questions, by question id. An answer is the label of an option, several labels, or free
 * text.
 */
export const Answers = z.record(z.string(), z.union([z.string(), z.array(z.string())]))
export type Answers = z.infer<typeof Answers>

export const QuestionOutcome = z.enum(['answered', 'cancelled', 'expired'])
export type QuestionOutcome = z.infer<typeof QuestionOutcome>

export const QuestionResolution = z.object({
  requestId: RequestId,
  outcome: QuestionOutcome,
  answers: Answers.optional(),
  carriedFrom: RequestId.optional().meta({ description: 'The stale request that this answer was given to' }),
  by: ResolvedBy,
  signature: AnswerSignature.optional(),
})
export type QuestionResolution = z.infer<typeof QuestionResolution>

/** The first problem with the answers to these questions; undefined if there is none. */
export function answersProblem(questions: readonly Question[], answers: Answers): string | undefined {
  for (const id of Object.keys(answers)) {
    if (!questions.some((question) => question.id === id)) return `there is no question ${id}`
  }
  for (const question of questions) {
    const answer = Object.hasOwn(answers, question.id) ? answers[question.id] : undefined
    if (answer === undefined) return `question ${question.id} has no answer`
    const given = Array.isArray(answer) ? answer : [answer]
    if (given.length === 0) return `question ${question.id} has no answer`
    if (given.length > 1 && !question.multiple) return `question ${question.id} takes one answer`
    if (question.freeText) continue
    const unknown = given.find((label) => !question.options.some((option) => option.label === label))
    if (unknown !== undefined) return `question ${question.id} has no option "${unknown}"`
  }
  return undefined
}
