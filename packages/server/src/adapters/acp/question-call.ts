import type { Person } from '@parley/adapter-kit'
import { isRecord, type Question } from '@parley/protocol'
import type { Dialect } from './agent.ts'
import type { NativePermission } from './native.ts'
import type { TranslateState } from './translate-state.ts'

/** Some agents ask a person by a permission request for a tool of their own, and take the answers from the response. */

type NativeQuestion = {
  readonly question?: string
  readonly header?: string
  readonly multiSelect?: boolean
  readonly options?: readonly { readonly label: string; readonly description?: string }[]
}

export function isQuestion(dialect: Dialect, params: unknown, state: TranslateState): boolean {
  const { toolCall } = params as NativePermission
  const name = state.calls.get(toolCall.toolCallId)?.name
  return dialect.questionTool !== undefined && name === dialect.questionTool
}

export type QuestionCall = {
  readonly person: Person
  /** Converts the agent's id of a call to ours. */
  callId(nativeId: string): string | undefined
}

/** Presents the questions of the request to a person. The keys of the answers are the positions of the questions. */
export async function answerQuestionCall(
  { person, callId }: QuestionCall,
  params: unknown,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { toolCall, options } = params as NativePermission
  const { questions: asked } = isRecord(toolCall.rawInput) ? toolCall.rawInput : {}
  const questions = (Array.isArray(asked) ? (asked as NativeQuestion[]) : []).map(question)
  const toolCallId = callId(toolCall.toolCallId)
  const answer = await person.answer({ questions, ...(toolCallId !== undefined && { toolCallId }) }, signal)
  const submit = options.find(({ kind }) => kind === 'allow_once')
  if (answer.outcome !== 'answered' || !submit) return { outcome: { outcome: 'cancelled' } }
  const answers = Object.entries(answer.answers).map(([id, given]) => [id, [given].flat().join(', ')])
  return {
    outcome: { outcome: 'selected', optionId: submit.optionId },
    answers: Object.fromEntries(answers) as unknown,
  }
}

function question(native: NativeQuestion, index: number): Question {
  const { question: text = '', header = '', options = [], multiSelect } = native
  return {
    id: String(index),
    header,
    text,
    options: options.map(({ label, description }) => ({ label, ...(description && { description }) })),
    multiple: multiSelect === true,
    freeText: true,
  }
}
