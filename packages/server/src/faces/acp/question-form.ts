import type { ElicitationPropertySchema, ElicitationSchema } from '@agentclientprotocol/sdk/unstable'
import { type Answers, answersProblem, type Question } from '@parley/protocol'

/** The end of the name of a field that takes words of one's own, beside the one with the choices. */
const ownWords = '_custom'

/** Questions as a form. Where words of one's own will do as well as a choice, there is a field for each. */
export function formOf(questions: readonly Question[]): ElicitationSchema {
  const fields = questions.flatMap((question): [string, ElicitationPropertySchema][] => {
    const { id, header, text } = question
    const own: ElicitationPropertySchema = { type: 'string', title: `${header}: in your own words` }
    return [
      [id, { ...choices(question), title: header, description: text }],
      ...(hasOwnField(question) ? [[id + ownWords, own] as [string, ElicitationPropertySchema]] : []),
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

/** The answers in a form that was sent back, or why they are none. */
export function answersIn(
  questions: readonly Question[],
  content: Readonly<Record<string, unknown>>,
): { answers: Answers } | { problem: string } {
  const answers = Object.fromEntries(
    questions.flatMap((question): [string, string | string[]][] => {
      const { id, multiple } = question
      const own = hasOwnField(question) ? textsIn(content[id + ownWords]) : []
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
