import type { ElicitationPropertySchema, ElicitationSchema } from '@agentclientprotocol/sdk/unstable'
import { type Answers, answersProblem, type Question } from '@parley/protocol'

/** The suffix of the name of the free-text field that belongs to a field with options. */
const freeTextSuffix = '_custom'

/** A form for the questions. A question that accepts both an option and free text gets two fields. */
export function formOf(questions: readonly Question[]): ElicitationSchema {
  const fields = questions.flatMap((question): [string, ElicitationPropertySchema][] => {
    const { id, header, text } = question
    const own: ElicitationPropertySchema = { type: 'string', title: `${header}: your own answer` }
    return [
      [id, { ...choices(question), title: header, description: text }],
      ...(hasOwnField(question) ? [[id + freeTextSuffix, own] as [string, ElicitationPropertySchema]] : []),
    ]
  })
  const required = questions.filter((question) => !hasOwnField(question)).map(({ id }) => id)
  return { type: 'object', properties: Object.fromEntries(fields), required }
}

function hasOwnField({ freeText, options }: Question): boolean {
  return freeText && options.length > 0
}

function choices({ options, multiple }: Question): ElicitationPropertySchema {
  const oneOf = options.map(({ label, description }) => ({
    const: label,
    title: label,
    ...(description && { description }),
  }))
  if (oneOf.length === 0) return { type: 'string', minLength: 1 }
  return multiple ? { type: 'array', items: { anyOf: oneOf } } : { type: 'string', oneOf }
}

/** The answers in a submitted form, or the problem with it. */
export function answersIn(
  questions: readonly Question[],
  content: Readonly<Record<string, unknown>>,
): { answers: Answers } | { problem: string } {
  const answers = Object.fromEntries(
    questions.flatMap((question): [string, string | string[]][] => {
      const { id, multiple } = question
      const own = hasOwnField(question) ? textsIn(content[id + freeTextSuffix]) : []
      const given = [...textsIn(content[id]), ...own]
      if (given.length === 0) return []
      return [[id, multiple ? given : (given.at(-1) ?? '')]]
    }),
  )
  const problem = answersProblem(questions, answers)
  return problem === undefined ? { answers } : { problem }
}

function textsIn(value: unknown): string[] {
  return [value].flat().filter((text): text is string => typeof text === 'string' && text.trim() !== '')
}
