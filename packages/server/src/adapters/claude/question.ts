import type { OnElicitation, PermissionResult } from '@anthropic-ai/claude-agent-sdk'
import type { Person } from '@parley/adapter-kit'
import { elicitedContent, elicitedQuestions } from '@parley/adapter-kit/elicitation'
import type { Answers, Question } from '@parley/protocol'

export type QuestionContext = {
  readonly person: Person
  /** The call that started the subagent which made this call. */
  parentOf(toolCallId: string): { parentToolCallId?: string }
  /** Marks a call that will not run: its result is a refusal, not a failure. */
  denied(toolCallId: string): void
  /** A signal that aborts when the agent withdraws its request, but not when the agent dies. */
  withdrawn(signal: AbortSignal): AbortSignal
}

type NativeQuestion = {
  readonly question: string
  readonly header: string
  readonly multiSelect?: boolean
  readonly options: readonly {
    readonly label: string
    readonly description?: string
    readonly preview?: string
  }[]
}

/** Answers a call of the tool AskUserQuestion. */
export async function answerQuestion(
  { person, withdrawn, denied, parentOf }: QuestionContext,
  input: Record<string, unknown>,
  { toolCallId, signal }: { toolCallId: string; signal: AbortSignal },
): Promise<PermissionResult> {
  const native = (input.questions ?? []) as readonly NativeQuestion[]
  const ask = { toolCallId, ...parentOf(toolCallId), questions: native.map(question) }
  const answer = await person.answer(ask, withdrawn(signal))
  if (answer.outcome === 'answered') {
    return { behavior: 'allow', updatedInput: { ...input, answers: nativeAnswers(native, answer.answers) } }
  }
  denied(toolCallId)
  return { behavior: 'deny', message: 'The question was not answered.', interrupt: true }
}

function question(native: NativeQuestion, index: number): Question {
  return {
    id: String(index + 1),
    header: native.header,
    text: native.question,
    options: native.options.map(({ label, description, preview }) => ({
      label,
      ...(description !== undefined && { description }),
      ...(preview !== undefined && { preview }),
    })),
    multiple: native.multiSelect === true,
    freeText: true,
  }
}

/** Answers by question text. Several labels are joined by commas, and quoted if they contain a comma or quotes. */
function nativeAnswers(questions: readonly NativeQuestion[], answers: Answers): Record<string, string> {
  return Object.fromEntries(
    questions.map((native, index) => {
      const given = [answers[String(index + 1)] ?? []].flat()
      return [
        native.question,
        given.map((text) => (/, |"/.test(text) ? JSON.stringify(text) : text)).join(', '),
      ]
    }),
  )
}

/** Answers the elicitation of an MCP server during a call. */
export function createOnElicitation(context: QuestionContext): OnElicitation {
  return async (request, { signal }) => {
    // The fields of the context are read when a request arrives, because a spare has no session before that.
    const { person, withdrawn } = context
    const answer = await person.answer({ questions: elicitedQuestions(request) }, withdrawn(signal))
    if (answer.outcome === 'cancelled') return { action: 'cancel' }
    const content = elicitedContent(request, answer.answers)
    return content ? { action: 'accept', content } : { action: 'decline' }
  }
}
