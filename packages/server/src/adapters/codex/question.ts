import type { QuestionAnswer, QuestionAsk } from '@parley/adapter-kit'
import { type Elicitation, elicitedContent, elicitedQuestions } from '@parley/adapter-kit/elicitation'
import type { Answers, Question } from '@parley/protocol'
import type { NativeElicitation, NativeQuestion, NativeUserInputRequest } from './native.ts'
import { parentOf, type TranslateState } from './translate-state.ts'

/** A question to a person, and the conversion of the answer for Codex. */
export type Inquiry = {
  readonly ask: QuestionAsk
  respond(answer: QuestionAnswer): unknown
}

/** A question of Codex itself. Codex has no call for it, so only the question of a subagent has a parent call. */
export function userInputInquiry(state: TranslateState, params: NativeUserInputRequest): Inquiry {
  const { threadId, questions } = params
  return {
    ask: { questions: questions.map(question), ...parentOf(state, threadId) },
    respond: (answer) => ({ answers: answer.outcome === 'answered' ? nativeAnswers(answer.answers) : {} }),
  }
}

function question({ id, header, question: text, options, isOther }: NativeQuestion): Question {
  return {
    id,
    header,
    text,
    options: (options ?? []).map(({ label, description }) => ({
      label,
      ...(description && { description }),
    })),
    multiple: false,
    freeText: isOther || !options || options.length === 0,
  }
}

function nativeAnswers(answers: Answers): Record<string, { answers: string[] }> {
  return Object.fromEntries(Object.entries(answers).map(([id, given]) => [id, { answers: [given].flat() }]))
}

const forms = new Set(['form', 'openai/form', 'openaiForm', 'url'])

/** The elicitation of an MCP server; undefined for a kind that only a program of OpenAI can answer. */
export function elicitationInquiry(state: TranslateState, params: NativeElicitation): Inquiry | undefined {
  if (!forms.has(params.mode)) return undefined
  const { threadId, serverName, message = '', requestedSchema, url } = params
  const request: Elicitation = { serverName, message, requestedSchema, url }
  const open = [...state.calls].find(([, call]) => call.threadId === threadId && call.server === serverName)
  return {
    ask: {
      ...(open && { toolCallId: open[0] }),
      ...parentOf(state, threadId),
      questions: elicitedQuestions(request),
    },
    respond(answer) {
      if (answer.outcome !== 'answered') return { action: 'cancel', content: null, _meta: null }
      const content = elicitedContent(request, answer.answers)
      return content === undefined
        ? { action: 'decline', content: null, _meta: null }
        : { action: 'accept', content, _meta: null }
    },
  }
}
